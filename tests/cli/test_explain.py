"""plurilabel explain, issues, calibrate and guarantee."""

import json

import numpy as np
import pandas as pd
import pytest

from plurilabel import BinaryRelevance, models
from plurilabel.cli import _refine
from plurilabel.models import load_model
from plurilabel.models._refine import GUARANTEES
from plurilabel.thresholds import ScoreCalibrator

LEARNER = "BinaryRelevance(LogisticRegression)"


@pytest.fixture(scope="module")
def films(tmp_path_factory, run):
    """Tables to learn from and to check on, and a model."""
    folder, rng = tmp_path_factory.mktemp("films"), np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(300, 2)).round(3), columns=["length", "age"])
    noisy = frame + rng.normal(scale=0.3, size=frame.shape)
    frame["long"], frame["old"] = 1 * (noisy["length"] > 0), 1 * (noisy["age"] > 0)
    frame[:150].to_csv(folder / "films.csv", index=False)
    frame[150:].to_csv(folder / "checked.csv", index=False)
    done = run(
        "fit", folder / "films.csv", "--labels", "long,old", "--learner", LEARNER,
        "-o", folder / "m.skops",
    )  # fmt: skip
    assert done.status == 0, done.err
    return folder


def test_explanations_are_those_of_the_model(run, films):
    model, data = films / "m.skops", films / "checked.csv"
    done = run("explain", model, data, "--row", "1,4", "--label", "long", "--json")
    rows = json.loads(done.out)["rows"]
    assert [row["row"] for row in rows] == [1, 4]
    loaded = load_model(model)
    for row, why in zip(rows, loaded.explain(pd.read_csv(data).iloc[[1, 4]])):
        (line,) = row["labels"]
        assert line["label"] == "long" and line["parts"] == pytest.approx(dict(why.top("long")))
    assert tuple(rows[0]["predicted"]) == loaded.predict(pd.read_csv(data)[1:2])[0]
    done = run("explain", model, data)
    assert done.out.count("contributions") == 3 and "Row 2: " in done.out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--row", "150"], "--row must be below the number of rows, 150, got 150"),
        (["--row", "x"], "--row must be row numbers, got x"),
        (["--label", "lomg"], "no label 'lomg'; did you mean long?"),
    ],
)
def test_what_is_not_there_is_told(run, films, options, message):
    done = run("explain", films / "m.skops", films / "checked.csv", *options)
    assert done.status == 2 and message in done.err


def test_issues_are_found_and_written(run, films, tmp_path):
    frame = pd.read_csv(films / "films.csv")
    worst = int(frame["length"].idxmax())
    assert frame.loc[worst, "long"] == 1
    frame.loc[worst, "long"] = 0
    frame.to_csv(tmp_path / "films.csv", index=False)
    out, page = tmp_path / "issues.csv", tmp_path / "issues.html"
    done = run(
        "issues", tmp_path / "films.csv", "--labels", "long,old", "-o", out, "--report", page
    )  # fmt: skip
    assert done.status == 0 and " missing" in done.out
    first = pd.read_csv(out).iloc[0]
    assert (first["row"], first["label"], first["issue"]) == (worst, "long", "missing")
    assert first["text"].startswith("length ") and "Save decisions" in page.read_text()
    done = run("issues", tmp_path / "films.csv", "--labels", "long,old", "--json", "-q")
    assert json.loads(done.out)["issues"][0]["row"] == worst
    done = run("issues", tmp_path / "films.csv", "--labels", "long,old", "--time", "age")
    assert done.status == 1 and "--time is not supported" in done.err


def test_choices_are_those_of_the_library():
    assert tuple(GUARANTEES) == _refine.KINDS
    (options, *_) = ScoreCalibrator._parameter_constraints["method"]
    assert set(_refine.METHODS) == options.options


def test_calibrate_and_guarantee(run, films, tmp_path):
    model, data = films / "m.skops", films / "checked.csv"
    done = run("calibrate", model, data, "--method", "isotonic", "-o", tmp_path / "c.skops")
    assert done.status == 0 and "CalibratedClassifier on 150 rows" in done.out
    rows = pd.read_csv(data)
    expected = models.calibrate(load_model(model), rows, method="isotonic").predict_proba(rows)
    found = load_model(tmp_path / "c.skops").predict_proba(rows)
    pd.testing.assert_frame_equal(found, expected)
    done = run("guarantee", model, data, "--alpha", "0.05", "-o", tmp_path / "g.skops")
    assert "Guarantee: at most 5% of a row's labels are missed" in done.out
    safe = load_model(tmp_path / "g.skops")
    recall = safe.evaluate(safe.read(rows, with_labels=True))[0]["recall"]
    assert recall >= 0.95
    assert recall > load_model(model).evaluate(safe.read(rows, with_labels=True))[0]["recall"]
    for kind in ("labels", "discoveries"):
        assert models.guarantee(load_model(model), rows, kind).predict(rows[:3])
    done = run("calibrate", model, films / "films.csv", "-o", tmp_path / "d.skops")
    assert done.status == 1 and "was trained on these rows" in done.err
    with pytest.raises(ValueError, match="kind must be one of recall, .*, got 'all'"):
        models.guarantee(load_model(model), rows, "all")


def test_calibration_keeps_no_guarantee_that_it_breaks(films):
    model, rows = load_model(films / "m.skops"), pd.read_csv(films / "checked.csv")
    with pytest.raises(ValueError, match="has a guarantee .'recall'., .* calibrate first"):
        models.calibrate(models.guarantee(model, rows), rows)
    both = models.guarantee(models.calibrate(model, rows), rows, alpha=0.05)
    assert both.evaluate(both.read(rows, with_labels=True))[0]["recall"] >= 0.95
    assert models.calibrate(model, rows).notes["threshold"] is None
    with pytest.raises(TypeError, match=r"must be a Model, got BinaryRelevance; use Model.of"):
        models.calibrate(BinaryRelevance(None), rows)


@pytest.mark.parametrize("kind", ["recall", "subset", "misses"])
def test_guarantee_with_a_confidence(run, films, tmp_path, kind):
    model, data = films / "m.skops", films / "checked.csv"
    options = ("--kind", kind, "--delta", "0.05", "--alpha", "0.2")
    done = run("guarantee", model, data, *options, "-o", tmp_path / "g.skops")
    assert "with a probability of at least 95%" in done.out
    strategy = load_model(tmp_path / "g.skops").estimator.strategy_
    rows = pd.read_csv(data)
    mean_only = models.guarantee(load_model(model), rows, kind, alpha=0.2).estimator.strategy_
    assert strategy.cut_ < mean_only.cut_  # the bound is stricter than the mean
    with pytest.raises(ValueError, match="'delta' parameter of RiskControl"):
        models.guarantee(load_model(model), rows, kind, delta=7)
    with pytest.raises(ValueError, match="delta must be None for kind='labels', got 0.1"):
        models.guarantee(load_model(model), rows, "labels", delta=0.1)
