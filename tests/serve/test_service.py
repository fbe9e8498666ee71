"""The service without HTTP: answers, corrections, and that the log alone decides the model."""

import csv
import io as streams
import json
import threading

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from plurilabel import IBLRML, BRkNN, MLkNN, MrkNN, OneVsAllLinear, ThresholdClassifier, io
from plurilabel.models import Model, save_model, train
from plurilabel.serve import Ask, BadInput, Service, StoreError
from plurilabel.serve._insight import Insight
from tests.serve.problems import LABELS, lazy, linear, notes, points, records

NEW = records(points(12, seed=5)[0])


def rows_of(service, Y):
    """Features and labels that the ledger of a service says, from scratch."""
    X = points()[0]
    frames, labels = [], []
    for row in service.now.rows.tolist():
        features = records(X)[row] if row < len(X) else service.ledger.features(row)
        frames.append(features)
        said = service.ledger.labels(row)
        labels.append(Y[row].tolist() if said is None else [int(name in said) for name in LABELS])
    return pd.DataFrame(frames), pd.DataFrame(labels, columns=LABELS)


def same_arrays(a, b):
    """Whether two fitted learners have the same arrays, bit for bit."""
    for name, value in vars(a).items():
        other = getattr(b, name)
        values = value if isinstance(value, tuple) else (value,)
        others = other if isinstance(other, tuple) else (other,)
        for one, two in zip(values, others):
            if isinstance(one, np.ndarray) and one.dtype != object:
                np.testing.assert_array_equal(one, two, err_msg=name)
            elif sparse.issparse(one):
                np.testing.assert_array_equal(one.toarray(), two.toarray(), err_msg=name)


def some_corrections(service):
    service.correct([{"features": NEW[0], "labels": ["sea"]}, {"row": 3, "labels": []}])
    service.correct([{"features": row, "labels": ["sun", "snow"]} for row in NEW[1:6]])
    service.correct([{"row": 7, "labels": ["snow"]}])
    service.correct([{"row": 7, "labels": ["sea", "sun"]}])
    service.undo(2)
    service.undo(9)
    service.correct([{"row": 61, "labels": ["snow"]}])
    service.undo(4)


@pytest.mark.parametrize(
    "learner", [MLkNN(3), BRkNN(3), IBLRML(3), MrkNN(3)], ids=lambda l: type(l).__name__
)
def test_corrections_are_what_a_fresh_fit_would_learn(learner, tmp_path):
    X, Y = points()
    path = tmp_path / "log.db"
    service = Service(learner.fit(X, Y), store=path)
    some_corrections(service)
    assert service.version == 13 and len(service.now.rows) == 65
    grown = service.now.model.learner
    fresh = type(learner)(3).fit(*rows_of(service, Y.to_numpy()))
    same_arrays(fresh, grown)
    service.close()
    again = Service(type(learner)(3).fit(X, Y), store=path)  # a replay in one step
    assert again.version == 13 and again.now.rows.tolist() == service.now.rows.tolist()
    same_arrays(grown, again.now.model.learner)
    test = X + 0.1
    np.testing.assert_array_equal(
        again.now.model.estimator.predict_proba(test), grown.predict_proba(test)
    )
    again.close()


def test_the_first_model_is_not_changed():
    learner = lazy()
    before = {name: id(value) for name, value in vars(learner).items()}
    service = Service(learner)
    some_corrections(service)
    assert {name: id(value) for name, value in vars(learner).items()} == before
    service.close()


def test_a_correction_counts_at_once_and_can_be_undone():
    service = Service(lazy())
    row = {"heat": 30.0, "height": 30.0}
    before = service.predict([row], Ask(scores=True))
    assert before["version"] == 0
    done = service.correct(
        [{"features": {"heat": 30 + i / 10, "height": 30.0}, "labels": ["snow"]} for i in range(3)]
    )
    assert done["version"] == 3 and done["applied"]
    assert [one["row"] for one in done["corrections"]] == [61, 62, 63]
    after = service.predict([row], Ask(scores=True))
    assert after["version"] == 3
    assert after["rows"][0]["scores"]["snow"] > before["rows"][0]["scores"]["snow"]
    assert after["rows"][0]["labels"] == ["snow"]
    for one in done["corrections"]:
        service.undo(one["id"])
    assert service.predict([row], Ask(scores=True))["rows"] == before["rows"]
    service.close()


