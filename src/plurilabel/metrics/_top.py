"""Gains at the top of the ranking, for large label spaces."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from plurilabel.base import LabelMatrix
from plurilabel.metrics._inputs import check_true, is_sparse, set_sizes
from plurilabel.metrics._rank import padded_rows, sort_against
from plurilabel.metrics._set_counts import Terms


def propensities(Y_train: ArrayLike, *, a: float = 0.55, b: float = 1.5) -> NDArray[np.float64]:
    """Chance that a label which applies is also recorded, from how often it is recorded.

    The model of Jain et al. (2016): with N training instances, N_l of them with label l,
    ``p_l = 1 / (1 + C (N_l + b)^-a)``, ``C = (ln N - 1) (b + 1)^a``. Rare labels are missed
    more often, so that a hit on them counts more (1 / p_l).

    Parameters
    ----------
    Y_train : 0/1 matrix of shape (n, q), dense, sparse or a data frame
        Labels of the training set, not of the test set.
    a, b : float
        The authors use a=0.5, b=0.4 for Wikipedia data, a=0.6, b=2.6 for Amazon data, and the
        defaults elsewhere.

    Returns
    -------
    ndarray of shape (q,)
        Between 0 and 1.

    References
    ----------
    H. Jain, Y. Prabhu, M. Varma. Extreme multi-label loss functions for recommendation, tagging,
    ranking and other missing label applications. KDD 2016.

    Examples
    --------
    >>> import numpy as np
    >>> from plurilabel.metrics import propensities
    >>> Y_train = np.zeros((100, 3), dtype=int)
    >>> Y_train[:90, 0] = Y_train[:10, 1] = Y_train[:1, 2] = 1
    >>> propensities(Y_train).round(3)
    array([0.668, 0.391, 0.217])
    """
    Y = check_true(Y_train)
    n = Y.shape[0]
    if n < 3:
        raise ValueError(f"Y_train must have at least 3 instances to model propensities, got {n}")
    if not (a > 0 and b > 0):
        raise ValueError(f"a and b must be positive, got a={a!r}, b={b!r}")
    if is_sparse(Y):
        frequency = np.bincount(Y.indices, minlength=Y.shape[1])
    else:
        frequency = Y.sum(axis=0, dtype=np.int64)
    c = (np.log(n) - 1) * (b + 1) ** a
    return 1 / (1 + c * (frequency + b) ** -a)


def check_propensities(p: Any, q: int) -> NDArray[np.float64]:
    """Propensities as q floats in (0, 1]."""
    p = np.asarray(p, dtype=np.float64)
    if p.shape != (q,):
        raise ValueError(f"propensities must have shape ({q},), one per label, got {p.shape}")
    if not ((p > 0) & (p <= 1)).all():
        raise ValueError("propensities must lie in (0, 1], as those of propensities(Y_train)")
    return p


@dataclass(frozen=True)
class Worth:
    """What a hit on each label is worth, 1 / p_l, and the grades that order labels by it."""

    grade_of: NDArray[np.int64]  # (q,), from 1
    of_grade: NDArray[np.float64]  # (q + 1,), 0 for grade 0

    @classmethod
    def from_propensities(cls, p: NDArray[np.float64]) -> Worth:
        order = np.argsort(-p, kind="stable")
        grade_of = np.empty(len(p), dtype=np.int64)
        grade_of[order] = np.arange(1, len(p) + 1)
        return cls(grade_of, np.concatenate([[0.0], 1 / p[order]]))


@dataclass(frozen=True)
class Top:
    """The first K labels of each instance: terms of the measures at k.

    size : number of relevant labels of each instance
    hit : (n, K) bool, whether the label at each place is relevant
    gain, best : (n, K) worth of what is at each place, and of the best possible list
    """

    size: NDArray[np.int64]
    hit: NDArray[np.bool_]
    gain: NDArray[np.float64] | None = None
    best: NDArray[np.float64] | None = None

    def precision(self, k: int) -> Terms:
        """Hits / k."""
        return self.hit[:, :k].sum(axis=1) / k, np.ones(len(self.size))

    def recall(self, k: int) -> Terms:
        """Hits / relevant labels."""
        hits = self.hit[:, :k].sum(axis=1)
        return hits / np.maximum(self.size, 1), (self.size > 0).astype(np.float64)

    def ndcg(self, k: int) -> Terms:
        """Discounted hits over those of a perfect list."""
        return self._discounted(self.hit, k), (self.size > 0).astype(np.float64)

    def psp(self, k: int) -> Terms:
        """Worth of the hits against the most that any list could have."""
        assert self.gain is not None and self.best is not None
        return self.gain[:, :k].sum(axis=1), self.best[:, :k].sum(axis=1)

    def ps_ndcg(self, k: int) -> Terms:
        """The same, discounted."""
        assert self.gain is not None and self.best is not None
        return self._discounted(self.gain, k), self._discounted(self.best, k)

    def _discounted(self, gain: NDArray[Any], k: int) -> NDArray[np.float64]:
        discount = 1 / np.log2(np.arange(2, k + 2))
        ideal = np.cumsum(discount)[np.clip(self.size, 1, k) - 1]
        return (gain[:, :k] * discount).sum(axis=1) / ideal


def best_gains(Y: LabelMatrix, worth: Worth, n_top: int) -> NDArray[np.float64]:
    """Worth of the n_top most valuable true labels of each instance, descending."""
    Y = sparse.csr_array(Y)
    grade = worth.grade_of[Y.indices]
    best = np.zeros((Y.shape[0], n_top))
    for rows, values, grades in padded_rows(Y.indptr, grade.astype(np.float64), grade, n_top):
        ordered, _ = sort_against(values, grades)
        best[rows] = worth.of_grade[ordered[:, :n_top]]
    return best


def make_top(Y: LabelMatrix, grades: NDArray[np.integer[Any]], worth: Worth | None = None) -> Top:
    """Terms at k from the grades (n, K) of a ranking."""
    if worth is None:
        return Top(set_sizes(Y), grades > 0)
    best = best_gains(Y, worth, grades.shape[1])
    return Top(set_sizes(Y), grades > 0, worth.of_grade[grades], best)
