"""CML against brute force over label sets, against regressions, and on real data."""

import itertools
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.optimize import approx_fprime, minimize
from scipy.special import logsumexp
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.multioutput import MultiOutputClassifier
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from plurilabel import CML, datasets
from plurilabel._core.blocks import dense
from plurilabel.learners.adaptation._cml_likelihood import LabelSets, PenalisedLikelihood

# sums over label sets ------------------------------------------------------------------------


def brute_force(U, interaction, sets):
    """log Z, P(set), marginals and pair probabilities, one instance and one set at a time."""
    q = U.shape[1]
    answer = []
    for u in U:
        F = []
        for y in sets:
            pairs = sum(interaction[j, k] * y[j] * y[k] for j in range(q) for k in range(j))
            F.append(sum(u[j] * y[j] for j in range(q)) + pairs)
        log_Z = logsumexp(F)
        P = np.exp(np.array(F) - log_Z)
        marginals = sum(p * np.array(y) for p, y in zip(P, sets))
        both = sum(p * np.outer(y, y) for p, y in zip(P, sets))
        answer.append((log_Z, marginals, both, sets[int(np.argmax(F))]))
    return [np.array(part) for part in zip(*answer)]


@st.composite
def fields(draw):
    q, n = draw(st.integers(1, 5)), draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    # the largest lose every term of Z in floating point, if it is not summed by logarithms
    size = draw(st.sampled_from([0.0, 1.0, 30.0, 3000.0]))
    interaction = size * rng.normal(size=(q, q))
    interaction = np.triu(interaction, 1) + np.triu(interaction, 1).T
    U = draw(st.sampled_from([1.0, 20.0, 2000.0])) * rng.normal(size=(n, q))
    return U, interaction, (rng.random((6, q)) < 0.5).astype(int), rng.random(n)


@settings(max_examples=80, deadline=None)
@given(fields())
def test_sums_over_sets_against_brute_force(field):
    U, interaction, Y, weights = field
    q = U.shape[1]
    constant = {j: Y[0, j] for j in range(q) if len(set(Y[:, j])) == 1}
    every = [
        y
        for y in itertools.product((0, 1), repeat=q)
        if all(y[j] == value for j, value in constant.items())
    ]
    seen = sorted({tuple(row) for row in Y.tolist()})
    for sets, wanted in ((LabelSets.all(Y), every), (LabelSets.seen(Y), seen)):
        assert len(sets) == len(wanted)
        log_Z, marginals, both, best = brute_force(U, interaction, wanted)
        found = sets.expectations(U, interaction, weights)
        assert_allclose(found.log_Z, log_Z, rtol=1e-12, atol=1e-9)
        assert_allclose(found.marginals, marginals, atol=1e-9)
        assert_allclose(found.pairs, np.tensordot(weights, both, axes=1), atol=1e-9)
        assert_array_equal(sets.best(U, interaction), best)
        every_set = np.array(list(itertools.product((0.0, 1.0), repeat=q)))
        assert_array_equal(
            sets.contain(every_set), [tuple(row) in set(wanted) for row in every_set.astype(int)]
        )


def test_blocks_of_rows_change_nothing(monkeypatch):
    rng = np.random.default_rng(0)
    U, Y = rng.normal(size=(50, 4)), rng.integers(0, 2, size=(20, 4))
    interaction = np.ones((4, 4)) - np.eye(4)
    sets = LabelSets.all(Y)
    whole, best = sets.expectations(U, interaction), sets.best(U, interaction)
    monkeypatch.setattr("plurilabel.learners.adaptation._cml_likelihood.BLOCK", 37)
    for a, b in zip(whole, sets.expectations(U, interaction)):
        assert_allclose(a, b, rtol=1e-12)
    assert_array_equal(best, sets.best(U, interaction))


# likelihood ----------------------------------------------------------------------------------


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("kind", [LabelSets.all, LabelSets.seen])
def test_gradient_against_finite_differences(form, kind):
    X, Y, rng = _data(25, 3, 4)
    X[rng.random(X.shape) < 0.3] = 0
    weights = rng.random(25)
    loss = PenalisedLikelihood(form(X), Y.astype(float), weights, kind(Y), C=0.7)
    for _ in range(3):
        v = rng.normal(size=loss.start().shape)
        wanted = approx_fprime(v, lambda v: loss(v)[0], 1e-6)
        assert_allclose(loss(v)[1], wanted, atol=2e-6)


