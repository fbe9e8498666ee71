"""Learners with ``n_jobs`` run on Dask through joblib, with the same answers."""

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from plurilabel import (
    AutoClassifier,
    BinaryRelevance,
    EnsembleOfChains,
    MLRandomForest,
    RAkEL,
)

distributed = pytest.importorskip("distributed", reason="the extra 'dask' is not installed")

# joblib's own cache of what it has sent forgets an entry twice if two threads race for it
pytestmark = pytest.mark.filterwarnings(
    "ignore:.*_WeakKeyDictionary.*:pytest.PytestUnraisableExceptionWarning"
)

rng = np.random.default_rng(0)
X = rng.normal(size=(80, 5))
Y = (X[:, :4] + 0.5 * rng.normal(size=(80, 4)) > 0).astype(np.int8)
LEARNERS = [
    BinaryRelevance(LogisticRegression(), n_jobs=2),
    RAkEL(LogisticRegression(), random_state=0, n_jobs=2),
    EnsembleOfChains(LogisticRegression(), n_estimators=3, random_state=0, n_jobs=2),
    MLRandomForest(n_estimators=6, random_state=0, n_jobs=2),
    AutoClassifier(portfolio="quick", cv=2, random_state=0, n_jobs=2),
]


@pytest.fixture(scope="module")
def client():
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=2, processes=False, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda learner: type(learner).__name__)
def test_the_answers_are_the_same(client, learner):
    # in this process: others would take seconds to start
    expected = clone(learner).set_params(n_jobs=None).fit(X, Y).predict_proba(X)
    before = client.cluster.scheduler.transition_counter
    with joblib.parallel_config(backend="dask", wait_for_workers_timeout=10):
        found = learner.fit(X, Y).predict_proba(X)
    assert client.cluster.scheduler.transition_counter > before  # the cluster did it
    np.testing.assert_array_equal(found, expected)
