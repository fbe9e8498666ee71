"""From someone's table to an answer: texts, dates, categories and numbers in one model."""

import csv
import io
import json
import os
import tempfile
from pathlib import Path

import click.shell_completion
import numpy as np
import pandas as pd
import pytest

pytest.importorskip("skops", reason="model files need skops")

from plurilabel import models
from plurilabel.cli._main import plurilabel as command
from plurilabel.models import load_model

ALL = ("--labels", "tags", "--text", "title", "--text", "body", "--features", "sent,land",
       "--features", "price")  # fmt: skip
FILLER = [
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
]


def shop_frame(n, seed):
    """Each tag shows in one column only: two of text, a date, a category and a number."""
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(n):
        day = pd.Timestamp("2020-01-01") + pd.Timedelta(hours=int(rng.integers(0, 24 * 1000)))
        land, price = rng.choice(["de", "fr", "us"]), rng.uniform(0, 100)
        sport, food = rng.random(2) < 0.35
        tags = {"sport": sport, "food": food, "weekend": day.day_of_week > 4,
                "abroad": land == "fr", "dear": price > 65}  # fmt: skip
        rows.append(
            {
                "title": " ".join([*rng.choice(FILLER, 4), *["ball"] * int(sport)]),
                "body": " ".join([*rng.choice(FILLER, 8), *["bread"] * int(food)]),
                "sent": day.strftime("%d/%m/%Y %H:%M"),
                "land": land,
                "price": f"{price:.2f}".replace(".", ","),
                "tags": "+".join(tag for tag, has in tags.items() if has),
            }
        )
    return pd.DataFrame(rows)


LOGISTIC = ("--learner", "BinaryRelevance(LogisticRegression(C=100))")


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    """Semicolons, decimal commas, days first, and a byte order mark, as Excel writes it."""
    path = tmp_path_factory.mktemp("shop") / "shop.csv"
    shop_frame(160, 0).to_csv(path, sep=";", index=False, encoding="utf-8-sig")
    return path


@pytest.fixture(scope="module")
def shop_model(run, shop):
    path = shop.with_name("shop.skops")
    done = run("fit", shop, *ALL, "--tag-sep", "+", "--quick", "--json", "-o", path)
    assert done.status == 0, done.err
    return path, json.loads(done.out)


def test_all_columns_beat_the_best_single_one(run, shop, shop_model, tmp_path):
    _, result = shop_model
    whole = result["held_out"]["measures"]
    for column in ("title", "body", "sent", "land", "price"):
        learner = ("--learner", "MLRandomForest(30)", "--threshold", "cardinality")
        done = run("fit", shop, "--labels", "tags", "--tag-sep", "+", "--features", column,
                   *learner, "--json", "-o", tmp_path / f"{column}.skops")  # fmt: skip
        single = json.loads(done.out)["held_out"]["measures"]
        assert whole["f1"] > single["f1"] + 0.2
        assert whole["average_precision"] > single["average_precision"] + 0.1


def test_further_rows_are_read_as_the_first_were(run, shop_model, tmp_path):
    path, _ = shop_model
    model = load_model(path)
    assert model.encoder.written_ == {"sent": "day first", "price": "decimal comma"}
    new = shop_frame(60, 1)
    new.to_csv(tmp_path / "semicolons.csv", sep=";", index=False)
    # the same rows in other words: commas, points, ISO dates
    new.assign(
        sent=pd.to_datetime(new["sent"], format="%d/%m/%Y %H:%M").astype(str),
        price=new["price"].str.replace(",", "."),
    ).to_json(tmp_path / "plain.json", orient="records")
    answers = [
        run("predict", path, tmp_path / name).out for name in ("semicolons.csv", "plain.json")
    ]
    assert answers[0] == answers[1]
    found = [set(line.split("+")) for line in answers[0].splitlines()[1:]]
    expected = [set(cell.split("+")) for cell in new["tags"]]
    assert np.mean([a == b for a, b in zip(found, expected)]) > 0.7
    # a single row shows neither the order of days nor the decimal mark
    row = "title;body;sent;land;price\none ball;two;06/03/2021 10:00;de;1,000\n"
    (tmp_path / "one.csv").write_text(row)
    rows = model.read(tmp_path / "one.csv").X
    assert rows["sent"][0] == pd.Timestamp(2021, 3, 6, 10) and rows["price"][0] == 1


