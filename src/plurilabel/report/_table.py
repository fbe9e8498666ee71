"""A measure of every learner on every dataset, with the best marked."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from plurilabel.compare import Results
from plurilabel.metrics import get_measure
from plurilabel.report._words import measure_title
from plurilabel.stats import corrected_resampled_t, holm_adjusted, rank_rows

ALPHA = 0.05

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Table:
    """A measure of every learner on every dataset.

    Attributes
    ----------
    measure, title : str
    greater_is_better : bool
    means, deviations : ndarray of shape (datasets, learners)
        NaN where there is nothing.
    counts : ndarray of shape (datasets, learners)
        Splits with a value.
    splits : ndarray of shape (datasets,)
        Splits in which some learner has a value.
    best, close : ndarray of bool of shape (datasets, learners)
        The best learners of each dataset, and those not significantly worse.
    ranks : ndarray of shape (datasets, learners)
        Within each dataset; NaN where a learner lacks a split.
    absent : ndarray of str of shape (datasets, learners)
        What to say where there is no value: "failed", "not run", or "–" where the learner ran but
        the measure is not defined for it.
    """

    measure: str
    greater_is_better: bool
    means: Array
    deviations: Array
    counts: NDArray[np.intp]
    splits: NDArray[np.intp]
    best: Mask
    close: Mask
    ranks: Array
    absent: NDArray[np.str_]

    @property
    def title(self) -> str:
        return measure_title(self.measure)

    @property
    def arrow(self) -> str:
        return "↑" if self.greater_is_better else "↓"

    @cached_property
    def ranked(self) -> tuple[Mask, Mask]:
        """Datasets and learners that enter the average ranks.

        Datasets on which no learner has a result are left out, then learners that lack any of
        the others: a learner that failed once cannot be compared, and should not cost the
        others a dataset.
        """
        here = ~np.isnan(self.ranks)
        datasets = here.any(axis=1)
        return np.asarray(datasets), np.asarray(here[datasets].all(axis=0) & datasets.any())

    @cached_property
    def average_ranks(self) -> Array:
        """Over the datasets, among the learners that have all of them; NaN for the others."""
        datasets, learners = self.ranked
        average = np.full(len(learners), np.nan)
        if learners.any():
            kept = self.means[np.ix_(datasets, learners)]
            average[learners] = rank_rows(kept, self.greater_is_better).mean(axis=0)
        return average

    @cached_property
    def decimals(self) -> int:
        """As many as show three figures of a typical value, between 1 and 5."""
        known = np.abs(self.means[np.isfinite(self.means)])
        typical = float(np.median(known)) if len(known) else 0.0
        if typical >= 10:
            return 2 if typical < 100 else 1
        return 3 if typical >= 0.05 or typical == 0 else 4 if typical >= 0.005 else 5


def make_table(results: Results, measure: str, tested: Mask, absent: NDArray[np.str_]) -> Table:
    """Means, deviations and marks of one measure; ``tested`` says where folds can be tested."""
    scores = results.scores(measure)  # (datasets, learners, splits)
    greater = get_measure(measure).greater_is_better
    defined = ~np.isnan(scores)
    counts, splits = defined.sum(axis=2), defined.any(axis=1).sum(axis=1)
    means = _divided(np.nansum(scores, axis=2), counts)
    squares = np.nansum((scores - means[:, :, None]) ** 2, axis=2)
    deviations = np.sqrt(_divided(squares, counts - 1))
    whole = (counts == splits[:, None]) & (counts > 0)
    best, close = np.zeros_like(whole), np.zeros_like(whole)
    ranks = np.full(means.shape, np.nan)
    shares = part_ratios(results)
    for i, dataset in enumerate(results.datasets):
        complete = np.flatnonzero(whole[i])
        if len(complete) == 0:
            continue
        ranks[i, complete] = rank_rows(means[i, complete][None], greater)[0]
        best[i, complete] = ranks[i, complete] == ranks[i, complete].min()
        if len(complete) < 2:
            best[i] = False  # nobody to be better than
        elif tested[i] and splits[i] > 1:
            folds = scores[i][:, defined[i].any(axis=0)]
            close[i] = _not_worse(folds, best[i], complete, shares[dataset])
    return Table(measure, greater, means, deviations, counts, splits, best, close, ranks, absent)


def _divided(total: Array, count: NDArray[np.intp]) -> Array:
    return np.divide(total, count, out=np.full(total.shape, np.nan), where=count > 0)


def absent_words(results: Results) -> NDArray[np.str_]:
    """What a cell of a table says where it has no value, (datasets, learners)."""
    words = np.full((len(results.datasets), len(results.learners)), "not run")
    for cell in results.cells:
        i, j = results.datasets.index(cell["dataset"]), results.learners.index(cell["learner"])
        if cell["status"] != "ok":
            words[i, j] = "failed"
        elif words[i, j] == "not run":
            words[i, j] = "–"
    return words


def _not_worse(folds: Array, best: Mask, complete: NDArray[np.intp], test_to_train: float) -> Mask:
    """Learners whose difference from the best one is not significant over the folds."""
    first = int(np.flatnonzero(best)[0])
    others = np.array([j for j in complete if not best[j]], dtype=np.intp)
    close = np.zeros(len(best), dtype=bool)
    p = [
        corrected_resampled_t(folds[first], folds[j], test_to_train=test_to_train).pvalue
        for j in others
    ]
    close[others] = holm_adjusted(p) > ALPHA
    return close


def part_ratios(results: Results) -> dict[str, float]:
    """Test instances over training instances of each dataset, the mean over its cells."""
    found: dict[str, list[float]] = {name: [] for name in results.datasets}
    for cell in results.cells:
        if cell.get("n_train") and cell.get("n_test"):
            found[cell["dataset"]].append(cell["n_test"] / cell["n_train"])
    return {name: float(np.mean(shares)) if shares else np.nan for name, shares in found.items()}


def datasets_to_test(results: Results) -> Mask:
    """Datasets whose folds can be tested: several splits that are not the same one again."""
    splits: dict[str, set[tuple[int, int]]] = {name: set() for name in results.datasets}
    for cell in results.cells:
        splits[cell["dataset"]].add((cell["repeat"], cell["fold"]))
    shares = part_ratios(results)
    return np.array(
        [
            len(splits[name]) > 1
            and np.isfinite(shares[name])
            and not str(results.plan["datasets"][name].get("split", "")).startswith("published")
            for name in results.datasets
        ]
    )


def cell_text(table: Table, i: int, j: int) -> tuple[str, str, str]:
    """Mean, deviation and, where folds are missing, how many there are; as text, or empty."""
    mean, deviation = table.means[i, j], table.deviations[i, j]
    if np.isnan(mean):
        return "", "", ""
    spread = "" if np.isnan(deviation) else f"{deviation:.{table.decimals}f}"
    missing = table.counts[i, j] < table.splits[i]
    some = f"{table.counts[i, j]}/{table.splits[i]} folds" if missing else ""
    return f"{mean:.{table.decimals}f}", spread, some