def test_what_is_asked_for():
    service = Service(lazy())
    row = [NEW[0]]
    every = service.predict(row, Ask(scores=True))["rows"][0]
    assert list(every["scores"]) == LABELS
    two = service.predict(row, Ask(scores=True, top=2))["rows"][0]
    best = sorted(every["scores"], key=every["scores"].get, reverse=True)[:2]
    assert two["labels"] == best == list(two["scores"])
    low = service.predict(row, Ask(cut=-1.0))["rows"][0]
    assert low == {"labels": LABELS}
    assert service.predict([list(NEW[0].values())]) == service.predict(row)
    (one,), (two,) = (r["rows"] for r in service.predict_many([(row, Ask()), (row, Ask(top=1))]))
    assert one == service.predict(row)["rows"][0] and len(two["labels"]) == 1
    service.close()


def test_requests_that_are_answered_together_keep_their_own_errors():
    service = Service(lazy())
    good, bad = [NEW[0]], [{"heat": None, "height": 1.0}]
    answers = service.predict_many([(good, Ask()), (bad, Ask()), (good, Ask(scores=True))])
    assert answers[0] == service.predict(good)
    assert isinstance(answers[1], BadInput)
    assert (answers[1].row, answers[1].column) == (0, "heat")
    assert "scores" in answers[2]["rows"][0]
    done = service.correct_many(
        [
            [{"features": NEW[0], "labels": ["sea"]}],
            [{"row": 2, "labels": ["sea"]}, {"row": 999, "labels": []}],
            [{"row": 5, "labels": ["sea"]}],
        ]
    )
    assert done[0]["corrections"] == [{"id": 1, "row": 61}]
    assert isinstance(done[1], BadInput) and done[1].status == 404
    assert done[2]["corrections"] == [{"id": 2, "row": 5}]  # nothing of the second is left
    assert service.ledger.labels(2) is None
    service.close()


def test_a_key_makes_it_safe_to_send_again():
    service = Service(lazy())
    correction = {"features": NEW[0], "labels": ["sea"], "key": "a"}
    first = service.correct([correction])
    assert service.correct([correction]) == first
    with pytest.raises(BadInput, match="was used for another correction"):
        service.correct([{**correction, "labels": []}])
    assert service.ledger.version == 1
    service.close()


@pytest.mark.parametrize("before", [False, True], ids=["running", "started again"])
def test_a_key_stands_for_the_whole_correction(tmp_path, before):
    service = Service(lazy(), store=tmp_path / "log.db")
    sent = {"features": {"heat": 1, "height": 2.5}, "labels": ["sea", "sun"], "key": "a"}
    first = service.correct([sent, {"row": 1, "labels": [], "key": "b"}])
    if before:  # what an earlier version of the service has stored
        service.close()
        service = Service(lazy(), store=tmp_path / "log.db")
    others = [
        {**sent, "features": NEW[0]},
        {**sent, "features": {"heat": 1, "height": 2.500001}},
        {"row": 1, "labels": ["sea", "sun"], "key": "a"},
        {"features": sent["features"], "labels": [], "key": "b"},
        {"row": 2, "labels": [], "key": "b"},
    ]
    for other in others:
        with pytest.raises(BadInput, match="was used for another correction") as raised:
            service.correct([other])
        assert raised.value.status == 409
    for bad in ({"row": True, "labels": [], "key": "b"}, {"row": 1, **sent}, {**sent, "row": 1}):
        with pytest.raises(BadInput):
            service.correct([bad])
    twice = [{**NEW[1], "height": x} for x in (1, 2)]
    with pytest.raises(BadInput, match="row 1: key 'c' was used for another correction"):
        service.correct([{"features": row, "labels": [], "key": "c"} for row in twice])
    # the same correction, written in another way
    for features in ([1.0, 2.5], {"height": 2.5, "heat": True, "other": 3}):
        again = service.correct([{**sent, "features": features, "labels": ["sun", "sea", "sun"]}])
        assert again["corrections"] == first["corrections"][:1]
    assert service.ledger.version == 2
    service.undo(1)
    assert service.correct([sent])["corrections"] == first["corrections"][:1]  # stays undone
    service.close()


