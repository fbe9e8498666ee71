"""How fast ML-kNN learns from the queue of the service, and from rows in random order.

``python -m benchmarks active_learning`` writes results/serving-curve.csv in about a minute on one
core. In each of ten repeats, half of scene's training part and 20 initial rows are drawn; measures
are computed on the published test part.
"""

from __future__ import annotations

import csv

import numpy as np

from benchmarks import RESULTS
from plurilabel import MLkNN, datasets
from plurilabel.metrics import average_precision, micro_f1
from plurilabel.serve import information

FIRST, STEP, LAST, REPEATS = 20, 20, 300, 10
SHOWN = (20, 60, 100, 140, 200, 300)


def random_order(_scores, X, rng):
    return rng.random(len(X))


def queue(scores, X, _rng):
    return information(scores, X)


def unsure(scores, _X, _rng):
    return (1 - np.abs(2 * scores - 1)).mean(axis=1)


def main():
    data = datasets.load("scene")
    orders = {"random order": random_order, "uncertainty alone": unsure, "the queue": queue}
    found = {name: [] for name in orders}
    for seed in range(REPEATS):
        pool = np.random.default_rng(seed).permutation(data.train)[: len(data.train) // 2]
        for name, worth in orders.items():
            found[name].append(curve(data, pool, worth, np.random.default_rng(seed)))
    sizes = list(range(FIRST, LAST + 1, STEP))
    with (RESULTS / "serving-curve.csv").open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        measures = [f"{name}: {what}" for name in orders for what in ("AP", "micro-F1")]
        writer.writerow(["labelled rows", *measures])
        for i, size in enumerate(sizes):
            if size in SHOWN:
                figures = [f"{v:.3f}" for n in orders for v in np.mean(found[n], axis=0)[i]]
                writer.writerow([size, *figures])
                print(size, *figures)
    better = np.array(found["the queue"]) - np.array(found["random order"])
    times = (better[:, sizes.index(100)] > 0).sum(axis=0)
    print("at 100 rows the queue is better than random order in", times, "of", REPEATS)


def curve(data, pool, worth, rng):
    """Average precision and micro-F1 on the test part, after each step."""
    X, Y = data.X, np.asarray(data.Y)
    known, rest = list(pool[:FIRST]), list(pool[FIRST:])
    figures = []
    while True:
        learner = MLkNN(10).fit(X[known], Y[known])
        scores = learner.predict_proba(X[data.test])
        measured = average_precision(Y[data.test], scores), micro_f1(Y[data.test], scores > 0.5)
        figures.append(measured)
        if len(known) >= LAST:
            return figures
        value = worth(learner.predict_proba(X[rest]), X[rest], rng)
        best = np.argsort(-value, kind="stable")[:STEP]
        known += [rest[i] for i in best]
        rest = [row for i, row in enumerate(rest) if i not in set(best.tolist())]


if __name__ == "__main__":
    main()
