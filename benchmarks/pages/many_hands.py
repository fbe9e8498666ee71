"""Labels from several annotators: fusion, soft labels and audited measures.

``python -m benchmarks many_hands [PART ...]`` writes benchmarks/results/many-hands-PART.csv:

simulation  20 settings of sources with reliabilities from .55 to .95: share of correct cells
left_out    BRIGHTER, each annotator left out in turn: log loss of the votes left out
soft        BRIGHTER, macro F1 on the test part of models trained on majority and on soft labels;
            kind of labels, regularization and cut are chosen by folds of train and dev
audit       1,000 runs: how often a 95% interval from 200 audited rows holds, and its width

Needs the datasets (PLURILABEL_DATA). Priors and limits of the fusion were chosen on other seeds of
the simulation.
"""

from __future__ import annotations

import csv
import os
import re
import sys
import time
import unicodedata
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.special import expit
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression

from plurilabel import BinaryRelevance, GlobalThreshold, SCut
from plurilabel.metrics import evaluate, macro_f1, prediction_powered
from plurilabel.model_selection import IterativeStratifiedKFold
from plurilabel.votes import Votes, fuse, read_votes

RESULTS = Path(__file__).parents[1] / "results"
LANGUAGES = ("arq", "ron", "swe", "ukr")
ENGLISH = {
    "bucurie": "joy", "dezgust": "disgust", "frica": "fear", "furie": "anger",
    "surpriza": "surprise", "tristete": "sadness", "sad": "sadness",
}  # fmt: skip
SETTINGS = [  # rows, labels, sources, copies of the first, share of abstentions, of confusions
    (n, q, s, copies, abstain, confuse)
    for n, q in ((200, 6), (1000, 10))
    for s, few, more in ((5, 1, 1), (9, 2, 3))
    for copies, abstain, confuse in ((0, 0, 0), (0, 0.3, 0), (few, 0.3, 0), (few, 0, 0.3),
                                     (more, 0.4, 0.3))
]  # fmt: skip


def simulate(seed, n, q, s, copies, abstain, confuse, k=6):
    """Label sets of k kinds of rows, and what s sources make of them."""
    rng = np.random.default_rng(seed)
    theta = np.where(rng.random((k, q)) < rng.uniform(0.15, 0.45), 0.85, 0.08)
    Y = rng.random((n, q)) < theta[rng.choice(k, n, p=rng.dirichlet(np.full(k, 3.0)))]
    V = np.empty((s, n, q))
    for i, reliability in enumerate(rng.uniform(0.55, 0.95, s)):
        rates = np.clip(reliability + rng.normal(0, 0.05, (2, q)), 0.5, 0.98)
        seen, swapped, (a, b) = Y.copy(), rng.random(n) < confuse, rng.permutation(q)[:2]
        seen[swapped, b] |= seen[swapped, a]  # takes label a for label b
        seen[swapped, a] = False
        V[i] = np.where(rng.random((n, q)) < np.where(seen, *rates), seen, ~seen)
    for i in range(s - copies, s):
        V[i] = np.where(rng.random((n, 1)) < 0.85, V[0], V[i])
    V[np.broadcast_to(rng.random((s, n, 1)) < abstain, V.shape)] = np.nan
    return Y, Votes.from_matrices({f"s{i}": M for i, M in enumerate(V)})


def simulation():
    for seed, setting in enumerate(SETTINGS, 2000):
        Y, votes = simulate(seed, *setting)
        row = dict(zip(("rows", "labels", "sources", "copies", "abstain", "confuse"), setting))
        for method in ("majority", "weighted", "dawid-skene", "joint"):
            start = time.process_time()
            row[method] = round(float((fuse(votes, method).labels() == Y).mean()), 4)
        yield row | {"joint_s": round(time.process_time() - start, 2)}


def folder():
    return Path(os.environ["PLURILABEL_DATA"], "brighter")


def key(text):
    """Texts without accents, spaces and signs: the files write them differently."""
    plain = unicodedata.normalize("NFKD", str(text))
    return re.sub(r"\W+", "", "".join(c for c in plain if not unicodedata.combining(c))).casefold()


def brighter(language):
    """Votes by text."""
    frame = pd.read_csv(folder() / f"{language}-individuals.csv.gz")
    frame["emotion"] = [ENGLISH.get(name.lower(), name.lower()) for name in frame["emotion"]]
    frame["text"] = frame["text"].map(key)
    return read_votes(frame, row="text", label="emotion", sources="[Aa]nnotator*", cut=0)


def left_out():
    for language in LANGUAGES:
        votes, losses, counts = brighter(language), [], []
        start = time.process_time()
        for source in votes.source_names:
            rest, said = votes.without(source), votes.matrix(source)
            yes, n = rest.counts()
            there = ~np.isnan(said) & (n > 0)
            if not there.any():
                continue
            rate = (yes.sum(axis=0) + 1) / (n.sum(axis=0) + 2)
            alone, joint = fuse(rest, "dawid-skene"), fuse(rest)
            predictions = {
                "shares": rest.shares(),
                "smoothed_shares": (yes + rate) / (n + 1),
                "dawid_skene": alone.vote_proba(),
                "joint": joint.vote_proba(),
                "joint_label": joint.probabilities,
            }
            losses.append({
                name: log_loss(said[there], p[there]) for name, p in predictions.items()
            })  # fmt: skip
            counts.append(there.sum())
        means = {
            name: np.average([one[name] for one in losses], weights=counts) for name in losses[0]
        }
        seconds = {"seconds": round(time.process_time() - start, 1)}
        yield {"language": language} | {k: round(float(v), 4) for k, v in means.items()} | seconds


