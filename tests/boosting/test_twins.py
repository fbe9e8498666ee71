"""Every round equals that of the loop written from the paper; the bounds hold."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import sparse

from plurilabel.boosting import AdaBoostMH, AdaBoostMR, ADTBoostMH, _bins
from plurilabel.metrics import hamming_loss, ranking_loss
from tests.boosting import twins


@st.composite
def problems(draw):
    """Small grids: ties in the values, missing values, constant features, rare labels."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, d, q = draw(st.integers(2, 14)), draw(st.integers(1, 3)), draw(st.integers(1, 4))
    X = rng.integers(-1, 4, size=(n, d)).astype(float)
    if draw(st.booleans()):
        X[rng.random((n, d)) < 0.2] = np.nan
    # weights off the grid of counts, so that different rules seldom tie by chance
    Y = (rng.random((n, q)) < rng.random(q)).astype(int)
    queries = rng.integers(-1, 5, size=(4, d)).astype(float)
    return X, Y, queries


def check(learner, X, Y, queries, history):
    learner.fit(X, Y)
    assert len(learner.rules_) == len(history)
    assert_allclose(learner.bound_, [product for _, product in history], rtol=1e-9)
    for f, (wanted, _) in zip(learner.staged_scores(queries), history):
        assert_allclose(f, wanted, rtol=1e-7, atol=1e-9)


@settings(max_examples=60, deadline=None)
@given(problems(), st.sampled_from(["real", "discrete", "abstain"]), st.booleans())
def test_adaboost_mh(problem, variant, presence):
    X, Y, queries = problem
    kind = "presence" if presence else "threshold"
    history = twins.adaboost_mh(
        X.tolist(), Y.tolist(), queries.tolist(), 5, variant=variant, presence=presence
    )
    learner = AdaBoostMH(5, variant=variant, rules=kind)
    check(learner, X, Y, queries, history)
    check(learner, sparse.csr_array(X), sparse.csr_array(Y), queries, history)


@settings(max_examples=30, deadline=None)
@given(problems(), st.sampled_from(["real", "discrete"]), st.integers(2, 3))
def test_adaboost_mh_with_trees(problem, variant, depth):
    X, Y, queries = problem
    history = twins.adaboost_mh(
        X.tolist(), Y.tolist(), queries.tolist(), 3, variant=variant, depth=depth
    )
    learner = AdaBoostMH(3, weak="tree", max_depth=depth, variant=variant)
    check(learner, X, Y, queries, history)


@settings(max_examples=40, deadline=None)
@given(problems(), st.sampled_from(["real", "discrete"]), st.booleans())
def test_adaboost_mr(problem, variant, presence):
    X, Y, queries = problem
    history = twins.adaboost_mr(
        X.tolist(), Y.tolist(), queries.tolist(), 5, variant=variant, presence=presence
    )
    learner = AdaBoostMR(5, variant=variant, rules="presence" if presence else "threshold")
    check(learner, X, Y, queries, history)


@settings(max_examples=40, deadline=None)
@given(problems(), st.booleans())
def test_adtboost_mh(problem, presence):
    X, Y, queries = problem
    history = twins.adtboost_mh(X.tolist(), Y.tolist(), queries.tolist(), 5, presence=presence)
    learner = ADTBoostMH(5, rules="presence" if presence else "threshold", max_bins=None)
    check(learner, X, Y, queries, history)
    check(learner, sparse.csr_array(X), Y, queries, history)


@settings(max_examples=40, deadline=None)
@given(
    problems(),
    st.sampled_from(
        [
            AdaBoostMH(8),
            AdaBoostMH(8, variant="discrete"),
            AdaBoostMH(8, variant="abstain"),
            AdaBoostMH(4, weak="tree"),
            AdaBoostMH(8, smoothing=0.01),
            ADTBoostMH(8),
        ]
    ),
)
def test_the_bound_dominates_the_training_hamming_loss(problem, learner):
    X, Y, _ = problem
    learner.fit(X, Y)
    assert learner.bound_[-1] >= hamming_loss(Y, learner.predict(X))
    for f, bound in zip(learner.staged_scores(X), learner.bound_):
        assert bound >= hamming_loss(Y, (f > 0).astype(int))
    assert (np.diff(learner.bound_) <= 0).all()


@settings(max_examples=40, deadline=None)
@given(problems(), st.sampled_from(["real", "discrete", "abstain"]))
def test_the_bound_of_mr_dominates_the_training_ranking_loss(problem, variant):
    X, Y, _ = problem
    learner = AdaBoostMR(8, variant=variant).fit(X, Y)
    for f, bound in zip(learner.staged_scores(X), learner.bound_):
        assert bound >= ranking_loss(Y, f) - 1e-12


@pytest.mark.parametrize("bins", [4, 9])
def test_few_bins_leave_sparse_and_dense_alike(bins):
    rng = np.random.default_rng(0)
    X = np.where(rng.random((80, 5)) < 0.4, rng.normal(size=(80, 5)), 0)
    Y = (X[:, :3] + 0.3 * rng.normal(size=(80, 3)) > 0.2).astype(int)
    dense = AdaBoostMH(8, max_bins=bins, rules="threshold").fit(X, Y)
    csr = AdaBoostMH(8, max_bins=bins, rules="threshold").fit(sparse.csr_array(X), Y)
    assert [r.splits for r in dense.rules_] == [r.splits for r in csr.rules_]
    assert_allclose(dense.decision_function(X), csr.decision_function(X), rtol=1e-10)


@pytest.mark.parametrize(
    "learner",
    [
        AdaBoostMH(6),
        AdaBoostMH(6, variant="discrete"),
        AdaBoostMH(6, variant="abstain"),
        AdaBoostMH(3, weak="tree"),
        AdaBoostMR(6),
        ADTBoostMH(6, max_bins=None),
    ],
    ids=repr,
)
@pytest.mark.parametrize("how", ["dense", "sparse", "missing", "ties"])
def test_looking_into_coarse_bins_finds_every_cut(learner, how, monkeypatch):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(70, 4))
    Y = (X[:, :3] + rng.normal(size=(70, 3)) > 0.4).astype(int)
    learner.set_params(rules="threshold")
    if how == "sparse":
        X = sparse.csr_array(np.where(rng.random(X.shape) < 0.5, X, 0))
    elif how == "missing":
        X[rng.random(X.shape) < 0.2] = np.nan
    elif how == "ties":
        X = np.round(X, 1)
    every = learner.fit(X, Y).to_text(max_labels=3)
    for coarse in (4, 7):
        monkeypatch.setattr(_bins, "COARSE", coarse)
        assert any(chunk.values is not None for chunk in learner._bins(X, 3)._chunks)
        assert learner.fit(X, Y).to_text(max_labels=3) == every
