"""The same bags with mimllearning, the other Python library for them, in one run.

mimllearning is installed in its own environment, with numpy, scikit-learn, tabulate and setuptools
below 81:

    python -m benchmarks bags_peer /path/to/environment/bin/python

Writes results/bags-peer.csv: processor seconds for reading miml-text, training on two thirds of
the bags and scoring the others, and average precision. Needs the datasets (PLURILABEL_DATA).
"""

from __future__ import annotations

import csv
import gzip
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

from benchmarks import RESULTS
from plurilabel import MIMLNN, BagsToRows, MIMLBoost, MIMLkNN, OnInstances, datasets, io, metrics
from plurilabel.bags import Bags

OUT = RESULTS / "bags-peer.csv"
COLUMNS = ["data", "task", "library", "seconds", "average precision"]

PEER = """
import sys, time, json, warnings
warnings.simplefilter("ignore")
import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier
from miml.data import Bag, Instance, MIMLDataset
from miml.data.dataset_utils import load_dataset
from miml.classifier.mimlTOml.miml_to_ml_classifier import MIMLtoMLClassifier
from miml.classifier.mimlTOmi.miml_to_mi_br_classifier import MIMLtoMIBRClassifier
from miml.classifier.mi.mi_wrapper_classifier import MIWrapperClassifier
from miml.transformation.mimlTOml.arithmetic import ArithmeticTransformation
from miml.transformation.mimlTOml.minmax import MinMaxTransformation
folder = sys.argv[1]
start = time.process_time()
load_dataset(folder + "/text.arff")
print(json.dumps(["text", "read the ARFF file", time.process_time() - start, None]), flush=True)
for data in ("images", "text"):
    given = np.load(f"{folder}/{data}.npz")
    def part(rows):
        made = MIMLDataset()
        made.set_name(data)
        made.set_features_name([f"f{j}" for j in range(given["X"].shape[1])])
        made.set_labels_name([f"l{j}" for j in range(given["Y"].shape[1])])
        for i in rows:
            bag = Bag(str(i))
            for x in given["X"][given["offsets"][i]:given["offsets"][i + 1]]:
                bag.add_instance(Instance(x.tolist() + given["Y"][i].tolist()))
            made.add_bag(bag)
        return made
    train, test = part(given["train"]), part(given["test"])
    forest = lambda: RandomForestClassifier(100, random_state=0)
    for task, learner in {
        "means, forest": MIMLtoMLClassifier(forest(), ArithmeticTransformation()),
        "extremes, forest": MIMLtoMLClassifier(forest(), MinMaxTransformation()),
        "its MIWrapper, tree": MIMLtoMIBRClassifier(MIWrapperClassifier(DecisionTreeClassifier())),
        "its MIWrapper, forest": MIMLtoMIBRClassifier(MIWrapperClassifier(forest())),
    }.items():
        start = time.process_time()
        try:
            learner.fit(train)
            scores = learner.predict_proba(test)
        except Exception as error:
            print(json.dumps([data, task, None, repr(error)]), flush=True)
            continue
        seconds = time.process_time() - start
        file = f"{folder}/{data}-{len(task)}.npy"
        np.save(file, scores)
        print(json.dumps([data, task, seconds, file]), flush=True)
"""


def main() -> None:
    """Both libraries, one after the other, on one thread."""
    import json

    python = sys.argv[1]
    rows = []

    def add(data: str, task: str, library: str, seconds: float | None, ap: float | None) -> None:
        row = [data, task, library]
        row += [
            "fails" if seconds is None else f"{seconds:.2f}",
            "" if ap is None else f"{ap:.3f}",
        ]
        rows.append(dict(zip(COLUMNS, row)))
        print(rows[-1], flush=True)

    with tempfile.TemporaryDirectory() as folder:
        source = Path(os.environ["PLURILABEL_DATA"], "miml-text", "miml-text.arff.gz")
        file = Path(folder, "text.arff")
        with gzip.open(source) as packed, open(file, "wb") as plain:
            shutil.copyfileobj(packed, plain)
        start = time.process_time()
        io.read_arff(file, -7)
        add("text", "read the ARFF file", "plurilabel", time.process_time() - start, None)
        truth = {}
        for name, dataset in (("images", "image-bags"), ("text", "miml-text")):
            data = datasets.load(dataset)
            X, Y = data.X if isinstance(data.X, Bags) else Bags(data.X), data.Y
            train, test = train_test_split(np.arange(len(X)), test_size=1 / 3, random_state=0)
            truth[name] = Y[test]
            parts = {"X": X.instances, "offsets": X.offsets, "Y": Y, "train": train, "test": test}
            np.savez(Path(folder, f"{name}.npz"), **parts)
            scale = OnInstances(MinMaxScaler())
            for task, learner in {
                "means, forest": _forest("mean"),
                "extremes, forest": _forest("extremes"),
                "MIMLkNN": make_pipeline(scale, MIMLkNN()),
                "MIMLNN, average": make_pipeline(
                    scale, MIMLNN(distance="average", random_state=0)
                ),
                "MIMLBoost": MIMLBoost(random_state=0),
            }.items():
                start = time.process_time()
                learner.fit(X[train], Y[train])
                if hasattr(learner, "predict_proba"):
                    scores = np.column_stack([p[:, 1] for p in learner.predict_proba(X[test])])
                else:
                    scores = learner.decision_function(X[test])
                seconds = time.process_time() - start
                add(name, task, "plurilabel", seconds, metrics.average_precision(Y[test], scores))
        told = subprocess.run(
            [python, "-c", PEER, folder], check=True, stdout=subprocess.PIPE, text=True
        )
        for line in told.stdout.splitlines():
            name, task, seconds, found = json.loads(line)
            ap = None
            if seconds is not None and found:
                ap = metrics.average_precision(truth[name], np.load(found))
            add(name, task, "mimllearning", seconds, ap)
    with open(OUT, "w", newline="") as stream:
        writer = csv.DictWriter(stream, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(sorted(rows, key=lambda row: (row["data"], row["task"])))


def _forest(kind: str) -> object:
    return make_pipeline(BagsToRows(kind), RandomForestClassifier(100, random_state=0))


if __name__ == "__main__":
    main()
