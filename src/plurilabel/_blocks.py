"""Matrices that are dense or sparse, and rows of them in blocks: each thing once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse


def row_blocks(n: int, width: float, at_once: float) -> list[slice]:
    """Slices that cover n rows, each with about ``at_once`` numbers where a row has ``width``.

    Examples
    --------
    >>> row_blocks(5, width=10, at_once=25)
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    step = max(1, int(at_once / max(width, 1)))
    return [slice(start, min(start + step, n)) for start in range(0, n, step)]


def dense(matrix: Any) -> NDArray[Any]:
    """A matrix as an ndarray; one that is dense already is not copied."""
    return matrix.toarray() if sparse.issparse(matrix) else np.asarray(matrix)


def stack_rows(parts: Sequence[Any]) -> Any:
    """Matrices below each other: CSR if the first is sparse, else dense."""
    if sparse.issparse(parts[0]):
        return sparse.csr_array(
            sparse.vstack([sparse.csr_array(part) for part in parts], format="csr")
        )
    return np.vstack([dense(part) for part in parts])


def has_missing(X: Any) -> bool:
    """Whether there is a NaN in a matrix of numbers."""
    return bool(np.isnan(X.data if sparse.issparse(X) else np.asarray(X)).any())


def take_rows(X: Any, rows: Any) -> Any:
    """Rows of an array, a CSR matrix or a data frame, by their numbers or as a slice."""
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]
