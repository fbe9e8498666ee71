"""AutoClassifier compared with single learners: is the result of one call the best available?

    python -m benchmarks accuracy emotions scene          # their hold-outs
    python -m benchmarks accuracy --folds yeast scene     # five folds, like published figures

For each dataset and each of six measures, AutoClassifier is fitted for that measure; its portfolio
is fitted once and serves all six. It is compared with the learners of the portfolio, each with its
own threshold, and with forests and gradient boosting per label; BOOMER's figures are those of
results/gradient-boosting.csv. Finished parts are kept in a folder (``--folder``), so that an
interrupted run can be resumed. Writes accuracy.csv, accuracy-times.csv and accuracy-counts.csv in
results/, which docs/accuracy_results.md shows; without a dataset, only the last one. One thread.
Needs the datasets (PLURILABEL_DATA).

Times are those of the first of the six fits, which tries the whole portfolio; the later ones reuse
its learners. Limits are in processor seconds, so that other work on the machine has no effect.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import signal
import warnings
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, process_time

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import joblib
import numpy as np
from scipy import sparse
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.utils.metaestimators import available_if

from benchmarks import RESULTS
from plurilabel import AutoClassifier, BinaryRelevance, datasets, metrics
from plurilabel._core.blocks import dense
from plurilabel._core.records import digest_of
from plurilabel.model_selection import IterativeStratifiedKFold
from plurilabel.wrappers.automatic import _pool, _trials
from plurilabel.wrappers.automatic._pool import fit_one
from plurilabel.wrappers.automatic._portfolio import candidates

OUT, BOOMER = RESULTS / "accuracy.csv", RESULTS / "gradient-boosting.csv"
TIMES, COUNTS = RESULTS / "accuracy-times.csv", RESULTS / "accuracy-counts.csv"
MEASURES = (
    "average_precision", "hamming_loss", "f1", "micro_f1", "macro_f1", "subset_accuracy",
)  # fmt: skip
COLUMNS = (
    "dataset", "rows", "measure", "AutoClassifier", "expected", "best other", "which", "ahead",
)  # fmt: skip
TIME_COLUMNS = (
    "dataset", "rows", "time limit", "learners tried", "no time for", "seconds",
    "processor seconds", "of these the final fits",
)  # fmt: skip
PUBLISHED = {  # five folds, papers of 2019 and before
    ("yeast", "hamming_loss"): 0.190,
    ("yeast", "average_precision"): 0.775,
    ("scene", "hamming_loss"): 0.072,
    ("scene", "average_precision"): 0.897,
    ("image", "hamming_loss"): 0.144,
    ("image", "average_precision"): 0.843,
}


class Kept:
    """What a fitted learner says of the test rows, without the learner, which may be large."""

    def __init__(self, fitted, X):
        self.classes_ = fitted.classes_
        self.rows, self.answers = digest_of(X), {}
        for method in ("predict_proba", "decision_function", "predict"):
            if hasattr(fitted, method):
                self.answers[method] = getattr(fitted, method)(X)

    def _ask(self, method, X):
        if digest_of(X) != self.rows:
            raise ValueError("only what was said of the test rows is kept")
        return self.answers[method]

    @available_if(lambda self: "predict_proba" in self.answers)
    def predict_proba(self, X):
        return self._ask("predict_proba", X)

    @available_if(lambda self: "decision_function" in self.answers)
    def decision_function(self, X):
        return self._ask("decision_function", X)

    def predict(self, X):
        return self._ask("predict", X)


class Shared:
    """Fitted learners of a split, which are kept for the next measure."""

    kept: dict[str, Kept] = {}  # noqa: RUF012 - emptied for each split
    X_test = None
    outside = 0.0  # processor seconds for what a fit of one measure does not do

    @staticmethod
    def fit(pool, candidate):
        """In place of ``Pool.fit``."""
        if candidate.name not in Shared.kept:
            started = process_time()
            fitted = fit_one(candidate.estimator, pool.X, pool.Y)
            pool.fit_seconds += process_time() - started
            started = process_time()
            Shared.kept[candidate.name] = Kept(fitted, Shared.X_test)
            Shared.outside += process_time() - started
        return Shared.kept[candidate.name]


@contextmanager
def at_most(seconds):
    """End with TimeoutError what takes more of the processor, between two steps of Python."""

    def end(*_):
        raise TimeoutError

    if not seconds:
        yield
        return
    before = signal.signal(signal.SIGPROF, end)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("datasets", nargs="*")
    parser.add_argument("--folds", action="store_true", help="five folds in place of the hold-out")
    parser.add_argument("--folder", type=Path, default=Path("out/accuracy"))
    parser.add_argument("--time-limit", type=float, help="seconds for the portfolio of each split")
    parser.add_argument("--other-limit", type=float, help="seconds for each learner beside it")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    _trials.perf_counter = _pool.perf_counter = process_time
    _pool.Pool.fit = Shared.fit
    for name in asked.datasets:
        data = datasets.load(name)
        parts = five_folds(data) if asked.folds else [data.holdout()]
        found = [
            measure_split(f"{name}-{k}" if asked.folds else name, part, asked)
            for k, part in enumerate(parts)
        ]
        for row in rows_of(name, [each[:2] for each in found], folds=asked.folds):
            print(*row.values(), sep="  ", flush=True)
            write(OUT, COLUMNS, row, ("rows", "dataset", "measure"))
        row = times_of(name, [each[2] for each in found], asked)
        write(TIMES, TIME_COLUMNS, row, ("rows", "dataset"))
    count()


def five_folds(data):
    folds = IterativeStratifiedKFold(5, shuffle=True, random_state=0)
    return [
        (data.X[a], data.X[b], data.Y[a], data.Y[b])
        for a, b in folds.split(np.empty(data.X.shape[0]), data.Y)
    ]


def measure_split(name, part, asked):
    """Figures by measure and by learner, what was expected by measure, and the times."""
    X, X_test, Y, Y_test = part
    Y, Y_test = dense(Y), dense(Y_test)
    path, timed = asked.folder / f"{name}.joblib", asked.folder / f"{name}.json"
    asked.folder.mkdir(parents=True, exist_ok=True)
    Shared.kept = joblib.load(path) if path.exists() else {}
    Shared.X_test = X_test
    options = {
        "random_state": 0, "memory": asked.folder / f"scores-{name}",
        "time_limit": asked.time_limit,
    }  # fmt: skip
    whole = not options["memory"].exists()  # a run that goes on cannot be timed
    times = json.loads(timed.read_text()) if timed.exists() else None
    figures: dict[str, dict[str, float]] = {measure: {} for measure in MEASURES}
    expected = {}
    for measure in MEASURES:
        Shared.outside, started, begun = 0.0, monotonic(), process_time()
        model = AutoClassifier(measure, **options).fit(X, Y)
        wall, processor = monotonic() - started, process_time() - begun - Shared.outside
        if times is None:
            times = {
                "tried": [one["name"] for one in model.report_["tried"]],
                "left out": [
                    learner for learner, why in model.report_["left_out"].items()
                    if why.startswith("no time")
                ],
                "seconds": wall, "processor": processor if whole else 0.0,
                "fits": model.seconds_["fits"],
                "folds": model.seconds_["folds"],
            }  # fmt: skip
            timed.write_text(json.dumps(times, indent=1))
            print(model.summary(), flush=True)
        answer = metrics.evaluate(Y_test, model.predict_proba(X_test), model.predict(X_test))
        figures[measure]["AutoClassifier"] = answer[measure]
        expected[measure] = model.estimate_
        print(
            f"{name} {measure} {answer[measure]:.4f}, {wall:.0f} s, "
            f"of the processor {processor:.0f} s", flush=True,
        )  # fmt: skip
        joblib.dump(Shared.kept, path)
    others(name, X, Y, asked)
    joblib.dump(Shared.kept, path)
    for learner, fitted in Shared.kept.items():
        scores = metrics.label_scores(fitted, X_test, n_labels=Y.shape[1])
        answer = metrics.evaluate(Y_test, scores, dense(fitted.predict(X_test)))
        for measure in MEASURES:
            figures[measure][learner] = answer[measure]
    return figures, expected, times


def others(name, X, Y, asked):
    """Fit the learners of the portfolio that were not chosen, and those that stand beside it."""
    seed = int(np.random.RandomState(0).randint(2**31 - 1))
    longest = 3 * (asked.other_limit or np.inf)  # costs are rough
    beside = {
        one.name: one.estimator
        for one in candidates(X, Y, "full", seed)
        if one.memory <= _trials.LARGEST and one.seconds <= longest
    }
    beside["forest per label"] = BinaryRelevance(RandomForestClassifier(100, random_state=0))
    if not sparse.issparse(X):
        boosted = HistGradientBoostingClassifier(random_state=0)
        beside["histogram boosting per label"] = BinaryRelevance(boosted)
    for learner, estimator in beside.items():
        if learner not in Shared.kept:
            try:
                with at_most(asked.other_limit):
                    Shared.kept[learner] = Kept(fit_one(estimator, X, Y), Shared.X_test)
            except TimeoutError:
                print(f"{name}: {learner} was not done in {asked.other_limit:g} s", flush=True)


def times_of(name, times, asked):
    """How long a fit for one measure took, the longest of the splits; "-" if interrupted."""
    longest = max(times, key=lambda one: one["processor"])
    taken = [longest[key] for key in ("seconds", "processor", "fits")]
    return dict(zip(TIME_COLUMNS, (
        name, "five folds" if asked.folds else "hold-out",
        "none" if asked.time_limit is None else f"{asked.time_limit:g}",
        len(longest["tried"]), "; ".join(longest["left out"]) or "-",
        *((round(one) if longest["processor"] else "-") for one in taken),
    )))  # fmt: skip


def rows_of(name, found, *, folds):
    """A row for each measure: means over the splits."""
    boomer = {} if folds else boomers(name)
    for measure in MEASURES:
        better = 1 if metrics.get_measure(measure).greater_is_better else -1
        learners = set.intersection(*(set(figures[measure]) for figures, _ in found))
        means = {
            one: float(np.mean([figures[measure][one] for figures, _ in found]))
            for one in sorted(learners)
        } | boomer.get(measure, {})
        if folds and (name, measure) in PUBLISHED:
            means["published"] = PUBLISHED[name, measure]
        ours = means.pop("AutoClassifier")
        which = max(means, key=lambda one: better * means[one])
        yield dict(zip(COLUMNS, (
            name, "five folds" if folds else "hold-out", measure, f"{ours:.4f}",
            f"{np.mean([expected[measure] for _, expected in found]):.4f}",
            f"{means[which]:.4f}", which, f"{better * (ours - means[which]):+.4f}",
        )))  # fmt: skip


def boomers(name):
    """BOOMER's figures by measure, for the hold-out of a dataset."""
    columns = {
        "average_precision": "average precision", "hamming_loss": "Hamming loss",
        "subset_accuracy": "subset accuracy",
    }  # fmt: skip
    found: dict[str, dict[str, float]] = {}
    with open(BOOMER, newline="") as stream:
        for row in csv.DictReader(stream):
            if row["dataset"] == name and row["learner"].startswith("boomer"):
                for measure, column in columns.items():
                    if row[column]:
                        found.setdefault(measure, {})[row["learner"]] = float(row[column])
    return found


def count() -> None:
    """Write in how many cells of the table AutoClassifier is first, or nearly so."""
    with open(OUT, newline="") as stream:
        rows = list(csv.DictReader(stream))
    for kind in sorted({row["rows"] for row in rows}):
        cells = [row for row in rows if row["rows"] == kind]
        for measure in ("all", *MEASURES):
            ahead = [float(each["ahead"]) for each in cells if measure in ("all", each["measure"])]
            row = {
                "rows": kind, "measure": measure, "cells": len(ahead),
                "first": sum(by >= 0 for by in ahead),
                "first or within .003": sum(by >= -0.003 for by in ahead),
            }  # fmt: skip
            write(COUNTS, tuple(row), row, ("rows", "measure"))


def write(path, columns, row, keys) -> None:
    """Put a row into its place in the file, beside those that are there."""
    rows = [row]
    if path.exists():
        with open(path, newline="") as stream:
            rows = [*csv.DictReader(stream), row]
    known = {tuple(each[key] for key in keys): each for each in rows}
    with open(path, "w", newline="") as stream:
        writer = csv.DictWriter(stream, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(known.values())


if __name__ == "__main__":
    main()
