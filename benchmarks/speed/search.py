"""Neighbor search compared with scikit-learn, faiss, pynndescent, and the product it needs.

"fit" is the graph of the training points (10 neighbors, excluding the point itself), "predict" the
neighbors of new points. The limit is half of the float32 product of all pairs, because the graph
is symmetric. (For sparse points it is scipy's sparse product; ours multiplies blocks in another
way, so that it is not a strict limit.) faiss (flat) computes in float32; pynndescent is
approximate, and its compilation is not counted. Recall is the share of our exact neighbors that
the other library also finds. Tables of 0 and 1 have many equal distances, and an exact library may
choose other ties: recall is then below 1 although nothing is wrong.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.harness.contestants import TASKS
from benchmarks.harness.data import generated, has_real_data, real
from benchmarks.harness.measure import TURNS, Row, cpu_seconds, left_out, ratio_of
from benchmarks.harness.peers import Worker, store, workers
from benchmarks.speed.learners import load_everywhere

DENSE_ONLY = ("faiss", "pynndescent")
"""faiss knows no sparse points; pynndescent would compile for minutes once more."""


def cases(quick: bool) -> dict[str, tuple[Any, Any]]:
    """Training points and queries."""
    sizes = [(1_000, 100)] if quick else [(1_500, 100), (10_000, 100), (10_000, 4)]
    found = {}
    for n, d in sizes:
        X, _ = generated(n + n // 10, d, 5)
        found[f"generated, {n:,} x {d}"] = X[:n], X[n:]
    if has_real_data() and not quick:
        for name in ("emotions", "yeast", "medical", "slashdot", "bibtex", "delicious",
                     "tmc2007-500"):  # fmt: skip
            X, X_test, *_ = real(name).holdout()
            X = X[:8_000]
            form = " CSR" if sparse.issparse(X) else ""
            found[f"{name}, {X.shape[0]:,} x {X.shape[1]:,}{form}"] = X, X_test[:1_000]
    return found


def run(quick: bool = False) -> list[Row]:
    rows: list[Row] = []
    # its compilation alone takes most of a minute
    players = [p for p in TASKS["search"] if not (quick and p == "pynndescent")]
    with tempfile.TemporaryDirectory() as folder, workers(tuple(players)) as crew:
        for what, (X, queries) in cases(quick).items():
            store(Path(folder, "data.npz"), X, np.zeros((X.shape[0], 1), np.int8), queries)
            load_everywhere(crew, Path(folder, "data.npz"))
            able = [p for p in players if not (p in DENSE_ONLY and sparse.issparse(X))]
            turns = 3 * TURNS if X.shape[0] < 3_000 else TURNS  # a few milliseconds each
            rows += one_case(what, X, able, crew, folder, 2 if quick else turns)
    return rows


def one_case(
    what: str, X: Any, players: list[str], crew: dict[str, Worker | str], folder: str, turns: int
) -> list[Row]:
    taken: dict[str, list[dict[str, float]]] = {player: [] for player in players}
    product, problems = [], {}
    for player in players:
        worker = crew[player]
        if isinstance(worker, str):
            problems[player] = worker
        else:
            worker.ask(do="warm up", task="search", package=player)
    for turn in range(turns):
        for player in players[:: -1 if turn % 2 else 1]:
            worker = crew[player]
            if isinstance(worker, str) or player in problems:
                continue
            save = str(Path(folder, f"{player}.npz"))
            found = worker.ask(do="run", task="search", package=player, save=save)
            if "error" in found:
                problems[player] = found["error"]
            else:
                taken[player].append(found)
        product.append(cpu_seconds(half_product(X)))
    exact = np.load(Path(folder, "plurilabel.npz"))
    ours = taken["plurilabel"]
    rows: list[Row] = [
        {
            "what": what,
            "peer": "half of scipy's product" if sparse.issparse(X) else "half a product",
            "kind": "peer" if sparse.issparse(X) else "limit",
            "fit": ratio_of([f["fit_s"] for f in ours], product),
        }
    ]
    for player in players[1:]:
        if player in problems:
            rows.append(left_out(what, player, problems[player]))
            continue
        answers = np.load(Path(folder, f"{player}.npz"))
        shares = [recall(exact[part], answers[part]) for part in ("graph", "labels")]
        rows.append(
            {
                "what": what,
                "peer": player,
                "kind": "peer",
                **{
                    step: ratio_of(*([f[f"{step}_s"] for f in side]
                                     for side in (ours, taken[player])))
                    for step in ("fit", "predict")
                },
                "memory_mb": [max(f["added_mb"] for f in s) for s in (ours, taken[player])],
                "note": f"recall {shares[0]:.3f}, queries {shares[1]:.3f}",
            }
        )  # fmt: skip
    return rows


def half_product(X: Any) -> Any:
    """Half of the product of all pairs, in blocks."""
    single = X.astype(np.float32)
    right = sparse.csr_array(single.T) if sparse.issparse(single) else single.T

    def work() -> None:
        for i in range(0, X.shape[0], 512):
            for j in range(i, X.shape[0], 4096):
                single[i : i + 512] @ right[:, j : j + 4096]

    return work


def recall(exact: Any, found: Any) -> float:
    """Share of the true neighbours that were found, whatever their order."""
    return float(np.mean([np.isin(a, b).mean() for a, b in zip(exact, found)]))
