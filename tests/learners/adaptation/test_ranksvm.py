"""Rank-SVM against quadratic programmes over all pairs, and against Yeast's table."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.optimize import linprog, lsq_linear, minimize
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel
from sklearn.svm import SVC

from benchmarks.papers import load_paper
from plurilabel import LinearThreshold, RankSVM
from plurilabel.datasets import load
from plurilabel.evaluation import MULTILABEL_CHECKS, compare
from plurilabel.learners.adaptation import _ranksvm_solver
from plurilabel.learners.adaptation._ranksvm_hinge import LabelSets, pairwise_hinge, project
from plurilabel.learners.adaptation._ranksvm_kernel import BlockGram, LinearGram, kernel_matrix
from plurilabel.learners.adaptation._ranksvm_solver import balance
from plurilabel.metrics import ranking_loss


@pytest.mark.parametrize("check", MULTILABEL_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("learner", [RankSVM(kernel="rbf", C=10.0)], ids=repr)
def test_multilabel_checks(learner, check):
    check(learner)


# pairs ---------------------------------------------------------------------------------------


def pairs_of(y):
    return [(k, l) for k in np.flatnonzero(y) for l in np.flatnonzero(~y)]


def signs(y):
    """(q, pairs): +1 for the label of a pair, -1 for the other."""
    A = np.zeros((len(y), len(pairs_of(y))))
    for p, (k, l) in enumerate(pairs_of(y)):
        A[k, p], A[l, p] = 1, -1
    return A


@st.composite
def rows(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, q = draw(st.integers(1, 4)), draw(st.integers(2, 7))
    Y = rng.random((n, q)) < 0.5
    Y[:, 0], Y[:, 1] = True, False
    w = rng.normal(size=(n, q)) * draw(st.sampled_from([0.1, 1.0, 10.0]))
    if draw(st.booleans()):  # ties
        w = np.round(w)
    return w, Y, rng.choice([0.1, 0.5, 1.0], size=n)


@settings(max_examples=40, deadline=None)
@given(rows(), st.booleans())
def test_projection_and_loss_against_all_pairs(case, all_known):
    w, Y, c = case
    known = all_known | (np.arange(Y.shape[1]) < 2) | (w > 0)
    sets = LabelSets(Y & known, ~Y & known, c)
    beta, groups = project(w, sets)
    loss = 0.0
    for i, some in enumerate(known):
        y, own_w = Y[i, some], w[i, some]
        found = lsq_linear(signs(y), own_w, bounds=(0, c[i]), method="bvls", tol=1e-14)
        assert_allclose(beta[i, some], signs(y) @ found.x, atol=1e-9)
        assert not beta[i, ~some].any()
        loss += c[i] * sum(max(0.0, 1 - own_w[k] + own_w[l]) for k, l in pairs_of(y))
        own = groups.row == i
        assert not np.isin(groups.number[own], groups.number[~own]).any()
    assert_allclose(pairwise_hinge(w, sets), loss, rtol=1e-12)


def test_derivative_of_the_projection_takes_away_group_means():
    rng = np.random.default_rng(0)
    Y = rng.random((50, 8)) < 0.4
    Y[:, 0], Y[:, 1] = True, False
    c = 1.0 / (Y.sum(axis=1) * (~Y).sum(axis=1))
    sets = LabelSets(Y, ~Y, c)
    w, d = 0.1 * rng.normal(size=Y.shape), rng.normal(size=Y.shape)
    beta, groups = project(w, sets)
    entry, wanted = (groups.row, groups.column), np.zeros_like(d)
    wanted[entry] = groups.centred(d[entry])
    step = 1e-7
    assert_allclose((project(w + step * d, sets)[0] - beta) / step, wanted, atol=1e-7)
    assert (groups.size > 1).all()
    assert 0 < groups.size.sum() < w.size  # some labels move together, some alone


def test_projection_of_equal_numbers_ends():
    # rounding must not split a segment for ever
    Y = np.tile([True, True, False, False, True], (2000, 1))
    w = np.full(Y.shape, 0.1) + np.random.default_rng(0).normal(size=Y.shape) * 1e-17
    assert_allclose(project(w, LabelSets(Y, ~Y, np.full(2000, 0.3)))[0], 0, atol=1e-14)


def test_balance_is_the_nearest_feasible_point():
    rng = np.random.default_rng(1)
    Y = rng.random((40, 4)) < 0.5
    Y = Y[Y.any(axis=1) & ~Y.all(axis=1)]
    sets = LabelSets(Y, ~Y, np.ones(len(Y)))
    beta, _ = project(rng.normal(size=Y.shape) + 0.3, sets)
    found = balance(beta, sets)
    assert_allclose(found.sum(axis=0), 0, atol=1e-12)
    assert_allclose(project(found, sets)[0], found, atol=1e-12)
    # the residual beta - found makes no acute angle with any way into the feasible set
    for _ in range(50):
        other = balance(project(2 * rng.normal(size=Y.shape), sets)[0], sets)
        assert np.vdot(beta - found, other - found) <= 1e-9


# quadratic programmes ------------------------------------------------------------------------


def dual_programme(K, Y, C):
    """The paper's dual over all pairs: Hessian, boxes, and the sums that must be 0."""
    n, q = Y.shape
    A, upper = [], []
    for i, y in enumerate(Y):
        if y.any() and not y.all():
            for column in signs(y).T:
                full = np.zeros((n, q))
                full[i] = column
                A.append(full.ravel())
                upper.append(C / (y.sum() * (~y).sum()))
    A = np.array(A).T  # (n q, pairs)
    H = A.T @ np.kron(K, np.eye(q)) @ A
    sums = A.reshape(n, q, -1).sum(axis=0)  # (q, pairs)
    return A, H, np.array(upper), sums


