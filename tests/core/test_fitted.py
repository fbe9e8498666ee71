"""What fitted objects declare about themselves, and what is found where it does not hold."""

from importlib.util import find_spec
from numbers import Integral

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

import plurilabel
from plurilabel import MLkNN, MultiLabelClassifier, RAkEL, ThresholdClassifier
from plurilabel._core.compat import Interval
from plurilabel._core.fitted import (
    check_fitted,
    check_sparse,
    count,
    flag,
    labels,
    lists_of_numbers,
    lists_of_places,
    number,
    numbers,
    one_of,
    parameter,
    parameters,
    places,
    values,
)
from plurilabel._core.roster import learners
from plurilabel.evaluation._checks import _data
from plurilabel.learners import make_learner
from plurilabel.thresholds import strategy_names

FORMS = [
    *(
        text
        for entry in learners().values()
        if not entry.needs or find_spec(entry.needs)
        for text in entry.checked
    ),
    "ClassifierChain(LogisticRegression(), inference='monte-carlo')",
    "RankSVM(kernel='rbf')",
]
X = np.arange(12.0).reshape(6, 2)
Y = np.array([[1, 0, 1], [0, 1, 0], [1, 1, 0]] * 2)


class Toy:
    _fitted = {"n_": count(), "a": numbers("n_", "k"), "b": places("k", below="n_", optional=True)}


class Child(Toy):
    _fitted = {
        "c": (labels("k"), number()),
        "d": flag(),
        "e": values("k+1"),
        "f": lists_of_places(None, below="k"),
        "g": lists_of_numbers("k", None, 2),
        "h": one_of("this", "that"),
        "size_": parameter(),
        "params": parameters(),
    }
    _parameter_constraints = {"size": [Interval(Integral, 1, None, closed="left"), None]}


def a_child(**changes):
    toy = Child()
    vars(toy).update(
        n_=2, a=np.ones((2, 3)), b=np.array([0, 1, 1]), c=(np.array([0, 1, 1]), 0.5), d=True,
        e=list("vwxy"), f=[np.array([0, 2]), np.array([], int)], g=[np.ones((1, 2))] * 3, h="that",
        size_=2, params={"size": None},
    )  # fmt: skip
    vars(toy).update(changes)
    return toy


def test_what_holds_is_accepted():
    check_fitted(a_child())
    toy = a_child()
    del toy.b
    check_fitted(toy)
    check_fitted(Child())  # not fitted
    check_fitted(object())


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("n_", 2.0, "must be a number, got a float"),
        ("n_", True, "must be a number, got a bool"),
        ("n_", -1, "must be at least 0, got -1"),
        ("a", [[1.0]], "must be an array, got a list"),
        ("a", np.ones((3, 3)), r"numbers in shape \(n_, k\) = \(2, 3\), got shape \(3, 3\)"),
        ("a", np.ones(2), r"numbers in shape \(n_, k\), got shape \(2,\)"),
        ("a", np.array([["x"] * 3] * 2), "numbers, got values of type <U1"),
        ("a", np.full((2, 3), np.nan), "finite, got NaN or infinity"),
        ("b", np.array([0, 1, 2]), "at least 0 and below 2, got 2"),
        ("b", np.array([0, -1, 0]), "at least 0 and below 2, got -1"),
        ("b", np.array([0.0, 1, 1]), "whole numbers, got values of type float64"),
        ("c", (np.array([0, 1, 1]),), "must have 2 entries"),
        ("c", (np.array([0, 1, 2]), 0.5), "must be 0 and 1, got other numbers"),
        ("c", (np.array([0, 1, 1]), np.inf), "must be finite, got inf"),
        ("d", 1, "must be True or False, got a int"),
        ("e", list("vwx"), r"values in shape \(k\+1\) = \(4,\), got shape \(3,\)"),
        ("e", None, "must be a list, got None"),
        ("f", [np.array([3])], "at least 0 and below 3, got 3"),
        ("g", [np.ones((1, 2))] * 2, r"values in shape \(k\) = \(3,\), got shape \(2,\)"),
        ("g", [np.ones((1, 3))] * 3, r"numbers in shape \(None, 2\)"),
        ("g", [np.full((1, 2), np.inf)] * 3, "finite, got NaN or infinity"),
        ("h", "those", "must be one of this, that"),
        ("h", ["this"], "must be one of this, that, got a list"),
        ("params", {"length": 2}, "must be a dict of its parameters"),
        ("params", [2], "must be a dict of its parameters"),
    ],
)
def test_what_does_not_hold_is_said(name, value, why):
    with pytest.raises(ValueError, match=f"^{name} of a Child .*{why}"):
        check_fitted(a_child(**{name: value}))


@pytest.mark.parametrize("changes", [{"size_": 0}, {"params": {"size": "2"}}])
def test_parameters_of_fit_are_what_parameters_may_be(changes):
    with pytest.raises(ValueError, match="'size' parameter of fitted Child must be an int"):
        check_fitted(a_child(**changes))


def test_what_is_missing_is_said():
    toy = a_child()
    del toy.e
    with pytest.raises(ValueError, match="e of a Child is missing"):
        check_fitted(toy)


def test_learners_declare_what_they_hold():
    learner = MLkNN(2).fit(X, Y)
    learner.graph_[1][3, 1] = 6
    with pytest.raises(ValueError, match="graph_ of a MLkNN must be at least 0 and below 6"):
        check_fitted(learner)
    learner = RAkEL(make_learner("RidgeClassifier"), labelset_size=2).fit(X, Y)
    learner.labelsets_[1][0] = 3
    with pytest.raises(ValueError, match="labelsets_ of a RAkEL must be .* below 3, got 3"):
        check_fitted(learner)


