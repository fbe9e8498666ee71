"""Nemenyi's test: which average ranks are further apart than chance allows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from plurilabel.evaluation._stats._friedman import Array, check_values, rank_lines, ranks_and_error


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
        Of each pair, corrected for the number of pairs; 1 on the diagonal.
    """

    names: tuple[str, ...]
    average_ranks: Array
    n_datasets: int
    alpha: float
    critical_difference: float
    pvalues: Array

    @property
    def groups(self) -> list[tuple[int, ...]]:
        """Largest sets of learners that do not differ, as indices, the best first."""
        return cliques(self.average_ranks, self.critical_difference)

    def __str__(self) -> str:
        lines = [
            f"Nemenyi test of {len(self.names)} learners on {self.n_datasets} datasets",
            f"  critical difference {self.critical_difference:.3f} at alpha = {self.alpha:g}",
            rank_lines(self.names, self.average_ranks),
        ]
        alike = [", ".join(self.names[j] for j in group) for group in self.groups]
        if alike:
            lines += ["not significantly different", *(f"  {group}" for group in alike)]
        return "\n".join(lines)


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
    quantile of the studentized range for k groups and infinitely many degrees of freedom,
    divided by the square root of 2. Meant to be used after :func:`friedman` has found a
    difference.

    Parameters
    ----------
    values : array-like of shape (datasets, learners), or data frame
    greater_is_better : bool
    alpha : float, default=0.05
    names : sequence of str, optional
    missing : {"error", "drop"}, default="error"
        As for :func:`average_ranks`.

    Returns
    -------
    Nemenyi

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
    R, error = ranks_and_error(values, greater_is_better)
    k = len(R)
    apart = np.abs(R[:, None] - R) / error * np.sqrt(2)
    distinct, where = np.unique(apart, return_inverse=True)
    # beyond 20 the p-value is 0 to every digit anyone prints, and the integral is slow
    p = [
        float(stats.studentized_range.sf(a, k, np.inf)) if 0 < a < 20 else a == 0 for a in distinct
    ]
    quantile = float(stats.studentized_range.isf(alpha, k, np.inf)) / np.sqrt(2)
    return Nemenyi(
        names=names,
        average_ranks=R,
        n_datasets=len(values),
        alpha=alpha,
        critical_difference=float(quantile * error),
        pvalues=np.clip(np.array(p, dtype=np.float64)[where].reshape(k, k), 0, 1),
    )


def cliques(ranks: ArrayLike, critical_difference: float) -> list[tuple[int, ...]]:
    """Largest sets of two or more learners whose ranks lie within the critical difference."""
    ranks = np.asarray(ranks, dtype=np.float64)
    order = np.argsort(ranks, kind="stable")
    # a hair more than the difference: 3.1 - 2.1 must not exceed 1.0
    reach = ranks[order] + critical_difference + 1e-9
    groups, last = [], 0
    for start, end in enumerate(np.searchsorted(ranks[order], reach, side="right")):
        if end > max(last, start + 1):  # not inside the group before, and not one learner alone
            groups.append(tuple(order[start:end].tolist()))
            last = end
    return groups
