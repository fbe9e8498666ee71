"""Learners compared with other libraries: time to fit and predict, memory, and quality.

All packages get the same training rows and parameters, each in a process of its own environment.
Labels with fewer than two training instances are left out, because some packages reject constant
labels. Where a package would need hours, all get a subset of evenly spaced rows. The measures of
the same method may differ: scikit-multilearn counts a training instance as its own neighbor; ties
between label sets in a leaf of the powerset's tree are broken differently; RAkEL draws other label
sets. The networks, our BPMLL and MLPClassifier, have different losses.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.harness.contestants import TASKS
from benchmarks.harness.data import generated, has_real_data, real
from benchmarks.harness.measure import TURNS, Row, left_out, ratio_of
from benchmarks.harness.peers import Worker, store, workers

# task, dataset, training rows (None: all), test rows
Match = tuple[str, str, int | None, int | None]
QUICK: list[Match] = [
    (task, "yeast", 150, 50) for task in TASKS if task not in ("search", "as shipped")
]
FULL: list[Match] = [
    ("ML-kNN", "yeast", None, None),
    ("BRkNN", "yeast", None, None),
    ("binary relevance", "yeast", None, None),
    ("classifier chain", "yeast", None, None),
    ("label powerset", "yeast", None, None),
    ("RAkEL, disjoint", "yeast", None, None),
    ("decision tree", "yeast", None, None),
    ("forest of 10", "yeast", None, None),
    ("boosting, 10 stumps", "yeast", None, None),
    ("network, 20 epochs", "yeast", None, None),
    ("ML-kNN", "bibtex", 600, 300),
    ("BRkNN", "bibtex", None, None),
    ("binary relevance", "bibtex", 600, 300),
    ("classifier chain", "bibtex", 600, 300),
    ("label powerset", "bibtex", 600, 300),
    ("RAkEL, disjoint", "bibtex", 600, 300),
    ("decision tree", "bibtex", 600, 300),
    ("forest of 10", "bibtex", 600, 300),
    ("ML-kNN", "delicious", 250, 100),
    ("BRkNN", "delicious", None, None),
    ("binary relevance", "delicious", 200, 100),
    ("forest of 10", "delicious", 200, 100),
    ("ML-kNN", "tmc2007-500", 1000, 500),
    ("BRkNN", "tmc2007-500", None, 1000),
    ("binary relevance", "tmc2007-500", 2000, 1000),
    ("classifier chain", "tmc2007-500", 2000, 1000),
    ("label powerset", "tmc2007-500", 2000, 1000),
    ("decision tree", "tmc2007-500", 2000, 1000),
    ("forest of 10", "tmc2007-500", 2000, 1000),
    ("ML-kNN", "generated", 250, 200),
    ("ML-kNN", "generated", 500, 200),
    ("ML-kNN", "generated", 1000, 200),
    ("binary relevance", "generated", 500, 200),
    ("binary relevance", "generated", 1000, 200),
]


def run(quick: bool = False) -> list[Row]:
    turns = 2 if quick else TURNS
    rows: list[Row] = []
    by_data: dict[tuple, list[str]] = {}
    for task, name, *sizes in QUICK if quick else FULL:
        if name == "generated" or has_real_data():
            by_data.setdefault((name, *sizes), []).append(task)
    if not by_data:
        return [left_out("real data", "all", "PLURILABEL_DATA names no folder")]
    packages = tuple(dict.fromkeys(name for tasks in by_data.values() for task in tasks
                                   for name in TASKS[task]))  # fmt: skip
    with tempfile.TemporaryDirectory() as folder, workers(packages) as crew:
        for (name, n, m), tasks in by_data.items():
            X, Y, X_test, Y_test = part_of(name, n, m)
            file = Path(folder, "data.npz")
            store(file, X, Y, X_test)
            load_everywhere(crew, file)
            title = f"{name}, {Y.shape[0]:,} x {X.shape[1]:,}, {Y.shape[1]} labels"
            if not rows:
                rows += as_shipped(crew["scikit-multilearn"])
            for task in tasks:
                print(f"   {task}: {title}", flush=True)
                rows += match(task, title, crew, folder, Y_test, turns)
    return rows


def part_of(name: str, n: int | None, m: int | None) -> tuple[Any, Any, Any, Any]:
    """Rows of the published split at equal distances, without labels that are too rare."""
    if name == "generated":
        X, Y = generated((n or 1_000) + (m or 200), 100, 100)
        X, X_test, Y, Y_test = X[:n], X[n:], Y[:n], Y[n:]
    else:
        X, X_test, Y, Y_test = real(name).holdout()
    rows, asked = (spread(len_of(M), size) for M, size in ((X, n), (X_test, m)))
    X, Y, X_test, Y_test = X[rows], Y[rows], X_test[asked], Y_test[asked]
    count = np.asarray(Y.sum(axis=0)).ravel()
    kept = np.flatnonzero((count >= 2) & (count <= Y.shape[0] - 2))
    return X, Y[:, kept], X_test, Y_test[:, kept]


def len_of(M: Any) -> int:
    return int(M.shape[0])


def spread(n: int, size: int | None) -> Any:
    """``size`` of n row numbers, at equal distances."""
    return np.arange(n) if size is None or size >= n else np.arange(size) * n // size


def load_everywhere(crew: dict[str, Worker | str], file: Path) -> None:
    staff = {id(w): w for w in crew.values() if isinstance(w, Worker)}.values()
    for worker in staff:
        worker.tell(do="load", path=str(file))
    for worker in staff:
        worker.answer()


def as_shipped(worker: Worker | str) -> list[Row]:
    """scikit-multilearn's ML-kNN without our change to its call of scikit-learn."""
    if isinstance(worker, str):
        return []
    found = worker.ask(do="run", task="as shipped", package="scikit-multilearn")
    why = found.get("error", "runs")
    return [left_out("ML-kNN as shipped", "scikit-multilearn", why)]


