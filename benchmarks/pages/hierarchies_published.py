"""Hierarchies of labels compared with published figures: a table of ``guides/hierarchies.md``.

    python -m benchmarks hierarchies_published                # all seven datasets
    python -m benchmarks hierarchies_published derisi_FUN     # one of them

Area under the micro-averaged precision-recall curve, as in C-HMCNN (Giunchiglia and Lukasiewicz,
2020). Networks, a forest of predictive clustering trees and their mean are trained on the training
part and measured on the validation part (30% of the training part where there is none). What is
best there is trained on both and measured once on the test part. The roots of the Gene Ontology
are not counted, as in the paper. Settings were chosen on the validation parts. Writes
results/hierarchies-published.csv, a line as soon as it is known. One thread; about half an hour of
processor time. Needs torch and PLURILABEL_DATA.
"""

from __future__ import annotations

import csv
import os
import sys
from time import process_time

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import torch
from sklearn.impute import SimpleImputer
from sklearn.model_selection import train_test_split

from benchmarks import RESULTS
from plurilabel import HierarchicalClassifier, HierarchicalNetwork, MLRandomForest, datasets
from plurilabel._core.blocks import dense
from plurilabel.metrics import micro_average_precision

OUT = RESULTS / "hierarchies-published.csv"
PUBLISHED = {
    "derisi_FUN": 0.195, "spo_FUN": 0.215, "cellcycle_FUN": 0.255, "Diatoms": 0.758,
    "ImCLEF07A": 0.956, "eisen_GO": 0.455, "cellcycle_GO": 0.413,
}  # fmt: skip
ROOTS = ("GO0003674", "GO0005575", "GO0008150")
GENES = {"batch_size": 128, "learning_rate_init": 0.002, "max_iter": 60}
NETWORK = {
    "Diatoms": {
        "hidden_layer_sizes": (1000, 1000), "dropout": 0.5, "batch_size": 64,
        "learning_rate_init": 0.0005, "max_iter": 140,
    },
    "ImCLEF07A": {"dropout": 0.5, "batch_size": 128, "max_iter": 60},
}  # fmt: skip
FOREST = {
    "Diatoms": {"max_features": 0.1}, "ImCLEF07A": {"max_features": 0.2},
}  # fmt: skip
COLUMNS = (
    "dataset", "part", "rows", "one network", "networks", "forest", "mean", "chosen", "published",
    "processor seconds",
)  # fmt: skip


def scores(name, tree, X, Y, X_new, n_networks):
    """Probabilities of one network, of the mean of several, of a forest and of the mean of both."""
    imputer = SimpleImputer().fit(X)
    X, X_new = imputer.transform(X), imputer.transform(X_new)
    networks = [
        HierarchicalNetwork(tree, random_state=seed, **NETWORK.get(name, GENES)).fit(X, Y)
        for seed in range(n_networks)
    ]
    each = [network.predict_proba(X_new) for network in networks]
    trees = {"min_samples_leaf": 3, "max_features": 0.3} if name not in FOREST else FOREST[name]
    forest = MLRandomForest(extra_trees=True, random_state=0, **trees)
    clustered = HierarchicalClassifier(forest, tree).fit(X, Y).predict_proba(X_new)
    both = (np.mean(each, axis=0) + clustered) / 2
    return {
        "one network": each[0], "networks": np.mean(each, axis=0), "forest": clustered,
        "mean": both,
    }  # fmt: skip


def measure(name, data, part, train, test, chosen=""):
    """One line of the table."""
    begin = process_time()
    counted = [l for l, label in enumerate(data.label_names) if label not in ROOTS]
    X, Y = data.X, dense(data.Y)
    n_networks = 1 if part == "validation" else 3
    found = scores(name, data.hierarchy, X[train], Y[train], X[test], n_networks)
    truth = Y[test][:, counted]
    line = {key: micro_average_precision(truth, P[:, counted]) for key, P in found.items()}
    best = chosen or max(("networks", "forest", "mean"), key=line.get)
    shown = {key: f"{value:.4f}" for key, value in line.items()}
    seconds = round(process_time() - begin)
    return dict(zip(COLUMNS, (
        name, part, len(test), *shown.values(), best,
        PUBLISHED[name] if part == "test" else "", seconds,
    )))  # fmt: skip


def main() -> None:
    torch.set_num_threads(1)
    names = sys.argv[1:] or list(PUBLISHED)
    lines = list(csv.DictReader(OUT.open())) if OUT.exists() else []
    for name in names:
        lines = [line for line in lines if line["dataset"] != name]
        data = datasets.load(name)
        other = np.setdiff1d(np.arange(len(data.X)), np.concatenate([data.train, data.test]))
        train, valid = data.train, other
        if not len(other):
            train, valid = train_test_split(data.train, test_size=0.3, random_state=0)
        lines.append(measure(name, data, "validation", train, valid))
        both = np.concatenate([train, valid])
        lines.append(measure(name, data, "test", both, data.test, lines[-1]["chosen"]))
        with OUT.open("w", newline="") as stream:
            writer = csv.DictWriter(stream, COLUMNS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(lines)
        print(*lines[-2:], sep="\n", flush=True)


if __name__ == "__main__":
    main()
