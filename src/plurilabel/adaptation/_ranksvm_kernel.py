"""Kernel matrices as operators: what the solver needs is K @ V and the diagonal."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.utils.extmath import safe_sparse_dot

Floats = NDArray[np.float64]


class Gram(Protocol):
    """The kernel matrix of the training instances."""

    diagonal: Floats

    def __matmul__(self, V: Floats) -> Floats: ...


class LinearGram:
    """K = X X', never formed: the solver works on w = X' beta, dense or sparse."""

    def __init__(self, X: Any):
        self.X = X
        self.diagonal = np.asarray((X * X).sum(axis=1), dtype=np.float64).ravel()

    def __matmul__(self, V: Floats) -> Floats:
        return safe_sparse_dot(self.X, safe_sparse_dot(self.X.T, V))


class BlockGram:
    """K in blocks of rows, kept as far as the memory limit goes, the rest made anew each time.

    Parameters
    ----------
    X : instances
    kernel : callable
        ``kernel(rows, X)`` gives a block of rows of K.
    limit : float
        Bytes that kept blocks may take.
    """

    def __init__(self, X: Any, kernel: Any, limit: float):
        n = X.shape[0]
        self.X, self.kernel = X, kernel
        if 8.0 * n * n <= limit:
            whole = kernel(X, X)
            self.rows, self.kept = [slice(0, n)], [whole]
            self.diagonal = whole.diagonal().copy()
            return
        step = max(1, min(n, int(limit / 4 / (8 * n))))  # one block is being made beside the kept
        self.rows = [slice(a, min(a + step, n)) for a in range(0, n, step)]
        self.kept, self.diagonal = [], np.empty(n)
        for rows in self.rows:
            block = kernel(X[rows], X)
            self.diagonal[rows] = block[np.arange(len(block)), np.arange(rows.start, rows.stop)]
            if 8.0 * n * (rows.stop + step) <= limit:
                self.kept.append(block)

    def __matmul__(self, V: Floats) -> Floats:
        if len(self.rows) == 1:
            return self.kept[0] @ V
        product = np.empty((len(self.diagonal), V.shape[1]))
        for number, rows in enumerate(self.rows):
            kept = number < len(self.kept)
            block = self.kept[number] if kept else self.kernel(self.X[rows], self.X)
            product[rows] = block @ V
        return product


def kernel_matrix(A: Any, B: Any, kernel: Any, params: dict[str, float]) -> Floats:
    """Kernel values between the rows of A and those of B, as scikit-learn makes them."""
    if callable(kernel):
        K = np.asarray(kernel(A, B), dtype=np.float64)
        if K.shape != (A.shape[0], B.shape[0]):
            raise ValueError(
                f"kernel must return a matrix of shape {(A.shape[0], B.shape[0])}, got {K.shape}"
            )
        if not np.isfinite(K).all():
            raise ValueError("kernel must return finite values, got NaN or infinity")
        return K
    return np.asarray(pairwise_kernels(A, B, metric=kernel, **params), dtype=np.float64)
