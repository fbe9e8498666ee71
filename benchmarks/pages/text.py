"""Raw texts: the automatic choice compared with two scikit-learn pipelines.

``python -m benchmarks text [--rows N] [--draws K] [--dev] [--ways 'WAY;...'] [set ...]`` writes
results/text.csv, where rows of other sets, sizes and ways are kept. Sets are ``goemotions``,
``brighter-LANG`` in five languages, ``packages`` as in ``benchmarks descriptions``, and bags of
words: ``20ng``, ``medical``, ``slashdot`` and ``tmc2007-500``, which are matrices here. Values are
means over K draws of N training rows, on at most 3,000 rows of the test part for several. With
``--dev`` the development rows are learned from, too. PLURILABEL_DATA names the folder of the data.
One thread.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import os
import pickle
import time
from collections.abc import Callable
from functools import partial
from itertools import chain
from pathlib import Path

import numpy as np
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfTransformer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold, cross_val_predict
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from benchmarks import RESULTS
from benchmarks.pages.descriptions import packages
from plurilabel import (
    AutoClassifier,
    GlobalThreshold,
    OneVsAllLinear,
    SCut,
    ThresholdClassifier,
    datasets,
)
from plurilabel.io import word_features
from plurilabel.metrics import macro_f1, micro_f1, subset_accuracy

OUT = RESULTS / "text.csv"
LANGUAGES = ("arq", "deu", "ron", "swe", "ukr")
COLUMNS = (
    "dataset", "rows", "draws", "way", "micro F1", "macro F1", "subset accuracy",
    "processor seconds",
    "megabytes",
)  # fmt: skip
TESTED = 3000  # rows, with several draws
FOLDS = KFold(3, shuffle=True, random_state=0)


def joined(part: Callable, names: list[str]):
    texts, labels = zip(*map(part, names))
    return list(chain(*texts)), np.concatenate(labels)


def goemotions(folder: Path, more: list[str]):
    def part(name):
        texts, labels = [], []
        with gzip.open(folder / "goemotions" / f"{name}.tsv.gz", "rt", encoding="utf-8") as lines:
            for line in lines:
                text, numbers, _ = line.rstrip("\n").split("\t")
                texts.append(text)
                labels.append(np.isin(np.arange(28), [int(k) for k in numbers.split(",")]))
        return texts, np.array(labels, dtype=np.int8)

    return *joined(part, ["train", *more]), *part("test")


def brighter(language: str, folder: Path, more: list[str]):
    def part(name):
        path = folder / "brighter" / f"track-a-{language}-{name}.csv.gz"
        with gzip.open(path, "rt", encoding="utf-8", newline="") as lines:
            _, *found = csv.reader(lines)
        return [row[1] for row in found], np.array([row[2:] for row in found], dtype=np.int8)

    return *joined(part, ["train", *more]), *part("test")


def loaded(name: str, more: list[str]):
    """Rows to learn from and their labels, rows to test and theirs."""
    folder = Path(os.environ["PLURILABEL_DATA"])
    if name == "goemotions":
        return goemotions(folder, more)
    if name.startswith("brighter-"):
        return brighter(name.partition("-")[2], folder, more)
    if name == "packages":
        return packages()[:4]
    X, X_test, Y, Y_test = datasets.load(name).holdout()
    return X.tocsr(), Y.toarray(), X_test.tocsr(), Y_test.toarray()


def some_of(rows, chosen):
    return [rows[i] for i in chosen] if isinstance(rows, list) else rows[chosen]


def tuned(models: dict[str, object], method: str, threshold, measure) -> Callable:
    """The best of these by folds, with a threshold that is learned from the same folds."""

    def run(texts, Y, new):
        best = None
        for words, learner in models.values():
            model = make_pipeline(
                clone(words) if isinstance(texts, list) else TfidfTransformer(), clone(learner)
            )
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


def cut_each(learner, **options) -> Callable:
    """A cut for each label, from three folds, as in the guide's hard case."""

    def run(texts, Y, new):
        words = word_features(ngrams=2, min_count=2, **options)
        model = ThresholdClassifier(make_pipeline(words, learner), "scut", cv=3).fit(texts, Y)
        return model, model.predict(new)

    return run


