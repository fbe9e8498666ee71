"""``plurilabel predict`` and ``plurilabel evaluate``."""

import io
import json

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("skops", reason="model files need skops")

from plurilabel import MLkNN, datasets, metrics
from plurilabel.datasets import Dataset
from plurilabel.io import write_table
from plurilabel.models import Model, load_model, save_model


@pytest.fixture(scope="session")
def trained(run, mails_frame, tmp_path_factory):
    """A model of the mails' words, numbers and categories, without the cut of a strategy."""
    folder = tmp_path_factory.mktemp("trained")
    mails_frame.to_csv(folder / "mails.csv", index=False)
    done = run("fit", folder / "mails.csv", "--labels", "topics", "--features", "length,from",
               "--text", "body", "--learner", "BinaryRelevance(LogisticRegression(C=100))",
               "--holdout", 0, "-o", folder / "m.skops")  # fmt: skip
    assert done.status == 0
    return (folder / "m.skops").read_bytes()


@pytest.fixture
def model(trained, tmp_path):
    (tmp_path / "m.skops").write_bytes(trained)
    return tmp_path / "m.skops"


@pytest.fixture
def expected(model, mails):
    """Label sets and scores by the learner itself."""
    loaded = load_model(model)
    X = loaded.read(mails).X
    names = np.array(loaded.label_names)
    sets = [names[row == 1].tolist() for row in loaded.estimator.predict(X)]
    return sets, loaded.estimator.predict_proba(X)


def test_tags_on_stdout(run, model, mails, expected, mails_frame):
    sets, _ = expected
    done = run("predict", model, mails)
    assert (done.status, done.err) == (0, "")
    table = pd.read_csv(io.StringIO(done.out), keep_default_na=False, skip_blank_lines=False)
    assert table.columns.tolist() == ["topics"]
    assert table["topics"].tolist() == [";".join(tags) for tags in sets]
    done = run("predict", model, "-", stdin=mails.read_bytes())
    assert pd.read_csv(io.StringIO(done.out), keep_default_na=False).equals(table)


@pytest.mark.parametrize("suffix", ["csv", "tsv", "csv.gz", "jsonl", "jsonl.gz", "parquet"])
@pytest.mark.parametrize("at_once", [13, 10**6])
def test_files_with_scores_and_ids(
    run, model, mails, expected, mails_frame, tmp_path, suffix, at_once, monkeypatch
):
    monkeypatch.setattr("plurilabel.models._model._ROWS_AT_ONCE", at_once)
    sets, scores = expected
    out = tmp_path / f"out.{suffix}"
    done = run("predict", model, mails, "--id", "id,length", "--scores", "-o", out)
    assert (done.status, done.out) == (0, "") and done.err == f"Wrote {out} (60 rows)\n"
    if "json" in suffix:
        table = pd.read_json(out, lines=True, precise_float=True)
    elif suffix == "parquet":
        table = pd.read_parquet(out)
    else:
        table = pd.read_csv(out, sep="\t" if suffix == "tsv" else ",", keep_default_na=False,
                            na_values={"length": [""]})  # fmt: skip
    names = ["id", "length", "topics", "score_food", "score_money", "score_sport"]
    assert table.columns.tolist() == names
    assert table["id"].tolist() == mails_frame["id"].tolist()
    np.testing.assert_allclose(table["length"], mails_frame["length"], rtol=1e-12)
    is_text = "csv" in suffix or suffix == "tsv"
    found = [cell.split(";") if is_text else list(cell) for cell in table["topics"]]
    assert [[tag for tag in tags if tag] for tags in found] == sets
    np.testing.assert_allclose(table[names[3:]], scores, rtol=5e-6 if is_text else 1e-12)


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_the_best_labels(run, model, mails, expected, tmp_path, suffix):
    _, scores = expected
    order = np.argsort(-scores, axis=1, kind="stable")[:, :2]
    names = np.array(["food", "money", "sport"])
    out = tmp_path / f"out.{suffix}"
    run("predict", model, mails, "--top", 2, "--scores", "--digits", 17, "-o", out)
    if suffix == "csv":
        table = pd.read_csv(out)
        tags = [cell.split(";") for cell in table["topics"]]
        values = [[float(value) for value in cell.split(";")] for cell in table["scores"]]
    else:
        table = pd.read_parquet(out)
        tags, values = ([list(cell) for cell in table[c]] for c in ("topics", "scores"))
    assert tags == names[order].tolist()
    np.testing.assert_array_equal(values, np.take_along_axis(scores, order, axis=1))
    # more than there are is all
    assert run("predict", model, mails, "--top", 9).out.splitlines()[1].count(";") == 2


