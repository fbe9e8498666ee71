"""Exact cuts for 100,000 instances and 100 labels, beside scikit-learn's curves.

The peer of ``scut`` is one ``precision_recall_curve`` per label, that of ``global`` the same
curve over all decisions: scikit-learn's way to the cut with the best F1. The other strategies
have no peer there; the bare limit named is one sort of the scores, by rows or of all of them.

    python benchmarks/bench_thresholds.py
"""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.metrics import precision_recall_curve

from plurilabel.thresholds import (
    CardinalityCut,
    LinearCut,
    MCut,
    PCut,
    RCut,
    expected_f_labels,
    global_cut,
    label_cuts,
)


def best_f1_cut(y: np.ndarray, scores: np.ndarray) -> float:
    precision, recall, cuts = precision_recall_curve(y, scores)
    bottom = np.maximum(precision + recall, 1e-300)
    return float(cuts[np.argmax((2 * precision * recall / bottom)[:-1])])


def seconds(function: Callable[[], Any]) -> float:
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def memory(function: Callable[[], Any]) -> float:
    tracemalloc.start()
    function()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def run(n: int = 100_000, q: int = 100) -> list[dict[str, Any]]:
    rng = np.random.default_rng(0)
    Y = (rng.random((n, q)) < rng.random(q) * 0.06).astype(np.int8)  # cardinality about 3
    scores = 1 / (1 + np.exp(3 - 2 * Y - rng.normal(size=(n, q))))

    def curves() -> None:
        for j in range(q):
            best_f1_cut(Y[:, j], scores[:, j])

    def sort_all() -> None:
        np.argsort(scores, axis=None)

    def sort_rows() -> None:
        np.sort(scores, axis=1)

    jobs: list[tuple[str, Callable[[], Any], str, Callable[[], Any]]] = [
        ("scut, f1", lambda: label_cuts(scores, Y), "precision_recall_curve per label", curves),
        (
            "global, micro_f1",
            lambda: global_cut(scores, Y),
            "precision_recall_curve of all",
            lambda: best_f1_cut(Y.ravel(), scores.ravel()),
        ),
        ("global, f1", lambda: global_cut(scores, Y, "f1"), "bare argsort of all", sort_all),
        (
            "global, macro_f1",
            lambda: global_cut(scores, Y, "macro_f1"),
            "bare argsort of all",
            sort_all,
        ),
        ("cardinality", lambda: CardinalityCut().fit(scores, Y), "bare sort by rows", sort_rows),
        ("linear", lambda: LinearCut().fit(scores, Y), "bare sort by rows", sort_rows),
        ("rcut", lambda: RCut(3).fit(None, Y).predict(scores), "bare sort by rows", sort_rows),
        ("pcut", lambda: PCut().fit(None, Y).predict(scores), "bare sort by rows", sort_rows),
        ("mcut", lambda: MCut().fit(None, Y).predict(scores), "bare sort by rows", sort_rows),
        ("expected_f", lambda: expected_f_labels(scores), "bare sort by rows", sort_rows),
    ]
    rows = []
    for what, ours, peer_name, peer in jobs:
        ours_s, peer_s = seconds(ours), seconds(peer)
        note = f"peer: {peer_name}"
        if what.startswith(("scut", "global")):
            note += f"; peak memory {memory(ours) / scores.nbytes:.1f} times the scores"
        rows.append(
            {
                "what": f"{what}, n={n}, q={q}",
                "ours_s": ours_s,
                "peer_s": peer_s,
                "ratio": ours_s / peer_s,
                "note": note,
            }
        )
    return rows


def main() -> None:
    for row in run():
        print(
            f"{row['what']:36} {row['ours_s']:7.2f} s  {row['peer_s']:7.2f} s  "
            f"ratio {row['ratio']:6.2f}  {row['note']}"
        )


if __name__ == "__main__":
    main()
