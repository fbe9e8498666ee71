"""Any fitted model on Dask: the answers of one machine, bit for bit."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression

import plurilabel
from plurilabel import BinaryRelevance, MLDecisionTree, MLkNN, distributed, models
from plurilabel.models import Model

da = pytest.importorskip("dask.array", reason="the extra 'dask' is not installed")
pytest.importorskip("skops", reason="model files need skops")

# scikit-learn sets warning filters for each call, and threads see those of each other
pytestmark = pytest.mark.filterwarnings("ignore:.*sklearn.utils.parallel.delayed.*:UserWarning")

ROWS = "plurilabel.models._model._ROWS_AT_ONCE"
rng = np.random.default_rng(0)
X = rng.normal(size=(101, 4))
Y = (X[:, :3] + 0.3 * rng.normal(size=(101, 3)) > 0.5).astype(np.int8)
NAMES = ["one", "two", "three"]


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(ROWS, 17)


@pytest.mark.parametrize("learner", [BinaryRelevance(LogisticRegression()), MLkNN(3)])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_arrays(learner, form):
    model = Model.of(learner.fit(X, form(Y)), label_names=NAMES)
    asked = da.from_array(X + 0.1, chunks=(30, 2))
    proba = model.predict_proba(X + 0.1).to_numpy()
    np.testing.assert_array_equal(distributed.predict_proba(model, asked).compute(), proba)
    found = distributed.predict(learner, asked)
    assert found.chunks[0] == (17,) * 5 + (16,) and sparse.issparse(found._meta) == (
        form is sparse.csr_array
    )
    sets = model.predict(X + 0.1)
    found = sparse.csr_array(found.compute()).toarray()
    assert [tuple(np.array(NAMES)[row == 1]) for row in found] == sets
    top = distributed.predict_top(model, asked, k=2).compute().toarray()
    order = np.argsort(-proba, axis=1, kind="stable")
    np.testing.assert_array_equal(
        np.take_along_axis(top, order[:, :2], 1), np.take_along_axis(proba, order[:, :2], 1)
    )
    assert (np.take_along_axis(top, order[:, 2:], 1) == 0).all()


def test_measures_and_explanations():
    model = Model.of(BinaryRelevance(LogisticRegression()).fit(X, Y))
    asked, truth = da.from_array(X, chunks=(40, -1)), da.from_array(Y, chunks=(25, -1))
    scores, labels = (f(model, asked) for f in (distributed.predict_proba, distributed.predict))
    found = distributed.evaluate(truth, scores, labels)
    expected = plurilabel.metrics.evaluate(Y, model.scores(X), model.estimator.predict(X))
    assert found["micro_f1"] == expected["micro_f1"]
    assert found["ranking_loss"] == pytest.approx(expected["ranking_loss"], abs=1e-12)
    why = distributed.explain(model, asked).compute(scheduler="sync")
    assert len(why) == len(X)
    np.testing.assert_array_equal(why[60].scores, model.explain(X[60:61])[0].scores)


@pytest.fixture
def texts(tmp_path):
    notes, tags = ["red hat", "blue coat", "red coat", "unheard of"], ["r", "b;c", "r;c", ""]
    frame = pd.DataFrame({"note": notes * 20, "tags": tags * 20})
    model = models.train(
        frame[:60], "tags", text="note", holdout=0, learner=BinaryRelevance(LogisticRegression())
    )
    plurilabel.save(model, tmp_path / "m.skops")
    frame.loc[5, "note"] = "zzz"
    return frame, tmp_path / "m.skops"


def test_frames_and_files(texts, tmp_path):
    dd = pytest.importorskip("dask.dataframe")
    frame, path = texts
    model = plurilabel.load(path)
    with pytest.warns(UserWarning, match="no known word"):
        expected = model.predict_proba(frame).to_numpy()
    assert np.isnan(expected[5]).all()
    frame.to_parquet(tmp_path / "new.parquet", row_group_size=30)
    for given in (model, path):
        found = distributed.predict_proba(given, tmp_path / "new.parquet").compute()
        np.testing.assert_array_equal(found, expected)
    with pytest.warns(UserWarning, match="X was read once to count its rows"):
        found = distributed.predict(path, dd.from_pandas(frame, npartitions=3))
    assert found.compute()[5].sum() == 0 and found.shape == (80, 3)


def test_zarr(tmp_path):
    zarr = pytest.importorskip("zarr", reason="the extra 'dask' is not installed")
    tree = MLDecisionTree().fit(X, Y)
    distributed.predict_proba(tree, da.from_array(X, chunks=(50, -1))).to_zarr(
        tmp_path / "answers.zarr"
    )
    found = zarr.open(tmp_path / "answers.zarr", mode="r")
    np.testing.assert_array_equal(found[:], tree.predict_proba(X))


def test_errors():
    tree = MLDecisionTree().fit(X, Y)
    with pytest.raises(TypeError, match="X must be a Dask array or data frame, or files, got nda"):
        distributed.predict(tree, X)
    with pytest.raises(ValueError, match="X has no rows"):
        distributed.predict(tree, da.from_array(X[:0]))
    with pytest.raises(ValueError, match="expected 4 features, as in training, got shape"):
        distributed.predict(tree, da.from_array(X[:, :3])).compute()
    with pytest.raises(FileNotFoundError):
        distributed.predict("none.skops", da.from_array(X))
    with pytest.raises(ValueError, match="must be CSV or Parquet files"):
        distributed.predict(tree, "rows.arff")


@pytest.fixture(scope="module")
def client():
    cluster = pytest.importorskip("distributed", reason="the extra 'dask' is not installed")
    options = {"n_workers": 1, "threads_per_worker": 2, "processes": False}
    with (
        cluster.LocalCluster(dashboard_address=":0", **options) as local,
        cluster.Client(local) as client,
    ):
        yield client


def test_files_on_a_cluster(client, texts, tmp_path):
    frame, path = texts
    frame.to_csv(tmp_path / "new.csv", index=False)
    expected = models.write_predictions(path, tmp_path / "new.csv", tmp_path / "alone.csv")
    address = client.scheduler.address
    for model, scheduler in ((path, address), (plurilabel.load(path), client)):
        found = models.write_predictions(
            model, tmp_path / "new.csv", tmp_path / "out.csv", scheduler=scheduler
        )
        assert found == expected
        assert (tmp_path / "out.csv").read_bytes() == (tmp_path / "alone.csv").read_bytes()
    measures, _ = models.evaluate_files(path, tmp_path / "new.csv", scheduler=address)
    alone, _ = models.evaluate_files(path, tmp_path / "new.csv")
    assert dict(measures) == dict(alone)


def test_a_cluster_without_workers_is_told(monkeypatch, texts, tmp_path):
    cluster = pytest.importorskip("distributed", reason="the extra 'dask' is not installed")
    monkeypatch.setattr("plurilabel.distributed._cluster.LONELY", 1)
    frame, path = texts
    frame.to_csv(tmp_path / "new.csv", index=False)
    with (
        cluster.LocalCluster(n_workers=0, processes=False, dashboard_address=":0") as local,
        pytest.raises(ConnectionError, match="there were no workers for 1 seconds"),
    ):
        models.write_predictions(
            path, tmp_path / "new.csv", tmp_path / "out.csv", scheduler=local.scheduler_address
        )
