"""Tests of pairs of learners: over datasets, and over the folds of one dataset."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special, stats

from plurilabel.evaluation._friedman import Array, check_values, rank_lines, rank_rows

EXACT_UP_TO = 200  # datasets up to which Wilcoxon's p-value is exact: a few milliseconds


@dataclass(frozen=True, eq=False)
class Nemenyi:
    """Result of :func:`nemenyi`; ``print`` shows a summary.

    Attributes
    ----------
    names : tuple of str
    average_ranks : ndarray of shape (learners,)
    n_datasets : int
    alpha : float
    critical_difference : float
        Learners whose average ranks differ by more than this are significantly different.
    pvalues : ndarray of shape (learners, learners)
        P-value of each pair, corrected for the number of pairs; 1 on the diagonal.
    """

    names: tuple[str, ...]
    average_ranks: Array
    n_datasets: int
    alpha: float
    critical_difference: float
    pvalues: Array

    @property
    def groups(self) -> list[tuple[int, ...]]:
        """Largest sets of learners that do not differ significantly, as indices, best first."""
        return cliques(self.average_ranks, self.critical_difference)

    def __str__(self) -> str:
        lines = [
            f"Nemenyi test of {len(self.names)} learners on {self.n_datasets} datasets",
            f"  critical difference {self.critical_difference:.3f} at alpha = {self.alpha:g}",
            rank_lines(self.names, self.average_ranks),
        ]
        alike = ["  " + ", ".join(self.names[j] for j in group) for group in self.groups]
        return "\n".join(lines + (["not significantly different", *alike] if alike else []))


def nemenyi(
    values: ArrayLike,
    *,
    greater_is_better: bool,
    alpha: float = 0.05,
    names: Sequence[str] | None = None,
    missing: str = "error",
) -> Nemenyi:
    """Compare all learners with each other by their average ranks.

    With N datasets and k learners, two average ranks differ significantly if they are further
    apart than the critical difference ``q_alpha * sqrt(k (k + 1) / (6 N))``, where q_alpha is the
    quantile of the studentized range for k groups and infinite degrees of freedom, divided by
    ``sqrt(2)``. Use it after :func:`friedman` has found a difference.

    Parameters
    ----------
    values, greater_is_better, names, missing :
        As in :func:`friedman`.
    alpha : float, default=0.05

    Examples
    --------
    >>> from plurilabel.evaluation import nemenyi
    >>> auc = [[0.9, 0.8, 0.6], [0.8, 0.7, 0.5], [0.9, 0.6, 0.3], [0.9, 0.8, 0.5]]
    >>> print(nemenyi(auc, greater_is_better=True, names=["forest", "chain", "kNN"]))
    Nemenyi test of 3 learners on 4 datasets
      critical difference 1.657 at alpha = 0.05
    average ranks
      1.000  forest
      2.000  chain
      3.000  kNN
    not significantly different
      forest, chain
      chain, kNN
    """
    if not 0 < alpha < 1:
        raise ValueError(f"alpha must be between 0 and 1, got {alpha}")
    values, names = check_values(values, names, missing=missing)
    R, error = _ranks_and_error(values, greater_is_better)
    k = len(R)
    apart = np.abs(R[:, None] - R) / error * np.sqrt(2)
    distinct, where = np.unique(apart, return_inverse=True)
    spread = stats.studentized_range(k, np.inf)
    # above 20 the p-value is 0 in every printed digit, and the integral is slow
    p = [float(spread.sf(a)) if 0 < a < 20 else a == 0 for a in distinct]
    quantile = float(spread.isf(alpha)) / np.sqrt(2)
    pvalues = np.clip(np.array(p, dtype=np.float64)[where].reshape(k, k), 0, 1)
    return Nemenyi(names, R, len(values), alpha, float(quantile * error), pvalues)


def cliques(ranks: ArrayLike, critical_difference: float) -> list[tuple[int, ...]]:
    """Largest sets of two or more learners whose ranks lie within the critical difference."""
    ranks = np.asarray(ranks, dtype=np.float64)
    order = np.argsort(ranks, kind="stable")
    reach = ranks[order] + critical_difference + 1e-9  # 3.1 - 2.1 must not exceed 1.0
    groups, last = [], 0
    for start, end in enumerate(np.searchsorted(ranks[order], reach, side="right")):
        if end > max(last, start + 1):  # neither part of the previous group nor a single learner
            groups.append(tuple(order[start:end].tolist()))
            last = end
    return groups


@dataclass(frozen=True, eq=False)
class Comparisons:
    """Tests of pairs of learners, corrected for their number; ``print`` shows them.

    Attributes
    ----------
    test : str
        Name of the test.
    names : tuple of str
    pairs : tuple of (int, int)
        Indices of the compared learners.
    statistics, pvalues : ndarray of shape (pairs,)
    better : ndarray of shape (pairs,)
        Index of the better learner of each pair; -1 if neither is.
    """

    test: str
    names: tuple[str, ...]
    pairs: tuple[tuple[int, int], ...]
    statistics: Array
    pvalues: Array
    better: NDArray[np.intp]

    @property
    def adjusted(self) -> Array:
        """P-values after Holm's correction."""
        return holm_adjusted(self.pvalues)

    def __str__(self) -> str:
        lines = [self.test, "     p  adjusted"]
        adjusted = self.adjusted
        for i in np.argsort(self.pvalues, kind="stable"):
            a, b = self.pairs[i] if self.better[i] != self.pairs[i][1] else self.pairs[i][::-1]
            pair = f"{self.names[a]} {'=' if self.better[i] < 0 else '>'} {self.names[b]}"
            lines.append(f"{self.pvalues[i]:6.4f}    {adjusted[i]:6.4f}  {pair}")
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

    The statistic ``z = (R_i - R_j) / sqrt(k (k + 1) / (6 N))`` is compared with the normal
    distribution, two-sided. A control needs k - 1 tests, not k (k - 1) / 2, and so finds more.

    Parameters
    ----------
    values, greater_is_better, names, missing :
        As in :func:`friedman`.
    control : int or str, optional
        Index or name of a learner to compare all others with, chosen before looking at the
        results; by default all pairs are compared.

    References
    ----------
    S. Holm. A simple sequentially rejective multiple test procedure. Scandinavian Journal of
    Statistics 6, 1979.

    Examples
    --------
    >>> from plurilabel.evaluation import holm
    >>> auc = [[0.9, 0.8, 0.6], [0.8, 0.7, 0.5], [0.9, 0.6, 0.3], [0.9, 0.8, 0.5]]
    >>> names = ["forest", "chain", "kNN"]
    >>> print(holm(auc, greater_is_better=True, control="forest", names=names))
    average ranks against forest, Holm's correction
         p  adjusted
    0.0047    0.0094  forest > kNN
    0.1573    0.1573  forest > chain
    """
    values, names = check_values(values, names, missing=missing)
    R, error = _ranks_and_error(values, greater_is_better)
    pairs, words = _pairs(names, control)
    first, second = np.transpose(pairs)
    z = (R[first] - R[second]) / error
    p = 2 * stats.norm.sf(np.abs(z))
    better = np.where(z == 0, -1, np.where(z < 0, first, second))
    return Comparisons(f"average ranks {words}, Holm's correction", names, pairs, z, p, better)


def wilcoxon(
    values: ArrayLike,
    *,
    greater_is_better: bool,
    control: int | str | None = None,
    names: Sequence[str] | None = None,
    missing: str = "error",
) -> Comparisons:
    """Compare pairs of learners by Wilcoxon's signed-rank test, with Holm's correction.

    Parameters
    ----------
    values, greater_is_better, names, missing :
        As in :func:`friedman`.
    control : int or str, optional
        As in :func:`holm`.

    Returns
    -------
    Comparisons
        The statistic is the smaller of the two rank sums.

    Notes
    -----
    The ranks of zero differences are split evenly between both signs, as by Demšar. Differences
    are tied if they agree to eleven digits of the largest value. The two-sided p-value is exact up
    to 200 datasets, also with ties and zeros, where ``scipy.stats.wilcoxon`` is not.

    Examples
    --------
    >>> from plurilabel.evaluation import wilcoxon
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
    pairs, words = _pairs(names, control)
    scale = float(np.abs(values).max()) or 1.0
    tests = [signed_rank(np.round((values[:, i] - values[:, j]) / scale, 11)) for i, j in pairs]
    plus, minus, p = np.transpose(tests)
    ahead = plus - minus if greater_is_better else minus - plus
    first, second = np.transpose(pairs)
    better = np.where(ahead == 0, -1, np.where(ahead > 0, first, second))
    test, low = f"Wilcoxon signed ranks {words}, Holm's correction", np.minimum(plus, minus)
    return Comparisons(test, names, pairs, low, p, better)


