"""Raw texts: the automatic choice compared with two scikit-learn pipelines.

``python -m benchmarks text [--rows N] [--ways WAY,...] [set ...]`` writes results/text.csv, where
rows of other sets, sizes and ways are kept. Sets are ``goemotions``, with the first N texts of a
fixed permutation for training, and ``brighter-LANG`` in five languages, each with its published
test part. PLURILABEL_DATA names the folder that holds both. One thread.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import os
import pickle
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold, cross_val_predict
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from benchmarks import RESULTS
from plurilabel import AutoClassifier, GlobalThreshold, SCut
from plurilabel.metrics import macro_f1, micro_f1, subset_accuracy

OUT = RESULTS / "text.csv"
LANGUAGES = ("arq", "deu", "ron", "swe", "ukr")
COLUMNS = (
    "dataset", "rows", "way", "micro F1", "macro F1", "subset accuracy", "processor seconds",
    "megabytes",
)  # fmt: skip
FOLDS = KFold(3, shuffle=True, random_state=0)


def goemotions(rows: int, folder: Path):
    def part(name):
        texts, labels = [], []
        with gzip.open(folder / "goemotions" / f"{name}.tsv.gz", "rt", encoding="utf-8") as lines:
            for line in lines:
                text, numbers, _ = line.rstrip("\n").split("\t")
                texts.append(text)
                labels.append(np.isin(np.arange(28), [int(k) for k in numbers.split(",")]))
        return texts, np.array(labels, dtype=np.int8)

    texts, Y = part("train")
    some = np.random.default_rng(0).permutation(len(texts))[:rows]
    return [texts[i] for i in some], Y[some], *part("test")


def brighter(language: str, rows: int, folder: Path):
    def part(name):
        path = folder / "brighter" / f"track-a-{language}-{name}.csv.gz"
        with gzip.open(path, "rt", encoding="utf-8", newline="") as lines:
            _, *found = csv.reader(lines)
        return [row[1] for row in found], np.array([row[2:] for row in found], dtype=np.int8)

    texts, Y = part("train")
    return texts[:rows], Y[:rows], *part("test")


def tuned(models: dict[str, object], method: str, threshold, measure) -> Callable:
    """The best of these by folds, with a threshold that is learned from the same folds."""

    def run(texts, Y, new):
        best = None
        for model in models.values():
            scores = cross_val_predict(model, texts, Y, cv=FOLDS, method=method)
            cut = clone(threshold).fit(scores, Y)
            value = measure(Y, cut.predict(scores))
            if best is None or value > best[0]:
                best = value, model, cut
        _, model, cut = best
        model.fit(texts, Y)
        return model, cut.predict(getattr(model, method)(new))

    return run


def automatic(**options) -> Callable:
    def run(texts, Y, new):
        model = AutoClassifier(random_state=0, **options).fit(texts, Y)
        return model, model.predict(new)

    return run


SVC = {
    f"C={C}": make_pipeline(TfidfVectorizer(), OneVsRestClassifier(LinearSVC(C=C)))
    for C in (0.1, 0.3, 1.0, 3.0)
}
LOGISTIC = {
    f"C={C}": make_pipeline(
        TfidfVectorizer(sublinear_tf=True, ngram_range=(1, 2), min_df=2),
        OneVsRestClassifier(LogisticRegression(C=C, solver="liblinear")),
    )
    for C in (1.0, 10.0)
}
ONE, EACH = (GlobalThreshold("micro_f1"), micro_f1), (SCut("f1"), macro_f1)
WAYS = {
    "LinearSVC": tuned(SVC, "decision_function", *ONE),
    "LogisticRegression": tuned(LOGISTIC, "predict_proba", *ONE),
    "quick": automatic(portfolio="quick", cv=3),
    "LinearSVC for macro F1": tuned(SVC, "decision_function", *EACH),
    "LogisticRegression for macro F1": tuned(LOGISTIC, "predict_proba", *EACH),
    "quick for macro F1": automatic(measure="macro_f1", portfolio="quick", cv=3),
    "full": automatic(),
    "full for subset accuracy": automatic(measure="subset_accuracy"),
}


def main() -> None:
    parser = argparse.ArgumentParser()
    sets = ["goemotions", *(f"brighter-{language}" for language in LANGUAGES)]
    parser.add_argument("sets", nargs="*", default=sets)
    parser.add_argument("--rows", type=int, default=8000)
    parser.add_argument("--ways", default=",".join(list(WAYS)[:3]))
    given = parser.parse_args()
    folder = Path(os.environ["PLURILABEL_DATA"])
    kept = {}
    if OUT.exists():
        with OUT.open(encoding="utf-8", newline="") as lines:
            kept = {tuple(row[:3]): row for row in list(csv.reader(lines))[1:]}
    for name in given.sets:
        if name == "goemotions":
            texts, Y, new, truth = goemotions(given.rows, folder)
        else:
            texts, Y, new, truth = brighter(name.partition("-")[2], given.rows, folder)
        for way in given.ways.split(","):
            began = time.process_time()
            model, sets = WAYS[way](texts, Y, new)
            seconds, size = time.process_time() - began, len(pickle.dumps(model)) / 1e6
            values = [measure(truth, sets) for measure in (micro_f1, macro_f1, subset_accuracy)]
            row = [name, str(len(texts)), way, *(f"{v:.4f}" for v in values)]
            kept[tuple(row[:3])] = [*row, f"{seconds:.1f}", f"{size:.1f}"]
            print(*kept[tuple(row[:3])], sep=", ", flush=True)
            with OUT.open("w", encoding="utf-8", newline="") as lines:
                csv.writer(lines, lineterminator="\n").writerows([COLUMNS, *kept.values()])


if __name__ == "__main__":
    main()