def test_list_options_repeat_and_take_commas(run, tmp_path, monkeypatch):
    path = tmp_path / "t.csv"
    path.write_text('a,b,"c, d",sun,sea\n' + "1,2,3,1,0\n4,5,6,0,1\n" * 6)
    for options in (
        ["--labels", "sun,sea", "--drop", 'b,"c, d"'],
        ["--labels", "sun", "--labels", "sea", "--drop", "b", "--drop", '"c, d"'],
    ):
        done = run("describe", path, *options, "--json")
        assert done.status == 0, done.err
        assert json.loads(done.out)["features"] == 1 and json.loads(done.out)["labels"] == 2
    asked = {}

    def compared(tables, learners, **options):
        asked.update(options, learners=list(learners))
        raise KeyboardInterrupt

    monkeypatch.setattr("plurilabel.evaluation.compare", compared)
    run("compare", path, "--labels", "sun", "--labels", "sea", "--learners", "MLkNN(1), MLkNN(2)",
        "--learners", "RAkEL", "--measures", "f1", "--measures", "one_error", "--month-first",
        "--out", tmp_path / "o")  # fmt: skip
    assert asked["learners"] == ["MLkNN(1)", "MLkNN(2)", "RAkEL"]
    assert asked["measures"] == ["f1", "one_error"]
    assert "--labels sun --labels sea " in asked["command"] and "--month-first" in asked["command"]
    out = tmp_path / "m.skops"
    fit = ("fit", path, "--labels", "sun,sea", "--learner", "MLkNN(1)", "-o", out)
    assert run(*fit).status == 0
    head = run("predict", out, path, "--id", "a", "--id", "b").out.splitlines()[0]
    assert head == "a,b,labels"


def test_an_option_with_one_value_given_twice(run, mails):
    done = run("describe", mails, "--labels", "topics", "--sep", ",", "--sep", ";")
    assert done.status == 2 and "--sep takes one value, but was given twice" in done.err


# text ----------------------------------------------------------------------------------------


@pytest.fixture
def notes(tmp_path):
    rng = np.random.default_rng(0)
    rows = []
    for _ in range(60):
        good = rng.random() < 0.5
        words = ["not", "good"] if not good else ["good", "not"]
        rows.append(f"the {words[0]} {words[1]} {rng.choice(['soup', 'bread'])}," + "pn"[not good])
    path = tmp_path / "notes.csv"
    path.write_text("note,tags\n" + "\n".join(rows) + "\n")
    return path


def test_ngrams_stop_words_and_frequencies(run, notes, tmp_path):
    def words(*options):
        out = tmp_path / "m.skops"
        done = run("fit", notes, "--labels", "tags", "--text", "note", *options, "--learner",
                   "BinaryRelevance(LogisticRegression(C=100))", "--json", "--force", "-o",
                   out)  # fmt: skip
        assert done.status == 0, done.err
        names = load_model(out).encoder.get_feature_names_out()
        return set(names), json.loads(done.out)["held_out"]["measures"]["f1"]

    plain, quality = words()
    assert plain == {"the", "not", "good", "soup", "bread"} and quality < 0.9
    pairs, quality = words("--ngrams", 2)  # the order of words tells
    assert "not good" in pairs and quality == 1
    assert words("--stop-words", "the", "--stop-words", "soup,bread")[0] == {"not", "good"}
    assert words("--stop-words", "english")[0] == {"good", "soup", "bread"}
    assert words("--min-count", 40)[0] == {"the", "not", "good"}
    parts, _ = words("--subwords")
    assert {"words__soup", "parts__oup"} <= parts
    done = run("fit", notes, "--labels", "tags", "--text", "note", "--min-count", 99, "-o",
               tmp_path / "n.skops")  # fmt: skip
    assert done.status == 1 and "no word occurs in --min-count rows" in done.err
    done = run("fit", notes, "--labels", "tags", "--ngrams", 2, "-o", tmp_path / "n.skops")
    assert done.status == 1 and "columns of text, got none; name them with --text" in done.err


