"""Checks of the inputs of measures, and the mean that they share."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Real
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from plurilabel._core.base import LabelMatrix, check_labels, check_scores, column_names
from plurilabel._core.blocks import dense, row_blocks
from plurilabel._core.labels import is_tags, tag_matrix
from plurilabel._core.soft import LabelSets, soft_or_hard
from plurilabel._core.unknown import UnknownLabels, known_part

# Scores as the measures see them: an ndarray or a canonical csr_array of finite floats.
ScoreMatrix: TypeAlias = Any
# The summand of each instance, and its weight in the mean; 0 if it is left out.
Terms: TypeAlias = tuple[NDArray[np.float64], NDArray[np.float64]]

BLOCK = 2**18  # entries handled at a time: 2 MB of float64 stay in a core's own cache


def blocks(n: int, width: int) -> list[slice]:
    """Slices of n rows with about BLOCK entries each."""
    return row_blocks(n, width, BLOCK)


def check_true(Y_true: Any) -> LabelMatrix:
    """True labels as int8, or float64 if soft, dense or CSR, with at least one row and column."""
    Y = soft_or_hard(Y_true, name="Y_true")
    if 0 in Y.shape:
        raise ValueError(
            f"Y_true must have at least one instance and one label, got shape {Y.shape}"
        )
    return Y


def check_predicted(
    Y_true: Any, Y_pred: Any, *, name: str = "Y_pred"
) -> tuple[LabelMatrix, LabelMatrix]:
    """True and predicted labels, both as int8, of the same shape."""
    # Both may be lists of tags: the labels are then those that occur in either, sorted by name.
    if is_tags(Y_true) and _may_be_tags(Y_pred):
        known = sorted({*tag_matrix(Y_true)[1], *tag_matrix(Y_pred)[1]})
        Y_true, Y_pred = tag_matrix(Y_true, known)[0], tag_matrix(Y_pred, known)[0]
    Y_known, unknown = known_part(Y_true)
    Y = check_true(Y_known)
    Z = check_labels(Y_pred, name=name)
    check_same(Y_true, Y, Y_pred, Z, name)
    return (Y, Z) if unknown is None else (UnknownLabels(Y, unknown), Z)


def _may_be_tags(labels: Any) -> bool:
    """Whether labels are tags, or empty lists of them, as of a model that predicts none."""
    empty = isinstance(labels, list) and not any(len(cell) for cell in labels if np.ndim(cell))
    return is_tags(labels) or (empty and all(np.ndim(cell) == 1 for cell in labels))


def check_scored(
    Y_true: Any, scores: Any, *, first: bool = False
) -> tuple[LabelMatrix, ScoreMatrix]:
    """True labels, and scores of the same shape: finite numbers, dense or CSR."""
    # With ``first``, only the first labels of a ranking matter: sparse scores may then have
    # unknown labels, which are dropped.
    Y_known, unknown = known_part(Y_true)
    Y = check_true(Y_known)
    refuse_labels(scores)
    S: ScoreMatrix = check_scores(scores)
    if sparse.issparse(S):
        S = sparse.csr_array(S)
    check_same(Y_true, Y, scores, S, "scores")
    if Y.dtype.kind == "f":
        if sparse.issparse(S):
            raise ValueError("scores must be dense if Y_true has labels between 0 and 1")
        Y = dense(Y)
    if unknown is None:
        return Y, S
    if sparse.issparse(S):
        if first:
            kept = ~stored_relevance(unknown, S)
            ends = np.append(0, np.cumsum(kept))[S.indptr]
            S = sparse.csr_array((S.data[kept], S.indices[kept], ends), S.shape)
            return UnknownLabels(Y, unknown).Y, S
        raise ValueError(
            "scores must be dense if some labels of Y_true are unknown; only the measures at k "
            "take sparse scores"
        )
    # below all others: no known label is ranked behind an unknown one
    return UnknownLabels(dense(Y), unknown), np.where(dense(unknown), -np.inf, S)


def stored_relevance(Y: LabelMatrix, S: sparse.csr_array) -> NDArray[np.bool_]:
    """Whether each stored entry of S, in order, is a true label."""
    number = sparse.csr_array((np.arange(1, S.nnz + 1), S.indices, S.indptr), S.shape)
    relevant = np.zeros(S.nnz + 1, dtype=bool)
    relevant[number.multiply(sparse.csr_array(Y)).tocsr().data] = True
    return relevant[1:]


def split_known(Y: LabelMatrix) -> tuple[LabelMatrix, NDArray[np.int64], NDArray[np.int64]]:
    """Labels, 0 where unknown, and the numbers of known labels by instance and by label."""
    n, q = Y.shape
    if not isinstance(Y, UnknownLabels):
        return Y, np.full(n, q), np.full(q, n)
    by_row, by_label = (np.asarray(Y.unknown.sum(axis=a, dtype=np.int64)).ravel() for a in (1, 0))
    return Y.Y, q - by_row, n - by_label


def soft_part(Y: LabelMatrix) -> NDArray[np.float64] | None:
    """Soft labels, 0 where unknown; None if all labels are 0 or 1."""
    labels = Y.Y if isinstance(Y, UnknownLabels) else Y
    return dense(labels) if labels.dtype.kind == "f" else None


def with_sets(Y: LabelMatrix, sets: LabelSets) -> LabelMatrix:
    """Label sets that soft labels stand for, unknown where these are."""
    if not isinstance(Y, UnknownLabels):
        return sets.Y
    return UnknownLabels(sets.Y, dense(Y.unknown)[sets.rows])


def terms_of(terms: Callable[..., Terms], counted: Any, **params: Any) -> Terms:
    """The terms of each instance; with soft labels, their expectations."""
    total, weight = terms(counted, **params)
    if (sets := counted.sets) is None:
        return total, weight
    return sets.expected(total), sets.expected(weight)


def check_beta(beta: float) -> float:
    """Weight of recall against precision: a positive number."""
    # From 1e15 on, F is the recall to the last digit: larger numbers are clipped, so that their
    # squares do not overflow.
    if not isinstance(beta, Real) or not np.isfinite(beta) or beta <= 0:
        raise ValueError(f"beta must be a positive number, got {beta!r}")
    return min(float(beta), 1e15)


def are_labels(scores: Any) -> bool:
    """Whether scores are integers 0 and 1."""
    # Floats are not, even if all are 0 or 1: the vote shares of one neighbour are scores.
    values = scores.tocsr().data if sparse.issparse(scores) else np.asarray(scores)
    return values.dtype.kind in "biu" and not ((values < 0) | (values > 1)).any()


def refuse_labels(scores: Any) -> None:
    """Raise an error for predicted labels in place of scores."""
    if are_labels(scores) and (not sparse.issparse(scores) or scores.nnz):
        raise ValueError(
            f"scores must be the scores that rank the labels, got predicted labels (only 0 and 1, "
            f"{getattr(scores, 'dtype', 'int64')}); pass what predict_proba or decision_function "
            "returns"
        )


def check_same(Y_true: Any, Y: Any, other_given: Any, other: Any, name: str) -> None:
    """Refuse another shape than that of Y_true, or its columns in another order."""
    if (shape := tuple(Y.shape)) != (got := tuple(other.shape)):
        raise ValueError(f"{name} must have the shape of Y_true, {shape}, got {got}")
    names, other_names = column_names(Y_true), column_names(other_given)
    if names and other_names and names != other_names and sorted(names) == sorted(other_names):
        both = f"{names[:5]}..., got {other_names[:5]}..."
        raise ValueError(f"{name} must have its columns in the order of Y_true, {both}")


def ratio(top: ArrayLike, bottom: ArrayLike, undefined: float = 0.0) -> NDArray[np.float64]:
    """Elementwise ``top / bottom`` in float64; ``undefined`` unless ``bottom`` is above 0."""
    a, b = np.asarray(top, dtype=np.float64), np.asarray(bottom, dtype=np.float64)
    out = np.full(np.broadcast_shapes(a.shape, b.shape), undefined)
    return np.divide(a, b, out=out, where=b > 0)


def mean_of_defined(total: ArrayLike, weight: ArrayLike) -> float:
    """``sum(total) / sum(weight)``; NaN if all weights are 0, so that nothing is defined."""
    denominator = float(np.sum(weight, dtype=np.float64))
    return float(np.sum(total, dtype=np.float64)) / denominator if denominator else float("nan")