def primal(K, Y, C, beta, b):
    loss = 0.0
    for y, z in zip(Y, K @ beta + b):
        if y.any() and not y.all():
            loss += sum(max(0.0, 1 - z[k] + z[l]) for k, l in pairs_of(y)) / len(pairs_of(y))
    return 0.5 * np.trace(beta.T @ K @ beta) + C * loss


def problem(n, d, q, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    Y = X @ rng.normal(size=(d, q)) + 0.7 * rng.normal(size=(n, q)) > 0.2
    Y[0], Y[1] = True, False  # no pairs
    Y[2], Y[3] = np.arange(q) % 2 == 0, np.arange(q) % 2 == 1
    return X, Y


KERNELS = {
    "linear": (lambda A, B: A @ B.T, {}),
    "poly": (lambda A, B: polynomial_kernel(A, B, degree=2, gamma=0.5, coef0=1.0),
             {"degree": 2, "gamma": 0.5}),
    "rbf": (lambda A, B: rbf_kernel(A, B, gamma=0.4), {"gamma": 0.4}),
}  # fmt: skip


@pytest.mark.parametrize("C", [0.1, 5.0])
@pytest.mark.parametrize("kernel", KERNELS)
def test_objective_of_a_small_programme(kernel, C):
    X, Y = problem(9, 2, 3, seed=4)
    K = KERNELS[kernel][0](X, X)
    A, H, upper, sums = dual_programme(K, Y, C)
    solved = minimize(
        lambda a: 0.5 * a @ H @ a - a.sum(),
        np.zeros(len(upper)),
        jac=lambda a: H @ a - 1,
        bounds=[(0, u) for u in upper],
        constraints={"type": "eq", "fun": lambda a: sums[:-1] @ a, "jac": lambda _: sums[:-1]},
        method="SLSQP",
        options={"ftol": 1e-12, "maxiter": 1000},
    )
    assert solved.success
    learner = RankSVM(kernel=kernel, C=C, tol=1e-8, **KERNELS[kernel][1]).fit(X, Y.astype(int))
    assert_allclose(learner.objective_, -solved.fun, rtol=1e-5)
    beta = np.zeros(Y.shape)
    beta[learner.support_] = learner.dual_coef_
    assert_allclose(primal(K, Y, C, beta, learner.intercept_), learner.objective_, rtol=1e-9)
    assert_allclose(K @ beta, K @ (A @ solved.x).reshape(Y.shape), atol=1e-3)
    assert_allclose(learner.intercept_.sum(), 0, atol=1e-9)
    assert not np.isin([0, 1], learner.support_).any()


def general_solver(H, upper, sums):
    """The dual programme by a general QP solver: its solution."""
    clarabel = pytest.importorskip("clarabel", reason="the general QP solver is in the test extra")
    n_pairs = len(upper)
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-10
    eye = sparse.identity(n_pairs, format="csc")
    solver = clarabel.DefaultSolver(
        sparse.csc_matrix(np.triu(H)),
        -np.ones(n_pairs),
        sparse.csc_matrix(sparse.vstack([sparse.csc_matrix(sums[:-1]), eye, -eye])),
        np.r_[np.zeros(len(sums) - 1), upper, np.zeros(n_pairs)],
        [clarabel.ZeroConeT(len(sums) - 1), clarabel.NonnegativeConeT(2 * n_pairs)],
        settings,
    )
    return solver.solve()


@pytest.mark.parametrize("C", [0.1, 1.0, 30.0])
@pytest.mark.parametrize("kernel", KERNELS)
def test_scores_of_a_general_solver(kernel, C):
    X, Y = problem(60, 3, 5, seed=int(10 * C))
    make, params = KERNELS[kernel]
    K = make(X, X)
    A, H, upper, sums = dual_programme(K, Y, C)
    solved = general_solver(H, upper, sums)
    b = np.r_[np.array(solved.z)[: len(sums) - 1], 0.0]  # multipliers of the sums
    learner = RankSVM(kernel=kernel, C=C, threshold=None, tol=1e-9, **params)
    learner.fit(X, Y.astype(int))
    assert_allclose(learner.objective_, -solved.obj_val, rtol=1e-5)
    queries = np.random.default_rng(0).normal(size=(20, 3))
    wanted = make(queries, X) @ (A @ np.array(solved.x)).reshape(Y.shape)
    found = learner.ranking_function(queries) - learner.intercept_
    assert_allclose(found, wanted, atol=1e-3)
    beta = np.zeros(Y.shape)
    beta[learner.support_] = learner.dual_coef_
    with_theirs = primal(K, Y, C, beta, b)  # biases need not be unique, their objective is
    assert_allclose(with_theirs, learner.objective_, rtol=1e-4)


def least_loss(A, X, upper):
    """The linear programme that is left if weights cost nothing."""
    n = len(X)
    q = len(A) // n
    features = np.kron(np.column_stack([X, np.ones(n)]), np.eye(q))  # (n q, (d + 1) q)
    margins = A.T @ features
    n_pairs, n_weights = margins.shape
    solved = linprog(
        np.r_[np.zeros(n_weights), upper],
        A_ub=np.column_stack([-margins, -np.eye(n_pairs)]),
        b_ub=-np.ones(n_pairs),
        bounds=[(None, None)] * n_weights + [(0, None)] * n_pairs,
    )
    assert solved.success
    return solved.fun


@pytest.mark.parametrize("C", [1e-4, 1.0, 1e4])
@pytest.mark.parametrize("scale", [1e-6, 1e-3, 1.0, 1e3, 1e6])
@pytest.mark.parametrize("kernel", ["linear", "precomputed"])
def test_optimum_at_any_scale(kernel, scale, C):
    X, Y = problem(60, 3, 4, seed=1)
    given = scale * X if kernel == "linear" else scale**2 * (X @ X.T)
    learner = RankSVM(kernel=kernel, C=C, threshold=None).fit(given, Y.astype(int))
    # scale K and divide C: the optimum is divided. So all is one family, in C scale^2
    size, K = C * scale**2, X @ X.T
    A, H, upper, sums = dual_programme(K, Y, 1.0)
    if size < 1e6:
        solved = general_solver(size * H, upper, sums)  # alpha / C, objective / C
        assert str(solved.status) in ("Solved", "AlmostSolved")
        assert_allclose(learner.objective_, -C * solved.obj_val, rtol=1e-5)
    else:  # nothing but the loss
        assert_allclose(learner.objective_, C * least_loss(A, X, upper), rtol=1e-4)
    assert -1e-12 <= learner.dual_gap_ <= 1e-6
    beta = np.zeros(Y.shape)
    beta[learner.support_] = learner.dual_coef_
    value = primal(scale**2 * K, Y, C, beta, learner.intercept_)
    assert_allclose(value, learner.objective_, rtol=1e-6)


@pytest.mark.parametrize("C", [1e-3, 0.1])
def test_proximal_steps_reach_the_same_optimum(C, monkeypatch):
    X, Y = problem(30, 3, 4, seed=2)
    wanted = RankSVM(C=C).fit(X, Y.astype(int))
    monkeypatch.setattr(_ranksvm_solver, "FEW_WEIGHTS", 0)
    found = RankSVM(C=C).fit(X, Y.astype(int))
    assert_allclose(found.objective_, wanted.objective_, rtol=2e-6)
    assert max(found.dual_gap_, wanted.dual_gap_) <= 1e-6


@pytest.mark.parametrize("hidden", [0.0, 0.3])
@pytest.mark.parametrize("form", ["linear", "wide", "precomputed"])
def test_splitting_reaches_the_same_optimum(form, hidden, monkeypatch):
    X, Y = problem(30, 3, 4, seed=2)
    if form == "wide":
        X = np.column_stack([X, np.random.default_rng(0).normal(size=(30, 40))])
    Y = np.where(np.random.default_rng(1).random(Y.shape) < hidden, np.nan, Y)
    given, kernel = (X @ X.T, form) if form == "precomputed" else (sparse.csr_array(X), "linear")
    learner = RankSVM(kernel=kernel, C=2.0)
    wanted = learner.fit(given, Y).objective_
    monkeypatch.setattr(_ranksvm_solver, "FEW_WEIGHTS", 0)
    proposed = []
    points = _ranksvm_solver.split_points
    monkeypatch.setattr(
        _ranksvm_solver, "split_points", lambda *given: proposed.append(given) or points(*given)
    )
    learner.fit(given, Y)
    assert proposed
    assert_allclose(learner.objective_, wanted, rtol=2e-6)
    assert -1e-12 <= learner.dual_gap_ <= 1e-6


def test_splitting_gives_way_where_it_never_ends():
    """The two sides of this problem do not meet; the value is that of proximal steps alone."""
    random = np.random.default_rng(4)
    X = random.normal(size=(110, 115))
    X[random.random(110) < 0.4] = 0
    Y = np.zeros((110, 39), dtype=int)
    Y[np.arange(110), random.integers(0, 39, 110)] = 1
    learner = RankSVM(C=0.15, threshold=None).fit(X, Y)
    assert learner.objective_ == pytest.approx(5.05664, rel=1e-5)
    assert learner.dual_gap_ <= 1e-6


@pytest.mark.parametrize("form", ["sparse", "precomputed"])
def test_splitting_leaves_to_the_biases_what_instances_share(form):
    random = np.random.default_rng(0)
    X = random.normal(size=(142, 145))
    Y = (X @ random.normal(size=(145, 30)) > 12).astype(int)
    shifted = X @ X.T + 1e6
    if form == "sparse":
        shifted = sparse.csr_array(np.column_stack([X, np.full(142, 1e3)]))
    kernel = "precomputed" if form == "precomputed" else "linear"
    found = RankSVM(C=0.01, kernel=kernel, threshold=None).fit(shifted, Y)
    wanted = RankSVM(C=0.01, threshold=None).fit(X, Y)
    assert found.objective_ == pytest.approx(wanted.objective_, rel=3e-6)


def test_a_shift_of_the_features_moves_the_biases_only():
    X, Y = problem(60, 3, 4, seed=2)
    wanted = RankSVM(threshold=None).fit(X, Y.astype(int))
    found = RankSVM(threshold=None).fit(X + 1e6, Y.astype(int))
    assert_allclose(found.objective_, wanted.objective_, rtol=2e-6)
    assert_allclose(found.decision_function(X + 1e6), wanted.decision_function(X), atol=1e-2)


@pytest.mark.filterwarnings("ignore::RuntimeWarning:numpy", "ignore:RankSVM stopped")
@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf"])
@pytest.mark.parametrize("scale", [1e-308, 1e-160, 1e-100, 1e100, 1e200, 1e308])
def test_extreme_features(kernel, scale):
    X, Y = problem(30, 2, 3, seed=3)
    X = np.clip(X, -1, 1)
    fits = scale < 1e200 and (kernel == "linear" or scale != 1e-160)
    if not fits:
        with pytest.raises(ValueError, match="scale the features"):
            RankSVM(kernel=kernel).fit(scale * X, Y.astype(int))
        return
    learner = RankSVM(kernel=kernel).fit(scale * X, Y.astype(int))
    assert np.isfinite(learner.decision_function(scale * X)).all()
    if scale < 1:  # which a linear kernel cannot see
        assert learner.dual_gap_ <= 1e-6
    elif kernel == "linear":  # all that counts is the loss
        A, _, upper, _ = dual_programme(X @ X.T, Y, 1.0)
        assert_allclose(learner.objective_, least_loss(A, X, upper), rtol=1e-4)


def test_two_classes_are_a_support_vector_machine():
    # one pair per instance, w_1 = -w_0: |w_0|^2 + C sum max(0, 1 -+ 2 f), SVC's with twice f
    rng = np.random.default_rng(5)
    X = rng.normal(size=(80, 3))
    y = (X[:, 0] + rng.normal(size=80) > 0).astype(int)
    mine = RankSVM(kernel="rbf", gamma=0.5, C=2.0, tol=1e-9).fit(X, y)
    theirs = SVC(kernel="rbf", gamma=0.5, C=4.0, tol=1e-8).fit(X, y)
    assert_allclose(mine.decision_function(X), theirs.decision_function(X), atol=1e-3)


def test_gap_bounds_the_distance_to_the_optimum():
    X, Y = problem(80, 4, 5, seed=3)
    best = RankSVM(C=3.0, tol=1e-10).fit(X, Y.astype(int)).objective_
    for steps in (1, 3, 5):
        with pytest.warns(ConvergenceWarning, match=f"after {steps} steps with a duality gap"):
            learner = RankSVM(C=3.0, tol=0.0, max_iter=steps).fit(X, Y.astype(int))
        assert learner.n_iter_ == steps
        excess = (learner.objective_ - best) / learner.objective_
        assert -1e-9 <= excess <= learner.dual_gap_ + 1e-9


# forms of X ----------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", KERNELS)
def test_every_form_of_the_kernel_is_the_same(kernel):
    X, Y = problem(70, 4, 4, seed=2)
    X[np.abs(X) < 0.4] = 0
    make, params = KERNELS[kernel]
    wanted = RankSVM(kernel=kernel, tol=1e-9, **params).fit(X[:50], Y[:50].astype(int))
    scores = wanted.ranking_function(X[50:])
    forms = [
        (RankSVM(kernel=make, tol=1e-9), X[:50], X[50:]),
        (RankSVM(kernel="precomputed", tol=1e-9), make(X[:50], X[:50]), make(X[50:], X[:50])),
        (RankSVM(kernel=kernel, tol=1e-9, **params), sparse.csr_array(X[:50]),
         sparse.csr_matrix(X[50:])),
        (RankSVM(kernel=kernel, tol=1e-9, cache_size=0.01, **params), X[:50], X[50:]),
    ]  # fmt: skip
    for learner, train, test in forms:
        learner.fit(train, Y[:50].astype(int))
        assert_allclose(learner.ranking_function(test), scores, atol=1e-3)
        assert_allclose(learner.objective_, wanted.objective_, rtol=1e-7)
    if kernel == "linear":
        f = X[50:] @ wanted.coef_.T + wanted.intercept_
        assert_allclose(wanted.ranking_function(X[50:]), f)


@pytest.mark.parametrize("megabytes", [1e-6, 0.01, 0.03, 10.0])
def test_blocks_of_the_kernel_matrix(megabytes):
    X = np.random.default_rng(0).normal(size=(60, 3))
    K = BlockGram(X, lambda A, B: kernel_matrix(A, B, "rbf", {"gamma": 0.3}), megabytes * 2**20)
    V = np.random.default_rng(1).normal(size=(60, 4))
    assert_allclose(K @ V, rbf_kernel(X, gamma=0.3) @ V)
    assert_allclose(K.diagonal, 1)
    assert sum(block.nbytes for block in K.kept) <= megabytes * 2**20


@pytest.mark.parametrize("share", [0.1, 0.9])
@pytest.mark.parametrize("form", ["dense", "sparse", "kept", "blocks"])
def test_products_of_some_entries(form, share):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 7)) * (rng.random((60, 7)) < 0.4)
    if form in ("dense", "sparse"):
        K = LinearGram(X if form == "dense" else sparse.csr_array(X))
    else:
        limit = np.inf if form == "kept" else 1e4
        K = BlockGram(X, lambda A, B: kernel_matrix(A, B, "linear", {}), limit)
    V = rng.normal(size=(60, 5)) * (rng.random((60, 5)) < share)
    row, column = (index[::-1] for index in np.nonzero(V))  # in any order
    found = K.among(row, column, 5)(V[row, column])
    assert_allclose(found, (X @ X.T @ V)[row, column], atol=1e-12)


