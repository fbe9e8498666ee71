import gzip
import json

import pytest

from plurilabel.streams import LabelShares, RandomTreeStream, StreamResults, prequential

ROWS = "".join(f"{i},{i % 7},{'x;y' if i % 2 else 'y'}\n" for i in range(60))
CSV = "id,a,tags\n" + ROWS


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text(CSV)
    return path


def test_a_table(run, table, tmp_path):
    out = tmp_path / "out"
    ran = run("stream", table, "--labels", "tags", "--drop", "id", "--out", out, "--every", 20)
    assert ran.status == 0, ran.err
    lines = ran.out.splitlines()
    assert lines[0] == "log.csv: 60 rows; measures over all of them"
    assert lines[1].split()[:3] == ["learner", "subset", "Hamming"]
    names = [line.split()[0] for line in lines[2:6]]
    assert names == ["WindowMLkNN", "MLSAMPkNN", "NoChange", "LabelShares"]
    assert (out / "report.html").exists() and (out / "report.csv").exists()
    command = f"plurilabel stream {table} --every 20 --out {out} --labels tags --drop id"
    assert StreamResults.open(out).plan["command"] == command
    again = run("stream", table, "--labels", "tags", "--drop", "id", "--out", out, "--every", 20)
    assert again.out == ran.out  # read back, times and all


def test_text_dates_and_decimal_commas(run, tmp_path):
    """As ``fit`` reads them; list options repeat and take commas, identifiers are noted."""
    path, out = tmp_path / "mails.csv", tmp_path / "out"
    words = "red ball", "blue sea"
    path.write_text(
        "id;code;subject;body;sent;price;tags\n"
        + "".join(
            f"{i};c{i};{words[i % 2]};Dear;{1 + i % 28:02}/04/2021;{i % 5},5;{'xy'[i % 2]}\n"
            for i in range(12, 72)
        )
    )
    options = ["--labels", "tags", "--text", "subject", "--text", "body", "--month-first"]
    ran = run(
        "stream", path, *options, "--features", "sent,price", "--features", "id",
        "--out", tmp_path / "first", "--learners", "WindowMLkNN",
    )  # fmt: skip
    assert ran.status == 1 and "must have dates, the month first" in ran.err
    options[-1] = "--day-first"
    ran = run(
        "stream", path, *options, "--features", "sent,price", "--features", "id",
        "--out", out, "--learners", "WindowMLkNN", "--json", "--measures", "micro_f1",
    )  # fmt: skip
    assert ran.status == 0, ran.err
    assert json.loads(ran.out)["rows"] == 60
    assert "Note: 'id' is like identifiers" in ran.err and "--drop 'id'" in ran.err
    plan = StreamResults.open(out).plan
    assert "--text subject --text body" in plan["command"] and "--day-first" in plan["command"]
    assert plan["stream"]["features"] == ["sent", "price", "id"]
    ran = run(
        "stream", path, "--labels", "tags", "--drop", "id,code", "--drop", "subject,body",
        "--out", tmp_path / "o", "--learners", "NoChange", "--no-report",
    )  # fmt: skip
    assert ran.status == 0, ran.err
    assert "Note" not in ran.out + ran.err


@pytest.mark.parametrize("packed", [False, True])
def test_standard_input(run, table, tmp_path, packed):
    content = gzip.compress(CSV.encode()) if packed else CSV.encode()
    ran = run(
        "stream", "-", "--labels", "tags", "--out", tmp_path / "out", "--json", "--no-report",
        "--measures", "f1, hamming_loss", "--learners", "s=LabelShares(0.9)", "--delay", 3,
        stdin=content,
    )  # fmt: skip
    assert ran.status == 0, ran.err
    found = json.loads(ran.out)
    assert found["rows"] == 60 and found["files"] == {} and found["stream"] == "standard input"
    assert list(found["learners"]["s"]["overall"]) == ["f1", "hamming_loss"]
    assert not (tmp_path / "out" / "report.html").exists()


