"""What the lazy learners share: growth, sparse answers, and a check of every index."""

import copy
import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.neighbors import NearestNeighbors

from plurilabel import BRkNN, ExactIndex, LazyClassifier, MLkNN, MLkNNCV
from plurilabel._core.blocks import dense
from plurilabel.learners import make_learner
from plurilabel.learners.lazy import ROSTER
from tests.learners.lazy.problems import made

FORMS = [text for entry in ROSTER.values() for text in entry.checked]


@pytest.mark.parametrize("text", FORMS)
@pytest.mark.parametrize("common", [False, True])
def test_sparse_scores_classifier_equal_dense_ones(text, common):
    X, Y, rng = made(90, 3, 12)
    Y[:, 3] = 0
    if common:  # labels that are predicted although no neighbour has them, and always
        Y[:, 5], Y[:, 8] = rng.random(90) < 0.95, 1
    dense = make_learner(text).fit(X[:60], Y[:60])
    csr = make_learner(text).fit(X[:60], sparse.csr_array(Y[:60]))
    assert_allclose(csr.predict_proba(X[60:]), dense.predict_proba(X[60:]), rtol=1e-12)
    assert_array_equal(csr.predict(X[60:]).toarray(), dense.predict(X[60:]))
    top = dense.predict_top(X[60:], 4)
    assert_array_equal(csr.predict_top(X[60:], 4).indices, top.indices)
    assert_allclose(csr.predict_top(X[60:], 4).data, top.data, rtol=1e-12)


# growth and shrinkage ------------------------------------------------------------------------

STEPS = ("add 1", "add 17", "drop", "add 30", "drop", "add 12")


def grown(learner, X, Y, form, start):
    """Yields the rows that a learner holds, after each of a sequence of steps."""
    rng = np.random.default_rng(3)
    rows = np.arange(20)
    getattr(learner, start)(X[rows], form(Y[rows]))
    for step in STEPS:
        if step == "drop":
            gone = rng.choice(len(rows), size=5, replace=False)
            rows = np.delete(rows, gone)
            learner.forget(gone)
        else:
            new = rng.integers(0, 80, size=int(step.split()[1]))
            rows = np.concatenate([rows, new])
            learner.partial_fit(X[new], form(Y[new]))
        yield rows


def ties():
    """Training data and queries with duplicates and equal distances."""
    rng = np.random.default_rng(3)
    X = rng.integers(0, 4, size=(80, 3)).astype(float)
    Y = (rng.random((80, 5)) < 0.3).astype(int)
    return X, Y, rng.integers(0, 5, size=(20, 3)).astype(float)


def same(learner, fresh, queries):
    assert_array_equal(learner.predict_proba(queries), fresh.predict_proba(queries))
    assert hasattr(learner, "graph_") == hasattr(fresh, "graph_")
    for mine, wanted in zip(getattr(learner, "graph_", ()), getattr(fresh, "graph_", ())):
        assert_array_equal(mine, wanted)


@pytest.mark.parametrize("text", FORMS)
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("start", ["fit", "partial_fit"])
def test_any_sequence_equals_a_fresh_fit(text, form, start):
    X, Y, queries = ties()
    learner = make_learner(text)
    for rows in grown(learner, X, Y, form, start):
        same(learner, make_learner(text).fit(X[rows], form(Y[rows])), queries)


