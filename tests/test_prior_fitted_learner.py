"""PriorFittedClassifier, with small random weights: quality is that of the weights, not tested."""

import json
import math
import sys
from dataclasses import asdict

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.stats import norm, rankdata
from sklearn.neighbors import NearestNeighbors

from benchmarks.prior_fitted.learner import _classifier, _forward, _regressions, _weights
from benchmarks.prior_fitted.learner._classifier import PriorFittedClassifier
from benchmarks.prior_fitted.learner._weights import (
    GROUP,
    LARGEST,
    PENALTIES,
    Size,
    load_weights,
)
from plurilabel import datasets, metrics
from plurilabel.datasets import UnknownLabels

SMALL = Size(width=8, heads=2, layers=2, name_width=4)


def shapes(size):
    """Names and shapes of the weights."""
    w, block = size.width, {}
    for name in ("columns_out", "rows", "rows_out"):
        block[f"{name}.weight"] = (w, w)
    block |= {"columns.weight": (3 * w, w), "rows_known.weight": (2 * w, w)}
    block |= {"up.weight": (4 * w, w), "down.weight": (w, 4 * w)}
    return {
        "cells.0.weight": (2 * w, 12), "cells.0.bias": (2 * w,),
        "cells.2.weight": (w, 2 * w), "cells.2.bias": (w,),
        "labels.0.weight": (2 * w, 6 + 2 * len(PENALTIES)), "labels.0.bias": (2 * w,),
        "labels.2.weight": (w, 2 * w), "labels.2.bias": (w,),
        "cell_names.weight": (w, size.name_width), "label_names.weight": (w, size.name_width),
        **{f"blocks.{i}.{name}": s for i in range(size.layers) for name, s in block.items()},
        "head.0.weight": (2 * w, w), "head.0.bias": (2 * w,),
        "head.2.weight": (1, 2 * w), "head.2.bias": (1,),
    }  # fmt: skip


def write_weights(path, size=SMALL, seed=0):
    rng = np.random.default_rng(seed)
    arrays = {
        name: rng.normal(size=shape, scale=0.5).astype(np.float16)
        for name, shape in shapes(size).items()
    }
    np.savez(path, about=np.array(json.dumps({"plan": {"size": asdict(size)}})), **arrays)
    return path


@pytest.fixture(scope="module")
def weights(tmp_path_factory):
    return write_weights(tmp_path_factory.mktemp("weights") / "weights.npz")


@pytest.fixture
def learner(weights):
    return PriorFittedClassifier(2, weights=weights, random_state=0)


