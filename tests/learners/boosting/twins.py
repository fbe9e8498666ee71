"""Boosting as the papers write it: loops over instances, labels and cuts; weights carried along.

Schapire and Singer 2000, figures 1 to 3 and section 5; De Comité, Gilleron and Tommasi 2003.
"""

import itertools
import math

TIE = 1e-9


def cuts(X, rows, presence):
    """All conditions (feature, threshold), threshold None for presence, in order."""
    found = []
    for j in range(len(X[0])):
        values = sorted({X[i][j] for i in rows if not math.isnan(X[i][j])})
        if presence:
            if 0.0 in values and len(values) > 1:
                found.append((j, None))
        else:
            found += [(j, (a + b) / 2) for a, b in itertools.pairwise(values)]
    return found


def holds(x, condition):
    """True, False, or None where the value is missing."""
    j, threshold = condition
    if math.isnan(x[j]):
        return None
    return x[j] != 0 if threshold is None else x[j] > threshold


def first_best(candidates):
    """The first of those with the least Z: (Z, anything)."""
    least = min(Z for Z, _ in candidates)
    return next(candidate for candidate in candidates if candidate[0] <= least + TIE)


def sides(D, Y, rows):
    """W+ and W- of each label among some rows."""
    q = len(Y[0])
    plus = [sum(D[i][l] for i in rows if Y[i][l]) for l in range(q)]
    minus = [sum(D[i][l] for i in rows if not Y[i][l]) for l in range(q)]
    return plus, minus


def total(D, rows):
    return sum(sum(D[i]) for i in rows)


def z_of(D, Y, blocks, silent, algorithm):
    """Z of a rule that predicts in some blocks and is silent of some rows."""
    W = [sides(D, Y, rows) for rows in blocks]
    if algorithm == "discrete":
        wrong = sum(min(p, m) for plus, minus in W for p, m in zip(plus, minus))
        right = sum(max(p, m) for plus, minus in W for p, m in zip(plus, minus))
        return 2 * math.sqrt(right * wrong) + total(D, silent)
    root = sum(math.sqrt(p * m) for plus, minus in W for p, m in zip(plus, minus))
    return 2 * root + total(D, silent)


def predictions(D, Y, blocks, algorithm, eps):
    """One list of scores per block."""
    W = [sides(D, Y, rows) for rows in blocks]
    if algorithm != "discrete":
        return [
            [0.5 * math.log((p + eps) / (m + eps)) for p, m in zip(plus, minus)]
            for plus, minus in W
        ]
    wrong = sum(min(p, m) for plus, minus in W for p, m in zip(plus, minus))
    right = sum(max(p, m) for plus, minus in W for p, m in zip(plus, minus))
    alpha = 0.5 * math.log((right + eps) / (wrong + eps))
    return [
        [alpha if p > m * (1 + TIE) else -alpha for p, m in zip(plus, minus)] for plus, minus in W
    ]


def parts(X, rows, condition):
    yes = [i for i in rows if holds(X[i], condition) is True]
    no = [i for i in rows if holds(X[i], condition) is False]
    missing = [i for i in rows if holds(X[i], condition) is None]
    return yes, no, missing


def best_split(X, Y, D, rows, all_cuts, algorithm, presence):
    """Condition and which of (yes, no) speak."""
    candidates = []
    for condition in all_cuts:
        yes, no, missing = parts(X, rows, condition)
        if algorithm == "abstain":
            Z = z_of(D, Y, [yes], no + missing, algorithm)
            candidates.append((Z, (condition, (True, False))))
            if not presence:
                Z = z_of(D, Y, [no], yes + missing, algorithm)
                candidates.append((Z, (condition, (False, True))))
        else:
            Z = z_of(D, Y, [yes, no], missing, algorithm)
            candidates.append((Z, (condition, (True, True))))
    return first_best(candidates) if candidates else None


def weak_rule(X, Y, D, algorithm, presence, depth, eps):
    n = len(X)
    all_cuts = cuts(X, range(n), presence)

    def grow(rows, level):
        here = z_of(D, Y, [rows], [], algorithm)
        if level < depth and len(rows) > 1:
            best = best_split(X, Y, D, rows, all_cuts, algorithm, presence)
            if best is not None and (level == 0 or here - best[0] > TIE):
                condition, speaks = best[1]
                yes, no, _ = parts(X, rows, condition)
                return {
                    "condition": condition,
                    "yes": grow(yes, level + 1) if speaks[0] else None,
                    "no": grow(no, level + 1) if speaks[1] else None,
                }
        return {"rows": rows}

    tree = grow(list(range(n)), 0)
    leaves = list(leaves_of(tree))
    scores = predictions(D, Y, [leaf["rows"] for leaf in leaves], algorithm, eps)
    for leaf, values in zip(leaves, scores):
        leaf["values"] = values
    return tree


def leaves_of(tree):
    if tree is None:
        return
    if "rows" in tree:
        yield tree
    else:
        yield from leaves_of(tree["yes"])
        yield from leaves_of(tree["no"])


def apply_tree(tree, x, q):
    while tree is not None and "condition" in tree:
        answer = holds(x, tree["condition"])
        tree = None if answer is None else tree["yes" if answer else "no"]
    return [0.0] * q if tree is None else tree["values"]


