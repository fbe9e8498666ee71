"""The same data in another form give the same predictions, for every lazy learner."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from plurilabel._core.blocks import dense
from plurilabel.learners import make_learner
from plurilabel.learners.lazy import ROSTER

LEARNERS = [
    *(text for entry in ROSTER.values() for text in entry.checked),
    "BRkNN(n_neighbors=4, variant='a')",
    "BRkNN(n_neighbors=4, variant='b')",
    "MLkNN(n_neighbors=5, metric='cosine')",
    "DWMLkNN(n_neighbors=5, metric='correlation')",
]


def strided(X):
    wide = np.full((2 * len(X), 3 * X.shape[1]), np.nan)
    wide[::2, ::3] = X
    return wide[::2, ::3]


def read_only(X):
    X = X.copy()
    X.flags.writeable = False
    return X


X_FORMS = {
    "read-only": read_only,
    "float32": np.float32,
    "Fortran order": np.asfortranarray,
    "strided": strided,
    "list": lambda X: X.tolist(),
}
SPARSE = {
    "CSR": sparse.csr_array,
    "CSR matrix": sparse.csr_matrix,
    "CSC": sparse.csc_array,
    "COO": sparse.coo_array,
}
Y_FORMS = {
    **X_FORMS,
    **SPARSE,
    "bool": lambda Y: Y == 1,
    "int8": np.int8,
    "stored zeros": lambda Y: sparse.csr_array(
        (
            Y.ravel(),
            np.tile(np.arange(Y.shape[1]), len(Y)),
            np.arange(0, Y.size + 1, Y.shape[1]),
        ),
        Y.shape,
    ),
}


def made():
    """X, Y and queries, of values that float32 holds exactly."""
    rng = np.random.default_rng(0)
    X = np.float64(rng.normal(size=(48, 5)).astype(np.float32))
    Y = (X @ rng.normal(size=(5, 4)) + rng.normal(size=(48, 4)) > 0.7).astype(np.int64)
    return X[:40], Y[:40], X[40:]


@pytest.fixture(scope="module", params=LEARNERS)
def fitted(request):
    X, Y, _ = made()
    return request.param, make_learner(request.param).fit(X, Y)


def same(text, answer, expected):
    """Bit for bit, but for regressions, which add up in another order."""
    assert_allclose(answer, expected, rtol=0, atol=1e-7 if text.startswith("IBLR") else 0)


def check(text, learner, other, Q_form):
    """Another learner answers in the same way about another form of the queries."""
    Q = made()[2]
    same(text, other.predict_proba(Q_form), learner.predict_proba(Q))
    assert_array_equal(dense(other.predict(Q_form)), dense(learner.predict(Q)))
    best, wanted = other.predict_top(Q_form, 2), learner.predict_top(Q, 2)
    assert_array_equal(best.indices, wanted.indices)


@pytest.mark.parametrize("form", X_FORMS)
def test_any_form_of_features(fitted, form):
    text, learner = fitted
    X, Y, Q = made()
    given, asked = X_FORMS[form](X), X_FORMS[form](Q)
    check(text, learner, make_learner(text).fit(given, Y), asked)
    assert_array_equal(given, X)
    assert_array_equal(asked, Q)


@pytest.mark.parametrize("form", SPARSE)
def test_any_form_of_sparse_features(fitted, form):
    text, learner = fitted
    if "correlation" in text:
        with pytest.raises(TypeError, match="sparse"):
            make_learner(text).fit(SPARSE[form](made()[0]), made()[1])
        return
    X, Y, Q = made()
    given, asked = SPARSE[form](X), SPARSE[form](Q)
    check(text, learner, make_learner(text).fit(given, Y), asked)
    check(text, learner, learner, asked)
    assert_array_equal(given.toarray(), X)
    assert_array_equal(asked.toarray(), Q)


@pytest.mark.parametrize("form", Y_FORMS)
def test_any_form_of_labels(fitted, form):
    text, learner = fitted
    X, Y, Q = made()
    given = Y_FORMS[form](Y)
    other = make_learner(text).fit(X, given)
    check(text, learner, other, Q)
    assert sparse.issparse(other.predict(Q)) == sparse.issparse(given)
    assert_array_equal(dense(given), Y)


@pytest.mark.parametrize(
    "view",
    [
        lambda Q, i: Q[i : i + 1],
        lambda Q, i: Q[i].reshape(1, -1),
        lambda Q, i: read_only(Q)[i : i + 1],
    ],
)
def test_one_row_at_a_time(fitted, view):
    text, learner = fitted
    Q = made()[2]
    mine = Q.copy()
    scores = np.vstack([learner.predict_proba(view(mine, i)) for i in range(len(Q))])
    sets = np.vstack([learner.predict(view(mine, i)) for i in range(len(Q))])
    assert_array_equal(mine, Q)
    same(text, scores, learner.predict_proba(Q))
    assert_array_equal(sets, learner.predict(Q))


def test_data_frames_row_by_row(fitted):
    text, learner = fitted
    X, Y, Q = made()
    X, Y, frame = (pd.DataFrame(A).rename(columns=str) for A in (X, Y, Q))
    other = make_learner(text).fit(X, Y)
    check(text, learner, other, frame)
    rows = [other.predict_proba(frame.iloc[[i]]) for i in range(len(Q))]
    same(text, np.vstack(rows), learner.predict_proba(Q))
    assert_array_equal(frame, Q)


def test_rows_that_come_one_by_one(fitted):
    text, learner = fitted
    X, Y, Q = made()
    mine, labels = X.copy(), Y.astype(np.int8)
    other = make_learner(text).fit(mine[:32], labels[:32])
    for i in range(32, 40):
        other.partial_fit(mine[i : i + 1], labels[i : i + 1])
    assert_array_equal(mine, X)
    assert_array_equal(labels, Y)
    check(text, learner, other, Q)


def test_permuted_rows_and_queries(fitted):
    text, learner = fitted
    X, Y, Q = made()
    rng = np.random.default_rng(1)
    order, asked = rng.permutation(len(X)), rng.permutation(len(Q))
    other = make_learner(text).fit(X[order], Y[order])
    # of weights, the sums over the instances are rounded in another order
    assert_allclose(
        other.predict_proba(Q[asked]), learner.predict_proba(Q)[asked], rtol=0, atol=1e-7
    )
    assert_array_equal(other.predict(Q[asked]), learner.predict(Q)[asked])


def test_permuted_labels(fitted):
    text, learner = fitted
    X, Y, Q = made()
    order = np.array([2, 0, 3, 1])
    other = make_learner(text).fit(X, Y[:, order])
    same(text, other.predict_proba(Q), learner.predict_proba(Q)[:, order])
    if "variant" not in text:  # there, labels that are equal otherwise are taken in their order
        assert_array_equal(other.predict(Q), learner.predict(Q)[:, order])


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_any_number_of_threads(fitted, n_jobs):
    text, learner = fitted
    X, Y, Q = made()
    other = make_learner(text).set_params(n_jobs=n_jobs).fit(X, Y)
    assert_array_equal(other.predict_proba(Q), learner.predict_proba(Q))
