"""Average precision with a growing share of the training labels hidden: the table of the guide.

``python docs/measure_missing.py [set ...]`` writes docs/guides/missing-labels.csv. It takes about
three minutes on one core.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from plurilabel import BinaryRelevance, MLkNN, MLRandomForest, datasets
from plurilabel.metrics import average_precision, micro_f1

HERE = Path(__file__).parent
RATES = (0.0, 0.1, 0.3, 0.5, 0.7, 0.9)
SEEDS = 3


def learners():
    return {
        "ML-kNN": MLkNN(10),
        "binary relevance": BinaryRelevance(LogisticRegression(C=0.1, max_iter=200)),
        "random forest": MLRandomForest(30, criterion="gini", min_samples_leaf=3, random_state=0),
    }


def main(names):
    path = HERE / "guides" / "missing-labels.csv"
    rows = [row for row in read(path) if row[0] not in names]
    for name in names:
        data = datasets.load(name)
        X = StandardScaler().fit(data.X[data.train]).transform(data.X)
        Y = np.asarray(data.Y.toarray() if hasattr(data.Y, "toarray") else data.Y, dtype=float)
        X, Y, X_test, Y_test = X[data.train], Y[data.train], X[data.test], Y[data.test]
        for who, learner in learners().items():
            for rate in RATES:
                found = []
                for seed in range(SEEDS if rate else 1):
                    hidden = np.random.default_rng(seed).random(Y.shape) < rate
                    for treated in (np.where(hidden, np.nan, Y), np.where(hidden, 0.0, Y)):
                        scores = learner.fit(X, treated).predict_proba(X_test)
                        found.append(average_precision(Y_test, scores))
                        found.append(micro_f1(Y_test, scores > 0.5))
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
    main(sys.argv[1:] or ["emotions", "scene", "yeast"])
