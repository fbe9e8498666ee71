"""Which learners differ: tests of pairs with Holm's correction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from plurilabel.stats._exact import exact_signed_rank
from plurilabel.stats._friedman import Array, check_values, ranks_and_error

EXACT_UP_TO = 200
"""Differences up to which Wilcoxon's p is exact: some milliseconds."""


@dataclass(frozen=True, eq=False)
class Comparisons:
    """Tests of pairs of learners, corrected for their number; ``print`` shows them.

    Attributes
    ----------
    test : str
        What was tested.
    names : tuple of str
    pairs : tuple of (int, int)
        Indices of the learners compared.
    statistics, pvalues : ndarray of shape (pairs,)
    adjusted : ndarray of shape (pairs,)
        The p-values after Holm's correction: those up to alpha are significant at alpha.
    better : ndarray of shape (pairs,)
        Index of the learner of each pair that did better; -1 where neither did.
    """

    test: str
    names: tuple[str, ...]
    pairs: tuple[tuple[int, int], ...]
    statistics: Array
    pvalues: Array
    adjusted: Array
    better: NDArray[np.intp]

    def __str__(self) -> str:
        lines = [self.test, "     p  adjusted"]
        for i in np.argsort(self.pvalues, kind="stable"):
            a, b = self.pairs[i]
            if self.better[i] == b:
                a, b = b, a
            sign = "=" if self.better[i] < 0 else ">"
            p, adjusted = self.pvalues[i], self.adjusted[i]
            lines.append(f"{p:6.4f}    {adjusted:6.4f}  {self.names[a]} {sign} {self.names[b]}")
        return "\n".join(lines)


def holm(
    values: ArrayLike,
    *,
    greater_is_better: bool,
    control: int | str | None = None,
    names: Sequence[str] | None = None,
    missing: str = "error",
) -> Comparisons:
    """Compare learners by their average ranks, with Holm's correction.

    The statistic ``z = (R_i - R_j) / sqrt(k (k + 1) / (6 N))`` is held against the normal
    distribution, from both sides. Compared with a control, k - 1 tests are corrected for instead
    of all k (k - 1) / 2 pairs, so smaller differences are found.

    Parameters
    ----------
    values : array-like of shape (datasets, learners), or data frame
    greater_is_better : bool
    control : int or str, optional
        Index or name of the learner that all others are compared with; all pairs if None. It
        must be chosen before looking at the results.
    names : sequence of str, optional
    missing : {"error", "drop"}, default="error"
        As for :func:`average_ranks`.

    Returns
    -------
    Comparisons

    References
    ----------
    S. Holm. A simple sequentially rejective multiple test procedure. Scandinavian Journal of
    Statistics 6, 1979.

    Examples
    --------
    >>> from plurilabel.stats import holm
    >>> auc = [[0.9, 0.8, 0.6], [0.8, 0.7, 0.5], [0.9, 0.6, 0.3], [0.9, 0.8, 0.5]]
    >>> names = ["forest", "chain", "kNN"]
    >>> print(holm(auc, greater_is_better=True, control="forest", names=names))
    average ranks against forest, Holm's correction
         p  adjusted
    0.0047    0.0094  forest > kNN
    0.1573    0.1573  forest > chain
    """
    values, names = check_values(values, names, missing=missing)
    R, error = ranks_and_error(values, greater_is_better)
    against = "of all pairs"
    pairs = list(combinations(range(len(R)), 2))
    if control is not None:
        c = _index_of(control, names)
        pairs = [(c, j) for j in range(len(R)) if j != c]
        against = f"against {names[c]}"
    first, second = np.transpose(pairs)
    z = (R[first] - R[second]) / error
    p = 2 * stats.norm.sf(np.abs(z))
    return Comparisons(
        test=f"average ranks {against}, Holm's correction",
        names=names,
        pairs=tuple(pairs),
        statistics=z,
        pvalues=p,
        adjusted=holm_adjusted(p),
        better=np.where(z == 0, -1, np.where(z < 0, first, second)),
    )


