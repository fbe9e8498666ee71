"""The mixtures as the papers write them: one document, one word, one label at a time."""

import itertools

import numpy as np
from hypothesis import strategies as st


@st.composite
def corpora(draw, empty=True):
    """Word counts and labels of a few documents; a word may be missing, a document empty."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, V, q = draw(st.integers(4, 9)), draw(st.integers(2, 5)), draw(st.integers(2, 4))
    X = rng.poisson(draw(st.sampled_from([0.5, 3.0])), size=(n, V)).astype(float)
    Y = (rng.random((n, q)) < 0.45).astype(int)
    if not empty:
        Y[Y.sum(axis=1) == 0, 0] = 1
    return X, Y


def shares_of(model, y, gamma=None, weights=None):
    """The share of each label, and of no label at the end, in a document's words."""
    q = len(y)
    w = [0.0] * (q + 1)
    present = [l for l in range(q) if y[l]]
    if model == "set":
        return weights[tuple(y)]
    if not present:
        w[q] = 1.0
    for l in present:
        h = 1 / len(present)
        if model == "pmm1":
            w[l] = h
        else:  # phi = sum_l sum_m h_l h_m (gamma_lm theta_l + gamma_ml theta_m)
            for m in present:
                w[l] += h * h * gamma[l][m]
                w[m] += h * h * gamma[m][l]
    return w


def em(model, X, Y, alpha, steps):
    """theta (q + 1, V), the shares and the objective after each step."""
    (n, V), q = X.shape, Y.shape[1]
    gamma = [[0.5] * q for _ in range(q)]
    weights = {}
    for y in Y.tolist():
        with_background = [*y, 1]
        weights[tuple(y)] = [c / sum(with_background) for c in with_background]
    extra = {"pmm1": {}, "pmm2": {"gamma": gamma}, "set": {"weights": weights}}[model]
    # at first the words are shared out by the shares alone
    counts = np.zeros((q + 1, V))
    for i in range(n):
        w = shares_of(model, Y[i], **extra)
        for z, v in itertools.product(range(q + 1), range(V)):
            counts[z, v] += w[z] * X[i, v]
    objectives = []
    for step in range(steps + 1):
        theta = np.array([(row + alpha) / (row.sum() + alpha * V) for row in counts])
        objectives.append(objective(model, X, Y, alpha, theta, extra))
        if step == steps:
            return theta, extra, objectives
        counts = np.zeros((q + 1, V))
        pairs = np.zeros((q, q))
        by_set = {key: np.zeros(q + 1) for key in weights}
        for i in range(n):
            y = tuple(Y[i].tolist())
            present = [l for l in range(q) if y[l]]
            w = shares_of(model, y, **extra)
            for v in range(V):
                phi = sum(w[z] * theta[z, v] for z in range(q + 1))
                for z in range(q + 1):
                    g = w[z] * theta[z, v] / phi
                    counts[z, v] += X[i, v] * g
                    by_set[y][z] += X[i, v] * g
                for l, m in itertools.product(present, repeat=2):
                    one = 2 * gamma[l][m] * theta[l, v] / len(present) ** 2
                    pairs[l, m] += X[i, v] * one / phi
        if model == "pmm2":
            for l, m in itertools.product(range(q), repeat=2):
                both = pairs[l, m] + pairs[m, l] + 2 * alpha
                gamma[l][m] = (pairs[l, m] + alpha) / both
        if model == "set":
            for y, words in by_set.items():
                smooth = [words[z] + 1 if (*y, 1)[z] else 0.0 for z in range(q + 1)]
                weights[y] = [c / sum(smooth) for c in smooth]


def objective(model, X, Y, alpha, theta, extra):
    """Log likelihood plus the log density of the priors."""
    q = Y.shape[1]
    total = alpha * np.log(theta).sum()
    for i in range(len(X)):
        w = shares_of(model, Y[i], **extra)
        for v in range(X.shape[1]):
            total += X[i, v] * np.log(sum(w[z] * theta[z, v] for z in range(q + 1)))
    if model == "pmm2":
        total += alpha * sum(
            np.log(extra["gamma"][l][m]) for l in range(q) for m in range(q) if l != m
        )
    if model == "set":
        total += sum(np.log(w) for row in extra["weights"].values() for w in row if w > 0)
    return total


def log_prior(kind, y, Y):
    """log P(Y) of one label set, up to a constant."""
    n, q = Y.shape
    if kind == "uniform":
        return 0.0
    p = [(Y[:, l].sum() + 1) / (n + 2) for l in range(q)]
    independent = np.prod([p[l] if y[l] else 1 - p[l] for l in range(q)])
    if kind == "labels":
        return np.log(independent)
    return np.log((sum(tuple(row) == tuple(y) for row in Y.tolist()) + independent) / (n + 1))


def possible_sets(Y):
    """All sets in which labels of all rows are, labels of no row are not; empty only if seen."""
    q = Y.shape[1]
    for y in itertools.product((0, 1), repeat=q):
        if any(set(Y[:, l].tolist()) == {1 - y[l]} for l in range(q)):
            continue
        if any(y) or not Y.sum(axis=1).all():
            yield y
