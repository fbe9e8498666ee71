"""PCut: each label for the share of instances that had it in training."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from plurilabel._compat import Interval
from plurilabel.base import LabelMatrix
from plurilabel.thresholds._base import (
    ThresholdStrategy,
    above,
    check_dense_scores,
    round_half_up,
)
from plurilabel.thresholds._cardinality import cut_for_total
from plurilabel.thresholds._rcut import highest


class PCut(ThresholdStrategy):
    """Predict each label as often as it occurred in training.

    **It decides on whole batches**: of the m instances given to ``predict``, label l goes to the
    ``factor * share_l * m`` (rounded, halves up) with its highest scores, equal scores to the
    earlier instance. So the answer for an instance depends on its company, and single instances
    get only labels with a share of at least one half. With ``batch=False`` the shares are turned
    into cuts when fitting, and an instance's answer is its own.

    Parameters
    ----------
    factor : float, default=1.0
        Above 1 more instances get each label, below 1 fewer.
    batch : bool, default=True
        Whether ``predict`` meets the shares in each batch it is given, as PCut is defined, or
        uses the cuts that meet them on the scores given to ``fit``.

    Attributes
    ----------
    shares_ : ndarray of shape (q,)
        Share of the training instances that have each label.
    cuts_ : ndarray of shape (q,)
        Only with ``batch=False``.

    References
    ----------
    Y. Yang. A study of thresholding strategies for text categorization. SIGIR 2001.

    Examples
    --------
    >>> from plurilabel.thresholds import PCut
    >>> scores, Y = [[0.3, 0.2], [0.2, 0.3], [0.1, 0.1], [0, 0]], [[1, 1], [0, 1], [0, 0], [0, 0]]
    >>> strategy = PCut().fit(scores, Y)
    >>> strategy.shares_
    array([0.25, 0.5 ])
    >>> strategy.predict(scores)
    array([[1, 1],
           [0, 1],
           [0, 0],
           [0, 0]])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "factor": [Interval(Real, 0, None, closed="left")],
        "batch": ["boolean"],
    }

    def __init__(self, *, factor: float = 1.0, batch: bool = True):
        self.factor = factor
        self.batch = batch

    def learns_from_scores(self) -> bool:
        """Whether ``fit`` needs scores, or labels alone will do."""
        return not self.batch

    def _fit(self, scores: NDArray[np.floating] | None, Y: LabelMatrix) -> None:
        n, q = Y.shape
        self.shares_ = np.asarray(Y.sum(axis=0, dtype=np.int64)).ravel() / n
        if scores is not None and not self.batch:
            wanted = np.minimum(self.factor * self.shares_, 1.0) * n
            self.cuts_ = np.array([cut_for_total(scores[:, j], wanted[j]) for j in range(q)])

    def _sets(self, scores: NDArray[np.floating]) -> NDArray[np.bool_]:
        if self.batch:
            return _share_of_rows(scores, self.factor * self.shares_)
        return above(scores, self.cuts_)


def top_share(scores: ArrayLike, shares: ArrayLike) -> NDArray[np.int64]:
    """Label sets: each label for a given share of the instances, those with its highest scores.

    Parameters
    ----------
    scores : array-like of shape (n, q)
    shares : float, or array-like of shape (q,)
        From 0 to 1; the number of instances is rounded, halves up.

    Returns
    -------
    0/1 ndarray of shape (n, q)
        Equal scores go to the earlier instance.

    Examples
    --------
    >>> from plurilabel.thresholds import top_share
    >>> top_share([[0.1, 0.5], [0.3, 0.2], [0.2, 0.1]], [1 / 3, 2 / 3])
    array([[0, 1],
           [1, 1],
           [0, 0]])
    """
    checked = check_dense_scores(scores)
    q = checked.shape[1]
    wanted = np.asarray(shares, dtype=np.float64)
    if wanted.shape not in ((), (q,)):
        raise ValueError(
            f"shares must be a number, or {q} of them, one per label, got shape {wanted.shape}"
        )
    if not ((wanted >= 0) & (wanted <= 1)).all():
        raise ValueError("shares must be between 0 and 1")
    return _share_of_rows(checked, np.broadcast_to(wanted, q)).astype(np.int64)


def _share_of_rows(scores: NDArray[np.floating], shares: NDArray[np.float64]) -> NDArray[np.bool_]:
    n = len(scores)
    return highest(scores.T, np.minimum(round_half_up(shares * n), n)).T
