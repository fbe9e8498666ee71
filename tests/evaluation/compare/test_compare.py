"""Comparisons: correct values for all kinds of learners, workers and interruptions."""

import errno
import json
import os
import sys

import joblib
import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.multioutput import MultiOutputClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from plurilabel import BRkNN, MLkNN, MLkNNCV, MLRandomForest, metrics
from plurilabel.datasets import Dataset
from plurilabel.evaluation import Results, compare
from plurilabel.evaluation._compare._compare import _units
from plurilabel.evaluation._compare._plan import derived_seed, make_plan
from plurilabel.learners import set_seeds
from plurilabel.model_selection import IterativeStratifiedKFold
from tests.evaluation.compare.toys import TAGS, TOY, without_times
from tests.evaluation.compare.troublesome import Constant, Fails, Noise

LEARNERS = {
    "MLkNN": MLkNN(4),
    "BRkNN": BRkNN(6),
    "forest": MLRandomForest(3),
    "seeded": MLRandomForest(3, random_state=5),
    "search": GridSearchCV(MLkNN(), {"n_neighbors": [2, 6]}, cv=KFold(2, shuffle=True)),
    "cv": make_pipeline(StandardScaler(with_mean=False), MLkNNCV((1, 3))),
    "noise": Noise(use_global=True),
    "constant": Constant(),
}