def wilcoxon(
    values: ArrayLike,
    *,
    greater_is_better: bool,
    control: int | str | None = None,
    names: Sequence[str] | None = None,
    missing: str = "error",
) -> Comparisons:
    """Compare pairs of learners by Wilcoxon's signed-rank test, with Holm's correction.

    The ranks of zero differences are split evenly between both signs, as Demsar does. The
    p-value is two-sided and exact up to 200 datasets, with ties too: all signs of the
    differences that are not zero are equally likely. Beyond, it is the normal approximation.
    Differences that agree to eleven digits of the largest value count as equal.

    Parameters
    ----------
    values : array-like of shape (datasets, learners), or data frame
    greater_is_better : bool
    control : int or str, optional
        Index or name of the learner that all others are compared with; all pairs if None.
    names : sequence of str, optional
    missing : {"error", "drop"}, default="error"
        As for :func:`average_ranks`.

    Returns
    -------
    Comparisons
        With the smaller of the two rank sums as statistic.

    Examples
    --------
    >>> from plurilabel.stats import wilcoxon
    >>> loss = [[0.2, 0.3], [0.1, 0.3], [0.2, 0.5], [0.1, 0.5], [0.1, 0.6], [0.3, 0.2]]
    >>> found = wilcoxon(loss, greater_is_better=False, names=["forest", "kNN"])
    >>> print(found)
    Wilcoxon signed ranks of all pairs, Holm's correction
         p  adjusted
    0.0938    0.0938  forest > kNN
    >>> found.statistics
    array([1.5])
    """
    values, names = check_values(values, names, missing=missing)
    pairs = list(combinations(range(len(names)), 2))
    against = "of all pairs"
    if control is not None:
        c = _index_of(control, names)
        pairs = [(c, j) for j in range(len(names)) if j != c]
        against = f"against {names[c]}"
    scale = float(np.abs(values).max()) or 1.0
    tests = [_signed_rank(np.round((values[:, i] - values[:, j]) / scale, 11)) for i, j in pairs]
    plus, minus, p = np.transpose(tests)
    first, second = np.transpose(pairs)
    ahead = plus - minus if greater_is_better else minus - plus
    return Comparisons(
        test=f"Wilcoxon signed ranks {against}, Holm's correction",
        names=names,
        pairs=tuple(pairs),
        statistics=np.minimum(plus, minus),
        pvalues=p,
        adjusted=holm_adjusted(p),
        better=np.where(ahead == 0, -1, np.where(ahead > 0, first, second)),
    )


def holm_adjusted(pvalues: ArrayLike) -> Array:
    """P-values corrected for their number by Holm's step-down rule.

    The smallest of m is multiplied by m, the next by m - 1, and so on; none falls below one
    before it, none exceeds 1.

    Examples
    --------
    >>> from plurilabel.stats import holm_adjusted
    >>> holm_adjusted([0.01, 0.04, 0.03])
    array([0.03, 0.06, 0.06])
    """
    p = np.asarray(pvalues, dtype=np.float64)
    if p.ndim != 1 or not ((p >= 0) & (p <= 1)).all():
        raise ValueError("pvalues must be a list of numbers from 0 to 1")
    order = np.argsort(p, kind="stable")
    steps = np.arange(len(p), 0, -1)
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(np.maximum.accumulate(p[order] * steps), 1)
    return adjusted


def _signed_rank(d: Array) -> tuple[float, float, float]:
    """Sums of the positive and the negative ranks, and p."""
    ranks = stats.rankdata(np.abs(d))
    halves = ranks[d == 0].sum() / 2
    plus, minus = ranks[d > 0].sum(), ranks[d < 0].sum()
    moving = ranks[d != 0]
    if len(d) <= EXACT_UP_TO:
        p = exact_signed_rank(moving, plus)
    else:
        spread = np.sqrt(np.sum(moving**2)) / 2
        p = float(2 * stats.norm.sf(abs(plus - minus) / 2 / spread)) if len(moving) else 1.0
    return plus + halves, minus + halves, p


def _index_of(control: int | str, names: Sequence[str]) -> int:
    if isinstance(control, str):
        if control not in names:
            raise ValueError(f"control must be one of {', '.join(names)}, got {control!r}")
        return list(names).index(control)
    if not 0 <= control < len(names):
        raise ValueError(f"control must be an index below {len(names)}, got {control}")
    return int(control)
