"""Models in MLflow: stored as checked files, with a signature, and answering as before."""

import doctest
import json
import os
import re
import warnings
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("skops", reason="model files need skops")
os.environ.setdefault("MLFLOW_ALLOW_FILE_STORE", "true")  # a database needs all of MLflow
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # those of MLflow's own dependencies
    pytest.importorskip("mlflow", reason="mlflow-skinny brings 30 packages: not in `make test`")

import mlflow
import pandas as pd
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline

import plurilabel
from plurilabel import MLDecisionTree, MLkNN, io
from plurilabel.models import Model, ModelFileError
from plurilabel.models import mlflow as ours

pytestmark = pytest.mark.filterwarnings("ignore")
GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "other-tools.md"


@pytest.fixture(scope="module")
def frames():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(40, 3)), columns=["a", "b c", "d"])
    Y = pd.DataFrame({"pos": X["a"] > 0, "big": X["d"].abs() > 0.5, "ö": X["b c"] < 0}).astype(int)
    return X, Y


@pytest.fixture
def tracking(tmp_path):
    before = mlflow.get_tracking_uri()
    mlflow.set_tracking_uri((tmp_path / "runs").as_uri())
    yield
    mlflow.set_tracking_uri(before)


def test_there_and_back(frames, tmp_path):
    X, Y = frames
    learner = MLkNN(3).fit(X, Y)
    ours.save_model(learner, tmp_path / "m", metadata={"team": "herbs"})
    model = ours.load_model(tmp_path / "m")
    assert model.predict(X) == Model.of(learner).predict(X)
    served = mlflow.pyfunc.load_model(str(tmp_path / "m"))
    mixed = X.set_axis(range(100, 140))[["d", "a", "b c"]]
    labels = served.predict(mixed)
    assert labels.columns.tolist() == ["pos", "big", "ö"]
    assert labels.index.tolist() == list(range(100, 140))
    np.testing.assert_array_equal(labels, learner.predict(X))
    scores = served.predict(mixed, params={"output": "scores"})
    np.testing.assert_array_equal(scores, learner.predict_proba(X))
    assert served.metadata.metadata == {"team": "herbs"}
    with pytest.raises(Exception, match="'labels' or 'scores', got 'words'"):
        served.predict(mixed, params={"output": "words"})


def test_what_is_stored(frames, tmp_path):
    ours.save_model(MLkNN(3).fit(*frames), tmp_path / "m")
    stored = {str(path.relative_to(tmp_path / "m")) for path in (tmp_path / "m").rglob("*.*")}
    assert "data/model.skops" in stored and not any(path.endswith(".pkl") for path in stored)
    info = mlflow.models.get_model_info(str(tmp_path / "m"))
    assert [(one.name, one.type.name) for one in info.signature.inputs] == [
        ("a", "double"), ("b c", "double"), ("d", "double")
    ]  # fmt: skip
    assert [one.name for one in info.signature.outputs] == ["pos", "big", "ö"]
    pins = (tmp_path / "m" / "requirements.txt").read_text().split()
    assert f"plurilabel[cli]=={plurilabel.__version__}" in pins
    assert any(pin.startswith("scikit-learn==") for pin in pins)


def test_arrays(frames, tmp_path):
    X, Y = (frame.to_numpy() for frame in frames)
    learner = MLDecisionTree().fit(X, Y)
    ours.save_model(learner, tmp_path / "m")
    served = mlflow.pyfunc.load_model(str(tmp_path / "m"))
    np.testing.assert_array_equal(served.predict(X), learner.predict(X))
    with pytest.raises(Exception, match="shape"):
        served.predict(X[:, :2])


def test_texts(tmp_path):
    texts, tags = ["a calm sea", "some sun", "sun and sea"], [["x"], ["y"], ["x", "y"]]
    ours.save_model(make_pipeline(TfidfVectorizer(), MLkNN(1)).fit(texts, tags), tmp_path / "m")
    served = mlflow.pyfunc.load_model(str(tmp_path / "m"))
    assert served.predict(pd.DataFrame({"text": texts})).columns.tolist() == ["x", "y"]
    example = json.loads((tmp_path / "m" / "input_example.json").read_text())
    assert set(example["data"][0][0].split()) <= {"calm", "sea", "some", "sun", "and"}


def test_tables(tmp_path):
    frame = pd.DataFrame(
        {
            "note": ["a cough", "cough and fever", "a rash", "fever"],
            "ward": ["u", "v", "u", "w"],
            "weight": [61.0, 68, 70, 55],
            "seen": pd.to_datetime(["2020-01-01", "2021-03-01", "2022-05-01", "2020-02-01"]),
            "codes": ["c", "c;f", "r", "f"],
        }
    )
    data = io.read_table(frame, labels="codes", text="note", encode=False,
                         features=["note", "ward", "weight", "seen"])  # fmt: skip
    encoder = io.table_encoder(data.X, text="note")
    pipeline = make_pipeline(encoder, MLDecisionTree()).fit(data.X, data.Y)
    model = Model(pipeline, data.label_names, data.X.columns, "codes")
    ours.save_model(model, tmp_path / "m")
    info = mlflow.models.get_model_info(str(tmp_path / "m"))
    kinds = {one.name: one.type.name for one in info.signature.inputs}
    assert kinds == {"note": "string", "ward": "string", "weight": "double", "seen": "datetime"}
    labels = mlflow.pyfunc.load_model(str(tmp_path / "m")).predict(frame)
    assert [tuple(labels.columns[row == 1]) for row in labels.to_numpy()] == model.predict(frame)
    assert ours.load_model(tmp_path / "m").predict(frame) == model.predict(frame)


def test_files_are_checked(frames, tmp_path):
    import pickle

    ours.save_model(MLkNN(3).fit(*frames), tmp_path / "m")
    (tmp_path / "m" / "data" / "model.skops").write_bytes(pickle.dumps({"a": 1}))
    with pytest.raises(ModelFileError, match="is a pickle"):
        ours.load_model(tmp_path / "m")
    with pytest.raises(ModelFileError, match="is a pickle"):
        mlflow.pyfunc.load_model(str(tmp_path / "m"))
    with pytest.raises(ModelFileError, match=r"lacks data/model\.skops"):
        ours.load_model(tmp_path)


def test_the_examples():
    assert doctest.testmod(ours, optionflags=doctest.NORMALIZE_WHITESPACE).failed == 0


def test_the_guide(tracking, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    data = plurilabel.datasets.load("digits", as_frame=True)
    names = {"pipeline": MLkNN(7).fit(data.X[:300], data.Y[:300]), "new": data.X[300:305]}
    guide = GUIDE.read_text("utf-8")
    (code,) = re.findall(r"^```{code-block} python\n(.*?)^```", guide, re.MULTILINE | re.DOTALL)
    exec(compile(code, GUIDE.name, "exec"), names)
    assert names["info"].model_uri.startswith("models:/")
    learner, new = names["pipeline"], names["new"]
    np.testing.assert_array_equal(names["served"].predict(new), learner.predict(new))
    assert names["model"].predict(new) == Model.of(learner).predict(new)


def test_mlflow_is_missing(frames, monkeypatch, tmp_path):
    def gone(name):
        raise ImportError(name)

    monkeypatch.setattr(ours, "import_module", gone)
    with pytest.raises(ImportError, match=r"pip install 'plurilabel\[mlflow\]'"):
        ours.save_model(MLkNN(3).fit(*frames), tmp_path / "m")
