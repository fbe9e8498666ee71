"""``plurilabel fit`` and ``plurilabel tune``."""

import json
import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

pytest.importorskip("skops", reason="model files need skops")

from plurilabel import (
    AutoClassifier,
    MLkNN,
    RCut,
    ThresholdClassifier,
    datasets,
    io,
    metrics,
    model_selection,
)
from plurilabel.io import write_libsvm
from plurilabel.models import load_model

TEXT = ("--labels", "topics", "--features", "body")
TABLE = ("--labels", "topics", "--drop", "id,body")


def test_a_table_of_texts_with_the_default_learner(run, mails, tmp_path, mails_frame):
    out = tmp_path / "mails.skops"
    done = run("fit", mails, *TEXT, "-o", out)
    assert done.status == 0
    lines = done.out.splitlines()
    assert lines.pop(1) == "Note: 'body' is used as text"
    assert lines[0] == "mails: 60 rows, 1 column (1 of text), 3 labels, 1.58 per row"
    assert re.match(r"Tried \d+ learners in 5 folds of 48 rows, ", lines[1])
    assert lines[2].split() == ["learner", "micro", "F1", "weight"]
    assert any("linear support vectors, C=" in line for line in lines)
    assert any("expected on new rows" in line for line in lines)
    assert any(line.startswith("Label sets: ") for line in lines)
    assert "1 column: 1 of text." in lines
    assert "Measured on held-out rows: 12 rows (20%, chosen at random)" in lines
    assert lines[-2] == "The saved model was refitted on all rows."
    assert lines[-1].startswith(f"Wrote {out} (") and lines[-1].endswith(" kB)")
    model = load_model(out)
    assert model.label_names == ("food", "money", "sport")
    assert isinstance(model.estimator, AutoClassifier)
    assert model.estimator.report_ == model.notes["report"]
    predicted = model.estimator.predict(model.read(mails).X)
    tags = ["; ".join(np.array(model.label_names)[row == 1]) for row in predicted]
    assert tags == mails_frame["topics"].tolist()  # which the words give away
    assert model.notes["held_out"]["rows"] == 12 and model.notes["learned_rows"] == "all"


def test_the_same_command_gives_the_same_model(run, mails, tmp_path):
    found = []
    for name in ("a", "b"):
        done = run("fit", mails, *TABLE, "--quick", "--json", "-o", tmp_path / f"{name}.skops")
        result = json.loads(done.out)
        assert result.pop("model") == str(tmp_path / f"{name}.skops")
        assert "Wrote" in done.err
        found.append(result)
    assert found[0] == found[1]
    X = load_model(tmp_path / "a.skops").read(mails).X
    a, b = (load_model(tmp_path / f"{name}.skops").estimator for name in "ab")
    np.testing.assert_array_equal(a.predict_proba(X), b.predict_proba(X))


def test_held_out_quality_is_that_of_rows_not_seen(run, mails, tmp_path):
    """Twin: split, impute and fit by hand; the median of the training rows is used."""
    out = tmp_path / "m.skops"
    done = run("fit", mails, *TABLE, "--learner", "MLkNN(3)", "--seed", 7, "--holdout", 0.3,
               "--json", "-o", out)  # fmt: skip
    result = json.loads(done.out)
    data = io.read(mails, labels="topics", drop=["id", "body"])
    rows = np.random.RandomState(7).permutation(60)
    X_train, X_test, Y_train, Y_test = (part[some] for part in (data.X, data.Y)
                                        for some in (rows[:42], rows[42:]))  # fmt: skip
    median = np.nanmedian(X_train, axis=0)
    fill = [np.where(np.isnan(part), median, part) for part in (X_train, X_test)]
    learner = MLkNN(3).fit(fill[0], Y_train)
    expected = metrics.evaluate(Y_test, learner.predict_proba(fill[1]), learner.predict(fill[1]))
    assert result["held_out"]["rows"] == 18
    assert result["held_out"]["measures"] == pytest.approx(dict(expected), abs=1e-12)
    assert (result["threshold"], result["nonempty"]) == (None, False)
    # then all rows
    median = np.nanmedian(data.X, axis=0)
    X = np.where(np.isnan(data.X), median, data.X)
    model = load_model(out)
    np.testing.assert_array_equal(
        model.estimator.predict_proba(model.read(mails).X),
        MLkNN(3).fit(X, data.Y).predict_proba(X),
    )