def undeclared_arrays(root):
    """Arrays that a fitted object would take into a model file and does not declare."""
    found, todo = set(), [root]
    while todo:
        part = todo.pop()
        if isinstance(part, list | tuple):
            todo += part
        elif isinstance(part, dict):
            todo += part.values()
        elif type(part).__module__.startswith("plurilabel."):
            declared = {
                name for cls in type(part).__mro__ for name in vars(cls).get("_fitted", {})
            }
            held = part.__getstate__()
            params = part.get_params(deep=False) if hasattr(part, "get_params") else {}
            todo += held.values()
            for name in held.keys() - declared - params.keys():
                value = held[name]
                while isinstance(value, list | tuple) and value:
                    value = value[0]
                if isinstance(value, np.ndarray) or sparse.issparse(value):
                    found.add(f"{name} of {type(part).__name__}")
    return found


def of_other_targets():
    """Fitted objects that are in model files, but not on the roster."""
    rng = np.random.default_rng(0)
    X, G, D = rng.normal(size=(30, 2)), rng.integers(0, 3, (30, 2)), rng.dirichlet([1, 1], 30)
    base = LogisticRegression()
    graded = [plurilabel.GradedMLkNN(3), plurilabel.VerticalReduction(base)]
    yield from (learner.fit(X, G) for learner in graded)
    others = [plurilabel.AAkNN(3), plurilabel.DistributionNetwork((2,))]
    yield from (learner.fit(X, D) for learner in others)
    kinds = ("mean", "extremes", "medoids", "embedding")
    yield plurilabel.BagsToRows(kinds, n_centers=2).fit(X.reshape(10, 3, 2))
    for strategy in strategy_names():
        learner = make_learner("BinaryRelevance(LogisticRegression())")
        yield ThresholdClassifier(learner, strategy).fit(X, G > 0)


@pytest.mark.parametrize("text", FORMS)
def test_every_array_of_a_learner_is_declared(text):
    X, Y = _data(learner := make_learner(text))
    learner.fit(X, Y)
    assert not undeclared_arrays(learner)
    check_fitted(learner)


def test_every_array_of_others_is_declared_and_parameters_wait_for_the_next_fit():
    for learner in of_other_targets():
        assert not undeclared_arrays(learner)
        check_fitted(learner)
        for part in vars(learner).values():
            check_fitted(part)
        ask = learner.predict if hasattr(learner, "predict") else learner.transform
        wanted = ask(X)
        for name, value in learner.get_params(deep=False).items():
            other = DecisionTreeClassifier() if hasattr(value, "fit") else object()
            learner.set_params(**{name: value if name == "n_jobs" else other})
        assert_array_equal(ask(X), wanted)


@pytest.mark.parametrize("name", learners())
def test_every_learner_declares_something_of_its_own(name):
    declared = {}
    for cls in learners()[name].find().__mro__:
        declared |= vars(cls).get("_fitted", {})
    assert declared.keys() > MultiLabelClassifier._fitted.keys()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("indices", np.array([0, 1, 9], np.int32)),
        ("indices", np.array([0, 1, -1], np.int32)),
        ("indices", np.array([0.0, 1, 2])),
        ("indices", np.array([[0, 1, 2]], np.int32)),
        ("indices", [0, 1, 2]),
        ("indptr", np.array([0, 3, 1, 3], np.int32)),
        ("indptr", np.array([1, 2, 3, 3], np.int32)),
        ("indptr", np.array([0, 1, 2, 9], np.int32)),
        ("indptr", np.array([0, 1, 3], np.int32)),
        ("indptr", np.array([0, -(2**31), 2, 0], np.int32)),
        ("indptr", np.array([0, 3, 2, 0], np.int32)),
        ("data", np.ones(2)),
        ("data", np.array(["x", "y", "z"])),
        ("_shape", (3,)),
        ("_shape", (3, -1)),
        ("_shape", (3, 2)),
        ("_shape", [3, 3]),
        ("_format", "coo"),
        ("format", "coo"),
    ],
)
def test_sparse_matrices_that_lead_nowhere(name, value):
    matrix = sparse.csr_array(np.eye(3))
    check_sparse(matrix)
    vars(matrix)[name] = value
    with pytest.raises(ValueError):
        check_sparse(matrix)


def test_other_sparse_formats_are_refused_and_their_memory_is_not_believed():
    with pytest.raises(ValueError, match="CSR or CSC, got a coo_array"):
        check_sparse(sparse.coo_array(np.eye(2)))
    matrix = sparse.csr_array((np.ones(2), [1, 0], [0, 2]), shape=(1, 2))
    matrix._has_sorted_indices = True
    check_sparse(matrix)
    assert not matrix.has_sorted_indices


def test_messages():
    matrix = sparse.csr_array([[0, 1], [1, 0]])
    matrix.indices[0] = 7
    with pytest.raises(ValueError, match="a sparse matrix with sound pointers, got one where "):
        check_sparse(matrix)
    learner = MLkNN(1).fit([[1.0], [2.0], [4.0]], [[0], [1], [1]])
    check_fitted(learner)
    learner.Y_ = learner.Y_[:2]
    message = r"Y_ of a MLkNN must be 0 and 1 in shape \(n, n_labels_\) = \(3, 1\), got shape "
    with pytest.raises(ValueError, match=message + r"\(2, 1\)$"):
        check_fitted(learner)
