"""Constant cut: the same number for every score."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from plurilabel._compat import Interval
from plurilabel.base import LabelMatrix
from plurilabel.thresholds._base import (
    ThresholdStrategy,
    above,
    as_labels,
    check_dense_scores,
)


class ConstantCut(ThresholdStrategy):
    """Predict the labels whose score is above a given number.

    Parameters
    ----------
    cut : float, default=0.5
        0.5 suits probabilities, 0 suits decision functions. By its name, ``"constant"``, inside
        :class:`ThresholdClassifier` it is the one that suits the classifier.

    Examples
    --------
    >>> from plurilabel.thresholds import ConstantCut
    >>> scores, Y = [[0.9, 0.4], [0.5, 0.6]], [[1, 1], [0, 1]]
    >>> ConstantCut(0.5).fit(scores, Y).predict(scores)
    array([[1, 0],
           [0, 1]])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "cut": [Interval(Real, None, None, closed="neither")],
    }

    def __init__(self, cut: float = 0.5):
        self.cut = cut

    def learns_from_scores(self) -> bool:
        """Whether ``fit`` needs scores, or labels alone will do."""
        return False

    def _fit(self, scores: NDArray[np.floating] | None, Y: LabelMatrix) -> None:  # noqa: ARG002
        self.cut_ = float(self.cut)

    def _sets(self, scores: NDArray[np.floating]) -> NDArray[np.bool_]:
        return above(scores, self.cut_)


def apply_cut(scores: ArrayLike, cut: ArrayLike) -> NDArray[np.int64]:
    """Label sets: the scores strictly above the cut.

    Parameters
    ----------
    scores : array-like of shape (n, q)
    cut : float, or array-like of shape (q,) or (n, 1)
        One cut for all, one for each label, or one for each instance.

    Returns
    -------
    0/1 ndarray of shape (n, q)

    Examples
    --------
    >>> from plurilabel.thresholds import apply_cut
    >>> apply_cut([[0.9, 0.4], [0.5, 0.6]], [0.5, 0.3])
    array([[1, 1],
           [0, 1]])
    """
    checked = check_dense_scores(scores)
    cuts = np.asarray(cut, dtype=np.float64)
    n, q = checked.shape
    if cuts.shape not in ((), (q,), (n, 1)):
        raise ValueError(
            f"cut must be a number or have the shape ({q},), one per label, or ({n}, 1), "
            f"one per instance, got {cuts.shape}"
        )
    if np.isnan(cuts).any():
        raise ValueError("cut must be a number, got NaN")
    labels = as_labels(above(checked, cuts))
    assert not sparse.issparse(labels)
    return labels