def test_new_rows(run, model, tmp_path):
    new = tmp_path / "new.csv"
    new.write_text(
        "note,from,body,length\nx,club,ball goal team,3\ny,shop,bread soup,\n"
        "z,school,bread soup cheese,3\n"
    )
    done = run("predict", model, new, "--id", "note")
    assert done.out == "note,topics\nx,sport\ny,food\nz,food\n"
    assert done.err == (
        "Note: column 'from' has values that were not seen in training and are encoded as zeros: "
        "'school'\n"
    )


def test_a_kept_column_gives_way(run, model, mails):
    done = run("predict", model, mails, "--id", "topics")
    assert done.out.splitlines()[0] == "topics_given,topics"


def test_names_with_separators(run, tmp_path):
    data = datasets.load("digits")
    save(tmp_path / "m.skops", ("a;b", "c|d", "e", "f", "g", "h", "i"))
    write_table(tmp_path / "x.csv", Dataset(
        data.X[:3], data.Y[:3], data.feature_names, data.label_names))  # fmt: skip
    done = run("predict", tmp_path / "m.skops", tmp_path / "x.csv", "--top", 7)
    assert sorted(pd.read_csv(io.StringIO(done.out))["labels"][0].split(",")) == [
        "a;b", "c|d", "e", "f", "g", "h", "i"
    ]  # fmt: skip
    save(tmp_path / "m.skops", ("a;b", "c|d", "e,", "f", "g", "h", "i"))
    done = run("predict", tmp_path / "m.skops", tmp_path / "x.csv")
    assert done.status == 1 and "use --json, or -o with a .jsonl or .parquet file" in done.err
    done = run("predict", tmp_path / "m.skops", tmp_path / "x.csv", "-o", tmp_path / "o.jsonl")
    assert done.status == 0


def save(path, names):
    data = datasets.load("digits")
    learner = MLkNN(3).fit(data.X[:50], data.Y[:50])
    save_model(Model(learner, names, data.feature_names), path)


def test_many_labels(run, tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(30, 3)), rng.integers(0, 2, size=(30, 150))
    names = [f"l{j}" for j in range(150)]
    save_model(Model(MLkNN(3).fit(X, Y), names, ["a", "b", "c"]), tmp_path / "m.skops")
    pd.DataFrame(X, columns=["a", "b", "c"]).to_csv(tmp_path / "x.csv", index=False)
    done = run("predict", tmp_path / "m.skops", tmp_path / "x.csv", "--scores", "--id", "a")
    assert done.err == "" and pd.read_csv(io.StringIO(done.out)).shape == (30, 152)
    monkeypatch.setattr("plurilabel.models._predictions.MOST_COLUMNS", 149)
    done = run("predict", tmp_path / "m.skops", tmp_path / "x.csv", "--scores")
    assert done.status == 1 and "--scores adds 150 columns; set --top as well" in done.err


