"""X with further columns: the inputs of chains and stacks. Sparse X stays sparse."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse


def with_columns(X: Any, extra: Any) -> Any:
    """X and further columns, in the type and form (dense or CSR) of X."""
    if sparse.issparse(X):
        added = sparse.csr_array(extra, dtype=X.dtype)
        return sparse.hstack([sparse.csr_array(X), added], format="csr")
    added = extra.toarray() if sparse.issparse(extra) else extra
    return np.hstack([X, added.astype(X.dtype, copy=False)])


class GrowingInput:
    """X to which columns are appended one at a time.

    Parameters
    ----------
    X : ndarray or csr_array of shape (n, d)
        It is not changed.
    room : int
        How many columns will come. Dense X is copied once, into an array with that room.
    """

    def __init__(self, X: Any, room: int):
        self.width = X.shape[1]
        if sparse.issparse(X):
            self._matrix = X
        else:
            self._matrix = np.empty((X.shape[0], X.shape[1] + room), dtype=X.dtype)
            self._matrix[:, : X.shape[1]] = X

    def matrix(self) -> Any:
        """X and the columns so far."""
        return self._matrix if sparse.issparse(self._matrix) else self._matrix[:, : self.width]

    def append(self, column: NDArray[Any]) -> None:
        """Add a column of n numbers."""
        if sparse.issparse(self._matrix):
            self._matrix = with_columns(self._matrix, column[:, np.newaxis])
        else:
            self._matrix[:, self.width] = column
        self.width += 1
