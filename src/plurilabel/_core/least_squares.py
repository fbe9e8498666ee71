"""Least squares with columns that may be linearly dependent."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray
from scipy import linalg


def least_squares(A: Any, B: Any, *, cond: float = 1e-10, large: bool = False) -> NDArray[Any]:
    """The W of least norm that minimises |A W - B|."""
    # Singular values below ``cond`` times the largest count as 0. LAPACK's default, one unit in
    # the last place, is less than the rounding of A: dependent columns would get coefficients of
    # 1e12. ``large`` uses an orthogonal decomposition, which is much faster for 1000 columns.
    return linalg.lstsq(A, B, cond=cond, lapack_driver="gelsy" if large else "gelsd")[0]
