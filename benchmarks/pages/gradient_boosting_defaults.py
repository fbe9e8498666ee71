"""The defaults of MLGradientBoosting and alternatives, cross-validated on training parts.

Three stratified folds of the training part of each dataset; the test parts are not used.

    python -m benchmarks gradient_boosting_defaults
    python -m benchmarks gradient_boosting_defaults emotions medical  # only print these

Writes results/gradient-boosting-defaults.csv: average precision and Hamming loss over folds. Needs
the datasets (PLURILABEL_DATA).
"""

from __future__ import annotations

import csv
import sys

import numpy as np

from benchmarks import RESULTS
from plurilabel import MLGradientBoosting, datasets, metrics
from plurilabel._core.blocks import dense
from plurilabel.model_selection import IterativeStratifiedKFold

OUT = RESULTS / "gradient-boosting-defaults.csv"
DATASETS = ("emotions", "scene", "yeast", "medical", "slashdot")


def settings(name: str) -> dict[str, dict[str, float]]:
    """The default, and what it is compared with."""
    rate = {"medical": 0.2, "slashdot": 0.3}.get(name, 0.1)  # as "auto" is there
    return {
        "default": {},
        "depth 4": {"max_depth": 4},
        "depth 6": {"max_depth": 6},
        "depth 12": {"max_depth": 12},
        "half the rate": {"learning_rate": rate / 2},
        "twice the rate": {"learning_rate": 2 * rate},
    }


def figures(name: str, params: dict[str, float]) -> tuple[float, float]:
    """Mean average precision and Hamming loss of the folds."""
    data = datasets.load(name)
    X, Y = data.X[data.train], data.Y[data.train]
    found = []
    for train, held in IterativeStratifiedKFold(3, shuffle=True, random_state=0).split(X, Y):
        learner = MLGradientBoosting(**params, random_state=0).fit(X[train], Y[train])
        truth, scores = dense(Y[held]), learner.predict_proba(X[held])
        precision = metrics.average_precision(truth, scores)
        found.append((precision, metrics.hamming_loss(truth, (scores > 0.5).astype(int))))
    precision, loss = np.mean(found, axis=0)
    return float(precision), float(loss)


def main() -> None:
    rows = []
    for name in sys.argv[1:] or DATASETS:
        for setting, params in settings(name).items():
            row = [name, setting, *(f"{figure:.4f}" for figure in figures(name, params))]
            print(*row, sep="  ", flush=True)
            rows.append(row)
    if not sys.argv[1:]:
        with open(OUT, "w", newline="") as stream:
            writer = csv.writer(stream, lineterminator="\n")
            writer.writerow(["dataset", "setting", "average precision", "Hamming loss"])
            writer.writerows(rows)


if __name__ == "__main__":
    main()
