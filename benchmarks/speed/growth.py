"""How time grows: the exponent b of time = a * size ** b, in n, d, q and k, for each learner.

One size is doubled while the others stay at 2,000 rows, 40 features, 16 labels and 10 neighbors;
sizes that would take more than two seconds are left out. The base estimator of transformations is
a decision tree of depth 4, which determines their exponents in n and d. The exponent is fitted to
the median of three turns, its range to each turn. Prediction is for 1,000 rows. At these small
sizes, constant parts matter: for example, the exponent of the neighbor search in n only approaches
2 for larger sizes, and times of a millisecond are mostly overhead.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.harness.data import generated
from benchmarks.harness.measure import Row, cpu_seconds, exponent
from benchmarks.harness.roster import Entry, learners

BASE = {"n": 2_000, "d": 40, "q": 16, "k": 10}
SIZES = {
    "n": (1_000, 2_000, 4_000, 8_000),
    "d": (20, 40, 80, 160),
    "q": (8, 16, 32, 64),
    "k": (5, 10, 20, 40),
}
LIMIT_S = 2.0
TURNS = 3


def run(quick: bool = False) -> list[Row]:
    rows = []
    for name, entry in learners().items():
        warm_up(entry)
        for axis in SIZES:
            if axis == "k" and (entry.family != "lazy" or name == "MLkNNCV"):
                continue
            rows += grow(name, entry, axis, quick)
    return rows


def warm_up(entry: Entry) -> None:
    """Load what loads late."""
    X, Y = generated(200, 10, 5)
    entry.build().fit(entry.suited(X), Y).predict(entry.suited(X))


def grow(name: str, entry: Entry, axis: str, quick: bool) -> list[Row]:
    sizes = [s // 4 for s in SIZES[axis][1:3]] if quick else SIZES[axis]
    taken: dict[str, list[Any]] = {"fit": [], "predict": []}
    used = []
    for size in sizes:
        at = {**BASE, **({"n": 200} if quick else {}), axis: size}
        X, Y = generated(at["n"] + 1_000, at["d"], at["q"])
        X = entry.suited(X)
        train, new = slice(at["n"]), X[at["n"] :]
        turns = [
            once(entry, at["k"], X[train], Y[train], new) for _ in range(1 if quick else TURNS)
        ]
        for step, seconds in zip(taken, zip(*turns)):
            taken[step].append(seconds)
        used.append(size)
        # the next size takes at least twice as long
        if len(used) > 1 and 2 * min(fit for fit, _ in turns) > LIMIT_S:
            break
    if len(used) < 2:
        return []
    rows = []
    for step, seconds in taken.items():
        by_turn = np.array(seconds).T  # (turns, sizes)
        rows.append(
            {
                "what": name,
                "family": entry.family,
                "kind": "growth",
                "step": step,
                "axis": axis,
                "sizes": list(used),
                "seconds": [float(s) for s in np.median(by_turn, axis=0)],
                **exponent(used, by_turn),
            }
        )
    return rows


def once(entry: Entry, k: int, X: Any, Y: Any, new: Any) -> tuple[float, float]:
    learner = entry.build()
    if isinstance(getattr(learner, "n_neighbors", None), int):
        learner.set_params(n_neighbors=k)
    return cpu_seconds(lambda: learner.fit(X, Y)), cpu_seconds(lambda: learner.predict(new))