def test_no_refit_keeps_the_model_of_the_training_part(run, mails, tmp_path):
    options = ("fit", mails, *TABLE, "--learner", "MLkNN(3)", "-o", tmp_path / "m.skops")
    done = run(*options, "--no-refit")
    assert "The saved model was fitted on the other 48 rows." in done.out
    model = load_model(tmp_path / "m.skops")
    assert model.notes["learned_rows"] == "train"
    data = io.read(mails, labels="topics", drop=["id", "body"])
    rows = np.random.RandomState(0).permutation(60)[:48]
    X, Y = data.X[rows], data.Y[rows]
    median = np.nanmedian(X, axis=0)
    learner = MLkNN(3).fit(np.where(np.isnan(X), median, X), Y)
    np.testing.assert_array_equal(
        model.estimator.predict_proba(model.read(mails).X),
        learner.predict_proba(np.where(np.isnan(data.X), median, data.X)),
    )


def test_nothing_held_out(run, mails, tmp_path):
    options = ("--learner", "MLkNN(3)", "-o", tmp_path / "m.skops")
    done = run("fit", mails, *TABLE, *options, "--holdout", 0)
    assert "Quality unknown: no rows held out." in done.out
    (tmp_path / "few.csv").write_text("x,tags\n1,a;b\n2,b\n3,a\n4,\n")
    done = run("fit", tmp_path / "few.csv", "--labels", "tags", "-o", tmp_path / "few.skops")
    assert done.status == 0
    assert "Note: 1 row has an empty cell in 'tags' and is assumed to have no label" in done.out
    assert "Learner: random forest, since 4 rows are too few to compare learners." in done.out
    assert "Quality unknown: no rows held out, since there are only 4." in done.out


def test_published_split(run, tmp_path, data_folder):
    options = ("fit", "flags", "--learner", "StandardScaler | MLkNN", "--json", "--force")
    done = run(*options, "-o", tmp_path / "m.skops")
    result = json.loads(done.out)
    assert result["held_out"]["how"] == "65 rows (the published test part)"
    data = datasets.load("flags")
    X_train, X_test, Y_train, Y_test = data.holdout()
    center, scale = X_train.mean(axis=0), X_train.std(axis=0)
    scale[scale == 0] = 1
    learner = MLkNN().fit((X_train - center) / scale, Y_train)
    labels = learner.predict((X_test - center) / scale)
    assert result["held_out"]["measures"]["hamming_loss"] == pytest.approx(
        metrics.hamming_loss(Y_test, labels)
    )
    done = run(*options, "--holdout", 0.5, "-o", tmp_path / "m.skops")
    assert json.loads(done.out)["held_out"]["how"] == "97 rows (50%, chosen at random)"
    # the test part is not part of what the model saw
    run(*options, "--no-refit", "-o", tmp_path / "m.skops")
    again = run("evaluate", tmp_path / "m.skops", "flags", "--json")
    assert again.err == ""
    assert json.loads(again.out)["measures"] == pytest.approx(result["held_out"]["measures"])


def test_other_formats(run, tmp_path):
    data = datasets.load("digits")
    few = datasets.Dataset(data.X[:100], data.Y[:100], data.feature_names, data.label_names)
    packed = datasets.Dataset(
        sparse.csr_array(few.X), sparse.csr_array(few.Y), few.feature_names, few.label_names
    )
    write_libsvm(tmp_path / "a.svm", packed)
    io.write_arff(tmp_path / "a.arff", few)
    for name in ("a.svm", "a.arff"):
        out = tmp_path / f"{name}.skops"
        done = run("fit", tmp_path / name, "--learner", "MLkNN(3)", "-o", out)
        assert done.status == 0
        assert "100 rows, 64 " in done.out and "7 labels" in done.out


