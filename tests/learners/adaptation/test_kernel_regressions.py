"""KernelRegressions against kernels by loops and regressions fitted again without each row."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.optimize import nnls
from scipy.special import expit

from plurilabel import KernelRegressions, ScoreCalibrator, datasets
from plurilabel.learners.adaptation._kernel_regressions import KERNELS

ALPHAS = (0.1, 0.3, 1.0, 3.0, 10.0)


def made(n=60, d=5, q=3, seed=0, new=20):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n + new, d))
    X[:, 1] = rng.integers(0, 3, size=n + new)  # with many equal values
    X[:, 2] *= X[:, 2] > 0.5  # mostly 0
    Y = X @ rng.normal(size=(d, q)) + np.abs(X[:, [0]]) + rng.normal(size=(n + new, q)) > 0.5
    return X[:n], Y[:n].astype(int), X[n:]


# the definitions, by loops -------------------------------------------------------------------


def standardized(X, known):
    return np.clip((X - known.mean(axis=0)) / known.std(axis=0), -8, 8)


def ranks(X, known):
    def share(value, column):
        return np.mean([(value > other) + 0.5 * (value == other) for other in column])

    return np.array([[share(x, known[:, l]) for l, x in enumerate(row)] for row in X])


def relevance(X, Y):
    """Variance that eight intervals of the ranks of a feature explain, less that by chance."""
    u, n = ranks(X, X), len(X)
    found = np.zeros((X.shape[1], Y.shape[1]))
    for feature, column in enumerate(u.T):
        interval = [min(int(8 * value + 1e-9), 7) for value in column]
        for label, y in enumerate(Y.T):
            means = {b: y[np.equal(interval, b)].mean() for b in interval}
            between = sum((means[b] - y.mean()) ** 2 for b in interval)
            within_all = sum((value - y.mean()) ** 2 for value in y)
            found[feature, label] = max(between / within_all - 7 / n, 0)
    found = found.mean(axis=1)
    weights = np.sqrt(found / found.mean()) + 0.1
    return weights / weights.mean()


def distance(name, a, b, w):
    if name == "linear":
        return sum(a * b)
    if name == "rbf":
        return sum((a - b) ** 2)
    if name == "laplacian":
        return sum(abs(a - b))
    return sum(w * (a - b) ** 2) if name == "ranked_rbf" else sum(w * abs(a - b))


def kernels(name, X, A, known, components, w):
    """Kernels of the rows of X and of A; means and scales are those of the components."""
    view = ranks if name.startswith("ranked") else standardized
    x, a, c = (view(rows, components) for rows in (X, A, components))
    D = np.array([[distance(name, p, r, w) for r in a] for p in x])
    among = np.array([[distance(name, p, r, w) for r in c] for p in c])
    if name == "linear":
        return D / among.diagonal().mean()
    return np.exp(-D * (1 if name == "rbf" else 2) / among.mean())


def regression(C, K, R, alpha):
    """Coefficients with the least squared error and penalty."""
    return np.linalg.solve(C.T @ C + alpha * K, C.T @ R)


def twin(X, Y, X_new, components):
    """Probabilities, penalties and weights; each row is left out by another fit."""
    A, f = X[components], Y.mean(axis=0)
    R, w = Y - f, relevance(A, Y[components])
    answers, new, chosen = [], [], []
    for name in KERNELS:
        C = kernels(name, X, A, X, A, w)
        K = C[components].copy()
        K[np.diag_indices_from(K)] += 1e-8 * K.diagonal().mean() + 1e-12
        errors, left_out = [], []
        for alpha in ALPHAS:
            held = np.empty(R.shape)
            for i in range(len(X)):
                others = np.arange(len(X)) != i
                held[i] = C[i] @ regression(C[others], K, R[others], alpha)
            left_out.append(held)
            errors.append((((held - R) ** 2).mean(axis=0) / R.var(axis=0)).mean())
        best = int(np.argmin(errors))
        chosen.append(ALPHAS[best])
        answers.append(left_out[best])
        C_new = kernels(name, X_new, A, X, A, w)
        new.append(C_new @ regression(C, K, R, ALPHAS[best]))
    scale = R.std(axis=0)
    weights = nnls(np.array([(a / scale).ravel() for a in answers]).T, (R / scale).ravel())[0]
    mean, mean_new = (sum(v * a for v, a in zip(weights, each)) + f for each in (answers, new))
    shift = mean.max() + 1  # scores outside of [0, 1] are no probabilities
    platt = ScoreCalibrator("sigmoid").fit(mean - shift, Y)
    return platt.transform(mean_new - shift), chosen, weights


@pytest.mark.parametrize("m", [60, 25])
def test_twin(m):
    X, Y, X_new = made()
    learner = KernelRegressions(alphas=ALPHAS, n_components=m, random_state=0).fit(X, Y)
    components = [np.flatnonzero((row == X).all(axis=1))[0] for row in learner.components_]
    P, alphas, weights = twin(X, Y, X_new, components)
    assert len(set(components)) == m and len(set(alphas)) > 1
    assert_array_equal(learner.alpha_, alphas)
    assert_allclose(learner.weights_, weights, atol=1e-5)
    assert_allclose(learner.predict_proba(X_new), P, atol=1e-5)


def test_weights_of_features():
    X, Y, _ = made()
    assert_allclose(KernelRegressions().fit(X, Y).feature_weights_, relevance(X, Y))


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("m", [1024, 20])
def test_sparse_and_dense_agree(kernel, m):
    X, Y, X_new = made()
    X[:, 3], X[:, 4] = 50 + X[:, 3], np.maximum(X[:, 4], 0)  # zeros far outside, and many
    params = {"n_components": m, "random_state": 0}
    of_dense = KernelRegressions(kernel, **params).fit(X, Y)
    of_sparse = KernelRegressions(kernel, **params).fit(sparse.csr_array(X), sparse.csr_array(Y))
    assert sparse.issparse(of_sparse.components_)
    assert_allclose(of_sparse.feature_weights_, of_dense.feature_weights_)
    expected = of_dense.predict_proba(X_new)
    assert_allclose(of_sparse.predict_proba(sparse.csr_array(X_new)), expected, atol=1e-9)
    X_new[0] = 0  # where all features were positive
    expected = of_dense.predict_proba(X_new)
    assert_allclose(of_sparse.predict_proba(sparse.csr_array(X_new)), expected, atol=1e-9)


def test_units_do_not_matter():
    X, Y, X_new = made()
    expected = KernelRegressions().fit(X, Y).predict_proba(X_new)
    for scale, offset, atol in (
        (1e6, 0, 1e-9),
        (1e-200, 0, 1e-9),
        (1e200, 0, 1e-9),
        (1, 1e9, 1e-5),
    ):
        found = (
            KernelRegressions().fit(scale * X + offset, Y).predict_proba(scale * X_new + offset)
        )
        assert_allclose(found, expected, atol=atol)
    more = np.column_stack([X, np.full(len(X), 7.0)])
    new = np.column_stack([X_new, np.full(len(X_new), -1e300)])
    learner = KernelRegressions(["linear", "rbf", "laplacian"])
    assert_allclose(
        learner.fit(more, Y).predict_proba(new), learner.fit(X, Y).predict_proba(X_new)
    )


def test_soft_labels_are_targets():
    X, Y, X_new = made()
    soft = np.where(Y == 1, 0.8, 0.1)
    hard, learner = KernelRegressions().fit(X, Y), KernelRegressions().fit(X, soft)
    # answers are linear in the labels, so that all but the sigmoids is the same
    assert_allclose(learner.errors_, hard.errors_)
    assert_allclose(learner.weights_, hard.weights_)
    P, H = learner.predict_proba(X_new), hard.predict_proba(X_new)
    assert P.max() < H.max() and P.min() > H.min()


def test_only_the_components_are_kept():
    X, Y, X_new = made(n=400)
    learner = KernelRegressions(n_components=30, random_state=1).fit(X, Y)
    assert learner.components_.shape == (30, 5) and learner.dual_coef_.shape == (5, 30, 3)
    whole = KernelRegressions().fit(X, Y).predict_proba(X_new)
    assert np.abs(learner.predict_proba(X_new) - whole).mean() < 0.08
    again = KernelRegressions(n_components=30, random_state=1).fit(X, Y)
    assert_array_equal(again.predict_proba(X_new), learner.predict_proba(X_new))


def test_a_label_that_no_component_has():
    X, Y, _ = made(n=400)
    Y = np.column_stack([Y, np.zeros((400, 2), dtype=int)])
    Y[np.argsort(X[:, 0])[-6:], 3] = 1
    learner = KernelRegressions(n_components=5, random_state=3).fit(X, Y)
    P = learner.predict_proba(X)
    assert P[Y[:, 3] == 1, 3].mean() > 1.5 * P[Y[:, 3] == 0, 3].mean()
    assert_allclose(P[:, 4], P[0, 4])
    assert P[0, 4] == pytest.approx(1 / 402)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_few_rows(n):
    X, Y, X_new = made()
    P = KernelRegressions().fit(X[:n], Y[:n]).predict_proba(X_new)
    assert np.isfinite(P).all() and ((P > 0) & (P < 1)).all()


def test_nothing_to_learn_from():
    X, Y, X_new = made()
    learner = KernelRegressions().fit(np.ones_like(X), Y)
    expected = (Y.sum(axis=0) + 1) / (len(Y) + 2)
    assert_allclose(learner.predict_proba(X_new)[0], expected, atol=0.03)
    duplicates = KernelRegressions().fit(np.repeat(X, 3, axis=0), np.repeat(Y, 3, axis=0))
    assert (duplicates.predict(X) == Y).mean() > 0.9


def test_better_than_its_kernels_on_average():
    data = datasets.load("digits")
    X, Y = data.X[:400], data.Y[:400]
    learner = KernelRegressions().fit(X, Y)
    assert learner.errors_.shape == (5, 8) and (learner.errors_ < 1.2).all()
    assert learner.weights_.sum() == pytest.approx(1, abs=0.2)
    log_odds = np.log(learner.predict_proba(X[:1])) - np.log1p(-learner.predict_proba(X[:1]))
    assert_allclose(expit(log_odds), learner.predict_proba(X[:1]))


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"kernels": ()}, "kernels must be some of linear, rbf"),
        ({"kernels": ("linear", "cosine")}, "kernels must be some of .* got .*cosine"),
        ({"alphas": (1.0, 0.0)}, "alphas must be positive numbers"),
        ({"alphas": ()}, "alphas must be positive numbers"),
        ({"n_components": 0}, "n_components"),
    ],
)
def test_bad_parameters(params, words):
    X, Y, _ = made()
    with pytest.raises(ValueError, match=words):
        KernelRegressions(**params).fit(X, Y)
