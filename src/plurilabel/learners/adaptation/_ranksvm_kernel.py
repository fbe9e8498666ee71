"""Kernel matrices as linear operators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.utils.extmath import safe_sparse_dot

from plurilabel._core.blocks import dense, row_blocks

Floats = NDArray[np.float64]
Places = NDArray[np.intp]
Product = Callable[[Floats], Floats]  # of a matrix and others

FACTOR = 2**12  # rows of the largest matrix that is factorised: 128 MB

NOT_PSD = "kernel must be positive semi-definite, got one that is not: the problem has no minimum"
TOO_LARGE = (
    "X is too large for kernel={!r}, whose values overflow: scale the features, for example with "
    "StandardScaler"
)


class LinearGram:
    """K = X X' for dense or sparse X, never formed."""

    def __init__(self, X: Any):
        self.X = X
        with np.errstate(over="ignore"):
            squares = X * X
        self.diagonal = np.asarray(squares.sum(axis=1), dtype=np.float64).ravel()
        if not np.isfinite(self.diagonal).all():
            raise ValueError(TOO_LARGE.format("linear"))
        self.rank = min(X.shape)  # at most

    def __matmul__(self, V: Floats) -> Floats:
        return safe_sparse_dot(self.X, safe_sparse_dot(self.X.T, V))

    def among(self, row: Places, column: Places, q: int) -> Product:
        """The entries (row, column) of K V, given those of V (n, q), which has no others."""
        rows, place = np.unique(row, return_inverse=True)
        X = self.X if len(rows) == self.X.shape[0] else self.X[rows]
        return _at_entries(lambda V: X @ (X.T @ V), len(rows), place, column, q)

    def root(self) -> Floats:
        """Phi (n, r) with K = Phi Phi', for a small K."""
        if self.X.shape[1] == self.rank:
            return dense(self.X)
        return _square_root(dense(self.X @ self.X.T))

    @property
    def can_be_factorised(self) -> bool:
        return self.rank <= FACTOR

    def inverse(self, shift: float) -> Product:
        """V -> (K + shift)^-1 V, by a Cholesky factor."""
        X, (n, d) = self.X, self.X.shape
        if n <= d:
            return _shifted_inverse(dense(X @ X.T), shift)
        among_features = _shifted_inverse(dense(X.T @ X), shift)
        return lambda V: (V - X @ among_features(X.T @ V)) / shift


class BlockGram:
    """K in blocks of rows, ``kernel(rows, X)``, of which ``limit`` bytes are kept."""

    def __init__(self, X: Any, kernel: Any, limit: float):
        n = X.shape[0]
        self.X, self.kernel, self.rank = X, kernel, n
        if 8.0 * n * n <= limit:
            whole = kernel(X, X)
            self.rows, self.kept = [slice(0, n)], [whole]
            self.diagonal = whole.diagonal().copy()
            return
        self.rows = row_blocks(n, 8 * n, limit / 4)
        step = self.rows[0].stop  # one block is computed beside those that are kept
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

    def among(self, row: Places, column: Places, q: int) -> Product:
        if len(self.rows) > 1:
            return _at_entries(lambda V: self @ V, len(self.diagonal), row, column, q)
        rows, place = np.unique(row, return_inverse=True)
        K = self.kept[0][np.ix_(rows, rows)]
        return _at_entries(lambda V: K @ V, len(rows), place, column, q)

    def root(self) -> Floats:
        return _square_root(self @ np.eye(self.rank))

    @property
    def can_be_factorised(self) -> bool:
        return len(self.rows) == 1 and self.rank <= FACTOR

    def inverse(self, shift: float) -> Product:
        return _shifted_inverse(self.kept[0], shift)


Gram: TypeAlias = LinearGram | BlockGram  # the kernel matrix of the training instances


def _at_entries(product: Product, n: int, row: Places, column: Places, q: int) -> Product:
    """From some entries of V (n, q) to those of its product."""

    def times_K(v: Floats) -> Floats:
        V = np.zeros((n, q))
        V[row, column] = v
        return product(V)[row, column]

    return times_K


def _shifted_inverse(K: Floats, shift: float) -> Product:
    shifted = K + shift * np.eye(len(K))
    try:
        factor = linalg.cho_factor(shifted, overwrite_a=True, check_finite=False)
    except linalg.LinAlgError:
        raise ValueError(NOT_PSD) from None
    return lambda V: linalg.cho_solve(factor, V, check_finite=False)


def _square_root(K: Floats) -> Floats:
    values, vectors = np.linalg.eigh(K)
    if values[0] < -1e-6 * values[-1]:
        raise ValueError(NOT_PSD)
    kept = values > len(K) * np.finfo(float).eps * values.max()  # others are rounded zeros
    return vectors[:, kept] * np.sqrt(values[kept])


def gram(X: Any, kernel: Any, params: dict[str, float], limit: float) -> Gram:
    """The kernel matrix of the rows of X, with at most ``limit`` bytes in memory."""
    if kernel == "precomputed":
        return BlockGram(X, lambda rows, _: rows, np.inf)
    n, entries = X.shape[0], X.nnz if sparse.issparse(X) else X.size
    if kernel == "linear" and (2 * entries <= n * n or 8.0 * n * n > limit):
        return LinearGram(X)
    return BlockGram(X, lambda A, B: kernel_matrix(A, B, kernel, params), limit)


def kernel_matrix(A: Any, B: Any, kernel: Any, params: dict[str, float]) -> Floats:
    """Kernel values between the rows of A and those of B."""
    if callable(kernel):
        K, shape = np.asarray(kernel(A, B), dtype=np.float64), (A.shape[0], B.shape[0])
        if K.shape != shape:
            raise ValueError(f"kernel must return a matrix of shape {shape}, got {K.shape}")
        if not np.isfinite(K).all():
            raise ValueError("kernel must return finite values, got NaN or infinity")
        return K
    with np.errstate(over="ignore", invalid="ignore"):
        K = np.asarray(pairwise_kernels(A, B, metric=kernel, **params), dtype=np.float64)
    if not np.isfinite(K).all():
        raise ValueError(TOO_LARGE.format(kernel))
    return K