def test_value_against_the_definition():
    X, Y, rng = _data(12, 2, 3)
    weights = rng.random(12)
    loss = PenalisedLikelihood(X, Y.astype(float), weights, LabelSets.all(Y), C=0.7)
    v = rng.normal(size=loss.start().shape)
    W, b, interaction = loss.potentials(v)
    sets = list(itertools.product((0, 1), repeat=3))
    U = X @ W + b
    log_Z, *_ = brute_force(U, interaction, sets)
    value = (W**2).sum() / (2 * 0.7) + (interaction[np.triu_indices(3, 1)] ** 2).sum() / (8 * 0.7)
    for i, y in enumerate(Y):
        pairs = sum(interaction[j, k] * y[j] * y[k] for j in range(3) for k in range(j))
        value += weights[i] * (log_Z[i] - U[i] @ y - pairs)
    assert_allclose(loss(v)[0], value / weights.sum(), rtol=1e-10)


def test_four_potentials_for_each_pair_are_one_interaction():
    """The review's model, all four states of a pair with a prior of their own, by brute force."""
    X, Y, _ = _data(30, 2, 3)
    C, d, q = 0.8, 2, 3
    pairs = list(itertools.combinations(range(q), 2))
    sets = np.array(list(itertools.product((0, 1), repeat=q)))

    states = [(1, 1), (1, 0), (0, 1), (0, 0)]

    def features(y):
        return [float((y[j], y[k]) == state) for j, k in pairs for state in states]

    psi = np.array([features(y) for y in sets])  # (sets, 4 pairs)
    index = [int("".join(map(str, y)), 2) for y in Y]

    def objective(v):
        W, b, lam = v[: d * q].reshape(d, q), v[d * q : d * q + q], v[d * q + q :]
        F = (X @ W + b) @ sets.T + psi @ lam
        P = np.exp(F - logsumexp(F, axis=1, keepdims=True))
        value = -np.log(P[np.arange(len(X)), index]).sum()
        value += ((W**2).sum() + (lam**2).sum()) / (2 * C)
        R = P.copy()
        R[np.arange(len(X)), index] -= 1
        gradient = [
            (X.T @ R @ sets + W / C).ravel(),
            (R @ sets).sum(0),
            (R @ psi).sum(0) + lam / C,
        ]
        return value, np.concatenate(gradient)

    start = np.zeros(d * q + q + 4 * len(pairs))
    options = {"gtol": 1e-9, "ftol": 1e-15, "maxiter": 10_000, "maxfun": 50_000}
    found = minimize(objective, start, jac=True, method="L-BFGS-B", options=options)
    learner = CML(C=C, label_sets="all", tol=1e-9).fit(X, Y)
    assert_allclose(learner.objective_, found.fun, rtol=1e-9)
    assert_allclose(learner.coef_.T.ravel(), found.x[: d * q], atol=1e-4)
    lam = found.x[d * q + q :].reshape(-1, 4)
    for (j, k), potentials in zip(pairs, lam):
        wanted = learner.label_interaction_[j, k] / 4 * np.array([1, -1, -1, 1])
        assert_allclose(potentials, wanted, atol=1e-4)


def test_one_label_is_logistic_regression():
    X, Y, _ = _data(60, 3, 1)
    other = LogisticRegression(C=0.5, tol=1e-10, max_iter=10_000).fit(X, Y[:, 0])
    learner = CML(C=0.5, tol=1e-9).fit(X, Y)
    assert_allclose(learner.coef_, other.coef_, atol=1e-5)
    assert_allclose(learner.intercept_, other.intercept_, atol=1e-5)
    assert_allclose(learner.predict_proba(X)[:, 0], other.predict_proba(X)[:, 1], atol=1e-5)


def test_classes_are_multinomial_logistic_regression():
    X, _, rng = _data(80, 3, 1)
    y = np.array(["a", "b", "c"])[1 * (X[:, 0] + rng.normal(size=80) > 0) + (X[:, 1] > 0.3)]
    other = LogisticRegression(C=0.5, tol=1e-10, max_iter=10_000).fit(X, y)
    learner = CML(C=0.5, tol=1e-9).fit(X, y)
    assert_allclose(learner.predict_proba(X), other.predict_proba(X), atol=1e-5)
    assert_array_equal(learner.predict(X), other.predict(X))
    assert learner.n_label_sets_ == 3


