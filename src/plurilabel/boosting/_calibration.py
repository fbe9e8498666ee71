"""The slope that makes probabilities of scores."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import minimize_scalar

from plurilabel.base import LabelMatrix


def fit_slope(f: NDArray[np.float64], Y: LabelMatrix, start: float) -> float:
    """The a > 0 for which sigmoid(a f) makes the labels most likely.

    One number for all labels, and no intercept: neither the order of the labels nor the cut at
    zero moves. The scores should be those of instances that were not trained on. It is searched
    within a factor of 100 of ``start``, and is ``start`` where no score, or every score, is wrong.
    """
    y = (Y.toarray() if sparse.issparse(Y) else Y).astype(bool)
    margin = np.where(y, f, -f)
    right = margin > 0
    if not f.any() or right.all() or not right.any():
        return start  # the likelihood has no maximum

    def negative_log_likelihood(log_slope: float) -> float:
        return float(np.logaddexp(0.0, -np.exp(log_slope) * margin).mean())

    centre = np.log(start)
    found = minimize_scalar(
        negative_log_likelihood,
        bounds=(centre - np.log(100), centre + np.log(100)),
        method="bounded",
    )
    return float(np.exp(found.x))
