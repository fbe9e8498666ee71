"""Stratified folds compared with the package iterative-stratification: time and evenness.

Evenness is measured as by Sechidis, Tsoumakas and Vlahavas (2011), lower is better: LD is the mean
difference between the odds of a label in a fold and in the whole, times 10,000; ED is the mean
difference between the size of a fold and its desired size. LP, which is ours, is the mean
difference between the number of rows with a pair of labels in a fold and the desired number.
"""

from __future__ import annotations

import importlib.util
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.harness.data import has_real_data, real
from benchmarks.harness.measure import Row, alone, cpu_seconds, left_out, row
from plurilabel.model_selection import IterativeStratifiedKFold

SEEDS = (0, 1, 2)


def generated_labels(n: int, q: int, cardinality: float = 3.0) -> Any:
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


def folds(splitter: Any, Y: Any, k: int, seed: int) -> Any:
    fold = np.full(Y.shape[0], -1)
    parts = splitter(n_splits=k, shuffle=True, random_state=seed).split(Y, Y)
    for j, (_, test) in enumerate(parts):
        fold[test] = j
    return fold


def one_case(name: str, Y: Any, k: int, peer: Any) -> Row:
    """One turn for each seed; evenness is the mean over them."""
    taken: dict[Any, list[float]] = {IterativeStratifiedKFold: [], peer: []}
    found: dict[Any, list[dict[str, float]]] = {IterativeStratifiedKFold: [], peer: []}
    for seed in SEEDS:
        for splitter in taken:
            answer: list[Any] = []
            seconds = cpu_seconds(
                lambda s=splitter, a=answer, seed=seed: a.append(folds(s, Y, k, seed))
            )
            taken[splitter].append(seconds)
            found[splitter].append(evenness(Y, answer[0], k))
    means = [{m: float(np.mean([f[m] for f in side])) for m in side[0]} for side in found.values()]
    note = ", ".join(f"{m} {means[0][m]:.4g} (peer {means[1][m]:.4g})" for m in means[0])
    what = f"{k} folds of {name}, {Y.shape[0]:,} x {Y.shape[1]}"
    return row(what, "iterative-stratification", *taken.values(), note=note)


def run(quick: bool = False) -> list[Row]:
    if importlib.util.find_spec("iterstrat") is None:
        return [left_out("folds", "iterative-stratification", "not installed")]
    from iterstrat.ml_stratifiers import MultilabelStratifiedKFold as Peer

    data = {"generated labels": generated_labels(*((2_000, 20) if quick else (50_000, 100)))}
    if has_real_data():
        names = ("yeast",) if quick else ("yeast", "bibtex", "delicious", "tmc2007-500")
        data |= {name: real(name).Y for name in names}
    rows = []
    for name, labels in data.items():
        Y = labels.toarray() if sparse.issparse(labels) else labels  # the peer takes dense only
        rows.append(one_case(name, Y, 10 if name == "yeast" else 5, Peer))
    if not quick:
        rng = np.random.default_rng(0)
        at = rng.integers(100_000, size=300_000), rng.zipf(1.3, size=300_000) % 10_000
        big = sparse.csr_array((np.ones(300_000), at), shape=(100_000, 10_000)).sign()
        seconds = cpu_seconds(lambda: folds(IterativeStratifiedKFold, big, 5, 0))
        rows.append(alone("5 folds of 100,000 x 10,000, CSR", seconds, "the peer needs it dense"))
    return rows
