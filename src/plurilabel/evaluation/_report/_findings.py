"""The content of a report in all formats: tables, tests, facts, and sentences about them."""

from __future__ import annotations

from functools import cached_property
from itertools import compress
from typing import Any, NamedTuple

import numpy as np

from plurilabel._core.words import counted, listed, shortened
from plurilabel.evaluation import _critical_difference as diagrams
from plurilabel.evaluation._compare._results import Results
from plurilabel.evaluation._friedman import Friedman, friedman
from plurilabel.evaluation._pairs import Comparisons, Nemenyi, nemenyi, wilcoxon
from plurilabel.evaluation._report import _tables
from plurilabel.evaluation._report._about import about
from plurilabel.evaluation._report._tables import ALPHA, Array, MeasureTable
from plurilabel.metrics import get_measure

# the measures of the overview, the plots and the tests
HEADLINES = (
    "hamming_loss", "subset_accuracy", "f1", "macro_f1", "one_error", "ranking_loss",
    "average_precision", "macro_auc",
)  # fmt: skip
FAMILIES = ("Label sets, by instance", "Label sets, by label", "Rankings of the labels")
FEWEST_DATASETS = 5  # tests over fewer say nothing: with four, Wilcoxon's p is at least 0.125
FEW_FOLDS = 5


class Value(NamedTuple):
    """A cell of a table of results, as text."""

    text: str
    best: bool = False
    mark: str | None = None  # "≈": not significantly worse than the best; None: not tested
    deviation: str = ""
    folds: str = ""  # how many there are, if some are missing


Rows = list[tuple[str, list[Value]]]
Texts = dict[str, list[list[Value]]]  # cells by measure, dataset and learner


class ResultTable(NamedTuple):
    """A measure by learners and datasets; or, for a single dataset, learners by measures."""

    name: str
    title: str
    arrow: str
    columns: list[str]
    rows: Rows
    is_headline: bool = True


class OverDatasets(NamedTuple):
    """The tests of one measure over the datasets, and sentences about them."""

    title: str
    diagram: diagrams.CriticalDifferenceDiagram
    friedman: Friedman
    nemenyi: Nemenyi
    wilcoxon: Comparisons
    ranks: str
    summary: str
    sentence: str
    pairs: str
    left_out: str


class Findings:
    """Everything a report is made of, computed once.

    ``headlines`` are the measures of plots and overview, and ``tested`` tells on which datasets
    folds are tested. ``overall`` is the mean rank over headline measures and datasets, where a
    missing result counts as the last; ``order`` and ``learners`` sort the learners by it.
    """

    def __init__(self, results: Results) -> None:
        self.results = results
        tables = _tables.measure_tables(results)
        self.tables = {k: t for k, t in tables.items() if np.isfinite(t.means).any()}
        known = [self.tables[name] for name in HEADLINES if name in self.tables]
        self.headlines = known or list(self.tables.values())[:6]
        self.tested = np.isfinite(_tables.fold_ratios(results))
        last = len(results.learners)
        ranks = np.concatenate([t.ranks for t in self.headlines] or [np.ones((1, last))])
        self.overall = np.where(np.isnan(ranks), last, ranks).mean(axis=0)
        self.order = np.argsort(self.overall, kind="stable")
        self.learners = [results.learners[j] for j in self.order]

    @cached_property
    def tests(self) -> dict[str, OverDatasets]:
        """Tests over the datasets, for the headline measures that allow them."""
        found = {t.measure: _over_datasets(self.results, t) for t in self.headlines}
        return {name: tests for name, tests in found.items() if tests is not None}

    @cached_property
    def seconds(self) -> Array:
        """Training, prediction and shared searches, mean over splits, (datasets, learners)."""
        return self.results.seconds()

    @cached_property
    def finished(self) -> dict[tuple[str, str], list[dict[str, Any]]]:
        """The cells with results, by dataset and learner."""
        cells: dict[tuple[str, str], list[dict[str, Any]]] = {}
        for cell in self.results.cells:
            if cell["status"] == "ok":
                cells.setdefault((cell["dataset"], cell["learner"]), []).append(cell)
        return cells

    @cached_property
    def pooled(self) -> dict[tuple[str, str], dict[str, Array]]:
        """Counts per label, summed over splits, by dataset and learner."""
        counts = {
            place: [cell["per_label"] for cell in cells if cell.get("per_label")]
            for place, cells in self.finished.items()
        }
        return {
            place: {name: np.sum([c[name] for c in of], axis=0) for name in ("tp", "fp", "fn")}
            for place, of in counts.items()
            if of
        }

    def variables(self) -> dict[str, Any]:
        """The variables of the templates of all formats."""
        values = {name: _values(table) for name, table in self.tables.items()}
        return about(self.results, self.learners) | {
            "headline": headline(self),
            "overview": _overview(self, values),
            "is_complete": not any(np.isnan(t.ranks).any() for t in self.headlines),
            "notes": how_tested(self),
            "tests": list(self.tests.values()),
            "families": _families(self, values),
            "is_tested": self.tested.any(),
            "alpha": f"{ALPHA:g}",
        }


