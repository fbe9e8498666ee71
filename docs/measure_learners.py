"""Every learner with its defaults on four standard hold-outs: the figures of the learners' pages.

Writes docs/learners/measured.json. Needs the datasets (PLURILABEL_DATA or a network):

    python docs/measure_learners.py            # all learners, some minutes
    python docs/measure_learners.py MLkNN CML  # only these; the others stay as they are
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

os.environ |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}  # CPU time of one thread

from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

import plurilabel
from plurilabel import datasets, metrics

OUT = Path(__file__).parent / "learners" / "measured.json"
DATASETS = ("emotions", "scene", "yeast", "medical")


def learners() -> dict[str, Any]:
    """The learners by class name, all with their defaults."""
    base = LogisticRegression(max_iter=2000)
    alone = [
        "MLkNN",
        "MLkNNCV",
        "DWMLkNN",
        "MLWkNN",
        "BRkNN",
        "DMLkNN",
        "IBLRML",
        "RankSVM",
        "CML",
    ]
    seeded = ["MLDecisionTree", "MLRandomForest"]
    around = ["BinaryRelevance", "ClassifierChain", "LabelPowerset", "PrunedSets"]
    around += ["CalibratedLabelRanking", "StackedRelevance"]
    around_seeded = ["EnsembleOfChains", "EnsembleOfPrunedSets", "RAkEL", "OutputCodes", "HOMER"]
    boosting = ["AdaBoostMH", "AdaBoostMR", "ADTBoostMH"]
    found = {name: getattr(plurilabel, name)() for name in alone + boosting}
    found |= {name: getattr(plurilabel, name)(random_state=0) for name in seeded}
    found |= {name: getattr(plurilabel, name)(base) for name in around}
    found |= {name: getattr(plurilabel, name)(base, random_state=0) for name in around_seeded}
    try:
        from plurilabel.neural import BPMLL
    except ImportError:
        return found
    return found | {"BPMLL": BPMLL(random_state=0)}


def measure(learner: Any, name: str) -> dict[str, float]:
    """All measures on the published test part, and CPU seconds of fitting and predicting."""
    X, X_test, Y, Y_test = datasets.load(name).holdout()
    if not sparse.issparse(X):
        scaler = StandardScaler().fit(X)
        X, X_test = scaler.transform(X), scaler.transform(X_test)
    start = time.process_time()
    learner.fit(X, Y)
    fit = time.process_time() - start
    scores, labels = metrics.label_scores(learner, X_test), learner.predict(X_test)
    predict = time.process_time() - start - fit
    values = metrics.evaluate(Y_test, scores, labels)
    found = {key: round(value, 4) for key, value in values.items()}
    return found | {"fit_seconds": round(fit, 2), "predict_seconds": round(predict, 2)}


def main() -> None:
    measured = json.loads(OUT.read_text()) if OUT.exists() else {}
    chosen = sys.argv[1:] or list(learners())
    for learner in chosen:
        measured[learner] = {}
        for name in DATASETS:
            measured[learner][name] = measure(learners()[learner], name)
            print(learner, name, measured[learner][name]["average_precision"], flush=True)
    OUT.write_text(json.dumps(dict(sorted(measured.items())), indent=1) + "\n")


if __name__ == "__main__":
    main()