@pytest.fixture
def without_torch(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    _forward.answerer.cache_clear()
    yield
    _forward.answerer.cache_clear()


def problem(n=40, d=6, q=3, seed=0):
    rng = np.random.default_rng(seed)
    X, T = rng.normal(size=(n, d)), rng.normal(size=(9, d))
    return X, (X[:, :q] + rng.normal(size=(n, q)) > 0.3).astype(int), T


# ---- the network, cell by cell -----------------------------------------------------------------


def twin_cells(known, asked, normal):
    """Values one at a time: standardized, as a rank, there or not; groups of four features."""
    X = np.vstack([known, asked])
    n, d = X.shape
    cells = np.zeros((n, -(-d // GROUP), 3 * GROUP))
    for j in range(d):
        column = [v for v in known[:, j] if not math.isnan(v)]

        def share(v, more=0, column=column):
            # the mean of the first and the last place that v could take
            at_most, below = sum(u <= v for u in column), sum(u < v for u in column)
            return (at_most + below + more) / (2 * (len(column) + more))

        def value(v, share=share):
            return norm.ppf(min(0.999, max(0.001, share(v, 1)))) if normal else v

        told = [value(v) for v in column]
        for i in range(n):
            at, v = 3 * (j % GROUP), X[i, j]
            if not math.isnan(v):
                z = (value(v) - np.mean(told)) / (np.std(told) or np.inf)
                rank = (2 * share(v) - 1) * math.sqrt(3)
                cells[i, j // GROUP, at : at + 3] = np.clip(z, -LARGEST, LARGEST), rank, 1
    return cells


def twin(path, cells, Y, said, names):
    """The network, one cell at a time."""
    weights = load_weights(path)
    W = {name: array.astype(float) for name, array in weights.arrays.items()}
    (n, g, _), (m, q), size = cells.shape, Y.shape, weights.size

    def gelu(v):
        return np.array([x * norm.cdf(x) for x in v])

    def normal(v):
        return (v - v.mean()) / math.sqrt(v.var() + 1e-5)

    def two(name, v):
        v = gelu(W[f"{name}.0.weight"] @ v + W[f"{name}.0.bias"])
        return W[f"{name}.2.weight"] @ v + W[f"{name}.2.bias"]

    def attend(query, keys, values, sharpness):
        """Head by head."""
        part, answer = size.width // size.heads, []
        for h in range(size.heads):
            own = slice(h * part, (h + 1) * part)
            fit = [math.exp(sharpness * query[own] @ k[own] / math.sqrt(part)) for k in keys]
            answer.append(sum(f * v[own] for f, v in zip(fit, values)) / sum(fit))
        return np.concatenate(answer)

    base, frequency = [], []
    for l in range(q):
        told = [y for y in Y[:, l] if not math.isnan(y)]
        frequency.append((sum(told) + 0.5) / (len(told) + 1))
        base.append(math.log(frequency[-1] / (1 - frequency[-1])))
    x = np.empty((n, g + q, size.width))
    for i in range(n):
        for j in range(g):
            x[i, j] = two("cells", cells[i, j]) + W["cell_names.weight"] @ names[j]
        for l in range(q):
            view = [0, 0, 0, base[l] / 3, math.log(m / 256) / 3, math.log(g / 8) / 3]
            if i < m and not math.isnan(Y[i, l]):
                f = frequency[l]
                view[:3] = 2 * Y[i, l] - 1, (Y[i, l] - f) / math.sqrt(f * (1 - f)), 1
            x[i, g + l] = two("labels", np.array([*view, *said[i, l]]))
            x[i, g + l] += W["label_names.weight"] @ names[g + l]
    for b in range(size.layers):
        own = f"blocks.{b}."
        B = {k.split(".")[2]: array for k, array in W.items() if k.startswith(own)}
        before = x.copy()
        for i in range(n):
            queries, keys, values = zip(
                *(np.split(B["columns"] @ normal(v), 3) for v in before[i])
            )
            for j in range(g + q):
                x[i, j] += B["columns_out"] @ attend(queries[j], keys, values, 1.0)
        before = x.copy()
        for j in range(g + q):
            keys, values = zip(*(np.split(B["rows_known"] @ normal(v), 2) for v in before[:m, j]))
            for i in range(n):
                query = B["rows"] @ normal(before[i, j])
                sharpness = math.log(m + 1) / math.log(256)
                x[i, j] += B["rows_out"] @ attend(query, keys, values, sharpness)
        for i in range(n):
            for j in range(g + q):
                x[i, j] += B["down"] @ gelu(B["up"] @ normal(x[i, j]))
    return np.array(
        [[two("head", normal(x[i, g + l]))[0] + base[l] for l in range(q)] for i in range(m, n)]
    )


def table(seed=0):
    """Cells of 12 rows, 8 known, with ties and gaps, five features and three labels."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(12, 5)).round(1)
    X[[1, 9], [2, 2]], X[:, 3], X[5, 3] = np.nan, [0, 1] * 6, 50
    Y = (rng.random((8, 3)) < 0.4).astype(float)
    Y[2, 1], Y[:, 2] = np.nan, 0
    said = rng.normal(size=(12, 3, 2 * len(PENALTIES)))
    return X[:8], X[8:], (Y, said, rng.normal(size=(2 + 3, SMALL.name_width)))


def cells_of(known, asked, **options):
    return _forward.group_features(_forward.view_features(known, asked, **options))


@pytest.mark.parametrize("normal", [False, True])
def test_cells_are_those_of_the_twin(normal):
    known, asked, _ = table()
    found = cells_of(known, asked, normal=normal)
    assert_allclose(found, twin_cells(known, asked, normal), atol=1e-12)


def test_cells_are_those_that_the_network_was_trained_on():
    torch = pytest.importorskip("torch", reason="the extra 'torch' is not installed")
    from benchmarks.prior_fitted._cells import group_features, view_features

    known, asked, _ = table()
    views = view_features(torch.tensor(np.vstack([known, asked]))[None], len(known))
    assert_allclose(cells_of(known, asked), group_features(views)[0], atol=1e-5)


@pytest.mark.parametrize(("kind", "close"), [("float64", 1e-10), ("float32", 1e-4)])
def test_numpy_computes_the_network(weights, without_torch, kind, close):
    known, asked, rest = table()
    cells = cells_of(known, asked)
    answer, width = _forward.answerer(weights, load_weights(weights).digest, "auto", kind)
    assert width == SMALL.name_width
    assert_allclose(answer(cells, *rest), twin(weights, cells, *rest), atol=close)


@pytest.mark.parametrize(("kind", "close"), [("float64", 1e-10), ("float32", 1e-4)])
def test_torch_computes_the_network(weights, kind, close):
    pytest.importorskip("torch", reason="the extra 'torch' is not installed")
    known, asked, rest = table()
    cells = cells_of(known, asked)
    answer, _ = _forward.answerer(weights, load_weights(weights).digest, "cpu", kind)
    assert_allclose(answer(cells, *rest), twin(weights, cells, *rest), atol=close)


def test_attention_in_blocks(weights, without_torch, monkeypatch):
    known, asked, rest = table()
    cells, digest = cells_of(known, asked), load_weights(weights).digest
    whole = _forward.answerer(weights, digest, "cpu", "float64")[0](cells, *rest)
    monkeypatch.setattr(_forward, "AT_ONCE", 1)
    found = _forward.answerer(weights, digest, "cpu", "float64")[0](cells, *rest)
    assert_allclose(found, whole, atol=1e-12)


# ---- regressions -------------------------------------------------------------------------------


def plain_regressions(z, u, Y):
    """For every row, all regressions again without it: (rows, labels, regressions)."""
    m, told = len(Y), ~np.isnan(Y)
    frequency = (np.nansum(Y, axis=0) + 0.5) / (told.sum(axis=0) + 1)
    weight = _regressions._relevance(u[:m], np.where(told, Y - frequency, 0.0))
    found = np.empty((len(z), Y.shape[1], len(PENALTIES)))

    def kernel(x, power, reach):
        distance = (np.abs(x[:, None] - x) ** power).sum(axis=2)
        return np.exp(-reach * distance / distance[:m, :m].mean())

    kernels = (
        z @ z.T / z.shape[1], kernel(z, 2, 1), kernel(u * np.sqrt(weight), 2, 2),
        kernel(z, 1, 2), kernel(u * weight, 1, 2),
    )  # fmt: skip
    for j, (K, penalty) in enumerate(zip(kernels, PENALTIES)):
        for i in range(len(z)):
            others = np.setdiff1d(np.arange(m), [i])
            A = K[np.ix_(others, others)] + penalty * np.eye(len(others))
            centred = np.where(told, Y - frequency, 0.0)[others]
            found[i, :, j] = K[i, others] @ np.linalg.solve(A, centred)
    return found / np.sqrt(frequency * (1 - frequency))[:, None]


def test_regressions_leave_out_the_row_itself():
    rng = np.random.default_rng(0)
    z, u = rng.normal(size=(26, 4)), rng.uniform(-1.7, 1.7, size=(26, 4))
    Y = (z[:20, :2] + rng.normal(size=(20, 2)) > 0.2).astype(float)
    Y[3, 1] = np.nan
    found = _regressions.regress(z, u, Y, np.random.default_rng(0)).reshape(26, 2, -1, 2)
    assert_allclose(found[..., 0], plain_regressions(z, u, Y), atol=1e-4)
    frequency = np.array([(Y[:, 0].sum() + 0.5) / 21, (np.nansum(Y[:, 1]) + 0.5) / 20])
    deviation = np.sqrt(frequency * (1 - frequency))[:, None]
    left = (Y - frequency)[..., None] - found[:20, ..., 0] * deviation
    share = 1 - np.nansum(left**2, axis=0) / np.nansum((Y - frequency) ** 2, axis=0)[:, None]
    assert_allclose(found[..., 1], np.broadcast_to(share, (26, 2, 5)), atol=1e-9)


def test_regressions_are_those_that_the_network_was_trained_on(monkeypatch):
    torch = pytest.importorskip("torch", reason="the extra 'torch' is not installed")
    from benchmarks.prior_fitted._regressions import regress

    rng = np.random.default_rng(0)
    views = rng.uniform(-1.7, 1.7, size=(30, 7, 3))
    views[5], views[:, 2] = views[6], 0.0  # a row twice, a constant feature
    Y = (rng.random((20, 3)) < 0.4).astype(float)
    Y[2, 1], Y[:, 2] = np.nan, 0
    for landmarks in (20, 12):
        monkeypatch.setattr(_regressions, "LANDMARKS", landmarks)
        first = type("First", (), {"permutation": staticmethod(np.arange)})
        theirs = regress(torch.tensor(views)[None], torch.tensor(Y)[None], landmarks)[0]
        ours = _regressions.regress(views[..., 0], views[..., 1], Y, first)
        assert_allclose(ours, theirs, atol=1e-5)


# ---- passes ------------------------------------------------------------------------------------


def test_answers_are_means_over_passes(learner, weights):
    X, Y, T = problem(n=12, d=5)
    X[2, 1] = np.nan
    found = learner.fit(X, Y).predict_proba(T)
    expected = []
    for number in range(2):
        rng = np.random.default_rng([learner.seed_, number])
        columns, order = rng.permutation(5), learner.label_order_[rng.permutation(3)]
        names = rng.standard_normal((2 + 3, SMALL.name_width))
        features = learner.features_[columns]
        cells = twin_cells(X[:, features], T[:, features], normal=number == 1)
        views = _forward.view_features(X[:, features], T[:, features], normal=number == 1)
        said = _regressions.regress(views[..., 0], views[..., 1], Y[:, order].astype(float), rng)
        logits = twin(weights, cells, Y[:, order].astype(float), said, names)
        answer = np.empty((9, 3))
        answer[:, order] = 1 / (1 + np.exp(-logits))
        expected.append(answer)
    assert not np.allclose(*expected, atol=1e-3)
    assert_allclose(found, np.mean(expected, axis=0), atol=1e-9)


def test_orders_and_units_do_not_matter(learner):
    X, Y, T = problem()
    X[3, 1], rng = np.nan, np.random.default_rng(1)
    wanted = learner.fit(X, Y).predict_proba(T)
    rows, columns, labels = (rng.permutation(k) for k in (40, 6, 3))
    learner.fit(X[rows][:, columns], Y[rows][:, labels])
    assert_array_equal(learner.predict_proba(T[:, columns]), wanted[:, labels])
    units = 2.0 ** np.arange(-3, 3)
    assert_allclose(learner.fit(X * units, Y).predict_proba(T * units), wanted, atol=1e-12)
    exponents = np.array([1000, -1000, 500, 0, -500, 990])  # no square is out of range
    found = learner.fit(np.ldexp(X, exponents), Y).predict_proba(np.ldexp(T, exponents))
    assert_allclose(found, wanted, atol=1e-12)


def test_fewer_passes_for_larger_tables(weights):
    learner = PriorFittedClassifier(weights=weights)
    rng = np.random.default_rng(0)
    for (n, d, q), passes in {(60, 4, 3): 16, (1000, 40, 6): 8, (1934, 103, 14): 3}.items():
        X, Y = rng.normal(size=(n, d)), (rng.random((n, q)) < 0.3).astype(int)
        assert learner.fit(X, Y).n_estimators_ == passes


def test_another_seed_is_another_answer(learner):
    X, Y, T = problem()
    found = learner.fit(X, Y).predict_proba(T)
    assert_array_equal(learner.fit(X, Y).predict_proba(T), found)
    learner.set_params(random_state=1)
    assert not np.allclose(learner.fit(X, Y).predict_proba(T), found, atol=1e-4)


def test_answers_in_blocks(learner, monkeypatch):
    X, Y, T = problem()
    whole = learner.fit(X, Y).predict_proba(T)
    monkeypatch.setattr(_classifier, "CELLS_AT_ONCE", 1)
    sizes = []

    def counted(*arguments):
        answer, width = _forward.answerer(*arguments)
        return lambda *table: sizes.append(len(table[0])) or answer(*table), width

    monkeypatch.setattr(_classifier, "answerer", counted)
    monkeypatch.setattr(_classifier, "MOST_ROWS", 44)
    assert_allclose(learner.predict_proba(T), whole, atol=1e-12)
    assert sizes == [44, 44, 41] * 2


def test_single_precision_for_larger_tables(learner, monkeypatch):
    X, Y, T = problem()
    whole = learner.fit(X, Y).predict_proba(T)
    monkeypatch.setattr(_classifier, "FEW_CELLS", 1)
    found = learner.predict_proba(T)
    assert 0 < np.abs(found - whole).max() < 1e-5


def test_many_labels_are_answered_for_in_blocks(learner, monkeypatch):
    X, _, T = problem()
    Y = (np.random.default_rng(0).random((40, 7)) < 0.4).astype(int)
    together = learner.fit(X, Y).predict_proba(T)
    monkeypatch.setattr(_classifier, "MOST_LABELS", 1)
    alone = learner.fit(X, Y).predict_proba(T)
    assert not np.allclose(alone, together, atol=1e-4)  # labels are read together
    # what features weigh in the regressions is the same for all labels, and depends on all
    monkeypatch.setattr(_regressions, "_relevance", lambda u, _Y: np.ones(u.shape[1]))
    changed = Y.copy()
    changed[::3, 2] ^= 1
    learner.label_order_, learner.Y_ = np.arange(7), Y
    found = learner.predict_proba(T)
    learner.Y_ = changed
    others = [0, 1, 3, 4, 5, 6]
    assert_allclose(learner.predict_proba(T)[:, others], found[:, others], atol=1e-12)


def test_a_sample_of_many_rows(learner, monkeypatch):
    X, Y, T = problem(n=50)
    learner.set_params(max_rows=15).fit(X, Y)
    assert learner.X_.shape == (30, 6)  # two passes
    known = [rows for k in range(2) for rows, _ in learner._contexts(T, np.random.default_rng(k))]
    assert all(len(np.unique(rows)) == 15 for rows in known)
    assert not np.array_equal(*known)
    assert learner.predict_proba(T).shape == (9, 3)


def test_contexts_are_exact_neighbours_of_the_nearest_centre(learner):
    X, Y, T = problem(n=60)
    learner.set_params(max_rows=20, context="neighbors").fit(X, Y)
    assert learner.X_.shape == (60, 6)
    mean, deviation = learner.X_.mean(axis=0), learner.X_.std(axis=0)
    Z, asked = (learner.X_ - mean) / deviation, (T[:, learner.features_] - mean) / deviation
    centres = Z[np.random.default_rng(5).choice(60, 6, replace=False)]
    nearest = NearestNeighbors(n_neighbors=1).fit(centres).kneighbors(asked)[1].ravel()
    around = NearestNeighbors(n_neighbors=20).fit(Z).kneighbors(centres)[1]
    seen = []
    for rows, some in learner._contexts(T[:, learner.features_], np.random.default_rng(5)):
        (centre,) = set(nearest[some])
        assert set(rows) == set(around[centre])
        seen += some.tolist()
    assert sorted(seen) == list(range(9))
    whole = learner.predict_proba(T)
    for i in range(9):  # whatever else is asked
        assert_allclose(learner.predict_proba(T[i : i + 1]), whole[i : i + 1], atol=1e-10)


# ---- features ----------------------------------------------------------------------------------


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, sparse.csr_matrix])
def test_wide_tables_keep_the_relevant_features(learner, form):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 30)) * 10.0 ** rng.integers(-3, 3, 30) * (rng.random((80, 30)) < 0.6)
    Y = np.column_stack([X[:, 7] > 0, X[:, 20] + 0.1 * X[:, 7] > 0]).astype(float)
    X[4, 7] = Y[5, 0] = np.nan
    learner.set_params(max_features=4).fit(form(X), Y)
    known = ~np.isnan(Y)
    filled = np.where(np.isnan(X), np.nanmean(X, axis=0), X)
    best = np.zeros(30)
    for l in range(2):
        y = np.where(known[:, l], Y[:, l] - np.nanmean(Y[:, l]), 0.0)
        for j in range(30):
            best[j] = max(best[j], abs(np.corrcoef(filled[:, j], y)[0, 1]))
    assert set(learner.features_) == set(np.argsort(-best)[:4])
    T = form(np.nan_to_num(X[:5]))
    assert learner.predict_proba(T).shape == (5, 2)


def test_wide_sparse_features_stay_sparse(learner):
    rng = np.random.default_rng(0)
    X = sparse.random(60, 200_000, density=1e-4, random_state=0, format="csr")
    Y = (rng.random((60, 2)) < 0.5).astype(int)
    X = sparse.csr_array(sparse.hstack([sparse.csr_array(Y * 1.0), X]))
    learner.fit(X, Y)
    assert len(learner.features_) <= 300 and {0, 1} <= set(learner.features_)
    assert np.isfinite(learner.predict_proba(X[:3])).all()


def test_features_that_do_not_vary_are_left_out(learner):
    X, Y, T = problem()
    wanted = learner.fit(X, Y).predict_proba(T)
    X, T = (np.column_stack([np.full(len(A), 3.0), A, np.full(len(A), np.nan)]) for A in (X, T))
    assert_array_equal(learner.fit(X, Y).predict_proba(T), wanted)
    assert learner.fit(np.ones((5, 2)), Y[:5]).predict_proba(np.ones((2, 2))).shape == (2, 3)


def test_missing_values_are_read(learner):
    X, Y, T = problem()
    wanted = learner.fit(X, Y).predict_proba(T)
    T[0, 0] = np.nan
    found = learner.predict_proba(T)
    assert np.isfinite(found).all() and not np.allclose(found[0], wanted[0], atol=1e-6)
    assert_allclose(found[1:], wanted[1:], atol=1e-12)


def test_unknown_labels_are_read_as_unknown(learner):
    X, Y, T = problem()
    hidden = Y.astype(float)
    hidden[:10, 1] = np.nan
    found = learner.fit(X, hidden).predict_proba(T)
    unknown = np.zeros((40, 3), dtype=bool)
    unknown[:10, 1] = True
    for filled in (Y, 1 - Y):  # whatever they are
        thin = UnknownLabels(sparse.csr_array(np.where(unknown, filled, Y)), unknown)
        assert_array_equal(learner.fit(X, thin).predict_proba(T), found)
    assert not np.allclose(learner.fit(X, Y).predict_proba(T), found, atol=1e-4)
    hidden[:, 0] = np.nan
    assert np.isfinite(learner.fit(X, hidden).predict_proba(T)).all()


@pytest.mark.parametrize(("n", "d", "q"), [(1, 1, 1), (1, 6, 2), (2, 3, 1), (5, 1, 2)])
def test_tiny_tables(learner, n, d, q):
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(n, d)), (rng.random((n, q)) < 0.5).astype(int)
    P = learner.fit(X, Y).predict_proba(X)
    assert P.shape == (n, q) and ((P > 0) & (P < 1)).all()


def test_ranks_are_those_of_scipy():
    x = np.random.default_rng(0).integers(0, 5, size=(20, 3)).astype(float)
    ranks, count = _forward.double_ranks(x, x)
    assert_array_equal(ranks, 2 * rankdata(x, axis=0) - 1)
    assert_array_equal(count, 20)


# ---- weights and files -------------------------------------------------------------------------


def test_other_weights_than_those_of_the_fit_are_refused(tmp_path):
    X, Y, T = problem()
    path = write_weights(tmp_path / "weights.npz")
    learner = PriorFittedClassifier(1, weights=str(path)).fit(X, Y)
    write_weights(path, seed=1)
    _forward.answerer.cache_clear()
    with pytest.raises(ValueError, match=r"fitted for other weights .* fit it again"):
        learner.predict(T)


def test_files_that_hold_no_weights_are_refused(tmp_path):
    X, Y, _ = problem()
    (tmp_path / "text.npz").write_text("no")
    np.savez(tmp_path / "other.npz", a=np.ones(3))
    whole = write_weights(tmp_path / "half.npz").read_bytes()
    (tmp_path / "half.npz").write_bytes(whole[: len(whole) // 2])
    np.savez(tmp_path / "objects.npz", about=np.array({"plan": 1}, dtype=object))
    for file in tmp_path.glob("*.npz"):
        with pytest.raises(ValueError, match="weights must be a file that the training wrote"):
            PriorFittedClassifier(weights=file).fit(X, Y)


def test_damaged_weights_of_the_package_are_refused(monkeypatch, tmp_path):
    path = write_weights(tmp_path / "weights.npz")
    (tmp_path / "weights.json").write_text(json.dumps({"sha256": "0" * 64}))
    monkeypatch.setattr(_weights, "SHIPPED", path)
    _weights._shipped.cache_clear()
    with pytest.raises(ValueError, match="damaged: its digest is not that of weights.json"):
        load_weights()


def test_a_gpu_needs_torch(learner, without_torch):
    X, Y, T = problem()
    with pytest.raises(ImportError, match=r"pip install 'plurilabel\[torch\]'"):
        learner.set_params(device="cuda").fit(X, Y).predict(T)


def test_weights_of_the_package_are_small_and_say_how_they_were_made():
    assert _weights.SHIPPED.stat().st_size < 20e6
    told = json.loads(_weights.SHIPPED.with_suffix(".json").read_text("utf-8"))
    assert {"sha256", "command", "plan", "prior", "seconds", "versions", "device"} <= told.keys()
    assert "seed" in told["plan"]


def test_weights_of_the_package_are_clearly_better_than_constant_answers():
    data = datasets.make_multilabel(300, random_state=0)
    X, Y = np.asarray(data.X), np.asarray(data.Y)
    learner = PriorFittedClassifier(2, random_state=0).fit(X[:200], Y[:200])
    P, constant = learner.predict_proba(X[200:]), np.tile(Y[:200].mean(axis=0), (100, 1))
    for better, worse in (("average_precision", "ranking_loss"), ("macro_auc", "hamming_loss")):
        ours, theirs = (metrics.evaluate(Y[200:], A, (A > 0.5).astype(int)) for A in (P, constant))
        assert ours[better] > theirs[better] + 0.1
        assert ours[worse] < 0.7 * theirs[worse]