def holm_adjusted(pvalues: ArrayLike) -> Array:
    """Correct p-values for their number by Holm's step-down rule."""
    # The smallest of m p-values is multiplied by m, the next by m - 1, and so on; none falls below
    # the previous one or exceeds 1.
    p = np.asarray(pvalues, dtype=np.float64)
    order, adjusted = np.argsort(p, kind="stable"), np.empty_like(p)
    steps = np.arange(len(p), 0, -1)
    adjusted[order] = np.minimum(np.maximum.accumulate(p[order] * steps), 1)
    return adjusted


def signed_rank(d: Array) -> tuple[float, float, float]:
    """Positive and negative rank sums of differences, and the two-sided p-value."""
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


def exact_signed_rank(ranks: NDArray[Any], statistic: float) -> float:
    """Two-sided probability of a positive rank sum as far from its mean as this one."""
    # All signs of the nonzero differences are equally likely: convolve rank by rank.
    doubled = np.rint(2 * np.asarray(ranks)).astype(np.int64)  # ties give halves
    total = int(doubled.sum())
    share = np.zeros(total + 1)
    share[0] = 1.0
    for rank in doubled:
        share = (share + np.concatenate([np.zeros(rank), share[: total + 1 - rank]])) / 2
    away = np.abs(2 * np.arange(total + 1) - total)
    return float(min(share[away >= abs(round(4 * statistic) - total)].sum(), 1.0))