def test_a_standard_dataset(run, tmp_path):
    data = datasets.load("digits")
    save(tmp_path / "m.skops", data.label_names)
    done = run("predict", tmp_path / "m.skops", "digits", "-o", tmp_path / "o.csv")
    assert done.status == 0 and len((tmp_path / "o.csv").read_text().splitlines()) == 1798
    done = run("predict", tmp_path / "m.skops", "digits", "--id", "x")
    assert done.status == 1 and "--id needs a table, but digits is not one" in done.err


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["none.skops", "mails.csv"], 1, "there is no file none.skops"),
        (["m.skop", "mails.csv"], 1, "there is no file m.skop; did you mean m.skops?"),
        (["mails.csv", "mails.csv"], 1, "mails.csv is not a model file, or is damaged"),
        (["m.skops", "none.csv"], 1, "there is no file none.csv"),
        (["m.skops", "mails.csv", "-o", "mails.csv"], 2, "-o mails.csv would overwrite the input"),
        (["m.skops", "mails.csv", "-o", "m.skops"], 2, "-o must name a file that ends in .csv"),
        (["m.skops", "mails.csv", "-o", "o.xlsx"], 2, "ends in .csv, .tsv, .parquet or .jsonl, g"),
        (["m.skops", "mails.csv", "-o", "o.parquet.gz"], 2, "-o must name a file that ends in"),
        (["m.skops", "mails.csv", "-o", "o.csv", "--json"], 2, "for a file use -o NAME.jsonl"),
        (
            ["m.skops", "mails.csv", "--id", "no"],
            1,
            "--id names a column 'no' that mails.csv",
        ),
        (["m.skops", "mails.csv", "--top", "0"], 2, "0 is not in the range"),
        (["m.skops", "few.csv"], 1, "few.csv: the table lacks 2 columns, 'length', 'body'; it"),
        (["m.skops", "empty.csv"], 1, "empty.csv: table: expected at least one row, got none"),
        (["m.skops", "bad.csv"], 1, "bad.csv, line 3: column 'length': expected a number, got"),
        (["m.skops", "semi.csv"], 1, "; is --sep right?"),
    ],
)
def test_predict_errors_are_one_sentence(
    run, model, mails, tmp_path, monkeypatch, arguments, status, message
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "few.csv").write_text("from,x\nshop,1\n")
    (tmp_path / "empty.csv").write_text("from,body,length\n")
    (tmp_path / "bad.csv").write_text("from,body,length\nshop,bread,3\nshop,bread,long\n")
    (tmp_path / "semi.csv").write_text("from:body:length\nshop:bread:3\n")
    before = mails.read_bytes()
    done = run("predict", *arguments)
    assert (done.status, done.out) == (status, "")
    assert message in done.err and "Traceback" not in done.err
    assert done.err.splitlines()[-1].startswith("Error: ")
    assert mails.read_bytes() == before and not (tmp_path / "o.csv").exists()


def test_the_separator_of_the_new_file(run, model, tmp_path):
    (tmp_path / "semi.csv").write_text("from;body;length\nshop;bread;3\n")
    for sep in ([], ["--sep", ";"]):
        assert run("predict", model, tmp_path / "semi.csv", *sep).out == "topics\nfood\n"


def test_errors_on_standard_input_do_not_name_a_file_of_ours(run, model):
    done = run("predict", model, "-", stdin="from,body,length\nshop,bread,long\n")
    assert done.err == (
        "Error: standard input, line 2: column 'length': expected a number, got 'long'\n"
    )


def test_missing_columns_on_standard_input(run, model):
    done = run("predict", model, "-", stdin="from,body\nshop,bread\n")
    assert done.err.startswith("Error: standard input: the table lacks the column 'length'; ")


def test_json_lines_on_stdout(run, model, mails, tmp_path):
    options = [model, mails, "--id", "id", "--top", 2, "--scores"]
    run("predict", *options, "-o", tmp_path / "o.jsonl")
    done = run("predict", *options, "--json")
    assert (done.status, done.err) == (0, "")
    assert done.out == (tmp_path / "o.jsonl").read_text(encoding="utf-8")
    first = json.loads(done.out.splitlines()[0])
    assert first["id"] == "m000" and len(first["topics"]) == len(first["scores"]) == 2


