"""Least squares where columns may depend on each other."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray
from scipy import linalg


def least_squares(A: Any, B: Any, *, cond: float = 1e-10, large: bool = False) -> NDArray[Any]:
    """The W of least norm that minimises |A W - B|."""
    # Directions in which A is smaller than ``cond`` times its largest are left out. The default of
    # LAPACK, one unit in the last place, is less than the rounding of A: columns that are sums of
    # others, or equal, get coefficients of 1e12 and more. With ``large``, an orthogonal
    # decomposition takes the place of singular values, which is much faster for 1000 columns.
    return linalg.lstsq(A, B, cond=cond, lapack_driver="gelsy" if large else "gelsd")[0]
