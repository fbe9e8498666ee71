"""Ranks of learners over datasets, and Friedman's test of whether the learners differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from plurilabel._core.base import column_names

Array = NDArray[np.float64]

MOST_SUMS = 2_000_000  # rank sums that :func:`exact_friedman` enumerates in less than a second
MOST_LEARNERS = 7  # beyond this, one dataset has too many orders (k!) for the exact test


@dataclass(frozen=True, eq=False)
class Friedman:
    """Result of :func:`friedman`; ``print`` shows a summary.

    Attributes
    ----------
    names : tuple of str
    average_ranks : ndarray of shape (learners,)
    n_datasets : int
    chi2, chi2_pvalue : float
        Friedman's statistic and its p-value from the chi-squared distribution.
    f, f_pvalue : float
        Iman and Davenport's statistic and its p-value from the F distribution.
    exact_pvalue : float or None
        Proportion of all permutations of the ranks within datasets whose statistic is at least
        the observed one; None if there are too many to enumerate.
    """

    names: tuple[str, ...]
    average_ranks: Array
    n_datasets: int
    chi2: float
    chi2_pvalue: float
    f: float
    f_pvalue: float
    exact_pvalue: float | None

    @property
    def pvalue(self) -> float:
        """The exact p-value if available, otherwise Iman and Davenport's."""
        return self.f_pvalue if self.exact_pvalue is None else self.exact_pvalue

    def __str__(self) -> str:
        k, n = len(self.names), self.n_datasets
        exact = "" if self.exact_pvalue is None else f"\n  exact p = {self.exact_pvalue:.3g}"
        return (
            f"Friedman test of {k} learners on {n} datasets\n"
            f"  chi2({k - 1}) = {self.chi2:.4g}, p = {self.chi2_pvalue:.3g}\n"
            f"  F({k - 1}, {(k - 1) * (n - 1)}) = {self.f:.4g}, p = {self.f_pvalue:.3g}"
            f" (Iman-Davenport){exact}\n{rank_lines(self.names, self.average_ranks)}"
        )


def rank_rows(values: Array, greater_is_better: bool) -> Array:
    """Rank the learners within each dataset, 1 for the best; NaN has no rank."""
    # Values of a row are tied if they agree to eleven digits of the largest.
    size = np.abs(np.where(np.isfinite(values), values, 0)).max(axis=1, keepdims=True)
    # means of the same scores in another order may differ in the last digit
    rounded = np.round(values / np.where(size > 0, size, 1), 11)
    signed = -rounded if greater_is_better else rounded
    return np.asarray(stats.rankdata(signed, axis=1, nan_policy="omit"))


def average_ranks(values: ArrayLike, *, greater_is_better: bool, missing: str = "error") -> Array:
    """Average rank of each learner over the datasets; 1 is the best.

    Parameters
    ----------
    values : array-like or data frame of shape (datasets, learners)
        A measure of each learner on each dataset.
    greater_is_better : bool
        Whether the highest value gets rank 1.
    missing : {"error", "drop"}, default="error"
        What to do with datasets on which a learner has no value (NaN).

    Returns
    -------
    ndarray of shape (learners,)
        Ties, values of a dataset that agree to eleven digits of the largest, share a mean rank.

    Examples
    --------
    >>> from plurilabel.evaluation import average_ranks
    >>> average_ranks([[0.9, 0.8, 0.8], [0.7, 0.9, 0.5]], greater_is_better=True)
    array([1.5 , 1.75, 2.75])
    """
    values, _ = check_values(values, missing=missing)
    return rank_rows(values, greater_is_better).mean(axis=0)