def grid(words, make: Callable, costs) -> dict[str, object]:
    return {f"C={C}": (words, OneVsRestClassifier(make(C=C))) for C in costs}


PAIRS = TfidfVectorizer(sublinear_tf=True, ngram_range=(1, 2), min_df=2)
PARTS = TfidfVectorizer(sublinear_tf=True, analyzer="char_wb", ngram_range=(2, 5), min_df=2)
LOGISTIC = partial(LogisticRegression, solver="liblinear")
COSTS = (0.1, 0.3, 1.0, 3.0)
ONE, EACH = (GlobalThreshold("micro_f1"), micro_f1), (SCut("f1"), macro_f1)
WAYS = {
    "LinearSVC": tuned(grid(TfidfVectorizer(), LinearSVC, COSTS), "decision_function", *ONE),
    "LogisticRegression": tuned(grid(PAIRS, LOGISTIC, (1.0, 10.0)), "predict_proba", *ONE),
    "quick": automatic(portfolio="quick"),
    "LinearSVC for macro F1": tuned(
        grid(TfidfVectorizer(), LinearSVC, COSTS), "decision_function", *EACH
    ),
    "LogisticRegression for macro F1": tuned(
        grid(PAIRS, LOGISTIC, (1.0, 10.0)), "predict_proba", *EACH
    ),
    "LinearSVC on parts for macro F1": tuned(
        grid(PARTS, LinearSVC, COSTS), "decision_function", *EACH
    ),
    "LogisticRegression on parts for macro F1": tuned(
        grid(PARTS, LOGISTIC, (1.0, 10.0)), "predict_proba", *EACH
    ),
    "quick for macro F1": automatic(measure="macro_f1", portfolio="quick"),
    "cuts, words": cut_each(OneVsAllLinear(C=0.3, prune=0)),
    "cuts, parts": cut_each(OneVsAllLinear(C=0.1, prune=0), subwords=True),
    "cuts, vectors": cut_each(
        OneVsAllLinear(C=0.1, prune=0), subwords=True, encoder="tfidf+static"
    ),
    "full": automatic(),
    "full for macro F1": automatic(measure="macro_f1"),
    "full for subset accuracy": automatic(measure="subset_accuracy"),
}


def main() -> None:
    parser = argparse.ArgumentParser()
    sets = ["goemotions", *(f"brighter-{language}" for language in LANGUAGES)]
    parser.add_argument("sets", nargs="*", default=sets)
    parser.add_argument("--rows", type=int, default=8000)
    parser.add_argument("--draws", type=int, default=1)
    parser.add_argument("--dev", action="store_true")
    parser.add_argument("--ways", default=";".join(list(WAYS)[:3]))
    given = parser.parse_args()
    kept = {}
    if OUT.exists():
        with OUT.open(encoding="utf-8", newline="") as lines:
            kept = {tuple(row[:4]): row for row in list(csv.reader(lines))[1:]}
    for name in given.sets:
        rows, Y, new, truth = loaded(name, ["dev"] * given.dev)
        if given.draws > 1:
            tested = np.random.default_rng(0).permutation(len(truth))[:TESTED]
            new, truth = some_of(new, tested), truth[tested]
        for way in given.ways.split(";"):
            values = []
            for seed in range(given.draws):
                drawn = np.random.default_rng(seed).permutation(len(Y))[: given.rows]
                began = time.process_time()
                model, sets = WAYS[way](some_of(rows, drawn), Y[drawn], new)
                seconds, size = time.process_time() - began, len(pickle.dumps(model)) / 1e6
                measures = micro_f1, macro_f1, subset_accuracy
                values.append([*(one(truth, sets) for one in measures), seconds, size])
            *found, seconds, size = np.mean(values, axis=0)
            row = [name, str(len(drawn)), str(given.draws), way, *(f"{v:.4f}" for v in found)]
            kept[tuple(row[:4])] = [*row, f"{seconds:.1f}", f"{size:.1f}"]
            print(*kept[tuple(row[:4])], sep=", ", flush=True)
            with OUT.open("w", encoding="utf-8", newline="") as lines:
                csv.writer(lines, lineterminator="\n").writerows([COLUMNS, *kept.values()])


if __name__ == "__main__":
    main()
