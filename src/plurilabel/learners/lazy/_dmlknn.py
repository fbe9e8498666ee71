"""DML-kNN: ML-kNN that also looks at the neighbours' other labels."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from plurilabel._core.blocks import dense, row_blocks
from plurilabel._core.compat import Natural, Positive
from plurilabel._core.fitted import Declared, labels, numbers
from plurilabel.learners.lazy._lazy_classifier import LazyClassifier
from plurilabel.learners.lazy._neighbor_labels import CELLS, Floats, Rows, label_frequencies


@dataclass(eq=False, repr=False)
class DMLkNN(LazyClassifier):
    """Dependent ML-kNN.

    The event of label l is not only that exactly j of the k neighbours have l, but also that the
    counts of every other label are within ``width`` of those seen: the likelihoods come from the
    training instances whose whole vector of counts is similar. With ``width >= n_neighbors`` the
    other labels are ignored and the scores are those of :class:`MLkNN`.

    Parameters
    ----------
    n_neighbors : int, default=10
        Number of neighbours (k).
    width : int, default=2
        How far the counts of other labels may be from those of the instance (delta).
    smoothing : float, default=1.0
        Strength of the uniform prior (s).
    metric, index, n_jobs, device :
        As in :class:`MLkNN`.

    Attributes
    ----------
    prior_ : ndarray of shape (q,)
        P(H1) of each label.
    counts_ : ndarray of shape (n, q)
        Counts of each training instance's neighbours.
    counted_ : ndarray of bool of shape (n, q), or None for all
        Which training instances count for which label: those that know it and have a neighbour
        that does.

    Notes
    -----
    The likelihoods are smoothed as in ML-kNN, ``(s + v) / (s (k + 1) + c)``: the count of a label
    has k + 1 possible values, and ML-kNN is the special case of a large width. Mulan's
    implementation has ``s q`` for q labels in place of ``s (k + 1)``, which makes the estimates
    depend on the number of other labels. On Emotions, Scene and Yeast, with k = 10 and width 2, no
    predicted label differs.

    Labels may be unknown: counts are those of :class:`MLkNN`, and a training instance counts for a
    label, also in the prior, if it knows the label and one of its neighbours does. With soft
    labels counts are fractions, and two that differ by f < 1 are equal to a degree of 1 - f.

    A prediction compares its counts with those of every training instance, n times m times q
    steps. The counts (m, q) are dense, also for sparse labels.

    References
    ----------
    Z. Younes, F. Abdallah, T. Denoeux, H. Snoussi. A dependent multilabel classification method
    derived from the k-nearest neighbor rule. EURASIP Journal on Advances in Signal Processing,
    2011.

    Examples
    --------
    >>> from plurilabel import DMLkNN
    >>> X = [[0.0], [0.1], [0.2], [0.3], [1.0], [1.1], [1.2], [1.3]]
    >>> Y = [[1, 0]] * 4 + [[0, 1]] * 4
    >>> DMLkNN(n_neighbors=2, width=1).fit(X, Y).predict([[0.0], [1.4]])
    array([[1, 0],
           [0, 1]])
    """

    _learns_from_known = True
    _fitted: ClassVar[Declared] = {
        "prior_": numbers("n_labels_"),
        "counts_": numbers("n", "n_labels_"),
        "counted_": labels("n", "n_labels_", optional=True),
    }

    _: KW_ONLY
    width: Natural = 2
    smoothing: Positive = 1.0

    def _dense_bytes(self) -> float:
        return 4.0  # counts_

    def _learn(self, distances: Floats, neighbors: Rows) -> None:
        s = self.fitted_params_["smoothing"]
        count, silent = self._labels.events(distances, neighbors)
        self.counts_, self.counted_ = dense(count), None
        if silent is not None:
            self.counted_ = ~(dense(silent) | dense(self.unknown_))
        have, known = self._frequencies()
        self.prior_ = (s + have) / (2 * s + known)

    def _frequencies(self) -> tuple[Any, Any]:
        """Number of training instances that have each label, and number that count for it."""
        if self.counted_ is None:
            return label_frequencies(self.Y_), self.Y_.shape[0]
        return (dense(self.Y_) * self.counted_).sum(axis=0), self.counted_.sum(axis=0)

    def _from_neighbors(self, X: Any, distances: Floats, neighbors: Rows) -> Floats:  # noqa: ARG002
        k, s, width = (self.fitted_params_[name] for name in ("n_neighbors", "smoothing", "width"))
        m, Y, (have, known) = self.Y_.shape[0], dense(self.Y_), self._frequencies()
        C = dense(self._labels.events(distances, neighbors).count)  # (n, q)
        # A count and whether the instance has the label, in one small number: less to go through.
        small = np.min_scalar_type(2 * k + 2)
        code = 2 * self.counts_.astype(small) + Y.astype(small)
        if self.counted_ is not None:
            code[~self.counted_] = 2 * k + 2  # unlike any query
        soft: Any = None  # weights of the instances without and with each label
        if Y.dtype.kind == "f":
            soft = np.stack([1 - Y, Y]) * (1 if self.counted_ is None else self.counted_)
        asked = 2 * C.astype(small)
        scores = np.empty(C.shape)
        for rows in row_blocks(len(C), m, CELLS):
            # Equal counts of l are within any width, so one comparison serves all labels.
            similar = cdist(C[rows], self.counts_, "chebyshev") <= width  # (rows, m)
            for t, near in zip(range(rows.start, rows.stop), similar):
                if soft is not None:
                    equal = np.maximum(1 - np.abs(self.counts_[near] - C[t]), 0)
                    v0, v1 = (soft[:, near] * equal).sum(axis=1)
                else:
                    found = code.take(np.flatnonzero(near), axis=0)
                    v1, v0 = _in_columns(found == asked[t] + 1), _in_columns(found == asked[t])
                yes = self.prior_ * (s + v1) / (s * (k + 1) + have)
                no = (1 - self.prior_) * (s + v0) / (s * (k + 1) + known - have)
                scores[t] = yes / (yes + no)
        return scores


def _in_columns(true: NDArray[np.bool_]) -> NDArray[np.int32]:
    """How many are true in each column; adding them as bytes is faster."""
    return np.add.reduce(true.view(np.uint8), axis=0, dtype=np.int32)
