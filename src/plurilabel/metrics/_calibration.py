"""Calibration error: the distance of probabilities from frequencies."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from plurilabel._core.base import check_scores
from plurilabel._core.blocks import dense
from plurilabel._core.scores import check_count
from plurilabel._core.unknown import UnknownLabels
from plurilabel.metrics._inputs import blocks, check_scored, mean_of_defined, ratio, split_known


def expected_calibration_error(
    Y_true: ArrayLike,
    probabilities: ArrayLike,
    *,
    n_bins: int = 10,
    average: Literal["micro", "macro"] | None = "micro",
) -> Any:
    """Expected calibration error: the mean distance between probabilities and frequencies.

    The probabilities are put into ``n_bins`` bins of equal width. The error is the mean over the
    bins of the distance between the mean probability of a bin and the share of its entries whose
    label is present, weighted by the number of entries.

    Parameters
    ----------
    Y_true : 0/1 matrix of shape (n, q), dense, sparse or a data frame
        Unknown labels (NaN, None, NA) are left out.
    probabilities : matrix of shape (n, q), dense or sparse
        Between 0 and 1; entries that a sparse matrix does not store are 0.
    n_bins : int, default=10
        Bins are closed on the right, ((k - 1) / n_bins, k / n_bins]; the first has the 0 too.
    average : {"micro", "macro"} or None, default="micro"
        ``"micro"``: all entries of the matrix together; ``"macro"``: the mean of the labels'
        errors; None: the error of each label.

    Returns
    -------
    float, or ndarray of shape (q,) if ``average`` is None
        0 is best; NaN for a label that is unknown for all instances.

    Notes
    -----
    The error of few instances is not 0 even for perfect probabilities: that of a label with n
    instances is of the order of sqrt(n_bins / n) / 2.

    References
    ----------
    M. Naeini, G. Cooper, M. Hauskrecht. Obtaining well calibrated probabilities using Bayesian
    binning. AAAI 2015.

    Examples
    --------
    >>> from plurilabel.metrics import expected_calibration_error
    >>> Y = [[1, 0], [1, 0], [0, 0], [1, 1]]
    >>> P = [[0.75, 0.1], [0.75, 0.1], [0.75, 0.1], [0.75, 0.9]]
    >>> expected_calibration_error(Y, P, average=None)
    array([0. , 0.1])
    >>> round(expected_calibration_error(Y, P), 3)
    0.05
    """
    if average not in ("micro", "macro", None):
        raise ValueError(f"average must be 'micro', 'macro' or None, got {average!r}")
    n_bins = check_count(n_bins, "n_bins")
    Y, P = check_scored(Y_true, probabilities)
    (n, q), given = Y.shape, P
    if isinstance(Y, UnknownLabels):  # neither probability nor label of the others counts
        given = np.where(dense(Y.unknown), 0.0, check_scores(probabilities))
    Y, _, known = split_known(Y)
    excess = np.zeros((q, n_bins))  # sum of probability minus presence
    for rows in blocks(n, q):
        p, y = dense(given[rows]).astype(np.float64), dense(Y[rows])
        if p.min() < 0 or p.max() > 1:
            wrong = p.min() if p.min() < 0 else p.max()
            raise ValueError(f"probabilities must be between 0 and 1, got {wrong:g}")
        edges: NDArray[Any] = np.arange(1, n_bins) / n_bins
        place = np.searchsorted(edges, p, side="left") + n_bins * np.arange(q)
        excess += np.bincount(
            place.ravel(), weights=(p - y).ravel(), minlength=q * n_bins
        ).reshape(q, n_bins)
    if average == "micro":
        return mean_of_defined(np.abs(excess.sum(axis=0)), known)
    errors = ratio(np.abs(excess).sum(axis=1), known, np.nan)
    return errors if average is None else mean_of_defined(np.nan_to_num(errors), known > 0)
