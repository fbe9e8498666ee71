import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from plurilabel import MLkNN
from plurilabel.datasets import Dataset
from plurilabel.metrics import evaluate
from plurilabel.streams import (
    ArrayLearner,
    LabelShares,
    NoChange,
    RandomTreeStream,
    StreamResults,
    prequential,
)
from plurilabel.streams._prequential import _key
from tests.streams.learners import Fragile, Nearest

MEASURES = ["hamming_loss", "f1", "micro_f1", "macro_f1", "ranking_loss", "macro_auc"]
TREES = RandomTreeStream(600, 4, 3, drift_at=[300], random_state=2)


def replayed(stream, learner, delay=0):
    """Truth, scores and labels of a learner, by the shortest loop that tests before it trains."""
    rows = list(stream)
    Y, S, Z = [], [], []
    for i, (x, y) in enumerate(rows):
        labels, scores = learner.predict_one(x), learner.predict_proba_one(x)
        Y.append([int(v) for v in y.values()])
        Z.append([int(labels.get(l, False)) for l in y])
        S.append([scores[l][True] if l in scores else 0.0 for l in y])
        if i >= delay:
            learner.learn_one(*rows[i - delay])
    return np.array(Y), np.array(S), np.array(Z)


@pytest.mark.parametrize("delay", [0, 1, 150])
def test_curves_are_those_of_a_plain_loop(delay):
    results = prequential(TREES, Nearest(), MEASURES, window=100, fading=0.99, delay=delay)
    Y, S, Z = replayed(TREES, Nearest(), delay)
    assert results.rows.tolist() == [100, 200, 300, 400, 500, 600]
    for i, row in enumerate(results.rows):
        for kind, part in {"window": slice(row - 100, row), "overall": slice(row)}.items():
            expected = evaluate(Y[part], S[part], Z[part])
            for measure in MEASURES:
                tolerance = 0.01 if measure == "macro_auc" else 1e-9
                found = results.curve(measure, "Nearest", kind)[i]
                assert found == pytest.approx(expected[measure], abs=tolerance), (measure, kind)
    wrong = (Y != Z).mean(axis=1)
    weights = 0.99 ** np.arange(599, -1, -1)
    faded = results.curve("hamming_loss", "Nearest", "fading")[-1]
    assert faded == pytest.approx((weights * wrong).sum() / weights.sum())


def test_the_learner_sees_what_has_arrived_and_no_more():
    seen = []

    class Spy:
        def learn_one(self, x, y):
            seen.append(("learn", x["n"], y))

        def predict_one(self, x):
            seen.append(("test", x["n"]))
            x.clear()
            return {}

    rows = [({"n": n}, {"a": n % 2 == 0, "b": None}) for n in range(3)]
    prequential(rows, Spy(), "f1", delay=1)
    known = [{"a": True}, {"a": False}]
    assert seen == [
        ("test", 0), ("test", 1), ("learn", 0, known[0]), ("test", 2), ("learn", 1, known[1]),
    ]  # fmt: skip


def test_missing_and_new_labels():
    rows = [
        ({}, {"a": True, "b": float("nan")}),
        ({}, {"a": pd.NA}),
        ({}, {"b": False}),
        ({}, {"a": False, "b": False, "new": True}),
    ]
    results = prequential(rows, NoChange(), ["hamming_loss", "recall"], every=1)
    # 1 wrong of 1; nothing known; 0 of 1; a and the new one wrong of 3
    assert results.curve("hamming_loss", "NoChange", "overall") == pytest.approx(
        [1, 1, 0.5, (1 + 0 + 2 / 3) / 3]
    )


def test_given_learners_stay_as_they_are():
    learner = LabelShares()
    prequential(TREES, learner, "f1", max_rows=10)
    assert learner.sums_ == {}


def test_learners_by_name_and_by_number():
    found = prequential(TREES, [NoChange(), NoChange(), LabelShares()], "f1", max_rows=5)
    assert found.learners == ("NoChange()", "NoChange() (2)", "LabelShares")
    found = prequential(TREES, {"x": NoChange(), "y": "LabelShares(0.9)"}, "f1", max_rows=5)
    assert found.learners == ("x", "y") and found.n_rows == 5
    found = prequential(TREES, "NoChange, s=LabelShares", "f1", max_rows=5)
    assert found.learners == ("NoChange", "s")