MEASURES = ["f1", "ranking_loss", "macro_auc", "precision@2", "psp@1", "precision@9"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("comparison")


@pytest.fixture(scope="module")
def results(folder):
    seen = []
    found = compare(
        {"toy": TOY, "tags": TAGS},
        LEARNERS,
        cv=2,
        measures=MEASURES,
        out=folder,
        n_jobs=2,
        progress=lambda *news: seen.append(news),
    )
    total = 2 * 2 * len(LEARNERS)
    assert [(done, of) for done, of, _, _ in seen] == [(i + 1, total) for i in range(total)]
    assert seen[-1][3] == 0 and seen[5][3] > 0
    return found


def by_hand(data, name, learner, fold):
    """Scores of one cell, from the definition."""
    folds = IterativeStratifiedKFold(2, shuffle=True, random_state=0)
    train, test = list(folds.split(data.X, data.Y))[fold]
    seed = derived_seed(0, name, 0, fold)
    own = clone(learner)
    set_seeds(own, seed)
    np.random.seed(seed)  # noqa: NPY002 - as the worker does
    # np.asarray of sparse labels is nothing that every learner can work with
    known = data.Y[train].toarray() if sparse.issparse(data.Y) else data.Y[train]
    own.fit(data.X[train], known)
    labels = own.predict(data.X[test])
    scores = metrics.label_scores(own, data.X[test]) if hasattr(own, "predict_proba") else None
    p = metrics.propensities(data.Y[train])
    Y = data.Y[test]
    found = {"f1": metrics.f1(Y, labels), "precision@9": None}
    of_scores = {
        "ranking_loss": lambda: metrics.ranking_loss(Y, scores),
        "macro_auc": lambda: metrics.macro_auc(Y, scores),
        "precision@2": lambda: metrics.precision_at_k(Y, scores, 2),
        "psp@1": lambda: metrics.psp_at_k(Y, scores, 1, propensities=p),
    }
    return found | {name: of() if scores is not None else None for name, of in of_scores.items()}


@pytest.mark.parametrize("learner", LEARNERS)
def test_cells_are_what_one_gets_by_hand(results, learner):
    for name, data in (("toy", TOY), ("tags", TAGS)):
        for cell in results.cells:
            if cell["dataset"] != name or cell["learner"] != learner:
                continue
            assert cell["status"] == "ok", cell["traceback"]
            expected = by_hand(data, name, LEARNERS[learner], cell["fold"])
            nothing = [k for k, v in expected.items() if v is None]
            assert {k: cell["scores"][k] for k in nothing} == dict.fromkeys(nothing)
            for measure in set(MEASURES) - set(nothing):
                assert cell["scores"][measure] == expected[measure], measure


def test_what_a_cell_holds(results):
    cell = next(c for c in results.cells if c["learner"] == "search" and c["dataset"] == "toy")
    assert cell["best_params"] in ({"n_neighbors": 2}, {"n_neighbors": 6})
    assert cell["class"] == "sklearn.model_selection._search.GridSearchCV"
    inner = cell["parameters"]["estimator"]
    assert inner["class"] == "plurilabel.MLkNN" and inner["parameters"]["index"] is None
    assert cell["n_train"] == 30 and cell["n_test"] == 30
    assert cell["seed"] == derived_seed(0, "toy", 0, cell["fold"])
    assert set(cell["versions"]) >= {"plurilabel", "numpy", "scikit-learn", "python"}
    assert 10 < cell["peak_mb"] < 10_000 and cell["fit_seconds"] > 0
    q = TOY.Y.shape[1]
    counts = np.array([cell["per_label"][part] for part in ("tp", "fp", "fn", "tn")])
    assert counts.shape == (4, q) and (counts.sum(axis=0) == 30).all()
    chosen = [c["best_params"] for c in results.cells if c["learner"] == "cv"]
    assert all(c["n_neighbors"] in (1, 3) and c["smoothing"] == 1.0 for c in chosen)


def test_neighbour_searches_are_paid_once(results):
    cells = {c["learner"]: c for c in results.cells if (c["dataset"], c["fold"]) == ("toy", 0)}
    assert cells["MLkNN"]["search_seconds"] == 0 < cells["BRkNN"]["search_seconds"]
    assert cells["forest"]["search_seconds"] == 0


def test_the_plan_says_what_was_done(results, folder):
    plan = json.loads((folder / "plan.json").read_text())
    assert plan == results.plan
    assert plan["protocol"] == {"cv": 2, "repeats": 1, "random_state": 0, "measures": MEASURES}
    toy = plan["datasets"]["toy"]
    assert (toy["n"], toy["d"], toy["q"]) == (60, TOY.X.shape[1], TOY.Y.shape[1])
    assert toy["label_counts"] == TOY.Y.sum(axis=0).tolist() and not toy["sparse"]
    assert toy["split"] == "2 stratified folds" and plan["datasets"]["tags"]["sparse"]
    assert plan["learners"]["MLkNN"]["repr"] == "MLkNN(n_neighbors=4)"
    assert plan["command"].startswith("evaluation.compare(['toy', 'tags'], {'MLkNN': MLkNN(")
    assert {path.name for path in folder.iterdir()} - {".lock"} == {"plan.json", "cells"}


def test_neither_workers_nor_order_matter(results):
    """No worker, other learners around, another order, no folder: the same to the bit."""
    some = {name: LEARNERS[name] for name in ("noise", "cv", "forest", "BRkNN")}
    again = compare({"toy": TOY}, some, cv=2, measures=MEASURES, n_jobs=None)
    assert again.folder is None
    known = {(c["learner"], c["fold"]): c for c in without_times(results) if c["dataset"] == "toy"}
    assert len(again.cells) == 8
    for cell in without_times(again):
        assert cell == known[cell["learner"], cell["fold"]]


def test_open_and_resume(results, folder, monkeypatch):
    def no_worker(*args):
        raise AssertionError("nothing is left to do")

    (folder / ".work-left-by-a-killed-run").mkdir()
    left = [
        folder / ".plan.json.x-1-0.tmp",
        next(folder.glob("cells/*/*")) / ".0-0.json.x-1-0.tmp",
    ]
    for path in left:
        path.touch()
    monkeypatch.setattr("plurilabel.evaluation._compare._pool.Worker", no_worker)
    assert Results.open(folder).cells == results.cells
    again = compare(
        {"toy": TOY, "tags": TAGS}, LEARNERS, cv=2, measures=MEASURES, out=folder, n_jobs=2
    )
    assert again.cells == results.cells
    assert not list(folder.glob(".work-*"))
    assert not any(path.exists() for path in left)


def test_a_lock_that_is_a_link_is_refused(tmp_path):
    """It would be opened for writing, wherever it leads."""
    precious = tmp_path / "precious"
    precious.write_text("kept")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / ".lock").symlink_to(precious)
    with pytest.raises(OSError, match="is a link to another file; remove it"):
        compare(TOY, MLkNN(3), cv=2, measures=["f1"], out=tmp_path / "out")
    assert precious.read_text() == "kept"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"learners": {**LEARNERS, "MLkNN": MLkNN(5)}}, "other parameters .*'n_neighbors': 4"),
        ({"learners": {**LEARNERS, "MLkNN": BRkNN(4)}}, "another class .*MLkNN, now .*BRkNN"),
        ({"random_state": 1}, "MLkNN on toy.* another random_state"),
        ({"cv": 3}, "another split into training and test rows"),
        ({"measures": ["f1"]}, "other measures"),
        ({"datasets": {"toy": (TOY.X + 1, TOY.Y), "tags": TAGS}}, "other data of that name"),
    ],
)
def test_a_folder_of_something_else_is_refused(results, folder, change, message):
    call = {"datasets": {"toy": TOY, "tags": TAGS}, "learners": LEARNERS}
    call |= {"cv": 2, "measures": MEASURES, "out": folder} | change
    with pytest.raises(ValueError, match=message):
        compare(**call)
    assert Results.open(folder).cells == results.cells


def test_fresh_runs_everything_again(tmp_path, fake):
    first = compare(TOY, {"a": Constant()}, out=tmp_path)
    with pytest.raises(ValueError, match="another class"):
        compare(TOY, {"a": MLkNN()}, out=tmp_path)
    kept = compare(TOY, {"a": Constant()}, out=tmp_path)
    again = compare(TOY, {"a": MLkNN()}, out=tmp_path, fresh=True)
    assert kept.cells == first.cells
    assert again.cells[0]["pid"] != first.cells[0]["pid"]
    assert (
        again.cells[0]["class"].endswith("MLkNN") and Results.open(tmp_path).cells == again.cells
    )


