"""A few ratios of our time to a peer's, kept, to notice what has become slower.

``python -m benchmarks guard`` measures them in about a minute on generated data and compares them
with the last run in benchmarks/results/guard.jsonl. It names every ratio that has grown by more
than 10%, and exits with status 1 if one has doubled; ``--keep`` adds the run to the history.

A ratio is the least CPU time of ours in several turns over the least of the peer's, both with one
thread in one run: below 1 we are faster. The ratios compare runs on different machines better than
seconds would, but not exactly: the versions and the processor are kept beside them.
"""

from __future__ import annotations

import argparse
import io as bytes_io
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.harness.threads import ONE_THREAD

if __name__ == "__main__":
    os.environ.update(ONE_THREAD)  # before numpy is loaded

import joblib
import numpy as np
from scipy import sparse
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import MultiOutputClassifier
from sklearn.neighbors import NearestNeighbors
from sklearn.svm import LinearSVC
from threadpoolctl import threadpool_limits

import plurilabel
from benchmarks import RESULTS
from benchmarks.harness.data import generated, scored
from benchmarks.harness.measure import cpu_seconds
from benchmarks.harness.state import state
from benchmarks.speed.metrics import one_by_one
from plurilabel import (
    BinaryRelevance,
    ClassifierChain,
    MLGradientBoosting,
    MLkNN,
    OneVsAllLinear,
    io,
    metrics,
)
from plurilabel.neighbors import ExactIndex
from plurilabel.streams import WindowMLkNN

HISTORY = RESULTS / "guard.jsonl"
SLOWER, FAILED = 1.1, 2.0
TURNS, AGAIN = 5, 15  # turns, and turns of a second look at what seems to have become slower

Pair = tuple[Callable[[], Any], Callable[[], Any]]


def child(*command: str) -> Callable[[], float]:
    """A process of its own; returns its CPU seconds."""

    def run() -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, *command], check=False, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    return run


def pairs(folder: Path) -> Iterator[tuple[str, str, Pair]]:
    """What is measured, the peer, and both tasks."""
    peer_start = child("-c", "from sklearn.neighbors import NearestNeighbors")
    start = child("-c", "from plurilabel import MLkNN")
    yield "import of a learner", "import of scikit-learn's neighbors", (start, peer_start)
    wrong = child("-c", "from plurilabel.cli import main; main()", "fit", "--nonsense")
    yield "a command with a wrong option", "import of scikit-learn's neighbors", (
        wrong, peer_start
    )  # fmt: skip

    for n, d in ((400, 20), (1_500, 100), (10_000, 100)):
        X, Y = generated(n, d, 10)
        theirs = NearestNeighbors(n_neighbors=10, algorithm="brute")

        def peer(X: Any = X, theirs: Any = theirs) -> Any:
            return theirs.fit(X).kneighbors()

        def graph(X: Any = X) -> Any:
            return ExactIndex().fit(X).kneighbors(n_neighbors=10)

        yield f"neighbor graph, {n:,} x {d}", "scikit-learn", (graph, peer)
        if n < 10_000:
            yield f"ML-kNN, fit, {n:,} x {d}", "scikit-learn's neighbors", (
                lambda X=X, Y=Y: MLkNN(10).fit(X, Y), peer
            )  # fmt: skip

    yield from single_rows()
    X, Y = generated(1_500, 50, 10)
    base = LogisticRegression()
    ours, theirs = BinaryRelevance(base).fit(X, Y), OneVsRestClassifier(base).fit(X, Y)
    yield "binary relevance, predict, 1,500 x 50", "OneVsRestClassifier", (
        lambda: ours.predict(X), lambda: theirs.predict(X)
    )  # fmt: skip
    yield (
        "gradient boosting, fit, 1,500 x 50",
        "HistGradientBoosting per label",
        (
            lambda: MLGradientBoosting(n_estimators=50).fit(X, Y),
            lambda: MultiOutputClassifier(
                HistGradientBoostingClassifier(max_iter=50, early_stopping=False)
            ).fit(X, Y),
        ),
    )

    words, tags = texts()
    yield (
        "linear support vectors, fit, 3,000 texts",
        "LinearSVC per label",
        (
            lambda: OneVsAllLinear().fit(words, tags),
            lambda: OneVsRestClassifier(LinearSVC()).fit(words, tags),
        ),
    )

    truth, scores = scored(2_000, 20)
    labels = (scores > 0.5).astype(np.int8)
    yield "all measures, 2,000 x 20", "scikit-learn's functions, one by one", (
        lambda: metrics.evaluate(truth, scores, labels), lambda: one_by_one(truth, scores, labels)
    )  # fmt: skip

    yield from files(folder)
    yield "stream, ML-kNN in a window of 1,000", "the distances and a partial sort", stream()


def single_rows() -> Iterator[tuple[str, str, Pair]]:
    """Answers to 100 rows, one by one: what a call costs before its arithmetic."""
    X, Y = generated(400, 20, 10)
    base = LogisticRegression()
    search = NearestNeighbors(n_neighbors=10, algorithm="brute").fit(X)
    rest = OneVsRestClassifier(base).fit(X, Y)
    for what, peer, learner, theirs in (
        ("ML-kNN", "scikit-learn's search", MLkNN(10), search.kneighbors),
        (
            "binary relevance",
            "OneVsRestClassifier",
            BinaryRelevance(base),
            rest.predict_proba,
        ),
        ("chain", "OneVsRestClassifier", ClassifierChain(base), rest.predict_proba),
    ):
        learner.fit(X, Y)

        def one_by_one(answer: Any) -> None:
            for i in range(100):
                answer(X[i : i + 1])

        yield f"{what}, one row, 400 x 20", peer, (
            lambda learner=learner: one_by_one(learner.predict_proba),
            lambda theirs=theirs: one_by_one(theirs),
        )  # fmt: skip


