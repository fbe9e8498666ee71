"""PriorFittedClassifier beside the learners of AutoClassifier's portfolio, five folds of six sets.

    python -m benchmarks prior_fitted portfolio           # the single learners, all six sets
    python -m benchmarks prior_fitted regressions         # KernelRegressions
    python -m benchmarks prior_fitted auto flags          # AutoClassifier, for average precision
    python -m benchmarks prior_fitted network             # PriorFittedClassifier
    python -m benchmarks prior_fitted                     # the table of what is there

Folds are ``IterativeStratifiedKFold(5, shuffle=True, random_state=0)``, the same for all, and
those of ``python -m benchmarks.prior_fitted export-data``. What is finished is kept in a folder
(``--folder``): a run that was ended goes on. Writes results/prior-fitted.csv. One thread. Needs
the datasets (PLURILABEL_DATA).

Times are by the clock. Those in results/ were taken beside much other work and are far too long.
"""

from __future__ import annotations

import argparse
import csv
import os
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

from benchmarks import RESULTS
from plurilabel import AutoClassifier, KernelRegressions, datasets
from plurilabel.evaluation import Results, compare
from plurilabel.wrappers.automatic._portfolio import candidates

OUT = RESULTS / "prior-fitted.csv"
DATA = ("flags", "emotions", "foodtruck", "image", "scene", "yeast")
GROUPS = ("portfolio", "regressions", "auto", "network")
MEASURES = (
    "average_precision", "ranking_loss", "one_error", "coverage", "hamming_loss",
    "subset_accuracy", "f1", "micro_f1", "macro_f1", "macro_auc", "micro_auc",
)  # fmt: skip
FOLDS = 5
SECONDS = ("fit_seconds", "predict_seconds")


def learners_of(group: str, data: Any) -> dict[str, Any]:
    """The learners of a group, by the names of the table's rows."""
    if group == "portfolio":
        seed = int(np.random.RandomState(0).randint(2**31 - 1))  # what AutoClassifier passes
        return {one.name: one.estimator for one in candidates(data.X, data.Y, "full", seed)}
    if group == "regressions":
        return {"kernel regressions": KernelRegressions(random_state=0)}
    if group == "auto":
        return {"AutoClassifier": AutoClassifier("average_precision", random_state=0)}
    from benchmarks.prior_fitted.learner._classifier import PriorFittedClassifier

    return {"PriorFittedClassifier": PriorFittedClassifier(random_state=0)}


def tell(done: int, total: int, cell: dict, _left: float | None) -> None:
    print(done, total, cell["dataset"], cell["learner"], cell["status"], cell["error"] or "",
          flush=True)  # fmt: skip


def write(folder: Path) -> None:
    """Write the means over the folds of everything that is complete, and print the precision.

    Rows of the file that were not measured now are kept.
    """
    rows: dict[Any, dict[str, str]] = {}
    if OUT.exists():
        with open(OUT, newline="") as stream:
            rows = {(row["dataset"], row["learner"]): row for row in csv.DictReader(stream)}
    for name in DATA:
        for group in GROUPS:
            place = folder / group / name
            if not (place / "plan.json").exists():
                continue
            results = Results.open(place)
            for j, learner in enumerate(results.learners):
                found = results.scores("average_precision")[0, j].ravel()
                if found.size < FOLDS or np.isnan(found).any():
                    continue
                figures = {m: f"{results.means(m)[0, j]:.4f}" for m in MEASURES}
                times = {m: f"{results.means(m)[0, j]:.2f}" for m in SECONDS}
                folds = " ".join(f"{value:.4f}" for value in found)
                rows[name, learner] = {
                    "dataset": name, "learner": learner, **figures, **times,
                    "average_precision_by_fold": folds,
                }  # fmt: skip
    if not rows:
        return
    with open(OUT, "w", newline="") as stream:
        table = csv.DictWriter(stream, list(next(iter(rows.values()))), lineterminator="\n")
        table.writeheader()
        table.writerows(rows.values())
    value = {both: float(row["average_precision"]) for both, row in rows.items()}
    names = dict.fromkeys(learner for _, learner in rows)
    lines = {one: [value.get((name, one), np.nan) for name in DATA] for one in names}
    print(f"{'average precision':36}", *(f"{name:>9}" for name in DATA), "     mean")
    for one, line in sorted(lines.items(), key=lambda item: -np.mean(item[1])):
        print(f"{one:36}", *(f"{value:9.4f}" for value in (*line, np.mean(line))))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("group", nargs="?", choices=GROUPS)
    parser.add_argument("datasets", nargs="*", default=DATA)
    parser.add_argument("--folder", type=Path, default=Path("out/prior-fitted"))
    parser.add_argument("--fresh", action="store_true", help="measure again what is there")
    asked = parser.parse_args()
    for name in asked.datasets if asked.group else ():
        data = datasets.load(name)
        compare(
            {name: data}, learners_of(asked.group, data), cv=FOLDS, measures=MEASURES,
            out=asked.folder / asked.group / name, progress=tell, fresh=asked.fresh,
        )  # fmt: skip
    write(asked.folder)


if __name__ == "__main__":
    main()
