"""Real workers in processes of their own, some of which are killed."""

import multiprocessing
import os
import signal
import threading
import time

import numpy as np
import pytest
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.linear_model import LogisticRegression

import plurilabel
from plurilabel import (
    BinaryRelevance,
    DaskIndex,
    DaskLazyClassifier,
    ExactIndex,
    MLkNN,
    models,
)
from plurilabel.distributed import spread as distributed_spread

dask = pytest.importorskip("dask", reason="the extra 'dask' is not installed")
da = pytest.importorskip("dask.array", reason="the extra 'dask' is not installed")
distributed = pytest.importorskip("distributed", reason="the extra 'dask' is not installed")
pytestmark = pytest.mark.skipif(
    not os.environ.get("PLURILABEL_LONG_FUZZ"), reason="starts a cluster: only in .ci/run"
)

rng = np.random.default_rng(0)
X = rng.normal(size=(4000, 30))
Y = (rng.random((4000, 5)) < 0.3).astype(np.int8)


@pytest.fixture(scope="module")
def client():
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    # a worker that takes long to come back, on a busy machine, is not given up
    with (
        dask.config.set({"distributed.deploy.lost-worker-timeout": "10 minutes"}),
        distributed.LocalCluster(**options) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def pids(client):
    return [worker["pid"] for worker in client.run(_about, on_error="ignore").values()]


def _about():
    return {"pid": os.getpid()}


def same(found, expected):
    for a, b in zip(found, expected):
        np.testing.assert_array_equal(a, b)


def test_a_worker_that_is_killed_changes_nothing(client):
    expected = ExactIndex().fit(X).kneighbors(None, 10)
    index = DaskIndex(rows=700).fit(da.from_array(X, chunks=(900, -1)))
    victim = pids(client)[0]

    def kill():
        time.sleep(0.3)
        os.kill(victim, signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    same(index.kneighbors(None, 10), expected)
    killer.join()
    assert victim not in pids(client)


def test_a_learner_on_a_cluster(client):
    assert client is distributed.get_client()
    expected = MLkNN(5).fit(X[:3000], Y[:3000]).predict_proba(X[3000:])
    chunks = da.from_array(X[:3000], chunks=(700, -1)), da.from_array(Y[:3000], chunks=(900, -1))
    learner = DaskLazyClassifier(MLkNN(5)).fit(*chunks)
    answer = learner.predict_proba(da.from_array(X[3000:], chunks=(333, -1)))
    np.testing.assert_array_equal(answer.compute(), expected)


def test_the_command_line_on_a_cluster(client, tmp_path):
    pytest.importorskip("skops")
    from plurilabel.cli._main import plurilabel as command
    from plurilabel.models import load_model
    from tests.cli.runner import runner

    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(np.hstack([X, Y]), columns=[f"c{j}" for j in range(35)])
    frame.to_parquet(tmp_path / "rows.parquet", row_group_size=900)
    labels, out = "c30,c31,c32,c33,c34", tmp_path / "model.skops"
    words = ["fit", str(tmp_path / "rows.parquet"), "--labels", labels, "-o", str(out)]
    words += ["--learner", "MLkNN(n_neighbors=5)", "--scheduler", client.scheduler.address]
    result = runner().invoke(command, words)
    assert result.exit_code == 0, result.stderr
    expected = MLkNN(5).fit(X, Y).predict_proba(X[:50] + 0.1)
    found = load_model(out).estimator.predict_proba(X[:50] + 0.1)
    np.testing.assert_array_equal(found, expected)


def test_errors_of_workers_name_the_rows(client):
    assert client is distributed.get_client()
    broken = X.copy()
    broken[3500] = np.inf
    with pytest.raises(ValueError, match="in rows 3000 to 3999 of X: Input X contains infinity"):
        DaskIndex(rows=1000).fit(broken).kneighbors(None, 2)


def test_blocks_that_are_read_again_survive_a_killed_worker(client, tmp_path):
    chunks = []
    for start in range(0, 4000, 400):
        np.save(tmp_path / f"{start}.npy", X[start : start + 400])
        read = dask.delayed(np.load)(tmp_path / f"{start}.npy")
        chunks.append(da.from_delayed(read, (400, 30), dtype=X.dtype))
    index = DaskIndex(rows=200, reload=True).fit(da.concatenate(chunks))
    victim = pids(client)[-1]
    killer = threading.Timer(0.5, os.kill, (victim, signal.SIGKILL))
    killer.start()
    same(index.kneighbors(None, 10), ExactIndex().fit(X).kneighbors(None, 10))
    killer.join()
    assert victim not in pids(client)


def killing(client, seconds, index=0):
    victim = pids(client)[index]
    killer = threading.Timer(seconds, os.kill, (victim, signal.SIGKILL))
    killer.start()
    return victim, killer


@pytest.fixture
def model(tmp_path):
    pytest.importorskip("skops")
    plurilabel.save(MLkNN(5).fit(X, Y), tmp_path / "m.skops")
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(30)])
    frame.to_parquet(tmp_path / "rows.parquet", row_group_size=900)
    return tmp_path / "m.skops"