def _values(t: MeasureTable) -> list[list[Value]]:
    """The text of every cell, with three digits of a typical value, by dataset and learner."""
    typical = np.median(np.abs(t.means[np.isfinite(t.means)])) or 1.0
    limits = {1: 100, 2: 10, 3: 0.05, 4: 0.005, 5: 0}
    digits = next(digits for digits, limit in limits.items() if typical >= limit)
    no_mark = "" if t.close.any() else None

    def value(i: int, j: int) -> Value:
        deviation, count, splits = t.deviations[i, j], t.counts[i, j], t.splits[i]
        if count == 0:
            return Value(str(t.absent[i, j]))
        return Value(
            f"{t.means[i, j]:.{digits}f}",
            bool(t.best[i, j]),
            "≈" if t.close[i, j] else no_mark,
            "" if np.isnan(deviation) else f"{deviation:.{digits}f}",
            f"{count}/{splits} folds" if count < splits else "",
        )

    datasets, learners = t.means.shape
    return [[value(i, j) for j in range(learners)] for i in range(datasets)]


def _rank(t: MeasureTable, j: int) -> Value:
    rank = t.average_ranks[j]
    known = not np.isnan(rank)
    return Value(f"{rank:.2f}", rank == np.nanmin(t.average_ranks)) if known else Value("–")


def _overview(findings: Findings, values: Texts) -> tuple[list[str], Rows]:
    """Learners by headline measures: means on one dataset, average ranks on several."""
    shown, is_single = findings.headlines, len(findings.results.datasets) == 1
    heads = [_head(t) if is_single else t.title for t in shown]
    rows = []
    for j in findings.order:
        cells = [values[t.measure][0][j] if is_single else _rank(t, j) for t in shown]
        times = findings.seconds[:, j][np.isfinite(findings.seconds[:, j])]
        time = times.mean() if len(times) else 0.0
        digits = max(0, 1 - int(np.floor(np.log10(time)))) if time > 0 else 0  # two digits
        seconds = f"{time:,.{digits}f}" if len(times) else "–"
        cells += [Value(f"{findings.overall[j]:.2f}"), Value(seconds)]
        rows.append((findings.results.learners[j], [c._replace(deviation="") for c in cells]))
    return [*heads, "mean rank", "seconds per fold"], rows


def _head(t: MeasureTable) -> str:
    return f"{t.title}\u00a0{t.arrow}"


def _families(findings: Findings, values: Texts) -> dict[str, list[ResultTable]]:
    """Tables by family of measures: one per measure, or for a single dataset one per family."""
    results = findings.results
    grouped: dict[str, list[MeasureTable]] = {family: [] for family in FAMILIES}
    for name, table in findings.tables.items():
        by_label = name.startswith(("macro_", "micro_"))
        ranking = get_measure(name).kind == "scores"
        grouped[FAMILIES[2 if ranking else int(by_label)]].append(table)
    families: dict[str, list[ResultTable]] = {}
    for family, tables in grouped.items():
        if len(results.datasets) > 1:
            families[family] = [_by_dataset(findings, t, values[t.measure]) for t in tables]
        elif tables:
            cells = [values[t.measure][0] for t in tables]
            rows = [(results.learners[j], [of_one[j] for of_one in cells]) for j in findings.order]
            families[family] = [ResultTable(family, family, "", [*map(_head, tables)], rows)]
    return {family: tables for family, tables in families.items() if tables}


def _by_dataset(findings: Findings, t: MeasureTable, values: list[list[Value]]) -> ResultTable:
    ranks = np.where(np.isnan(t.average_ranks), np.inf, t.average_ranks)
    rows = [
        (findings.results.learners[j], [*(row[j] for row in values), _rank(t, j)])
        for j in np.lexsort((findings.overall, ranks))
    ]
    columns = [*findings.results.datasets, "average rank"]
    return ResultTable(t.measure, t.title, t.arrow, columns, rows, t in findings.headlines)


def _over_datasets(results: Results, t: MeasureTable) -> OverDatasets | None:
    """Friedman's, Nemenyi's and Wilcoxon's tests; None if there are too few results."""
    datasets = np.asarray(np.isfinite(t.ranks).any(axis=1))
    learners = np.isfinite(t.average_ranks)
    if datasets.sum() < FEWEST_DATASETS or learners.sum() < 2:
        return None
    values, names = t.means[datasets][:, learners], list(compress(results.learners, learners))
    f = friedman(values, greater_is_better=t.greater_is_better, names=names)
    n = nemenyi(values, greater_is_better=t.greater_is_better, names=names, alpha=ALPHA)
    w = wilcoxon(values, greater_is_better=t.greater_is_better, names=names)
    absent = {
        "no results": list(compress(results.datasets, ~datasets)),
        "results missing for some dataset or fold": list(compress(results.learners, ~learners)),
    }
    left_out = [f"{listed(who, 6)} ({why})" for why, who in absent.items() if who]
    (N, k), cd = values.shape, f"{n.critical_difference:.2f}"
    found = "The learners differ" if f.pvalue <= ALPHA else "No significant difference"
    p = "p < 0.0001" if f.pvalue < 1e-4 else f"p = {f.pvalue:.4f}"
    statistic = f"{f.f:.2f}".replace("inf", "∞")
    order = np.argsort(n.average_ranks, kind="stable")
    short = [shortened(name, 28) for name in names]
    return OverDatasets(
        t.title,
        diagrams.critical_difference_diagram(n.average_ranks, short, n.critical_difference),
        f,
        n,
        w,
        ranks=", ".join(f"{names[j]} {n.average_ranks[j]:.2f}" for j in order),
        summary=f"Friedman {p}, critical difference {cd}",
        sentence=f"{found}: Friedman test of {counted(k, 'learner')} on {counted(N, 'dataset')}, "
        f"chi-squared({k - 1}) = {f.chi2:.2f}, F({k - 1}, {(k - 1) * (N - 1)}) = {statistic}, {p} "
        f"({'Iman-Davenport' if f.exact_pvalue is None else 'exact'}). "
        f"Nemenyi's critical difference is {cd}.",
        pairs=_pairs_sentence(w),
        left_out=f"Not ranked: {'; '.join(left_out)}." if left_out else "",
    )