def test_gamma_is_that_of_scikit_learn():
    X, Y = problem(40, 4, 3, seed=8)
    Y = Y.astype(int)
    for gamma, value in (("auto", 0.25), ("scale", 1 / (4 * X.var()))):
        wanted = RankSVM(kernel="rbf", gamma=value).fit(X, Y).decision_function(X)
        for form in (X, sparse.csr_array(X)):
            found = RankSVM(kernel="rbf", gamma=gamma).fit(form, Y).decision_function(form)
            assert_allclose(found, wanted, atol=1e-3)


# labels --------------------------------------------------------------------------------------


def test_threshold_shifts_the_scores_of_an_instance():
    X, Y = problem(60, 3, 4, seed=6)
    learner = RankSVM(C=5.0).fit(X, Y.astype(int))
    f = learner.ranking_function(X)
    cut = LinearThreshold(digits=7).fit(f, Y.astype(int))
    assert_allclose(learner.threshold_.coef_, cut.coef_)
    assert_array_equal(learner.predict(X), cut.predict(f))
    assert_allclose(np.ptp(f - learner.decision_function(X), axis=1), 0, atol=1e-12)
    bare = RankSVM(C=5.0, threshold=None).fit(X, Y.astype(int))
    assert bare.threshold_ is None
    assert_array_equal(bare.decision_function(X), f)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_threshold_does_not_depend_on_rounding(kernel):
    """The scores of an instance sum to 0, except for rounding errors, which are no feature."""
    for seed in range(3):
        X, Y = problem(30, 8, 6, seed=seed)
        new = np.random.default_rng(seed).normal(size=(300, 8))
        learner = RankSVM(kernel=kernel).fit(X, Y.astype(int))
        f = learner.ranking_function(new)
        assert_allclose(f.sum(axis=1), 0, atol=1e-10)
        assert abs(learner.threshold_.coef_).max() < 10
        assert_allclose(learner.threshold_.coef_.sum(), 0, atol=1e-9)  # of least norm
        again = RankSVM(kernel=kernel).fit(X.astype(np.float32), Y.astype(int))
        assert_allclose(again.threshold_.coef_, learner.threshold_.coef_, atol=1e-4)
        assert_array_equal(again.predict(new.astype(np.float32)), learner.predict(new))


