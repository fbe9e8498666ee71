"""A project without HTTP: the queue, people, figures, files and restarts."""

import json
import random
import sqlite3
import time
from contextlib import closing

import numpy as np
import pandas as pd
import pytest

from plurilabel.models import load_model, train
from plurilabel.serve import BadInput, StoreError
from plurilabel.serve.labeling import LabelProject
from plurilabel.serve.labeling._project import AUDITS
from plurilabel.serve.labeling._state import State
from tests.serve.labeling.problems import WORDS, answer_all, many_labels, notes


@pytest.fixture
def data():
    return notes(80)


@pytest.fixture
def project(data):
    project = LabelProject(data[0], labels=list(WORDS), background=False)
    yield project
    project.close()


def state_of(project):
    """Everything that a restart must bring back."""
    found = {k: v for k, v in project.card().items() if k not in ("name", "model")}
    rows = [project.card_of(row, "ann") for row in range(project.state.n_rows)]
    return found, rows, project.history(1000), project.quality(), project.progress()


def test_a_restart_gives_the_same_state(data, tmp_path):
    frame, sets = data
    store = tmp_path / "log.db"
    project = LabelProject(frame, labels=list(WORDS), store=store, background=False, name="n")
    answer_all(project, sets, 25)
    answer_all(project, sets, 5, "bob")
    project.say("bob", "skip", {"rows": [project.next("bob")["row"]]})
    project.say("bob", "flag", {"rows": [3]})
    project.say("ann", "comment", {"rows": [3], "text": "really?"})
    project.say("ann", "split", {"label": "sun", "into": ["noon", "heat"]})
    project.say("ann", "undo", {"id": 12})
    before, draws = state_of(project), project.draws
    project.close()
    again = LabelProject(frame, store=store, background=False, random_state=99, name="n")
    assert json.dumps(state_of(again)) == json.dumps(before)
    np.testing.assert_array_equal(again.draws, draws)  # the seed is stored
    assert again.next("ann")["again"]
    again.close()
    with pytest.raises(StoreError, match="another table"):
        LabelProject(frame.assign(size=1.0), store=store)
    with pytest.raises(StoreError, match="another number of rows: .80., not .10."):
        LabelProject(frame[:10], store=store)
    with closing(sqlite3.connect(store)) as db, db:
        db.execute("UPDATE events SET said = '{}' WHERE id = 1")
    with pytest.raises(StoreError, match="damaged"):
        LabelProject(frame, store=store)


def test_random_draws_are_mixed_in(project, data):
    audits, drawn = [], []
    for _ in range(40):
        card = project.next("ann")
        assert project.next("ann")["row"] == card["row"]  # after a reload
        audits.append(card["audit"])
        free = [row for row in project.draws if row not in project.state.answers]
        drawn.append(card["row"] == free[0] if card["audit"] else None)
        said = {"rows": [card["row"]], "labels": data[1][card["row"]], "audit": card["row"]}
        project.say("ann", "answer", said)
    assert audits == [k % AUDITS == AUDITS - 1 for k in range(40)]
    assert all(one for one in drawn if one is not None)
    assert list(project.state.shown.values()) == audits  # what a client says does not count
    assert project.progress()["stop"]["audits"] == 8


def test_two_people_get_different_rows_and_some_of_the_same(project, data):
    rows = {"ann": [], "bob": []}
    for _ in range(20):
        cards = {person: project.next(person)["row"] for person in rows}
        assert cards["ann"] != cards["bob"]
        for person, row in cards.items():
            rows[person].append(row)
            labels = data[1][row] if person == "ann" else ["sea"]
            project.say(person, "answer", {"rows": [row], "labels": labels})
    shared = set(rows["ann"]) & set(rows["bob"])
    assert 2 <= len(shared) <= 6
    conflicts = {row for row in shared if data[1][row] != ["sea"]}
    found = project.listing("conflicts")
    assert {row["row"] for row in found["rows"]} == conflicts and conflicts
    row = found["rows"][0]
    assert row["answers"] == {"ann": data[1][row["row"]], "bob": ["sea"]} or row["answers"]["bob"]
    agreement = {one["label"]: one for one in project.quality()["agreement"]}
    assert agreement["sun"]["rows"] == len(shared)
    assert agreement["sun"]["conflicts"] == sum("sun" in data[1][row] for row in shared)
    project.say("eve", "answer", {"rows": [row["row"]], "labels": ["sun"], "final": True})
    assert len(project.listing("conflicts")["rows"]) == len(conflicts) - 1
    assert project.labels_of(row["row"]) == ["sun"]


