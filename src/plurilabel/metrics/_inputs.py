"""What the measures accept, checked once, and how they walk over it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias, TypeGuard

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from plurilabel.base import LabelMatrix, check_labels, check_scores, column_names

ScoreMatrix: TypeAlias = NDArray[Any] | sparse.csr_array

# Entries handled at a time: 2 MB of float64 stays in a core's own cache.
BLOCK = 2**18


def is_sparse(M: Any) -> TypeGuard[sparse.csr_array]:
    """Whether M is a scipy matrix; tells mypy too."""
    return bool(sparse.issparse(M))


def check_true(Y_true: Any) -> LabelMatrix:
    """True labels as int8, dense or CSR, with at least one row and one column."""
    Y = check_labels(Y_true, name="Y_true")
    if 0 in Y.shape:
        raise ValueError(
            f"Y_true must have at least one instance and one label, got shape {Y.shape}"
        )
    return Y


def check_predicted(
    Y_true: Any, Y_pred: Any, *, name: str = "Y_pred"
) -> tuple[LabelMatrix, LabelMatrix]:
    """True and predicted labels, both as int8, of the same shape."""
    Y = check_true(Y_true)
    Z = check_labels(Y_pred, name=name)
    _check_same(Y_true, Y, Y_pred, Z, name)
    return Y, Z


def check_scored(Y_true: Any, scores: Any) -> tuple[LabelMatrix, ScoreMatrix]:
    """True labels, and scores of the same shape: finite numbers, dense or CSR."""
    Y = check_true(Y_true)
    _refuse_labels(scores)
    S = check_scores(scores)
    if is_sparse(S):
        S = sparse.csr_array(S)
        if not S.has_canonical_format:
            S = S.copy()
            S.sum_duplicates()
    _check_same(Y_true, Y, scores, S, "scores")
    return Y, S


def check_top(top: Sequence[int] | int, q: int | None = None) -> list[int]:
    """Cut-offs k as a list of integers from 1 to q."""
    ks = [top] if isinstance(top, int | np.integer) else list(top)
    for k in ks:
        if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1:
            raise ValueError(f"k must be a whole number from 1, got {k!r}")
        if q is not None and k > q:
            raise ValueError(f"k must be at most the number of labels, {q}, got {k}")
    return [int(k) for k in ks]


def check_beta(beta: float) -> float:
    """Weight of recall against precision: a positive number."""
    if not np.isfinite(beta) or beta <= 0:
        raise ValueError(f"beta must be a positive number, got {beta!r}")
    return float(beta)


def _refuse_labels(scores: Any) -> None:
    # Floats pass even if all are 0 or 1: vote shares of one neighbour are scores.
    values = scores if is_sparse(scores) else np.asarray(scores)
    if values.dtype.kind not in "biu":
        return
    if is_sparse(values):
        values = values.tocsr().data
    if values.size > 0 and values.min() >= 0 and values.max() <= 1:
        raise ValueError(
            f"scores must be the scores that rank the labels, got predicted labels (only 0 and 1, "
            f"{values.dtype}); pass what predict_proba or decision_function returns"
        )


def _check_same(Y_true: Any, Y: Any, other_given: Any, other: Any, name: str) -> None:
    if other.shape != Y.shape:
        raise ValueError(
            f"{name} must have the shape of Y_true, {tuple(Y.shape)}, got {tuple(other.shape)}"
        )
    names, other_names = column_names(Y_true), column_names(other_given)
    if names and other_names and names != other_names and sorted(names) == sorted(other_names):
        raise ValueError(
            f"{name} must have its columns in the order of Y_true, {names[:5]}..., "
            f"got {other_names[:5]}..."
        )


def row_blocks(n: int, width: int) -> Iterator[slice]:
    """Slices of rows with about BLOCK entries each."""
    step = max(1, BLOCK // max(1, width))
    for start in range(0, n, step):
        yield slice(start, min(start + step, n))


def dense_rows(Y: LabelMatrix, rows: slice) -> NDArray[np.int8]:
    """A block of rows as an array; for blocks that lie beside a dense block anyway."""
    return Y[rows].toarray() if is_sparse(Y) else Y[rows]


def set_sizes(Y: LabelMatrix) -> NDArray[np.int64]:
    """Number of labels of each instance."""
    if is_sparse(Y):
        return np.diff(Y.indptr).astype(np.int64)
    return np.concatenate([Y[rows].sum(axis=1, dtype=np.int64) for rows in row_blocks(*Y.shape)])


def mean_of_defined(total: NDArray[Any], weight: NDArray[Any]) -> float:
    """``sum(total) / sum(weight)``; NaN if the weights are all 0, so that nothing is defined."""
    denominator = float(np.sum(weight, dtype=np.float64))
    return float(np.sum(total, dtype=np.float64)) / denominator if denominator else float("nan")