def test_instances_without_pairs_drop_out():
    X, Y = problem(50, 3, 4, seed=7)
    Y = Y.astype(int)
    rest = np.setdiff1d(np.arange(50), np.flatnonzero(np.isin(Y.sum(axis=1), (0, 4))))
    assert len(rest) < 49
    every, some = RankSVM().fit(X, Y), RankSVM().fit(X[rest], Y[rest])
    assert_array_equal(rest[some.support_], every.support_)
    assert_allclose(every.coef_, some.coef_)


def test_constant_labels_come_first_and_last():
    X, Y = problem(50, 3, 6, seed=9)
    Y = Y.astype(int)
    Y[:, 1], Y[:, 4] = 0, 1
    for threshold in ("linear", None):
        learner = RankSVM(threshold=threshold).fit(X, Y)
        for scores in (learner.ranking_function(X), learner.decision_function(X)):
            assert_array_equal(scores.argmin(axis=1), 1)
            assert_array_equal(scores.argmax(axis=1), 4)
        predicted = learner.predict(X)
        assert not predicted[:, 1].any() and predicted[:, 4].all()
    assert_array_equal(RankSVM().fit(X, Y[:, [1, 4]]).predict(X), Y[:, [1, 4]])


def test_labels_that_biases_alone_can_rank():
    # label 1 never comes without label 0: a margin of biases, no weights, no loss
    X = np.random.default_rng(0).normal(size=(30, 2))
    Y = np.array([[1, 0], [1, 1], [0, 0]] * 10)
    learner = RankSVM().fit(X, Y)
    assert_allclose(learner.objective_, 0, atol=1e-8)
    assert_allclose(learner.coef_, 0, atol=1e-8)
    assert learner.intercept_[0] - learner.intercept_[1] >= 1 - 1e-8


