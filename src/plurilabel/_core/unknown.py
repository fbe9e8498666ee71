"""Unknown labels: neither 0 nor 1."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from plurilabel._core.blocks import dense, is_missing, on_host, stack_rows


class UnknownLabels:
    """A label matrix with unknown entries.

    For large label spaces, where a dense matrix with NaN would be too large. Learners with
    ``accepts_unknown_labels`` accept it like NaN, None or ``pandas.NA``. Rows can be selected, so
    that it works in cross-validation.

    Parameters
    ----------
    Y : 0/1 matrix of shape (n, q), dense or sparse
        Its values at unknown entries do not matter.
    unknown : 0/1 matrix of shape (n, q), dense or sparse
        1 where the label is unknown.

    Attributes
    ----------
    Y : ndarray or csr_array of shape (n, q)
        The labels, 0 where they are unknown.
    unknown : ndarray of bool or csr_array of shape (n, q)
        In the form of ``Y``: dense or CSR.

    Examples
    --------
    >>> import numpy as np
    >>> from plurilabel._core.unknown import UnknownLabels
    >>> labels = UnknownLabels(np.array([[1, 0], [0, 1]]), unknown=np.array([[0, 1], [0, 0]]))
    >>> labels
    UnknownLabels of shape (2, 2), 1 of 4 labels unknown
    >>> labels.toarray()
    array([[ 1., nan],
           [ 0.,  1.]])
    """

    __module__ = "plurilabel.datasets"
    ndim = 2

    def __init__(self, Y: Any, unknown: Any) -> None:
        is_sparse = sparse.issparse(Y)
        Y = sparse.csr_array(Y) if is_sparse else np.asarray(Y)
        mask: Any = sparse.csr_array(unknown) if is_sparse else dense(unknown)
        if Y.shape != mask.shape or Y.ndim != 2:
            raise ValueError(f"unknown must be of the shape of Y, {Y.shape}, got {mask.shape}")
        values = mask.data if is_sparse else mask
        if values.dtype != bool and not np.isin(values, (0, 1)).all():
            raise ValueError("unknown must hold only 0 and 1, got other values")
        mask = mask.astype(bool)
        if is_sparse:
            mask.eliminate_zeros()
            Y = sparse.csr_array(Y - Y.multiply(mask))  # 0 where it is unknown
            Y.eliminate_zeros()
            Y.sort_indices()
        else:
            Y = np.where(mask, np.zeros((), dtype=Y.dtype), Y)
        self.Y: Any = Y
        self.unknown: Any = mask

    @classmethod
    def from_nan(cls, Y: Any) -> UnknownLabels:
        """From a matrix, dense or sparse, with NaN where a label is unknown.

        Examples
        --------
        >>> from scipy import sparse
        >>> UnknownLabels.from_nan(sparse.csr_array([[1.0, float("nan")], [0.0, 1.0]]))
        UnknownLabels of shape (2, 2), 1 of 4 labels unknown
        """
        if not sparse.issparse(Y):
            return cls(np.nan_to_num(Y), np.isnan(Y))
        Y = sparse.csr_array(Y)
        unknown = sparse.csr_array((np.isnan(Y.data), Y.indices, Y.indptr), Y.shape)
        filled = sparse.csr_array((np.nan_to_num(Y.data), Y.indices, Y.indptr), Y.shape)
        return cls(filled, unknown)

    @property
    def shape(self) -> tuple[int, int]:
        """Instances and labels."""
        n, q = self.Y.shape
        return n, q

    @property
    def n_unknown(self) -> int:
        """Number of unknown labels."""
        unknown = self.unknown
        return int(unknown.nnz if sparse.issparse(unknown) else np.count_nonzero(unknown))

    def __len__(self) -> int:
        return int(self.Y.shape[0])

    def __getitem__(self, rows: Any) -> UnknownLabels:
        """Some rows, as they are selected in an array."""
        if isinstance(rows, tuple):  # scikit-learn writes y[rows, ...]
            if len(rows) != 2 or rows[1] is not Ellipsis:
                raise IndexError("only rows of UnknownLabels can be selected")
            rows = rows[0]
        if np.ndim(rows) == 0 and not isinstance(rows, slice):
            rows = [rows]
        return UnknownLabels(self.Y[rows], self.unknown[rows])

    def toarray(self) -> NDArray[np.float64]:
        """A dense matrix with NaN where a label is unknown."""
        return np.where(dense(self.unknown), np.nan, dense(self.Y))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        if sparse.issparse(self.Y):
            raise TypeError("these UnknownLabels are sparse: toarray() makes them dense")
        del copy
        return self.toarray().astype(np.float64 if dtype is None else dtype)

    @property
    def complete(self) -> NDArray[np.bool_]:
        """Whether all labels of each instance are known, (n,)."""
        return np.asarray(self.unknown.sum(axis=1)).ravel() == 0

    def shares(self) -> NDArray[np.float64]:
        """The share of each label among its known values, (q,); 0 where none is known."""
        present, unknown = (np.asarray(M.sum(axis=0)).ravel() for M in (self.Y, self.unknown))
        return present / np.maximum(len(self) - unknown, 1)

    def known_rows(self, label: int) -> NDArray[np.bool_]:
        """Whether each instance has a known value of one label, (n,)."""
        return ~dense(self.unknown[:, [label]]).ravel()

    def __repr__(self) -> str:
        n, q = self.shape
        return f"UnknownLabels of shape {n, q}, {self.n_unknown:,} of {n * q:,} labels unknown"


def known_part(Y: Any) -> tuple[Any, Any]:
    """Labels with 0 where unknown, and the mask of those; (Y, None) if none is unknown."""
    if isinstance(Y, UnknownLabels):
        return (Y.Y, Y.unknown) if Y.n_unknown else (Y.Y, None)
    Y = on_host(Y)
    array = number_matrix(Y)
    unknown = None if array is None else unknown_cells(array)
    if array is None or unknown is None or not unknown.any():
        return Y, None
    filled = array.copy()
    filled[unknown] = 0
    return filled, unknown


def number_matrix(Y: Any) -> NDArray[Any] | None:
    """Y as a matrix, if it is of a type that can hold unknown or soft labels."""
    if sparse.issparse(Y) or isinstance(Y, np.ma.MaskedArray):
        return None
    if isinstance(Y, np.ndarray) and Y.dtype.kind not in "fO":
        return None
    try:
        array = np.asarray(Y)
    except ValueError:  # rows of different lengths: the door says so
        return None
    return array if array.ndim == 2 and array.dtype.kind in "fO" else None


def unknown_cells(array: NDArray[Any]) -> NDArray[np.bool_] | None:
    """Which cells are unknown; None if the others do not hold numbers."""
    if array.dtype.kind == "f":
        return np.isnan(array)
    unknown = np.frompyfunc(is_missing, 1, 1)(array).astype(bool)
    kinds = set(map(type, array[~unknown]))
    if all(issubclass(kind, int | float | np.number | np.bool_) for kind in kinds):
        return unknown
    return None  # tags, or a mistake: the door says so


def stack_labels(parts: list[Any]) -> Any:
    """Label matrices below each other; UnknownLabels if one of them is."""
    if not any(isinstance(part, UnknownLabels) for part in parts):
        return stack_rows(parts)
    pairs = []
    for part in parts:
        Y, unknown = known_part(part)
        if unknown is None:
            none = sparse.csr_array if sparse.issparse(Y) else np.zeros
            unknown = none(Y.shape, dtype=bool)
        pairs.append((Y, unknown))
    return UnknownLabels(*(stack_rows(list(both)) for both in zip(*pairs)))


def takes_unknown_labels(estimator: Any) -> bool:
    """Whether an estimator, or the last step of a pipeline, learns from known labels."""
    return bool(getattr(_last_step(estimator), "accepts_unknown_labels", False))


def takes_soft_labels(estimator: Any) -> bool:
    """Whether an estimator, or the last step of a pipeline, learns from probabilities."""
    return bool(getattr(_last_step(estimator), "accepts_soft_labels", False))


def _last_step(estimator: Any) -> Any:
    while isinstance(steps := getattr(estimator, "steps", None), list) and steps:
        estimator = steps[-1][1]
    return estimator


def cell_weights(
    label_weight: Any, Y: Any, unknown: Any = None, sample_weight: Any = None
) -> NDArray[np.float64]:
    """Weights (n, q) for "balanced", or (q,) as they were given, checked."""
    # "balanced" gives the instances with and without a label the same total weight, and keeps the
    # sum; constant labels keep their weights. Unknown labels are not counted.
    has = dense(Y).astype(np.float64)
    if isinstance(label_weight, str):
        weight = np.ones(len(has)) if sample_weight is None else np.asarray(sample_weight)
        total = weight @ (np.ones(has.shape) if unknown is None else ~dense(unknown))
        present = weight @ has
        absent = total - present
        varies = (present > 0) & (absent > 0)
        each = [
            np.divide(total, 2 * part, out=np.ones(len(total)), where=varies)
            for part in (present, absent)
        ]
        return has * each[0] + (1 - has) * each[1]
    given = np.asarray(label_weight, dtype=np.float64)
    if given.shape != has.shape[1:] or not np.isfinite(given).all() or (given < 0).any():
        raise ValueError(
            f"label_weight must be {has.shape[1]} finite numbers, one per label, and none "
            f"below 0; got shape {given.shape}"
        )
    return given