def test_a_learner_that_fails_is_left_out():
    results = prequential(TREES, {"weak": Fragile(), "ok": NoChange()}, "f1", every=5)
    assert results.errors == {"weak": "row 10: RuntimeError: out of luck"}
    weak = results.curve("f1", "weak")
    assert np.isfinite(weak[0]) and np.isnan(weak[1:]).all() and len(weak) == 120
    assert np.isfinite(results.curve("f1", "ok")).all()
    assert np.isnan(results.final("f1")["weak"]) and np.isnan(results.mean("f1")["weak"])
    assert "1 learner failed" in repr(results)


def test_a_learner_without_scores_gets_measures_of_sets():
    class NotYet(NoChange):
        def predict_proba_one(self, x):
            raise NotImplementedError

    results = prequential(TREES, [NotYet(), Fragile()], ["hamming_loss", "one_error"], max_rows=9)
    assert results.errors == {}
    assert np.isfinite(list(results.final("hamming_loss").values())).all()
    assert np.isnan(list(results.final("one_error").values())).all()


@pytest.mark.parametrize(
    ("labels", "probabilities", "words"),
    [
        (None, {}, "row 1: TypeError: predict_one must return a dict of labels, got None"),
        ({}, {"label0": 0.5}, "row 1: TypeError: predict_proba_one must return a dict"),
        ({}, {"label0": {True: np.nan}}, "row 1: ValueError: scores must be finite, got nan"),
        ({"label0": 0.7}, {}, "row 1: ValueError: labels must be 0 or 1, got 0.7"),
    ],
)
def test_predictions_that_are_none(labels, probabilities, words):
    class Odd(NoChange):
        def predict_one(self, x):
            return labels

        def predict_proba_one(self, x):
            return probabilities

    results = prequential(TREES, Odd(), ["f1", "one_error"], max_rows=3)
    assert results.errors["Odd"].startswith(words)


def test_labels_that_follow_from_probabilities_are_not_asked_for():
    class Once(Nearest):
        def labels_of(self, probabilities):
            return {label: p[True] > 0.5 for label, p in probabilities.items()}

        def predict_proba_one(self, x):
            return {l: {True: 0.9 * y} for l, y in Nearest.predict_one(self, x).items()}

        def predict_one(self, x):
            pytest.fail("it is asked again")

    found = prequential(TREES, {"a": Nearest(), "b": Once()}, ["f1", "one_error"], max_rows=100)
    assert found.errors == {} and found.final("f1")["a"] == found.final("f1")["b"]


def test_scikit_learn_through_partial_fit():
    data = Dataset(*[np.array(part) for part in zip(*[
        (list(x.values()), [int(v) for v in y.values()]) for x, y in TREES
    ])])  # fmt: skip
    results = prequential(
        data, [MLkNN(3), LabelShares()], ["hamming_loss", "ranking_loss"], max_rows=150
    )
    assert results.errors == {}
    assert results.speed()["MLkNN"] > 0
    learner = ArrayLearner(MLkNN(3), batch=7, first=20)
    fitted = MLkNN(3).fit(data.X[:27], data.Y[:27])
    names = [dict(zip(data.feature_names, x)) for x in data.X]
    assert learner.predict_one(names[0]) == {}
    for x, y in zip(names[:30], data.Y):
        learner.learn_one(x, dict(zip(data.label_names, y)))
    for x in names[100:110]:
        expected = fitted.predict_proba([list(x.values())])[0]
        assert list(learner.scores_one(x).values()) == pytest.approx(expected)


def test_array_learner_leaves_out_what_is_new():
    learner = ArrayLearner(MLkNN(1), first=2)
    learner.learn_one({"a": 0.0}, {"l": True})
    learner.learn_one({"a": 1.0, "b": 5.0}, {"l": False, "m": True})
    learner.learn_one({"a": 1.0}, {"m": True})  # l is missing: not learned
    assert learner.predict_one({"b": 9.0}).keys() == {"l"}
    assert learner.estimator.X_.tolist() == [[0.0], [1.0]]
    with pytest.raises(TypeError, match="must have partial_fit"):
        ArrayLearner(object())
    with pytest.raises(ValueError, match="first must be at least 1"):
        ArrayLearner(MLkNN(), first=0)


