"""Names, values and files of cells."""

import json

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from plurilabel import MLRandomForest, metrics
from plurilabel._core.records import plain, write_json
from plurilabel.evaluation._compare._plan import derived_seed, read_cell, safe_name
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
    from sklearn.linear_model import LogisticRegression

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
