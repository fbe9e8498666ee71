"""Bag learners on the image bags and on miml-text: the tables of the guide to bags.

Writes docs/guides/bags-*.csv. Needs the datasets (PLURILABEL_DATA) and an hour on one core:

    python -m benchmarks bags            # everything
    python -m benchmarks bags MIMLkNN    # only protocols and learners with this name
"""

from __future__ import annotations

import csv
import sys

import numpy as np
from sklearn.model_selection import ShuffleSplit

from benchmarks import RESULTS
from plurilabel.evaluation import compare

MEASURES = {
    "hamming_loss": ("Hamming loss", 3),
    "one_error": ("one-error", 3),
    "coverage": ("coverage", 2),
    "ranking_loss": ("ranking loss", 3),
    "average_precision": ("average precision", 3),
}
"""By name: the title of the column, and its digits."""

IMAGES = "OnInstances(MinMaxScaler()) | "
TEXT = "OnInstances(TfidfTransformer()) | "
LEARNERS = {
    "MIMLkNN": "MIMLkNN()",
    "MIMLSVM": "MIMLSVM()",
    "MIMLSVM, average": "MIMLSVM(distance='average')",
    "MIMLNN": "MIMLNN()",
    "MIMLNN, average": "MIMLNN(distance='average')",
    "MIMLBoost": "MIMLBoost()",
    "means, ML-kNN": "BagsToRows('mean') | MLkNN()",
    "means and extremes, forest": "BagsToRows() | MLRandomForest()",
    "medoids, SVM": "BagsToRows('medoids') | BinaryRelevance(SVC())",
    "embedding, SVM": "BagsToRows('embedding') | BinaryRelevance(SVC())",
}
PROTOCOLS = {
    # as the recalled figures: random hold-outs
    "image-holdouts": ("image-bags", IMAGES, ShuffleSplit(10, test_size=1 / 3, random_state=0)),
    "image-folds": ("image-bags", IMAGES, 10),
    "text-folds": ("miml-text", TEXT, 10),
}
COLUMNS = ["learner", *(title for title, _ in MEASURES.values()), "±", "fit, s", "score, s"]


def measure(protocol: str, learner: str) -> dict[str, str]:
    """One row of the table of a protocol: means, and the deviation of average precision."""
    dataset, before, cv = PROTOCOLS[protocol]
    text = before + LEARNERS[learner]
    found = compare(dataset, {learner: text}, cv=cv, measures=[*MEASURES], n_jobs=1)
    row = {"learner": learner}
    for name, (title, digits) in MEASURES.items():
        values = [cell["scores"][name] for cell in found.cells]
        row[title] = f"{np.mean(values):.{digits}f}"
    row["±"] = f"{np.std(values):.3f}"
    for title, name in (("fit, s", "fit_seconds"), ("score, s", "predict_seconds")):
        row[title] = f"{np.mean([cell[name] for cell in found.cells]):.1f}"
    return row


def main() -> None:
    """Measure and write; what is not asked for stays."""
    wanted = sys.argv[1:]
    for protocol in PROTOCOLS:
        path = RESULTS / f"bags-{protocol}.csv"
        rows = {}
        if path.exists():
            with open(path, newline="") as stream:
                rows = {row["learner"]: row for row in csv.DictReader(stream)}
        for learner in LEARNERS:
            if wanted and not any(word in f"{protocol}: {learner}" for word in wanted):
                continue
            rows[learner] = measure(protocol, learner)
            print(protocol, rows[learner], flush=True)
            with open(path, "w", newline="") as stream:
                writer = csv.DictWriter(stream, COLUMNS, lineterminator="\n")
                writer.writeheader()
                writer.writerows(rows[name] for name in LEARNERS if name in rows)


if __name__ == "__main__":
    main()
