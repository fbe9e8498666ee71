"""Fits that would need too much are refused before they start, with the figure and a choice."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import RidgeClassifier
from sklearn.svm import LinearSVC

from plurilabel import (
    CML,
    IBLRML,
    AdaBoostMH,
    AdaBoostMR,
    ADTBoostMH,
    CalibratedLabelRanking,
    DMLkNN,
    LabelPowerset,
    MLDecisionTree,
    MLkNN,
    MLkNNCV,
    MLRandomForest,
    PrunedSets,
    RAkEL,
    RankSVM,
    StackedRelevance,
)
from plurilabel._core.limits import check_size, one_blas_thread

N, D, Q = 60, 12, 10


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = sparse.csr_array(rng.random((N, D)) * (rng.random((N, D)) < 0.4))
    return X, sparse.csr_array((rng.random((N, Q)) < 0.3).astype(np.int8))


def gigabytes(n_bytes):
    return str(n_bytes / 1e9)


MEMORY = [
    (RankSVM(tol=0.1), 260 * N * Q, "BinaryRelevance"),
    (CML(), 8 * (25 * (D * Q + Q * Q / 2) + 4 * N * Q), "ClassifierChain"),
    (AdaBoostMH(2), 36 * N * Q, "HOMER"),
    (AdaBoostMR(2), 52 * N * Q, "HOMER"),
    (ADTBoostMH(2), 52 * N * Q, "HOMER"),
    (IBLRML(3), 24 * N * Q, "MLkNN"),
    (DMLkNN(3), 4 * N * Q, "MLkNN"),
    (MLkNNCV([1, 2]), 18 * N * Q, "MLkNN"),
    (MLkNNCV([1, 2], scoring="hamming_loss", leave_out="entry"), 6 * N * Q, "MLkNN"),
    (MLDecisionTree(), 17 * N * Q, "HOMER"),
    (MLRandomForest(2), 17 * N * Q, "HOMER"),
    (StackedRelevance(LinearSVC(), cv=2), 24 * N * Q + 8 * Q * (2 * D + Q), "ClassifierChain"),
    (StackedRelevance(DummyClassifier(), cv=2), 24 * N * Q, "ClassifierChain"),
]


@pytest.mark.parametrize(("learner", "needs", "choice"), MEMORY, ids=lambda case: repr(case)[:30])
def test_memory(learner, needs, choice, data, monkeypatch):
    monkeypatch.setenv("PLURILABEL_MAX_MEMORY", gigabytes(needs - 1))
    name = type(learner).__name__
    with pytest.raises(
        ValueError, match=f"{name} would need about .*{choice}.*MAX_MEMORY"
    ) as said:
        learner.fit(*data)
    assert f"{needs / 1000:.0f} kB" in str(said.value) or f"{needs / 1000:.1f} kB" in str(
        said.value
    )
    assert not hasattr(learner, "rules_") and not hasattr(learner, "coef_")
    monkeypatch.setenv("PLURILABEL_MAX_MEMORY", gigabytes(needs))
    learner.fit(*data)


def test_label_sets(data, monkeypatch):
    X, Y = data
    c = len(np.unique(Y.toarray(), axis=0))
    monkeypatch.setenv("PLURILABEL_MAX_MEMORY", gigabytes(8 * c * (N + D) - 1))
    with pytest.raises(ValueError, match=rf"{c:,} label sets.*PrunedSets"):
        LabelPowerset(RidgeClassifier()).fit(X, Y)
    PrunedSets(RidgeClassifier(), pruning_threshold=1).fit(X, Y)  # fewer classes
    monkeypatch.setenv("PLURILABEL_MAX_MEMORY", gigabytes(8 * c * (N + D)))
    LabelPowerset(RidgeClassifier()).fit(X, Y)


def test_labelsets(data, monkeypatch):
    X, Y = data
    learner = RAkEL(RidgeClassifier(), labelset_size=2, n_estimators=20, random_state=0).fit(X, Y)
    weights = sum(member.sets_.shape[0] * D for member in learner.estimators_)
    monkeypatch.setenv("PLURILABEL_MAX_MEMORY", gigabytes(8 * weights - 1))
    with pytest.raises(ValueError, match="20 labelsets.*overlapping=False"):
        learner.fit(X, Y)
    learner.set_params(overlapping=False).fit(X, Y)


def test_models(data, monkeypatch):
    X, Y = data
    monkeypatch.setenv("PLURILABEL_MAX_MODELS", str(Q * (Q + 1) // 2 - 1))
    with pytest.raises(
        ValueError, match="train 55 models for 10 labels, more than the limit of 54"
    ):
        CalibratedLabelRanking(RidgeClassifier()).fit(X, Y)
    monkeypatch.setenv("PLURILABEL_MAX_MODELS", str(Q * (Q + 1) // 2))
    CalibratedLabelRanking(RidgeClassifier()).fit(X, Y)


def test_the_limits_without_variables(monkeypatch):
    monkeypatch.delenv("PLURILABEL_MAX_MODELS", raising=False)
    q = 5_000
    with pytest.raises(ValueError, match=r"12,502,500 models.* limit of 100,000"):
        check_size("A learner", f"{q:,} labels", models=q * (q + 1) // 2, instead="another")
    check_size("A learner", "few", models=100_000, memory=4e9, instead="another")


def test_a_limit_that_is_no_number(monkeypatch):
    monkeypatch.setenv("PLURILABEL_MAX_MEMORY", "much")
    with pytest.raises(ValueError, match="PLURILABEL_MAX_MEMORY must be a number, got 'much'"):
        check_size("A learner", "few", memory=1.0, instead="another")


def test_growth_is_checked_and_changes_nothing(data, monkeypatch):
    X, Y = data
    learner = DMLkNN(3).fit(X[:40], Y[:40])
    before = learner.predict_proba(X)
    monkeypatch.setenv("PLURILABEL_MAX_MEMORY", gigabytes(4 * N * Q - 1))
    with pytest.raises(ValueError, match="DMLkNN would need about .* for 60 instances"):
        learner.partial_fit(X[40:], Y[40:])
    np.testing.assert_array_equal(learner.predict_proba(X), before)
    MLkNN(3).fit(X, Y)  # it makes nothing dense


def test_the_message():
    message = (
        "CML would need about 5.2 GB of memory for 9 labels, more than the limit of 4 GB; use "
        "BinaryRelevance, or set the environment variable PLURILABEL_MAX_MEMORY to more gigabytes"
    )
    with pytest.raises(ValueError, match=message):
        check_size("CML", "9 labels", memory=5.2e9, instead="BinaryRelevance")


def test_nested_limits_of_threads():
    with one_blas_thread() as outside, one_blas_thread() as the_same:
        assert outside == the_same