def test_known_interactions_are_recovered():
    rng = np.random.default_rng(1)
    q, n = 5, 6000
    W = rng.normal(size=(2, q))
    b = rng.normal(size=q) / 2
    interaction = np.zeros((q, q))
    interaction[0, 1], interaction[2, 3], interaction[1, 4] = 2.0, -1.5, 1.0
    interaction += interaction.T
    X = rng.normal(size=(n, 2))
    sets = np.array(list(itertools.product((0, 1), repeat=q)))
    F = (X @ W + b) @ sets.T + 0.5 * ((sets @ interaction) * sets).sum(axis=1)
    Y = sets[(F + rng.gumbel(size=F.shape)).argmax(axis=1)]  # exact samples of the field
    learner = CML(C=100.0, label_sets="all").fit(X, Y)
    assert_allclose(learner.label_interaction_, interaction, atol=0.3)
    assert_allclose(learner.coef_.T, W, atol=0.2)
    assert_allclose(learner.intercept_, b, atol=0.3)


@pytest.mark.parametrize("label_sets", ["all", "seen"])
def test_weights_are_repetitions(label_sets):
    X, Y, rng = _data(40, 3, 3)
    times = rng.integers(0, 3, size=40)
    learner = CML(label_sets=label_sets, tol=1e-8)
    weighted = learner.fit(X, Y, sample_weight=times).predict_proba(X)
    repeated = learner.fit(np.repeat(X, times, axis=0), np.repeat(Y, times, axis=0))
    assert_allclose(weighted, repeated.predict_proba(X), atol=1e-6)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_shifted_and_badly_scaled_features(form):
    X, Y, _ = _data(60, 3, 3)
    plain = CML(tol=1e-8).fit(X, Y)
    shifted = CML(tol=1e-8).fit(form(X + [0.0, 50.0, -3.0]), Y)
    assert_allclose(
        shifted.predict_proba(X + [0.0, 50.0, -3.0]), plain.predict_proba(X), atol=1e-5
    )
    wild = CML(C=1e6).fit(form(X * [1e-3, 1.0, 1e3]), Y)  # no ConvergenceWarning
    assert wild.n_iter_ < 200


# answers -------------------------------------------------------------------------------------


@pytest.mark.parametrize("label_sets", ["all", "seen"])
def test_answers_agree_with_the_joint_probabilities(label_sets):
    X, Y, rng = _data(60, 3, 4)
    learner = CML(label_sets=label_sets).fit(X, Y)
    new = rng.normal(size=(20, 3))
    sets = np.array(list(itertools.product((0, 1), repeat=4)))
    log_p = np.column_stack(
        [learner.log_likelihood(new, np.tile(y, (20, 1))) for y in sets]
    )  # (20, 16)
    assert_allclose(np.exp(log_p).sum(axis=1), 1.0)
    assert_allclose(np.exp(log_p) @ sets, learner.predict_proba(new), atol=1e-12)
    assert_array_equal(learner.predict(new), sets[log_p.argmax(axis=1)])
    known = {tuple(y) for y in Y.tolist()}
    if label_sets == "seen":
        assert_array_equal(np.isfinite(log_p[0]), [tuple(y) in known for y in sets.tolist()])
        assert learner.n_label_sets_ == len(known) < 16
    else:
        assert np.isfinite(log_p).all()
        assert learner.n_label_sets_ == 16


def test_interaction_is_the_conditional_log_odds_ratio():
    X, Y, _ = _data(80, 2, 3)
    learner = CML(label_sets="all").fit(X, Y)

    def log_p(*y):
        return learner.log_likelihood(X[:1], [y])[0]

    ratio = log_p(1, 1, 1) + log_p(0, 0, 1) - log_p(1, 0, 1) - log_p(0, 1, 1)
    assert_allclose(learner.label_interaction_[0, 1], ratio, rtol=1e-9)
    assert_array_equal(learner.label_interaction_, learner.label_interaction_.T)
    assert_array_equal(np.diag(learner.label_interaction_), 0)