def test_a_key_of_a_sparse_row():
    learner = MLkNN(2).fit(sparse.csr_array(np.eye(9, 5)), np.eye(9, 2, dtype=int))
    model = Model(learner, ("a", "b"), tuple(f"w{j}" for j in range(5)), sparse_features=True)
    service = Service(model)
    sent = {"features": {"w1": 2, "w2": 0}, "labels": ["a"], "key": "k"}
    service.correct([sent])
    service.correct([{**sent, "features": {"w1": 2.0, "w4": 0}}])
    with pytest.raises(BadInput, match="another correction"):
        service.correct([{**sent, "features": {"w1": 2, "w2": 1}}])
    assert service.ledger.version == 1
    service.close()


BAD_CORRECTIONS = [
    ([], "at least one"),
    ("x", "must be a list"),
    ([3], "must be an object"),
    ([{"row": 1}], "must have labels"),
    ([{"labels": []}], "either row or features"),
    ([{"labels": [], "row": 1, "features": NEW[0]}], "either row or features"),
    ([{"labels": ["moon"], "row": 1}], "no label 'moon'"),
    ([{"labels": "sea", "row": 1}], "list of names"),
    ([{"labels": [1], "row": 1}], "list of names"),
    ([{"labels": [], "row": True}], "whole number"),
    ([{"labels": [], "row": 1.5}], "whole number"),
    ([{"labels": [], "row": 10**40}], "no row"),
    ([{"labels": [], "row": 1, "key": ""}], "key must be"),
    ([{"labels": [], "row": 1, "who": "me"}], "no 'who'"),
    ([{"labels": [], "features": {"heat": 1}}], "row 0, column 'height': the value is missing"),
    ([{"labels": [], "features": {"heat": None, "height": 1}}], "column 'heat': a value is miss"),
]


@pytest.mark.parametrize(("corrections", "words"), BAD_CORRECTIONS)
def test_bad_corrections(corrections, words):
    service = Service(lazy(10))
    with pytest.raises(BadInput, match=words):
        service.correct(corrections)
    assert service.ledger.version == 0 and service.store.entries() == []
    service.close()


def test_a_correction_that_cannot_be_learned_is_not_stored(monkeypatch):
    service = Service(lazy())
    monkeypatch.setattr(
        service.training, "learned", lambda *_: (_ for _ in ()).throw(ValueError("no room"))
    )
    with pytest.raises(BadInput, match="cannot learn this: no room"):
        service.correct([{"row": 0, "labels": []}])
    assert service.store.entries() == [] and service.ledger.version == 0
    service.close()


def test_refitted_in_the_background_while_the_old_model_answers(tmp_path):
    X, Y = points()
    service = Service(linear(), data=(X, Y.to_numpy()), store=tmp_path / "log.db")
    gate, learned = threading.Event(), service.training.learned

    def slowly(before, ledger):
        gate.wait(30)
        return learned(before, ledger)

    service.training.learned = slowly
    before = service.predict(NEW, Ask(scores=True))
    done = service.correct([{"features": row, "labels": ["snow"]} for row in NEW[:6]])
    assert done["version"] == 0 and not done["applied"]
    service.correct([{"row": 0, "labels": []}])
    assert service.predict(NEW, Ask(scores=True)) == before
    gate.set()
    assert service.settle(60)
    after = service.predict(NEW, Ask(scores=True))
    assert after["version"] == 7 and after["rows"] != before["rows"]
    fresh = type(linear())(linear().estimator).fit(*rows_of(service, Y.to_numpy()))
    np.testing.assert_array_equal(
        fresh.predict_proba(X), service.now.model.estimator.predict_proba(X)
    )
    service.close()
    again = Service(linear(), data=(X, Y.to_numpy()), store=tmp_path / "log.db")
    assert again.predict(NEW, Ask(scores=True)) == after
    again.close()


def test_kept_without_data():
    service = Service(linear())
    done = service.correct([{"features": NEW[0], "labels": ["sea"]}])
    assert done == {"version": 0, "applied": False, "corrections": [{"id": 1, "row": 1}]}
    with pytest.raises(BadInput, match="no row 0"):
        service.correct([{"row": 0, "labels": []}])
    assert json.loads(service.export("jsonl")) == {**NEW[0], "labels": ["sea"]}
    service.close()


