"""The same points in another form have the same neighbours, for every metric."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from plurilabel import ExactIndex
from plurilabel._core.compat import BOOLEAN_METRICS
from tests.neighbors import twin

CERTIFIED = ["euclidean", "cosine", "manhattan", "chebyshev", "minkowski"]
"""Of these every bit is promised; the others are as scikit-learn rounds them."""


def largest(x, y):
    return np.abs(x - y).max()


METRICS = {
    **{name: {"metric": name, "p": 3} for name in CERTIFIED},
    **{
        name: {"metric": name}
        for name in (
            *("sqeuclidean", "canberra", "braycurtis", "correlation", "hamming", "nan_euclidean"),
            *("haversine", *sorted(BOOLEAN_METRICS)),
        )
    },
    "mahalanobis": {"metric": "mahalanobis", "metric_params": {"VI": np.diag([1.0, 2, 3, 4])}},
    "seuclidean": {"metric": "seuclidean", "metric_params": {"V": np.arange(1.0, 5)}},
    "callable": {"metric": largest},
}
K = 4


def points(name, n, seed):
    """Values that float32 holds exactly."""
    rng = np.random.default_rng(seed)
    if name in BOOLEAN_METRICS:
        X = (rng.random((n, 8)) < 0.5).astype(float)
        X[:, 0] = 1  # no empty rows
        return X
    return np.float64(rng.normal(size=(n, 2 if name == "haversine" else 4)).astype(np.float32))


def strided(X):
    wide = np.full((2 * len(X), 3 * X.shape[1]), np.nan)
    wide[::2, ::3] = X
    return wide[::2, ::3]


def read_only(X):
    X = X.copy()
    X.flags.writeable = False
    return X


FORMS = {
    "read-only": read_only,
    "Fortran order": np.asfortranarray,
    "strided": strided,
    "backwards": lambda X: X[::-1, ::-1].copy()[::-1, ::-1],
    "transposed": lambda X: X.T.copy().T,
    "list": lambda X: X.tolist(),
}
SPARSE = {
    "CSR": sparse.csr_array,
    "CSR matrix": sparse.csr_matrix,
    "CSC": sparse.csc_array,
    "COO": sparse.coo_array,
    "duplicates": lambda X: sparse.csr_array(
        (
            np.repeat(X.ravel(), 2) / 2,
            np.repeat(np.tile(np.arange(X.shape[1]), len(X)), 2),
            np.arange(0, 2 * X.size + 1, 2 * X.shape[1]),
        ),
        X.shape,
    ),
}


@pytest.fixture(scope="module", params=METRICS)
def asked(request):
    """Name of a metric, an index, its points, queries, and both answers."""
    name = request.param
    X, Q = points(name, 30, 0), points(name, 6, 1)
    index = ExactIndex(**METRICS[name], n_jobs=1).fit(X)
    return name, index, X, Q, index.kneighbors(None, K), index.kneighbors(Q, K)


def same(name, answer, expected):
    if name in CERTIFIED:
        twin.same(answer, expected)
    elif name in BOOLEAN_METRICS or name == "hamming":  # few values, many ties
        np.testing.assert_allclose(answer[0], expected[0], atol=1e-12)
    else:
        np.testing.assert_array_equal(answer[1], expected[1])
        np.testing.assert_allclose(answer[0], expected[0], rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("form", FORMS)
def test_any_form(asked, form):
    name, _, X, Q, graph, near = asked
    X_form, Q_form = FORMS[form](X), FORMS[form](Q)
    index = ExactIndex(**METRICS[name]).fit(X_form)
    same(name, index.kneighbors(None, K), graph)
    same(name, index.kneighbors(Q_form, K), near)
    np.testing.assert_array_equal(X_form, X)
    np.testing.assert_array_equal(Q_form, Q)


def test_float32(asked):
    name, _, X, Q, graph, near = asked
    index = ExactIndex(**METRICS[name]).fit(X.astype(np.float32))
    same(name, index.kneighbors(None, K), graph)
    same(name, index.kneighbors(Q.astype(np.float32), K), near)


def test_a_memory_map(asked, tmp_path):
    name, _, X, Q, graph, near = asked
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "Q.npy", Q)
    index = ExactIndex(**METRICS[name]).fit(np.load(tmp_path / "X.npy", mmap_mode="r"))
    same(name, index.kneighbors(None, K), graph)
    for mode in ("r", "r+"):
        mapped = np.load(tmp_path / "Q.npy", mmap_mode=mode)
        same(name, index.kneighbors(mapped, K), near)
        same(name, index.kneighbors(mapped[:1], K), [part[:1] for part in near])
    np.testing.assert_array_equal(np.load(tmp_path / "Q.npy"), Q)


@pytest.mark.parametrize(
    "view",
    [
        lambda Q, i: Q[i : i + 1],
        lambda Q, i: Q[i].reshape(1, -1),
        lambda Q, i: read_only(Q)[i : i + 1],
        lambda Q, i: np.asfortranarray(Q)[i : i + 1],
    ],
)
def test_one_row_at_a_time(asked, view):
    name, index, _, Q, _, near = asked
    mine = Q.copy()
    rows = [index.kneighbors(view(mine, i), K) for i in range(len(Q))]
    same(name, [np.vstack(part) for part in zip(*rows)], near)
    np.testing.assert_array_equal(mine, Q)


def test_data_frames_row_by_row(asked):
    name, _, X, Q, graph, near = asked
    X, frame = (pd.DataFrame(A).rename(columns=str) for A in (X, Q))
    index = ExactIndex(**METRICS[name]).fit(X)
    same(name, index.kneighbors(None, K), graph)
    rows = [index.kneighbors(frame.iloc[[i]], K) for i in range(len(Q))]
    same(name, [np.vstack(part) for part in zip(*rows)], near)
    np.testing.assert_array_equal(frame, Q)


def test_points_that_come_one_by_one(asked):
    name, _, X, Q, graph, near = asked
    mine, index = X.copy(), ExactIndex(**METRICS[name])
    for i in range(len(X)):
        index.partial_fit(mine[i : i + 1])
    np.testing.assert_array_equal(mine, X)
    same(name, index.kneighbors(None, K), graph)
    same(name, index.kneighbors(Q, K), near)


@pytest.mark.parametrize("form", SPARSE)
@pytest.mark.parametrize("name", CERTIFIED)
def test_sparse_points(name, form):
    X, Q = points(name, 30, 0), points(name, 6, 1)
    X[X < 0], Q[Q < 0] = 0, 0
    index = ExactIndex(**METRICS[name]).fit(X)
    graph, near = index.kneighbors(None, K), index.kneighbors(Q, K)
    other = ExactIndex(**METRICS[name]).fit(SPARSE[form](X))
    given = SPARSE[form](Q)
    same(name, other.kneighbors(None, K), graph)
    same(name, other.kneighbors(given, K), near)
    same(name, index.kneighbors(given, K), near)
    rows = [other.kneighbors(sparse.csr_array(given)[[i]], K) for i in range(len(Q))]
    same(name, [np.vstack(part) for part in zip(*rows)], near)
    np.testing.assert_array_equal(given.toarray(), Q)


def test_permuted_points_and_queries(asked):
    name, index, X, Q, graph, near = asked
    rng = np.random.default_rng(2)
    order, asked_order = rng.permutation(len(X)), rng.permutation(len(Q))
    same(name, index.kneighbors(Q[asked_order], K), [part[asked_order] for part in near])
    other = ExactIndex(**METRICS[name]).fit(X[order])
    for (distances, indices), expected in (
        (other.kneighbors(Q, K), near),
        (other.kneighbors(None, K), [part[order] for part in graph]),
    ):
        same(name, (distances, order[indices]), expected)


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_any_number_of_threads(asked, n_jobs):
    name, _, X, Q, graph, near = asked
    index = ExactIndex(**METRICS[name], n_jobs=n_jobs).fit(X)
    twin.same(index.kneighbors(None, K), graph)
    twin.same(index.kneighbors(Q, K), near)


def test_precomputed_distances():
    X, Q = points("euclidean", 50, 0), points("euclidean", 12, 1)
    D, to_X = twin.table(X, X), twin.table(Q, X)
    index = ExactIndex("precomputed").fit(D)
    near = index.kneighbors(to_X, K)
    twin.same(near, twin.nearest(to_X, K, without_self=False))
    for form in FORMS.values():
        other = ExactIndex("precomputed").fit(form(D))
        twin.same(other.kneighbors(None, K), index.kneighbors(None, K))
        twin.same(other.kneighbors(form(to_X), K), near)
    mine = to_X.copy()
    rows = [index.kneighbors(mine[i : i + 1], K) for i in range(len(Q))]
    twin.same([np.vstack(part) for part in zip(*rows)], near)
    np.testing.assert_array_equal(mine, to_X)
