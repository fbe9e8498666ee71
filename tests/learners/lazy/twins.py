"""The lazy learners as their papers print them: loops over labels, instances and neighbours."""

import math
from fractions import Fraction

import numpy as np


def neighbours(X, x, k, leave_out=None):
    """Distances and rows of the k nearest, equal distances to the lower row."""
    found = sorted((math.dist(row, x), i) for i, row in enumerate(X.tolist()) if i != leave_out)[
        :k
    ]
    return [d for d, _ in found], [i for _, i in found]


def all_neighbours(X, k):
    return [neighbours(X, x, k, leave_out=i) for i, x in enumerate(X.tolist())]


def ml_knn(X, Y, x, k, s):
    """Figure 1 of the ML-kNN paper."""
    m, q = Y.shape
    graph = all_neighbours(X, k)
    _, near = neighbours(X, x, k)
    r = []
    for l in range(q):
        p1 = (s + sum(Y[:, l])) / (s * 2 + m)
        p0 = 1 - p1
        c, c_ = [0] * (k + 1), [0] * (k + 1)
        for i in range(m):
            delta = sum(Y[a, l] for a in graph[i][1])
            if Y[i, l] == 1:
                c[delta] += 1
            else:
                c_[delta] += 1
        j = sum(Y[a, l] for a in near)
        e1 = p1 * (s + c[j]) / (s * (k + 1) + sum(c))
        e0 = p0 * (s + c_[j]) / (s * (k + 1) + sum(c_))
        r.append(e1 / (e1 + e0))
    return np.array(r)


def dw_ml_knn(X, Y, x, K, s, lam, literal):
    """Figure 1 of the DW-ML-kNN paper; ``literal`` takes line 14 as it is printed."""
    m, q = Y.shape
    graph = all_neighbours(X, K)
    _, near = neighbours(X, x, K)
    r = []
    for l in range(q):
        p1 = (s + sum(Y[:, l])) / (s * 2 + m)
        c, c_, ct, ct_ = ([0.0] * (K + 1) for _ in range(4))
        for i in range(m):
            d, rows = graph[i]
            reg = [(v - min(d)) / (max(d) - min(d) + 1e-12) for v in d]
            p = [math.exp(-(v**2) / 2) / math.sqrt(2 * math.pi) for v in reg]
            w = sum(pa for pa, a in zip(p, rows) if Y[a, l] == 1) / sum(p)
            wt = 1 - w
            delta = sum(Y[a, l] for a in rows)
            if Y[i, l] == 1:
                c[delta] += w
                ct[K - delta] += wt
            else:
                c_[delta] += w if literal else wt
                ct_[K - delta] += wt
        j = sum(Y[a, l] for a in near)

        def like(array, at):
            return (s + array[at]) / (s * (K + 1) + sum(array))

        e1 = p1 * (lam * like(c, j) + (1 - lam) * like(ct, K - j))
        e0 = (1 - p1) * (lam * like(c_, j) + (1 - lam) * like(ct_, K - j))
        r.append(e1 / (e1 + e0))
    return np.array(r)


def ml_wknn(X, Y, x, k, s):
    """ML-kNN whose count is the rounded weight, 1/d^2 scaled to k, of those with the label."""
    m, q = Y.shape

    def event(d, rows, l):
        # the test's features are whole numbers: squared distances are, too, and ties are exact
        if min(d) == 0:
            w = [Fraction(v == 0) for v in d]
        else:
            w = [Fraction(1, round(v**2)) for v in d]
        return round(k * sum(wa for wa, a in zip(w, rows) if Y[a, l]) / sum(w))

    graph = all_neighbours(X, k)
    query = neighbours(X, x, k)
    r = []
    for l in range(q):
        p1 = (s + sum(Y[:, l])) / (s * 2 + m)
        c, c_ = [0] * (k + 1), [0] * (k + 1)
        for i in range(m):
            (c if Y[i, l] else c_)[event(*graph[i], l)] += 1
        j = event(*query, l)
        e1 = p1 * (s + c[j]) / (s * (k + 1) + sum(c))
        e0 = (1 - p1) * (s + c_[j]) / (s * (k + 1) + sum(c_))
        r.append(e1 / (e1 + e0))
    return np.array(r)


def dml_knn(X, Y, x, k, s, width):
    """DML-kNN: only training instances with similar counts of all other labels are counted."""
    m, q = Y.shape
    count = [[sum(Y[a, l] for a in rows) for l in range(q)] for _, rows in all_neighbours(X, k)]
    _, near = neighbours(X, x, k)
    own = [sum(Y[a, l] for a in near) for l in range(q)]
    r = []
    for l in range(q):
        v = [0, 0]
        for i in range(m):
            others = all(abs(count[i][o] - own[o]) <= width for o in range(q) if o != l)
            if count[i][l] == own[l] and others:
                v[Y[i, l]] += 1
        n1 = sum(Y[:, l])
        p1 = (s + n1) / (2 * s + m)
        e1 = p1 * (s + v[1]) / (s * (k + 1) + n1)
        e0 = (1 - p1) * (s + v[0]) / (s * (k + 1) + m - n1)
        r.append(e1 / (e1 + e0))
    return np.array(r)


def br_knn(X, Y, x, k, variant):
    """The label set that BRkNN predicts; ties go to the more frequent, then the first label."""
    _, near = neighbours(X, x, k)
    q = Y.shape[1]
    votes = [sum(Y[a, l] for a in near) for l in range(q)]
    ranked = sorted(range(q), key=lambda l: (-votes[l], -sum(Y[:, l]), l))
    chosen = {l for l in range(q) if votes[l] > k / 2}
    if variant == "a" and not chosen:
        chosen = {ranked[0]}
    if variant == "b":
        size = math.floor(Fraction(sum(int(sum(Y[a])) for a in near), k) + Fraction(1, 2))
        chosen = set(ranked[:size])
    return np.array([int(l in chosen) for l in range(q)])