def test_typed_tables_with_text(tmp_path):
    model, table = notes()
    table.to_csv(tmp_path / "notes.csv", index=False)
    service = Service(model, data=tmp_path / "notes.csv", store=tmp_path / "log.db")
    assert service.training.how == "exact" and service.remarks == []
    row = {"note": "a dog", "length": 3, "place": "sea", "day": "2024-03-17"}
    service.correct([{"features": row, "labels": ["cat"]}, {"row": 0, "labels": ["cat", "dog"]}])
    (told,) = service.explain([row])["rows"]
    assert told["neighbors"][0]["row"] == 19  # itself
    assert any("dog" in name for name in told["neighbors"][0]["shares"])
    assert told["neighbors"][0]["features"]["note"] == "a dog"
    with pytest.raises(BadInput, match="column 'day', row 0: expected a date, got 'soon'"):
        service.predict([{**row, "day": "soon"}])
    # what is exported can be learned from
    (tmp_path / "all.csv").write_bytes(service.export(all_rows=True))
    data = io.read_table(
        tmp_path / "all.csv",
        labels="tags",
        text="note",
        features=["length", "place", "day"],
        encode=False,
        tag_sep=";",
    )
    assert data.Y.shape == (19, 2)
    np.testing.assert_array_equal(data.Y.toarray(), service.now.model.learner.Y_.toarray())
    assert data.X["note"][17] == "a dog"
    frame = list(csv.DictReader(streams.StringIO(service.export().decode())))
    assert [line["tags"] for line in frame] == ["cat", "cat;dog"]
    service.close()


def test_data_of_another_model_are_not_shown():
    X, Y = points()
    service = Service(lazy(), data=(X + 1, Y.to_numpy()))
    assert service.data is None and "not the training rows" in service.remarks[0]
    service.close()


def test_words_are_marked_in_texts():
    texts = ["red dog", "blue cat", "red cat", "a dog", "dog cat", "blue bird"] * 4
    Y = [["dog"], ["cat"], ["cat"], ["dog"], ["cat", "dog"], []] * 4
    frame = pd.DataFrame({"title": texts, "body": texts[::-1], "tags": list(map(";".join, Y))})
    model = train(frame, "tags", text=["title", "body"], learner="OneVsAllLinear", holdout=0)
    service = Service(model)
    row = {"title": "a Dog 😀", "body": "the blue cat"}
    (told,) = service.explain([row], labels=["dog"])["rows"]
    marks = told["labels"][0]["marks"]
    assert [mark[:2] for mark in marks["title"]] == [[2, 5]] and marks["title"][0][2] > 0
    assert [mark[:2] for mark in marks["body"]] == [[4, 8], [9, 12]]
    service.close()
    alone = make_pipeline(CountVectorizer(), OneVsAllLinear()).fit(texts, Y)
    service = Service(Model.of(alone, feature_names=[]))
    (told,) = service.explain(["a dog"], labels=["dog"])["rows"]
    assert [mark[:2] for mark in told["labels"][0]["marks"][""]] == [[2, 5]]
    service.close()


def test_texts_and_cuts_around_the_learner():
    texts = ["red dog", "blue cat", "red cat", "a dog", "dog cat", "blue bird"] * 4
    Y = [["dog"], ["cat"], ["cat"], ["dog"], ["cat", "dog"], []] * 4
    pipeline = make_pipeline(CountVectorizer(), MLkNN(3)).fit(texts, Y)
    service = Service(Model.of(pipeline, feature_names=[]))
    assert service.predict(["red dog"]) == {"version": 0, "rows": [{"labels": ["dog"]}]}
    service.correct([{"features": "a new bird", "labels": ["cat"]}])
    assert service.version == 1 and service.now.model.learner.Y_.shape == (25, 2)
    assert service.explain(["red dog"])["rows"][0]["neighbors"][0]["features"] is None
    with pytest.raises(BadInput, match="row 1: expected a text"):
        service.predict(["x", 3])
    service.close()
    X, Y = points()
    cut = ThresholdClassifier(make_pipeline(StandardScaler(), MLkNN(3)), "global").fit(X, Y)
    service = Service(cut)
    some_corrections(service)
    assert service.now.model.learner.Y_.shape[0] == 65
    assert service.predict(NEW)["version"] == 13
    service.close()


