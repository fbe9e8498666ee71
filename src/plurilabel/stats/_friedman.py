"""Ranks of learners over datasets, and Friedman's test whether they differ at all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from plurilabel.base import column_names
from plurilabel.stats._exact import exact_friedman

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Friedman:
    """What :func:`friedman` found; ``print`` shows it.

    Attributes
    ----------
    names : tuple of str
    average_ranks : ndarray of shape (learners,)
    n_datasets : int
    chi2, chi2_pvalue : float
        Friedman's statistic and its p from the chi-squared distribution.
    f, f_pvalue : float
        Iman and Davenport's statistic and its p from the F distribution.
    exact_pvalue : float or None
        Share of all ways to permute the ranks within the datasets whose statistic is at least
        the one found; None where that is too much work.
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
        """The exact p where there is one, else Iman and Davenport's."""
        return self.f_pvalue if self.exact_pvalue is None else self.exact_pvalue

    def __str__(self) -> str:
        k, n = len(self.names), self.n_datasets
        lines = [
            f"Friedman test of {k} learners on {n} datasets",
            f"  chi2({k - 1}) = {self.chi2:.4g}, p = {self.chi2_pvalue:.3g}",
            f"  F({k - 1}, {(k - 1) * (n - 1)}) = {self.f:.4g}, p = {self.f_pvalue:.3g}"
            " (Iman-Davenport)",
        ]
        if self.exact_pvalue is not None:
            lines.append(f"  exact p = {self.exact_pvalue:.3g}")
        return "\n".join([*lines, "average ranks", rank_lines(self.names, self.average_ranks)])


def average_ranks(values: ArrayLike, *, greater_is_better: bool, missing: str = "error") -> Array:
    """Average rank of each learner over the datasets; 1 is the best.

    Parameters
    ----------
    values : array-like of shape (datasets, learners), or data frame
        A measure of each learner on each dataset.
    greater_is_better : bool
        Whether the highest value gets rank 1.
    missing : {"error", "drop"}, default="error"
        What to do about datasets in which a learner has no value (NaN): refuse, or leave these
        datasets out.

    Returns
    -------
    ndarray of shape (learners,)
        Equal values share the mean of their ranks; those that agree to eleven digits of the
        largest of their dataset are equal.

    Examples
    --------
    >>> from plurilabel.stats import average_ranks
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
    values : array-like of shape (datasets, learners), or data frame
    greater_is_better : bool
    names : sequence of str, optional
        Names of the learners; otherwise the columns of the data frame, or made-up ones.
    missing : {"error", "drop"}, default="error"
        As for :func:`average_ranks`.
    correct_ties : bool, default=True
        Divide chi2 by ``1 - sum(t^3 - t) / (N k (k^2 - 1))``, where t runs over the sizes of the
        groups of equal values, as ``scipy.stats.friedmanchisquare`` does. Demsar's paper does
        not.

    Returns
    -------
    Friedman
        With the exact p where no more than two million rank sums have to be looked at: for
        example 3 learners on 100 datasets, 4 on 20, 5 on 8, 6 on 4; somewhat fewer with ties,
        for which it holds too.

    References
    ----------
    J. Demsar. Statistical comparisons of classifiers over multiple data sets. JMLR 7, 2006.

    R. L. Iman, J. M. Davenport. Approximations of the critical region of the Friedman statistic.
    Communications in Statistics 9, 1980.

    Examples
    --------
    >>> from plurilabel.stats import friedman
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
    n, k = ranks.shape
    R = ranks.mean(axis=0)
    chi2 = 12 * n / (k * (k + 1)) * (np.sum(R**2) - k * (k + 1) ** 2 / 4)
    if correct_ties:
        # the variance of tied ranks is smaller by exactly this factor; 0 if all are tied
        factor = 12 * np.sum((ranks - (k + 1) / 2) ** 2) / (n * k * (k**2 - 1))
        chi2 = chi2 / factor if factor > 0 else 0.0
    chi2 = float(np.clip(chi2, 0, n * (k - 1)))
    rest = n * (k - 1) - chi2
    f = (n - 1) * chi2 / rest if rest > 1e-9 * n * k else np.inf
    # one dataset orders the learners completely and says nothing
    f_pvalue = float(stats.f.sf(f, k - 1, (k - 1) * (n - 1))) if n > 1 else 1.0
    return Friedman(
        names=names,
        average_ranks=R,
        n_datasets=n,
        chi2=chi2,
        chi2_pvalue=float(stats.chi2.sf(chi2, k - 1)),
        f=float(f),
        f_pvalue=f_pvalue,
        exact_pvalue=exact_friedman(ranks),
    )


def check_values(
    values: Any, names: Sequence[str] | None = None, *, missing: str = "error"
) -> tuple[Array, tuple[str, ...]]:
    """Check a table (datasets, learners); returns it without missing values, and the names."""
    names = column_names(values) if names is None else names
    if missing not in ("error", "drop"):
        raise ValueError(f"missing must be 'error' or 'drop', got {missing!r}")
    table = np.asarray(values, dtype=np.float64)
    if table.ndim != 2 or table.shape[0] < 1 or table.shape[1] < 2:
        raise ValueError(
            "values must be a table (datasets, learners) with at least one dataset and two "
            f"learners, got shape {table.shape}"
        )
    k = table.shape[1]
    names = [f"learner{j}" for j in range(k)] if names is None else names
    if len(names) != k:
        raise ValueError(f"names must have {k} entries, one per learner, got {len(names)}")
    absent = np.isnan(table)
    if missing == "drop":
        table = table[~absent.any(axis=1)]
        if len(table) == 0:
            raise ValueError("values must have a dataset with a value of every learner, got none")
    elif absent.any():
        i, j = np.argwhere(absent)[0]
        raise ValueError(
            f"values must have a value of every learner on every dataset, got NaN for {names[j]} "
            f"in row {i}; missing='drop' leaves such datasets out"
        )
    return table, tuple(str(name) for name in names)


def rank_rows(values: Array, greater_is_better: bool) -> Array:
    """Ranks within each row, 1 for the best, ties averaged; rounding errors make no difference."""
    size = np.abs(np.where(np.isfinite(values), values, 0)).max(axis=1, keepdims=True)
    # means of the same scores in another order differ in the last digit, and are equal
    rounded = np.round(values / np.where(size > 0, size, 1), 11)
    return np.asarray(stats.rankdata(-rounded if greater_is_better else rounded, axis=1))


def rank_lines(names: Sequence[str], ranks: Array) -> str:
    """One line per learner, the best first."""
    return "\n".join(f"  {ranks[j]:.3f}  {names[j]}" for j in np.argsort(ranks, kind="stable"))


def ranks_and_error(values: Array, greater_is_better: bool) -> tuple[Array, float]:
    """Average ranks, and the standard error of a difference of two: sqrt(k (k + 1) / (6 N))."""
    n, k = values.shape
    return rank_rows(values, greater_is_better).mean(axis=0), float(np.sqrt(k * (k + 1) / (6 * n)))