def test_suggestions_get_better_than_chance(project, data):
    answer_all(project, data[1], 60)
    rest = [row for row in range(80) if row not in project.state.answers]
    P = project.probabilities(rest)
    Y = np.array([[name in data[1][row] for name in WORDS] for row in rest])
    assert ((P > 0.5) == Y).mean() > 0.8
    assert project.card_of(rest[0])["labels"] == [n for n, p in zip(WORDS, P[0]) if p > 0.5]


def test_skipped_rows_come_last_and_rows_run_out(data):
    frame, sets = data[0][:12], data[1]
    project = LabelProject(frame, labels=list(WORDS), background=False)
    skipped = project.next("ann")["row"]
    project.say("ann", "skip", {"rows": [skipped]})
    rows = []
    for _ in range(12):
        rows.append(project.next("ann")["row"])
        project.say("ann", "answer", {"rows": [rows[-1]], "labels": sets[rows[-1]]})
    assert sorted(rows) == list(range(12)) and rows[-1] == skipped
    assert project.next("ann")["row"] is None
    project.close()


def test_a_batch_of_similar_rows_is_one_answer(project, data):
    answer_all(project, data[1], 10)
    row = project.next("ann")["row"]
    near = project.similar(row)
    assert [one["distance"] for one in near] == sorted(one["distance"] for one in near)
    rows = [row, *(one["row"] for one in near[:4])]
    assert not set(rows) & set(project.state.answers)
    done = project.say("ann", "answer", {"rows": rows, "labels": ["sea"], "seconds": 10})
    assert done["answered"] == 15 and project.state.answers[row]["ann"].seconds == 2
    project.say("ann", "undo", {"id": done["id"]})
    assert len(project.state.answered()) == 10


def test_say_again_with_a_key_and_mistakes(project):
    said = {"rows": [1], "labels": ["sea"]}
    first = project.say("ann", "answer", said, key="k1")
    assert project.say("ann", "answer", said, key="k1") == first
    for person, kind, what in (
        ("ann", "undo", {"id": 99}), ("ann", "undo", {"id": "x"}), (7, "skip", {"rows": [1]}),
        ("x" * 300, "skip", {"rows": [1]}), ("ann", "skip", []), ("ann", "skip", {"rows": [80]}),
    ):  # fmt: skip
        with pytest.raises(BadInput):
            project.say(person, kind, what)
    assert project.version == first["version"]
    project.say("ann", "undo", {"id": first["id"]})
    with pytest.raises(BadInput, match="undone already"):
        project.say("ann", "undo", {"id": first["id"]})
    label = project.say("ann", "label", {"name": "new"})["id"]
    project.say("ann", "answer", {"rows": [1], "labels": ["new"]})
    with pytest.raises(BadInput, match="no label 'new'"):  # answers need it
        project.say("ann", "undo", {"id": label})


def test_a_full_disk_changes_nothing(project, monkeypatch):
    project.say("ann", "answer", {"rows": [1], "labels": ["sea"]})

    def full(_):
        raise StoreError("the disk is full", status=507)

    monkeypatch.setattr(project.log, "append", full)
    with pytest.raises(StoreError):
        project.say("ann", "answer", {"rows": [2], "labels": ["sun"]})
    assert project.labels_of(1) == ["sea"] and project.state.answered() == [1]


