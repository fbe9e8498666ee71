"""Comparing two learners on one dataset by the folds of a cross-validation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import special


@dataclass(frozen=True)
class ResampledT:
    """What :func:`corrected_resampled_t` found; ``print`` shows it.

    Attributes
    ----------
    difference : float
        Mean of first - second.
    statistic : float
    df : int
    pvalue : float
        Two-sided.
    """

    difference: float
    statistic: float
    df: int
    pvalue: float

    def __str__(self) -> str:
        return (
            f"corrected resampled t-test: mean difference {self.difference:.4g}, "
            f"t({self.df}) = {self.statistic:.4g}, p = {self.pvalue:.3g}"
        )


def corrected_resampled_t(
    first: ArrayLike, second: ArrayLike, *, test_to_train: float
) -> ResampledT:
    """Nadeau and Bengio's t-test of two learners on the same folds of one dataset.

    The training parts of folds overlap, so the ordinary paired t-test takes too many differences
    for real. Here the variance of the J differences, divided by J in the ordinary test, is
    multiplied by ``1 / J + test_to_train``.

    Parameters
    ----------
    first, second : array-like of shape (J,)
        A measure of both learners, fold by fold; repeats one after the other.
    test_to_train : float
        Number of test instances divided by the number of training instances: 1 / (k - 1) in
        k-fold cross-validation.

    Returns
    -------
    ResampledT

    References
    ----------
    C. Nadeau, Y. Bengio. Inference for the generalization error. Machine Learning 52, 2003.

    R. R. Bouckaert, E. Frank. Evaluating the replicability of significance tests for comparing
    learning algorithms. PAKDD 2004.

    Examples
    --------
    >>> from plurilabel.stats import corrected_resampled_t
    >>> print(corrected_resampled_t([0.8, 0.7, 0.9], [0.6, 0.6, 0.6], test_to_train=0.5))
    corrected resampled t-test: mean difference 0.2, t(2) = 2.191, p = 0.16
    """
    a, b = (np.asarray(part, dtype=np.float64) for part in (first, second))
    if a.ndim != 1 or a.shape != b.shape or len(a) < 2:
        raise ValueError(
            "first and second must have the same number of folds, at least two, "
            f"got shapes {a.shape} and {b.shape}"
        )
    if not (np.isfinite(a).all() and np.isfinite(b).all()):
        raise ValueError("first and second must be finite in every fold, got NaN or infinity")
    if not test_to_train > 0:
        raise ValueError(f"test_to_train must be positive, got {test_to_train}")
    d = a - b
    mean = float(d.mean())
    error = float(np.sqrt((1 / len(d) + test_to_train) * d.var(ddof=1)))
    if error <= 1e-12 * max(float(np.abs(a).max()), float(np.abs(b).max())):
        # the same difference in every fold: rounding must not decide
        same = bool(np.allclose(d, 0, atol=1e-12))
        return ResampledT(
            mean, 0.0 if same else float(np.copysign(np.inf, mean)), len(d) - 1, float(same)
        )
    t = mean / error
    return ResampledT(mean, t, len(d) - 1, float(2 * special.stdtr(len(d) - 1, -abs(t))))
