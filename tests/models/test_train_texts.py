"""Training on a CSV file of texts in blocks: the same features as from all rows at once."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.feature_extraction.text import TfidfVectorizer

from plurilabel import MLFastText, OneVsAllLinear, io
from plurilabel.models import _train_data, _train_texts, load_model, save_model, train

pytest.importorskip("pyarrow")
WORDS = [f"{a}{b}" for a in "bdfgk" for b in ("ana", "ena", "ina", "ona")]


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    rows = []
    for _ in range(300):
        tags = np.flatnonzero(rng.random(5) < 0.3)
        own = [WORDS[t] for t in tags for _ in range(2)]
        text = " ".join(rng.permutation([*own, *rng.choice(WORDS[5:], 4)]))
        rows.append(
            {"text": text, "title": text[:4] + " ona", "tags": ";".join("abcde"[t] for t in tags)}
        )
    return pd.DataFrame(rows)


@pytest.fixture
def blocks(monkeypatch):
    monkeypatch.setattr(_train_data, "MOST_BYTES", 0)
    monkeypatch.setattr(_train_texts, "ROWS", 70)


def write(table, folder):
    path = folder / "texts.csv"
    table.to_csv(path, index=False)
    return path


def encoder_of(model):
    return model.estimator[0].transformer_


@pytest.mark.parametrize("columns", [["text"], ["title", "text"]])
def test_features_are_those_of_all_rows(table, tmp_path, blocks, columns):
    path = write(table[[*columns, "tags"]], tmp_path)
    words = TfidfVectorizer(ngram_range=(1, 2), min_df=3, sublinear_tf=True)
    model = train(path, "tags", words=words, text=columns, holdout=0)
    expected = [TfidfVectorizer(**words.get_params()).fit(table[name]) for name in columns]
    for (_, part, _), whole in zip(encoder_of(model).transformers_, expected):
        assert part.vocabulary_ == whole.vocabulary_
        np.testing.assert_array_equal(part.idf_, whole.idf_)
    X = sparse.hstack([whole.transform(table[name]) for whole, name in zip(expected, columns)])
    Y = io.label_matrix(table["tags"]).to_numpy()
    scores = OneVsAllLinear().fit(sparse.csr_array(X).astype(np.float32), Y).decision_function(X)
    np.testing.assert_allclose(
        model.estimator.decision_function(table[columns]), scores, rtol=1e-4, atol=1e-5
    )
    assert len(model.estimator[0].get_feature_names_out()) == X.shape[1]


def test_from_a_file_to_a_model_file(table, tmp_path, blocks, monkeypatch):
    monkeypatch.setattr(_train_texts, "MOST_LINEAR", 100)
    told = []
    model = train(write(table[["text", "tags"]], tmp_path), "tags", progress=told.append)
    assert [event.total for event in told if event.kind == "part"] == [5] * 10
    assert model.notes["held_out"]["rows"] == 30  # the other 30 decide about the cut
    assert model.notes["held_out"]["measures"]["micro_f1"] > 0.8
    assert model.notes["learned_rows"] == "all"
    cut = model.estimator[-1]
    assert isinstance(cut.estimator_, MLFastText)
    assert cut.estimator_ is cut.estimator
    save_model(model, tmp_path / "texts.skops")
    again = load_model(tmp_path / "texts.skops")
    new = pd.DataFrame({"text": ["bana bana", "dana bena bena"]})
    assert again.predict(new) == model.predict(new)
    assert again.predict(new)[0] == ("a",)
    (why,) = again.explain(new[:1])
    assert str(why.marked("a")).startswith("bana[+")
    assert again.notes["data"]["marks"] == model.notes["data"]["marks"]


def test_the_cut_is_learned_from_rows_that_are_not_measured(table, tmp_path, blocks):
    path = write(table[["text", "tags"]], tmp_path)
    a = train(path, "tags", refit=False)
    assert a.notes["train_rows"] == 240
    b = train(path, "tags", refit=False, threshold="none")
    assert b.notes["held_out"]["rows"] == 60
    assert isinstance(b.estimator[-1], OneVsAllLinear)
    given = train(path, "tags", learner="OneVsAllLinear(C=2.0)", holdout=0)
    assert given.estimator[-1].C == 2.0


@pytest.mark.parametrize("change", ["numbers", "labels", "words"])
def test_other_data_are_read_as_a_whole(table, tmp_path, blocks, change):
    labels, options = "tags", {}
    if change == "numbers":
        table = table.assign(length=np.arange(300) % 7 + 0.5)
    if change == "labels":
        table = table.assign(a=(table["tags"] == "a").astype(int)).drop(columns="tags")
        labels = ["a"]
    if change == "words":
        options = {"words": io.word_features(subwords=True)}
    told = []
    path = write(table.drop(columns="title"), tmp_path)
    train(path, labels, text="text", learner="OneVsAllLinear", progress=told.append, **options)
    assert str(told[0]) == f"Reading {path}"


@pytest.mark.parametrize(
    ("tags", "problem"),
    [
        (["a|b"] + ["a;b"] * 299, "one separator"),
        (["a;b"] * 299 + ["a|b"], "one separator"),
        ([""] * 300, "only empty cells"),
    ],
)
def test_bad_tags(table, tmp_path, blocks, tags, problem):
    path = write(table[["text"]].assign(tags=tags), tmp_path)
    with pytest.raises(ValueError, match=problem):
        train(path, "tags")


def test_words_that_are_all_rare(table, tmp_path, blocks):
    texts = [f"x{i} y{i} z{i}" for i in range(300)]
    path = write(table[["tags"]].assign(text=texts), tmp_path)
    words = TfidfVectorizer(min_df=1)
    train(path, "tags", words=words, text="text", holdout=0, learner="OneVsAllLinear")
    with pytest.raises(ValueError, match="no word|no terms"):
        train(path, "tags", text="text")
