"""Tests of one measure over the datasets, and what they say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from plurilabel.report._table import ALPHA, Table
from plurilabel.report._words import counted
from plurilabel.stats import Comparisons, Friedman, Nemenyi, friedman, nemenyi, wilcoxon

FEWEST_DATASETS = 5
"""Below, ranks over datasets say nothing: even Wilcoxon's smallest p of four is 0.125."""


@dataclass(frozen=True, eq=False)
class OverDatasets:
    """The tests of one measure over the datasets."""

    friedman: Friedman
    nemenyi: Nemenyi
    wilcoxon: Comparisons

    @property
    def summary(self) -> str:
        """The figures alone."""
        cd = self.nemenyi.critical_difference
        return f"Friedman {_p(self.friedman.pvalue)}, critical difference {cd:.2f}"

    @property
    def sentence(self) -> str:
        """What was found."""
        k, n, f = len(self.friedman.names), self.friedman.n_datasets, self.friedman
        how = "exact" if f.exact_pvalue is not None else "Iman-Davenport"
        differ = "The learners differ" if f.pvalue <= ALPHA else "No difference can be shown"
        return (
            f"{differ}: Friedman test of {counted(k, 'learner')} on {counted(n, 'dataset')}, "
            f"chi-squared({k - 1}) = {f.chi2:.2f}, F({k - 1}, {(k - 1) * (n - 1)}) = "
            f"{_number(f.f)}, {_p(f.pvalue)} ({how}). "
            f"Nemenyi's critical difference is {self.nemenyi.critical_difference:.2f}."
        )

    @property
    def pairs_sentence(self) -> str:
        """What Wilcoxon's tests of the pairs found."""
        w = self.wilcoxon
        found = [i for i in np.argsort(w.pvalues, kind="stable") if w.adjusted[i] <= ALPHA]
        if not found:
            return (
                f"Wilcoxon's signed-rank test with Holm's correction shows no difference in any "
                f"of the {counted(len(w.pairs), 'pair')}."
            )
        better = []
        for i in found:
            a, b = w.pairs[i]
            a, b = (b, a) if w.better[i] == b else (a, b)
            better.append(f"{w.names[a]} > {w.names[b]}")
        return (
            f"Wilcoxon's signed-rank test with Holm's correction shows a difference in "
            f"{len(found)} of {counted(len(w.pairs), 'pair')}: {'; '.join(better[:12])}"
            + (f"; and {len(better) - 12} more." if len(better) > 12 else ".")
        )


def compare_over_datasets(table: Table, learners: Sequence[str]) -> OverDatasets | None:
    """Friedman's, Nemenyi's and Wilcoxon's tests; None where there is too little for them."""
    datasets, kept = table.ranked
    if datasets.sum() < FEWEST_DATASETS or kept.sum() < 2:
        return None
    values = table.means[np.ix_(datasets, kept)]
    names = [learner for learner, here in zip(learners, kept) if here]
    greater = table.greater_is_better
    return OverDatasets(
        friedman(values, greater_is_better=greater, names=names),
        nemenyi(values, greater_is_better=greater, names=names, alpha=ALPHA),
        wilcoxon(values, greater_is_better=greater, names=names),
    )


def _p(value: float) -> str:
    return "p < 0.0001" if value < 1e-4 else f"p = {value:.4f}"


def _number(value: float) -> str:
    return "∞" if np.isinf(value) else f"{value:.2f}"
