"""A measure of every learner on every dataset, with the best marked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plurilabel.evaluation._compare._results import (
    Results,
    deviation_over_splits,
    divided,
    mean_over_splits,
)
from plurilabel.evaluation._friedman import rank_rows
from plurilabel.evaluation._pairs import corrected_resampled_t, holm_adjusted
from plurilabel.metrics import get_measure

ALPHA = 0.05

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class MeasureTable:
    """A measure of every learner on every dataset.

    Attributes
    ----------
    measure, title, arrow : str
        Its name, its name in prose, and ↑ if greater is better, otherwise ↓.
    greater_is_better : bool
    absent : ndarray of str of shape (datasets, learners)
        Text for cells without a value: "failed", "not run", or "–" where the measure is undefined.
    means, deviations : ndarray of shape (datasets, learners)
        Over the splits; NaN where there are no values.
    counts : ndarray of shape (datasets, learners)
        Number of splits with a value.
    splits : ndarray of shape (datasets,)
        Number of splits in which any learner has a value.
    ranks : ndarray of shape (datasets, learners)
        Within each dataset; NaN for learners without a value in every split.
    average_ranks : ndarray of shape (learners,)
        Over the datasets with results, among the learners that have results on all of these; NaN
        for the others. A learner that fails once is not ranked, but does not cost the others a
        dataset.
    best, close : ndarray of bool of shape (datasets, learners)
        The best learners of each dataset, and those not significantly worse: by the corrected
        resampled t-test against the best over the folds, with Holm's correction, at 0.05.
    """

    measure: str
    title: str
    arrow: str
    greater_is_better: bool
    absent: NDArray[np.str_]
    means: Array
    deviations: Array
    counts: NDArray[np.intp]
    splits: NDArray[np.intp]
    ranks: Array
    average_ranks: Array
    best: NDArray[np.bool_]
    close: NDArray[np.bool_]


def measure_tables(
    results: Results, measures: Sequence[str] | None = None
) -> dict[str, MeasureTable]:
    """Tables of a comparison: means, deviations, ranks, and the best of each dataset.

    Parameters
    ----------
    results : Results
    measures : sequence of str, optional
        By default all measures of the comparison.

    Returns
    -------
    dict of str to MeasureTable
        By measure.

    Examples
    --------
    >>> from plurilabel.evaluation import Results, measure_tables
    >>> plan = {"protocol": {"measures": ["hamming_loss"]}, "datasets": {"toy": {}},
    ...         "learners": {"MLkNN": {}, "BRkNN": {}, "HOMER": {}}}
    >>> cells = [
    ...     {"dataset": "toy", "learner": learner, "repeat": 0, "fold": fold, "status": "ok",
    ...      "scores": {"hamming_loss": loss}}
    ...     for learner, values in {"MLkNN": (0.3, 0.1), "BRkNN": (0.4, 0.2)}.items()
    ...     for fold, loss in enumerate(values)
    ... ]
    >>> table = measure_tables(Results(plan, cells))["hamming_loss"]
    >>> print(f"{table.title} {table.arrow}")
    Hamming loss ↓
    >>> table.means
    array([[0.2, 0.3, nan]])
    >>> table.best
    array([[ True, False, False]])
    >>> print(table.absent[0, 2])
    not run
    """
    names = list(results.measures if measures is None else measures)
    if not names:
        return {}
    # all measures at once: (measures, datasets, learners, splits)
    scores = np.array([results.scores(name) for name in names])
    known = [get_measure(name) for name in names]
    defined = ~np.isnan(scores)
    counts, splits = defined.sum(axis=3), defined.any(axis=2).sum(axis=2)
    means, deviations = mean_over_splits(scores), deviation_over_splits(scores)

    # a learner is ranked if it has a value in every split in which any learner has one
    whole = (counts == splits[..., None]) & (counts > 0)
    sign = np.array([-1.0 if measure.greater_is_better else 1.0 for measure in known])
    losses = np.where(whole, means * sign[:, None, None], np.nan)
    ranks = _ranks(losses)
    datasets = whole.any(axis=2)
    learners = (whole | ~datasets[..., None]).all(axis=1) & datasets.any(axis=1)[:, None]
    kept = datasets[..., None] & learners[:, None]
    among = _ranks(np.where(kept, losses, np.nan))
    average = divided(np.nansum(among, axis=1), kept.sum(axis=1))
    best = ranks == np.fmin.reduce(ranks, axis=2, keepdims=True)
    best &= whole.sum(axis=2, keepdims=True) > 1  # a single learner is not the best
    close = _not_worse(scores, whole, best, fold_ratios(results))

    parts = (means, deviations, counts, splits, ranks, average, best, close)
    absent, tables = _absent(results), {}
    for name, measure, *own in zip(names, known, *parts):
        up = measure.greater_is_better
        tables[name] = MeasureTable(name, measure.title, "↓↑"[up], up, absent, *own)
    return tables


def _not_worse(
    scores: Array, whole: NDArray[np.bool_], best: NDArray[np.bool_], ratios: Array
) -> NDArray[np.bool_]:
    """Learners that are not significantly worse than the best of the dataset."""
    defined, pvalues = ~np.isnan(scores), np.full(best.shape, np.nan)
    several = defined.any(axis=2).sum(axis=2) > 1
    is_tested = best.any(axis=2) & several & np.isfinite(ratios)
    for m, i, j in np.argwhere(is_tested[..., None] & whole & ~best):
        folds = scores[m, i][:, defined[m, i].any(axis=0)]
        first = folds[np.argmax(best[m, i])]
        test = corrected_resampled_t(first, folds[j], test_to_train=ratios[i])
        pvalues[m, i, j] = test.pvalue
    close = np.zeros_like(best)
    for m, i in np.argwhere(is_tested):
        others = np.isfinite(pvalues[m, i])
        close[m, i, others] = holm_adjusted(pvalues[m, i, others]) > ALPHA
    return close


def fold_ratios(results: Results) -> Array:
    """Ratio of test to training instances of each dataset; NaN if its folds are not tested."""
    # repeats of one published split are not independent
    splits: dict[str, set[Any]] = {name: set() for name in results.datasets}
    shares: dict[str, list[float]] = {name: [] for name in results.datasets}
    for cell in results.cells:
        splits[cell["dataset"]].add((cell["repeat"], cell["fold"]))
        if cell.get("n_train") and cell.get("n_test"):
            shares[cell["dataset"]].append(cell["n_test"] / cell["n_train"])
    ratios = np.full(len(results.datasets), np.nan)
    for i, name in enumerate(results.datasets):
        published = str(results.plan["datasets"][name].get("split", "")).startswith("published")
        if shares[name] and len(splits[name]) > 1 and not published:
            ratios[i] = np.mean(shares[name])
    return ratios


def _absent(results: Results) -> NDArray[np.str_]:
    words = np.full((len(results.datasets), len(results.learners)), "not run")
    for cell in results.cells:
        i, j = results.datasets.index(cell["dataset"]), results.learners.index(cell["learner"])
        if cell["status"] != "ok":
            words[i, j] = "failed"
        elif words[i, j] == "not run":
            words[i, j] = "–"
    return words


def _ranks(losses: Array) -> Array:
    return rank_rows(losses.reshape(-1, losses.shape[-1]), False).reshape(losses.shape)