def test_recoveries():
    plan = {
        "learners": ["a"], "drifts": [[100, 0, "sudden"], [200, 0, "sudden"], [300, 0, "sudden"]],
        "protocol": {"measures": ["f1"], "window": 10, "fading": None},
    }  # fmt: skip
    curve = [0.8, 0.9, 0.5, 0.89, 0.89, 0.3, 0.5, 0.5, 0.55]
    rows = [50, 100, 120, 150, 200, 240, 280, 300, 400]
    values = {"window": {"f1": curve}, "overall": {"f1": curve}}
    results = StreamResults(plan, {"rows": rows, "learners": {"a": values}})
    assert results.recoveries("f1", "a") == [50, None, 0]
    assert results.kinds == ("overall", "window")


def test_plain_errors():
    with pytest.raises(ValueError, match="at least one row, got none"):
        prequential([], NoChange())
    with pytest.raises(ValueError, match="at least one learner"):
        prequential(TREES, [])
    with pytest.raises(TypeError, match="got the class"):
        prequential(TREES, NoChange)
    with pytest.raises(TypeError, match="must have learn_one"):
        prequential(TREES, {"x": 3})
    with pytest.raises(ValueError, match="row 2 of the stream must have labels 0 and 1, got 7"):
        prequential([({}, {"a": 1}), ({}, {"a": 7})], NoChange())
    for name in ("window", "every", "delay", "checkpoint", "max_rows"):
        with pytest.raises(ValueError, match=name):
            prequential(TREES, NoChange(), **{name: -1})
    results = prequential(TREES, NoChange(), "f1", fading=None)
    with pytest.raises(ValueError, match="kind must be one of overall, window, got 'fading'"):
        results.mean("f1")
    with pytest.raises(ValueError, match="learner must be one of NoChange"):
        results.curve("f1", "other")


# on disk -------------------------------------------------------------------------------------


def same(a, b):
    """Equal in all but what they cost."""
    first, second = (r.frame().drop(columns=["seconds", "bytes"]) for r in (a, b))
    return first.equals(second) and a.errors == b.errors


def run(folder, **options):
    options = {"window": 70, "every": 20, "checkpoint": 50, "delay": 30, **options}
    learners = {"near": Nearest(), "shares": LabelShares(0.99), "weak": Fragile()}
    return prequential(TREES, learners, MEASURES, out=folder, **options)


def test_a_run_that_is_killed_continues(tmp_path):
    script = """
import os, signal, sys
from tests.streams.test_prequential import run
def stop(results):
    if results.n_rows == 400:
        os.kill(os.getpid(), signal.SIGKILL)
run(sys.argv[1], progress=stop)
"""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-c", script, tmp_path / "killed"]
    died = subprocess.run(command, env=environment, cwd=Path(__file__).parents[2], check=False)
    assert died.returncode == -signal.SIGKILL
    assert not StreamResults.open(tmp_path / "killed").is_finished
    rows = []
    continued = run(tmp_path / "killed", progress=lambda results: rows.append(results.n_rows))
    assert rows[0] == 380  # after the checkpoint at 360
    whole = run(tmp_path / "whole")
    assert same(continued, whole) and same(whole, run(None))
    assert same(StreamResults.open(tmp_path / "killed"), whole)
    assert StreamResults.open(tmp_path / "killed").is_finished
    left = {path.name for path in (tmp_path / "killed").iterdir()}
    assert left - {".lock"} == {"plan.json", "finished.json", "readings"}


def test_a_finished_run_is_not_run_again(tmp_path):
    whole = run(tmp_path)
    again = run(tmp_path, progress=lambda _: pytest.fail("it runs"))
    assert same(whole, again) and again.is_finished
    calls = []
    assert same(whole, run(tmp_path, fresh=True, progress=calls.append)) and calls


class Stop(Exception):
    pass


def stopped(folder, stream, learners, at=200):
    def stop(results):
        if results.n_rows == at:
            raise Stop

    with pytest.raises(Stop):
        prequential(stream, learners, "f1", out=folder, every=20, checkpoint=100, progress=stop)


def test_another_run_in_the_folder_is_an_error(tmp_path):
    stopped(tmp_path, TREES, NoChange())
    options = {"out": tmp_path, "every": 20, "checkpoint": 100}
    with pytest.raises(ValueError, match="another stream"):
        prequential(RandomTreeStream(600, 4, 3, random_state=3), NoChange(), "f1", **options)
    with pytest.raises(ValueError, match="other learners"):
        prequential(TREES, LabelShares(), "f1", **options)
    with pytest.raises(ValueError, match="other measures or settings"):
        prequential(TREES, NoChange(), "recall", **options)
    assert prequential(TREES, NoChange(), "f1", **options).is_finished