def test_lists(project, data):
    answer_all(project, data[1], 30)
    wrong = next(row for row in project.state.answered() if data[1][row] == ["sea"])
    project.say("ann", "answer", {"rows": [wrong], "labels": ["sun"]})
    doubtful = {row["row"]: row["why"] for row in project.listing("doubtful", most=100)["rows"]}
    assert wrong in doubtful and set(map(tuple, doubtful[wrong])) & {
        ("sea", "missing"),
        ("sun", "wrong"),
    }
    project.say("ann", "label", {"name": "late"})
    before = project.listing("before", label="late", most=100)
    assert before["total"] == 30
    assert project.listing("uncertain")["total"] == 50
    assert project.listing("answered", label="sea")["total"] == sum(
        "sea" in project.labels_of(row) for row in project.state.answered()
    )
    word = project.features_of(wrong)["note"].split()[0]
    assert wrong in {r["row"] for r in project.listing("answered", find=word, most=100)["rows"]}
    with pytest.raises(BadInput, match="which"):
        project.listing("all")


def test_labels_that_nothing_tells_of_are_not_doubted():
    labels, rng = list(many_labels(60)), random.Random(0)
    project = LabelProject([f"day {i % 7}" for i in range(100)], labels=labels, background=False)
    for row in range(100):
        project.say("ann", "answer", {"rows": [row], "labels": rng.sample(labels, 2)})
    assert project.listing("doubtful")["total"] == 0
    project.close()


def test_background_model_is_the_one_of_fit_on_the_export(data, tmp_path):
    frame, sets = data
    project = LabelProject(frame, labels=list(WORDS), learner="MLkNN(n_neighbors=3)", name="x")
    answer_all(project, sets, 30)
    deadline = time.monotonic() + 60
    while (project.working or project.trained is None) and time.monotonic() < deadline:
        assert project.problem is None
        time.sleep(0.02)
    assert 25 <= project.trained.answers <= 30
    project.want_model()
    while project.trained.version < project.version and time.monotonic() < deadline:
        time.sleep(0.02)
    (tmp_path / "x.csv").write_bytes(project.export("csv"))
    options = project.fit_options()
    other = train(tmp_path / "x.csv", "labels", **options)
    np.testing.assert_array_equal(
        other.predict_proba(frame), project.trained.model.predict_proba(frame)
    )
    project.save(tmp_path / "m.skops")
    saved = load_model(tmp_path / "m.skops")
    assert saved.predict(frame) == other.predict(frame)
    assert (
        "--text note" in project.fit_command() and "--features note,size" in project.fit_command()
    )
    assert project.explain(0)["labels"]
    answer_all(project, sets, 6)
    drift = project.quality()["drift"]
    assert drift is None or drift["rows"] >= 5
    project.close()


@pytest.mark.parametrize("format", ["csv", "jsonl", "label-studio"])
def test_export_and_import(project, data, format):
    answer_all(project, data[1], 20)
    project.say("bob", "answer", {"rows": [project.state.answered()[0]], "labels": []})
    content = project.export(format)
    name = {"label-studio": "answers.json"}.get(format, f"answers.{format}")
    other = LabelProject(data[0], background=False)
    done = other.load(content, name)
    assert done["labels"] == len(other.state.names)
    assert set(other.state.answered()) == set(project.state.answered())
    for row in project.state.answered():
        assert set(other.labels_of(row)) == set(project.labels_of(row))
    if format == "label-studio":
        assert set(other.card()["people"]) == {"ann", "bob"}
    other.close()


def test_predictions_and_votes(project, data, monkeypatch):
    with pytest.raises(BadInput, match="too few answers"):
        project.predictions()
    answer_all(project, data[1], 20)
    table = pd.read_csv(pd.io.common.BytesIO(project.predictions()))
    assert len(table) == 80 and table["answered"].sum() == 20
    whole = [project.predictions(format) for format in ("csv", "jsonl")]
    monkeypatch.setattr("plurilabel.serve.labeling._modeled.BLOCK", 7)
    assert [project.predictions(format) for format in ("csv", "jsonl")] == whole
    row = project.state.answered()[0]
    assert set(str(table["labels"].fillna("")[row]).split(";")) - {""} == set(data[1][row])
    votes = pd.read_csv(pd.io.common.BytesIO(project.export("votes")))
    assert len(votes) == 60 and votes["value"].sum() == sum(
        len(data[1][r]) for r in project.state.answered()
    )


