"""Soft labels: probabilities instead of 0 and 1, and weighted 0/1 copies of them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_consistent_length

from plurilabel._core.blocks import canonical, dense, on_host
from plurilabel._core.compat import check_sample_weight, safe_indexing
from plurilabel._core.labels import LabelMatrix, check_labels, column_names
from plurilabel._core.limits import check_size
from plurilabel._core.unknown import UnknownLabels, known_part, number_matrix, unknown_cells


def soft_copies(X: Any, y: Any, sample_weight: Any = None) -> tuple[Any, Any, Any]:
    """Replace rows with soft labels by weighted copies with labels of 0 and 1.

    A label with probability p is present in copies with a total weight of p, and absent in copies
    with a total weight of 1 - p. Each row gets as few copies as possible, at most one more than
    it has distinct probabilities: a copy with a label also has all more probable labels. The
    labels of a row are thus as dependent as their probabilities allow, which makes no difference
    to learners that treat labels one by one.

    Rows whose labels are all 0 or 1 are left as they are. Learners with ``sample_weight`` call
    this function themselves.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n, d), or data frame
    y : matrix of shape (n, q), dense, sparse or a data frame
        Probabilities from 0 to 1; NaN where a label is unknown.
    sample_weight : array-like of shape (n,) or (n, q), default=None
        Weights of rows or of single labels. A label of weight 0 is unknown; one with half the
        weight of the others in its row is unknown in copies with half of the row's weight.

    Returns
    -------
    X, y, sample_weight
        Copies in the order of the rows. Labels are 0 and 1, NaN where they are unknown.

    Examples
    --------
    >>> from plurilabel.datasets import soft_copies
    >>> X, Y, weights = soft_copies([[5.0], [6.0]], [[0.75, 0.25], [1, 0]])
    >>> X
    [[5.0], [5.0], [5.0], [6.0]]
    >>> Y
    array([[1, 1],
           [1, 0],
           [0, 0],
           [1, 0]], dtype=int8)
    >>> weights
    array([0.25, 0.5 , 0.25, 1.  ])
    """
    rows, Y, weights = copied_rows(X, y, sample_weight)
    return safe_indexing(X, rows), Y, weights


def expanded(learner: Any, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, Any]:
    """X, y and weights for a learner of 0/1 labels: copies where ``needs_copies``."""
    if not needs_copies(y, sample_weight):
        return X, y, sample_weight
    rows, Y, weights = copied_rows(X, y, sample_weight, learner)
    return safe_indexing(X, rows), Y, weights


def copied_rows(X: Any, y: Any, sample_weight: Any, learner: Any = None) -> tuple[Any, Any, Any]:
    """Row number, labels and weight of each copy, for a learner that may need all labels."""
    check_consistent_length(X, y)
    names, weighted = column_names(y), column_names(sample_weight)
    if names is not None and weighted not in (None, names, list(map(str, range(len(names))))):
        raise ValueError(f"sample_weight must have the columns of y, {names}, got {weighted}")
    P, unknown = _probabilities(y), known_part(y)[1]
    rows, Y, weights = _layers(P, _cell_weights(sample_weight, P, unknown))
    needs_all = learner is not None and not learner.accepts_unknown_labels
    if needs_all and unknown is None and Y.dtype.kind == "f":
        raise ValueError(
            f"sample_weight must be the same for all labels of an instance: "
            f"{type(learner).__name__} learns from whole label sets"
        )
    if names is not None:
        Y = type(y)(Y, **{"columns" if hasattr(y, "iloc") else "schema": names})
    return rows, Y, weights


def needs_copies(y: Any, sample_weight: Any = None) -> bool:
    """Whether there are labels between 0 and 1, or weights of single labels."""
    return _are_of_cells(sample_weight) or is_soft(y)


def _are_of_cells(sample_weight: Any) -> bool:
    """Whether there are weights of single labels."""
    return sample_weight is not None and np.asarray(sample_weight).ndim == 2


def is_soft(y: Any) -> bool:
    """Whether a label matrix has numbers between 0 and 1, and none outside."""
    if isinstance(y, UnknownLabels):
        return is_soft(y.Y)
    if sparse.issparse(y):
        values = canonical(y.tocsr()).data if y.dtype.kind == "f" else None
    else:
        values = number_matrix(on_host(y))
        if values is not None and values.dtype == object:
            numbers = unknown_cells(values) is not None
            values = known_part(values)[0].astype(np.float64) if numbers else None
    if values is None or values.dtype.kind != "f":
        return False
    return bool(((values > 0) & (values < 1)).any()) and not ((values < 0) | (values > 1)).any()


def soft_or_hard(Y: Any, *, name: str = "Y") -> LabelMatrix:
    """Labels as int8, or as float64 if some are between 0 and 1; dense or CSR."""
    if not is_soft(Y):
        return check_labels(Y, name=name)
    if not sparse.issparse(Y):
        return np.ascontiguousarray(on_host(Y), dtype=np.float64)
    P = sparse.csr_array(Y, dtype=np.float64, copy=True)
    P.sum_duplicates()
    P.eliminate_zeros()
    return P


def harder(Y: LabelMatrix) -> LabelMatrix:
    """Labels as int8 if none is between 0 and 1 any more."""
    return Y if Y.dtype.kind != "f" or is_soft(Y) else Y.astype(np.int8)


_SETS, _CELLS = 256, 2**22  # most label sets of a row, and cells of all sets together


class LabelSets(NamedTuple):
    """Label sets with their probabilities, those of each row together."""

    rows: NDArray[np.intp]
    Y: NDArray[np.int8]
    weights: NDArray[np.float64]

    def expected(self, values: Any) -> NDArray[Any]:
        """Expectation of a value of each set, by row."""
        return np.bincount(self.rows, self.weights * values)


def possible_sets(P: LabelMatrix) -> LabelSets:
    """All label sets of rows with soft labels, as if labels were independent."""
    # A row with u labels between 0 and 1 has 2^u sets. If these are more than 256 (fewer if there
    # are many rows), that many equally probable sets are drawn instead, with a fixed seed and
    # stratified: each label is present in a share p of them, up to rounding.
    P = dense(P)
    n, q = P.shape
    most = int(np.clip(_CELLS // max(n * q, 1), 4, _SETS))
    unsure = (P > 0) & (P < 1)
    u = unsure.sum(axis=1)
    exact = u <= np.log2(most)
    size = np.where(exact, 2 ** np.minimum(u, 8), most)
    rows = np.repeat(np.arange(n), size)
    what, sizes = "measures of soft labels", f"{n:,} rows and {q:,} labels"
    instead = "labels that are rounded to 0 or 1 where they are almost certain"
    check_size(what, sizes, memory=40.0 * len(rows) * q, instead=instead)
    number = np.arange(len(rows)) - np.repeat(np.cumsum(size) - size, size)
    bit = np.maximum(np.cumsum(unsure, axis=1) - 1, 0)  # which each unsure label has in a number
    Y = np.where(unsure[rows], number[:, None] >> np.minimum(bit, 8)[rows] & 1, P[rows] == 1)
    drawn, places = ~exact, np.flatnonzero(~exact[rows])
    if len(places):
        rng = np.random.default_rng(0)
        shape = int(drawn.sum()), most, q
        strata = rng.random(shape).argsort(axis=1) + rng.random(shape)
        Y[places] = (strata < most * P[drawn][:, None]).reshape(-1, q)
    weights = np.where(Y == 1, P[rows], 1 - P[rows]).prod(axis=1)
    weights[places] = 1 / most
    return LabelSets(rows, Y.astype(np.int8), weights)


def _probabilities(y: Any) -> NDArray[np.float64]:
    """Soft labels as a dense matrix; 0 where they are unknown."""
    if len(shape := y.shape if hasattr(y, "shape") else np.shape(y)) != 2:
        raise ValueError(f"y must be a matrix (n, q), got {len(shape)} dimension(s)")
    n, q = shape
    sizes = f"{n:,} rows and {q:,} labels"
    instead = "labels of 0 and 1 for the rows that are certain"
    check_size("soft labels", sizes, memory=8.0 * n * q, instead=instead)
    P = np.asarray(dense(known_part(y)[0]), dtype=np.float64)
    wrong = ~((P >= 0) & (P <= 1))
    if wrong.any():
        i, j = np.argwhere(wrong)[0]
        raise ValueError(f"y must be between 0 and 1, got {P[i, j]:g} in row {i}, column {j}")
    return P


def _cell_weights(sample_weight: Any, P: Any, unknown: Any) -> NDArray[np.float64]:
    """Weights (n, q), 0 where a label is unknown."""
    if _are_of_cells(sample_weight):
        W = np.asarray(sample_weight, dtype=np.float64)
        if W.shape != P.shape or not np.isfinite(W).all() or (W < 0).any() or not W.any():
            raise ValueError(
                f"sample_weight must be finite numbers, none below 0 and not all 0, of shape "
                f"{P.shape[:1]} or {P.shape}, got shape {W.shape}"
            )
    else:
        W = np.repeat(check_sample_weight(sample_weight, P)[:, np.newaxis], P.shape[1], axis=1)
    return W if unknown is None else np.where(dense(unknown), 0.0, W)


def _layers(P: Any, W: Any) -> tuple[Any, Any, Any]:
    """Rows, labels and weights of the copies."""
    # A copy is a range of u between 0 and the highest weight of its row: label j is there for u
    # below w_j p_j, not there up to w_j, and unknown above.
    n, q = P.shape
    ends = np.sort(np.hstack([W * P, W]), axis=1)
    starts = np.hstack([np.zeros((n, 1)), ends[:, :-1]])
    rows, at = np.nonzero(ends - starts > 1e-12 * np.maximum(ends[:, -1:], 1e-300))
    sizes = f"{len(rows):,} copies of {n:,} rows and {q:,} labels"
    instead = "labels that are rounded, as by np.round(y, 1)"
    check_size("soft labels", sizes, memory=20.0 * len(rows) * q, instead=instead)
    low = starts[rows, at][:, np.newaxis]
    there, known = (W * P)[rows] > low, W[rows] > low
    Y = there.astype(np.int8) if known.all() else np.where(known, there.astype(np.float64), np.nan)
    return rows, Y, (ends - starts)[rows, at]
