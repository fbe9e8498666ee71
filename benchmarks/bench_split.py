"""Stratified folds: time and evenness beside the package iterative-stratification.

Evenness is that of Sechidis, Tsoumakas and Vlahavas (2011), lower is better:

LD  label distribution: mean over labels and folds of the difference between the odds of the
    label in the fold and in the whole, times 10000 here;
ED  examples distribution: mean difference between the size of a fold and the size wanted;
and, not in the paper,
LP  label pairs: mean difference between the rows of a pair of labels in a fold and the rows
    wanted, over the pairs that occur.

Run with ``PLURILABEL_DATA=folder python benchmarks/bench_split.py``; without the folder only the
generated data are measured.
"""

from __future__ import annotations

import os
import time
from typing import Any

import numpy as np
from iterstrat.ml_stratifiers import MultilabelStratifiedKFold
from scipy import sparse

from plurilabel.datasets import IterativeStratifiedKFold, load

SEEDS = (0, 1, 2)
REAL = ("yeast", "medical", "bibtex", "delicious")


def generated(n: int = 100_000, q: int = 100, cardinality: float = 3.0) -> Any:
    """Labels with frequencies like 1, 1/2^0.8, 1/3^0.8, ..., dependent through the row."""
    rng = np.random.default_rng(0)
    p = np.arange(1, q + 1) ** -0.8
    p *= cardinality / p.sum()
    rate = np.exp(0.7 * rng.normal(size=(n, 1)) - 0.245)
    return (rng.random((n, q)) < p * rate).astype(np.int8)


def evenness(Y: Any, fold: Any, k: int) -> dict[str, float]:
    n = Y.shape[0]
    Y = sparse.csr_array(Y, dtype=np.float64)
    members = sparse.csr_array((np.ones(n), fold, np.arange(n + 1)), shape=(n, k))
    got, size = (members.T @ Y).toarray(), np.bincount(fold, minlength=k)
    total = got.sum(axis=0)
    used = (total > 0) & (total < n)
    odds = got[:, used] / (size[:, None] - got[:, used])
    pairs = sparse.triu(Y.T @ Y, k=1).tocoo()
    differences = []
    for j in range(k):
        inside = Y[fold == j]
        together = sparse.csr_array(inside.T @ inside)[pairs.row, pairs.col]
        differences.append(np.abs(np.asarray(together).ravel() - pairs.data / k).mean())
    return {
        "LD": 1e4 * np.abs(odds - total[used] / (n - total[used])).mean(),
        "ED": np.abs(size - n / k).mean(),
        "LP": float(np.mean(differences)),
    }


def measure(splitter: type, Y: Any, k: int) -> tuple[float, dict[str, float]]:
    """Best processor time (both use one thread) and mean evenness over the seeds."""
    times, found = [], []
    for seed in SEEDS:
        fold = np.full(Y.shape[0], -1)
        began = time.process_time()
        for j, (_, test) in enumerate(
            splitter(n_splits=k, shuffle=True, random_state=seed).split(Y, Y)
        ):
            fold[test] = j
        times.append(time.process_time() - began)
        found.append(evenness(Y, fold, k))
    return min(times), {name: float(np.mean([f[name] for f in found])) for name in found[0]}


def run() -> list[dict[str, Any]]:
    data: dict[str, Any] = {"generated 100,000 x 100": generated()}
    if os.environ.get("PLURILABEL_DATA"):
        data |= {name: load(name).Y for name in REAL}
    rows = []
    for name, labels in data.items():
        Y = labels.toarray() if sparse.issparse(labels) else labels  # the peer takes dense only
        for k in (5, 10):
            ours_s, ours = measure(IterativeStratifiedKFold, Y, k)
            peer_s, peer = measure(MultilabelStratifiedKFold, Y, k)
            note = ", ".join(f"{m} {ours[m]:.4g} (peer {peer[m]:.4g})" for m in ours)
            rows.append(
                {
                    "what": f"{name}, {k} folds",
                    "ours_s": ours_s,
                    "peer_s": peer_s,
                    "ratio": ours_s / peer_s,
                    "note": note,
                }
            )
    rng = np.random.default_rng(0)
    at = rng.integers(100_000, size=300_000), rng.zipf(1.3, size=300_000) % 10_000
    big = sparse.csr_array((np.ones(300_000), at), shape=(100_000, 10_000)).sign()
    ours_s, ours = measure(IterativeStratifiedKFold, big, 5)
    note = ", ".join(f"{m} {value:.4g}" for m, value in ours.items())
    rows.append(
        {
            "what": "sparse 100,000 x 10,000, 5 folds",
            "ours_s": ours_s,
            "peer_s": None,
            "ratio": None,
            "note": f"{note}; the peer needs the labels dense",
        }
    )
    return rows


def main() -> None:
    for row in run():
        peer = "" if row["peer_s"] is None else f"{row['peer_s']:8.3f} s, ratio {row['ratio']:.3f}"
        print(f"{row['what']:34} {row['ours_s']:8.3f} s, peer {peer}  {row['note']}", flush=True)


if __name__ == "__main__":
    main()