def test_biases_are_levels_of_the_order():
    # a before b and c, b and c before d: the longest way counts, whatever the scale
    Y = np.array([[1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0]])
    for scale in (1e-6, 1.0, 1e6):
        learner = RankSVM(threshold=None).fit(scale * np.eye(3), Y)
        assert_array_equal(learner.dual_coef_.ravel(), [])
        assert learner.objective_ == learner.dual_gap_ == 0
        varying = learner.decision_function(np.zeros((1, 3)))[0, 1:3]
        assert varying[0] - varying[1] >= 1


def test_the_advice_of_the_warning_helps():
    X, Y = problem(80, 4, 5, seed=3)
    with pytest.warns(ConvergenceWarning, match="Increase max_iter, lower C, or scale"):
        worse = RankSVM(C=1e4, max_iter=8).fit(X, Y.astype(int))
    for params, factor in (({"C": 1e4}, 1), ({"C": 1e2}, 1), ({"C": 1e4}, 0.1)):
        steps = 100 if params["C"] == 1e4 and factor == 1 else 8
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            learner = RankSVM(**params, max_iter=steps).fit(factor * X, Y.astype(int))
        assert learner.dual_gap_ < worse.dual_gap_


def test_one_instance_and_one_feature_of_zeros():
    learner = RankSVM().fit([[1.0, 2.0]], [[1, 0]])
    assert_array_equal(learner.predict([[5.0, 5.0]]), [[1, 0]])
    learner = RankSVM().fit(np.zeros((6, 1)), [[1, 0], [1, 0], [0, 1]] * 2)
    assert ranking_loss([[1, 0]], learner.decision_function([[0.0]])) == 0


