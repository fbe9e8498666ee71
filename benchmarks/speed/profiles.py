"""Where the time goes: the share of fit and predict spent in the call that no learner can avoid.

The call is timed inside the learner's own run, outermost calls only. Learners that consist of our
own arithmetic (CML, Rank-SVM, boosting) have no such call and are left out.
"""

from __future__ import annotations

import functools
import importlib
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest import mock

from benchmarks.harness.data import generated, has_real_data, real
from benchmarks.harness.measure import TURNS, Row
from benchmarks.harness.roster import Entry, learners
from benchmarks.speed.growth import warm_up

TOO_LARGE = {"CalibratedLabelRanking", "CML", "RankSVM", "IBLRML", "StackedRelevance"}
"""Not asked on bibtex: quadratic in its 159 labels, or minutes."""


def run(quick: bool = False) -> list[Row]:
    rows = []
    for data, (X, Y, X_test) in cases(quick).items():
        for name, entry in learners().items():
            if data.startswith("bibtex") and name in TOO_LARGE:
                continue
            if not entry.calls:
                continue
            warm_up(entry)
            rows.append(one(name, entry, data, X, Y, X_test, 1 if quick else TURNS))
    return rows


def cases(quick: bool) -> dict[str, tuple[Any, Any, Any]]:
    if quick or not has_real_data():
        X, Y = generated(400, 50, 10)
        return {"generated, 300 x 50, 10 labels": (X[:300], Y[:300], X[300:])}
    found = {}
    for name, n in (("yeast", 1_500), ("bibtex", 1_000)):
        X, X_test, Y, _ = real(name).holdout()
        found[f"{name}, {n:,} rows"] = X[:n], Y[:n], X_test[:500]
    return found


def one(name: str, entry: Entry, data: str, X: Any, Y: Any, X_test: Any, turns: int) -> Row:
    found = []
    for _ in range(turns):
        learner = entry.build()
        with stopwatch(entry.calls) as inside:
            start = time.process_time()
            learner.fit(X, Y).predict(X_test)
            total = time.process_time() - start
        found.append((inside[0] / total, total, inside[0]))
    shares = sorted(share for share, *_ in found)
    _, total, engine = sorted(found)[len(found) // 2]
    return {
        "what": name,
        "family": entry.family,
        "kind": "profile",
        "data": data,
        "peer": entry.engine,
        "ours_s": total,
        "peer_s": engine,
        "ratio": engine / total,
        "low": shares[0],
        "high": shares[-1],
        "turns": turns,
    }


@contextmanager
def stopwatch(calls: tuple[str, ...]) -> Iterator[list[float]]:
    """CPU seconds spent inside the named calls, those within each other counted once."""
    total, depth = [0.0], [0]

    def watched(function: Any) -> Any:
        @functools.wraps(function)
        def timed(*args: Any, **kwargs: Any) -> Any:
            if depth[0]:
                return function(*args, **kwargs)
            depth[0] += 1
            start = time.process_time()
            try:
                return function(*args, **kwargs)
            finally:
                total[0] += time.process_time() - start
                depth[0] -= 1

        return timed

    with ExitStack() as stack:
        for call in calls:
            owner, name = owner_of(call)
            stack.enter_context(mock.patch.object(owner, name, watched(getattr(owner, name))))
        yield total


def owner_of(call: str) -> tuple[Any, str]:
    """The module or class that holds a function named as "module:Class.method"."""
    module, _, path = call.partition(":")
    owner: Any = importlib.import_module(module)
    *outer, name = path.split(".")
    for part in outer:
        owner = getattr(owner, part)
    return owner, name
