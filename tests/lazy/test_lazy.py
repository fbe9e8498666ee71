"""The lazy learners against their twins, dense against sparse, grown against fresh."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.neighbors import NearestNeighbors

from plurilabel import IBLRML, BRkNN, DMLkNN, DWMLkNN, MLkNN, MLkNNCV, MLWkNN
from tests.lazy import twins

LEARNERS = [
    MLkNN(n_neighbors=5),
    DWMLkNN(n_neighbors=5),
    DWMLkNN(n_neighbors=4, reading="figure", blend=0.3),
    MLWkNN(n_neighbors=5),
    BRkNN(n_neighbors=5),
    IBLRML(n_neighbors=5),
    IBLRML(n_neighbors=5, own_features=True),
    DMLkNN(n_neighbors=5),
    MLkNNCV(n_neighbors=range(1, 6), smoothing=(0.5, 1.0)),
]
GROWING = LEARNERS[:-1]


@st.composite
def problems(draw):
    """Integer grids, so that equal distances and duplicates abound; rare and common labels."""
    seed = draw(st.integers(0, 2**32 - 1))
    n, d, q = draw(st.integers(4, 14)), draw(st.integers(1, 3)), draw(st.integers(1, 4))
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 4, size=(n, d)).astype(float)
    Y = (rng.random((n, q)) < rng.random(q)).astype(int)
    return X, Y, rng.integers(0, 5, size=(3, d)) / 1.0, draw(st.integers(1, n - 2))


@settings(max_examples=20, deadline=None)
@given(problems(), st.sampled_from([0.5, 1.0, 2.0]))
def test_against_the_twins(problem, s):
    X, Y, queries, k = problem
    cases = [
        (MLkNN(k, smoothing=s), lambda x: twins.ml_knn(X, Y, x, k, s)),
        (DWMLkNN(k, smoothing=s), lambda x: twins.dw_ml_knn(X, Y, x, k, s, 0.5, False)),
        (
            DWMLkNN(k, smoothing=s, blend=0.2, reading="figure"),
            lambda x: twins.dw_ml_knn(X, Y, x, k, s, 0.2, True),
        ),
        (MLWkNN(k, smoothing=s), lambda x: twins.ml_wknn(X, Y, x, k, s)),
        (DMLkNN(k, smoothing=s, width=1), lambda x: twins.dml_knn(X, Y, x, k, s, 1)),
    ]
    for learner, twin in cases:
        wanted = np.array([twin(x) for x in queries.tolist()])
        assert_allclose(learner.fit(X, Y).predict_proba(queries), wanted, rtol=1e-9, atol=1e-12)
    for variant in (None, "a", "b"):
        wanted = np.array([twins.br_knn(X, Y, x, k, variant) for x in queries.tolist()])
        for labels in (Y, sparse.csr_array(Y)):
            found = BRkNN(k, variant=variant).fit(X, labels).predict(queries)
            found = found.toarray() if sparse.issparse(found) else found
            assert_array_equal(found, wanted)


def test_dmlknn_without_dependence_is_mlknn():
    X, Y, _ = _data(80, 3, 6)
    wide = DMLkNN(7, width=7).fit(X[:60], Y[:60])
    assert_allclose(wide.predict_proba(X[60:]), MLkNN(7).fit(X[:60], Y[:60]).predict_proba(X[60:]))


def test_iblr_features_are_votes_for_minus_against():
    X, Y, _ = _data(50, 3, 4)
    learner = IBLRML(5).fit(X, Y)
    _, near = learner.graph_
    votes = np.array([[sum(1 if Y[a, l] else -1 for a in row) for l in range(4)] for row in near])
    assert_array_equal(learner._features(near, X), votes)
    plus = IBLRML(5, own_features=True).fit(X, Y)
    assert plus.coef_.shape == (4, 4 + 3)
    assert len(plus.explain(X[:2])) == 2


def test_attributes_of_mlknn_are_probabilities():
    X, Y, _ = _data(60, 3, 4)
    learner = MLkNN(6).fit(X, Y)
    assert learner.likelihood_.shape == (2, 4, 7)
    assert_allclose(learner.likelihood_.sum(axis=2), 1)
    assert_allclose(learner.prior_, (1 + Y.sum(axis=0)) / (2 + 60))
    assert learner.counts_.sum() == 60 * 4
    assert learner.counts_.dtype.kind == "i"


def test_no_smoothing_falls_back_to_the_prior():
    X = np.arange(6.0)[:, None]
    Y = np.array([[0, 1], [0, 1], [0, 1], [0, 1], [0, 1], [0, 1]])
    scores = MLkNN(2, smoothing=0.0).fit(X, Y).predict_proba(X)
    assert_array_equal(scores, Y)


# sparse answers ------------------------------------------------------------------------------


@pytest.mark.parametrize("learner", GROWING, ids=repr)
@pytest.mark.parametrize("common", [False, True])
def test_sparse_answers_equal_dense_ones(learner, common):
    X, Y, rng = _data(90, 3, 12)
    Y[:, 3] = 0
    if common:  # labels that are predicted although no neighbour has them, and always
        Y[:, 5], Y[:, 8] = rng.random(90) < 0.95, 1
    dense, csr = learner.fit(X[:60], Y[:60]), None
    scores, predicted = dense.predict_proba(X[60:]), dense.predict(X[60:])
    top = dense.predict_top(X[60:], 4)
    csr = learner.fit(X[:60], sparse.csr_array(Y[:60]))
    assert_allclose(csr.predict_proba(X[60:]), scores, rtol=1e-12)
    assert_array_equal(csr.predict(X[60:]).toarray(), predicted)
    assert_array_equal(csr.predict_top(X[60:], 4).indices, top.indices)
    assert_allclose(csr.predict_top(X[60:], 4).data, top.data, rtol=1e-12)


@pytest.mark.parametrize("k", [1, 3, 12, 50])
def test_predict_top_is_the_head_of_the_sorted_scores(k):
    X, Y, _ = _data(70, 2, 12)
    for labels in (Y, sparse.csr_array(Y)):
        learner = MLkNN(4).fit(X, labels)
        scores, top = learner.predict_proba(X), learner.predict_top(X, k)
        for i, row in enumerate(scores):
            best = sorted(range(12), key=lambda l, row=row: (-row[l], l))[:k]
            entry = slice(*top.indptr[i : i + 2])
            assert top.indices[entry].tolist() == sorted(best)
            assert_array_equal(top.data[entry], row[sorted(best)])


def test_a_label_that_neighbours_speak_against_is_not_predicted():
    # a common label whose posterior without neighbours is above the cut, but below it with some
    X = np.arange(40.0)[:, None]
    Y = np.ones((40, 2), dtype=int)
    Y[20:, 0] = 0
    learner = MLkNN(3).fit(X, sparse.csr_array(Y))
    learner.table_ = np.array([[0.9, 0.2, 0.2, 0.2], [0.1, 0.8, 0.8, 0.8]])
    assert_array_equal(learner.predict([[5.0], [39.0]]).toarray(), [[0, 1], [1, 1]])


# growth and shrinkage ------------------------------------------------------------------------


@pytest.mark.parametrize("learner", GROWING, ids=repr)
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_any_sequence_equals_a_fresh_fit(learner, form):
    rng = np.random.default_rng(3)
    X = rng.integers(0, 4, size=(80, 3)).astype(float)  # duplicates and ties
    Y = (rng.random((80, 5)) < 0.3).astype(int)
    queries = rng.integers(0, 5, size=(20, 3)).astype(float)
    rows = np.arange(20)
    learner.partial_fit(X[rows], form(Y[rows])) if not hasattr(learner, "index_") else learner.fit(
        X[rows], form(Y[rows])
    )
    for step in ("add 1", "add 17", "drop", "add 30", "drop", "add 12"):
        if step == "drop":
            gone = rng.choice(len(rows), size=5, replace=False)
            rows = np.delete(rows, gone)
            learner.forget(gone)
        else:
            new = rng.integers(0, 80, size=int(step.split()[1]))
            rows = np.concatenate([rows, new])
            learner.partial_fit(X[new], form(Y[new]))
        fresh = type(learner)(**learner.get_params()).fit(X[rows], form(Y[rows]))
        if learner._uses_graph:
            for mine, wanted in zip(learner.graph_, fresh.graph_):
                assert_array_equal(mine, wanted)
        assert_array_equal(learner.predict_proba(queries), fresh.predict_proba(queries))


def test_partial_fit_with_classes_and_bad_labels():
    X, _, rng = _data(30, 2, 2)
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
    X, Y, _ = _data(30, 2, 2)
    frame = pd.DataFrame(Y, columns=["sea", "sun"])
    learner = MLkNN(3).fit(X, frame)
    learner.partial_fit(X[:2], frame[:2])
    with pytest.raises(ValueError, match="label names of fit, \\['sea', 'sun'\\], got"):
        learner.partial_fit(X[:2], frame[["sun", "sea"]][:2])


# leave-one-out -------------------------------------------------------------------------------


@settings(max_examples=15, deadline=None)
@given(problems(), st.sampled_from(["ranking_loss", "hamming_loss", "micro_f1"]))
def test_leaving_instances_out_equals_as_many_fits(problem, scoring):
    from plurilabel.metrics import get_measure

    X, Y, _, k = problem
    ks, smoothing = sorted({1, max(1, k - 1)}), (0.5, 1.0)
    if k >= len(X) - 2:
        return
    learner = MLkNNCV(ks, smoothing=smoothing, scoring=scoring, leave_out="instance").fit(X, Y)
    measure = get_measure(scoring)
    for i, kk in enumerate(ks):
        for j, s in enumerate(smoothing):
            scores = np.vstack(
                [
                    MLkNN(kk, smoothing=s)
                    .fit(np.delete(X, r, 0), np.delete(Y, r, 0))
                    .predict_proba(X[r : r + 1])
                    for r in range(len(X))
                ]
            )
            answer = scores if measure.kind == "scores" else (scores > 0.5).astype(int)
            assert_allclose(learner.cv_values_[i, j], measure.function(Y, answer), rtol=1e-12)


def test_leaving_entries_out_takes_the_own_row_from_the_tables():
    X, Y, _ = _data(40, 2, 3)
    k, s, m = 4, 1.0, 40
    _, near = MLkNN(k).fit(X, Y).graph_
    delta = Y[near].sum(axis=1)
    scores = np.empty((m, 3))
    for i in range(m):
        rest = np.delete(np.arange(m), i)
        for l in range(3):
            have, j = Y[rest, l], delta[i, l]
            prior = (s + have.sum()) / (2 * s + m - 1)
            like = [
                (s + np.sum((have == b) & (delta[rest, l] == j)))
                / (s * (k + 1) + np.sum(have == b))
                for b in (0, 1)
            ]
            yes, no = prior * like[1], (1 - prior) * like[0]
            scores[i, l] = yes / (yes + no)
    learner = MLkNNCV([k], smoothing=[s]).fit(X, Y)
    assert_allclose(learner.cv_values_[0, 0], np.mean((scores > 0.5) != Y), rtol=1e-12)


def test_the_chosen_learner_is_a_fresh_fit():
    X, Y, _ = _data(60, 2, 3)
    for labels in (Y, sparse.csr_array(Y)):
        learner = MLkNNCV(range(1, 9), smoothing=(0.1, 1.0), scoring="average_precision")
        learner.fit(X, labels)
        best = np.unravel_index(learner.cv_values_.argmax(), learner.cv_values_.shape)
        assert learner.n_neighbors_ == range(1, 9)[best[0]]
        assert learner.smoothing_ == (0.1, 1.0)[best[1]]
        fresh = MLkNN(learner.n_neighbors_, smoothing=learner.smoothing_).fit(X, labels)
        assert_array_equal(learner.predict_proba(X), fresh.predict_proba(X))
        assert_array_equal(learner.estimator_.graph_[1], fresh.graph_[1])
        assert_array_equal(learner.predict_top(X, 2).indices, fresh.predict_top(X, 2).indices)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"n_neighbors": []}, "n_neighbors must be a sequence of numbers from 1 on, got \\[\\]"),
        ({"n_neighbors": [0, 2]}, "n_neighbors must be a sequence of numbers from 1"),
        ({"smoothing": [-1.0]}, "smoothing must be a sequence of numbers from 0"),
        ({"scoring": "niceness"}, "niceness"),
        ({"n_neighbors": [10]}, "smaller than the 10 training instances, got 10"),
    ],
)
def test_bad_parameters_of_the_search(params, message):
    X, Y, _ = _data(10, 2, 3)
    with pytest.raises(ValueError, match=message):
        MLkNNCV(**{"n_neighbors": [2], **params}).fit(X, Y)


# the rest ------------------------------------------------------------------------------------


def test_explain_names_the_neighbours():
    X = np.array([[0.0], [0.1], [0.2], [1.0], [1.1], [1.2]])
    pd = pytest.importorskip("pandas")
    Y = pd.DataFrame({"low": [1, 1, 1, 0, 0, 0], "high": [0, 0, 0, 1, 1, 1]})
    (case,) = MLkNN(2).fit(X, Y).explain([[0.04]])
    vote = case["low"]
    assert vote.neighbors_for.tolist() == [0, 1] and vote.neighbors_against.tolist() == []
    assert_allclose(vote.distances_for, [0.04, 0.06])
    assert_allclose(vote.odds, vote.posterior / (1 - vote.posterior))
    assert case[1].neighbors_against.tolist() == [0, 1]
    text = str(case)
    assert text.splitlines()[1].startswith("low") and "0 (0.04), 1 (0.06)" in text


def test_any_index_can_be_passed():
    X, Y, _ = _data(60, 3, 4)
    mine = MLkNN(5, index=NearestNeighbors(algorithm="kd_tree")).fit(X, Y)
    assert_array_equal(mine.predict_proba(X), MLkNN(5).fit(X, Y).predict_proba(X))


def test_precomputed_distances():
    X, Y, _ = _data(60, 3, 4)
    D = np.linalg.norm(X[:, None] - X, axis=2)
    mine = MLkNN(5, metric="precomputed").fit(D[:40, :40], Y[:40])
    wanted = MLkNN(5).fit(X[:40], Y[:40]).predict_proba(X[40:])
    assert_array_equal(mine.predict_proba(D[40:, :40]), wanted)
    with pytest.raises(ValueError, match="partial_fit needs features"):
        mine.partial_fit(D[:1, :40], Y[:1])


@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
def test_too_few_instances(learner):
    X, Y, _ = _data(5, 2, 2)
    with pytest.raises(ValueError, match="smaller than the 4 training instances, got"):
        learner.set_params(n_neighbors=range(1, 5) if isinstance(learner, MLkNNCV) else 4).fit(
            X[:4], Y[:4]
        )
    with pytest.raises(ValueError, match="at least two training instances"):
        learner.fit(X[:1], Y[:1])


def _data(n, d, q):
    rng = np.random.default_rng(n)
    X = rng.normal(size=(n, d))
    Y = (X @ rng.normal(size=(d, q)) + rng.normal(size=(n, q)) > 1.0).astype(int)
    return X, Y, rng