@pytest.mark.parametrize(
    ("params", "X", "message"),
    [
        ({"kernel": "precomputed"}, np.ones((6, 4)), r"square kernel matrix .* got \(6, 4\)"),
        ({"kernel": "precomputed"}, np.triu(np.ones((6, 6))), "symmetric kernel matrix"),
        ({"kernel": "precomputed"}, -np.eye(6), "kernel must be positive semi-definite"),
        ({"kernel": lambda *_: np.ones(3)}, np.ones((6, 2)), r"shape \(4, 4\), got \(3,\)"),
        ({"kernel": lambda A, B: np.full((len(A), len(B)), np.nan)}, np.ones((6, 2)), "finite"),
        ({"kernel": "cubic"}, np.ones((6, 2)), "kernel"),
        ({"C": 0}, np.ones((6, 2)), "C"),
        ({}, np.full((6, 2), np.inf), "infinity"),
    ],
)
def test_bad_input(params, X, message):
    Y = np.array([[1, 0], [0, 1], [1, 1]] * 2)
    with pytest.raises(ValueError, match=message):
        RankSVM(**params).fit(X, Y)


def test_far_from_zero_and_other_parameters_after_fit():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(40, 3)), rng.integers(0, 2, (40, 3))
    plain = RankSVM(kernel="rbf", gamma=0.5).fit(X, Y)
    moved = RankSVM(kernel="rbf", gamma=0.5).fit(X + 1e6, Y)
    scores = plain.decision_function(X)
    assert_allclose(moved.decision_function(X + 1e6), scores, atol=1e-3)
    assert_array_equal(plain.set_params(kernel="linear").decision_function(X), scores)


