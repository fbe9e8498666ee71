"""``plurilabel fit --scheduler``: the model of one machine, from files in blocks."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

pytest.importorskip("skops", reason="model files need skops")
pytest.importorskip("dask.array", reason="the extra 'dask' is not installed")

from plurilabel import MLkNN, io
from plurilabel.datasets import Dataset
from plurilabel.models import load_model

NAMES = np.array(["blue", "green", "red"])


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("blocks")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(300, 5)) * [100, 1, 1, 1, 0], columns=list("abcde"))
    frame["e"] += 0.1  # a constant column
    Y = frame[["a", "b", "c"]].to_numpy() / [100, 1, 1] + rng.normal(size=(300, 3)) > 0.5
    frame["tags"] = [";".join(NAMES[row]) for row in Y]
    frame.loc[::37, "b"] = np.nan
    for i in range(2):
        part = frame.iloc[i * 150 : i * 150 + 150]
        part.to_parquet(folder / f"part{i}.parquet", row_group_size=40)
    return folder, frame, Y.astype(int)


def test_the_model_is_that_of_one_machine(run, files, tmp_path):
    folder, frame, Y = files
    out, paths = tmp_path / "m.skops", sorted(folder.glob("*.parquet"))
    done = run("fit", *paths, "--labels", "tags", "--scheduler", "threads", "-o", out)
    assert done.status == 0, done.err
    lines = done.out.splitlines()
    assert lines[0] == "part0: 300 rows in 2 blocks, 5 columns (5 of numbers), 3 labels"
    assert lines[1] == "Learner: ML-kNN on scaled features"
    assert lines[2] == "Measured on held-out rows: 60 rows (20%, stratified)"
    assert lines[-2] == "The saved model was refitted on all rows."
    model = load_model(out)
    X = frame[list("abcde")].to_numpy()
    alone = make_pipeline(SimpleImputer(strategy="median"), StandardScaler(), MLkNN(10)).fit(X, Y)
    asked = X + 0.01
    found = model.predict_proba(pd.DataFrame(asked, columns=list("abcde")))
    np.testing.assert_array_equal(found, alone.predict_proba(asked))
    frame.iloc[:5].to_csv(tmp_path / "new.csv", index=False)
    predicted = run("predict", out, tmp_path / "new.csv").out.splitlines()
    assert predicted[0] == "tags" and len(predicted) == 6


def test_learners_and_sparse_text(run, files, tmp_path):
    folder, frame, Y = files
    out = tmp_path / "m.skops"
    options = ("--scheduler", "threads", "--json", "--quiet", "-o", out, "--force")
    done = run(
        "fit", folder / "part0.parquet", folder / "part1.parquet", "--labels", "tags",
        "--features", "a,c", "--learner", "BRkNN(n_neighbors=7)", "--holdout", 0, *options,
    )  # fmt: skip
    assert done.status == 0, done.err
    assert "BRkNN(n_neighbors=7)" in json.loads(done.out)["learner"]
    assert load_model(out).feature_names == ("a", "c")
    X = np.maximum(frame[["a", "c"]].to_numpy(), 0)
    io.write_xmc(tmp_path / "rows.txt", Dataset(X, Y))
    done = run("fit", tmp_path / "rows.txt", *options)
    assert done.status == 0, done.err
    model = load_model(out)
    assert model.sparse_features
    expected = MLkNN(10, metric="cosine").fit(io.read_xmc(tmp_path / "rows.txt").X, Y)
    found = model.estimator.predict_proba(model.read(tmp_path / "rows.txt").X)
    np.testing.assert_array_equal(
        found, expected.predict_proba(io.read_xmc(tmp_path / "rows.txt").X)
    )


def test_what_does_not_go_with_it(run, files, tmp_path, monkeypatch):
    monkeypatch.setattr("plurilabel.distributed._cluster.PATIENCE", 0.2)
    folder, frame, _ = files
    first, out = folder / "part0.parquet", tmp_path / "m.skops"
    common = ("--labels", "tags", "-o", out)

    def message(*words):
        done = run("fit", *words, *common)
        assert done.status != 0 and not out.exists()
        return done.err

    report = ("--report", tmp_path / "r.html")
    assert "--report is not supported with" in message(first, "--scheduler", "threads", *report)
    threads = ("--scheduler", "threads")
    assert "--quick is not supported with" in message(first, *threads, "--quick")
    assert "--time-limit is not supported with" in message(first, *threads, "--time-limit", 9)
    assert "--store is not supported with" in message(first, *threads, "--store", tmp_path)
    assert "no column 'x'" in message(first, *threads, "--features", "x")
    endless = frame.assign(c=np.where(frame.index == 7, np.inf, 1.0))
    endless.to_parquet(tmp_path / "x.parquet")
    assert "contains infinity" in message(tmp_path / "x.parquet", *threads, "--holdout", 0)
    assert "does not respond" in message(first, "--scheduler", "nowhere:1")


@pytest.mark.filterwarnings("ignore:.*sklearn.utils.parallel.delayed.*:UserWarning")
def test_other_learners_are_spread(run, files, tmp_path):
    folder, _, _ = files
    learner = "EnsembleOfChains(LogisticRegression, n_estimators=3, random_state=0)"
    options = ["--labels", "tags", "--holdout", 0, "--learner", f"StandardScaler | {learner}"]
    kept = []
    for name, more in {
        "alone": [],
        "spread": ["--scheduler", "threads", "--store", tmp_path / "parts"],
        "again": ["--store", tmp_path / "parts"],
    }.items():
        files_and = (*sorted(folder.glob("*.parquet")), *options, *more)
        done = run("fit", *files_and, "-o", tmp_path / f"{name}.skops")
        assert done.status == 0, done.err
        kept.append({path.name for path in tmp_path.rglob("*.pickle")})
    assert not kept[0] and len(kept[1]) >= 3 and kept[2] == kept[1]
    rows = folder / "part0.parquet"
    found = [load_model(tmp_path / f"{name}.skops") for name in ("alone", "spread", "again")]
    alone, *others = (model.predict_proba(rows) for model in found)
    for other in others:
        pd.testing.assert_frame_equal(other, alone)


def test_linear_models_of_large_files(run, files, tmp_path, monkeypatch):
    """Files of more than a quarter of the memory are not read as a whole."""
    folder, frame, _ = files
    out, paths = tmp_path / "m.skops", sorted(folder.glob("*.parquet"))
    learner = "StandardScaler | BinaryRelevance(LogisticRegression(tol=1e-8))"
    options = ("--labels", "tags", "--learner", learner, "--scheduler", "threads", "--json")
    small = run("fit", *paths, *options, "-o", out)
    assert small.status == 0 and "encoded by the first" not in small.err
    expected = load_model(out).predict_proba(frame[list("abcde")])
    monkeypatch.setattr("plurilabel.models._train_blocks.KEPT", 0.0)
    monkeypatch.setattr("plurilabel.distributed._fit.KEPT", 0.0)
    monkeypatch.setattr("plurilabel.models._train_blocks.LOOKED_AT", 5000)
    large = run("fit", *paths, *options, "-o", out, "--force")
    assert large.status == 0, large.err
    assert json.loads(large.out)["held_out"]["rows"] == 60
    found = load_model(out).predict_proba(frame[list("abcde")])
    # all 300 rows are among the first 1,000
    np.testing.assert_allclose(found, expected, atol=1e-5)
    monkeypatch.setattr("plurilabel.models._train_blocks.RowTraining.check_rows", few_rows)
    done = run("fit", *paths, *options[:-1], "-o", out, "--force")
    assert "encoded by the first 120 rows" in done.out + done.err
    found = load_model(out).predict_proba(frame[list("abcde")])
    assert 0 < abs(found - expected).to_numpy().max() < 0.2  # another median in place of NaN


def few_rows(self, n, d):
    self.head = 120
    self.tell("note", "encoded by the first 120 rows")
