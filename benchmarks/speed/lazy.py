"""Lazy learners compared with the search they need, and the choice of k compared with one fit.

The bare search in the plot is that of the index: training graph and queries, nothing else.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.harness.data import generated, has_real_data, real
from benchmarks.harness.measure import Row, alone, beside, in_child, megabytes
from plurilabel import IBLRML, BRkNN, DMLkNN, DWMLkNN, ExactIndex, MLkNN, MLkNNCV, MLWkNN

K = 10
LEARNERS = (MLkNN, DWMLkNN, MLWkNN, DMLkNN, IBLRML, BRkNN)


def run(quick: bool = False) -> list[Row]:
    rows = []
    for n, q in [(500, 14)] if quick else [(1_500, 14), (10_000, 100)]:
        X, Y = generated(n + n // 10, 100, q)
        title = f"generated, {n:,} x 100, {q} labels"
        kinds = LEARNERS if n <= 1_500 else (MLkNN, DWMLkNN, MLWkNN, BRkNN)
        for kind in kinds:
            rows += over_search(kind, title, X[:n], Y[:n], X[n:])
    if has_real_data() and not quick:
        for name in ("yeast", "bibtex", "delicious", "tmc2007-500"):
            X, X_test, Y, _ = real(name).holdout()
            X, Y, X_test = X[:5_000], Y[:5_000], X_test[:500]
            title = f"{name}, {X.shape[0]:,} x {X.shape[1]:,}, {Y.shape[1]} labels"
            rows += over_search(MLkNN, title, X, Y, X_test)
    X, Y = generated(500 if quick else 1_500, 100, 14)
    for leave_out, scoring in (
        ("entry", "hamming_loss"),
        ("instance", "hamming_loss"),
        ("instance", "average_precision"),
    ):
        learner = MLkNNCV(range(1, 31), leave_out=leave_out, scoring=scoring)
        rows += beside(
            f"MLkNNCV of 30 values of k, leave out {leave_out}, {scoring}, "
            f"{len(X):,} x 100, 14 labels",
            lambda learner=learner: learner.fit(X, Y),
            selves={"one fit of MLkNN": lambda: MLkNN(K).fit(X, Y)},
        )
    rows += one_more_row(2_000 if quick else 50_000)
    return [*rows, large_labels(2_000 if quick else 200_000, 100_000)]


def over_search(kind: Any, title: str, X: Any, Y: Any, queries: Any) -> list[Row]:
    def search() -> None:
        index = ExactIndex().fit(X)
        if kind is not BRkNN:  # learns nothing from the training graph
            index.kneighbors(None, n_neighbors=K)
        index.kneighbors(queries, n_neighbors=K)

    return beside(
        f"{kind.__name__}, fit and predict_proba, {title}",
        lambda: kind(K).fit(X, Y).predict_proba(queries),
        limits={"bare search": search, "one pass over X": X.sum},
    )


def one_more_row(n: int) -> list[Row]:
    X, Y = generated(n + 10, 20, 100)
    learner = MLkNN(K).fit(X[:n], Y[:n])
    new = iter(range(n, n + 10))

    def more() -> None:
        i = next(new)
        learner.partial_fit(X[i : i + 1], Y[i : i + 1])

    return beside(
        f"MLkNN, one more row to {n:,}", more, selves={"fit": lambda: MLkNN(K).fit(X, Y)}
    )


def large_labels(n: int, q: int) -> Row:
    """Sparse labels: what a fit and the top 5 of some rows need beside the data."""
    rng = np.random.default_rng(0)
    X, at = rng.random((n, 3)), rng.integers(0, q, 5 * n)
    Y = sparse.csr_array((np.ones(5 * n), at, np.arange(0, 5 * n + 1, 5)), (n, q))
    Y.sum_duplicates()
    Y.data[:] = 1

    def work() -> None:
        MLkNN(K).fit(X, Y).predict_top(X[:1_000], 5)

    found = in_child(work)
    size = megabytes(X, Y)
    return alone(
        f"MLkNN, fit {n:,} x 3 with {q:,} labels, then the top 5 of 1,000 rows",
        found["seconds"],
        f"adds {found['added_mb']:.0f} MB to data of {size:.0f} MB",
    )
