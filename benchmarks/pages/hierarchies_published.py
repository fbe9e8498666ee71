"""Hierarchies of labels compared with published figures: a table of ``guides/hierarchies.md``.

    python -m benchmarks hierarchies_published                          # all seven datasets
    python -m benchmarks hierarchies_published --validate derisi_FUN    # the choice on one of them

Area under the micro-averaged precision-recall curve, as in C-HMCNN (Giunchiglia and Lukasiewicz,
2020), of networks, of a forest of predictive clustering trees, and of their mean. They are trained
on training and validation part together and measured on the test part. The roots of the Gene
Ontology are not counted, as in the paper. Settings, and which of the three is ``chosen``, come
from the validation parts (30% of the training part where there is none), which ``--validate``
measures with one network. Writes results/hierarchies-published.csv, a line as soon as it is known.
One thread; ten minutes of processor time. Needs torch and PLURILABEL_DATA.
"""

from __future__ import annotations

import argparse
import csv
import os
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
FOREST = {"Diatoms": {"max_features": 0.1}, "ImCLEF07A": {"max_features": 0.2}}
CHOSEN = dict.fromkeys(PUBLISHED, "mean") | {"spo_FUN": "forest", "ImCLEF07A": "networks"}
N_NETWORKS = {"derisi_FUN": 3, "spo_FUN": 3, "cellcycle_FUN": 3, "Diatoms": 2}  # to save time
COLUMNS = (
    "dataset", "part", "rows", "number of networks", "one network", "networks", "forest", "mean",
    "chosen", "published", "processor seconds",
)  # fmt: skip


def scores(name, tree, X, Y, X_new, n_networks):
    """Probabilities of one network, of all of them, of a forest, and of the mean of both."""
    imputer = SimpleImputer().fit(X)
    X, X_new = imputer.transform(X), imputer.transform(X_new)
    networks = [
        HierarchicalNetwork(tree, random_state=seed, **NETWORK.get(name, GENES)).fit(X, Y)
        for seed in range(n_networks)
    ]
    each = [network.predict_proba(X_new) for network in networks]
    trees = FOREST.get(name, {"min_samples_leaf": 3, "max_features": 0.3})
    forest = MLRandomForest(extra_trees=True, random_state=0, **trees)
    forest = HierarchicalClassifier(forest, tree, method="max")  # they differ by rounding
    clustered = forest.fit(X, Y).predict_proba(X_new)
    mean = np.mean(each, axis=0)
    return each[0], mean, clustered, (mean + clustered) / 2


def measure(name, part):
    """One line of the table."""
    begin, data = process_time(), datasets.load(name)
    train = np.setdiff1d(np.arange(len(data.X)), data.test)
    n_networks = N_NETWORKS.get(name, 1)
    test = data.test
    if part == "validation":
        train, test, n_networks = data.train, np.setdiff1d(train, data.train), 1
        if not len(test):
            train, test = train_test_split(train, test_size=0.3, random_state=0)
    counted = [l for l, label in enumerate(data.label_names) if label not in ROOTS]
    X, Y = data.X, dense(data.Y)
    found = scores(name, data.hierarchy, X[train], Y[train], X[test], n_networks)
    truth = Y[test][:, counted]
    areas = [f"{micro_average_precision(truth, P[:, counted]):.4f}" for P in found]
    published = PUBLISHED[name] if part == "test" else ""
    seconds = round(process_time() - begin)
    cells = name, part, len(test), n_networks, *areas, CHOSEN[name], published, seconds
    return dict(zip(COLUMNS, cells))


def main() -> None:
    torch.set_num_threads(1)
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--validate", action="store_true")
    args = parser.parse_args()
    part = "validation" if args.validate else "test"
    lines = list(csv.DictReader(OUT.open())) if OUT.exists() else []
    for name in args.names or PUBLISHED:
        new = measure(name, part)
        lines = [line for line in lines if (line["dataset"], line["part"]) != (name, part)]
        lines = sorted([*lines, new], key=lambda line: [*PUBLISHED].index(line["dataset"]))
        with OUT.open("w", newline="") as stream:
            writer = csv.DictWriter(stream, COLUMNS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(lines)
        print(new, flush=True)


if __name__ == "__main__":
    main()