def match(
    task: str, data: str, crew: dict[str, Worker | str], folder: str, Y_test: Any, turns: int
) -> list[Row]:
    """One task on the data that is loaded: all packages in turn, then one row for each peer."""
    players = list(TASKS[task])
    rows, problems, taken = [], {}, {player: [] for player in players}
    for player in players:
        worker = crew[player]
        if isinstance(worker, str):
            problems[player] = worker
        else:
            worker.ask(do="warm up", task=task, package=player)
    for turn in range(turns):
        for player in players[:: -1 if turn % 2 else 1]:
            worker = crew[player]
            if player in problems or isinstance(worker, str):
                continue
            save = str(Path(folder, f"{players.index(player)}.npz")) if turn == 0 else None
            found = worker.ask(do="run", task=task, package=player, save=save)
            if "error" in found:
                problems[player] = found["error"]
            else:
                taken[player].append(found)
    quality = {
        player: judged(np.load(Path(folder, f"{i}.npz")), Y_test)
        for i, player in enumerate(players)
        if player not in problems and not player.startswith("limit")
    }
    for player in players[1:]:
        what = f"{task}: {data}"
        if player in problems or players[0] in problems:
            why = problems.get(player) or problems[players[0]]
            rows.append({**left_out(what, player, why), "task": task, "data": data})
            continue
        ours, theirs = taken[players[0]], taken[player]
        rows.append(
            {
                "what": what,
                "task": task,
                "data": data,
                "peer": player.removeprefix("limit: "),
                "kind": "limit" if player.startswith("limit") else "peer",
                **{
                    step: ratio_of(*([f[f"{step}_s"] for f in side] for side in (ours, theirs)))
                    for step in ("fit", "predict")
                },
                "memory_mb": [max(f["added_mb"] for f in side) for side in (ours, theirs)],
                "quality": [quality[players[0]], quality.get(player)],
            }
        )
    return rows


def judged(answers: Any, Y_test: Any) -> dict[str, float]:
    """All measures, by our own functions for everyone."""
    from plurilabel import metrics

    labels = answers["labels"].astype(np.int8)
    scores = answers.get("scores")
    Y = Y_test.toarray() if sparse.issparse(Y_test) else np.asarray(Y_test)
    found = metrics.evaluate(Y, scores, labels)
    return {name: float(value) for name, value in found.items()}
