"""Stacked relevance, written out."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.svm import LinearSVC

from plurilabel import StackedRelevance
from tests.learners.transformation.data import BASE, made


@pytest.mark.parametrize("keep", [True, False])
@pytest.mark.parametrize("stack_method", ["auto", "predict"])
@pytest.mark.parametrize("folds", [None, 3])
def test_stacked_relevance(keep, stack_method, folds):
    X, Y = made(60, 2, 3)
    new = X[:7] + 0.1
    cv = folds and [(np.delete(np.arange(60), t), t) for t in np.array_split(np.arange(60), 3)]
    learner = StackedRelevance(BASE, passthrough=keep, stack_method=stack_method, cv=cv)

    def answers(rows, queries):
        p = np.column_stack(
            [clone(BASE).fit(X[rows], y).predict_proba(queries)[:, 1] for y in Y[rows].T]
        )
        return p if stack_method == "auto" else (p > 0.5).astype(float)

    every = np.arange(60)
    first = np.empty((60, 3))
    for train, test in cv or [(every, every)]:
        first[test] = answers(train, X[test])
    inputs = np.hstack([X, first]) if keep else first
    queries = np.hstack([new, answers(every, new)]) if keep else answers(every, new)
    wanted = np.column_stack(
        [clone(BASE).fit(inputs, y).predict_proba(queries)[:, 1] for y in Y.T]
    )
    assert_allclose(learner.fit(X, Y).predict_proba(new), wanted, rtol=1e-9)


def test_labels_of_the_first_layer_stay_sparse(monkeypatch):
    """Then no fit needs all scores at once."""
    X, Y = made(60, 2, 3)
    learner = StackedRelevance(LinearSVC(), stack_method="predict", cv=3)
    wanted = learner.fit(X, Y).decision_function(X)
    monkeypatch.setenv("PLURILABEL_MAX_MEMORY", str(2e-6))
    with pytest.raises(ValueError, match="use stack_method='predict' with folds and a sparse X"):
        learner.fit(X, Y)
    X = sparse.csr_array(X)
    assert_allclose(learner.fit(X, Y).decision_function(X), wanted, rtol=1e-3, atol=1e-4)
    with pytest.raises(ValueError, match="more than the limit"):
        learner.set_params(drop_negatives="band").fit(X, Y)


@pytest.mark.parametrize("drop", ["band", "confusion"])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_some_negatives_are_left_out(drop, form):
    X, Y = made(80, 2, 3)
    new = X[:7] + 0.1
    weight = np.linspace(1, 2, 80)
    learner = StackedRelevance(BASE, cv=None, drop_negatives=drop, drop_threshold=0.2)
    models = [clone(BASE).fit(X, y, weight) for y in Y.T]
    first, second = (
        np.column_stack([model.predict_proba(A)[:, 1] for model in models]) for A in (X, new)
    )
    inputs, queries = np.hstack([X, first]), np.hstack([new, second])
    wanted, dropped = [], 0
    for l in range(3):
        confused = set()
        for j in range(3):
            others = [i for i in range(80) if Y[i, j] and not Y[i, l]]
            if others and sum(first[i, l] > 0.5 for i in others) / len(others) > 0.2:
                confused.add(j)
        rows = []
        for i in range(80):
            near = abs(first[i, l] - 0.5) <= 0.2
            if drop == "confusion":
                near = any(Y[i, j] for j in confused)
            if Y[i, l] or not near:
                rows.append(i)
        if not any(Y[i, l] == 0 for i in rows):
            rows = list(range(80))
        dropped += 80 - len(rows)
        final = clone(BASE).fit(inputs[rows], Y[rows, l], weight[rows])
        wanted.append(final.predict_proba(queries)[:, 1])
    assert dropped > 0
    found = learner.fit(X, form(Y), sample_weight=weight).predict_proba(new)
    assert_allclose(found, np.column_stack(wanted), rtol=1e-6)


def test_a_label_that_would_lose_all_negatives_keeps_them():
    X, Y = made(60, 2, 3)
    every = StackedRelevance(BASE, cv=3).fit(X, Y)
    wide = StackedRelevance(BASE, cv=3, drop_negatives="band", drop_threshold=1).fit(X, Y)
    assert_array_equal(wide.predict_proba(X), every.predict_proba(X))
