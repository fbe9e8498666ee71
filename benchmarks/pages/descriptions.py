"""Label descriptions: learning curves from no labelled texts to 3,000, with and without them.

``python -m benchmarks descriptions [--seeds N] [--rows N,...] [set ...]`` writes
results/descriptions.csv, in which other rows stay. Sets are ``goemotions`` and ``brighter-eng``,
``news`` (20ng, its words in alphabetical order) and ``packages`` (the Debian packages that
``apt-cache dumpavail`` lists, with the 60 most frequent tags; packages of one source are on one
side of the split). PLURILABEL_DATA names the folder of the first three. Descriptions are the names
of the labels. Label sets are cut at one threshold, tuned for micro F1 by five folds. One thread.
"""

from __future__ import annotations

import argparse
import csv
import re
import subprocess
import time
import zlib
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.pipeline import make_pipeline

from benchmarks import RESULTS
from plurilabel import (
    LabelDescriptions,
    MLkNN,
    OneVsAllLinear,
    StaticEncoder,
    ThresholdClassifier,
    datasets,
)
from plurilabel.io import word_features
from plurilabel.metrics import average_precision, macro_f1, micro_f1

OUT = RESULTS / "descriptions.csv"
COLUMNS = (
    "dataset", "rows", "seed", "way", "micro F1", "macro F1", "average precision",
    "processor seconds",
)  # fmt: skip
ROWS = (0, 30, 100, 300, 1000, 3000)
TESTED = 2000  # texts
SHORT = {
    "comp": "computers", "rec": "recreation", "sci": "science", "soc": "society", "misc": "",
    "os": "operating system", "sys": "system", "ms": "Microsoft", "crypt": "encryption",
    "med": "medicine", "pmisc": "", "rmisc": "", "alt": "",
}  # fmt: skip

Texts = tuple[list[str], Any, list[str], Any, list[str]]  # to learn from, to test, descriptions


def described(names: Any) -> list[str]:
    """The names of labels in words."""
    parts = [re.split(r"[._:-]+", name) for name in names]
    return [" ".join(SHORT.get(part, part) for part in some).strip() for some in parts]


def published(name: str) -> Texts:
    data = datasets.load(name)
    X, X_test, Y, Y_test = data.holdout()
    if hasattr(X, "iloc"):
        texts, new = (part.iloc[:, 0].tolist() for part in (X, X_test))
    else:
        texts, new = ([_words(row, data.feature_names) for row in part] for part in (X, X_test))
    return texts, _dense(Y), new, _dense(Y_test), described(data.label_names)


def _dense(Y: Any) -> Any:
    return Y.toarray() if hasattr(Y, "toarray") else np.asarray(Y)


def _words(row: Any, names: Any) -> str:
    return " ".join(names[j] for j, k in zip(row.indices, row.data) for _ in range(int(k)))


def packages(labels: int = 60) -> Texts:
    told = subprocess.run(["apt-cache", "dumpavail"], capture_output=True, text=True, check=True)
    found = []
    for block in told.stdout.split("\n\n"):
        cells = dict(
            line.split(": ", 1) for line in block.replace("\n ", " ").split("\n") if ": " in line
        )
        if "Tag" in cells and "Description" in cells:
            name = cells["Package"]
            tags = {tag for tag in re.split(r",\s*", cells["Tag"]) if "{" not in tag and tag}
            text = f"{name.replace('-', ' ')}: {cells['Description']}"
            found.append((text, tags, cells.get("Source", name).split()[0]))
    counts = Counter(tag for _, tags, _ in found for tag in tags)
    names = sorted(sorted(counts, key=lambda tag: (-counts[tag], tag))[:labels])
    Y = np.array([[tag in tags for tag in names] for _, tags, _ in found], dtype=np.int8)
    test = np.array([zlib.crc32(source.encode()) % 4 == 0 for *_, source in found])
    texts = np.array([text for text, *_ in found], dtype=object)
    rows, new = (np.flatnonzero(part & (Y.sum(axis=1) > 0)) for part in (~test, test))
    return texts[rows].tolist(), Y[rows], texts[new].tolist(), Y[new], described(names)


SETS: dict[str, Callable[[], Texts]] = {
    "goemotions": lambda: published("goemotions"),
    "brighter-eng": lambda: published("brighter-eng"),
    "news": lambda: published("20ng"),
    "packages": packages,
}
LEARNERS: dict[str, Callable[[], Any]] = {
    "linear": lambda: make_pipeline(
        word_features(encoder="tfidf+static"), OneVsAllLinear(loss="logistic", C=4.0)
    ),
    "ML-kNN": lambda: make_pipeline(StaticEncoder(), MLkNN(10, metric="cosine")),
}


def measured(model: Any, new: list[str], truth: Any) -> list[str]:
    scores, sets = model.predict_proba(new), model.predict(new)
    values = micro_f1(truth, sets), macro_f1(truth, sets), average_precision(truth, scores)
    return [f"{value:.4f}" for value in values]


def ways(rows: int, names: list[str]) -> dict[str, Any]:
    if not rows:
        return {"descriptions": LabelDescriptions(descriptions=names)}
    made: dict[str, Any] = {}
    for name, learner in LEARNERS.items():
        made[name] = ThresholdClassifier(learner(), "global")
        made[f"{name}, described"] = ThresholdClassifier(
            LabelDescriptions(learner(), descriptions=names), "global"
        )
    return made


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("sets", nargs="*", default=list(SETS))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--rows", default=",".join(map(str, ROWS)))
    parser.add_argument("--ways", default="")
    given = parser.parse_args()
    kept = {}
    if OUT.exists():
        with OUT.open(encoding="utf-8", newline="") as lines:
            kept = {tuple(row[:4]): row for row in list(csv.reader(lines))[1:]}
    for name in given.sets:
        texts, Y, new, truth, names = SETS[name]()
        some = np.random.default_rng(99).permutation(len(new))[:TESTED]
        new, truth = [new[i] for i in some], truth[some]
        for rows in map(int, given.rows.split(",")):
            for seed in range(given.seeds):
                chosen = np.random.default_rng(seed).permutation(len(texts))[: rows or 1000]
                learned = [texts[i] for i in chosen]
                for way, model in ways(rows, names).items():
                    if given.ways and way not in given.ways.split(";"):
                        continue
                    began = time.process_time()
                    model.fit(learned, Y[chosen] if rows else None)
                    found = measured(model, new, truth)
                    seconds = f"{time.process_time() - began:.1f}"
                    row = [name, str(rows), str(seed), way, *found, seconds]
                    kept[tuple(row[:4])] = row
                    print(*row, sep=", ", flush=True)
                with OUT.open("w", encoding="utf-8", newline="") as lines:
                    csv.writer(lines, lineterminator="\n").writerows([COLUMNS, *kept.values()])


if __name__ == "__main__":
    main()
