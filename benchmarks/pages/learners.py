"""Every learner with its defaults on four standard hold-outs: the figures of the learners' pages.

Writes benchmarks/results/learners.csv. Needs the datasets (PLURILABEL_DATA or a network):

    python -m benchmarks learners            # all learners, some minutes
    python -m benchmarks learners MLkNN CML  # only these; the others are kept
"""

from __future__ import annotations

import csv
import sys

from scipy import sparse
from sklearn.utils import get_tags

from benchmarks import RESULTS
from plurilabel import datasets
from plurilabel._core.roster import learners
from plurilabel.evaluation import Results, compare
from plurilabel.learners import make_learner

OUT = RESULTS / "learners.csv"
DATASETS = ("emotions", "scene", "yeast", "medical")
MEASURES = (
    "hamming_loss", "subset_accuracy", "f1", "macro_f1", "one_error", "coverage", "ranking_loss",
    "average_precision",
)  # fmt: skip
BASE = "LogisticRegression(max_iter=2000)"
"""What problem transformations are measured around."""

SECONDS = ("fit_seconds", "predict_seconds")


def measure(names: list[str], dataset: str, *, n_jobs: int | None = 1) -> Results:
    """Learners on the published split; dense features are standardised on its training part."""
    data = datasets.load(dataset)
    before = "" if sparse.issparse(data.X) else "StandardScaler() | "
    around = {name: learners()[name].family == "transformation" for name in names}
    texts = {name: before + (f"{name}({BASE})" if around[name] else name) for name in names}
    return compare({dataset: data}, texts, measures=MEASURES, n_jobs=n_jobs, progress=tell)


def tell(_done: int, _total: int, cell: dict, _left: float | None) -> None:
    print(cell["dataset"], cell["learner"], cell["status"], cell["error"] or "", flush=True)


def main() -> None:
    known = {}
    if OUT.exists():
        with open(OUT, newline="") as stream:
            known = {(row["learner"], row["dataset"]): row for row in csv.DictReader(stream)}
    # learners of counts have tables of their own: these features are standardised
    names = sys.argv[1:] or [
        name
        for name, entry in learners().items()
        if entry.family != "wrappers"  # around others
        and not get_tags(make_learner(next(iter(entry.checked)))).input_tags.positive_only
    ]
    for dataset in DATASETS:
        results = measure(names, dataset)
        for j, learner in enumerate(results.learners):
            figures = {m: f"{results.means(m)[0, j]:.4f}" for m in MEASURES}
            times = {m: f"{results.means(m)[0, j]:.2f}" for m in SECONDS}
            row = {"learner": learner, "dataset": dataset, **figures, **times}
            known[learner, dataset] = row
    with open(OUT, "w", newline="") as stream:
        table = csv.DictWriter(stream, ["learner", "dataset", *MEASURES, *SECONDS])
        table.writeheader()
        for learner in learners():
            table.writerows(known[learner, d] for d in DATASETS if (learner, d) in known)


if __name__ == "__main__":
    main()
