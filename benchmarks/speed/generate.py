"""Generators and descriptions, compared with scikit-learn's generator and ``np.unique``."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.datasets import make_multilabel_classification

from benchmarks.harness.measure import Row, alone, beside, in_child, megabytes
from plurilabel.datasets import describe, make_multilabel, make_sparse_multilabel


def run(quick: bool = False) -> list[Row]:
    n, d, q = (500, 100, 20) if quick else (5_000, 1_000, 100)
    rows = beside(
        f"sparse, {n:,} x {d:,}, {q} labels",
        lambda: make_sparse_multilabel(n, d, q, nnz_per_row=30, random_state=0),
        {"scikit-learn": lambda: make_multilabel_classification(
            n, d, n_classes=q, n_labels=3, length=30, sparse=True, return_indicator="sparse",
            random_state=0)},
    )  # fmt: skip
    rows += beside(
        f"dense, {n:,} x 20, {q} labels",
        lambda: make_multilabel(n, 20, q, random_state=0),
        {"scikit-learn": lambda: make_multilabel_classification(
            n, 20, n_classes=q, n_labels=2, random_state=0)},
    )  # fmt: skip
    m = 2_000 if quick else 100_000
    Y = make_sparse_multilabel(m, 10, q, nnz_per_row=1, random_state=0).Y
    dense = Y.toarray().astype(np.int8)
    rows += beside(
        f"describe {m:,} x {q} labels",
        lambda: describe(Y),
        {"np.unique of the rows": lambda: np.unique(dense, axis=0)},
        limits={"one pass over the labels": lambda: dense.sum(axis=0)},
        note="our description includes the distinct label sets",
    )
    return [*rows, large(5_000 if quick else 200_000)]


def large(n: int) -> Row:
    def make() -> float:
        made: Any = make_sparse_multilabel(n, 100_000, 10_000, cardinality=5, random_state=0)
        return megabytes(made.X, made.Y)

    found = in_child(make)
    return alone(
        f"make_sparse_multilabel, {n:,} rows x 10,000 labels",
        found["seconds"],
        f"peak memory {found['added_mb'] / found['value']:.2f} of the result",
    )