def _pairs_sentence(w: Comparisons) -> str:
    """The significant pairs of Wilcoxon's test."""
    test = "Wilcoxon's signed-rank test with Holm's correction"
    pairs = counted(len(w.pairs), "pair")
    order = np.argsort(w.pvalues, kind="stable")
    better = []
    for i in order[w.adjusted[order] <= ALPHA]:
        a, b = w.pairs[i] if w.better[i] == w.pairs[i][0] else w.pairs[i][::-1]
        better.append(f"{w.names[a]} > {w.names[b]}")
    if not better:
        return f"{test} finds no significant difference among {pairs}."
    more = f"; and {len(better) - 12} more" if len(better) > 12 else ""
    found = f"{len(better)} of {pairs}: {'; '.join(better[:12])}{more}"
    return f"{test} finds a significant difference in {found}."


def headline(findings: Findings) -> str:
    """The first sentences: which learner is best in which measures."""
    results = findings.results
    if not findings.tables:
        return "No learner has a result."
    if len(results.learners) == 1:
        who, where = results.learners[0], listed(results.datasets, 4)
        return f"{who} on {where}; there is no other learner to compare with."
    if len(results.datasets) >= FEWEST_DATASETS:
        return _leaders(findings, f"By average rank over {len(results.datasets)} datasets", None)
    names = enumerate(results.datasets)
    return " ".join(_leaders(findings, f"On {name}", i) for i, name in names)


def _leaders(findings: Findings, where: str, dataset: int | None) -> str:
    """The headline measures that each learner leads, on a dataset or by average rank."""
    wins: dict[str, list[str]] = {}
    for t in findings.headlines:
        if dataset is None:
            ranks = t.average_ranks
            alone = np.isfinite(ranks).sum() < 2  # nobody to be better than
            leads = np.zeros_like(ranks) if alone else ranks == np.fmin.reduce(ranks)
        else:
            leads = t.best[dataset]
        for j in np.flatnonzero(leads):
            wins.setdefault(findings.results.learners[j], []).append(t.title)
    if not wins:
        return f"{where}, no two learners have results in every fold, so none is the best."
    order = sorted(wins, key=lambda name: (-len(wins[name]), findings.learners.index(name)))
    first, *others = order
    total = len(findings.headlines)
    if len(wins[first]) == total and total > 1:
        said = f"{where}, {first} is best in all {total} headline measures"
        return said + (f", tied with {listed(others, 3)} in some." if others else ".")
    rest = [f"{name} in {listed(wins[name])}" for name in others[:3]]
    return "; ".join([f"{where}, {first} is best in {listed(wins[first])}", *rest]) + "."


def how_tested(findings: Findings) -> list[str]:
    """Sentences that explain the marks and what can be concluded."""
    results, tested = findings.results, findings.tested
    if not findings.tables or len(results.learners) == 1:
        return []
    if tested.any():
        said = [
            "Bold marks the best value of each column, ≈ values that are not significantly worse "
            "(Nadeau and Bengio's corrected resampled t-test against the best over the folds of "
            f"the dataset, with Holm's correction, at {ALPHA:g})."
        ]
        splits = np.concatenate([t.splits[tested] for t in findings.tables.values()])
        fewest = int(splits[splits > 0].min(initial=FEW_FOLDS))
        if fewest < FEW_FOLDS:
            folds = counted(fewest, "fold")
            said.append(f"With {folds}, only large differences are significant; use ten.")
        if not tested.all():
            names = listed(list(compress(results.datasets, ~tested)), 6)
            said.append(f"Results on {names} are not tested, because there is only one split.")
    else:
        said = [
            "Bold marks the best value of each column.",
            "With one split per dataset, differences are not tested, and small ones may be due to "
            "chance. Use cross-validation (--cv 10) to test them.",
        ]
    if (n := len(results.datasets)) < FEWEST_DATASETS:
        said.append(
            f"Tests over datasets (Friedman, Nemenyi, Wilcoxon) need at least {FEWEST_DATASETS} "
            f"datasets; this comparison has {n}."
        )
    return said