def test_thresholds(run, mails, tmp_path):
    learner = ("--learner", "MLkNN(3)")
    for given, expected in (("scut", "SCut"), ("rcut", "RCut"), ("none", None)):
        done = run("fit", mails, *TABLE, *learner, "--threshold", given, "--holdout", 0,
                   "--force", "-o", tmp_path / "m.skops")  # fmt: skip
        assert done.status == 0
        estimator = load_model(tmp_path / "m.skops").estimator
        strategy = getattr(estimator, "strategy_", None)
        assert (strategy and type(strategy).__name__) == expected
    done = run("fit", mails, *TABLE, *learner, "--threshold", "best", "-o", tmp_path / "m.skops")
    assert done.status == 2 and "'best' is not one of" in done.err


def test_the_default_learner_with_a_cut_and_a_measure(run, mails, tmp_path):
    out = tmp_path / "m.skops"
    done = run("fit", mails, *TABLE, "--threshold", "rcut", "--measure", "hamming_loss", "-o", out)
    assert "Threshold: rcut" in done.out
    assert "Label sets: RCut(), as requested." in done.out
    learner = load_model(out).estimator
    assert isinstance(learner.cut_, RCut) and learner.measure == "hamming_loss"
    done = run("fit", mails, *TABLE, "--measure", "f3", "-o", tmp_path / "n.skops")
    assert done.status == 2 and "--measure must be one of" in done.err


def test_very_many_labels(run, mails, tmp_path, monkeypatch):
    monkeypatch.setattr("plurilabel.wrappers.automatic._large.FEW_LABELS", 3)
    monkeypatch.setattr("plurilabel.wrappers.automatic._large.MOST_DENSE", 100)
    done = run("fit", mails, *TABLE, "--quick", "-o", tmp_path / "m.skops")
    assert done.status == 0 and "fastText" in done.out
    assert load_model(tmp_path / "m.skops").estimator.top_ == 50


def test_a_learner_with_its_own_imputer_keeps_it(run, mails, tmp_path):
    spec = "SimpleImputer(strategy='constant', fill_value=9) | MLkNN(3)"
    run("fit", mails, *TABLE, "--learner", spec, "-o", tmp_path / "m.skops")
    encoder, learner = load_model(tmp_path / "m.skops").estimator
    assert [name for name, _ in learner.steps] == ["simpleimputer", "mlknn"]
    assert "Imputer" not in repr(encoder)


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["{mails}", "-o", "m.skops"], 2, "--labels must name the label columns of {mails}"),
        (["{mails}", "--labels", "3", "-o", "m.skops"], 2, "got the number 3"),
        (["{mails}", "--labels", "topics", "--features", "id,body", "--drop", "id", "-o",
          "m.skops"], 1, "Error: --drop must name no column that is to be used, got 'id'"),
        (["{mails}", "--labels", "topic", "-o", "m.skops"], 1,
         "Error: --labels names a column 'topic', which the table does not have; did you mean "
         "'topics'?"),
        (["{mails}", "--labels", "topics", "--drop", "idd", "-o", "m.skops"], 1,
         "Error: --drop names a column 'idd'"),
        (["{mails}", "--labels", "topics", "--text", "topics", "-o", "m.skops"], 1,
         "Error: --text must name no label column, got 'topics'"),
        (["{mails}", *TABLE, "-o", "m.pkl"], 2, "-o must name a file that ends in .skops"),
        (["{mails}", *TABLE, "-o", "no/m.skops"], 2,
         "-o no/m.skops: the folder no does not exist"),
        (["{mails}", *TABLE, "--learner", "MLkNN(k=3)", "-o", "m.skops"], 2,
         "--learner: MLkNN has no parameter 'k'; it has n_neighbors"),
        (["{mails}", *TABLE, "--learner", "__import__('os')", "-o", "m.skops"], 2, "--learner: "),
        (["{mails}", *TABLE, "--learner", "MLkNN(500)", "-o", "m.skops"], 1, "n_neighbors must"),
        (["{mails}", *TABLE, "--learner", "MLkNN(metric='x')", "-o", "m.skops"], 1, "metric"),
        (["nowhere.csv", "-o", "m.skops"], 1, "there is no file nowhere.csv"),
        (["digits", "--labels", "a", "-o", "m.skops"], 1, "needs no --labels"),
        (["{mails}", *TABLE, "--holdout", "2", "-o", "m.skops"], 2, "2.0 is not in the range"),
    ],
)  # fmt: skip
def test_fit_errors_are_one_sentence(
    run, mails, tmp_path, monkeypatch, arguments, status, message
):
    monkeypatch.chdir(tmp_path)
    done = run("fit", *(a.format(mails=mails) for a in arguments))
    assert done.status == status
    assert message.format(mails=mails) in done.err and "Traceback" not in done.err
    assert done.err.splitlines()[-1].startswith("Error: ")
    assert not list(tmp_path.glob("*.skops"))


