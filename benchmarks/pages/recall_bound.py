"""Whether the stopping rule of labeling holds, and how many answers it takes.

``python -m benchmarks recall_bound [--runs N]`` writes results/recall-bound.csv. In each run, a
pool is drawn from generated data or from the labels of Yeast and GoEmotions, and a queue is
simulated: every fifth row is a random audit, the others have the highest score for any of the
labels that are looked for; once 50 of those in a row bring nothing, only audits follow. Scores are
the labels plus noise.

A run has failed if the bound was above the true recall after any of the answers. This needs the
test of one number of rows only, the true one, which the twin below computes for all answers at
once; where it was rejected, the library's bound at that time decides. The first runs are also
followed until the library says that one may stop.

The last row is that of a fixed model: its predictions count as found, and all answers after the
first 100 are audits, looked at after every 400.
"""

from __future__ import annotations

import argparse
import csv

import numpy as np
from scipy import sparse

from benchmarks import RESULTS
from plurilabel import datasets
from plurilabel.labeling import recall_bound

OUT = RESULTS / "recall-bound.csv"
TARGET, CONFIDENCE = 0.9, 0.95
FOLLOWED = 20
COLUMNS = (
    "labels of", "labels", "rows", "positive rows", "runs", "failed", "failed jointly",
    "answers until 90% are found", "answers until one may stop",
)  # fmt: skip


def generated(rng):
    return rng.random((3000, 1)) < 0.15


def of_data(name, labels, rows):
    data = datasets.load(name)
    Y = data.Y.toarray() if sparse.issparse(data.Y) else np.asarray(data.Y)
    order = np.argsort(-Y.sum(axis=0), kind="stable")[list(labels)]
    every = Y[:, order].astype(bool)
    return lambda rng: every[rng.permutation(len(every))[:rows]]


def session(Y, rng, noise=0.5, patience=50, share=5):
    """The rows in the order of their answers, and which of them are audits."""
    n = len(Y)
    worth = np.max(Y + noise * rng.normal(size=Y.shape), axis=1)
    best, drawn = list(np.argsort(worth)), list(rng.permutation(n))
    done, shown, audit, dry = set(), [], [], 0
    while len(shown) < n:
        is_audit = len(shown) % share == share - 1 or dry >= patience
        source = drawn if is_audit else best
        while (row := source.pop()) in done:
            pass
        done.add(row)
        shown.append(row)
        audit.append(is_audit)
        if not is_audit:
            dry = 0 if Y[row].any() else dry + 1
    return np.array(shown), np.array(audit)


def rejected_at(y, audit, level):
    """When the true number of rows is rejected first, by its place in the order; None if never."""
    n, total = len(y), int(y.sum())
    grid = np.arange(1, 101)
    if n > 100:
        steps = np.ceil(100 * 1.01 ** np.arange(1, int(np.log(n / 100) / np.log(1.01)) + 1))
        grid = np.append(grid, steps)
    if total == 0:
        return None
    k = grid[grid <= total].max()
    at = np.flatnonzero(audit)
    found, left, x = (np.cumsum(y) - y)[at], n - at, y[at] == 1
    with np.errstate(divide="ignore", invalid="ignore"):
        p = (k - found) / left
        log_e = []
        for weight, other in ((0.6, TARGET * k), (0.3, (1 + TARGET) / 2 * k), (0.1, k - 1)):
            q = np.maximum(other - found, 0) / left
            factors = np.where(x, np.log(q) - np.log(p), np.log1p(-q) - np.log1p(-p))
            log_e.append(np.log(weight) + np.cumsum(np.where(found < k, factors, 0.0)))
    over = np.flatnonzero(np.logaddexp.reduce(log_e, axis=0) >= -np.log(level))
    return int(at[over[0]]) + 1 if len(over) else None


def fails(Y, audit, n, jointly):
    """Whether the bound of a label (or of any of them, jointly) is ever above its recall."""
    level = (1 - CONFIDENCE) / (Y.shape[1] if jointly else 1)
    failed = []
    for j, y in enumerate(Y.T):
        t = rejected_at(y, audit, level)
        if t is not None:
            bound = recall_bound(Y[:t], audit[:t], n, target=TARGET, confidence=CONFIDENCE)
            share = (bound.jointly if jointly else bound.recall)[j]
            t = None if share <= Y[:t, j].sum() / y.sum() + 1e-12 else t
        failed.append(t is not None)
    return np.array(failed)


def first_stop(Y, audit, n):
    """Number of answers from which on one may stop, by bisection."""
    low, high = 0, n
    while high - low > 10:
        t = (low + high) // 2
        bound = recall_bound(Y[:t], audit[:t], n, target=TARGET, confidence=CONFIDENCE)
        low, high = (low, t) if bound.may_stop else (t, high)
    return high


def simulate(draw, runs):
    wrong, wrong_jointly, answers, ideal, positive = 0, 0, [], [], []
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        Y = draw(rng).astype(np.float64)
        n, q = Y.shape
        shown, audit = session(Y > 0, rng)
        Y = Y[shown]
        wrong = wrong + fails(Y, audit, n, jointly=False)
        wrong_jointly += bool(fails(Y, audit, n, jointly=True).any())
        positive.append(Y.sum(axis=0).mean())
        if seed < FOLLOWED:
            answers.append(first_stop(Y, audit, n))
            reached = (np.cumsum(Y, axis=0) >= TARGET * Y.sum(axis=0)).all(axis=1)
            ideal.append(np.argmax(reached) + 1)
    failed = ", ".join(f"{100 * one / runs:.1f}%" for one in wrong)
    return [
        q, n, f"{np.mean(positive):.0f}", runs, failed, f"{100 * wrong_jointly / runs:.1f}%",
        f"{np.mean(ideal):.0f}", f"{np.mean(answers):.0f}",
    ]  # fmt: skip


def with_model(n, share, recall, runs):
    wrong, answers = 0, []
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        y = rng.random(n) < share
        guess = np.where(y, rng.random(n) < recall, rng.random(n) < 0.1)
        total, stop = y.sum(), None
        for t in range(600, 3001, 400):
            missed = (y[t:] & ~guess[t:]).sum()
            bound = recall_bound(
                y[:t, None], np.arange(t) >= 100, n, predicted=guess[:t, None], since=100
            )
            if bound.recall[0] > 1 - missed / total + 1e-12:
                wrong += 1
                break
            if bound.may_stop:
                stop = t
                break
        answers.append(n if stop is None else stop)
    failed = f"{100 * wrong / runs:.1f}%"
    return [1, n, f"{n * share:.0f}", runs, failed, failed, "100", f"{np.median(answers):.0f}"]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    runs = parser.parse_args().runs
    cases = {
        "generated data": lambda: simulate(generated, runs),
        "Yeast: 1st, 5th and 9th most frequent": lambda: simulate(
            of_data("yeast", (0, 4, 8), 1500), runs
        ),
        "GoEmotions: 2nd and 5th most frequent": lambda: simulate(
            of_data("goemotions", (1, 4), 3000), runs
        ),
        "generated data, a model of recall .97": lambda: with_model(20_000, 0.15, 0.97, runs // 5),
    }
    with OUT.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        for name, case in cases.items():
            row = [name, *case()]
            writer.writerow(row)
            file.flush()
            print(*row, flush=True)


if __name__ == "__main__":
    main()
