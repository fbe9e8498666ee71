"""Soft labels: the copies against their definition, and every learner of the roster."""

import re
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.utils.estimator_checks import ignore_warnings

from plurilabel import (
    INSDIF,
    BinaryRelevance,
    LabelPowerset,
    LabelSetMixture,
    LabelTree,
    MLDecisionTree,
    MLRandomForest,
    StackedRelevance,
)
from plurilabel._core.roster import learners
from plurilabel.datasets import soft_copies
from plurilabel.learners import make_learner
from plurilabel.metrics import label_scores, subset_accuracy

LR = LogisticRegression(tol=1e-10, max_iter=5000)
OTHER = {  # no (X, y) of numbers, or weights by another way
    "bags": "X are bags",
    "streams": "one row at a time",
    "wrappers": "their estimator takes weights",
}
WEIGHTED = [
    next(iter(entry.checked))
    for entry in learners().values()
    if not entry.unweighted and entry.family not in OTHER
    if not entry.needs or find_spec(entry.needs)
]


def problem(seed=0, n=60, q=3, levels=4):
    rng = np.random.default_rng(seed)
    X = rng.random((n, 4))
    P = np.clip(X[:, :q] + rng.normal(0, 0.2, (n, q)), 0, 1)
    return X, np.round(P * levels) / levels


@pytest.mark.parametrize("seed", range(5))
def test_copies_weigh_what_the_labels_say(seed):
    X, P = problem(seed, levels=7)
    rng = np.random.default_rng(seed)
    W = rng.integers(0, 4, P.shape) / 2
    for weights in (None, rng.integers(1, 4, len(X)), W):
        rows, Y, w = soft_copies(np.arange(len(X)), P, weights)
        given = np.ones(len(X)) if weights is None else weights
        given = np.broadcast_to(given.reshape(len(X), -1), P.shape)
        for i in range(len(X)):
            mine = rows == i
            for j in range(3):
                there, absent = (w[mine & (Y[:, j] == v)].sum() for v in (1, 0))
                assert there == pytest.approx(given[i, j] * P[i, j])
                assert absent == pytest.approx(given[i, j] * (1 - P[i, j]))
        assert (w > 0).all() and len(rows) <= len(X) * (2 * 3)


def test_certain_rows_stay_as_they_are():
    Y = np.array([[1.0, 0.0], [0.0, 0.0], [0.5, 1.0]])
    X, hard, w = soft_copies(sparse.csr_array(np.eye(3)), pd.DataFrame(Y, columns=["a", "b"]))
    assert_array_equal(X.toarray(), np.eye(3)[[0, 1, 2, 2]])
    assert_array_equal(hard.to_numpy(), [[1, 0], [0, 0], [1, 1], [0, 1]])
    assert list(hard.columns) == ["a", "b"] and w.tolist() == [1, 1, 0.5, 0.5]


def seeded(text):
    learner = make_learner(text)
    seeds = [name for name in learner.get_params() if name.endswith("random_state")]
    return learner.set_params(**dict.fromkeys(seeds, 0))


LEARNERS = [
    next(iter(entry.checked))
    for entry in learners().values()
    if entry.family not in ("bags", "streams") and (not entry.needs or find_spec(entry.needs))
]


@pytest.mark.parametrize("text", LEARNERS)
@ignore_warnings(category=UserWarning)
def test_every_learner_takes_soft_labels_or_says_what_to_do(text):
    X, P = problem()
    learner = seeded(text)
    if learner.accepts_soft_labels:
        learner.fit(X, np.full(P.shape, 0.5))
        assert learner.predict(X).shape == P.shape
    else:
        with pytest.raises(ValueError, match="got numbers between them: cut them, as in y > 0.5"):
            learner.fit(X, P)
    # labels of 0 and 1 give today's model, bit for bit
    Y = (P > 0.5).astype(int)
    one, two = (label_scores(seeded(text).fit(X, y), X) for y in (Y, Y.astype(float)))
    assert_array_equal(one, two)


def test_the_guide_names_those_that_refuse():
    guide = Path(__file__).parents[1] / "docs" / "guides" / "many-hands.md"
    line = re.search(r"^\| refused.*$", guide.read_text("utf-8"), re.MULTILINE)[0]
    refuse = [make_learner(text) for text in LEARNERS]
    refuse = {type(learner).__name__ for learner in refuse if not learner.accepts_soft_labels}
    refuse.add("HierarchicalClassifier")  # which needs a hierarchy
    if find_spec("torch") is None:
        refuse.add("HierarchicalNetwork")
    assert set(re.findall(r"`(\w+)`", line)) == refuse


@pytest.mark.parametrize("text", WEIGHTED)
@ignore_warnings(category=UserWarning)
def test_every_learner_with_weights(text):
    X, P = problem()
    learner = seeded(text).fit(X, pd.DataFrame(P, columns=["a", "b", "c"]))
    assert list(learner.label_names_) == ["a", "b", "c"]
    copies = soft_copies(X, P)
    expected = seeded(text)
    expected.fit(copies[0], copies[1], sample_weight=copies[2])
    if learner.get_params().get("cv") is None:  # else folds keep the copies of a row together
        assert_allclose(label_scores(learner, X), label_scores(expected, X), atol=1e-9)


