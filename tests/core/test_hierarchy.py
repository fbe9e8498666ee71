"""Hierarchies: reading them, closing sets by loops, and the nearest consistent scores."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.optimize import minimize
from sklearn.isotonic import IsotonicRegression

from plurilabel.datasets import Hierarchy

NAMES = ["a", "a/b", "a/b/c", "d", "d/e", "a/f"]
DAG = {"kitten": ["cat", "young"], "cat": "animal", "young": "animal", "stone": None}
ZOO = ["animal", "cat", "young", "kitten", "stone"]


def above(name, parents):
    """All names above one, by recursion."""
    direct = parents.get(name) or []
    direct = [direct] if isinstance(direct, str) else direct
    return set(direct).union(*(above(parent, parents) for parent in direct))


def test_names_with_parts():
    tree = Hierarchy(NAMES)
    assert tree.edges.tolist() == [[1, 0], [2, 1], [4, 3], [5, 0]]
    assert tree.ancestors("a/b/c") == ["a/b", "a"] and tree.ancestors("a") == []
    assert Hierarchy(["x", "x.y"], sep=".").edges.tolist() == [[1, 0]]
    # a part that is not a label is passed over
    assert Hierarchy(["a", "a/b/c"]).edges.tolist() == [[1, 0]]


@pytest.mark.parametrize(
    "table",
    [
        DAG,
        [("kitten", "cat"), ("kitten", "young"), ("cat", "animal"), ("young", "animal")],
        pd.DataFrame({"child": ["kitten", "kitten", "cat", "young", "animal"],
                      "parent": ["cat", "young", "animal", "animal", np.nan]}),
    ],
)  # fmt: skip
def test_tables(table):
    zoo = Hierarchy(ZOO, table)
    assert zoo.edges.tolist() == [[1, 0], [2, 0], [3, 1], [3, 2]]
    assert set(zoo.ancestors("kitten")) == {"cat", "young", "animal"}


def test_names_between_labels_are_passed_over():
    table = {"poodle": "dog", "dog": "mammal", "mammal": "animal"}
    assert Hierarchy(["animal", "poodle"], table).edges.tolist() == [[1, 0]]


@pytest.mark.parametrize(
    ("names", "parents", "message"),
    [
        (["a", "b", "c"], {"a": "b", "b": "c", "c": "a"}, "cycle, got a -> b -> c -> a"),
        (["a", "b"], {"a": "a"}, "cycle, got a -> a"),
        (["a", "b"], {"x": "y", "y": "x", "a": "b"}, "cycle, got x -> y -> x"),
        (["a", "b"], None, "no label has a parent"),
        (["cat", "dog"], {"catt": "dog"}, "'catt' is not a label, did you mean 'cat'"),
        (["a", "a"], {"a": "b"}, "'a' occurs more than once"),
        (["a", "b"], ["ab"], "pairs"),
        (["a", "b"], [0, 1], r"pairs \(child, parent\), got 0"),
        (["a", "b"], {"a": object}, "lists of them, got <class 'object'> for 'a'"),
        (["a", "b"], {"a": 7}, "'7' is not a label"),
        (["a", "b"], {"a": float("nan")}, "no label has a parent"),
        (["a", "b"], {"a": 0.5}, "'0.5' is not a label"),
    ],
)
def test_bad_tables(names, parents, message):
    with pytest.raises(ValueError, match=message):
        Hierarchy(names, parents)


def test_a_deep_hierarchy():
    names = [f"n{i}" for i in range(1500)]
    deep = Hierarchy(names, dict(zip(names[1:], names)))
    Y = np.zeros((1, 1500), dtype=int)
    Y[0, -1] = 1
    assert deep.close(sparse.csr_array(Y)).sum() == 1500


@given(st.integers(0, 10_000))
@settings(max_examples=20)
def test_closing_by_loops(seed):
    rng = np.random.default_rng(seed)
    q = rng.integers(2, 8)
    names = [f"l{i}" for i in range(q)]
    # a label may have any earlier ones above it: no cycles
    parents = {names[l]: [names[p] for p in range(l) if rng.random() < 0.4] for l in range(q)}
    parents[names[1]] = [names[0]]
    tree = Hierarchy(names, parents)
    Y = (rng.random((5, q)) < 0.3).astype(int)
    closed = tree.close(Y)
    for row, found in zip(Y, closed):
        present = {names[l] for l in np.flatnonzero(row)}
        full = present.union(*(above(name, parents) for name in present))
        assert {names[l] for l in np.flatnonzero(found)} == full
    assert_array_equal(tree.close(sparse.csr_array(Y)).toarray(), closed)
    S = rng.normal(size=(4, q))
    lowest, nearest, highest = (tree.consistent(S, m) for m in ("min", "isotonic", "max"))
    for found in (lowest, nearest, highest):
        for child, parent in tree.edges:
            assert (found[:, child] <= found[:, parent]).all()
        assert_allclose(tree.consistent(found), found, atol=1e-9)
    assert (lowest <= S).all() and (highest >= S).all()
    for method in (lowest, highest):
        assert ((nearest - S) ** 2).sum() <= ((method - S) ** 2).sum() + 1e-9


def test_the_nearest_scores():
    rng = np.random.default_rng(0)
    names = list("abcdef")
    chain = Hierarchy(names, dict(zip(names[1:], names)))
    S = rng.normal(size=(10, 6))
    found = chain.consistent(S)
    for s, f in zip(S, found):
        expected = IsotonicRegression(increasing=False).fit_transform(np.arange(6), s)
        assert_allclose(f, expected, atol=1e-9)
    zoo = Hierarchy(ZOO, DAG)
    for s in rng.normal(size=(5, 5)):
        limits = [{"type": "ineq", "fun": lambda z, c=c, p=p: z[p] - z[c]} for c, p in zoo.edges]
        best = minimize(lambda z, s=s: ((z - s) ** 2).sum(), s, constraints=limits, tol=1e-12)
        assert_allclose(zoo.consistent(s[None])[0], best.x, atol=1e-5)


def test_bad_answers():
    tree = Hierarchy(NAMES)
    with pytest.raises(ValueError, match="the 6 labels of the hierarchy, got 2"):
        tree.close([[1, 0]])
    with pytest.raises(ValueError, match="scores must have the 6 labels"):
        tree.consistent([[1.0, 0.0]])
    with pytest.raises(ValueError, match="method must be one of isotonic, max, min"):
        tree.consistent(np.zeros((1, 6)), "mean")
    with pytest.raises(KeyError, match="did you mean 'a/b'"):
        tree.ancestors("a/bb")


def test_parents_by_number():
    assert Hierarchy(["a", "b", "c"], {1: 0, 2: [0, 1]}).edges.tolist() == [[1, 0], [2, 0], [2, 1]]
    assert Hierarchy(["1", "0"], {1: 0}).edges.tolist() == [[0, 1]]  # names come first
    # a table in which others are missing has floats
    table = np.array([[0, np.nan], [1, 0], [2, 1]])
    assert Hierarchy(["a", "b", "c"], table).edges.tolist() == [[1, 0], [2, 1]]
    assert Hierarchy(["a", "b"], {1: 0.0, 0: None}).edges.tolist() == [[1, 0]]
    with pytest.raises(ValueError, match="'7' is not a label"):
        Hierarchy(["a", "b"], {7: 0})


def test_a_parent_that_is_no_label_is_named():
    with pytest.raises(ValueError, match="'topic', the parent of 'topic/login', is not a label"):
        Hierarchy(["topic/login", "topic/bill"])
