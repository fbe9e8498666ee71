"""What all stream learners promise: river's checks, pipelines, unknown labels."""

import subprocess
import sys
from importlib.util import find_spec

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone

from plurilabel import StreamClassifier, WindowMLkNN, streams
from plurilabel._core.roster import learners
from plurilabel.streams._stream_classifier import _as_classes, numbers

NAMES = [name for name, entry in learners().items() if entry.package == "streams"]
FORMS = {
    "WindowMLkNN": {"n_neighbors": 3, "window_size": 60},
    "NeighborSubspaceEnsemble": {"n_estimators": 3, "random_state": 0},
    "MLHoeffdingTree": {"grace_period": 20, "delta": 0.05},
}


def build(name):
    if learners()[name].needs and find_spec("river") is None:
        pytest.skip("river is not installed: it needs SciPy 1.14.1")
    return getattr(streams, name)(**FORMS.get(name, {}))


def rows(n=200, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    Y = X[:, :3] > [0.0, 0.4, -0.4]
    for x, y in zip(X.tolist(), Y.tolist()):
        yield dict(zip("abcd", x)), dict(zip(("one", "two", "three"), y))


@pytest.mark.parametrize("name", NAMES)
def test_river_checks(name, river):
    from river import checks

    learner = build(name)
    assert isinstance(learner, river.base.MultiLabelClassifier)
    for check in checks.yield_checks(learner):
        check(learner.clone())


@pytest.mark.parametrize("name", NAMES)
def test_in_pipelines_with_river_metrics(name, river):
    from river import evaluate, metrics, preprocessing

    model = preprocessing.StandardScaler() | build(name)
    metric = metrics.multioutput.MicroAverage(metrics.F1())
    evaluate.progressive_val_score(rows(), model, metric)
    assert metric.get() > 0.7


@pytest.mark.parametrize("name", NAMES)
def test_before_anything_was_learned(name):
    learner = build(name)
    assert learner.predict_one({"a": 1.0}) == {} == learner.predict_proba_one({"a": 1.0})
    learner.learn_one({"a": 1.0}, {})
    assert learner.predict_one({"a": 1.0}) == {}
    learner.learn_one({}, {"l": True})
    assert learner.predict_one({}) == {"l": True}
    assert learner.predict_one({"never seen": 3}) == {"l": True}


@pytest.mark.parametrize("name", NAMES)
def test_unknown_and_new_labels(name):
    """A label that is not known is as one whose key is not there; labels may come at any time."""
    absent, unknown = build(name), build(name)
    for i, (x, y) in enumerate(rows(90)):
        if i >= 30:
            y["late"] = y["one"]
        for learner, hidden in ((absent, ()), (unknown, (None, float("nan")))):
            given = {key: value for key, value in y.items() if i % 5 != 4 or key != "two"}
            if i % 5 == 4 and hidden:
                given["two"] = hidden[i % 2]
            learner.learn_one(x, given)
    x, _ = next(rows(1, seed=5))
    assert set(absent.predict_one(x)) == {"one", "two", "three", "late"}
    assert absent.predict_proba_one(x) == unknown.predict_proba_one(x)
    for label in absent.predict_proba_one(x).values():
        assert label[True] + label[False] == pytest.approx(1)


@pytest.mark.parametrize("name", NAMES)
def test_dicts_and_arrays_are_the_same_rows(name):
    X = np.array([list(x.values()) for x, _ in rows(120)])
    Y = np.array([list(y.values()) for _, y in rows(120)]).astype(float)
    Y[::4, 1] = np.nan
    by_dicts, by_rows = build(name), build(name)
    for x, y in zip(X.tolist(), Y.tolist()):
        by_dicts.learn_one(dict(enumerate(x)), {f"label{l}": v for l, v in enumerate(y)})
    by_rows.partial_fit(X[:50], Y[:50]).partial_fit(X[50:], Y[50:])
    assert_array_equal(by_rows.predict_proba(X), by_dicts.predict_proba(X))
    assert_array_equal(clone(by_rows).fit(X, Y).predict_proba(X), by_rows.predict_proba(X))
    one = by_rows.predict_proba_one(dict(enumerate(X[7].tolist())))
    assert [p[True] for p in one.values()] == by_rows.predict_proba(X[[7]])[0].tolist()


@pytest.mark.parametrize("name", NAMES)
def test_no_known_label_at_all(name):
    X = np.random.default_rng(0).normal(size=(6, 3))
    learner = build(name).fit(X, np.full((6, 2), np.nan))
    assert_array_equal(learner.predict(X), np.zeros((6, 2)))
    assert_array_equal(learner.partial_fit(X, np.ones((6, 2))).predict(X), np.ones((6, 2)))


def test_bad_labels_are_named():
    X, Y = np.zeros((4, 2)), np.zeros((4, 2))
    for value in (2.0, -1.0):
        Y[3, 1] = value
        with pytest.raises(ValueError, match=f"got {value:g} in row 3, column 1"):
            WindowMLkNN(1).fit(X, Y)
    learner = WindowMLkNN(1).fit(X, np.eye(4, 2))
    with pytest.raises(ValueError, match="y must have the 2 labels of fit, got 3"):
        learner.partial_fit(X, np.zeros((4, 3)))


def test_names_of_a_frame_with_missing_labels():
    import pandas as pd

    frame = pd.DataFrame({"sea": [1, None, 0], "sun": [0, 1, None]})
    learner = WindowMLkNN(1).fit(pd.DataFrame({"v": [0.0, 1, 2]}), frame)
    assert list(learner.label_names_) == ["sea", "sun"]
    assert set(learner.predict_one({"v": 0.1})) == {"sea", "sun"}
    assert learner.core_.labels[:3].tolist() == [[1, 0], [-1, 1], [0, -1]]


def test_without_river_the_extra_is_named(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "river.linear_model", None)
    with pytest.raises(ImportError, match=r"pip install 'plurilabel\[streams\]'"):
        streams.StreamBinaryRelevance().learn_one({"a": 1}, {"l": True})
    assert issubclass(streams.MLSAMPkNN, StreamClassifier)


def test_river_is_imported_only_for_learners_of_streams():
    code = "import sys\nfrom plurilabel import MLkNN\nfrom plurilabel.streams import prequential\n"
    then = "assert not any(name.startswith('river') for name in sys.modules)"
    subprocess.run([sys.executable, "-c", code + then], check=True)


def test_learners_have_the_base_class_of_river():
    base = pytest.importorskip("river.base")
    assert all(isinstance(build(name), base.MultiLabelClassifier) for name in NAMES)


@pytest.mark.parametrize("wrong", [None, [1.0], "red", {"a"}], ids=repr)
def test_rows_that_are_not_dicts(wrong):
    learner = WindowMLkNN(2)
    with pytest.raises(TypeError, match="y must be a dict of labels, got "):
        learner.learn_one({"a": 1.0}, wrong)
    with pytest.raises(TypeError, match="x must be a dict of features, got "):
        learner.learn_one(wrong, {"l": True})
    learner.learn_one({"a": 1.0}, {"l": True})
    with pytest.raises(TypeError, match="x must be a dict of features, got "):
        learner.predict_one(wrong)


def test_values_as_classes_and_as_numbers():
    assert _as_classes([1, 2]).tolist() == [1, 2] and _as_classes([1, 2]).dtype.kind == "i"
    assert _as_classes([1, "new"]).tolist() == [1, "new"]
    assert numbers("ab", [1, True]).tolist() == [1.0, 1.0]
    message = (
        "feature 'b' must be a finite number, got 'red'; encode or impute it first, for instance "
        "by river's preprocessing.OneHotEncoder"
    )
    with pytest.raises(ValueError, match=message):
        numbers("ab", [1, "red"])
