"""The slow twin: every distance by the plain loop, every row sorted in full."""

import numpy as np


def distance(x, y, p=2.0):
    """The formula as the documentation states it."""
    total = 0.0
    for a, b in zip(x.tolist(), y.tolist()):
        difference = abs(a - b)
        if np.isinf(p):
            total = max(total, difference)
        else:
            total += difference * difference if p == 2 else difference**p
    if p == 2:
        return float(np.sqrt(total))
    return total if p == 1 or np.isinf(p) else total ** (1 / p)


def cosine(x, y):
    def unit(v):
        total = 0.0
        for a in v.tolist():
            total += a * a
        return v / np.sqrt(total) if total > 0 else None

    x, y = unit(x), unit(y)
    if x is None or y is None:
        return 1.0
    total = 0.0
    for a, b in zip(x.tolist(), y.tolist()):
        total += (a - b) * (a - b)
    return total / 2


def table(Q, X, p=2.0):
    """All distances (m, n), added feature by feature."""
    Q, X = np.asarray(Q, dtype=np.float64), np.asarray(X, dtype=np.float64)
    total = np.zeros((len(Q), len(X)))
    for j in range(X.shape[1]):
        difference = np.abs(Q[:, j][:, None] - X[:, j][None, :])
        if np.isinf(p):
            total = np.maximum(total, difference)
        else:
            total = total + (difference * difference if p == 2 else difference**p)
    if p == 2:
        return np.sqrt(total)
    return total if p == 1 or np.isinf(p) else total ** (1 / p)


def nearest(D, k, *, without_self):
    """First k of each row by (distance, index)."""
    indices = []
    for i, row in enumerate(D.tolist()):
        ranked = sorted((d, j) for j, d in enumerate(row) if not (without_self and i == j))
        indices.append([j for _, j in ranked[:k]])
    indices = np.array(indices)
    return np.take_along_axis(D, indices, axis=1), indices


def same(answer, expected):
    """Bit for bit."""
    distances, indices = answer
    assert distances.dtype == np.float64
    assert indices.dtype == np.int64
    np.testing.assert_array_equal(indices, expected[1])
    np.testing.assert_array_equal(distances, expected[0])