def test_sparse_models_take_what_is_not_zero():
    X = sparse.csr_array(np.eye(30, 50))
    Y = np.tile([[1, 0], [0, 1]], (15, 1))
    learner = MLkNN(2).fit(X, sparse.csr_array(Y))
    model = Model(learner, ("a", "b"), tuple(f"w{j}" for j in range(50)), sparse_features=True)
    service = Service(model)
    assert service.predict([{"w0": 1.0}, {}])["rows"][0]["labels"] is not None
    service.correct([{"features": {"w3": 2.0}, "labels": ["a"]}])
    assert service.row_card(31)["features"] == {"w3": 2.0}
    assert service.row_card(4)["features"] == {"w4": 1.0}
    with pytest.raises(BadInput, match="column 'w50'"):
        service.predict([{"w50": 1}])
    service.close()


def test_pcut_is_not_asked_about_rows_of_several_clients():
    X, Y = points()
    service = Service(ThresholdClassifier(lazy(), "pcut").fit(X, Y))
    assert service.alone
    alone = service.predict([NEW[0]])
    assert service.predict_many([([row], Ask()) for row in NEW])[0] == alone
    service.close()


def test_a_store_belongs_to_one_model(tmp_path):
    save_model(lazy(), tmp_path / "a.skops")
    save_model(lazy(40), tmp_path / "b.skops")
    service = Service.open(tmp_path / "a.skops", store=tmp_path / "log.db")
    assert service.name == "a"
    service.close()
    with pytest.raises(StoreError, match="corrections of another model"):
        Service.open(tmp_path / "b.skops", store=tmp_path / "log.db")


def test_nothing_is_taken_after_the_end():
    service = Service(lazy())
    service.close()
    with pytest.raises(BadInput, match="being stopped"):
        service.correct([{"row": 0, "labels": []}])


def test_remarks_go_to_whoever_sent_the_row():
    model, table = notes()
    service = Service(model)
    known = records(table.drop(columns="tags"))
    strange = {**known[0], "place": "moon", "note": "xyzzy"}
    requests = [([known[1]], Ask()), ([known[2], strange], Ask()), ([known[3]], Ask())]
    first, second, third = service.predict_many(requests)
    assert "remarks" not in first and "remarks" not in third
    assert second["remarks"] == [
        "row 1, column 'place': 'moon' was not seen in training",
        "row 1 has no known word",
    ]
    assert service.predict([strange])["remarks"][0].startswith("row 0, column 'place'")
    service.close()


def test_how_dates_are_written_is_not_seen_from_the_rows_of_others():
    model, table = notes()
    service = Service(model)
    known = records(table.drop(columns="tags"))
    loose = {**known[0], "day": "3/4/2024"}
    other = {**known[0], "day": "25/4/2024"}  # shows that the day comes first
    alone = service.predict_many([([loose], Ask(scores=True))])
    both = service.predict_many([([loose], Ask(scores=True)), ([other], Ask(scores=True))])
    assert isinstance(alone[0], BadInput) == isinstance(both[0], BadInput)
    assert str(alone[0]) == str(both[0])
    service.close()


@pytest.mark.parametrize("base", [MLkNN(3), BRkNN(3, variant="b"), linear()])
@pytest.mark.parametrize("strategy", [None, "rcut"])
def test_predicted_rows_are_those_of_the_model(base, strategy):
    """Not those above one threshold, where a strategy or the learner decides otherwise."""
    X, Y = points(60)
    model = base if strategy is None else ThresholdClassifier(base, strategy)
    service = Service(Model.of(model.fit(X, Y)), data=(X, Y.to_numpy()))
    insight = Insight(service)
    view = insight.view()
    if strategy == "rcut":
        assert (view.predicted.sum(axis=1) == model.strategy_.r_).all()
    elif isinstance(base, BRkNN):
        assert (view.predicted == base.training_labels()).all()
        assert (view.predicted != (view.scores > 0.5)).any()
    else:
        assert (view.predicted == (view.scores > 0.5)).all()
    for j, label in enumerate(LABELS):
        found = insight.rows(label=label, having="predicted", most=60)["rows"]
        assert [row["row"] for row in found] == np.flatnonzero(view.predicted[:, j]).tolist()
    hits = (view.predicted & (view.Y == 1)).sum()
    assert insight.cuts()["model"]["recall"] == pytest.approx(hits / view.Y.sum(), abs=1e-4)
    card = service.card()
    assert card["cut"] == (0.5 if strategy is None else None)
