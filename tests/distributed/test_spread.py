"""Learners with ``n_jobs`` on a cluster: the same learners, whose finished parts are kept."""

import os
import subprocess
import sys
from operator import attrgetter

import joblib
import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from plurilabel import (
    AutoClassifier,
    BinaryRelevance,
    CalibratedClassifier,
    CalibratedLabelRanking,
    EnsembleOfChains,
    MLRandomForest,
    OneVsAllLinear,
    RAkEL,
)
from plurilabel.distributed import _spread, spread
from plurilabel.metrics import label_scores

distributed = pytest.importorskip("distributed", reason="the extra 'dask' is not installed")

# scikit-learn sets warning filters for each call, and threads see those of each other
pytestmark = pytest.mark.filterwarnings("ignore:.*sklearn.utils.parallel.delayed.*:UserWarning")

rng = np.random.default_rng(0)
X = rng.normal(size=(80, 5))
Y = (X[:, :4] + 0.5 * rng.normal(size=(80, 4)) > 0).astype(np.int8)
LEARNERS = [
    BinaryRelevance(LogisticRegression()),
    OneVsAllLinear(loss="logistic"),
    RAkEL(LogisticRegression(), random_state=0),
    EnsembleOfChains(LogisticRegression(), n_estimators=3, random_state=0),
    CalibratedLabelRanking(LogisticRegression()),
    CalibratedClassifier(BinaryRelevance(LogisticRegression()), cv=3),
    MLRandomForest(n_estimators=6, random_state=0),
    AutoClassifier(portfolio="quick", cv=2, random_state=0),
]


@pytest.fixture(scope="module")
def client():
    options = {"n_workers": 1, "threads_per_worker": 2, "processes": False}
    with (
        distributed.LocalCluster(dashboard_address=":0", **options) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda learner: type(learner).__name__)
def test_the_learners_are_the_same(client, learner, monkeypatch):
    monkeypatch.setattr(_spread, "LARGE", 500)  # so that X is shared
    expected = label_scores(clone(learner).fit(X, Y), X)
    before = client.cluster.scheduler.transition_counter
    with spread(client):
        found = label_scores(clone(learner).fit(X, Y), X)
    np.testing.assert_array_equal(found, expected)
    if not isinstance(learner, MLRandomForest):  # its trees share memory
        assert client.cluster.scheduler.transition_counter > before


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_large_arrays_are_sent_once(client, monkeypatch, form):
    monkeypatch.setattr(_spread, "LARGE", 1000)
    sent, scatter = [], type(client).scatter

    def told(self, data, **how):
        sent.append(data)
        return scatter(self, data, **how)

    monkeypatch.setattr(type(client), "scatter", told)
    with spread(client):
        BinaryRelevance(LogisticRegression(), n_jobs=2).fit(form(X), Y)
    assert len({data.nbytes for data in sent if data.nbytes >= 1000}) == len(sent) <= 2


def test_arrays_are_aligned_on_workers(monkeypatch):
    monkeypatch.setattr(_spread, "LARGE", 1000)
    unaligned = np.empty(X.nbytes + 8, dtype=np.uint8)[4 : 4 + X.nbytes].view(np.float64)
    names = {}
    call = _spread.Spread()._dumped((attrgetter("flags.aligned"), (X,), {}), names)
    (name,) = names
    assert not unaligned.flags.aligned
    assert _spread._loaded_and_called([call], {name: unaligned}) == [True]


class Counted(LogisticRegression):
    """Counts fits, and fails where it is told to."""

    seen: list = []
    broken = False

    def fit(self, X, y):
        if Counted.broken and len(Counted.seen) == 2:
            raise RuntimeError("stopped")
        Counted.seen.append(int(y.sum()))
        return super().fit(X, y)


@pytest.mark.parametrize("on", ["threads", "cluster"])
def test_a_stopped_run_goes_on(client, tmp_path, on):
    scheduler = client if on == "cluster" else on
    learner = BinaryRelevance(Counted(), n_jobs=2)
    Counted.seen, Counted.broken = [], True
    with spread(scheduler, store=tmp_path), pytest.raises(RuntimeError, match="stopped"):
        clone(learner).fit(X, Y)
    assert len(list(tmp_path.rglob("*.pickle"))) <= 2
    kept, Counted.seen, Counted.broken = list(Counted.seen), [], False
    with spread(scheduler, store=tmp_path):
        found = clone(learner).fit(X, Y)
    stored = 4 - len(Counted.seen)
    assert stored >= 1 and len(kept) == 2
    expected = BinaryRelevance(LogisticRegression()).fit(X, Y).predict_proba(X)
    np.testing.assert_array_equal(found.predict_proba(X), expected)
    Counted.seen = []
    with spread(scheduler, store=tmp_path):
        clone(learner).fit(X, Y)
        assert not Counted.seen
        learner.set_params(estimator__C=2.0).fit(X, Y)
        assert len(Counted.seen) == 4
    # a file that was cut off or changed is made again
    for number, path in enumerate(sorted(tmp_path.rglob("*.pickle"))):
        content = path.read_bytes()
        changed = content[:-40] + bytes([content[-40] ^ 1]) + content[-39:]
        path.write_bytes(changed if number % 2 else content[:-9])
    with spread(scheduler, store=tmp_path):
        learner.fit(X, Y)
    assert len(Counted.seen) == 8


def test_arrays_that_are_changed_in_place(tmp_path, monkeypatch):
    monkeypatch.setattr("plurilabel.distributed._spread.LARGE", 1000)
    own, learner = X.copy(), BinaryRelevance(LogisticRegression(), n_jobs=2)
    with spread("threads", store=tmp_path):
        learner.fit(own, Y)
        own *= -3
        learner.fit(own, Y)
    expected = BinaryRelevance(LogisticRegression()).fit(own, Y).predict_proba(own)
    np.testing.assert_array_equal(learner.predict_proba(own), expected)


CODE = """
from plurilabel import BinaryRelevance, OneVsAllLinear, RAkEL
from plurilabel.distributed import spread
from sklearn.linear_model import LogisticRegression as Base
import numpy as np
X = np.random.default_rng(0).normal(size=(80, 5))
Y = (X[:, :4] > 0).astype(int)
with spread(store=folder):
    BinaryRelevance(Base()).fit(X, Y)
    OneVsAllLinear().fit(X, Y)
    RAkEL(Base(), random_state=0).fit(X, Y)
"""


@pytest.mark.skipif(
    not os.environ.get("PLURILABEL_LONG_FUZZ"), reason="starts a process: only in .ci/run"
)
def test_the_store_is_the_same_for_another_process(tmp_path):
    exec(CODE, {"folder": tmp_path})
    before = {path.name for path in tmp_path.rglob("*.pickle")}
    code = f"folder = {str(tmp_path)!r}\n{CODE}"
    subprocess.run([sys.executable, "-c", code], check=True)
    assert before and {path.name for path in tmp_path.rglob("*.pickle")} == before


def test_joblib_is_as_before():
    with spread("threads"):
        assert joblib.effective_n_jobs(-1) > 1
    assert joblib.effective_n_jobs(None) == 1