def _ranks_and_error(values: Array, greater_is_better: bool) -> tuple[Array, float]:
    """Average ranks, and the standard error of their differences, sqrt(k (k + 1) / (6 N))."""
    n, k = values.shape
    return rank_rows(values, greater_is_better).mean(axis=0), float(np.sqrt(k * (k + 1) / (6 * n)))


def _pairs(
    names: tuple[str, ...], control: int | str | None
) -> tuple[tuple[tuple[int, int], ...], str]:
    """The pairs to compare, and a description of them."""
    k = len(names)
    if control is None:
        return tuple(combinations(range(k), 2)), "of all pairs"
    if isinstance(control, str):
        if control not in names:
            raise ValueError(f"control must be one of {', '.join(names)}, got {control!r}")
        control = names.index(control)
    elif not 0 <= control < k:
        raise ValueError(f"control must be an index below {k}, got {control}")
    return tuple((control, j) for j in range(k) if j != control), f"against {names[control]}"


@dataclass(frozen=True)
class ResampledT:
    """Result of :func:`corrected_resampled_t`; ``print`` shows a summary.

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

    The training parts of folds overlap, so that the ordinary paired t-test finds too many
    differences. Here the variance of the J differences is multiplied by ``1 / J + test_to_train``
    instead of ``1 / J``.

    Parameters
    ----------
    first, second : array-like of shape (J,)
        A measure of both learners in each fold of each repeat.
    test_to_train : float
        Test instances divided by training instances: 1 / (k - 1) in k-fold cross-validation.

    References
    ----------
    C. Nadeau, Y. Bengio. Inference for the generalization error. Machine Learning 52, 2003.

    R. R. Bouckaert, E. Frank. Evaluating the replicability of significance tests for comparing
    learning algorithms. PAKDD 2004.

    Examples
    --------
    >>> from plurilabel.evaluation import corrected_resampled_t
    >>> print(corrected_resampled_t([0.8, 0.7, 0.9], [0.6, 0.6, 0.6], test_to_train=0.5))
    corrected resampled t-test: mean difference 0.2, t(2) = 2.191, p = 0.16
    """
    a, b = (np.asarray(part, dtype=np.float64) for part in (first, second))
    if a.ndim != 1 or a.shape != b.shape or len(a) < 2:
        raise ValueError(
            f"first and second must have the same two or more folds, got {a.shape} and {b.shape}"
        )
    if not (np.isfinite(a).all() and np.isfinite(b).all()):
        raise ValueError("first and second must be finite, got NaN or infinity")
    if not test_to_train > 0:
        raise ValueError(f"test_to_train must be positive, got {test_to_train}")
    d = a - b
    mean, df = float(d.mean()), len(d) - 1
    error = float(np.sqrt((1 / len(d) + test_to_train) * d.var(ddof=1)))
    if error <= 1e-12 * float(np.abs([a, b]).max()):
        # the same difference in every fold: rounding must not decide
        if np.allclose(d, 0, atol=1e-12):
            return ResampledT(mean, 0.0, df, 1.0)
        return ResampledT(mean, float(np.copysign(np.inf, mean)), df, 0.0)
    t = mean / error
    return ResampledT(mean, t, df, float(2 * special.stdtr(df, -abs(t))))