def friedman(
    values: ArrayLike,
    *,
    greater_is_better: bool,
    names: Sequence[str] | None = None,
    missing: str = "error",
    correct_ties: bool = True,
) -> Friedman:
    """Test whether the learners differ: Friedman's test and Iman and Davenport's form of it.

    With N datasets, k learners and average ranks R_j::

        chi2 = 12 N / (k (k + 1)) * (sum_j R_j^2 - k (k + 1)^2 / 4)
        F = (N - 1) chi2 / (N (k - 1) - chi2)

    Parameters
    ----------
    values, greater_is_better, missing :
        As in :func:`average_ranks`.
    names : sequence of str, optional
        Names of the learners; by default the columns of a data frame, or "learner0" and so on.
    correct_ties : bool, default=True
        Whether to divide chi2 by ``1 - sum(t^3 - t) / (N k (k^2 - 1))``, where t runs over the
        sizes of groups of ties, as SciPy does. Demšar's paper does not.

    Returns
    -------
    Friedman
        With the exact p-value, also for ties, if it takes at most two million rank sums: for 3
        learners on 100 datasets, 4 on 20, 5 on 8 or 6 on 4, and on more with ties.

    Notes
    -----
    ``scipy.stats.friedmanchisquare`` computes the same chi2 with ``correct_ties``. It needs at
    least 3 learners, gives NaN if all values are tied, and has neither F nor the exact p-value.

    References
    ----------
    J. Demšar. Statistical comparisons of classifiers over multiple data sets. JMLR 7, 2006.

    R. L. Iman, J. M. Davenport. Approximations of the critical region of the Friedman statistic.
    Communications in Statistics 9, 1980.

    Examples
    --------
    >>> from plurilabel.evaluation import friedman
    >>> auc = [[0.9, 0.8, 0.7], [0.8, 0.7, 0.6], [0.7, 0.6, 0.8], [0.9, 0.8, 0.5]]
    >>> print(friedman(auc, greater_is_better=True, names=["forest", "chain", "kNN"]))
    Friedman test of 3 learners on 4 datasets
      chi2(2) = 3.5, p = 0.174
      F(2, 6) = 2.333, p = 0.178 (Iman-Davenport)
      exact p = 0.273
    average ranks
      1.250  forest
      2.250  chain
      2.500  kNN
    """
    values, names = check_values(values, names, missing=missing)
    ranks = rank_rows(values, greater_is_better)
    (n, k), R = ranks.shape, ranks.mean(axis=0)
    chi2 = 12 * n / (k * (k + 1)) * (np.sum(R**2) - k * (k + 1) ** 2 / 4)
    if correct_ties:
        # ties shrink the variance of the ranks by exactly this factor; 0 if all are tied
        factor = 12 * np.sum((ranks - (k + 1) / 2) ** 2) / (n * k * (k**2 - 1))
        chi2 = chi2 / factor if factor > 0 else 0.0
    chi2 = float(np.clip(chi2, 0, n * (k - 1)))
    rest = n * (k - 1) - chi2
    f = (n - 1) * chi2 / rest if rest > 1e-9 * n * k else np.inf
    return Friedman(
        names=names,
        average_ranks=R,
        n_datasets=n,
        chi2=chi2,
        chi2_pvalue=float(stats.chi2.sf(chi2, k - 1)),
        f=float(f),
        # a single dataset always orders the learners: no evidence
        f_pvalue=float(stats.f.sf(f, k - 1, (k - 1) * (n - 1))) if n > 1 else 1.0,
        exact_pvalue=exact_friedman(ranks),
    )


def exact_friedman(ranks: Array) -> float | None:
    """P-value from all permutations of the ranks within datasets; None if there are too many."""
    # Rank sums are built up dataset by dataset. Only their sorted form matters, so few states are
    # distinct. ``scipy.stats.permutation_test`` would enumerate all (k!)^n permutations.
    (n, k), most = ranks.shape, MOST_SUMS
    base = np.int64(2 * n * k + 1)
    if k > MOST_LEARNERS or k * np.log2(float(base)) > 62:  # a state must fit into one integer
        return None
    doubled = np.rint(2 * ranks).astype(np.int64)  # ties give halves
    found = np.sum(doubled.sum(axis=0) ** 2)
    weights = base ** np.arange(k, dtype=np.int64)
    states = np.sort(doubled[:1], axis=1)
    shares: NDArray[Any] = np.ones(1)
    for i, row in enumerate(doubled[1:], start=2):
        orders = np.array(sorted(set(permutations(row.tolist()))), dtype=np.int64)
        most -= len(states) * len(orders)
        if most < 0:
            return None
        sums = (states[:, None, :] + orders).reshape(-1, k)
        each = np.repeat(shares / len(orders), len(orders))
        if i == n:
            return float(min(each[np.sum(sums**2, axis=1) >= found].sum(), 1.0))
        sums.sort(axis=1)
        keys, where = np.unique(sums @ weights, return_inverse=True)
        shares = np.bincount(where.ravel(), weights=each)
        states = keys[:, None] // weights % base
    return 1.0  # one dataset: every order has the same sum of squares


def check_values(
    values: Any, names: Sequence[str] | None = None, *, missing: str = "error"
) -> tuple[Array, tuple[str, ...]]:
    """Check a table (datasets, learners); return it without missing values, and the names."""
    names = column_names(values) if names is None else names
    if missing not in ("error", "drop"):
        raise ValueError(f"missing must be 'error' or 'drop', got {missing!r}")
    table = np.asarray(values, dtype=np.float64)
    if table.ndim != 2 or table.shape[0] < 1 or table.shape[1] < 2:
        raise ValueError(
            f"values must be (datasets, learners), at least (1, 2), got shape {table.shape}"
        )
    k = table.shape[1]
    known = tuple(map(str, names)) if names is not None else tuple(f"learner{j}" for j in range(k))
    if len(known) != k:
        raise ValueError(f"names must have {k} entries, one per learner, got {len(known)}")
    absent = np.isnan(table)
    if missing == "error" and absent.any():
        i, j = np.argwhere(absent)[0]
        raise ValueError(
            f"values must not be missing, got NaN for {known[j]} in row {i}; use missing='drop'"
        )
    if absent.any(axis=1).all():
        raise ValueError("values must have a dataset on which no learner is missing, got none")
    return table[~absent.any(axis=1)], known


def rank_lines(names: Sequence[str], ranks: Array) -> str:
    order = np.argsort(ranks, kind="stable")
    return "\n".join(["average ranks", *(f"  {ranks[j]:.3f}  {names[j]}" for j in order)])