def test_cells_of_an_earlier_plan_are_not_results(tmp_path, fake):
    compare(TOY, {"a": Constant()}, cv=4, out=tmp_path)
    fewer = compare(TOY, {"a": Constant()}, cv=2, out=tmp_path, fresh=True)
    assert len(fewer.cells) == 2 and Results.open(tmp_path).cells == fewer.cells
    twice = compare(TOY, {"a": Constant()}, cv=2, repeats=2, out=tmp_path)
    once = compare(TOY, {"a": Constant()}, cv=2, out=tmp_path)
    assert len(twice.cells) == 4 and once.cells == fewer.cells
    assert Results.open(tmp_path).cells == once.cells


def test_a_full_disk_is_named(tmp_path, monkeypatch):
    def full(*args, **kwargs):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(joblib, "dump", full)
    with pytest.raises(OSError, match="No space left") as caught:
        compare(TOY, Constant(), out=tmp_path)
    assert caught.value.filename == str(tmp_path)


def test_one_process_at_a_time(tmp_path):
    refused = []

    def again(*news):
        with pytest.raises(BlockingIOError) as caught:
            compare(TOY, Constant(), out=tmp_path, n_jobs=None)
        refused.append(str(caught.value))

    (tmp_path / ".lock").write_text("the file of a process that is gone is in nobody's way")
    compare(TOY, Constant(), out=tmp_path, progress=again, n_jobs=None)
    (message,) = refused
    assert f"in use by another comparison (process {os.getpid()}); wait for it" in message
    assert not compare(TOY, Constant(), out=tmp_path, n_jobs=None).failures()


def test_a_folder_needs_filelock(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "filelock", None)
    with pytest.raises(ImportError, match=r"pip install 'plurilabel\[compare\]'"):
        compare(TOY, Constant(), out=tmp_path)


def test_only_learners_that_search_neighbors_share_a_unit():
    learners = {"a": MLkNN(2), "b": Constant(), "c": BRkNN(3), "d": Constant()}
    _, places = make_plan({"toy": TOY}, learners, cv=2)
    units = _units(places, None)
    assert [list(unit.learners) for unit in units] == [[0, 2], [1], [3], [4, 6], [5], [7]]
    assert all(len(unit.train) == 30 for unit in units)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"cv": "loo"}, "cv must be 'holdout', a number of folds, a splitter or pairs"),
        ({"cv": None}, "cv must be"),
        ({"cv": 1}, "n_splits"),
        ({"cv": KFold(2), "repeats": 2}, "repeats must be 1 for a splitter that takes no seed"),
        ({"repeats": 0}, "'repeats' .* must be an int in the range .1, inf.. Got 0"),
        ({"random_state": None}, "'random_state' .* must be an int in .* Got None"),
        ({"n_jobs": 0}, "'n_jobs' .* must be an int in .* or None. Got 0"),
        ({"n_jobs": 1.5}, "'n_jobs' .* must be an int .*Got 1.5"),
        ({"time_limit": 0}, "'time_limit' .* must be a float in .* Got 0"),
        ({"time_limit": 5, "n_jobs": None}, "time_limit needs worker processes, got n_jobs=None"),
        ({"time_limit": "5"}, "'time_limit' .* must be a float in .* Got '5'"),
        ({"measures": []}, "at least one measure"),
        ({"measures": ["F1"]}, "name must be one of .*got 'F1'"),
        ({"measures": ["precision@k"]}, "must have a number for k"),
    ],
)
def test_invalid_options(change, message):
    with pytest.raises((ValueError, TypeError), match=message):
        compare(TOY, Constant(), **change)


# in this process -----------------------------------------------------------------------------


def test_in_this_process_it_is_the_same(results):
    np.random.seed(5)  # noqa: NPY002
    expected = np.random.random()  # noqa: NPY002
    np.random.seed(5)  # noqa: NPY002
    here = compare({"toy": TOY, "tags": TAGS}, LEARNERS, cv=2, measures=MEASURES, n_jobs=None)
    assert without_times(here) == without_times(results)
    assert np.random.random() == expected  # noqa: NPY002 - the caller's generator is untouched


class Interrupted(Constant):
    def fit(self, X, y):
        raise KeyboardInterrupt


def test_keyboard_interrupts_reach_the_caller():
    learners = {"fails": Fails(), "a": Constant()}
    cells = compare(TOY, learners, n_jobs=None).cells
    assert [cell["status"] for cell in cells] == ["error", "ok"]
    with pytest.raises(KeyboardInterrupt):
        compare(TOY, Interrupted(), n_jobs=None)


def test_sparse_labels_work_with_scikit_learn():
    dense = Dataset(TAGS.X, TAGS.Y.toarray(), TAGS.feature_names, TAGS.label_names)
    tree = DecisionTreeClassifier(max_depth=3)
    learners = {"tree": tree, "each": MultiOutputClassifier(tree), "MLkNN": MLkNN(4)}
    sparse, same = (
        compare({"same": data}, learners, measures=MEASURES, n_jobs=None) for data in (TAGS, dense)
    )
    assert not sparse.failures()
    assert [cell["scores"] for cell in sparse.cells] == [cell["scores"] for cell in same.cells]