# labels that are not known -------------------------------------------------------------------


def known_pairs_programme(X, Y, C):
    """Minimum of the objective over weights, biases and slacks of all known pairs."""
    clarabel = pytest.importorskip("clarabel", reason="the general QP solver is in the test extra")
    d, q = X.shape[1], Y.shape[1]
    margins, cost = [], []
    for x, y in zip(X, Y):
        pairs = [(k, l) for k in np.flatnonzero(y == 1) for l in np.flatnonzero(y == 0)]
        for k, l in pairs:
            W = np.zeros((q, d + 1))
            W[k], W[l] = np.r_[x, 1], -np.r_[x, 1]
            margins.append(W.ravel())
            cost.append(C / len(pairs))
    if not cost:
        return 0.0, np.zeros((q, d))
    n_w, n_p = q * (d + 1), len(cost)
    P = np.zeros(n_w + n_p)
    P[:n_w] = np.tile(np.r_[np.ones(d), 1e-9], q)  # biases cost nothing, but have a solution
    rows = np.vstack([np.hstack([-np.array(margins), -np.eye(n_p)]), -np.eye(n_w + n_p)[n_w:]])
    quiet = clarabel.DefaultSettings()
    quiet.verbose = False
    problem = sparse.diags(P).tocsc(), np.r_[np.zeros(n_w), cost], sparse.csc_matrix(rows)
    right, cone = np.r_[-np.ones(n_p), np.zeros(n_p)], [clarabel.NonnegativeConeT(2 * n_p)]
    solved = clarabel.DefaultSolver(*problem, right, cone, quiet).solve()
    return solved.obj_val, np.array(solved.x)[:n_w].reshape(q, d + 1)[:, :d]


def with_one_more(Y):
    """One more label, which tells known labels of one kind apart, where not all are known."""
    more = []
    for y in Y:
        known = set(y[~np.isnan(y)])
        one_kind = len(known) == 1 and np.isnan(y).any()
        more.append(1 - known.pop() if one_kind else np.nan)
    return np.column_stack([Y, more])


