"""Macro F1 with and without resampling, on four imbalanced datasets.

``python -m benchmarks resampling [DATASET ...]`` prints the table of docs/guides/imbalance.md:
means over three stratified folds. Only training folds are resampled. A label without positives in
a test fold counts as 0. For Yeast and Slashdot, 1,500 rows are drawn. "Cuts" uses a threshold for
each label (SCut), learned from three folds of the training part, instead of resampling.
"""

from __future__ import annotations

import sys
import warnings

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler

from plurilabel import (
    LPROS,
    LPRUS,
    MLROS,
    MLRUS,
    MLSMOTE,
    MLTL,
    REMEDIAL,
    BinaryRelevance,
    MLeNN,
    MLkNN,
    ResampledClassifier,
    ThresholdClassifier,
    datasets,
    metrics,
)
from plurilabel._core.blocks import dense
from plurilabel.model_selection import IterativeStratifiedKFold

DATASETS = ("yeast", "medical", "slashdot", "genbase")
ROWS = 1500
RESAMPLERS = {
    "LP-ROS": LPROS(random_state=0),
    "LP-RUS": LPRUS(random_state=0),
    "ML-ROS": MLROS(random_state=0),
    "ML-RUS": MLRUS(random_state=0),
    "MLSMOTE": MLSMOTE(random_state=0),
    "MLeNN": MLeNN(),
    "MLTL": MLTL(),
    "REMEDIAL": REMEDIAL(),
}


def main(names: tuple[str, ...]) -> None:
    """Print the table."""
    warnings.simplefilter("ignore")
    models = {
        "logistic": BinaryRelevance(LogisticRegression(max_iter=200)),
        "ML-kNN": MLkNN(),
    }
    print("| data | MeanIR | learner | plain |", *(f"{name} |" for name in RESAMPLERS), "cuts |")
    print("| --- | ---: | --- |" + " ---: |" * (len(RESAMPLERS) + 2))
    for name in names:
        data = datasets.load(name)
        X, Y = data.X, dense(data.Y)
        if len(Y) > ROWS:
            rows = np.random.default_rng(0).choice(len(Y), ROWS, replace=False)
            X, Y = X[rows], Y[rows]
        splits = list(IterativeStratifiedKFold(3).split(X, Y))
        for title, model in models.items():
            learners = [model, *(ResampledClassifier(model, r) for r in RESAMPLERS.values())]
            found = []
            for learner in [*learners, ThresholdClassifier(model, "scut", cv=3)]:
                whole = make_pipeline(MaxAbsScaler(), learner)
                found.append(
                    np.mean([
                        metrics.macro_f1(Y[test], whole.fit(X[train], Y[train]).predict(X[test]))
                        for train, test in splits
                    ])
                )  # fmt: skip
            cells = " | ".join(f"{value:.3f}" for value in found)
            mean_ir = datasets.describe(Y).mean_ir
            print(f"| {name} | {mean_ir:.1f} | {title} | {cells} |", flush=True)


if __name__ == "__main__":
    main(tuple(sys.argv[1:]) or DATASETS)
