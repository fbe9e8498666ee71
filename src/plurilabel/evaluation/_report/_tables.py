"""A measure of every learner on every dataset, with the best marked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plurilabel.evaluation._compare import _results
from plurilabel.evaluation._friedman import rank_rows
from plurilabel.evaluation._pairs import corrected_resampled_t, holm_adjusted
from plurilabel.metrics import get_measure

ALPHA = 0.05

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class MeasureTable:
    """A measure of every learner on every dataset: arrays of shape (datasets, learners).

    ``average_ranks``, of shape (learners,), are over the datasets with results, among the learners
    that have results on all of these, and NaN for the others: a learner that fails once is not
    ranked, but does not cost the others a dataset. ``close`` are the learners that are not
    significantly worse than the best of a dataset: by the corrected resampled t-test over the
    folds, with Holm's correction, at 0.05.
    """

    measure: str
    title: str
    arrow: str
    greater_is_better: bool
    absent: NDArray[np.str_]  # text for cells without a value
    means: Array  # over the splits; NaN without values
    deviations: Array
    counts: NDArray[np.intp]  # number of splits with a value
    splits: NDArray[np.intp]  # (datasets,), number of splits in which any learner has a value
    ranks: Array  # NaN for learners without a value in every split
    average_ranks: Array
    best: NDArray[np.bool_]
    close: NDArray[np.bool_]


def measure_tables(results: _results.Results) -> dict[str, MeasureTable]:
    """The tables of a comparison, by measure."""
    names = results.measures
    if not names:
        return {}
    # all measures at once: (measures, datasets, learners, splits)
    scores = np.array([results.scores(name) for name in names])
    known = [get_measure(name) for name in names]
    defined = ~np.isnan(scores)
    counts, splits = defined.sum(axis=3), defined.any(axis=2).sum(axis=2)
    means, deviations = _results.mean_over_splits(scores), _results.deviation_over_splits(scores)

    # a learner is ranked if it has a value in every split in which any learner has one
    whole = (counts == splits[..., None]) & (counts > 0)
    sign = np.array([-1.0 if measure.greater_is_better else 1.0 for measure in known])
    losses = np.where(whole, means * sign[:, None, None], np.nan)
    ranks = _ranks(losses)
    datasets = whole.any(axis=2)
    learners = (whole | ~datasets[..., None]).all(axis=1) & datasets.any(axis=1)[:, None]
    kept = datasets[..., None] & learners[:, None]
    among = _ranks(np.where(kept, losses, np.nan))
    average = _results.divided(np.nansum(among, axis=1), kept.sum(axis=1))
    best = ranks == np.fmin.reduce(ranks, axis=2, keepdims=True)
    best &= whole.sum(axis=2, keepdims=True) > 1  # a single learner is not the best
    close = _not_worse(scores, whole, best, fold_ratios(results))

    parts = (means, deviations, counts, splits, ranks, average, best, close)
    absent, tables = results.absent(), {}
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


def fold_ratios(results: _results.Results) -> Array:
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


def _ranks(losses: Array) -> Array:
    return rank_rows(losses.reshape(-1, losses.shape[-1]), False).reshape(losses.shape)
