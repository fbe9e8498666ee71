"""MLFastText beside a slow twin: one instance and one weight at a time."""

import numpy as np
import pytest
from scipy import sparse

from plurilabel import MLFastText, datasets, metrics
from plurilabel.datasets import UnknownLabels
from plurilabel.learners.neural import _fasttext


def slow_fit(X, Y, batches, first, rate, passes, weights):
    """Adagrad on the log loss, from its definition; Y has NaN for unknown labels."""
    n, d = X.shape
    k, q = first.shape
    A, B = np.zeros((d, k)), first.copy()
    c = np.array([np.log((np.nansum(y) + 0.5) / (np.nansum(1 - y) + 0.5)) for y in Y.T])
    a, b, e = np.full(d, 0.01), np.full((k, q), 0.01), np.full(q, 0.01)
    seen = 0
    for batch in batches:
        dA, dB, dc = np.zeros_like(A), np.zeros_like(B), np.zeros_like(c)
        for i in batch:
            x = X[i] / np.sqrt((X[i] ** 2).sum())
            h = x @ A
            for l in range(q):
                if np.isnan(Y[i, l]):
                    continue
                p = 1 / (1 + np.exp(-(h @ B[:, l] + c[l])))
                slope = weights[i] * (p - Y[i, l])
                dA += slope * np.outer(x, B[:, l])
                dB[:, l] += slope * h
                dc[l] += slope
        step = rate * (1 - seen / (n * passes))
        a += (dA**2).mean(axis=1)
        b += dB**2
        e += dc**2
        A -= step * dA / np.sqrt(a)[:, None]
        B -= step * dB / np.sqrt(b)
        c -= step * dc / np.sqrt(e)
        seen += len(batch)
    return A, B, c


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.random((230, 12)) * (rng.random((230, 12)) < 0.4)
    X[:, 0] += 0.1
    return X, (X[:, 1:5] + rng.normal(scale=0.2, size=(230, 4)) > 0.3).astype(int)


@pytest.mark.parametrize("kind", ["plain", "weights", "unknown"])
def test_weights_of_the_twin(rows, kind):
    X, Y = rows
    weights, truth = np.ones(len(X)), Y.astype(float)
    rng = np.random.RandomState(3)
    if kind == "weights":
        weights = np.random.default_rng(1).uniform(0.5, 2, len(X))
    if kind == "unknown":
        truth[np.random.default_rng(1).random(Y.shape) < 0.3] = np.nan
    model = MLFastText(5, learning_rate=0.2, max_iter=2, random_state=3)
    model.fit(sparse.csr_array(X), truth, weights if kind == "weights" else None)
    first = rng.normal(scale=0.1, size=(5, 4))
    batches = []
    for _ in range(2):
        rng.permutation(1)
        order = rng.permutation(230)
        batches += [order[i : i + 2] for i in range(0, 230, 2)]
    found = slow_fit(X, truth, batches, first, 0.2, 2, weights)
    for slow, quick in zip(found, (model.vectors_, model.coef_, model.intercept_)):
        np.testing.assert_allclose(quick, slow, rtol=1e-3, atol=1e-4)
    assert model.vectors_.any()


def test_every_row_once_in_each_pass(monkeypatch):
    monkeypatch.setattr(_fasttext, "RUN", 10)
    monkeypatch.setattr(_fasttext, "RUNS", 3)
    parts = list(_fasttext._shuffled(75, np.random.RandomState(0)))
    assert sorted(map(len, parts)) in ([15, 30, 30], [20, 25, 30])
    assert sorted(np.concatenate(parts)) == list(range(75))


def test_learns_a_memory_map(tmp_path, rows):
    X, Y = rows
    X = sparse.csr_array(X, dtype=np.float32)
    for name in ("data", "indices", "indptr"):
        np.save(tmp_path / f"{name}.npy", getattr(X, name))
    parts = (
        np.load(tmp_path / f"{name}.npy", mmap_mode="r") for name in ("data", "indices", "indptr")
    )
    mapped = sparse.csr_array(tuple(parts), shape=X.shape)
    a, b = (MLFastText(5, random_state=0).fit(part, Y) for part in (X, mapped))
    np.testing.assert_array_equal(a.predict_proba(X), b.predict_proba(mapped))


def test_words_never_seen_say_nothing(rows):
    X, Y = rows
    model = MLFastText(5, random_state=0).fit(np.hstack([X, np.zeros((230, 1))]), Y)
    assert not model.vectors_[-1].any()
    only = np.zeros((1, 13))
    only[0, -1] = 1
    np.testing.assert_allclose(model.predict_proba(only)[0], 1 / (1 + np.exp(-model.intercept_)))


def test_explanations_add_up(rows):
    X, Y = rows
    model = MLFastText(5, random_state=0).fit(X, Y)
    for why, row in zip(model.explain(X[:3]), model.predict_proba(X[:3])):
        total = why.base + why.parts.sum(axis=0)
        np.testing.assert_allclose(1 / (1 + np.exp(-total)), row, atol=1e-5)


def test_many_labels_of_texts():
    data = datasets.make_sparse_multilabel(3000, 500, 100, random_state=0)
    model = MLFastText(random_state=0, max_iter=5).fit(data.X[:2500], data.Y[:2500])
    scores = model.predict_proba(data.X[2500:])
    assert metrics.precision_at_k(data.Y[2500:], scores, 1) > 0.9
    assert sparse.issparse(model.predict(data.X[2500:]))


def test_unknown_labels_matrix(rows):
    X, Y = rows
    gaps = np.zeros(Y.shape, dtype=bool)
    gaps[:20, 1] = True
    with_nan = np.where(gaps, np.nan, Y)
    a = MLFastText(5, random_state=0).fit(X, with_nan)
    b = MLFastText(5, random_state=0).fit(X, UnknownLabels(Y, gaps))
    np.testing.assert_array_equal(a.predict_proba(X), b.predict_proba(X))