def test_json_lines(run, tmp_path):
    lines = '{"a": 1, "l": true}\n{"a": 2, "l": null}\n'
    options = ["--labels", "l,", "--format", "jsonl", "--out", tmp_path / "o", "--no-report"]
    ran = run("stream", "-", *options, stdin=lines)
    assert ran.status == 0, ran.err


def test_generated(run, tmp_path):
    ran = run(
        "stream", "trees", "--drift", "gradual", "--rows", 400, "--seed", 3, "--json",
        "--learners", "LabelShares", "--out", tmp_path, "--measures", "hamming_loss",
    )  # fmt: skip
    assert ran.status == 0, ran.err
    found = json.loads(ran.out)
    assert found["drifts"][0] == {"row": 100, "width": 20, "kind": "gradual"}
    stream = RandomTreeStream(400, drift="gradual", random_state=3)
    expected = prequential(stream, LabelShares(), "hamming_loss").final("hamming_loss")
    assert found["learners"]["LabelShares"]["overall"]["hamming_loss"] == expected["LabelShares"]


def test_a_standard_dataset(run, tmp_path):
    ran = run("stream", "digits", "--rows", 150, "--out", tmp_path, "--no-report")
    assert ran.status == 0 and ran.out.startswith("digits: 150 rows")


def test_another_run_in_the_folder(run, table, tmp_path):
    options = ["--labels", "tags", "--out", tmp_path / "o", "--no-report"]
    assert run("stream", table, *options).status == 0
    ran = run("stream", table, *options, "--delay", 5)
    assert ran.status == 1 and "other measures or settings" in ran.err
    assert run("stream", table, *options, "--delay", 5, "--fresh").status == 0


def test_a_learner_that_fails(run, table, tmp_path):
    learners = "NoChange, knn=ArrayLearner(MLkNN(n_neighbors=30), first=5)"
    options = ["--labels", "tags", "--out", tmp_path, "--no-report"]
    ran = run("stream", table, *options, "--learners", learners)
    assert ran.status == 1
    assert ran.err.startswith("knn failed at row 5: ValueError: n_neighbors must be smaller")


@pytest.mark.parametrize(
    ("arguments", "words", "status"),
    [
        (["log.csv"], "--labels must name the label columns of log.csv", 2),
        (["log.csv", "--labels", "3"], "got the number 3", 2),
        (["log.csv", "--labels", "tag"], "no column 'tag' (labels); did you mean 'tags'?", 1),
        (["none.csv", "--labels", "tags"], "there is no file none.csv", 1),
        (["nothing"], "neither a file nor a standard dataset", 1),
        (["log.csv", "--labels", "tags", "--min-count", "2"], "--min-count needs all rows", 2),
        (["log.csv", "--labels", "tags", "--ngrams", "2"], "--ngrams is for columns of text", 2),
        (["log.csv", "--labels", "tags", "--text", "b"], "there is no column 'b' (text)", 1),
        (["log.csv", "--labels", "tags", "--learners", "NoChang"], "--learners: unknown", 2),
        (["log.csv", "--labels", "tags", "--learners", "RAkEL"], "must have learn_one", 2),
        (["log.csv", "--labels", "tags", "--measures", "f3"], "--measures: name must be", 2),
        (["log.csv", "--labels", "tags", "--drift", "sudden"], "--drift is for trees", 2),
        (["trees", "--drift", "slow"], "'drift' parameter", 1),
        (["-", "--labels", "tags"], "at least one row", 1),
    ],
)
def test_errors_are_one_sentence(run, table, tmp_path, monkeypatch, arguments, words, status):
    monkeypatch.chdir(tmp_path)
    ran = run("stream", *arguments, stdin="")
    assert (ran.status, words in ran.err) == (status, True), ran.err
    assert len(ran.err.splitlines()) == 1 and ran.out == ""
