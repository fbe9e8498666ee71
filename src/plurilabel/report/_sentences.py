"""The sentences of the report: who is best, what was tested, what can be said."""

from __future__ import annotations

import numpy as np

from plurilabel.report._data import Findings
from plurilabel.report._table import ALPHA
from plurilabel.report._tests import FEWEST_DATASETS
from plurilabel.report._words import capital, counted, listed, measure_title

FEW_FOLDS = 5


def left_out(findings: Findings, measure: str) -> str:
    """Who does not take part in the ranks of a measure, and why; empty if all do."""
    table, results = findings.tables[measure], findings.results
    datasets, learners = table.ranked
    parts = []
    if not datasets.all():
        names = [n for n, kept in zip(results.datasets, datasets) if not kept]
        parts.append(f"{listed(names, 6)} (no learner has a result)")
    if not learners.all():
        names = [n for n, kept in zip(results.learners, learners) if not kept]
        parts.append(f"{listed(names, 6)} (without a result on some dataset or fold)")
    return f"Left out of the ranks: {'; '.join(parts)}." if parts else ""


def headline(findings: Findings) -> str:
    """The first sentence: who is best in what."""
    results = findings.results
    if not findings.tables:
        return "No learner has a result."
    if len(results.learners) == 1:
        who, where = results.learners[0], listed(results.datasets, 4)
        return f"{who} on {where}; there is no other learner to compare with."
    if len(results.datasets) == 1:
        return _named(findings, _wins(findings, 0), f"On {results.datasets[0]},")
    if len(results.datasets) >= FEWEST_DATASETS:
        where = f"By average rank over {counted(len(results.datasets), 'dataset')},"
        return _named(findings, _wins(findings, None), where)
    said = [
        _numbered(findings, _wins(findings, i), f"on {name},")
        for i, name in enumerate(results.datasets)
    ]
    return capital("; ".join(said)) + "."


def _wins(findings: Findings, dataset: int | None) -> dict[str, list[str]]:
    """The headline measures that each learner leads, on a dataset or by average rank."""
    wins: dict[str, list[str]] = {}
    for measure in findings.headlines:
        table = findings.tables[measure]
        if dataset is None:
            ranks = np.where(np.isnan(table.average_ranks), np.inf, table.average_ranks)
            alone = table.ranked[1].sum() < 2  # nobody to be better than
            leads = np.flatnonzero(np.isfinite(ranks) & (ranks == ranks.min()) & ~alone)
        else:
            leads = np.flatnonzero(table.best[dataset])
        for j in leads:
            wins.setdefault(findings.results.learners[j], []).append(measure_title(measure))
    order = sorted(wins, key=lambda name: (-len(wins[name]), findings.learners.index(name)))
    return {name: wins[name] for name in order}


def _named(findings: Findings, wins: dict[str, list[str]], where: str) -> str:
    """Who is best, with the measures by name."""
    if not wins:
        return "No two learners have results in every fold, so none can be called the best."
    total = len(findings.headlines)
    (first, led), *others = wins.items()
    if len(led) == total and total > 1:
        said = f"{where} {first} is best in all {total} headline measures"
        level = [name for name, _ in others]
        return said + (f", level with {listed(level, 3)} in some." if level else ".")
    said = f"{where} {first} is best in {listed(led)}"
    rest = [f"{name} in {listed(measures)}" for name, measures in others[:3]]
    return "; ".join([said, *rest]) + "."


def _numbered(findings: Findings, wins: dict[str, list[str]], where: str) -> str:
    """Who is best, with the number of measures."""
    if not wins:
        return f"{where} none can be called the best"
    total = counted(len(findings.headlines), "headline measure")
    (first, led), *others = wins.items()
    rest = [f"{name} in {len(measures)}" for name, measures in others[:2]]
    return listed([f"{where} {first} is best in {len(led)} of {total}", *rest])


def how_tested(findings: Findings) -> list[str]:
    """Sentences that say what the marks mean and what can be concluded."""
    results, tested = findings.results, findings.tested
    if not findings.tables:
        return []
    if len(results.learners) == 1:
        return []
    said = ["Bold is the best of its column"]
    if tested.any():
        said[0] += (
            ", ≈ is not significantly worse: the corrected resampled t-test of Nadeau and Bengio "
            "against the best, over the folds of that dataset, with Holm's correction for the "
            f"number of learners, at {ALPHA:g}."
        )
        tested_splits = np.concatenate([t.splits[tested] for t in findings.tables.values()])
        fewest = int(tested_splits[tested_splits > 0].min(initial=FEW_FOLDS))
        if fewest < FEW_FOLDS:
            said.append(
                f"With {counted(fewest, 'fold')} this test finds large differences only; "
                "ten folds would tell more."
            )
        if not tested.all():
            names = [n for n, ok in zip(results.datasets, tested) if not ok]
            said.append(f"Nothing is tested on {listed(names, 6)}: there is a single split.")
    else:
        said[0] += "."
        said.append(
            "There is a single split of each dataset, so nothing is tested: small differences "
            "may be chance. Cross-validation (--cv 10) would tell."
        )
    n = len(results.datasets)
    if n < FEWEST_DATASETS:
        said.append(
            f"With {counted(n, 'dataset')}, tests over datasets (Friedman, Nemenyi, Wilcoxon) "
            f"would mean nothing, so there are none; they start at {FEWEST_DATASETS}."
        )
    return said
