"""What a hierarchy adds to a classifier: the table of ``guides/hierarchies.md``.

Reuters (RCV1 topics, 103 labels) and 20 Newsgroups with the first words of the groups as further
labels, published splits, logistic regression per label. In all rows of the table, label sets are
completed upwards. Needs PLURILABEL_DATA; takes about two minutes.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from plurilabel import BinaryRelevance, HierarchicalClassifier, datasets, metrics
from plurilabel.datasets import Hierarchy


def load(name: str) -> tuple[object, pd.DataFrame, np.ndarray, np.ndarray]:
    """X, labels with the names of all that is above them, rows for training and for tests."""
    data = datasets.load(name)
    names = []
    for label in data.label_names:
        parts = label.split(".")
        names.append(".".join(parts[:-1] if parts[-1:] == parts[-2:-1] else parts))
    Y = data.Y.toarray() if sparse.issparse(data.Y) else np.asarray(data.Y)
    frame = pd.DataFrame(Y, columns=names)
    for name in names:
        while "." in name:
            name = name.rpartition(".")[0]
            if name not in frame:
                frame[name] = 0
    tree = Hierarchy(list(frame), sep=".")
    frame = pd.DataFrame(tree.close(frame), columns=list(frame))
    return data.X, frame, data.train, data.test


def log_loss(Y: np.ndarray, P: np.ndarray) -> float:
    """Mean over all pairs of instance and label."""
    P = np.clip(P, 1e-6, 1 - 1e-6)
    return float(-np.where(Y == 1, np.log(P), np.log(1 - P)).mean())


def main() -> None:
    print("| dataset | answers | hierarchical F | hierarchical precision | hierarchical recall |"
          " subset accuracy | log loss | sets that contradict |")  # fmt: skip
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for name in ("reuters-k500", "20ng"):
        X, Y, train, test = load(name)
        tree = Hierarchy(list(Y), sep=".")
        base = BinaryRelevance(LogisticRegression(C=1, max_iter=2000))
        learner = HierarchicalClassifier(base, sep=".").fit(X[train], Y.iloc[train])
        raw = learner.estimator_.predict_proba(X[test])
        truth = Y.to_numpy()[test]
        for method in ("as they are", "isotonic", "max", "min"):
            P = raw if method == "as they are" else tree.consistent(raw, method)
            Z = (P > 0.5).astype(int)
            wrong = float((tree.close(Z) != Z).any(axis=1).mean())
            cells = [
                metrics.hierarchical_f_beta(truth, Z, tree),
                metrics.hierarchical_precision(truth, Z, tree),
                metrics.hierarchical_recall(truth, Z, tree),
                metrics.subset_accuracy(truth, Z),
            ]
            shown = " | ".join(f"{cell:.3f}" for cell in cells)
            print(f"| {name} | {method} | {shown} | {log_loss(truth, P):.4f} | {wrong:.1%} |")


if __name__ == "__main__":
    main()
