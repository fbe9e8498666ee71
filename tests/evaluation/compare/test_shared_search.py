"""Shared neighbor searches: fewer searches, identical answers."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from plurilabel import (
    IBLRML,
    BinaryRelevance,
    BRkNN,
    DMLkNN,
    DWMLkNN,
    ExactIndex,
    MLkNN,
    MLkNNCV,
    MLWkNN,
    ThresholdClassifier,
    datasets,
)
from plurilabel._core.records import digest_of
from plurilabel.evaluation._compare._shared_search import (
    SearchCache,
    SharedIndex,
    most_neighbors,
    share_searches,
)
from plurilabel.metrics import label_scores

DATA = datasets.make_multilabel(80, random_state=0)
X, Y, Q = DATA.X[:60], DATA.Y[:60], DATA.X[60:]


def shared(learners):
    """Copies of learners that search through one cache, and the cache."""
    cache = SearchCache()
    copies = [clone(learner) for learner in learners]
    for one in copies:
        for metric, k in most_neighbors(one).items():
            cache.n_neighbors[metric] = max(cache.n_neighbors.get(metric, 0), k)
        share_searches(one, cache)
    return copies, cache


def same_answers(one, other, X=X, Y=Y, Q=Q):
    one.fit(X, Y), other.fit(X, Y)
    np.testing.assert_array_equal(label_scores(one, Q), label_scores(other, Q))
    np.testing.assert_array_equal(one.predict(Q), other.predict(Q))


# whole numbers: many equal distances
points = arrays(np.float64, (8, 2), elements=st.integers(0, 2).map(float))


@given(points, points, st.lists(st.tuples(st.booleans(), st.integers(1, 7)), max_size=8))
def test_slices_are_what_an_own_search_finds(X, Q, asked):
    cache = SearchCache()
    cache.n_neighbors["euclidean"] = 3
    for training, k in asked:
        index = SharedIndex(cache, "euclidean").fit(X)
        found = index.kneighbors(None if training else Q, n_neighbors=k)
        own = ExactIndex().fit(X).kneighbors(None if training else Q, n_neighbors=k)
        for ours, theirs in zip(found, own):
            assert ours.tobytes() == theirs.tobytes() and ours.dtype == theirs.dtype


LAZY = [
    MLkNN(3),
    BRkNN(12, variant="a"),
    DWMLkNN(5),
    MLWkNN(7),
    DMLkNN(9),
    IBLRML(4),
    MLkNNCV((1, 2, 5)),
    MLkNNCV((1, 15), leave_out="entry"),
    ThresholdClassifier(MLkNN(4), strategy="mcut"),
    BinaryRelevance(MLkNN(6)),
]


def test_one_search_among_the_training_rows_and_one_for_the_test_rows():
    copies, cache = shared(LAZY)
    for own, other in zip(copies, LAZY):
        same_answers(own, clone(other))
    assert cache.searches == 2
    assert cache.n_neighbors == {"euclidean": 15}


def test_metrics_and_rows_are_told_apart():
    learners = [MLkNN(3), MLkNN(3, metric="manhattan"), MLkNN(4, metric="cosine"), MLkNN(5)]
    copies, cache = shared(learners)
    for own, other in zip(copies, learners):
        same_answers(own, clone(other))
    assert cache.searches == 6
    same_answers(copies[0], MLkNN(3), X=X[:-1], Y=Y[:-1])
    assert cache.searches == 8
    same_answers(copies[0], MLkNN(3), X=X + 1)
    assert cache.searches == 10


def test_sparse_rows():
    learners = [MLkNN(3), BRkNN(5)]
    copies, cache = shared(learners)
    X_sparse, Q_sparse = sparse.csr_array(np.abs(X).round()), sparse.csr_array(np.abs(Q).round())
    for own, other in zip(copies, learners):
        same_answers(own, clone(other), X=X_sparse, Q=Q_sparse)
    assert cache.searches == 2


def test_searches_inside_a_grid_search_are_shared():
    grid = GridSearchCV(MLkNN(), {"n_neighbors": [2, 3, 8], "smoothing": [0.5, 1]}, cv=3)
    learners = [make_pipeline(StandardScaler(), grid), make_pipeline(StandardScaler(), MLkNN(5))]
    copies, cache = shared(learners)
    assert cache.n_neighbors == {"euclidean": 10}  # that of the grid's own MLkNN() is the largest
    for own, other in zip(copies, learners):
        same_answers(own, clone(other))
    assert cache.searches == 3 * 2 + 2  # three folds and the refit
    assert copies[0][-1].best_params_ == learners[0].fit(X, Y)[-1].best_params_
    with_cv = ThresholdClassifier(MLkNN(5), cv=2)
    (own,), cache = shared([with_cv])
    same_answers(own, clone(with_cv))


class Tuner(ClassifierMixin, BaseEstimator):
    """Sets the metric of what is inside: nothing says so beforehand."""

    def __init__(self, estimator):
        self.estimator = estimator

    def fit(self, X, y):
        self.estimator_ = clone(self.estimator).set_params(metric="chebyshev").fit(X, y)
        return self

    def predict(self, X):
        return self.estimator_.predict(X)

    def predict_proba(self, X):
        return self.estimator_.predict_proba(X)


class MyKNN(MLkNN):
    pass


@pytest.mark.parametrize(
    "learner",
    [
        GridSearchCV(MLkNN(3), {"metric": ["manhattan", "chebyshev"]}, cv=2),
        GridSearchCV(make_pipeline(MLkNN(3)), [{"mlknn__metric": ["chebyshev"]}], cv=2),
        Tuner(MLkNN(3)),
        MyKNN(3),
        MLkNN(3, index=ExactIndex(metric="chebyshev")),
    ],
)
def test_learners_whose_metric_may_change_search_for_themselves(learner):
    (own,), cache = shared([learner])
    same_answers(own, clone(learner))
    assert cache.searches == 0 and cache.n_neighbors == {}


def test_precomputed_distances_are_left_alone():
    D = np.abs(X[:, :1] - X[:, 0])
    (own,), cache = shared([MLkNN(3, metric="precomputed")])
    same_answers(own, MLkNN(3, metric="precomputed"), X=D, Q=D)
    assert cache.searches == 0


def test_errors_are_those_of_the_index():
    (own,), _ = shared([MLkNN(60)])
    with pytest.raises(ValueError, match="n_neighbors must be smaller than the 60 training"):
        own.fit(X, Y)
    index = SharedIndex(SearchCache(), "euclidean").fit(X)
    with pytest.raises(ValueError, match="n_neighbors must be at most the 60 training"):
        index.kneighbors(Q, n_neighbors=61)
    with pytest.raises(ValueError, match="has 1 features"):
        index.kneighbors(Q[:, :1], n_neighbors=1)


def test_parameters_of_the_given_learner_stay():
    learner = make_pipeline(StandardScaler(), MLkNN(3))
    (own,), _ = shared([learner])
    assert learner[-1].index is None and isinstance(own[-1].index, SharedIndex)


def test_clones_share_and_pickles_start_empty():
    cache = SearchCache()
    index = SharedIndex(cache, "euclidean", n_jobs=1).fit(X)
    index.kneighbors(Q, n_neighbors=2)
    for copied in (clone(index), copy.deepcopy(index)):
        assert copied.cache is cache and not hasattr(copied, "index_")
        copied.fit(X).kneighbors(Q, n_neighbors=2)
    assert cache.searches == 1
    cache.n_neighbors["euclidean"] = 4
    far = pickle.loads(pickle.dumps(cache))
    assert far.n_neighbors == {"euclidean": 4} and far.searches == 0 and not far._kept


def test_who_pays(monkeypatch):
    clock = iter(range(1000))
    monkeypatch.setattr(
        "plurilabel.evaluation._compare._shared_search.perf_counter", lambda: float(next(clock))
    )
    (first, second), cache = shared([MLkNN(3), MLkNN(5)])
    cache.begin()
    first.fit(X, Y).predict(Q)
    first.predict_proba(Q)
    assert cache.unpaid_seconds() == 0
    cache.begin()
    second.fit(X, Y)
    assert cache.unpaid_seconds() == 2  # the index and the training rows, a tick each
    second.predict(Q)
    second.predict(Q)
    assert cache.unpaid_seconds() == 3


def test_answers_are_copies():
    index = SharedIndex(SearchCache(), "euclidean").fit(X)
    distances, neighbors = index.kneighbors(Q, n_neighbors=3)
    distances[:], neighbors[:] = -1, -1
    again = index.kneighbors(Q, n_neighbors=3)
    assert (again[0] >= 0).all() and (again[1] >= 0).all()


def test_what_is_kept_is_bounded():
    cache = SearchCache(most_bytes=X.nbytes + 2 * 16 * 60 * 3)
    index = SharedIndex(cache, "euclidean").fit(X)
    for shift in range(5):
        index.kneighbors(X + shift, n_neighbors=3)
        assert sum(size for _, _, size in cache._kept.values()) <= cache.most_bytes
    index.kneighbors(X + 4, n_neighbors=3)
    assert cache.searches == 5
    index.kneighbors(X, n_neighbors=3)
    assert cache.searches == 6  # this one had to go


def test_digests_tell_content():
    frame = pytest.importorskip("pandas").DataFrame
    same = [X, X.copy(order="F"), np.array(X.tolist())]
    assert len({digest_of(one) for one in same}) == 1
    other = [X, X.T, X[:-1], X.astype(np.float32), sparse.csr_array(X), frame(X), frame(X.T),
             frame(X).add_prefix("x"), np.array([["a"]], dtype=object), "a", ["a"]]  # fmt: skip
    assert len({digest_of(one) for one in other}) == len(other)
    assert digest_of(sparse.csr_matrix(X)) == digest_of(sparse.csr_array(X))
    assert digest_of(frame(X)) == digest_of(frame(X.copy()))