def test_a_tag_on_every_row_and_one_tag_only(run, mails_frame, tmp_path):
    path, model = tmp_path / "mails.csv", tmp_path / "m.skops"
    options = ["--labels", "topics", "--features", "length,from", "--force", "-o", model]
    logistic = ["--learner", "BinaryRelevance(LogisticRegression(max_iter=1000))"]
    mails_frame.assign(topics="mail; " + mails_frame["topics"]).to_csv(path, index=False)
    assert run("fit", path, *options, *logistic).status == 0
    predicted = run("predict", model, path).out.splitlines()[1:]
    assert all("mail" in row.split(";") for row in predicted)
    mails_frame.assign(topics="mail").to_csv(path, index=False)
    done = run("fit", path, *options)
    assert done.status == 0 and " 1 label, 1.00 per row" in done.out
    assert "nan" not in done.out  # no pair to rank, so nothing is said of ranking
    assert set(run("predict", model, path).out.splitlines()[1:]) == {"mail"}


def test_one_row(run, tmp_path):
    (tmp_path / "one.csv").write_text("x,tags\n3,sun;sea\n")
    done = run("fit", tmp_path / "one.csv", "--labels", "tags", "-o", tmp_path / "m.skops")
    assert done.status == 0 and "1 rows" not in done.out
    assert "one: 1 row, 1 column (1 of numbers), 2 labels" in done.out
    assert "since 1 row is too few to compare learners" in done.out
    done = run("predict", tmp_path / "m.skops", tmp_path / "one.csv", "-o", tmp_path / "p.csv")
    assert "p.csv (1 row)\n" in done.err
    assert (tmp_path / "p.csv").read_text() == "tags\nsea;sun\n"


# tune ----------------------------------------------------------------------------------------