@pytest.mark.parametrize(
    ("content", "name", "problem"),
    [
        (b"[1]", "a.json", "object with data"),
        (b"{", "a.json", "not JSON"),
        (b"x", "a.c\0sv", "null byte"),
        (b"note,size\nx,1\n", "a.csv", "no column 'labels'"),
        (b"note,size,labels\nx,1,sea\n", "a.csv", "no row of the data has these cells"),
        (b"\x00\xff", "a.exe", "format"),
    ],
)
def test_files_that_cannot_be_imported(project, content, name, problem):
    with pytest.raises(BadInput, match=problem):
        project.load(content, name)
    assert project.version == 3


def test_tasks_with_odd_parts(project):
    data = json.dumps({"note": project.frame["note"][0], "size": project.frame["size"][0]})
    for odd in ('"annotations": 5', '"annotations": [{"result": 5, "lead_time": -1}]'):
        project.load(f'[{{"data": {data}, {odd}}}]'.encode(), "a.json")
    assert project.state.answered() == [0] and project.labels_of(0) == []


def test_images(tmp_path):
    (tmp_path / "dog.png").write_bytes(b"\x89PNG")
    (tmp_path / "secret.txt").write_text("x")
    table = pd.DataFrame({"file": ["dog.png", "cat.png", "a" * 5000 + ".png"], "size": [1, 2, 3]})
    table.insert(1, "url", "https://x.org/a.jpg?w=1")
    table.to_csv(tmp_path / "t.csv", index=False)
    project = LabelProject(tmp_path / "t.csv", background=False)
    assert (
        project.images == ["file", "url"]
        and project.elsewhere
        and project.kinds == {"size": "numbers"}
    )
    assert project.image(0, "file") == (b"\x89PNG", "image/png")
    for row, column in ((1, "file"), (2, "file"), (0, "url"), (0, "size"), (0, "nothing")):
        with pytest.raises(BadInput):
            project.image(row, column)
    project.close()


def test_odd_data(tmp_path):
    one = LabelProject(["only one"], labels=["a"], background=False)
    assert one.next("x")["row"] == 0 and one.similar(0) == []
    one.say("x", "answer", {"rows": [0], "labels": []})
    assert one.progress()["stop"]["labels"][0]["found"] == 0
    assert one.quality()["labels"] == [] and one.next("x")["row"] is None
    one.close()
    same = LabelProject(
        pd.DataFrame({"x": [1.0] * 20, "labels": ["é"] * 20}), labels=["日本"], background=False
    )
    for i in range(8):
        same.say("", "answer", {"rows": [i], "labels": ["日本"][: i % 2]})
    assert same.label_column == "labels_given" and same.next("")["scores"].keys() == {"日本"}
    assert same.quality()["labels"][0]["rows"] == 4
    same.close()
    with pytest.raises(ValueError, match="at least one row"):
        LabelProject(pd.DataFrame({"x": []}))


def random_event(rng, project):
    """Something that a person may say, not always possible."""
    have = [*project.state.names.values(), "none"]
    names = ["a", "b", "a/b", 'q"uo,te', "🌊 é", "<b>", " a  b "]
    rows, name = rng.sample(range(12), rng.randint(1, 3)), rng.choice(names)
    label, last = rng.choice(have), project.version
    return rng.choice([
        ("label", {"name": name, "description": "x"}),
        ("answer", {"rows": rows, "labels": rng.sample(have[:-1], min(2, len(have) - 1))}),
        ("answer", {"rows": rows, "labels": have[:1], "final": True}),
        ("skip", {"rows": rows}), ("flag", {"rows": rows, "on": rng.random() < 0.6}),
        ("comment", {"rows": rows, "text": "x"}), ("describe", {"label": label}),
        ("rename", {"label": label, "name": name}), ("remove", {"label": label}),
        ("merge", {"labels": [label, rng.choice(have)], "into": name}),
        ("split", {"label": label, "into": [name, rng.choice(names)]}),
        ("undo", {"id": rng.randint(max(1, last - 5), last + 1)}),
    ])  # fmt: skip


