"""Words of a text with what they add to a label."""

import numpy as np
import pandas as pd
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from plurilabel import (
    AutoClassifier,
    BinaryRelevance,
    CalibratedClassifier,
    FunctionEncoder,
    OneVsAllLinear,
    TableEncoder,
    ThresholdClassifier,
)
from plurilabel._core.explanation.marks import Marker, readable
from plurilabel.inspection import explain
from plurilabel.io import word_features
from plurilabel.models import train

TEXTS = ["a late goal", "the goal of the vote", "vote for the bill", "rain and wind"] * 3
Y = pd.DataFrame({"sports": [1, 1, 0, 0] * 3, "politics": [0, 1, 1, 0] * 3})
NEW = "Vote for the LATE, late goal &\n a <b>wind</b> İzmir"


def test_words_from_the_definition():
    """Weight times TF-IDF of each word, shared by its places."""
    vectorizer, linear = TfidfVectorizer(), OneVsAllLinear(prune=0)
    (why,) = explain(make_pipeline(vectorizer, linear).fit(TEXTS, Y), [NEW])
    x, coef = vectorizer.transform([NEW]).toarray()[0], linear.coef_.toarray()
    x = x / np.linalg.norm(x)
    expected = {}
    for word, j in vectorizer.vocabulary_.items():
        places = [i for i in range(len(NEW)) if NEW.lower()[i:].startswith(word)]
        for start in places:
            expected[start, start + len(word)] = x[j] * coef[j, 0] / len(places)
    marked = why.marked("sports")
    assert {(start, end) for start, end, _ in marked.marks} == {
        place for place, adds in expected.items() if adds
    }
    for start, end, adds in marked.marks:
        assert adds == pytest.approx(expected[start, end], abs=1e-6), NEW[start:end]
    assert marked.rest == 0 and marked.base == pytest.approx(linear.intercept_[0])


WORDS = {
    "pairs": word_features(ngrams=2),
    "subwords": word_features(subwords=True),
    "vectors": word_features(encoder="tfidf+static"),
}


@pytest.mark.parametrize("kind", WORDS)
@pytest.mark.parametrize("table", [False, True])
def test_marks_add_up(kind, table):
    if kind == "vectors":
        pytest.importorskip("wordllama", reason="wordllama is not installed")
    words = TableEncoder(words=WORDS[kind]) if table else WORDS[kind]
    (why,) = explain(make_pipeline(words, OneVsAllLinear()).fit(TEXTS, Y), [NEW])
    for j, label in enumerate(Y.columns):
        marked = why.marked(label)
        total = marked.base + marked.rest + sum(adds for *_, adds in marked.marks)
        assert total == pytest.approx(why.total[j], abs=1e-9)
        assert marked.rest == 0


def test_words_are_left_out_where_texts_become_vectors():
    """Scores without a word, one at a time; columns and rows stay apart."""
    names = "wind", "goal", "vote", "😢"
    encoder = FunctionEncoder(
        lambda texts: [[t.lower().count(w) + 0.1 for w in names] for t in texts]
    )
    model = make_pipeline(encoder, BinaryRelevance(LogisticRegression())).fit(TEXTS, Y)
    (why,) = explain(model, [NEW + " 😢"])

    def odds(text):
        p = model.predict_proba([text])[0]
        return np.log(p / (1 - p))

    words = {"vote": "Vote", "for": "for", "wind": "wind", "late": None, "😢": "😢"}
    for word, said in words.items():
        text = f"{NEW} 😢"
        other = (
            text.replace("LATE", "").replace("late", "")
            if said is None
            else text.replace(said, "")
        )
        adds = [why[label].get(word, 0.0) for label in Y.columns]
        np.testing.assert_allclose(adds, odds(text) - odds(other), atol=1e-6)
    np.testing.assert_allclose(why.total, odds(text), atol=1e-6)
    assert "without" not in why.part_names and why.marked("sports").rest == 0
    table = pd.DataFrame({"note": TEXTS, "n": range(12), "title": TEXTS[::-1]})
    tagger = train(
        table, Y, text=["note", "title"], words=encoder, learner="OneVsAllLinear", holdout=0
    )
    new = pd.DataFrame({"note": ["rain", "vote"], "n": [3, 4], "title": ["goal", "wind, vote"]})
    apart = tagger.explain(new)
    assert set(apart[1].part_names) <= {"note: vote", "title: wind", "title: vote", "title: ,"}
    before = np.asarray(tagger.decision_function(new[1:]))[0]
    after = np.asarray(tagger.decision_function(new[1:].assign(title="wind, ")))[0]
    at = apart[1].part_names.index("title: vote")
    np.testing.assert_allclose(apart[1].parts[at], before - after, atol=1e-6)
    assert "change of the score when" in str(apart[1])