# evaluate ------------------------------------------------------------------------------------


def test_all_measures(run, model, mails, expected, mails_frame, tmp_path):
    sets, scores = expected
    names = ["food", "money", "sport"]
    Y = np.array([[int(n in tags.split("; ")) for n in names] for tags in mails_frame["topics"]])
    Z = np.array([[int(n in tags) for n in names] for tags in sets])
    measures = metrics.evaluate(Y, scores, Z)
    done = run("evaluate", model, mails, "--json", "--per-label")
    found = json.loads(done.out)
    assert found["measures"] == pytest.approx(dict(measures), abs=1e-12)
    assert found["rows"] == 60 and list(found["per_label"]) == names
    table = metrics.per_label(Y, scores, Z)
    for j, name in enumerate(names):
        assert found["per_label"][name] == pytest.approx({k: c[j] for k, c in table.items()})
    # these rows were learned from
    assert "the model was trained on these rows" in found["notes"][0]
    assert done.err.startswith("Note: the model was trained on these rows")
    # as text
    done = run("evaluate", model, mails, "--per-label")
    lines = done.out.splitlines()
    assert lines[0] == "60 rows, 3 labels"
    row = next(line for line in lines if line.startswith("hamming_loss"))
    assert row.split() == ["hamming_loss", "↓", f"{measures['hamming_loss']:.4f}"]
    assert [line.split()[0] for line in lines[-4:]] == ["label", *names]
    # a part of them, and other rows
    part = mails_frame.iloc[:30]
    part.to_csv(tmp_path / "part.csv", index=False)
    assert "trained on these rows" in run("evaluate", model, tmp_path / "part.csv", "--json").err
    part.assign(body=part["body"] + " again").to_csv(tmp_path / "other.csv", index=False)
    done = run("evaluate", model, tmp_path / "other.csv", "--json")
    assert done.err == "" and json.loads(done.out)["rows"] == 30


@pytest.mark.filterwarnings("ignore:.*sklearn.utils.parallel.delayed.*:UserWarning")
def test_files_in_blocks_on_threads(run, model, mails, mails_frame, tmp_path, monkeypatch):
    pytest.importorskip("dask.array", reason="the extra 'dask' is not installed")
    monkeypatch.setattr("plurilabel.models._model._ROWS_AT_ONCE", 13)
    parts = [tmp_path / "a.csv", tmp_path / "b.csv"]
    mails_frame[:20].to_csv(parts[0], index=False)
    mails_frame[20:].to_csv(parts[1], index=False)
    expected = run("predict", model, mails, "--scores", "--id", "id")
    for options in ([], ["--scheduler", "threads"]):
        done = run("predict", model, *parts, "--scores", "--id", "id", *options)
        assert (done.status, done.out, done.err) == (0, expected.out, "")
    measures = json.loads(run("evaluate", model, mails, "--json").out)["measures"]
    done = run("evaluate", model, *parts, "--json", "--scheduler", "threads")
    found = json.loads(done.out)
    assert (done.status, found["rows"]) == (0, 60) and "macro_auc" not in found["measures"]
    assert found["measures"] == pytest.approx({name: measures[name] for name in found["measures"]})
    assert json.loads(run("evaluate", model, *parts, "--json").out)["measures"] == measures
    done = run("evaluate", model, *parts, "--per-label", "--scheduler", "threads")
    assert done.status == 2 and "do not go with --scheduler" in done.err
    done = run("predict", model, "digits", "--scheduler", "threads")
    assert done.status == 1 and "must be CSV or Parquet files" in done.err
    done = run("predict", model, mails, "digits")
    assert done.status == 2 and "several files must be tables, got digits" in done.err
    done = run("predict", model, mails, "--scheduler", "tcp://127.0.0.1:9")
    assert done.status == 1 and "--scheduler tcp://127.0.0.1:9 does not respond" in done.err