def texts() -> tuple[Any, Any]:
    """Sparse features as TF-IDF gives them, and labels that depend on some."""
    rng = np.random.default_rng(0)
    n, d, q = 3_000, 20_000, 20
    rows, columns = np.repeat(np.arange(n), 60), (d * rng.random(60 * n) ** 3).astype(int)
    X = sparse.csr_array((rng.random(60 * n), (rows, columns)), shape=(n, d))
    X.sum_duplicates()
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    scores = X @ rng.normal(size=(d, q))
    return X, (scores > np.quantile(scores, 0.9, axis=0)).astype(np.int8)


def files(folder: Path) -> Iterator[tuple[str, str, Pair]]:
    """Reading a table, and reading a model."""
    from pyarrow import csv

    X, Y = generated(20_000, 30, 5)
    names = [*(f"x{j}" for j in range(30)), *(f"l{j}" for j in range(5))]
    path = folder / "table.csv"
    np.savetxt(path, np.hstack([X, Y]), "%.6g", delimiter=",", header=",".join(names), comments="")

    def columns() -> Any:
        table = csv.read_csv(path, csv.ReadOptions(use_threads=False))
        return np.column_stack([column.to_numpy() for column in table.columns])

    yield "reading CSV, 20,000 x 35", "pyarrow to one matrix", (
        lambda: io.read_table(path, labels=names[30:]), columns
    )  # fmt: skip
    model = MLkNN(10).fit(X, Y)
    plurilabel.save(model, folder / "model.skops")
    stored = bytes_io.BytesIO()
    joblib.dump(model, stored)

    def peer() -> Any:
        stored.seek(0)
        return joblib.load(stored)

    yield "reading a model, ML-kNN, 20,000 x 30", "joblib from memory", (
        lambda: plurilabel.load(folder / "model.skops"), peer
    )  # fmt: skip


def stream() -> Pair:
    """500 rows: predict, then learn; beside it, what no window of neighbors can avoid."""
    X, Y = generated(1_500, 20, 6)
    rows = [dict(enumerate(map(float, x))) for x in X]
    sets = [{j: bool(one) for j, one in enumerate(y)} for y in Y]

    def ours() -> None:
        model = WindowMLkNN(n_neighbors=10, window_size=1_000)
        for x, y in zip(rows, sets):
            model.predict_one(x)
            model.learn_one(x, y)

    def limit() -> None:
        for i, x in enumerate(X):
            window = X[max(0, i - 1_000) : i]
            if len(window) > 10:
                distances = ((window - x) ** 2).sum(axis=1)
                np.argpartition(distances, 10)

    return ours, limit


def measured(tasks: Pair, turns: int) -> float:
    """The least time of ours over the least of the peer's."""
    for task in tasks:
        task()
    taken = [[_seconds(task) for task in tasks] for _ in range(turns)]
    ours, peer = np.min(taken, axis=0)
    return float(ours / max(peer, 1e-9))


def _seconds(task: Callable[[], Any]) -> float:
    found: list[Any] = []
    here = cpu_seconds(lambda: found.append(task()))
    return found[0] if isinstance(found[0], float) else here  # of a child


def last_kept(path: Path = HISTORY) -> dict[str, float]:
    """The ratios of the last run in the history."""
    lines = path.read_text("utf-8").splitlines() if path.exists() else []
    return json.loads(lines[-1])["ratios"] if lines else {}


def judged(ratio: float, before: float | None) -> str:
    """What a ratio says beside the one before."""
    if before is None:
        return "new"
    grown = ratio / before
    return "FAILED" if grown >= FAILED else "slower" if grown > SLOWER else ""


def main(arguments: list[str] | None = None) -> int:
    """Measure, compare, print, and keep."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks guard", description=__doc__)
    parser.add_argument("--keep", action="store_true", help="add this run to the history")
    keep = parser.parse_args(arguments).keep
    before, ratios, failed = last_kept(), {}, False
    print(f"{'ours over the peer, below 1 is faster':44} {'now':>7} {'before':>7}")
    with tempfile.TemporaryDirectory() as folder, threadpool_limits(1):
        for what, peer, tasks in pairs(Path(folder)):
            ratio, old = measured(tasks, TURNS), before.get(what)
            if judged(ratio, old) in ("slower", "FAILED"):
                ratio = min(ratio, measured(tasks, AGAIN))  # a busy moment, perhaps
            word = judged(ratio, old)
            failed |= word == "FAILED"
            ratios[what] = round(ratio, 3)
            shown = "" if old is None else f"{old:7.2f}"
            print(f"{what:44} {ratio:7.2f} {shown:7} {word:7} beside {peer}", flush=True)
    if keep:
        kept = {**state(), "processor": platform.machine(), "ratios": ratios}
        with HISTORY.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(kept) + "\n")
    if failed:
        print("FAILED: a ratio is at least twice that of the last kept run")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
