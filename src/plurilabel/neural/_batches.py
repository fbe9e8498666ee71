"""Mini-batches of standardised rows and their labels, as tensors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from plurilabel.base import LabelMatrix

CHUNK = 2**22
"""Entries of X or Y that are gathered at once, to be cut into batches."""


class Batches:
    """Rows of X and Y on a device; call with an order and a size to get batches.

    What is dense goes to the device once. What is sparse stays sparse here, and only a chunk of
    rows at a time is dense. A chunk is gathered in one go: for small networks, a gather for each
    batch would cost as much as a layer.
    """

    def __init__(
        self,
        torch: Any,
        X: Any,
        Y: LabelMatrix,
        *,
        mean: NDArray[np.float64],
        scale: NDArray[np.float64],
        device: Any,
    ):
        self.torch, self.device = torch, device
        if sparse.issparse(X):
            data = (X.data / scale[X.indices]).astype(np.float32)
            self.X: Any = sparse.csr_array((data, X.indices, X.indptr), shape=X.shape)
            self.shift = self._tensor((mean / scale).astype(np.float32))
        else:
            Z = X - mean
            Z /= scale
            self.X = self._tensor(Z.astype(np.float32))
        self.Y = Y if sparse.issparse(Y) else self._tensor(Y)

    def __call__(self, order: NDArray[np.intp], size: int) -> Iterator[tuple[Any, Any]]:
        widest = max(self.X.shape[1], self.Y.shape[1])
        chunk = max(1, CHUNK // (widest * size)) * size
        for start in range(0, len(order), chunk):
            rows = order[start : start + chunk]
            x = self._rows(self.X, rows)
            y = self._rows(self.Y, rows).to(self.torch.float32)
            if sparse.issparse(self.X):
                x -= self.shift
            yield from zip(x.split(size), y.split(size))

    def _rows(self, matrix: Any, rows: NDArray[np.intp]) -> Any:
        if sparse.issparse(matrix):
            return self._tensor(matrix[rows].toarray())
        return matrix.index_select(0, self._tensor(rows))

    def _tensor(self, array: NDArray[Any]) -> Any:
        # from_numpy warns of arrays that must not be written to; nothing here writes
        if not array.flags.writeable:
            array = array.copy()
        return self.torch.from_numpy(array).to(self.device)