@pytest.mark.parametrize("text", ["", " ", "x" * 1_000_000, "a b " * 250_000, "\ud800 ?!"])
def test_words_of_empty_and_long_texts(text):
    encoder = FunctionEncoder(lambda texts: [[len(one) % 7 + 1, 2.0] for one in texts])
    model = make_pipeline(encoder, BinaryRelevance(LogisticRegression())).fit(TEXTS, Y)
    (why,) = explain(model, [text])
    assert len(why.part_names) <= 200 and np.isfinite(why.parts).all()


def test_text_is_found_in_a_model_and_below_wrappers():
    frame = pd.DataFrame({"note": TEXTS, "n": range(12)})
    model = train(frame, Y, text="note", learner="OneVsAllLinear", holdout=0)
    with pytest.warns(UserWarning, match="has no known word"):
        why, empty = model.explain(pd.DataFrame({"note": [NEW, ""], "n": [3, 3]}))
    assert why.text == NEW and "goal[+" in str(why.marked("sports"))
    assert not empty.marked("sports").marks
    plain = make_pipeline(word_features(), OneVsAllLinear())
    for wrapper in (ThresholdClassifier(plain, "scut", cv=2), CalibratedClassifier(plain, cv=2)):
        (why,) = wrapper.fit(TEXTS, Y).explain([NEW])
        assert why.text == NEW


def test_a_notebook_shows_colours_and_no_code():
    (why,) = explain(make_pipeline(word_features(), OneVsAllLinear()).fit(TEXTS, Y), [NEW])
    shown = why._repr_html_()
    assert shown.count("<mark") >= 4 and "<b>" not in shown and "&lt;" in shown


def test_rows_that_are_not_texts():
    X = np.arange(24.0).reshape(12, 2)
    (why,) = explain(OneVsAllLinear(normalize=False).fit(X, Y), X[:1] + 1)
    with pytest.raises(ValueError, match="text must be given"):
        why.marked(0)


NAMES = {
    "numbers__amount": "amount",
    "categories__country_fr": "country_fr",
    "text__goal": "text: goal",
    "text body__late goal": "body: late goal",
    "text body__words__goal": "body: goal",
    "text body__parts__ goa": "body: goa…",
    "parts__oal": "…oal…",
    "parts__al ": "…al",
    "tfidfvectorizer-1__goal": "goal",
    "tfidfvectorizer-2__ goal ": "goal",
    "text body__vectors__staticencoder0": "body: staticencoder0",
    "cou…": "cou…",
    "goal": "goal",
}


def test_names_are_without_those_of_encoders():
    assert {name: readable(name) for name in NAMES} == NAMES


def test_an_automatic_model_names_columns_and_words():
    """Names and marks, with two columns of text, and a number named like a word."""
    frame = pd.DataFrame({"note": TEXTS, "title": TEXTS, "goal": np.arange(12.0) + 1})
    encoder = TableEncoder(words=word_features(subwords=True), text=["note", "title"])
    model = AutoClassifier(portfolio=[OneVsAllLinear()], encoder=encoder, cv=2)
    (why,) = model.fit(frame, Y).explain(frame.iloc[[8]])
    names = set(why.part_names)
    assert {"goal", "note: goal", "title: goal", "title: goa…"} <= names
    assert not any("__" in name for name in names)
    marks = Marker(why, TEXTS[0], "title").marked("sports").marks
    assert [TEXTS[0][start:end] for start, end, _ in marks] == ["a", "late", "goal"]
    one = train(frame[["note", "goal"]], Y, text="note", learner="OneVsAllLinear", holdout=0)
    (why,) = one.explain(frame[["note", "goal"]][1:2])
    place = list(why.part_names).index("goal")
    assert why.marked("sports").rest == pytest.approx(why.parts[place, 0])
