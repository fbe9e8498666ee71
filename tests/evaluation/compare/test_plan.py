"""Names, values and files of cells."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from plurilabel import ClassifierChain, MLkNN, MLRandomForest, metrics
from plurilabel._core.records import plain, write_json
from plurilabel.evaluation._compare._plan import (
    cell_path,
    derived_seed,
    make_plan,
    read_cell,
    safe_name,
)
from plurilabel.learners import set_seeds
from plurilabel.metrics.shared import check_measures
from tests.evaluation.compare.toys import a_cell


def test_measures_by_default_are_all_that_evaluate_gives():
    scores = np.random.default_rng(0).random((4, 5))
    Y = (scores > 0.5).astype(int)
    assert set(check_measures(None)) == set(metrics.evaluate(Y, scores, Y))


names = st.text(min_size=1, max_size=80) | st.sampled_from(["..", ".", "con", "COM1.x", "a b"])


@given(st.lists(names, unique=True, min_size=2, max_size=5))
def test_safe_names_are_files_and_differ(many):
    safe = [safe_name(name) for name in many]
    assert len(set(safe)) == len(safe)
    for name in safe:
        assert name and len(name) <= 70 and name.isascii() and not set('/\\:*?"<>|\0 ') & set(name)
        assert not name.startswith(".") and name.lower() not in {"con", "nul", "com1.x"}


def test_plain_makes_json_of_anything():
    found = plain(
        {
            "a": np.float32(0.5),
            1: (np.inf, np.bool_(True)),
            "estimator": LogisticRegression(C=2.0),
            "steps": make_pipeline(LogisticRegression()).steps,
            "f": np.argmax,
            "g": lambda x: x,
            "o": object(),
            "range": range(3),
        }
    )
    json.dumps(found, allow_nan=False)
    assert found["a"] == 0.5 and found["1"] == [None, True] and found["range"] == [0, 1, 2]
    assert found["estimator"]["class"] == "sklearn.linear_model._logistic.LogisticRegression"
    assert found["estimator"]["parameters"]["C"] == 2.0
    assert found["steps"][0][0] == "logisticregression"
    assert found["f"] == "numpy.argmax" and "0x" not in found["o"]


def test_numbers_come_back_to_the_bit(tmp_path):
    cell = a_cell("yeast", "MLkNN", 0, 0, 0.1 + 0.2)
    write_json(tmp_path / "a" / "0-0.json", cell)
    assert read_cell(tmp_path / "a" / "0-0.json") == cell


def test_seeds_go_where_none_is_set():
    learner = GridSearchCV(
        make_pipeline(StandardScaler(), MLRandomForest()),
        {"mlrandomforest": [MLRandomForest(5), MLRandomForest(5, random_state=3)]},
        cv=KFold(2, shuffle=True),
    )
    set_seeds(learner, 11)
    assert learner.estimator[-1].random_state == 11 and learner.cv.random_state == 11
    assert [one.random_state for one in learner.param_grid["mlrandomforest"]] == [11, 3]
    seeds = {derived_seed(*place) for place in [(0, "a", 0, 0), (1, "a", 0, 0), (0, "b", 0, 0),
                                                (0, "a", 1, 0), (0, "a", 0, 1)]}  # fmt: skip
    assert len(seeds) == 5 and all(0 <= seed < 2**31 for seed in seeds)


def places(learner):
    """The cells of a comparison on 20 rows."""
    rng = np.random.default_rng(0)
    data = {"toy": (rng.random((20, 3)), rng.integers(0, 2, (20, 2)))}
    return make_plan(data, {"own": learner}, cv=2, measures=["f1"])[1]


class Silent:
    """A learner that is no estimator of scikit-learn, and does not show what it holds."""

    def __init__(self, held):
        self.held = held

    def fit(self, X, Y):
        return self

    def predict(self, X):
        return np.zeros((len(X), 2), dtype=int)


def test_learners_that_differ_in_what_is_not_shown_have_other_keys():
    # a string and an object that is written like it, NaN and None, other objects of a class
    long = np.arange(2000.0)
    differ = [
        MLkNN(7), MLkNN(7.0), MLkNN(np.int64(7)), MLkNN(None), MLkNN(np.nan), Silent(1), Silent(2),
        ClassifierChain(LogisticRegression(), order=np.array([0, 1])),
        ClassifierChain(LogisticRegression(), order=[0, 1]),
        Silent(long), Silent(np.where(long == 1000, 0, long)),
    ]  # fmt: skip
    keys = [places(one)[0].known["key"] for one in differ]
    assert len(set(keys)) == len(keys)
    assert keys[0] == places(MLkNN(7))[0].known["key"]


def test_a_learner_that_cannot_be_told_from_others_runs_again(tmp_path):
    first = places(make_pipeline(FunctionTransformer(lambda X: X), MLkNN(3)))[0]
    assert not first.has_key
    write_json(cell_path(tmp_path, first.known), {**first.known, "status": "ok"})
    other = places(make_pipeline(FunctionTransformer(lambda X: -X), MLkNN(3)))[0]
    assert other.kept(tmp_path, retry=False, fresh=False) is None
    known = places(MLkNN(3))[0]
    with pytest.raises(ValueError, match="another class"):
        known.kept(tmp_path, retry=False, fresh=False)


def test_another_version_of_scikit_learn_is_another_cell(tmp_path, monkeypatch):
    place = places(MLkNN(3))[0]
    write_json(cell_path(tmp_path, place.known), {**place.known, "status": "ok"})
    assert places(MLkNN(3))[0].kept(tmp_path, retry=False, fresh=False)["status"] == "ok"
    made_by = {**place.known["versions"], "scikit-learn": "99"}
    monkeypatch.setattr("plurilabel.evaluation._compare._plan.versions", lambda *_: made_by)
    with pytest.raises(ValueError, match="another version of scikit-learn"):
        places(MLkNN(3))[0].kept(tmp_path, retry=False, fresh=False)