@pytest.mark.parametrize("few", [2**12, 0])
@pytest.mark.parametrize("hidden", ["anywhere", "two tables"])
def test_known_pairs_against_a_general_solver(hidden, few, monkeypatch):
    monkeypatch.setattr(_ranksvm_solver, "FEW_WEIGHTS", few)
    X, Y = problem(40, 3, 5, seed=11)
    Y = Y.astype(float)
    if hidden == "anywhere":
        Y[np.random.default_rng(0).random(Y.shape) < 0.4] = np.nan
    else:  # no pair connects the labels of one with those of the other
        Y[:20, 3:], Y[20:, :3] = np.nan, np.nan
    has, lacks = (Y == 1).any(axis=1), (Y == 0).any(axis=1)
    if hidden == "anywhere":
        assert set(with_one_more(Y)[:, -1]) >= {0, 1}
        objective, W = known_pairs_programme(X, with_one_more(Y), 0.5)
    else:
        X, Y = X[has & lacks], Y[has & lacks]
        objective, W = known_pairs_programme(X, Y, 0.5)
    learner = RankSVM(C=0.5, tol=1e-8).fit(X, Y)
    assert learner.dual_gap_ <= 1e-8
    assert_allclose(learner.objective_, objective, rtol=1e-5)
    assert_allclose(learner.coef_, W[:5], atol=2e-3)
    assert_allclose(learner.intercept_.sum(), 0, atol=1e-9)
    cut = LinearThreshold(digits=7).fit(learner.ranking_function(X), Y)
    assert_allclose(learner.threshold_.coef_, cut.coef_)


@pytest.mark.parametrize("constant", [0, 1, np.nan])
@pytest.mark.parametrize("seed", range(8))
def test_known_pairs_beside_a_constant_label(seed, constant):
    """Its pairs cost nothing, but an instance that knows it has one more label, of that kind."""
    rng = np.random.default_rng(seed)
    q = int(rng.integers(2, 5))
    X = rng.normal(size=(12, 2))
    Y = (X @ rng.normal(size=(2, q)) + 0.5 * rng.normal(size=(12, q)) > 0).astype(float)
    Y[:, 0] = constant
    Y[rng.random(Y.shape) < 0.5] = np.nan
    objective, W = known_pairs_programme(X, with_one_more(Y), 2.0)
    learner = RankSVM(C=2.0, tol=1e-8).fit(X, Y)
    assert_allclose(learner.objective_, objective, rtol=1e-5, atol=1e-6)
    assert_allclose(learner.coef_, W[:q], atol=2e-3)


def test_constant_labels_and_known_labels_of_one_kind():
    X, gap = [[-1.0], [1.0], [-2.0], [2.0]], np.nan
    # of a table with one label: the other is not known to anyone
    Y = np.array([[0, gap], [1, gap], [0, gap], [1, gap]])
    learner = RankSVM(C=10).fit(X, Y)
    assert_allclose(learner.objective_, 0.25, rtol=1e-6)
    assert_array_equal(learner.predict(X), np.nan_to_num(Y))
    # all have the first label: every pair is with it, or with a label that no one has
    learner.fit(X, [[1, 0, gap], [1, 1, gap], [1, gap, 0], [1, gap, 1]])
    assert learner.objective_ == 0
    assert_array_equal(learner.coef_, 0)


def test_labels_that_are_never_known_and_always_present():
    X, Y = problem(40, 3, 5, seed=12)
    Y = Y.astype(float)
    Y[:, 0], Y[5:10] = np.nan, np.nan
    Y[:, 1] = np.where(Y[:, 2] == 1, 1, np.nan)
    learner = RankSVM().fit(X, Y)
    predicted = learner.predict(X)
    assert not predicted[:, 0].any() and predicted[:, 1].all()
    assert not np.isin(np.arange(5, 10), learner.support_).any()
    none = RankSVM().fit(X, np.full(Y.shape, np.nan))
    assert not none.predict(X).any() and np.isfinite(none.decision_function(X)).all()


# real data -----------------------------------------------------------------------------------


def test_emotions_as_in_the_file(data_folder):
    """Features of very different size and far from zero; nothing is scaled."""
    X, _, Y, _ = load("emotions").holdout()
    learner = RankSVM().fit(X, Y)
    assert learner.dual_gap_ <= 1e-6
    assert_allclose(learner.objective_, 117.2929, rtol=1e-5)


def test_yeast_as_published(data_folder):
    """Table II of the ML-kNN paper: polynomial kernel of degree 8, C = 1, hold-out 1500/917."""
    learner = RankSVM(kernel="poly", degree=8, C=1.0, tol=1e-3)
    (cell,) = compare("yeast", learner, n_jobs=None).cells
    assert cell["status"] == "ok" and cell["warnings"] == []
    for name, value in load_paper("ml-knn").table("table II").row("Rank-SVM").published.items():
        worse = (value - cell["scores"][name]) * (1 if name == "average_precision" else -1)
        assert worse <= (0.15 if name == "coverage" else 0.01), name
