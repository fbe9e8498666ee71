"""A row that cannot be learned leaves a learner as it was, wherever learning stopped."""

import sys

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from plurilabel import WindowMLkNN
from tests.streams.test_stream_classifier import NAMES, build, rows

OWN = [name for name in NAMES if not name.startswith("Stream")]
"""Learners that undo their own work; the others have classifiers of river inside."""


def state(learner):
    x, _ = next(rows(1, seed=9))
    return (
        learner.predict_proba_one(x),
        learner.columns_.copy(),
        learner.label_names_.tolist(),
        learner.classes_.tolist(),
        learner.n_features_in_,
        learner.n_labels_,
    )


@pytest.mark.parametrize("name", NAMES)
def test_bad_rows(name):
    learner, twin = build(name), build(name)
    for x, y in rows(30):
        learner.learn_one(x, y)
        twin.learn_one(x, y)
    x, y = next(rows(1, seed=3))
    for bad in (
        ({**x, "new": "red"}, y),
        ({**x, "new": np.nan}, y),
        ({**x, "new": 1.0}, {**y, "one": 2}),
        ({**x, "new": 1.0}, {**y, "fresh": "yes"}),
    ):
        with pytest.raises(ValueError, match="must be"):
            learner.learn_one(*bad)
        assert state(learner) == state(twin)
    for x, y in rows(20, seed=4):
        learner.learn_one(x, y)
        twin.learn_one(x, y)
    assert state(learner) == state(twin)


@pytest.mark.parametrize("name", NAMES)
def test_a_bad_first_row_leaves_a_learner_unfitted(name):
    learner = build(name)
    for x, y in (({"a": "red"}, {"l": True}), ({"a": 1.0}, {"l": "red"})):
        with pytest.raises(ValueError, match="must be"):
            learner.learn_one(x, y)
        assert not hasattr(learner, "core_") and not hasattr(learner, "columns_")
    learner.learn_one({"a": 1.0}, {"l": True})
    assert learner.predict_one({"a": 1.0}) == {"l": True}


@pytest.mark.parametrize("name", OWN)
def test_too_many_features(name, monkeypatch):
    learner, twin = build(name), build(name)
    for x, y in rows(30):
        learner.learn_one(x, y)
        twin.learn_one(x, y)
    monkeypatch.setenv("PLURILABEL_MAX_MEMORY", "1e-6")
    x, y = next(rows(1, seed=3))
    many = {f"w{j}": 1.0 for j in range(2000)}
    with pytest.raises(ValueError, match="more than the limit"):
        learner.learn_one({**x, **many}, {**y, "fresh": True})
    assert state(learner) == state(twin)
    for x, y in rows(20, seed=4):
        learner.learn_one(x, y)
        twin.learn_one(x, y)
    assert state(learner) == state(twin)


def interrupted(call, lines):
    """Run until so many lines of the package were executed; whether it was stopped there."""
    left = lines

    def trace(frame, event, _):
        nonlocal left
        file = frame.f_code.co_filename
        if "streams" not in file or frame.f_code.co_name in ("restore", "search_all"):
            return None
        if event == "line":
            left -= 1
            if left == 0:
                raise KeyboardInterrupt
        return trace

    usual = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(usual)
    return False


@pytest.mark.parametrize("name", OWN)
@pytest.mark.parametrize("more", [{}, {"new": 0.5}])
def test_interrupted_anywhere(name, more):
    """With a new feature and a new label, or with none, in a window that is full."""
    learner, twin = build(name), build(name)
    for x, y in rows(80):
        learner.learn_one(x, y)
        twin.learn_one(x, y)
    before = state(twin)
    x, y = next(rows(1, seed=3))
    x, y = {**x, **more}, {**y, **{key: True for key in more}}
    lines = 3
    while interrupted(lambda: learner.learn_one(x, y), lines):
        assert state(learner) == before, lines
        lines += 1
    assert lines > 30
    twin.learn_one(x, y)
    for x, y in rows(20, seed=4):
        learner.learn_one(x, y)
        twin.learn_one(x, y)
    assert state(learner) == state(twin)


@pytest.mark.parametrize("values", [[0, 1, 2], ["cat", "dog", "hen"]])
def test_classes_that_come_by_dicts(values):
    """After a 1-D y the labels are the classes, and a new label is a further class."""
    rng = np.random.default_rng(0)
    at = rng.integers(3, size=60)
    X, y = rng.normal(size=(60, 2)) + 9 * at[:, None], np.array(values)[at]
    learner = WindowMLkNN(3).fit(X, y)
    assert set(learner.predict_one({0: 0.0, 1: 0.0})) == set(values)
    new = 7 if values[0] == 0 else "ape"
    for i in range(30):
        learner.learn_one({0: -30.0 - i / 30, 1: 0.0}, {**dict.fromkeys(values, False), new: True})
    assert learner.classes_.tolist() == [*values, new]
    assert learner.label_names_.tolist() == [str(value) for value in (*values, new)]
    far = [[-30.5, 0.0]]
    assert learner.predict(far).tolist() == [new]
    assert_array_equal(learner.predict(X), y)
    learner.partial_fit(far, [new])
    assert learner.predict(far).tolist() == [new]
    with pytest.raises(ValueError, match="which is not among"):
        learner.partial_fit(far, ["fish"])


def test_a_class_of_another_kind():
    learner = WindowMLkNN(1).fit([[0.0], [1.0]], [3, 4])
    learner.learn_one({0: 9.0}, {"new": True, 3: False, 4: False})
    assert learner.classes_.tolist() == [3, 4, "new"] and learner.classes_.dtype == object
    assert learner.partial_fit([[9.1], [0.1]], np.array(["new", 3], dtype=object)) is learner
