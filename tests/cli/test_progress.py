"""How far a training is, and how it keeps to its time."""

import json
import time

import pytest
from joblib import parallel_config

pytest.importorskip("skops", reason="model files need skops")

from plurilabel.cli import _progress
from plurilabel.cli._progress import Steps
from plurilabel.models import load_model

TABLE = ("--labels", "topics", "--features", "from,length")


@pytest.fixture
def every_line(monkeypatch):
    monkeypatch.setattr(_progress, "BETWEEN_LINES", 0)


def test_fit_tells_what_is_compared_and_how_far_it_is(run, mails, tmp_path, every_line):
    done = run("fit", mails, *TABLE, "-o", tmp_path / "m.skops")
    lines = done.err.splitlines()
    assert lines[0] == f"Reading {mails} ..."
    assert lines[1] == "Fitting on 48 rows ..."
    assert lines[2] == "  1 of 4: ML-kNN"
    assert lines[4].startswith("  3 of 4: logistic regression, C=")
    assert lines[4].endswith(" left")
    assert lines[6:] == ["Evaluating on 12 rows ...", "Refitting on all 60 rows ..."]
    done = run("fit", mails, *TABLE, "--quiet", "--quick", "-o", tmp_path / "quiet.skops")
    assert done.err == "" and "Tried 4 learners" in done.out


def test_tune_tells_what_is_compared_and_how_far_it_is(run, mails, tmp_path, every_line):
    spec = ("--learner", "MLkNN(n_neighbors=[1, 3, 5])", "--cv", 2)
    done = run("tune", mails, *TABLE, *spec, "-o", tmp_path / "m.skops")
    lines = done.err.splitlines()
    assert lines[1] == "Comparing 3 candidates in 2 folds of 48 rows ..."
    assert lines[2] == "  1 of 3: n_neighbors=1"
    assert lines[4].startswith("  3 of 3: n_neighbors=5; about ")
    with parallel_config(backend="threading"):
        jobs = run(
            "tune", mails, *TABLE, *spec, "--jobs", 2, "-q", "--json", "-o", tmp_path / "j.skops"
        )
    assert len(json.loads(jobs.out)["candidates"]) == 3


def test_quick(run, mails, tmp_path, monkeypatch):
    done = run("fit", mails, *TABLE, "--quick", "-o", tmp_path / "m.skops")
    assert "in 3 folds of 48 rows" in done.out
    assert load_model(tmp_path / "m.skops").estimator.portfolio == "quick"
    monkeypatch.setattr("plurilabel.models._train_search.QUICK_ROWS", 30)
    spec = ("--learner", "MLkNN(n_neighbors=[1, 3])")
    done = run("tune", mails, *TABLE, *spec, "--quick", "--holdout", 0, "-o", tmp_path / "t.skops")
    assert "Cross-validation, 3 folds of 30 rows: f1 of 2 candidates" in done.out
    model = load_model(tmp_path / "t.skops")
    assert model.estimator[-1].Y_.shape[0] == 60  # the best learns from all rows


def test_a_time_limit_ends_a_search(run, mails, tmp_path):
    spec = ("--learner", "MLkNN(n_neighbors=[1, 3, 5, 7])", "--cv", 2, "--time-limit", 1e-9)
    done = run("tune", mails, *TABLE, *spec, "-o", tmp_path / "m.skops")
    assert done.status == 0 and "Time was up after 1 of 4 candidates" in done.out
    assert "Not refitted on all rows: not enough time left" in done.out
    assert load_model(tmp_path / "m.skops").notes["learned_rows"] == "train"
    done = run("fit", mails, *TABLE, "--time-limit", 1e-9, "-o", tmp_path / "f.skops")
    assert "Learner: ML-kNN, since time was up before any was tried." in done.out
    assert "Not refitted on all rows: not enough time left" in done.out


def test_a_sign_of_life(monkeypatch, capsys):
    monkeypatch.setattr(_progress, "SIGN_OF_LIFE", 0.05)
    with Steps().step("Learning", seconds=90):
        time.sleep(0.3)
    told = capsys.readouterr().err.splitlines()
    assert told[0] == "Learning; about 1 min 30 s ..." and told[1].startswith(
        "  still running after"
    )


def test_on_a_terminal_there_is_a_bar(monkeypatch, capsys):
    from rich.console import Console

    monkeypatch.setattr(
        _progress.ui, "console", lambda **_: Console(stderr=True, force_terminal=True, width=100)
    )
    steps = Steps()
    with steps.step("Comparing"):
        steps.tick(1, 3, "[b]this one", 10.0)
    told = capsys.readouterr().err
    assert "Comparing: 2 of 3, [b]this one; about 20 s left" in told
