"""Average precision with a growing share of hidden training labels: the table of the guide.

``python -m benchmarks unknown_labels [set or learner ...]`` writes results/unknown-labels.csv,
where rows of other sets and learners are kept. It takes about ten minutes on one core.
"""

from __future__ import annotations

import csv
import sys

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from benchmarks import RESULTS
from plurilabel import (
    BPMLL,
    AdaBoostMH,
    BinaryRelevance,
    DWMLkNN,
    MLGradientBoosting,
    MLkNN,
    MLRandomForest,
    MLWkNN,
    MrkNN,
    RankSVM,
    datasets,
)
from plurilabel.metrics import average_precision, label_scores, micro_f1

RATES = (0.0, 0.1, 0.3, 0.5, 0.7, 0.9)
SEEDS = 3
SETS = ["emotions", "scene", "yeast"]


def learners():
    return {
        "ML-kNN": MLkNN(10),
        "binary relevance": BinaryRelevance(LogisticRegression(C=0.1, max_iter=200)),
        "random forest": MLRandomForest(30, criterion="gini", min_samples_leaf=3, random_state=0),
        "ML-WkNN": MLWkNN(10),
        "AdaBoost.MH": AdaBoostMH(50, max_bins=64),
        "gradient boosting": MLGradientBoosting(100, random_state=0),
        "BP-MLL": BPMLL((20,), max_iter=50, random_state=0),
        "DW-ML-kNN": DWMLkNN(10),
        "Mr.KNN": MrkNN(20),
        "Rank-SVM": RankSVM(C=0.1, tol=1e-4),
    }


def main(asked):
    path = RESULTS / "unknown-labels.csv"
    names = [name for name in asked if name in SETS] or SETS
    chosen = {who: it for who, it in learners().items() if who in asked} or learners()
    rows = [row for row in read(path) if not (row[0] in names and row[1] in chosen)]
    for name in names:
        data = datasets.load(name)
        X = StandardScaler().fit(data.X[data.train]).transform(data.X)
        Y = np.asarray(data.Y.toarray() if hasattr(data.Y, "toarray") else data.Y, dtype=float)
        X, Y, X_test, Y_test = X[data.train], Y[data.train], X[data.test], Y[data.test]
        for who, learner in chosen.items():
            for rate in RATES:
                found = []
                for seed in range(SEEDS if rate else 1):
                    hidden = np.random.default_rng(seed).random(Y.shape) < rate
                    for treated in (np.where(hidden, np.nan, Y), np.where(hidden, 0.0, Y)):
                        scores = label_scores(learner.fit(X, treated), X_test)
                        found.append(average_precision(Y_test, scores))
                        found.append(micro_f1(Y_test, learner.predict(X_test)))
                known, known_f1, zero, zero_f1 = np.reshape(found, (-1, 4)).mean(axis=0)
                figures = [f"{v:.4f}" for v in (known, zero, known_f1, zero_f1)]
                rows.append([name, who, f"{rate:.1f}", *figures])
                print(*rows[-1], flush=True)
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(
            ["data", "learner", "hidden", "ap_known", "ap_zero", "f1_known", "f1_zero"]
        )
        writer.writerows(sorted(rows))


def read(path):
    if not path.is_file():
        return []
    with path.open(newline="") as file:
        return list(csv.reader(file))[1:]


if __name__ == "__main__":
    main(sys.argv[1:])