@pytest.mark.parametrize("X_form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("metric", ["euclidean", "cosine", "manhattan"])
def test_the_default_index_grows_and_shrinks(metric, X_form, monkeypatch):
    X, Y, queries = ties()
    learner = MLkNN(5, metric=metric).fit(X_form(X[:20]), Y[:20])
    sizes, fit = [], ExactIndex.fit
    monkeypatch.setattr(
        ExactIndex, "fit", lambda self, X, y=None: sizes.append(X.shape[0]) or fit(self, X, y)
    )
    learner.partial_fit(X_form(X[20:50]), Y[20:50]).forget([3, 30])
    assert sizes == [30]  # the new points, among which the old ones are searched
    assert learner.X_ is learner.index_.points_  # one copy for both
    rows = np.delete(np.arange(50), [3, 30])
    same(learner, MLkNN(5, metric=metric).fit(X_form(X[rows]), Y[rows]), queries)


def test_another_index_is_fitted_again():
    X, Y, _ = made(60, 3, 4)
    learner = MLkNN(5, index=NearestNeighbors(algorithm="kd_tree")).fit(X[:40], Y[:40])
    index = learner.index_
    learner.partial_fit(X[40:], Y[40:]).forget([3, 30])
    assert learner.index_ is not index
    rows = np.delete(np.arange(60), [3, 30])
    same(learner, MLkNN(5, index=NearestNeighbors(algorithm="kd_tree")).fit(X[rows], Y[rows]), X)


@pytest.mark.parametrize("restored", [copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
def test_a_copy_grows_as_the_original_does(restored):
    X, Y, queries = ties()
    original = MLkNN(5).fit(X[:40], Y[:40])
    other = restored(original)
    same(other.partial_fit(X[40:], Y[40:]), MLkNN(5).fit(X, Y), queries)
    same(original, MLkNN(5).fit(X[:40], Y[:40]), queries)


def test_partial_fit_with_classes_and_bad_labels():
    X, _, rng = made(30, 2, 2)
    y = np.array(["a", "b"])[rng.integers(0, 2, 30)]
    learner = MLkNN(3).partial_fit(X, y, classes=["a", "b", "c"])
    assert learner.classes_.tolist() == ["a", "b", "c"]
    learner.partial_fit(X[:1], ["c"])
    with pytest.raises(ValueError, match="the class 'd', which is not among"):
        learner.partial_fit(X[:1], ["d"])
    learner = MLkNN(3).fit(X, np.ones((30, 4), dtype=int))
    with pytest.raises(ValueError, match="y must have the 4 labels of fit, got 3"):
        learner.partial_fit(X[:1], [[1, 0, 1]])
    with pytest.raises(ValueError, match="indices must be row numbers from 0 to 29, got \\[30\\]"):
        learner.forget([30])
    with pytest.raises(ValueError, match="smaller than the 2 training instances, got 3"):
        learner.forget(range(28))


def test_partial_fit_keeps_the_label_names():
    pd = pytest.importorskip("pandas")
    X, Y, _ = made(30, 2, 2)
    frame = pd.DataFrame(Y, columns=["sea", "sun"])
    learner = MLkNN(3).fit(X, frame)
    learner.partial_fit(X[:2], frame[:2])
    with pytest.raises(ValueError, match="label names of fit, \\['sea', 'sun'\\], got"):
        learner.partial_fit(X[:2], frame[["sun", "sea"]][:2])


@pytest.mark.parametrize(
    "parameters", [{"metric": "precomputed"}, {"index": ExactIndex("precomputed")}]
)
def test_distances_alone_cannot_grow(parameters):
    X, Y, _ = made(40, 3, 4)
    D = np.linalg.norm(X[:, None] - X, axis=2)
    learner = MLkNN(5, **parameters).fit(D, Y)
    with pytest.raises(ValueError, match="partial_fit needs features, but metric is 'precomp"):
        learner.partial_fit(D[:1], Y[:1])
    with pytest.raises(ValueError, match="forget needs features, but metric is 'precomputed'"):
        learner.forget([0])


@pytest.mark.parametrize("text", FORMS)
def test_too_few_instances(text):
    X, Y, _ = made(5, 2, 2)
    learner = make_learner(text)
    most = range(1, 5) if "CV" in text else 4
    with pytest.raises(ValueError, match="smaller than the 4 training instances.*, got 4"):
        learner.set_params(n_neighbors=most).fit(X[:4], Y[:4])
    with pytest.raises(ValueError, match="at least two training instances"):
        learner.fit(X[:1], Y[:1])


# every index is checked ----------------------------------------------------------------------


def test_any_index_can_be_passed():
    X, Y, _ = made(60, 3, 4)
    mine = MLkNN(5, index=NearestNeighbors(algorithm="kd_tree")).fit(X, Y)
    assert_array_equal(mine.predict_proba(X), MLkNN(5).fit(X, Y).predict_proba(X))


def test_what_is_no_index_is_named():
    X, Y, _ = made(20, 3, 4)
    with pytest.raises(ValueError, match="'index' parameter of MLkNN must be"):
        MLkNN(5, index="faiss").fit(X, Y)


class Wrong(BaseEstimator):
    """An index that spoils what ExactIndex answers, of training points, of queries or of both."""

    def __init__(self, spoil=None, when="both"):
        self.spoil = spoil
        self.when = when

    def fit(self, X, y=None):
        self.index_ = ExactIndex().fit(X)
        return self

    def kneighbors(self, X=None, n_neighbors=None):
        answer = self.index_.kneighbors(X, n_neighbors)
        asked = "training" if X is None else "queries"
        return SPOILED[self.spoil](*answer) if self.when in (asked, "both") else answer


def first_neighbour(index):
    """Puts another index in the first place of row 7."""

    def spoil(distances, indices):
        indices = indices.copy()
        indices[7, 0] = index
        return distances, indices

    return spoil


SPOILED = {
    "self": first_neighbour(7),
    "-1": first_neighbour(-1),
    "-2": first_neighbour(-2),
    "beyond": first_neighbour(40),
    "twice": lambda d, i: (d, i[:, [0, 0, *range(2, i.shape[1])]]),
    "too few": lambda d, i: (d[:, :-1], i[:, :-1]),
    "too many": lambda d, i: (np.hstack([d, d[:, -1:]]), np.hstack([i, i[:, -1:]])),
    "rows": lambda d, i: (d[:-1], i[:-1]),
    "flat": lambda d, i: (d.ravel(), i.ravel()),
    "float": lambda d, i: (d, i.astype(float)),
    "nan": lambda d, i: (np.where(d == d[7, 1], np.nan, d), i),
    "unsorted": lambda d, i: (d[:, ::-1], i[:, ::-1]),
    "indices only": lambda *answer: answer[1],
    "None": lambda *_: None,
}
ERRORS = {
    "self": (ValueError, "returned a training point as its own neighbour, first in row 7"),
    "-1": (ValueError, r"found fewer than 5 neighbours \(index -1\), first in row 7"),
    "-2": (ValueError, "returned a negative index, first in row 7"),
    "beyond": (ValueError, "returned an index that is not below 40, first in row 7"),
    "twice": (ValueError, "returned a training point twice, first in row 0"),
    "too few": (ValueError, r"two arrays of shape \(40, 5\), got \(40, 4\) and \(40, 4\)"),
    "too many": (ValueError, r"two arrays of shape \(40, 5\), got \(40, 6\) and \(40, 6\)"),
    "rows": (ValueError, r"two arrays of shape \(40, 5\), got \(39, 5\) and \(39, 5\)"),
    "flat": (ValueError, r"two arrays of shape \(40, 5\), got \(200,\) and \(200,\)"),
    "float": (TypeError, "must return integers as indices, got float64"),
    "nan": (ValueError, "returned NaN as a distance, first in row 7"),
    "unsorted": (ValueError, "returned distances that do not ascend, first in row 0"),
    "indices only": (TypeError, r"must return \(distances, indices\), got ndarray"),
    "None": (TypeError, r"must return \(distances, indices\), got NoneType"),
}


@pytest.mark.parametrize("spoil", SPOILED)
def test_a_wrong_answer_about_training_points_is_refused(spoil):
    X, Y, _ = made(40, 3, 4)
    error, message = ERRORS[spoil]
    with pytest.raises(error, match="kneighbors of Wrong.*" + message):
        MLkNN(5, index=Wrong(spoil, "training")).fit(X, Y)


@pytest.mark.parametrize("spoil", sorted(SPOILED.keys() - {"self"}))
def test_a_wrong_answer_about_queries_is_refused(spoil):
    X, Y, _ = made(40, 3, 4)
    error, message = ERRORS[spoil]
    learner = MLkNN(5, index=Wrong(spoil, "queries")).fit(X, Y)
    for answer in (learner.predict, learner.predict_proba, learner.predict_top, learner.explain):
        with pytest.raises(error, match="kneighbors of Wrong.*" + message):
            answer(X)


def test_a_query_may_have_any_training_point_for_neighbour():
    X, Y, _ = made(40, 3, 4)
    learner = MLkNN(5, index=Wrong("self", "queries")).fit(X, Y)
    assert learner.predict(X).shape == (40, 4)


@pytest.mark.parametrize("text", FORMS)
def test_every_learner_refuses_a_wrong_index(text):
    X, Y, _ = made(40, 3, 4)
    learner = make_learner(text).set_params(index=Wrong("-1"))
    with pytest.raises(ValueError, match="kneighbors of Wrong found fewer than"):
        learner.fit(X, Y).predict(X)


def test_a_wrong_answer_during_growth_leaves_the_learner_as_it_was():
    X, Y, queries = ties()
    learner = MLkNN(5, index=Wrong("unsorted", "queries")).fit(X[:40], Y[:40])
    with pytest.raises(ValueError, match="do not ascend"):
        learner.partial_fit(X[40:], Y[40:])
    learner.index_.when = "never"
    same(learner, MLkNN(5).fit(X[:40], Y[:40]), queries)


@pytest.mark.parametrize("change", ["partial_fit", "forget"])
def test_growth_or_shrinkage_that_fails_leaves_the_learner_as_it_was(change, monkeypatch):
    X, Y, queries = ties()
    learner = MLkNN(5).fit(X[:40], Y[:40])

    def fail(*_, **__):
        raise MemoryError

    with monkeypatch.context() as patch:
        for step in ("_learn", "_relearn"):
            patch.setattr(MLkNN, step, fail)
        with pytest.raises(MemoryError):
            learner.forget([3, 30]) if change == "forget" else learner.partial_fit(X[40:], Y[40:])
    same(learner, MLkNN(5).fit(X[:40], Y[:40]), queries)
    same(learner.partial_fit(X[40:], Y[40:]), MLkNN(5).fit(X, Y), queries)


# learners written by users -------------------------------------------------------------------


class Votes(LazyClassifier):
    """The share of neighbours that have the label, and how that was on the training set."""

    def __init__(self, n_neighbors=3, *, metric="euclidean", index=None, n_jobs=None):
        self.n_neighbors = n_neighbors
        self.metric = metric
        self.index = index
        self.n_jobs = n_jobs

    def _from_neighbors(self, X, distances, neighbors):
        return self.Y_[neighbors].mean(axis=1)


class LearnedVotes(Votes):
    def _learn(self, distances, neighbors):
        self.mean_ = self.Y_[neighbors].mean()


def test_a_learner_needs_one_hook():
    X, Y, queries = ties()
    learner = Votes(4).fit(X, Y)
    assert_array_equal(learner.predict(queries), BRkNN(4).fit(X, Y).predict(queries))
    assert not hasattr(learner, "graph_")


def test_the_second_hook_sees_the_training_graph():
    X, Y, queries = ties()
    learner = LearnedVotes(4).fit(X[:60], Y[:60]).partial_fit(X[60:], Y[60:]).forget([0])
    fresh = LearnedVotes(4).fit(X[1:], Y[1:])
    same(learner, fresh, queries)
    assert learner.mean_ == fresh.mean_


OTHER = {
    "n_neighbors": {"smaller": 3, "larger": 200},
    "smoothing": 3.0,
    "metric": "cosine",
    "n_jobs": 2,
    "device": "cuda",
    "variant": "a",
    "width": 0,
    "C": 0.01,
    "max_iter": 1,
    "own_features": True,
    "blend": 0.9,
    "reading": "figure",
    "scoring": "f1",
    "leave_out": "entry",
    "fuzziness": 1.5,
    "power": 0.5,
    "tol": 0.5,
    "index": NearestNeighbors(),
}
"""For each parameter another value than those of the roster."""


@pytest.mark.parametrize("size", ["smaller", "larger"])
@pytest.mark.parametrize("text", [*FORMS, "BRkNN(n_neighbors=5, variant='b')"])
def test_parameters_set_after_fit_wait_for_the_next_fit(text, size):
    X, Y, queries = ties()
    learner, fresh = (make_learner(text).fit(X[:40], Y[:40]) for _ in range(2))
    several = isinstance(learner, MLkNNCV)
    for name in learner.get_params(deep=False):
        value = OTHER[name][size] if name == "n_neighbors" else OTHER[name]
        if name == "own_features":
            value = not learner.own_features
        listed = several and name in ("n_neighbors", "smoothing")
        learner.set_params(**{name: [value] if listed else value})

    def same_answers():
        same(learner, fresh, queries)
        assert_array_equal(learner.predict(queries), fresh.predict(queries))
        assert_array_equal(
            learner.predict_top(queries, 2).indices, fresh.predict_top(queries, 2).indices
        )

    same_answers()
    for one in (learner, fresh):
        one.partial_fit(X[40:], Y[40:])
    same_answers()
    for one in (learner, fresh):
        one.forget([1, 7])
    same_answers()


@pytest.mark.parametrize("Y_form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("X_form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("index", [None, NearestNeighbors()])
@pytest.mark.parametrize("text", FORMS)
def test_changing_what_was_given_changes_no_prediction(text, index, X_form, Y_form):
    X, Y, queries = ties()
    given, labels = X_form(X.copy()), Y_form(Y.astype(np.int8))
    learner = make_learner(text).set_params(index=index).fit(given, labels)
    before = learner.predict_proba(queries)
    for one in (given, labels):
        values = one.data if sparse.issparse(one) else one
        values[...] = values[::-1].copy()
    assert_array_equal(learner.predict_proba(queries), before)
    assert_array_equal(dense(learner.X_), X)
    assert_array_equal(dense(learner.Y_), Y)


@pytest.mark.parametrize("text", [form for form in FORMS if form.startswith("ML")])
def test_counts_survive_growth_that_fails(text, monkeypatch):
    X, Y, queries = ties()
    learner = make_learner(text).fit(X[:40], Y[:40])
    before, counts = learner.predict_proba(queries), learner.counts_.copy()

    def fails(self, s):
        raise MemoryError("at the last step")

    monkeypatch.setattr(MLkNN, "_estimate", fails)
    with pytest.raises(MemoryError, match="at the last step"):
        learner.partial_fit(X[40:], Y[40:])
    monkeypatch.undo()
    assert_array_equal(learner.counts_, counts)
    assert_array_equal(learner.predict_proba(queries), before)
    same(learner.partial_fit(X[40:], Y[40:]), make_learner(text).fit(X, Y), queries)


@pytest.mark.parametrize("text", FORMS)
def test_sparse_labels_that_nobody_has(text):
    X, Y, queries = ties()
    none = np.zeros_like(Y)
    expected = make_learner(text).fit(X, none).predict_proba(queries)
    found = make_learner(text).fit(X, sparse.csr_array(none)).predict_proba(queries)
    assert_array_equal(found, expected)


class FixedMLkNN(MLkNN):
    """As other packages subclass: an ``__init__`` that takes some of the parameters."""

    def __init__(self, n_neighbors=3, note=""):
        super().__init__(n_neighbors, smoothing=0.5)
        self.note = note


def test_a_subclass_may_fix_parameters():
    X, Y, queries = ties()
    learner = clone(FixedMLkNN(4, note="x")).fit(X, Y)
    same(learner, MLkNN(4, smoothing=0.5).fit(X, Y), queries)
    assert learner.get_params() == {"n_neighbors": 4, "note": "x"}
    same(pickle.loads(pickle.dumps(learner)), learner, queries)