def test_predictions_survive_a_killed_worker(client, model, tmp_path, monkeypatch):
    monkeypatch.setattr("plurilabel.models._model._ROWS_AT_ONCE", 100)
    rows, out = tmp_path / "rows.parquet", tmp_path / "out.csv"
    models.write_predictions(model, rows, tmp_path / "alone.csv", scores=True, digits=17)
    for given in (model, plurilabel.load(model)):
        victim, killer = killing(client, 0.5)
        models.write_predictions(given, rows, out, scores=True, digits=17, scheduler=client)
        killer.join()
        assert out.read_bytes() == (tmp_path / "alone.csv").read_bytes()
        assert victim not in pids(client)


def test_training_survives_a_killed_worker(client, monkeypatch):
    monkeypatch.setattr("plurilabel.distributed._spread.LARGE", 1000)
    learner = BinaryRelevance(
        GradientBoostingClassifier(n_estimators=20, random_state=0), n_jobs=-1
    )
    expected = BinaryRelevance(GradientBoostingClassifier(n_estimators=20, random_state=0)).fit(
        X, Y
    )
    for index in (0, -1):  # one of them had X first
        victim, killer = killing(client, 1, index)
        with distributed_spread(client):
            found = learner.fit(X, Y)
        killer.join()
        assert victim not in pids(client)
        np.testing.assert_array_equal(found.predict_proba(X), expected.predict_proba(X))


def test_sums_over_blocks_survive_a_killed_worker(client, tmp_path, monkeypatch):
    monkeypatch.setattr("plurilabel.distributed._fit.KEPT", 0.0)  # blocks are read again
    np.save(tmp_path / "X.npy", X)

    def load(start):
        time.sleep(0.02)
        return np.load(tmp_path / "X.npy")[start : start + 400]

    parts = [
        da.from_delayed(dask.delayed(load)(start), (400, 30), dtype=X.dtype)
        for start in range(0, 4000, 400)
    ]
    learner = BinaryRelevance(LogisticRegression(tol=1e-10))
    with dask.config.set(scheduler="threads"):
        expected = plurilabel.distributed.fit(learner, da.concatenate(parts), Y)
    for index in (0, -1):
        victim, killer = killing(client, 1, index)
        found = plurilabel.distributed.fit(learner, da.concatenate(parts), Y)
        killer.join()
        assert victim not in pids(client)
        np.testing.assert_array_equal(found.predict_proba(X), expected.predict_proba(X))


def _dies(*_):
    os.kill(os.getpid(), signal.SIGKILL)


class Hungry(LogisticRegression):
    """Kills its process, as the system does where memory runs out."""

    def fit(self, X, y):
        if multiprocessing.parent_process() is not None:
            _dies()
        return super().fit(X, y)


def test_a_task_that_kills_every_worker_is_told(client):
    start = time.monotonic()
    with (
        distributed_spread(client),
        pytest.raises(ConnectionError, match="was given up, since 4 workers died while"),
    ):
        BinaryRelevance(Hungry(), n_jobs=2).fit(X, Y[:, :2])
    assert time.monotonic() - start < 60


def test_a_slow_worker_and_a_restarted_cluster(tmp_path, model, monkeypatch):
    monkeypatch.setattr("plurilabel.models._model._ROWS_AT_ONCE", 100)
    rows, out = tmp_path / "rows.parquet", tmp_path / "out.csv"
    models.write_predictions(model, rows, tmp_path / "alone.csv")
    options = {"n_workers": 1, "threads_per_worker": 1, "dashboard_address": ":0"}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
        client.run(lambda: os.nice(15))
        restart = threading.Timer(0.5, client.restart)
        restart.start()  # all tasks and data are forgotten
        models.write_predictions(model, rows, out, scheduler=client)
        restart.join()
    assert out.read_bytes() == (tmp_path / "alone.csv").read_bytes()