@pytest.mark.parametrize("seed", range(5))
def test_the_state_is_the_replay_of_the_log(seed):
    """Random sequences: all that is refused changes nothing, and the order is the same."""
    rng = random.Random(seed)
    project = LabelProject([f"note {i}" for i in range(12)], background=False)
    said = refused = 0
    for _ in range(120):
        person, before = rng.choice(["ann", "bob", ""]), repr(project.state)
        project.next(person)
        try:
            project.say(person, *random_event(rng, project))
            said += 1
        except BadInput:
            refused += 1
            assert repr(project.state) == before
        assert repr(State.replayed(12, project.events)) == repr(project.state)
        names = list(project.state.names.values())
        assert len(set(names)) == len(names)
    project.card(), project.quality(), project.progress()
    project.close()
    assert said > 40 and refused > 10


def test_an_undone_audit_is_unknown_until_it_is_answered_again(data, project):
    answer_all(project, data[1], AUDITS - 1)
    row = project.next("ann")
    assert row["audit"]
    id = project.say("ann", "answer", {"rows": [row["row"]], "labels": ["sea"]})["id"]
    found = project.progress()["stop"]
    project.say("ann", "undo", {"id": id})
    stop = project.progress()["stop"]
    assert stop["audits"] == found["audits"] == 1
    sea, before = ({one["label"]: one for one in s["labels"]}["sea"] for s in (stop, found))
    assert sea["found"] == before["found"] - 1 and sea["at_most"] >= before["at_most"]


def test_undo_says_why_it_cannot(project):
    project.say("ann", "label", {"name": "new"})
    project.say("ann", "answer", {"rows": [0], "labels": ["new"]})
    with pytest.raises(BadInput, match=r"4 cannot be undone before .*: there is no label 'new'"):
        project.say("ann", "undo", {"id": 4})
    project.say("ann", "undo", {"id": 5})
    with pytest.raises(BadInput, match="an undo cannot be undone"):
        project.say("ann", "undo", {"id": 6})
    with pytest.raises(BadInput, match="5 is undone already"):
        project.say("ann", "undo", {"id": 5})


def test_nothing_is_trained_before_a_row_has_a_label(data):
    project = LabelProject(data[0], labels=["sea"])
    project.say("ann", "answer", {"rows": list(range(30)), "labels": []})
    assert project.status()["working"] is None and project.problem is None
    for work in (project.want_model, project.train):
        with pytest.raises(BadInput, match="no row has a label yet"):
            work()
    project.close()


def test_a_shared_row_that_was_skipped_is_not_offered_again(data, project):
    answer_all(project, data[1], 2, "ann")
    shared = list(project.state.answers)
    others = [row for row in range(80) if row not in shared][:9]
    project.say("bob", "answer", {"rows": others, "labels": []})
    offered = []
    for _ in range(4):
        offered.append(project.next("bob", but=offered[-1] if offered else None)["row"])
        project.say("bob", "skip", {"rows": [offered[-1]]})
    assert offered[:2] == shared and not set(offered[2:]) & set(shared)
    assert project.card()["skipped"] == 2


def test_names_of_columns_and_large_ids():
    ids = [2**62 + i for i in range(6)]
    frame = pd.DataFrame({"id": ids, "labels": ids, "labels_given": ids})
    project = LabelProject(frame, labels=["x"], background=False)
    project.say("ann", "answer", {"rows": [4], "labels": ["x"]})
    for format in ("csv", "jsonl"):
        again = LabelProject(frame, background=False)
        again.load(project.export(format), f"a.{format}")
        assert again.state.answered() == [4] and again.labels_of(4) == ["x"]
        again.close()
    project.close()