def test_tune_saves_the_best_of_a_cross_validation(run, mails, tmp_path):
    out = tmp_path / "m.skops"
    spec = "StandardScaler | MLkNN(n_neighbors=[1, 3, 15])"
    done = run("tune", mails, *TABLE, "--learner", spec, "--cv", 3,
               "--measure", "hamming_loss", "--seed", 1, "-o", out)  # fmt: skip
    assert done.status == 0
    lines = done.out.splitlines()
    assert lines[1] == "Cross-validation, 3 folds of 48 rows: hamming_loss of 3 candidates"
    assert lines[2].split() == ["candidate", "hamming_loss", "deviation", "fit", "seconds"]
    shown = {row.split()[0]: float(row.split()[1]) for row in lines[3:6]}
    assert list(shown.values()) == sorted(shown.values())  # best first: lower
    # twin: the same folds, by hand
    data = io.read(mails, labels="topics", drop=["id", "body"])
    rows = np.random.RandomState(1).permutation(60)[:48]
    X, Y = data.X[rows], data.Y[rows]
    folds = model_selection.IterativeStratifiedKFold(3, shuffle=True, random_state=1)
    for k in (1, 3, 15):
        losses = []
        for train, test in folds.split(X, Y):
            median = np.nanmedian(X[train], axis=0)
            filled = np.where(np.isnan(X), median, X)
            center, scale = filled[train].mean(axis=0), filled[train].std(axis=0)
            A = (filled - center) / np.where(scale == 0, 1, scale)
            labels = MLkNN(k).fit(A[train], Y[train]).predict(A[test])
            losses.append(metrics.hamming_loss(Y[test], labels))
        assert shown[f"n_neighbors={k}"] == pytest.approx(np.mean(losses), abs=5e-5)
    best = int(lines[3].split()[0].removeprefix("n_neighbors="))
    model = load_model(out)
    assert model.notes["best"] == {"n_neighbors": best}
    assert model.estimator[-1][-1].n_neighbors == best
    assert "Measured on held-out rows: 12 rows (20%, chosen at random)" in done.out


def test_tune_as_json_with_a_threshold(run, mails, tmp_path):
    out = tmp_path / "m.skops"
    spec = "BinaryRelevance(LogisticRegression(C=[0.1, 10], max_iter=[200]))"
    done = run("tune", mails, *TEXT, "--learner", spec, "--cv", 2, "--threshold", "rcut",
               "--json", "-o", out)  # fmt: skip
    result = json.loads(done.out)
    assert [c["parameters"]["max_iter"] for c in result["candidates"]] == [200, 200]
    assert {c["parameters"]["C"] for c in result["candidates"]} == {0.1, 10}
    assert result["candidates"][0]["mean"] >= result["candidates"][1]["mean"]
    assert result["measure"] == "f1" and result["threshold"] == "rcut"
    assert isinstance(load_model(out).estimator, ThresholdClassifier)
    assert "candidate" in done.err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--learner", "MLkNN(3)"], "--learner needs a list of candidates"),
        (["--learner", "MLkNN([3, 5])", "--measure", "f2"], "--measure must be one of"),
        (["--learner", "MLkNN([3, 5])", "--measure", "precision@k"], "--measure must have"),
        (["--learner", "MLkNN([3, 5])", "--cv", "1"], "1 is not in the range"),
        ([], "Missing option '--learner'"),
    ],
)
def test_tune_errors(run, mails, tmp_path, options, message):
    done = run("tune", mails, *TABLE, *options, "-o", tmp_path / "m.skops")
    assert done.status == 2 and message in done.err


@pytest.mark.parametrize(
    "spec", ["RandomForestClassifier(n_estimators=5)", "MultiOutputClassifier(LogisticRegression)"]
)
def test_learners_of_scikit_learn_take_tags(run, mails, tmp_path, spec):
    out = tmp_path / "m.skops"
    done = run("fit", mails, *TABLE, "--learner", spec, "-o", out)
    assert done.status == 0
    done = run("predict", out, mails, "--scores")
    assert done.out.splitlines()[0] == "topics,score_food,score_money,score_sport"


def test_candidates_in_fit(run, mails, tmp_path):
    out = tmp_path / "m.skops"
    done = run("fit", mails, *TABLE, "--learner", "MLkNN(n_neighbors=[1, 30])", "-o", out)
    assert "Best of 2 candidates: n_neighbors=" in done.out
    assert isinstance(load_model(out).estimator[-1], MLkNN)


