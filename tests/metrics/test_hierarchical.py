"""Hierarchical precision, recall and F by loops over sets."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from plurilabel.datasets import Hierarchy
from plurilabel.metrics import (
    hierarchical_f_beta,
    hierarchical_precision,
    hierarchical_recall,
)

NAMES = ["a", "a/b", "a/b/c", "d", "d/e"]
TREE = Hierarchy(NAMES)


def full(row):
    """A label set with all prefixes of its names."""
    found = set()
    for name in np.array(NAMES)[np.asarray(row) == 1]:
        parts = name.split("/")
        found |= {"/".join(parts[: i + 1]) for i in range(len(parts))}
    return found


def by_loops(Y, Z, average):
    pairs = [(full(y), full(z)) for y, z in zip(Y, Z)]
    if average == "micro":
        both = sum(len(y & z) for y, z in pairs)
        true, pred = sum(len(y) for y, _ in pairs), sum(len(z) for _, z in pairs)
        return both / pred, both / true, 5 * both / (4 * true + pred)
    pairs = [(y, z) for y, z in pairs if y]
    return (
        np.mean([len(y & z) / len(z) if z else 0.0 for y, z in pairs]),
        np.mean([len(y & z) / len(y) for y, z in pairs]),
        np.mean([5 * len(y & z) / (4 * len(y) + len(z)) for y, z in pairs]),
    )


@pytest.mark.parametrize("average", ["micro", "instances"])
def test_by_loops(average):
    rng = np.random.default_rng(0)
    Y, Z = ((rng.random((40, 5)) < 0.25).astype(int) for _ in range(2))
    expected = by_loops(Y, Z, average)
    for form in (np.asarray, sparse.csr_array):
        found = (
            hierarchical_precision(form(Y), form(Z), TREE, average=average),
            hierarchical_recall(form(Y), form(Z), TREE, average=average),
            hierarchical_f_beta(form(Y), form(Z), TREE, beta=2, average=average),
        )
        assert_allclose(found, expected)
    assert hierarchical_recall(pd.DataFrame(Y, columns=NAMES), Z, average=average) == found[1]


def test_bad_requests():
    Y = [[1, 0, 0, 0, 0]]
    with pytest.raises(ValueError, match="hierarchy must be given"):
        hierarchical_precision(Y, Y)
    with pytest.raises(ValueError, match="got dict"):
        hierarchical_precision(Y, Y, {"a/b": "a"})
    with pytest.raises(ValueError, match="average must be"):
        hierarchical_precision(Y, Y, TREE, average="macro")
    with pytest.raises(ValueError, match="the 5 labels of the hierarchy, got 1"):
        hierarchical_precision([[1]], [[1]], TREE)
