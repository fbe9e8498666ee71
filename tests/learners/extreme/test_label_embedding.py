"""Neighbours in the space of labels, against the steps of the method in dense algebra."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from plurilabel import LabelEmbedding, datasets
from plurilabel.learners.extreme._linear import prepared, ridge

DATA = datasets.make_sparse_multilabel(120, 40, 9, nnz_per_row=6, random_state=0)


@pytest.fixture(scope="module")
def fitted():
    return LabelEmbedding(4, n_neighbors=3, normalize=False, random_state=0).fit(DATA.X, DATA.Y)


def test_the_regression_is_exact():
    X, Z = DATA.X.toarray(), np.random.default_rng(0).normal(size=(120, 3))
    A = np.hstack([X, np.ones((120, 1))])
    wanted = np.linalg.solve(np.eye(41) + 2.5 * A.T @ A, 2.5 * A.T @ Z)
    found = ridge(prepared(X, unit=False), Z, 2.5)
    assert_allclose(found, wanted, atol=1e-3 * abs(wanted).max())


def test_scores_are_the_cosines_of_neighbours_with_the_label(fitted):
    X, Y = DATA.X.toarray(), DATA.Y.toarray()
    proba = fitted.predict_proba(DATA.X[:5])
    for x, row in zip(X[:5], proba):
        z = np.append(x, 1) @ fitted.coef_
        cosines = np.array([e @ z / np.linalg.norm(z) for e in fitted.embedded_])
        near = np.argsort(-cosines.round(12), kind="stable")[:3]
        for l in range(9):
            share = sum(cosines[i] for i in near if Y[i, l]) / sum(cosines[i] for i in near)
            assert row[l] == pytest.approx(share, abs=1e-6)


def test_the_embedding_keeps_the_products_of_label_sets():
    full = LabelEmbedding(9, C=1e4, normalize=False, random_state=0).fit(np.eye(30), DATA.Y[:30])
    Y = DATA.Y[:30].toarray() / np.sqrt(DATA.Y[:30].sum(axis=1))[:, None]
    assert_allclose(full.embedded_ @ full.embedded_.T, Y @ Y.T, atol=0.02)


def test_top_labels_and_few_instances(fitted):
    top = fitted.predict_top(DATA.X[:10], 2)
    proba = fitted.predict_proba(DATA.X[:10])
    assert_array_equal(top.max(axis=1).toarray().ravel(), proba.max(axis=1))
    few = LabelEmbedding(random_state=0).fit([[1.0], [2.0]], [[1, 0], [1, 1]])
    assert few.n_neighbors_ == 2
    assert_array_equal(few.predict([[1.5]])[:, 0], [1])