def test_parquet_with_label_columns(run, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(red=X[:, 0] > 0, blue=X[:, 1] > 0)
    frame.to_parquet(tmp_path / "c.parquet")
    done = run("fit", tmp_path / "c.parquet", "--labels", "red,blue", "--learner", "MLkNN(3)",
               "-o", tmp_path / "m.skops")  # fmt: skip
    assert done.status == 0 and "c: 40 rows, 2 columns (2 of numbers), 2 labels" in done.out
    assert load_model(tmp_path / "m.skops").labels == ["red", "blue"]


def test_a_model_is_saved_though_nobody_reads_the_output(mails, tmp_path):
    """As in ``plurilabel fit ... | head -1``."""
    out, code = tmp_path / "m.skops", "from plurilabel.cli import main; main()"
    command = [sys.executable, "-c", code, "fit", str(mails), *TABLE, "--learner", "MLkNN(3)"]
    with subprocess.Popen([*command, "-o", str(out)], stdout=-1, stderr=-1) as process:
        process.stdout.close()
        said = process.stderr.read().decode()
    assert process.returncode == 0 and "Error" not in said
    assert load_model(out).label_names == ("food", "money", "sport")


def test_sparse_features_are_scaled_without_their_mean(run, tmp_path):
    X = sparse.random_array((30, 6), density=0.3, format="csr", random_state=0)
    Y = sparse.csr_array(np.tile([[1, 0], [0, 1]], (15, 1)))
    data, out = tmp_path / "d.svm", tmp_path / "m.skops"
    write_libsvm(data, datasets.Dataset(X, Y, list("uvwxyz"), list("ab")))
    done = run("fit", data, "--learner", "StandardScaler | MLkNN(3)", "-o", out)
    assert done.status == 0
    assert "Note: StandardScaler does not center, since the features are sparse" in done.out
    assert not load_model(out).estimator[0].with_mean


def test_labels_that_are_not_known(run, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    Y = (X[:, :2] + 0.2 * rng.normal(size=(120, 2)) > 0).astype(float)
    Y[rng.random(Y.shape) < 0.4] = np.nan
    frame = pd.DataFrame(X, columns=list("abc"))
    for name, values in zip(("sea", "sun"), Y.T):
        frame[name] = pd.array(values, dtype="Int64")
    train, test, new = (tmp_path / f"{name}.csv" for name in ("train", "test", "new"))
    frame[:90].to_csv(train, index=False)
    frame[90:].to_csv(test, index=False)
    frame[["a", "b", "c"]].to_csv(new, index=False)
    out, hidden = tmp_path / "model.skops", int(np.isnan(Y[:90]).sum())
    done = run("fit", train, "--labels", "sea,sun", "--quick", "-o", out)
    assert done.status == 0
    assert "expected on new rows" in done.out
    assert f"Note: {hidden} of 180 label values unknown" in done.out
    assert "not known and left out" in done.out
    found = json.loads(run("evaluate", out, test, "--json").out)
    assert found["not_known"] == np.isnan(Y[90:]).sum()
    assert found["measures"]["micro_f1"] > 0.7
    assert run("predict", out, new, "-o", tmp_path / "out.csv").status == 0
    refused = run("fit", train, "--labels", "sea,sun", "--learner", "LabelPowerset()", "-o",
                  tmp_path / "no.skops")  # fmt: skip
    assert "needs all labels; plurilabel.ImputedLabels(LabelPowerset(...))" in refused.err
    compared = run("compare", train, "--labels", "sea,sun", "--learners", "MLkNN(3)", "--cv", 2,
                   "--out", tmp_path / "results")  # fmt: skip
    assert compared.status == 0
    page = (tmp_path / "results" / "report.md").read_text()
    assert "unknown labels" in page and f" {hidden} |" in page and "## Calibration" in page
    frame.replace({"sea": {0: pd.NA}, "sun": {0: pd.NA}}).to_csv(train, index=False)
    no = run("fit", train, "--labels", "sea,sun", "-o", tmp_path / "no.skops")
    assert "use --empty-labels absent or --empty-labels unknown" in no.err