def test_undefined_measures_are_null(run, tmp_path):
    data = datasets.load("digits")
    save(tmp_path / "m.skops", data.label_names)
    one = Dataset(data.X[:1], data.Y[:1], data.feature_names, data.label_names)
    write_table(tmp_path / "one.csv", one)
    done = run("evaluate", tmp_path / "m.skops", tmp_path / "one.csv", "--json", "--per-label")
    assert json.loads(done.out)["per_label"]["even"]["auc"] is None


def test_evaluate_needs_labels(run, model, tmp_path):
    (tmp_path / "new.csv").write_text("from,body,length\nshop,bread,3\n")
    done = run("evaluate", model, tmp_path / "new.csv")
    assert (done.status, done.out) == (1, "")
    assert "the table must have the true labels, in the column 'topics' as in training" in done.err


def test_unknown_labels_are_left_out_with_a_note(run, model, tmp_path):
    (tmp_path / "new.csv").write_text("from,body,length,topics\nshop,bread,3,food;chess\n")
    done = run("evaluate", model, tmp_path / "new.csv", "--json")
    assert done.err == "Note: labels unknown to the model are ignored: 'chess'\n"
    assert json.loads(done.out)["measures"]["subset_accuracy"] == 1


@pytest.fixture
def strange(tmp_path):
    """A model whose names would steer a terminal or a spreadsheet, and rows for it."""
    X, Y = np.arange(8.0).reshape(4, 2), np.array([[1, 0], [0, 1], [1, 1], [1, 0]])
    names = ["=1+1", "\x1b[31mred"]
    save_model(Model(MLkNN(1).fit(X, Y), names, ["v", "w"]), tmp_path / "m.skops")
    frame = pd.DataFrame(X, columns=["v", "w"]).assign(id=["-3", "@x", "+y", "a"])
    frame.to_csv(tmp_path / "rows.csv", index=False)
    write_table(tmp_path / "labels.csv", Dataset(X, Y, ("v", "w"), tuple(names)))
    return tmp_path


def test_text_is_no_formula_unless_it_is_asked_for(run, strange):
    command = ("predict", strange / "m.skops", strange / "rows.csv", "--id", "id", "-o")
    assert run(*command, strange / "safe.csv").status == 0
    safe = pd.read_csv(strange / "safe.csv", dtype=str)
    assert safe["id"].tolist() == ["-3", "'@x", "'+y", "a"]
    assert safe["labels"][0].startswith("'=1+1")
    assert run(*command, strange / "exact.csv", "--formulas").status == 0
    exact = pd.read_csv(strange / "exact.csv", dtype=str)
    assert exact["id"].tolist() == ["-3", "@x", "+y", "a"] and exact["labels"][0].startswith(
        "=1+1"
    )
    # what has no formulas is never changed
    assert run(*command, strange / "exact.parquet").status == 0
    assert pd.read_parquet(strange / "exact.parquet")["labels"][0][0] == "=1+1"


def test_names_from_files_do_not_steer_the_terminal(run, strange):
    names = "=1+1,\x1b[31mred"
    told = run("describe", strange / "labels.csv", "--labels", names)
    assert told.status == 0 and "\\x1b[31mred" in told.out and "\x1b" not in told.out
    told = run("describe", strange / "labels.csv", "--labels", names, "--json")
    assert "\x1b" not in told.out
    assert "\x1b[31mred" in json.dumps(json.loads(told.out), ensure_ascii=False).replace(
        "\\u001b", "\x1b"
    )
    (strange / "rows.csv").write_text("v,w\n1,\x1b[2J\n")
    told = run("predict", strange / "m.skops", strange / "rows.csv")
    assert told.status == 1 and "\\x1b[2J" in told.err and "\x1b" not in told.err