def test_parts_of_words_know_words_that_are_new(run, mails, tmp_path):
    (tmp_path / "new.csv").write_text("body\nfootballs and goals\n")
    answers = []
    for options in ([], ["--subwords"]):
        out = tmp_path / f"m{len(options)}.skops"
        given = ("--labels", "topics", "--features", "body", *options, *LOGISTIC)
        run("fit", mails, *given, "-o", out)
        answers.append(run("predict", out, tmp_path / "new.csv").out.splitlines()[1])
    assert answers[1] == "sport"


def test_a_text_without_a_known_word_gets_a_note_and_no_labels(run, mails, tmp_path):
    out = tmp_path / "m.skops"
    run("fit", mails, "--labels", "topics", "--features", "body", *LOGISTIC, "-o", out)
    (tmp_path / "new.csv").write_text('body,n\n"bread, soup",1\nzzz qqq,2\n"",3\n')
    done = run("predict", out, tmp_path / "new.csv", "--scores")
    rows = list(csv.DictReader(io.StringIO(done.out)))
    assert [row["topics"] for row in rows] == ["food", "", ""]
    assert rows[0]["score_food"] != "" and rows[1]["score_food"] == rows[2]["score_sport"] == ""
    assert done.err == (
        "Note: 2 rows (1, 2) have no known word in 'body': the model cannot predict them\n"
    )
    done = run("predict", out, tmp_path / "new.csv", "--top", 2, "--scores", "--json")
    rows = [json.loads(line) for line in done.out.splitlines()]
    assert len(rows[0]["topics"]) == 2 and rows[1] == {"topics": [], "scores": []}
    # other columns may still tell
    out = tmp_path / "both.skops"
    run("fit", mails, "--labels", "topics", "--text", "body", "--features", "from", *LOGISTIC,
        "--threshold", "rcut", "-o", out)  # fmt: skip
    (tmp_path / "new.csv").write_text("body,from\nzzz,shop\n")
    done = run("predict", out, tmp_path / "new.csv")
    assert done.out.splitlines()[1] != ""
    told = "1 row (0) has no known word in 'body': predictions use only the other columns"
    assert told in done.err


# vectors -------------------------------------------------------------------------------------


def test_ready_made_vectors(run, tmp_path):
    rng = np.random.default_rng(0)
    E = rng.normal(size=(80, 5)).astype(np.float32)
    names = np.array([f"r{i}" for i in range(80)])
    tags = [";".join(t for t, has in zip("ab", row) if has) for row in E[:, :2] > 0]
    frame = pd.DataFrame({"name": names, "tags": tags})
    frame[:60].to_csv(tmp_path / "t.csv", index=False)
    frame[60:].to_csv(tmp_path / "new.csv", index=False)
    np.save(tmp_path / "t.npy", E[:60])
    np.save(tmp_path / "new.npy", E[60:])
    out = tmp_path / "m.skops"
    done = run("fit", tmp_path / "t.csv", "--labels", "tags", "--drop", "name", "--embeddings",
               tmp_path / "t.npy", "--quick", "-o", out)  # fmt: skip
    assert done.status == 0 and "5 columns (5 of numbers)" in done.out
    new = (tmp_path / "new.csv", "--embeddings", tmp_path / "new.npy")
    done = run("evaluate", out, *new, "--json")
    assert json.loads(done.out)["measures"]["f1"] > 0.8
    assert run("predict", out, *new, "--id", "name").out.startswith("name,tags\nr60,")
    done = run("predict", out, tmp_path / "new.csv")
    assert done.status == 1 and "pass --embeddings, a .npy file with a row for each" in done.err
    done = run("predict", out, tmp_path / "new.csv", "--embeddings", tmp_path / "t.npy")
    assert done.status == 1 and "has 60 rows for the 20 rows of the table" in done.err


# what is said --------------------------------------------------------------------------------


def test_rows_without_tags_and_columns_that_number_the_rows(run, tmp_path):
    rows = [f"{i},{i % 3},{'a' if i % 3 else ''}" for i in range(1, 31)]
    (tmp_path / "t.csv").write_text("row,x,tags\n" + "\n".join(rows) + "\n")
    done = run("fit", tmp_path / "t.csv", "--labels", "tags", "--learner", "MLkNN(1)", "-o",
               tmp_path / "m.skops")  # fmt: skip
    assert (
        "Note: 10 rows have an empty cell in 'tags' and are assumed to have no label" in done.out
    )
    assert (
        "Note: 'row' is ignored as an identifier: it numbers the rows; use it with --features"
        in done.out
    )