def log_loss(y, p):
    p = np.clip(p, 0.01, 0.99)
    return float(-(y * np.log(p) + (1 - y) * np.log(1 - p)).mean())


def soft():
    """Majority labels against soft ones; every setting is chosen by folds of train and dev."""
    for language in LANGUAGES:
        votes = brighter(language)
        place = {text: i for i, text in enumerate(votes.row_names)}
        train, dev, test = (
            pd.read_csv(folder() / f"track-a-{language}-{part}.csv.gz")
            for part in ("train", "dev", "test")
        )
        train = train[train.text.map(key).isin(place) & ~train.text.map(key).duplicated()]
        votes = votes.take([place[key(text)] for text in train.text])
        names = list(votes.label_names)
        words = TfidfVectorizer(
            analyzer="char_wb", ngram_range=(2, 5), min_df=2, sublinear_tf=True
        )
        X = words.fit_transform(train.text), words.transform(dev.text), words.transform(test.text)
        truth = [part[names].to_numpy() for part in (train, dev, test)]
        start = time.process_time()
        majority, shares = fuse(votes, "majority").labels(), np.nan_to_num(votes.shares())
        kinds = {
            "majority": {"majority": majority},
            "soft": {
                "shares": shares.round(2),
                "sharper": ((shares + majority) / 2).round(2),
                "joint": fuse(votes).probabilities.round(2),
            },
        }
        row = {"language": language, "rows": len(train)}
        for kind, labels in kinds.items():
            found = [
                (*by_folds(P, np.vstack(truth[:2]), cut), f"{name} C={C} {type(cut).__name__}", Q)
                for name, Y in labels.items()
                for C in (1, 3, 10, 30)
                for P, Q in [scores_of(X, Y, truth[0], C)]
                for cut in (GlobalThreshold("macro_f1"), SCut("f1"))
            ]
            best, cut, setting, Q = max(found, key=lambda one: one[0])
            row |= {f"{kind}_folds": round(best, 3), f"{kind}_setting": setting}
            row[f"{kind}_test"] = round(macro_f1(truth[2], cut.predict(Q)), 3)
        yield row | {"seconds": round(time.process_time() - start, 1)}


def scores_of(X, Y, truth, C):
    """Out-of-fold scores of the training part, then those of dev; and those of the test part."""

    def fitted(rows):
        return BinaryRelevance(LogisticRegression(C=C, max_iter=300)).fit(X[0][rows], Y[rows])

    P = np.zeros(Y.shape)
    for rest, fold in IterativeStratifiedKFold(5, shuffle=True, random_state=1).split(P, truth):
        P[fold] = fitted(rest).predict_proba(X[0][fold])
    model = fitted(np.arange(len(Y)))
    return np.vstack([P, model.predict_proba(X[1])]), model.predict_proba(X[2])


def by_folds(P, Y, cut):
    """Macro F1 of a cut that is learned from the other folds, and the cut of all rows."""
    Z = np.zeros_like(Y)
    for rest, fold in IterativeStratifiedKFold(5, shuffle=True, random_state=0).split(P, Y):
        Z[fold] = clone(cut).fit(P[rest], Y[rest]).predict(P[fold])
    return macro_f1(Y, Z), clone(cut).fit(P, Y)


def audit(runs=1000, n=200, others=2000):
    rng = np.random.default_rng(0)
    W = np.array([[1, 0.5, -0.5, 0, 0.8], [0, 1, 0.5, -1, 0.4]])

    def draw(m):
        signal = rng.normal(size=(m, 2)) @ W
        Y = (rng.random(signal.shape) < expit(1.5 * signal - 0.6)).astype(int)
        machine = np.where(rng.random(Y.shape) < 0.1, 1 - Y, Y)
        S = expit(1.2 * signal - 0.5 + rng.normal(0, 0.7, signal.shape))
        return Y, machine, S, (S > 0.5).astype(int)

    Y, _, S, Z = draw(500_000)
    truth = evaluate(Y, S, Z, top=(1,))
    found = {name: [] for name in truth}
    for run in range(runs):
        Y, machine, S, Z = draw(n + others)
        known = np.where(np.arange(n + others)[:, None] < n, Y, np.nan)
        many = prediction_powered(known, machine, S, Z, top=(1,), random_state=run)
        few = evaluate(Y[:n], S[:n], Z[:n], top=(1,), bootstrap=500, random_state=run)
        for name, value in truth.items():
            (low, high), (a, b) = many.intervals[name], few.intervals[name]
            found[name].append((low <= value <= high, high - low, b - a))
    for name, rows in found.items():
        held, width, alone = np.mean(rows, axis=0)
        yield {"measure": name, "truth": round(truth[name], 4), "held": round(float(held), 3),
               "width": round(width, 4), "audited_alone": round(alone, 4)}  # fmt: skip


def main() -> None:
    parts = {"simulation": simulation, "left_out": left_out, "soft": soft, "audit": audit}
    for name in sys.argv[1:] or parts:
        rows = []
        for row in parts[name]():
            rows.append(row)
            print(name, row, flush=True)
        with open(RESULTS / f"many-hands-{name.replace('_', '-')}.csv", "w", newline="") as stream:
            writer = csv.DictWriter(stream, rows[0], lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)


if __name__ == "__main__":
    main()
