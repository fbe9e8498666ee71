"""Model files with encoders of text, which name their model and do not hold it."""

import numpy as np
import pandas as pd
import pytest

from plurilabel import FunctionEncoder, MLkNN, StaticEncoder
from plurilabel.io import word_features
from plurilabel.models import ModelFileError, load_model, save_model, train

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
    from sklearn.pipeline import make_pipeline

    from plurilabel.models import Model

    Y = np.array([[1, 0], [0, 1]] * 5)
    fitted = make_pipeline(StaticEncoder(), MLkNN(2)).fit(["a", "b"] * 5, Y)
    fitted.steps[0] = ("staticencoder", encoder)
    return Model(fitted, ("x", "y"), ("text",))
