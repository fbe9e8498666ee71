"""What the mixtures share: EM, the search for the best set, scores, explanations, bad input."""

import itertools
import tracemalloc
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.naive_bayes import MultinomialNB

from plurilabel import PMM1, PMM2, BinaryRelevance, LabelSetMixture, datasets, metrics
from tests.learners.mixtures import twins

MODELS = {"pmm1": PMM1, "pmm2": PMM2, "set": LabelSetMixture}


def stopped(learner, X, Y):
    """Fitted, without a word about having been stopped."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return learner.fit(X, Y)


def shares(learner, y):
    """The shares of the components in a set, as the twin has them."""
    if isinstance(learner, LabelSetMixture):
        rows = learner.label_sets_.toarray().tolist()
        if list(y) in rows:
            return learner.shares_.toarray()[rows.index(list(y))]
        b, k = learner.background_share_, sum(y)
        return [*((1 - b) * l / k for l in y), b] if k else [*y, 1.0]
    gamma = getattr(learner, "pair_shares_", None)
    return twins.shares_of("pmm1" if gamma is None else "pmm2", y, gamma)


def log_joint(learner, x, y, Y, kind):
    theta = np.exp(learner.feature_log_prob_)
    phi = [
        sum(w * t for w, t in zip(shares(learner, y), theta[:, v])) for v in range(theta.shape[1])
    ]
    return twins.log_prior(kind, y, Y) + sum(c * np.log(p) for c, p in zip(x, phi))


# learning ------------------------------------------------------------------------------------


@settings(max_examples=15)
@given(twins.corpora(), st.sampled_from(list(MODELS)), st.integers(1, 6))
def test_em_as_the_papers_write_it(corpus, model, steps):
    X, Y = corpus
    alpha = 0.7
    learner = stopped(MODELS[model](alpha=alpha, tol=0, max_iter=steps), X, Y)
    done = len(learner.objectives_) - 1  # fewer where a step gains nothing
    theta, extra, objectives = twins.em(model, X, Y, alpha, done)
    assert_allclose(np.exp(learner.feature_log_prob_), theta, rtol=1e-8)
    assert_allclose(learner.objectives_, objectives, rtol=1e-10)
    if model == "pmm2":
        assert_allclose(learner.pair_shares_, extra["gamma"], rtol=1e-8)
    if model == "set":
        for y, w in zip(learner.label_sets_.toarray().tolist(), learner.shares_.toarray()):
            assert_allclose(w, extra["weights"][tuple(y)], rtol=1e-8)


@settings(max_examples=20)
@given(
    twins.corpora(),
    st.sampled_from(list(MODELS.values())),
    st.sampled_from([1e-8, 0.01, 1.0, 50.0]),
    st.sampled_from(["counts", "random"]),
)
def test_em_never_lowers_the_objective(corpus, model, alpha, start):
    learner = model(alpha=alpha, init_params=start, random_state=0, tol=0, max_iter=60)
    reached = stopped(learner, *corpus).objectives_
    assert (np.diff(reached) >= -1e-9 * np.abs(reached[1:]).max(initial=1.0)).all()


def test_em_never_lowers_the_objective_on_real_text(data_folder):
    X, _, Y, _ = datasets.load("medical").holdout()
    for model in MODELS.values():
        reached = stopped(model(tol=0, max_iter=40), X, Y).objectives_
        assert len(reached) > 5
        assert (np.diff(reached) > -1e-9 * abs(reached[-1])).all()


def test_documents_in_blocks_are_the_same(monkeypatch):
    rng = np.random.default_rng(0)
    X, Y = rng.poisson(1.0, (20, 30)), rng.integers(0, 2, (20, 4))
    wanted = [model().fit(X, Y) for model in MODELS.values()]
    scores = [learner.decision_function(X) for learner in wanted]
    monkeypatch.setattr("plurilabel.learners.mixtures._pooled_counts.BLOCK", 40)
    monkeypatch.setattr("plurilabel.learners.mixtures._label_set_search.BLOCK", 400)
    for model, learner, score in zip(MODELS.values(), wanted, scores):
        again = model().fit(X, Y)
        assert_allclose(again.feature_count_.toarray(), learner.feature_count_.toarray())
        assert_allclose(learner.decision_function(X), score, rtol=1e-12, atol=1e-12)
        for search in ("exact", "seen"):
            listed = model(search=search).fit(X, Y).decision_function(X)
            with monkeypatch.context() as patch:
                patch.setattr("plurilabel.learners.mixtures._label_set_search.BLOCK", 2**22)
                whole = model(search=search).fit(X, Y).decision_function(X)
            assert_allclose(listed, whole, rtol=1e-9, atol=1e-9)


def test_many_words_stay_sparse():
    """300,000 words and 200 labels: a dense table would take 480 MB."""
    rng = np.random.default_rng(0)
    X = sparse.random(100, 300_000, density=1e-4, random_state=3, format="csr")
    Y = sparse.csr_array((rng.random((100, 200)) < 0.01).astype(np.int8))
    for model in MODELS.values():
        tracemalloc.start()
        try:
            model().fit(X, Y).predict(X[:20])
            assert tracemalloc.get_traced_memory()[1] < 100e6
        finally:
            tracemalloc.stop()


# the best set --------------------------------------------------------------------------------


@settings(max_examples=25)
@given(
    twins.corpora(),
    st.sampled_from(list(MODELS)),
    st.sampled_from(["uniform", "labels", "sets"]),
)
def test_exact_search_finds_the_best_set(corpus, model, kind):
    X, Y = corpus
    q = Y.shape[1]
    learner = MODELS[model](search="exact", set_prior=kind, max_labels=q).fit(X, Y)
    scores = learner.decision_function(X)
    free = [l for l in range(q) if len(set(Y[:, l])) == 2]
    for x, score in zip(X, scores):
        value = {y: log_joint(learner, x, y, Y, kind) for y in twins.possible_sets(Y)}
        predicted = tuple((score > 0).astype(int).tolist())
        assert value[predicted] == pytest.approx(max(value.values()), abs=1e-9)
        for l in free:
            having = max(v for y, v in value.items() if y[l])
            lacking = max(v for y, v in value.items() if not y[l])
            assert score[l] == pytest.approx(having - lacking, abs=1e-9)


@settings(max_examples=25)
@given(
    twins.corpora(),
    st.sampled_from(list(MODELS)),
    st.sampled_from(["uniform", "labels", "sets"]),
)
def test_greedy_search_ends_where_no_label_helps(corpus, model, kind):
    X, Y = corpus
    q = Y.shape[1]
    learner = MODELS[model](set_prior=kind).fit(X, Y)
    possible = set(twins.possible_sets(Y))
    for x, score in zip(X, learner.decision_function(X)):
        best = tuple((score > 0).astype(int).tolist())
        value = {y: log_joint(learner, x, y, Y, kind) for y in possible}
        assert best in possible
        for l in range(q):
            other = tuple(1 - b if m == l else b for m, b in enumerate(best))
            if other in possible:
                assert value[other] <= value[best] + 1e-9
                assert abs(score[l]) == pytest.approx(value[best] - value[other], abs=1e-9)
        if sum(best) == 1 and (0,) * q not in possible and not Y.all(axis=0).any():
            singles = [v for y, v in value.items() if sum(y) == 1 and y != best]
            gap = value[best] - max(singles)
            assert score[best.index(1)] == pytest.approx(gap, abs=1e-9)


def test_greedy_search_is_not_caught_in_the_empty_set():
    """Two labels are more probable than none, where neither of them is alone."""
    X = np.array([[4, 0, 1], [0, 4, 1], [2, 2, 3], [4, 0, 0], [0, 4, 0]])
    Y = np.array([[1, 0], [0, 1], [0, 0], [1, 0], [0, 1]])
    for search in ("greedy", "exact"):
        learner = PMM1(search=search, max_labels=2 if search == "exact" else None).fit(X, Y)
        assert_array_equal(learner.predict([[6, 6, 0], [0, 0, 9]]), [[1, 1], [0, 0]])


def test_greedy_search_is_the_papers_where_nothing_is_dropped():
    """From the best label on, the label that raises the likelihood most, until none does."""
    rng = np.random.default_rng(3)
    Y = (rng.random((60, 5)) < 0.4).astype(int)
    Y[Y.sum(axis=1) == 0, 0] = 1
    theta = rng.dirichlet(np.full(20, 0.2), size=5)
    X = np.array([rng.multinomial(30, y @ theta / y.sum()) for y in Y])
    learner = PMM1().fit(X, Y)
    same = 0
    for x, predicted in zip(X, learner.predict(X)):
        present, reached = [], -np.inf
        while len(present) < 5:
            tried = {}
            for l in set(range(5)) - set(present):
                y = [int(m in (*present, l)) for m in range(5)]
                tried[l] = log_joint(learner, x, y, Y, "uniform")
            best = max(tried, key=tried.get)
            if tried[best] <= reached:
                break
            present, reached = [*present, best], tried[best]
        same += set(present) == set(np.flatnonzero(predicted))
        # dropping labels can only raise the likelihood
        assert log_joint(learner, x, predicted, Y, "uniform") >= reached - 1e-9
    assert same >= 57


def test_seen_sets_are_the_only_ones():
    rng = np.random.default_rng(0)
    X, Y = rng.poisson(1.0, (50, 12)), (rng.random((50, 6)) < 0.4).astype(int)
    seen = {tuple(y) for y in Y.tolist()}
    for model in MODELS.values():
        found = model(search="seen").fit(X, Y).predict(rng.poisson(1.0, (80, 12)))
        assert {tuple(y) for y in found.tolist()} <= seen


def test_sets_of_at_most_so_many_labels():
    rng = np.random.default_rng(0)
    X, Y = rng.poisson(1.0, (50, 12)), (rng.random((50, 6)) < 0.6).astype(int)
    found = PMM1(search="exact", max_labels=2).fit(X, Y).predict(X)
    assert found.sum(axis=1).max() == 2
    assert PMM1(search="exact").fit(X, Y).predict(X).sum(axis=1).max() > 2
    Y[:, :3] = 1
    with pytest.raises(ValueError, match="max_labels must be at least 3.* got 2"):
        PMM1(search="exact", max_labels=2).fit(X, Y).predict(X)


def test_too_many_sets_are_refused():
    rng = np.random.default_rng(0)
    X, Y = rng.poisson(1.0, (30, 5)), rng.integers(0, 2, (30, 40))
    with pytest.raises(ValueError, match="up to 1,048,576 label sets, got .* smaller max_labels"):
        PMM1(search="exact").fit(X, Y).predict(X)
    assert PMM1(search="exact", max_labels=2).fit(X, Y).predict(X[:1]).sum() <= 2


def test_empty_sets_only_where_some_were_seen():
    X = np.array([[3, 0, 1], [0, 3, 1], [1, 1, 1], [2, 2, 0]])
    Y = np.array([[1, 0], [0, 1], [1, 1], [1, 0]])
    nothing = np.zeros((1, 3))
    for model, search in itertools.product(MODELS.values(), ("greedy", "exact", "seen")):
        found = model(search=search, set_prior="uniform").fit(X, Y).predict(nothing)
        assert_array_equal(found, [[1, 0]])  # without a word: the most frequent label
        Z = np.vstack([Y, [[0, 0]] * 3])
        learner = model(search=search).fit(np.vstack([X, [[0, 0, 5]] * 3]), Z)
        assert_array_equal(learner.predict([[0, 0, 9], [9, 0, 0]]), [[0, 0], [1, 0]])


def test_one_class_each():
    """A 1-D y has one label in each set: PMM1 is then multinomial naive Bayes without P(y)."""
    rng = np.random.default_rng(0)
    X, y = rng.poisson(1.0, (60, 8)), rng.choice(["a", "b", "c"], 60)
    bayes = MultinomialNB(fit_prior=False).fit(X, y)
    learner = PMM1().fit(X, y)
    assert_array_equal(learner.predict(X), bayes.predict(X))
    assert_allclose(learner.feature_log_prob_[:3], bayes.feature_log_prob_)
    joint = bayes.predict_joint_log_proba(X)
    scores = learner.decision_function(X)
    for row, score in zip(joint, scores):
        for l in range(3):
            assert score[l] == pytest.approx(row[l] - np.delete(row, l).max(), abs=1e-9)


# answers -------------------------------------------------------------------------------------


@settings(max_examples=10)
@given(twins.corpora(), st.sampled_from(list(MODELS)))
def test_log_likelihood(corpus, model):
    X, Y = corpus
    learner = MODELS[model]().fit(X, Y)
    other = 1 - Y  # sets that were not seen, too
    wanted = [log_joint(learner, x, y, Y, "uniform") for x, y in zip(X, other.tolist())]
    assert_allclose(learner.log_likelihood(X, other), wanted, rtol=1e-9, atol=1e-9)


@settings(max_examples=10)
@given(twins.corpora(), st.sampled_from(list(MODELS)))
def test_each_word_comes_from_the_labels(corpus, model):
    X, Y = corpus
    learner = MODELS[model]().fit(X, Y)
    theta = np.exp(learner.feature_log_prob_)
    names = [*learner.label_names_, "(no label)"]
    for x, y, found in zip(X, learner.predict(X), learner.explain(sparse.csr_array(X))):
        w = shares(learner, y.tolist())
        assert found.sources == tuple(n for n, share in zip(names, w) if share > 0)
        words = [v for v in range(X.shape[1]) if x[v]]
        assert found.words == tuple(f"x{v}" for v in words)
        assert_array_equal(found.counts, x[words])
        for v, row in zip(words, found.shares):
            part = [share * t for share, t in zip(w, theta[:, v]) if share > 0]
            assert_allclose(row, [p / sum(part) for p in part], rtol=1e-9)
        total = found.totals()
        assert sum(total.values()) == pytest.approx(1.0 if words else 0.0)


def test_explanations_in_words():
    X = [[3.0, 0.0, 0.0], [0.0, 2.0, 0.0], [2.0, 2.0, 0.0], [0.0, 0.0, 0.0]]
    learner = PMM1().fit(X, [[1, 0], [0, 1], [1, 1], [1, 0]])
    both, nothing = learner.explain([[2, 2, 0], [0, 0, 0]], feature_names=["sea", "sky", "cat"])
    assert list(both["label0"]) == ["sea", "sky"]
    assert both[1]["sky"] == both["label1"]["sky"] > 0.5
    assert str(both).splitlines()[0].split() == ["word", "count", "label0", "label1"]
    assert str(nothing) == "no known words: label0"
    with pytest.raises(ValueError, match="feature_names must have 3 entries.* got 2"):
        learner.explain(X, feature_names=["a", "b"])


def test_stored_zeros_and_duplicates_change_nothing():
    X = np.array([[3.0, 0, 1], [0, 3, 1], [1, 1, 1]])
    Y = [[1, 0], [0, 1], [1, 1]]
    odd = sparse.csr_array(
        ([1.0, 2, 1, 3, 1, 0, 1, 1, 1], [0, 0, 2, 1, 2, 0, 2, 1, 0], [0, 3, 6, 9]), shape=(3, 3)
    )
    before = [odd.data.copy(), odd.indices.copy(), odd.indptr.copy()]
    for model in MODELS.values():
        plain, learner = model().fit(X, Y), model().fit(odd, Y)
        assert_allclose(learner.decision_function(odd), plain.decision_function(X))
        assert [e.words for e in learner.explain(odd)] == [e.words for e in plain.explain(X)]
        assert_allclose(learner.log_likelihood(odd, Y), plain.log_likelihood(X, Y))
    for was, now in zip(before, (odd.data, odd.indices, odd.indptr)):
        assert_array_equal(was, now)


# bad input and edges -------------------------------------------------------------------------


@pytest.mark.parametrize("model", MODELS.values())
def test_bad_input(model):
    X, Y = np.ones((4, 3)), [[1, 0], [0, 1], [1, 1], [1, 0]]
    with pytest.raises(ValueError, match="Negative values in data passed to"):
        model().fit(-X, Y)
    with pytest.raises(ValueError, match="Negative values in data passed to"):
        model().fit(X, Y).predict(-X)
    with pytest.raises(ValueError, match="must hold counts of at most"):
        model().fit(X * 1e308, Y)
    with pytest.raises(ValueError, match="NaN"):
        model().fit(X * np.nan, Y)
    with pytest.raises(ValueError, match="'alpha' parameter of"):
        model(alpha=0.0).fit(X, Y)
    with pytest.raises(ValueError, match="'search' parameter of"):
        model(search="all").fit(X, Y)
    with pytest.warns(ConvergenceWarning, match="stopped after max_iter=1 steps"):
        model(max_iter=1, tol=0).fit(np.arange(12).reshape(4, 3), Y)


@pytest.mark.parametrize("model", MODELS.values())
@pytest.mark.parametrize("search", ["greedy", "exact", "seen"])
def test_small_and_strange_data(model, search):
    learner = model(search=search)
    one = learner.fit([[1.0, 2.0]], [[1, 0, 1]])  # one document: its labels, always
    assert_array_equal(one.predict([[0.0, 5.0]]), [[1, 0, 1]])
    assert_array_equal(learner.fit(np.zeros((3, 2)), np.zeros((3, 2))).predict([[1, 1]]), [[0, 0]])
    assert np.isfinite(learner.fit(np.zeros((3, 2)), np.eye(3)).decision_function([[1, 1]])).all()
    for scale in (1e-300, 1e-5, 1e12):
        X = np.array([[3.0, 0, 1], [0, 3, 1], [1, 1, 1], [2, 1, 0]]) * scale
        scores = learner.fit(X, [[1, 0], [0, 1], [1, 1], [0, 0]]).decision_function(X)
        assert np.isfinite(scores).all()


# real text -----------------------------------------------------------------------------------


def test_better_than_naive_bayes_per_label(data_folder):
    """On two of the collections of the table; the others take seconds."""
    for name in ("medical", "slashdot"):
        X, X_test, Y, Y_test = datasets.load(name).holdout()
        peer = BinaryRelevance(MultinomialNB()).fit(X, Y)
        bar = metrics.f1(Y_test, peer.predict(X_test))
        for model in MODELS.values():
            assert metrics.f1(Y_test, model().fit(X, Y).predict(X_test)) > bar + 0.05


@pytest.mark.parametrize("learner", [PMM1(), PMM2(), LabelSetMixture(search="seen")], ids=repr)
def test_counts_whose_likelihood_would_be_infinite_are_refused(learner):
    X, Y = np.array([[1.0, 0], [0, 2], [1, 1]]), np.array([[1, 0], [0, 1], [1, 1]])
    learner.fit(X, Y)
    assert np.isfinite(learner.decision_function(X * 1e289)).all()
    for call in (learner.predict, lambda huge: learner.fit(huge, Y)):
        with pytest.raises(ValueError, match=r"counts of at most 1e\+290, got 3.4e\+307"):
            call(X * 1.7e307)
