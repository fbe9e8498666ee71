"""The algorithm of the paper, its measures, and data to try splitters on."""

import numpy as np
from hypothesis import strategies as st


def paper_folds(Y, k, seed):
    """Algorithm 1 of Sechidis, Tsoumakas and Vlahavas (2011), for k folds of equal size."""
    rng = np.random.default_rng(seed)
    n = len(Y)
    c = np.full(k, n / k)
    c_label = np.tile(Y.sum(axis=0) / k, (k, 1))
    fold = np.full(n, -1)
    while (fold < 0).any():
        left = Y[fold < 0].sum(axis=0)
        if not left.any():  # rows without labels: the fold that wants examples most
            for row in np.flatnonzero(fold < 0):
                j = rng.choice(np.flatnonzero(c == c.max()))
                fold[row] = j
                c[j] -= 1
            break
        label = rng.choice(np.flatnonzero(left == left[left > 0].min()))
        for row in np.flatnonzero((fold < 0) & (Y[:, label] == 1)):
            best = np.flatnonzero(c_label[:, label] == c_label[:, label].max())
            best = best[c[best] == c[best].max()]
            j = rng.choice(best)
            fold[row] = j
            c_label[j, Y[row] == 1] -= 1
            c[j] -= 1
    return fold


def label_distribution(Y, fold, k):
    """LD of the paper: mean difference of a label's odds in a fold and in the whole."""
    n, q = Y.shape
    per_label = []
    for label in range(q):
        positive = Y[:, label].sum()
        if positive in (0, n):
            continue
        per_fold = []
        for j in range(k):
            size, here = (fold == j).sum(), Y[fold == j, label].sum()
            per_fold.append(abs(here / (size - here) - positive / (n - positive)))
        per_label.append(np.mean(per_fold))
    return np.mean(per_label)


def examples_distribution(fold, k):
    """ED of the paper: mean difference between the size of a fold and n / k."""
    return np.mean([abs((fold == j).sum() - len(fold) / k) for j in range(k)])


def dependent_labels(n, q, seed):
    """Imbalanced labels that depend on each other through the row."""
    rng = np.random.default_rng(seed)
    p = 0.4 / np.arange(1, q + 1)
    return (rng.random((n, q)) < p * np.exp(0.8 * rng.normal(size=(n, 1)))).astype(int)


def folds(cv, Y, groups=None):
    """The fold of each row; every row is a test row once."""
    fold = np.full(Y.shape[0], -1)
    for j, (train, test) in enumerate(cv.split(np.zeros(Y.shape[0]), Y, groups)):
        assert (fold[test] == -1).all()
        assert np.array_equal(np.sort(np.concatenate([train, test])), np.arange(Y.shape[0]))
        fold[test] = j
    assert (fold >= 0).all()
    return fold


@st.composite
def label_matrices(draw, max_rows=30):
    n = draw(st.integers(2, max_rows))
    q = draw(st.integers(1, 5))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    return (rng.random((n, q)) < draw(st.floats(0, 1))).astype(int)


def count_error(Y, fold, k):
    return np.mean([np.abs(Y[fold == j].sum(axis=0) - Y.sum(axis=0) / k) for j in range(k)])