def test_scores_have_six_digits_unless_asked(run, shop_model, shop):
    path, _ = shop_model
    for options, most in (([], 6), (["--digits", "3"], 3), (["--digits", "17"], 17)):
        out = run("predict", path, shop, "--scores", *options).out
        scores = [row["score_food"] for row in csv.DictReader(io.StringIO(out), delimiter=",")]
        digits = [len(s.partition("e")[0].replace(".", "").lstrip("0")) for s in scores]
        assert max(digits) <= most and (most == 17) == (max(digits) > 8)
    line = run("predict", path, shop, "--scores", "--json").out.splitlines()[0]
    assert len(str(json.loads(line)["score_food"])) > 10


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["fti"], "No such command 'fti'; did you mean 'fit'?"),
        (["xyz"], "No such command 'xyz'; choose from describe, embed, fuse, fit, predict"),
        (["fit", "digits", "--lables", "x"], "--labels"),
        (["fit", "digits", "--learner", "MLknn", "-o", "m.skops"], "did you mean MLkNN?"),
        (["fit", "digits", "--learner", "MLkNN(n_neighbor=3)", "-o", "m.skops"],
         "did you mean n_neighbors?"),
        (["tune", "digits", "--learner", "MLkNN([3, 5])", "--measure", "hamming_los", "-o",
          "m.skops"], "did you mean hamming_loss?"),
        (["describe", "digitz"], "did you mean digits?"),
        (["describe", "film.csv"], "there is no file film.csv; did you mean films.csv?"),
    ],
)  # fmt: skip
def test_what_is_mistyped_is_guessed(run, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "films.csv").write_text("x\n1\n")
    done = run(*arguments)
    assert done.status != 0 and message in done.err


def test_shell_completion():
    complete = click.shell_completion.BashComplete(command, {}, "plurilabel", "_X_COMPLETE")
    assert [item.value for item in complete.get_completions([], "pre")] == ["predict"]
    found = [item.value for item in complete.get_completions(["fit"], "--stop")]
    assert found == ["--stop-words"]
    assert "_X_COMPLETE=bash_complete" in complete.source()


# outputs -------------------------------------------------------------------------------------


def test_outputs_that_are_there_are_kept(run, mails, tmp_path):
    out, table, plot = (tmp_path / name for name in ("m.skops", "p.csv", "p.png"))
    fit = ("fit", mails, "--labels", "topics", "--features", "from", *LOGISTIC, "-o", out)
    commands = {
        out: fit,
        table: ("predict", out, mails, "-o", table),
        plot: ("describe", mails, "--labels", "topics", "--features", "from", "--plot", plot),
    }
    for path, words in commands.items():
        assert run(*words).status == 0
        before = path.stat().st_mtime_ns
        done = run(*words)
        assert (
            done.status == 2 and f"{path} already exists; use --force to overwrite it" in done.err
        )
        assert path.stat().st_mtime_ns == before
        assert run(*words, "--force").status == 0 and path.stat().st_mtime_ns > before


@pytest.fixture
def no_room(monkeypatch, tmp_path):
    """A folder in which nothing can be written, also for those who may do all."""
    folder = tmp_path / "full"
    folder.mkdir()
    real = tempfile.TemporaryFile

    def trial(*args, dir=None, **kwargs):
        if dir is not None and Path(dir) == folder:
            raise OSError(28, "No space left on device")
        return real(*args, dir=dir, **kwargs)

    monkeypatch.setattr(tempfile, "TemporaryFile", trial)
    return folder


def test_a_folder_that_cannot_be_written_is_found_first(run, mails, no_room, monkeypatch):
    def read(*_, **__):
        raise AssertionError("work was done before the output was tried")

    monkeypatch.setattr(models, "train", read)
    done = run("fit", mails, "--labels", "topics", "-o", no_room / "m.skops")
    message = f"-o {no_room / 'm.skops'} cannot be written: No space left on device"
    assert done.status == 2 and message in done.err


