"""IBLR-ML: its features, and regressions that reach their optimum at any scale of the features."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import expit

from plurilabel import IBLRML
from plurilabel.learners.lazy import _iblr
from plurilabel.learners.lazy._iblr import Regressions
from tests.learners.lazy.problems import made


def test_features_are_votes_for_minus_against():
    X, Y, _ = made(50, 3, 4)
    learner = IBLRML(5).fit(X, Y)
    _, near = learner.graph_
    votes = np.array([[sum(1 if Y[a, l] else -1 for a in row) for l in range(4)] for row in near])
    assert_array_equal(learner._features(*learner.graph_, X), votes)
    plus = IBLRML(5, own_features=True).fit(X, Y)
    assert plus.coef_.shape == (4, 4 + 3)
    assert len(plus.explain(X[:2])) == 2


def problem(n=150, d=8):
    rng = np.random.default_rng(0)
    F = rng.normal(size=(n, d))
    F[:, 1] = F[:, 0] + 0.01 * rng.normal(size=n)  # nearly the same feature
    F[:, 2] = rng.random(n) < 0.2
    return F, (F @ rng.normal(size=d) + rng.normal(size=n) > 0.5).astype(np.int8)


def gap(F, y, w, b, C):
    """How far the objective is above its optimum: half of g·H⁻¹g, in units of one per column."""
    scale = np.maximum(np.abs(F).max(axis=0), 1.0)
    A = np.column_stack([F / scale, np.ones(len(F))])
    u, r = np.append(w * scale, b), np.append(scale**-2.0, 0.0)
    p = expit(A @ u)
    g = C * A.T @ (p - y) + r * u
    H = C * (A.T * (p * (1 - p))) @ A + np.diag(r)
    return float(g @ np.linalg.solve(H, g)) / 2


SCALES = {
    "as they are": 1.0,
    "tiny": 1e-200,
    "small": 1e-3,
    "large": 1e4,
    "huge": 1e140,
    "mixed": 10.0 ** np.array([-6, 6, 0, 3, -3, 2, -2, 5]),
}


@pytest.mark.parametrize("C", [1e-3, 1.0, 1e4])
@pytest.mark.parametrize("how", ["direct", "gradients", "sparse"])
@pytest.mark.parametrize("scale", SCALES)
def test_solved_to_its_optimum(scale, how, C, monkeypatch):
    if how == "gradients":
        monkeypatch.setattr(_iblr, "DIRECT", 0)
    F, y = problem()
    F = F * SCALES[scale]
    found = Regressions(sparse.csr_array(F) if how == "sparse" else F, C).solve(y, 100)
    assert found.converged
    assert found.n_iter < 40
    assert gap(F, y, found.coef, found.intercept, C) < 1e-8


def test_the_optimum_is_that_of_a_plain_minimisation():
    F, y = problem()

    def objective(u):
        return np.logaddexp(0, -(2.0 * y - 1) * (F @ u[:-1] + u[-1])).sum() + u[:-1] @ u[:-1] / 2

    wanted = minimize(objective, np.zeros(9), method="BFGS", options={"gtol": 1e-7})
    found = Regressions(F, 1.0).solve(y, 100)
    assert_allclose(np.append(found.coef, found.intercept), wanted.x, atol=1e-4)
    assert objective(np.append(found.coef, found.intercept)) <= wanted.fun + 1e-10


def test_features_far_from_zero():
    F, y = problem()
    near, far = Regressions(F, 1.0).solve(y, 100), Regressions(F + 1e6, 1.0).solve(y, 100)
    assert_allclose(far.coef, near.coef, rtol=1e-6)


def test_separable_labels_and_constant_features():
    F = np.column_stack([np.arange(20.0), np.ones(20)])
    y = (F[:, 0] > 9.5).astype(np.int8)
    for C in (1.0, 1e8):
        found = Regressions(F, C).solve(y, 200)
        assert found.converged
        assert found.coef[1] == 0
        assert gap(F, y, found.coef, found.intercept, C) < 1e-8


@pytest.mark.parametrize("scale", [1e-4, 1.0, 1e4])
def test_of_iblrml(scale):
    F, y = problem()
    X, Y = F * scale, np.column_stack([y, F[:, 0] > 1]).astype(np.int8)
    learner = IBLRML(5, own_features=True).fit(X, Y)
    used = learner._features(*learner.graph_, X)
    for l in range(2):
        assert gap(used, Y[:, l], learner.coef_[l], learner.intercept_[l], 1.0) < 1e-8


def test_too_few_steps_give_a_warning():
    F, y = problem()
    with pytest.warns(UserWarning, match=r"1 of the 1 regressions of IBLRML .* max_iter=2 steps"):
        IBLRML(5, max_iter=2).fit(F, y[:, None])
