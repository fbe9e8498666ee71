"""Forests compared: the table of MLRandomForest's page, which determined its defaults.

Two folds of at most 600 rows, 40 trees, one thread. Run it from the repository root, with
PLURILABEL_DATA set; with names of datasets as arguments, only those are measured.
"""

import sys
import time

import numpy as np
from scipy import sparse
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier

from plurilabel import BinaryRelevance, MLRandomForest, datasets
from plurilabel.metrics import average_precision
from plurilabel.model_selection import IterativeStratifiedKFold

DATA = (
    "flags", "foodtruck", "emotions", "scene", "image", "yeast", "genbase", "medical", "slashdot",
    "reuters-k500",
)  # fmt: skip
ROWS, TREES = 600, 40


def forest(**params):
    return MLRandomForest(TREES, random_state=0, **params)


class Joint:
    """scikit-learn's own forest for many labels, with scores in our form."""

    def __init__(self, model):
        self.model = model

    def fit(self, X, Y):
        self.model.fit(X, Y)
        return self

    def predict_proba(self, X):
        return np.column_stack(
            [
                p[:, -1] if p.shape[1] == 2 else np.full(len(p), classes[0], dtype=float)
                for p, classes in zip(self.model.predict_proba(X), self.model.classes_)
            ]
        )


LEARNERS = {
    "joint, entropy": lambda: forest(criterion="entropy"),
    "joint, gini": lambda: forest(criterion="gini"),
    "joint, entropy, extra": lambda: forest(criterion="entropy", extra_trees=True),
    "joint, gini, extra": lambda: forest(criterion="gini", extra_trees=True),
    "joint, gini, 0.3": lambda: forest(criterion="gini", max_features=0.3),
    "joint, gini, extra, 0.3": lambda: forest(
        criterion="gini", extra_trees=True, max_features=0.3
    ),
    "label, entropy": lambda: forest(splits="label", criterion="entropy"),
    "label, entropy, extra": lambda: forest(splits="label", criterion="entropy", extra_trees=True),
    "RandomForest": lambda: Joint(RandomForestClassifier(TREES, random_state=0)),
    "ExtraTrees": lambda: Joint(ExtraTreesClassifier(TREES, random_state=0)),
    "RandomForest per label": lambda: BinaryRelevance(
        RandomForestClassifier(TREES, random_state=0)
    ),
}


def main():
    names = sys.argv[1:] or DATA
    found, seconds = np.zeros((len(LEARNERS), len(names))), np.zeros(len(LEARNERS))
    for column, name in enumerate(names):
        data = datasets.load(name)
        rows = np.random.default_rng(0).permutation(data.X.shape[0])[:ROWS]
        X, Y = data.X[rows], data.Y[rows]
        Y = Y.toarray() if sparse.issparse(Y) else np.asarray(Y)
        folds = IterativeStratifiedKFold(2, shuffle=True, random_state=0)
        for train, test in folds.split(X, Y):
            for row, make in enumerate(LEARNERS.values()):
                began = time.process_time()
                scores = make().fit(X[train], Y[train]).predict_proba(X[test])
                seconds[row] += time.process_time() - began
                found[row, column] += average_precision(Y[test], scores) / 2
        print(name, found[:, column].round(3), file=sys.stderr)
    rank = (-found).argsort(axis=0).argsort(axis=0).mean(axis=1) + 1
    times = seconds / seconds[list(LEARNERS).index("ExtraTrees")]
    print("| |", *(f"{name} |" for name in [*names, "mean", "mean rank", "time"]))
    print("| --- " * (len(names) + 4) + "|")
    for row, name in enumerate(LEARNERS):
        values = [f"{v:.3f}".lstrip("0") for v in [*found[row], found[row].mean()]]
        print(f"| {name} |", *(f"{v} |" for v in [*values, f"{rank[row]:.1f}"]), end="")
        print(f" {times[row]:.1f} |")


if __name__ == "__main__":
    main()