def test_a_model_that_cannot_be_written_is_kept_elsewhere(run, mails, tmp_path, monkeypatch):
    real = models.save_model

    def save(model, path):
        if path.parent == tmp_path / "full":
            raise OSError(28, "No space left on device")
        real(model, path)

    monkeypatch.setattr(models, "save_model", save)
    (tmp_path / "full").mkdir()
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    out = tmp_path / "full" / "m.skops"
    done = run("fit", mails, "--labels", "topics", "--features", "from", "--quick", "-o", out)
    (kept,) = (tmp_path / "here").glob("m-*.skops")
    assert done.status == 1
    assert (
        f"{out} could not be written (No space left on device); the model was saved to {kept}"
        in (done.err)
    )
    assert load_model(kept).label_names == ("food", "money", "sport")


def test_a_table_that_is_not_utf8(run, tmp_path):
    """Arguments of Python calls in a message are not options."""
    path = tmp_path / "t.csv"
    path.write_bytes("text,tags\nGrüße,a\n".encode("latin-1"))
    done = run("fit", path, "--labels", "tags", "-o", tmp_path / "m.skops")
    assert done.status != 0 and "pandas.read_csv(encoding=...)" in done.err


def test_file_names_that_are_not_utf8(run, tmp_path, mails):
    """They are in what is saved and reported, which once failed after all the work."""
    path = tmp_path / os.fsdecode(b"caf\xe9.csv")
    try:
        path.write_bytes(Path(mails).read_bytes())
    except OSError:
        pytest.skip("file names are UTF-8 here")
    table, model = (
        ("--labels", "topics", "--drop", "id,body"),
        tmp_path / os.fsdecode(b"\xe9.skops"),
    )
    done = run("fit", path, *table, "--learner", "MLkNN", "-o", model)
    assert done.status == 0, done.err
    assert load_model(model).notes["data"]["name"] == r"caf\udce9"
    out = tmp_path / os.fsdecode(b"\xe9.csv")
    assert run("predict", model, path, "-o", out).status == 0 and out.exists()
    done = run("stream", path, *table, "--learners", "NoChange", "--out", tmp_path / "stream")
    assert done.status == 0, done.err
    report = (tmp_path / "stream" / "report.html").read_text("utf-8")
    assert r"caf\udce9.csv" in report


def test_soft_labels_by_columns_and_by_tags(run, tmp_path):
    """The same probabilities as columns and as tags, in Python and on the command line."""
    rng = np.random.default_rng(0)
    X = rng.random((60, 2))
    P = np.round(np.clip(X + rng.normal(0, 0.1, X.shape), 0, 1), 1)
    frame = pd.DataFrame(X, columns=["x", "y"])
    tags = [";".join(f"{n}:{p}" for n, p in zip("ab", row)) for row in P.tolist()]
    frame.assign(a=P[:, 0], b=P[:, 1]).to_csv(tmp_path / "columns.csv", index=False)
    frame.assign(tags=tags).to_csv(tmp_path / "tags.csv", index=False)
    said, model = [], tmp_path / "m.skops"
    for name, labels in (("columns", "a,b"), ("tags", "tags")):
        data = tmp_path / f"{name}.csv"
        given = ("fit", data, "--labels", labels, "-o", model, "--learner", "MLkNN(5)", "--force")
        refused = run(*given)
        assert refused.status == 1 and "fractions are probabilities with --soft" in refused.err
        assert run(*given, "--soft").status == 0
        found = run("evaluate", model, data, "--soft", "--json")
        assert found.status == 0
        assert "--soft" in run("evaluate", model, data).err
        said.append(json.loads(found.out)["measures"])
    python = models.train(tmp_path / "tags.csv", labels="tags", soft=True, learner="MLkNN(5)")
    scores = python.estimator.predict_proba(frame)
    assert said[0] == said[1]
    assert (load_model(model).estimator.predict_proba(frame) == scores).all()
    assert "soft labels" in run("describe", data, "--labels", "tags", "--soft").out
    for name in ("issues", "stream"):
        refused = run(name, data, "--labels", "tags", "--soft")
        assert refused.status == 2 and "--soft is not available" in refused.err