def test_other_rows_of_the_same_name_are_an_error(tmp_path):
    rows = list(TREES)
    stopped(tmp_path, rows, NoChange())
    options = {"out": tmp_path, "every": 20, "checkpoint": 100}
    for other in (rows[::-1], rows[:50]):
        with pytest.raises(ValueError, match="first 100 rows of the stream differ from those"):
            prequential(other, NoChange(), "f1", **options)
    assert same(
        prequential(rows, NoChange(), "f1", **options),
        prequential(rows, NoChange(), "f1", every=20, checkpoint=100),
    )


class Silent(Nearest):
    """Does not show its window."""

    __repr__ = object.__repr__


def test_learners_that_differ_in_what_is_not_shown_are_others(tmp_path):
    stopped(tmp_path, TREES, Silent(50))
    options = {"out": tmp_path, "every": 20, "checkpoint": 100}
    trained = Silent(50)
    trained.learn_one(*next(iter(TREES)))
    for other in (Silent(51), trained):
        with pytest.raises(ValueError, match="a run with other learners"):
            prequential(TREES, other, "f1", **options)
    assert prequential(TREES, Silent(50), "f1", **options).n_rows == 600


def test_a_finished_run_is_not_taken_for_that_of_another_function(tmp_path):
    def with_function(function):
        learner = Nearest()
        learner.function = function
        return prequential(TREES, learner, "f1", out=tmp_path, progress=ran.append)

    ran = []
    with_function(lambda x: x)
    before = len(ran)
    with_function(lambda x: -x)
    assert len(ran) == 2 * before > 0


def test_learners_of_river_without_a_seed_have_the_same_key():
    pytest.importorskip("river")
    from river import compose, forest, linear_model, preprocessing, tree

    for make in (
        tree.HoeffdingTreeClassifier,
        lambda: forest.ARFClassifier(n_models=2),
        lambda: preprocessing.StandardScaler() | linear_model.LogisticRegression(),
        lambda: compose.Pipeline(preprocessing.MinMaxScaler(), tree.HoeffdingTreeClassifier()),
    ):
        assert _key(make()) == _key(make()) is not None
    assert _key(forest.ARFClassifier(2)) != _key(forest.ARFClassifier(3))


def test_what_cannot_be_pickled_starts_again(tmp_path):
    learner = NoChange()
    learner.key = lambda x: x
    stopped(tmp_path, TREES, learner)
    assert not (tmp_path / "checkpoint.pickle").exists()
    rows = []
    results = prequential(
        TREES, learner, "f1", out=tmp_path, every=20, checkpoint=100,
        progress=lambda results: rows.append(results.n_rows),
    )  # fmt: skip
    assert rows[0] == 20 and results.rows.tolist() == list(range(20, 601, 20))
    assert np.isnan(results.size()["NoChange"])
    assert same(results, StreamResults.open(tmp_path))


def test_folders_of_something_else(tmp_path):
    with pytest.raises(FileNotFoundError, match="holds no run on a stream"):
        StreamResults.open(tmp_path)
    (tmp_path / "plan.json").write_text('{"format": 1}')
    with pytest.raises(ValueError, match="not that of a stream"):
        prequential(TREES, NoChange(), "f1", out=tmp_path)
    (tmp_path / "plan.json").write_text('{"format": 1, "what": "stream", "key": "x"}')
    with pytest.raises(ValueError, match="learners is not a dict"):
        StreamResults.open(tmp_path)


def test_size_and_speed():
    results = prequential(TREES, Nearest(20), "f1", checkpoint=200)
    sizes = results.curve("bytes", "Nearest")
    assert np.isfinite(sizes).tolist() == [False, True, False, True, False, True]
    assert sizes[1] == pytest.approx(sizes[5], rel=0.1)  # its memory is bounded
    assert results.size() == {"Nearest": sizes[-1]}
    seconds = results.curve("seconds", "Nearest")
    assert (np.diff(seconds) > 0).all()
    assert results.speed()["Nearest"] == pytest.approx(600 / seconds[-1])
