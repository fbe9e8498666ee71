"""Data, learners and checks that the tests of the boosted learners share."""

import numpy as np
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from plurilabel import AdaBoostMH, AdaBoostMR, ADTBoostMH
from plurilabel.evaluation import compare
from plurilabel.metrics import get_measure

EACH = [AdaBoostMH(6), AdaBoostMH(4, weak="tree"), AdaBoostMR(6), ADTBoostMH(6)]


def data(n=120, d=5, q=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    Y = (X[:, :q] + 0.7 * rng.normal(size=(n, q)) > 0.3).astype(int)
    return X, Y


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


def assert_rounds(learner, X, Y, queries, history):
    """Every round equals that of the loop written from the paper."""
    learner.fit(X, Y)
    assert len(learner.rules_) == len(history)
    assert_allclose(learner.bound_, [product for _, product in history], rtol=1e-9)
    for f, (wanted, _) in zip(learner.staged_scores(queries), history):
        assert_allclose(f, wanted, rtol=1e-7, atol=1e-9)


def f_of(learner, X):
    """The sum of the rules, before any cut."""
    if isinstance(learner, AdaBoostMR):
        return learner.ranking_function(X)
    return learner.decision_function(X)


def figures(learner, dataset):
    """All measures on the published split."""
    (cell,) = compare(dataset, learner, n_jobs=None).cells
    return cell["scores"]


def worse_by(found, row):
    """How much worse than published, by measure."""
    sign = {name: 1 if get_measure(name).greater_is_better else -1 for name in row.published}
    return {name: sign[name] * (value - found[name]) for name, value in row.published.items()}
