"""MLSAMPkNN: self-adjusting windows of neighbours that are punished for wrong votes."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np

from plurilabel._core.compat import Interval, StrOptions
from plurilabel.streams._base import StreamClassifier
from plurilabel.streams._self_adjusting import SelfAdjusting


class MLSAMPkNN(StreamClassifier):
    """Neighbours with self-adjusting memory, punished for wrong votes.

    The majority of the k nearest rows of a window decides on each label. Windows of ``max_window``
    rows, of half as many, and so on down to ``min_window``, are judged on each new row before it
    is learned: for every label, the window and the k are used that have had the best F1 measure
    lately. A neighbour whose vote led to a wrong answer is charged for it, and forgotten when it
    has been charged too often.

    Parameters
    ----------
    n_neighbors : int or sequence of int, default=(1, 3, 5, 7)
        The values of k to choose from for each label.
    max_window, min_window : int, default=1000 and 50
        Rows in the longest and in the shortest window.
    penalty : float, default=1.0
        A neighbour is charged ``penalty / q`` for a vote that led to a wrong answer on one of q
        labels, is paid back as much for a right vote on a label that was there, and is forgotten
        at 1; 0 for no punishment.
    fading : float, default=0.99
        What was right one row earlier counts that much less.
    metric : {"auto", "euclidean", "cosine"}, default="auto"
        "auto" is cosine where the rows so far are mostly zeros, as in texts, else Euclidean.

    Attributes
    ----------
    core_ : object
        The memory; ``core_.sizes`` and ``core_.ks`` are the windows and numbers of neighbours that
        are chosen from.
    label_names_ : ndarray of shape (q,)
        The labels seen so far.

    Notes
    -----
    Departures from the paper. It has one k (3), and drops the older part of the memory for good
    when a shorter window is better; here rows leave by age or by punishment only, so that a longer
    window can be used again. Charges are paid back by right votes: with few labels, all neighbours
    would be forgotten otherwise. The k of each label is chosen, as in the authors' later MLSAkNN.
    The share of the votes above which a label is predicted (0.2 to 0.5) is chosen, too.
    Windows are compared by F1, because for rare labels the fewest errors are made by never
    predicting them. The published program compares votes with the true labels inside its
    prediction; here the truth is seen in ``learn_one`` and ``partial_fit`` only.

    References
    ----------
    M. Roseberry, B. Krawczyk, A. Cano. Multi-label punitive kNN with self-adjusting memory for
    drifting data streams. ACM Transactions on Knowledge Discovery from Data 13(6), 2019.

    M. Roseberry, B. Krawczyk, Y. Djenouri, A. Cano. Self-adjusting k nearest neighbors for
    continual learning from multi-label drifting data streams. Neurocomputing 442, 2021.

    Examples
    --------
    >>> from plurilabel import MLSAMPkNN
    >>> learner = MLSAMPkNN()
    >>> for i in range(300):
    ...     learner.learn_one({"x": i % 10}, {"low": i % 10 < 5, "late": i >= 150})
    >>> learner.predict_one({"x": 8})
    {'low': False, 'late': True}
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_neighbors": [Interval(Integral, 1, None, closed="left"), "array-like"],
        "max_window": [Interval(Integral, 2, None, closed="left")],
        "min_window": [Interval(Integral, 2, None, closed="left")],
        "penalty": [Interval(Real, 0, None, closed="left")],
        "fading": [Interval(Real, 0, 1, closed="both")],
        "metric": [StrOptions({"auto", "euclidean", "cosine"})],
    }

    def __init__(
        self,
        n_neighbors: int | Sequence[int] = (1, 3, 5, 7),
        *,
        max_window: int = 1000,
        min_window: int = 50,
        penalty: float = 1.0,
        fading: float = 0.99,
        metric: str = "auto",
    ):
        self.n_neighbors = n_neighbors
        self.max_window = max_window
        self.min_window = min_window
        self.penalty = penalty
        self.fading = fading
        self.metric = metric

    def _new_core(self) -> SelfAdjusting:
        return SelfAdjusting(*self._settings(), members=1, rng=np.random.default_rng(0))

    def _settings(self) -> tuple[int, int, str, tuple[int, ...], float, float]:
        if self.min_window > self.max_window:
            raise ValueError(
                f"min_window must be at most max_window={self.max_window}, got {self.min_window}"
            )
        ks = np.unique(np.atleast_1d(np.asarray(self.n_neighbors)))
        if ks.dtype.kind not in "iu" or not len(ks) or ks[0] < 1:
            raise ValueError(f"n_neighbors must be positive integers, got {self.n_neighbors!r}")
        if ks[-1] > self.max_window:
            raise ValueError(
                f"n_neighbors must be at most max_window={self.max_window}, got {ks[-1]}"
            )
        return (
            self.max_window,
            self.min_window,
            self.metric,
            tuple(ks.tolist()),
            self.penalty,
            self.fading,
        )
