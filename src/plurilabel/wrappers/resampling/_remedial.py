"""REMEDIAL: rows that mix frequent and rare labels are split."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from plurilabel._core.blocks import dense, stack_rows
from plurilabel._core.compat import safe_indexing
from plurilabel.datasets import describe
from plurilabel.wrappers.resampling._base import Resampler, rare_labels


class REMEDIAL(Resampler):
    """REMEDIAL: a row that mixes frequent and rare labels becomes two with the same features.

    Rows whose SCUMBLE is above that of the dataset are split: the row keeps its frequent labels
    (IRLbl at most MeanIR), and a copy of it at the end gets the rare ones. Other resamplings can
    then add rows with rare labels that do not bring frequent ones along. For learners that look
    at one label at a time, the split contradicts itself: both rows deny labels that the instance
    has.

    References
    ----------
    F. Charte, A. J. Rivera, M. J. del Jesus, F. Herrera. Dealing with difficult minority labels
    in imbalanced multilabel data sets. Neurocomputing 326, 2019.

    Examples
    --------
    >>> from plurilabel import REMEDIAL
    >>> X, Y = [[0], [1], [2], [3], [4]], [[1, 0]] * 4 + [[1, 1]]
    >>> X, Y = REMEDIAL().fit_resample(X, Y)
    >>> X[4:], Y[4:].tolist()
    ([[4], [4]], [[1, 0], [0, 1]])
    """

    _needs_numbers: ClassVar[bool] = False

    def _resample(self, X: Any, Y: Any) -> tuple[Any, Any]:
        rare, mixing = rare_labels(Y), row_scumble(Y)
        split = mixing > mixing.mean()
        labels = sparse.csr_array(Y)
        size = np.diff(labels.indptr)
        seldom, inside = rare[labels.indices], np.repeat(split, size)
        kept, moved = labels.copy(), labels[split]
        kept.data[seldom & inside] = 0
        moved.data[~rare[moved.indices]] = 0
        both = stack_rows([kept, moved])
        both.eliminate_zeros()
        rows = np.concatenate([np.arange(len(size)), np.flatnonzero(split)])
        return safe_indexing(X, rows), both if sparse.issparse(Y) else dense(both)


def row_scumble(Y: Any) -> NDArray[np.float64]:
    """SCUMBLE of each row, whose mean is that of :func:`~plurilabel.datasets.describe`."""
    found, Y = describe(Y), sparse.csr_array(Y, dtype=np.float64)
    size = np.diff(Y.indptr)
    ir = np.where(found.counts > 0, found.irlbl, 1.0)
    geometric = np.exp(Y @ np.log(ir) / np.maximum(size, 1))
    arithmetic = Y @ ir / np.maximum(size, 1)
    # one label or none has no spread, whatever exp and log leave in the last digit
    return np.where(size > 1, np.maximum(1 - geometric / np.maximum(arithmetic, 1), 0), 0)