def test_binary_relevance_has_two_copies_of_each_label():
    X, P = problem(1)
    W = np.random.default_rng(0).integers(0, 3, P.shape) + 0.5
    found = BinaryRelevance(LR).fit(X, P, sample_weight=W).predict_proba(X)
    for j in range(3):
        y, w = (
            np.repeat([1, 0], len(X)),
            np.concatenate([W[:, j] * P[:, j], W[:, j] * (1 - P[:, j])]),
        )
        model = LogisticRegression(tol=1e-10, max_iter=5000)
        model.fit(np.vstack([X, X])[w > 0], y[w > 0], sample_weight=w[w > 0])
        assert_allclose(found[:, j], model.predict_proba(X)[:, 1], atol=1e-5)


def test_copies_of_a_row_stay_in_one_fold():
    X, P = problem(2)
    seen = []

    class Folds:
        def split(self, X, y=None, groups=None):
            seen.append(groups)
            half = groups < 30
            yield np.flatnonzero(half), np.flatnonzero(~half)
            yield np.flatnonzero(~half), np.flatnonzero(half)

        def get_n_splits(self, *_args):
            return 2

    StackedRelevance(LogisticRegression(), cv=Folds()).fit(X, P)
    assert len(np.unique(seen[0])) == 60 < len(seen[0])


def test_unknown_and_sparse_soft_labels():
    X, P = problem(3)
    P[::5, 1] = np.nan
    forest = MLRandomForest(n_estimators=5, random_state=0).fit(X, P)
    assert np.isfinite(forest.predict_proba(X)).all()
    full = np.nan_to_num(P)
    one, two = (BinaryRelevance(LR).fit(X, y) for y in (full, sparse.csr_array(full)))
    assert_allclose(one.predict_proba(X), two.predict_proba(X))


def test_score_is_the_expected_subset_accuracy():
    X, P = problem(4)
    learner = BinaryRelevance(LR).fit(X, P)
    assert learner.score(X, P) == pytest.approx(subset_accuracy(P, learner.predict(X)))
    gaps = np.where(np.arange(60)[:, None] % 4, P, np.nan)
    assert learner.score(X, gaps) == pytest.approx(subset_accuracy(gaps, learner.predict(X)))


def test_errors():
    X, P = problem()
    with pytest.raises(ValueError, match="only 0 and 1 for INSDIF, got numbers between them"):
        INSDIF().fit(X, P)
    with pytest.raises(ValueError, match=r"y must be between 0 and 1, got 1.5 in row 0, column 1"):
        soft_copies([[1.0]], [[0.5, 1.5]])
    with pytest.raises(ValueError, match="y must hold only 0 and 1, got 1.5"):
        BinaryRelevance(LR).fit(X, np.where(P == 0.5, 1.5, P))
    for weights in (np.ones((60, 2)), np.zeros((60, 3)), -P, np.full((60, 3), np.nan)):
        with pytest.raises(ValueError, match=r"sample_weight must be .* got shape \(60, [23]\)"):
            BinaryRelevance(LR).fit(X, P, sample_weight=weights)
    for fit in (soft_copies, BinaryRelevance(LR).fit):
        for rows in (X[:40], np.vstack([X, X])):
            with pytest.raises(ValueError, match="inconsistent numbers of samples"):
                fit(rows, P)
    with pytest.raises(ValueError, match=r"y must be a matrix \(n, q\), got 1 dimension"):
        soft_copies(X, P[:, 0])
    with pytest.raises(ValueError, match=r"only 0 and 1, got 1.000000000001 in row 0, column 2"):
        BinaryRelevance(LR).fit(X, np.vstack([[0, 0.5, 1 + 1e-12], P[1:]]))
    with pytest.raises(ValueError, match="need a base estimator with sample_weight, got KNeigh"):
        BinaryRelevance(KNeighborsClassifier()).fit(X, P)
    W = np.arange(180).reshape(60, 3)
    for learner in (LabelPowerset(LR), LabelSetMixture(), LabelTree()):
        with pytest.raises(ValueError, match="sample_weight must be the same for all labels of"):
            learner.fit(X, P, sample_weight=W)
    with pytest.raises(ValueError, match=r"sample_weight must have the columns of y, \['a', 'b'"):
        frames = (pd.DataFrame(M, columns=list(c)) for M, c in ((P, "abc"), (W, "bac")))
        BinaryRelevance(LR).fit(X, next(frames), sample_weight=next(frames))


@pytest.mark.parametrize(
    "learner", [StackedRelevance(LR, cv=3), LabelPowerset(LR), MLDecisionTree(), LabelTree()]
)
def test_the_same_weight_for_all_labels(learner):
    X, P = problem(6)
    Y, w = (P > 0.5).astype(int), np.arange(60) % 3 + 1.0
    rows = learner.fit(X, Y, sample_weight=w).predict(X)
    cells = learner.fit(X, Y, sample_weight=np.tile(w[:, None], 3)).predict(X)
    assert_array_equal(rows, cells)


def test_label_tree_learns_more_from_soft_labels():
    X, P = problem(7)
    tree, copies = LabelTree(random_state=0), LabelTree(random_state=0)
    for part in (slice(0, 40), slice(40, 60)):
        tree.partial_fit(X[part], P[part])
        x, y, w = soft_copies(X[part], P[part])
        copies.partial_fit(x, y, sample_weight=w)
    assert_array_equal(tree.predict_proba(X), copies.predict_proba(X))
