"""Stacked relevance, written out."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone

from plurilabel.transformation import StackedRelevance
from tests.transformation.data import BASE, made


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
