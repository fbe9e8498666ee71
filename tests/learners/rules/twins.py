"""MMAC by loops over instances, items and labels."""

import itertools

import numpy as np
from hypothesis import strategies as st


@st.composite
def problems(draw):
    """Few features of few values, some mostly 0; labels that depend on them, or constant."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, d, q = draw(st.integers(4, 80)), draw(st.integers(1, 4)), draw(st.integers(1, 4))
    X = rng.integers(0, draw(st.sampled_from([2, 3, 9])), size=(n, d)).astype(float)
    X[rng.random((n, d)) < draw(st.sampled_from([0.0, 0.6]))] = 0.0
    Y = (X[:, rng.integers(0, d, q)] + rng.random((n, q)) > 1.2).astype(int)
    return X, Y, X + rng.integers(-1, 2, X.shape)


def items_of(X, max_bins):
    """(feature, low, high, without 0), as the docstring has them."""
    n, d = X.shape
    found = []
    for j in range(d):
        values = [x for x in X[:, j].tolist() if x != 0]
        sparse = 2 * len(values) <= n
        if not sparse:
            values = X[:, j].tolist()
        if not values:
            continue
        distinct = sorted(set(values))
        if len(distinct) <= max_bins and len(distinct) > 1:
            found += [(j, np.nextafter(value, -np.inf), value, sparse) for value in distinct]
            continue
        cuts = []
        if len(distinct) > 1:
            ordered = sorted(values)
            at = [
                int(np.floor(b / max_bins * (len(values) - 1) + 1e-12)) for b in range(1, max_bins)
            ]
            cuts = sorted({ordered[i] for i in at} - {ordered[-1]})
        if not sparse and not cuts:
            continue
        ends = [-np.inf, *cuts, np.inf]
        found += [(j, low, high, sparse) for low, high in itertools.pairwise(ends)]
    return found


def holds(item, x):
    j, low, high, sparse = item
    return low < x[j] <= high and not (sparse and x[j] == 0)


def learn(X, Y, *, min_count, min_confidence, max_length, max_bins):
    """Items; rules as (condition, {label: (support, confidence)}) in order; default set."""
    n, q = Y.shape
    items = items_of(X, max_bins)
    varying = [l for l in range(q) if len(set(Y[:, l])) == 2]
    conditions = []
    for k in range(1, max_length + 1):
        for c in itertools.combinations(range(len(items)), k):
            if len({items[i][0] for i in c}) == k:
                conditions.append(c)
    rows_of = {
        c: [i for i in range(n) if all(holds(items[t], X[i]) for t in c)] for c in conditions
    }
    left, taken = set(range(n)), {}
    while left:
        rules = []
        for c, rows in rows_of.items():
            rows = [i for i in rows if i in left]
            good = {}
            for l in varying:
                support = sum(int(Y[i, l]) for i in rows)
                if support >= min_count and support / len(rows) >= min_confidence:
                    good[l] = (support, support / len(rows))
            if good:
                surest = max(conf for _, conf in good.values())
                rules.append((-surest, -max(s for s, _ in good.values()), len(c), c, set(good)))
        before = set(left)
        for *_, c, labels in sorted(rules, key=lambda rule: rule[:4]):
            served = {i for i in rows_of[c] if i in left and any(Y[i, l] for l in labels)}
            if served:
                left -= served
                taken.setdefault(c, set()).update(labels)
        if left == before:
            break
    merged = []
    for c, labels in taken.items():
        figures = {}
        for l in labels:
            support = sum(int(Y[i, l]) for i in rows_of[c])
            figures[l] = (support, support / len(rows_of[c]))
        surest = max(conf for _, conf in figures.values())
        merged.append((-surest, -max(s for s, _ in figures.values()), len(c), c, figures))
    merged.sort(key=lambda rule: rule[:4])
    rules = [(c, figures) for *_, c, figures in merged]
    alone = [i for i in range(n) if not any(i in rows_of[c] for c, _ in rules)] or range(n)
    sets = sorted(tuple(Y[i].tolist()) for i in alone)
    default = max(sorted(set(sets)), key=sets.count)
    return items, rules, default


def predict(x, Y, items, rules, default, voting):
    """A label set and the weights of the labels."""
    q = Y.shape[1]
    always = {l for l in range(q) if Y[:, l].all()}
    matching = [figures for c, figures in rules if all(holds(items[t], x) for t in c)]
    if not matching:
        labels = {l for l in range(q) if default[l]}
        weights = [default[l] / max(sum(default), 1) for l in range(q)]
    else:
        chosen = matching[:1] if voting == "first" else matching
        labels = {l for figures in chosen for l in figures}
        total = sum(s for s, _ in matching[0].values())
        weights = [matching[0].get(l, (0,))[0] / total for l in range(q)]
    return [int(l in labels | always) for l in range(q)], weights