def test_auto_goes_over_to_the_sets_seen():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(60, 2)), (rng.random((60, 16)) < 0.1).astype(int)
    assert CML(max_iter=200).fit(X, Y).n_label_sets_ == len({tuple(y) for y in Y.tolist()})
    Y[:, 3] = 0  # 15 labels that vary
    assert CML(max_iter=200).fit(X, Y).n_label_sets_ == 2**15


def test_labels_that_never_vary_keep_their_value():
    X, Y, _ = _data(30, 2, 4)
    Y[:, 1], Y[:, 2] = 0, 1
    for label_sets in ("all", "seen"):
        learner = CML(label_sets=label_sets).fit(X, Y)
        assert_allclose(learner.predict_proba(X)[:, 1:3], np.tile([0.0, 1.0], (30, 1)), atol=1e-12)
        only = CML(label_sets=label_sets).fit(X, Y[:, [0, 3]])
        assert_allclose(learner.predict_proba(X)[:, [0, 3]], only.predict_proba(X), atol=1e-4)
    one = CML().fit(X[:1], Y[:1])
    assert_array_equal(one.predict(X), np.tile(Y[0], (30, 1)))


def test_sparse_features_stay_sparse():
    rng = np.random.default_rng(0)
    n, d = 2000, 100_000
    X = sparse.csr_array(
        (np.ones(5 * n), rng.integers(0, d, 5 * n), np.arange(0, 5 * n + 1, 5)), (n, d)
    )
    Y = np.column_stack([rng.random(n) < 0.5, rng.random(n) < 0.2])
    tracemalloc.start()
    learner = CML(tol=1e-3).fit(X, Y)
    learner.predict(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < n * d * 8 / 4  # bytes; X alone would be four times this


# bad input -----------------------------------------------------------------------------------


def test_errors_say_what_was_expected():
    X, Y, rng = _data(100, 2, 4)
    many = (rng.random((100, 21)) < 0.5).astype(int)
    with pytest.raises(ValueError, match="'all' is for up to 20 labels, got 21; use"):
        CML(label_sets="all").fit(X, many)
    with pytest.raises(ValueError, match="'label_sets' parameter of CML must be a str among"):
        CML(label_sets="some").fit(X, Y)
    with pytest.raises(ValueError, match="sample_weight.shape == \\(3,\\), expected \\(100,\\)"):
        CML().fit(X, Y, sample_weight=np.ones(3))
    with pytest.raises(ValueError, match="Negative values in data passed to `sample_weight`"):
        CML().fit(X, Y, sample_weight=np.r_[np.ones(99), -1])
    with pytest.raises(ValueError, match="must contain at least one non-zero number"):
        CML().fit(X, Y, sample_weight=np.zeros(100))
    with pytest.raises(ValueError, match="y must have the 4 labels of fit, got 3"):
        CML().fit(X, Y).log_likelihood(X, Y[:, :3])
    with pytest.warns(ConvergenceWarning, match="after 2 of max_iter=2 steps with a gradient"):
        assert CML(max_iter=2).fit(X, Y).n_iter_ == 2


# real data -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "margin"), [("emotions", 0.04), ("scene", 0.1), ("yeast", 0.05), ("medical", 0.1)]
)
def test_subset_accuracy_is_above_that_of_binary_relevance(data_folder, name, margin):
    X, X_test, Y, Y_test = datasets.load(name).holdout()
    Y, Y_test = dense(Y), dense(Y_test)
    if name == "emotions":  # its raw features take the regressions thousands of steps
        scaler = StandardScaler().fit(X)
        X, X_test = scaler.transform(X), scaler.transform(X_test)
    varying = Y.min(axis=0) != Y.max(axis=0)
    separate = MultiOutputClassifier(LogisticRegression(max_iter=1000))
    with threadpool_limits(1):
        separate.fit(X, Y[:, varying])
    predicted = np.tile(Y[0], (len(Y_test), 1))
    predicted[:, varying] = separate.predict(X_test)
    relevance = (predicted == Y_test).all(axis=1).mean()
    collective = (CML().fit(X, Y).predict(X_test) == Y_test).all(axis=1).mean()
    assert collective > relevance + margin


def _data(n, d, q):
    rng = np.random.default_rng(n)
    X = rng.normal(size=(n, d))
    Y = (X @ rng.normal(size=(d, q)) + rng.normal(size=(n, q)) > 0.7).astype(int)
    Y[:, -1] |= Y[:, 0]  # labels that depend on each other
    return X, Y, rng
