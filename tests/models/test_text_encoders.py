"""Model files with encoders of text, which name their model and do not hold it."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from plurilabel import FunctionEncoder, LabelDescriptions, MLkNN, OneVsAllLinear, StaticEncoder
from plurilabel.io import word_features
from plurilabel.models import Model, ModelFileError, load_model, save_model, train
from plurilabel.models._layers import layers

pytest.importorskip("wordllama", reason="wordllama is not installed")
pytest.importorskip("skops", reason="model files need skops")

ROWS = pd.DataFrame(
    {
        "text": [f"{what} number {i}" for i in range(10) for what in ("a cat", "the market")],
        "price": np.arange(20.0),
        "tags": ["animals", "money"] * 10,
    }
)


@pytest.mark.parametrize("words", [StaticEncoder(), word_features(encoder="tfidf+static")])
def test_a_file_is_small_and_answers_alike(tmp_path, words):
    model = train(ROWS, "tags", text="text", words=words, learner="OneVsAllLinear", holdout=0)
    save_model(model, tmp_path / "m.skops")
    assert (tmp_path / "m.skops").stat().st_size < 1_000_000
    loaded = load_model(tmp_path / "m.skops")
    new = pd.DataFrame({"text": ["a cat number 4", "the market"], "price": [9, 9]})
    assert loaded.predict(new) == model.predict(new) == [("animals",), ("money",)]


def test_vectors_are_dense_features():
    model = train(ROWS, "tags", text="text", words=StaticEncoder(),
                  learner="StandardScaler | MLkNN(n_neighbors=3)", holdout=0)  # fmt: skip
    assert model.estimator[1][0].with_mean
    assert isinstance(model.estimator[0].transform(ROWS), np.ndarray)


def test_another_model_is_refused_when_a_file_is_loaded(tmp_path, monkeypatch):
    model = train(ROWS, "tags", text="text", words=StaticEncoder(), learner=MLkNN(3), holdout=0)
    save_model(model, tmp_path / "m.skops")
    monkeypatch.setattr(
        "plurilabel.text._static.static_model", lambda _: lambda texts: np.ones((len(texts), 256))
    )
    with pytest.raises(ModelFileError, match="was fitted with another model"):
        load_model(tmp_path / "m.skops")


def test_a_function_cannot_be_saved(tmp_path):
    words = FunctionEncoder(lambda texts: [[len(text)] for text in texts])
    model = train(ROWS, "tags", text="text", words=words, learner=MLkNN(3), holdout=0)
    with pytest.raises(ValueError, match="func of a FunctionEncoder cannot be"):
        save_model(model, tmp_path / "m.skops")


@pytest.mark.parametrize("model", ["/a/folder", "../folder", "a/b/c", "http://host"])
def test_names_of_models_that_are_refused(tmp_path, model):
    encoder = StaticEncoder().fit(["a"])
    encoder.model = model
    with pytest.raises(ValueError, match="model of a StaticEncoder cannot be"):
        save_model(make_model(encoder), tmp_path / "m.skops")


def make_model(encoder):
    Y = np.array([[1, 0], [0, 1]] * 5)
    fitted = make_pipeline(StaticEncoder(), MLkNN(2)).fit(["a", "b"] * 5, Y)
    fitted.steps[0] = ("staticencoder", encoder)
    return Model(fitted, ("x", "y"), ("text",))


DESCRIBED = {"animals": "cats, dogs", "money": "finance, markets"}


@pytest.mark.parametrize("descriptions", [None, DESCRIBED])
def test_label_descriptions_see_the_texts_of_a_table(tmp_path, descriptions):
    """Through the table as in Python, with words that no training text has."""
    wrapper = LabelDescriptions(OneVsAllLinear(loss="logistic"), descriptions, cv=2)
    model = train(ROWS, "tags", text="text", learner=wrapper, threshold="global", holdout=0)
    (described,) = (p for p in layers(model.estimator) if isinstance(p, LabelDescriptions))
    assert described.weights_.min() > 0
    words = described.estimator_[0]
    Y = pd.DataFrame({name: ROWS["tags"].eq(name).astype(int) for name in DESCRIBED})
    inner = make_pipeline(clone(words), OneVsAllLinear(loss="logistic"))
    names = list((descriptions or dict(zip(DESCRIBED, DESCRIBED))).values())
    same = LabelDescriptions(inner, names, text="text", cv=2).fit(ROWS, Y)
    new = pd.DataFrame({"text": ["dogs bark", "banks and finance"], "price": [9.0, 9.0]})
    np.testing.assert_allclose(model.predict_proba(new), same.predict_proba(new), atol=1e-6)
    save_model(model, tmp_path / "m.skops")
    alone = train(ROWS[["text", "tags"]], "tags", text="text", learner=wrapper, holdout=0)
    for found in (load_model(tmp_path / "m.skops"), model):
        assert np.asarray(found.predict_proba(new)).argmax(axis=1).tolist() == [0, 1]
    assert alone.read(new[["text"]]).unknown is None  # similarity needs no known word


def test_a_model_without_labelled_rows_reads_files(tmp_path):
    fitted = LabelDescriptions(descriptions=DESCRIBED).fit(ROWS["text"].tolist(), None)
    save_model(Model.of(fitted), tmp_path / "m.skops")
    model, file = load_model(tmp_path / "m.skops"), tmp_path / "new.csv"
    new = pd.DataFrame({"text": ["dogs bark", "banks and finance", None]})
    new.to_csv(file, index=False)
    expected = model.predict(["dogs bark", "banks and finance", ""])
    assert model.predict(str(file)) == model.predict(new) == expected
    assert expected[:2] == [("animals",), ("money",)]
    with pytest.raises(ValueError, match="one column of texts, got the columns 'text' and 'p"):
        model.predict(ROWS[["text", "price"]])
    (why, *_) = model.explain(new)
    assert why.top("animals", 1)[0][0] == "dogs" and "dogs[+" in str(why.marked("animals"))