def adaboost_mh(X, Y, queries, T, *, algorithm="real", presence=False, depth=1, eps=None):
    """Figure 1. Returns scores of the queries and the product of the Z_t, after each round."""
    m, k = len(X), len(Y[0])
    eps = 1 / (m * k) if eps is None else eps
    D = [[1 / (m * k)] * k for _ in range(m)]
    f = [[0.0] * k for _ in queries]
    product, history = 1.0, []
    for t in range(T):
        if algorithm == "abstain" and t == 0:
            (values,) = predictions(D, Y, [range(m)], algorithm, eps)
            tree = {"values": values}
        else:
            tree = weak_rule(X, Y, D, algorithm, presence, depth, eps)
        Z = 0.0
        for i in range(m):
            h = apply_tree(tree, X[i], k)
            for l in range(k):
                D[i][l] *= math.exp(-(1 if Y[i][l] else -1) * h[l])
                Z += D[i][l]
        if t > 0 and not product * Z < product * (1 - TIE):
            break
        product *= Z
        D = [[w / Z for w in row] for row in D]
        for scores, x in zip(f, queries):
            for l, value in enumerate(apply_tree(tree, x, k)):
                scores[l] += value
        history.append(([list(row) for row in f], product))
    return history


def adaboost_mr(X, Y, queries, T, *, algorithm="real", presence=False, depth=1):
    """Figure 2, with a weight for each crucial pair: D(i, l0, l1), l1 in Y_i, l0 not."""
    m, k = len(X), len(Y[0])
    triples = {
        (i, l0, l1): 1.0
        for i in range(m)
        for l0 in range(k)
        for l1 in range(k)
        if Y[i][l1] and not Y[i][l0]
    }
    counts = {i: sum(1 for key in triples if key[0] == i) for i in range(m)}
    ranked = sum(1 for c in counts.values() if c)
    if not ranked:
        return []
    triples = {key: 1 / (ranked * counts[key[0]]) for key in triples}
    f = [[0.0] * k for _ in queries]
    product, history = 1.0, []
    for t in range(T):
        # r = 1/2 sum D (h(l1) - h(l0)) = sum of d(i, l) Y_i[l] h(l)
        d = [[0.0] * k for _ in range(m)]
        for (i, l0, l1), w in triples.items():
            d[i][l0] += w / 2
            d[i][l1] += w / 2
        tree = weak_rule(X, Y, d, algorithm, presence, depth, 1 / (m * k))
        h = [apply_tree(tree, x, k) for x in X]
        for i, l0, l1 in triples:
            triples[i, l0, l1] *= math.exp(0.5 * (h[i][l0] - h[i][l1]))
        Z = sum(triples.values())
        if t > 0 and not Z < 1 - TIE:
            break
        product *= Z
        triples = {key: w / Z for key, w in triples.items()}
        for scores, x in zip(f, queries):
            for l, value in enumerate(apply_tree(tree, x, k)):
                scores[l] += value
        history.append(([list(row) for row in f], product))
    return history


def adtboost_mh(X, Y, queries, T, *, presence=False):
    """The alternating tree: preconditions are lists of (condition, wanted answer)."""
    m, k = len(X), len(Y[0])
    eps = 1 / (m * k)
    D = [[1 / (m * k)] * k for _ in range(m)]
    everything = list(range(m))
    all_cuts = cuts(X, everything, presence)
    (root,) = predictions(D, Y, [everything], "real", eps)
    f = [list(root) for _ in queries]

    def met(x, precondition):
        return all(holds(x, condition) is wanted for condition, wanted in precondition)

    def reweigh(D, added):
        grown = [
            [D[i][l] * math.exp(-(1 if Y[i][l] else -1) * added[i][l]) for l in range(k)]
            for i in range(m)
        ]
        Z = total(grown, everything)
        return [[w / Z for w in row] for row in grown], Z

    D, product = reweigh(D, [root] * m)
    history = [([list(row) for row in f], product)]
    preconditions = [[]]
    for _ in range(T):
        candidates = []
        for p in preconditions:
            rows = [i for i in everything if met(X[i], p)]
            outside = [i for i in everything if i not in rows]
            if len(rows) < 2:
                continue
            # the first of the best conditions of a precondition, then the first precondition
            of_p = []
            for condition in all_cuts:
                yes, no, missing = parts(X, rows, condition)
                of_p.append((z_of(D, Y, [yes, no], missing + outside, "real"), (p, condition)))
            if of_p:
                least = min(Z for Z, _ in of_p)
                candidates.append((least, first_best(of_p)[1]))
        if not candidates:
            break
        Z, (p, condition) = first_best(candidates)
        if Z >= 1 - TIE:
            break
        rows = [i for i in everything if met(X[i], p)]
        yes, no, _ = parts(X, rows, condition)
        a, b = predictions(D, Y, [yes, no], "real", eps)

        def score(x, p=p, condition=condition, a=a, b=b):
            answer = holds(x, condition) if met(x, p) else None
            return [0.0] * k if answer is None else (a if answer else b)

        grown, Z = reweigh(D, [score(x) for x in X])
        if not Z < 1 - TIE:
            break
        D, product = grown, product * Z
        preconditions += [[*p, (condition, True)], [*p, (condition, False)]]
        for row, x in zip(f, queries):
            for l, value in enumerate(score(x)):
                row[l] += value
        history.append(([list(row) for row in f], product))
    return history
