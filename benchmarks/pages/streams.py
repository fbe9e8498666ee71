"""Stream learners compared with river's: the table of `docs/stream_results.md`.

Every dataset in file order, test then train, measures over all rows; texts are dicts of their
words, so that zeros are not stored. A learner that takes longer than the limit on a dataset is
left out there. Run it from the repository root::

    python -m benchmarks streams --rows 1500 --seconds 20
    python -m benchmarks streams --tables
    python -m benchmarks streams --speed 100000
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks import RESULTS
from plurilabel import datasets, streams
from plurilabel._core.blocks import dense

RUNS = RESULTS / "streams.jsonl"
DATASETS = ("scene", "genbase", "medical", "slashdot", "reuters-k500", "20ng")


def river_learners() -> dict[str, Callable[[], Any]]:
    from river import linear_model, multioutput, optim, preprocessing, tree

    def chain(*optimizer: Any) -> Any:
        return multioutput.ClassifierChain(linear_model.LogisticRegression(*optimizer))

    return {
        "river: ClassifierChain": chain,
        # around the same classifier as ours
        "river: ClassifierChain, AdaGrad": lambda: chain(optim.AdaGrad(1.0)),
        "river: StandardScaler, ClassifierChain": lambda: preprocessing.StandardScaler() | chain(),
        "river: chain of Hoeffding trees": lambda: multioutput.ClassifierChain(
            tree.HoeffdingTreeClassifier()
        ),
        "river: PerOutputClassifier": lambda: multioutput.PerOutputClassifier(
            linear_model.LogisticRegression()
        ),
        "river: MultiClassEncoder": lambda: multioutput.MultiClassEncoder(
            linear_model.SoftmaxRegression()
        ),
        "river: ISOUPTreeRegressor": lambda: streams.RegressorLearner(tree.ISOUPTreeRegressor()),
    }


OURS: dict[str, Callable[[], Any]] = {
    "WindowMLkNN": streams.WindowMLkNN,
    "WindowMLkNN, cosine": lambda: streams.WindowMLkNN(metric="cosine"),
    "MLSAMPkNN": streams.MLSAMPkNN,
    "NeighborSubspaceEnsemble": lambda: streams.NeighborSubspaceEnsemble(random_state=0),
    "StreamBinaryRelevance": streams.StreamBinaryRelevance,
    "StreamClassifierChain": streams.StreamClassifierChain,
    "StreamPrunedSets": streams.StreamPrunedSets,
    "MLHoeffdingTree": streams.MLHoeffdingTree,
    "MLHoeffdingTree, ML-kNN": lambda: streams.MLHoeffdingTree("mlknn"),
}


def measure(learner: Any, X: Any, Y: Any, seconds: float) -> dict[str, float] | None:
    """Subset accuracy, example F1, micro F1 and rows per second; None past the limit."""
    predicted = np.zeros(Y.shape, dtype=bool)
    sparse = (X != 0).mean() < 0.5
    start = time.process_time()
    for i, (row, truth) in enumerate(zip(X, Y)):
        columns = np.flatnonzero(row).tolist() if sparse else range(len(row))
        x = {f"x{j}": float(row[j]) for j in columns}
        for label, value in learner.predict_one(x).items():
            predicted[i, label] = bool(value)
        learner.learn_one(x, dict(enumerate(truth.tolist())))
        if time.process_time() - start > seconds:
            return None
    spent = time.process_time() - start
    hits, both = (predicted & Y).sum(axis=1), predicted.sum(axis=1) + Y.sum(axis=1)
    return {
        "subset_accuracy": float((predicted == Y).all(axis=1).mean()),
        "example_f1": float(np.where(both > 0, 2 * hits / np.maximum(both, 1), 1.0).mean()),
        "micro_f1": float(2 * hits.sum() / both.sum()),
        "rows_per_second": len(X) / spent,
    }


def tables() -> str:
    """The tables of the page, from what was measured last; the best of each column in bold."""
    rows = [json.loads(line) for line in RUNS.read_text().splitlines()]
    found = {(row["dataset"], row["learner"]): row for row in rows}
    n = {row["dataset"]: row["rows"] for row in rows}
    lines = []
    for measure in ("subset_accuracy", "example_f1", "micro_f1"):
        heads = " | ".join(f"{name} ({n[name]:,})" for name in DATASETS)
        title = measure.replace("_", " ").capitalize()
        lines += [f"## {title}", "", f"| learner | {heads} |", "| --- |" + " ---: |" * len(n)]
        for learner in dict.fromkeys(row["learner"] for row in rows):
            cells = []
            for name in DATASETS:
                column = [row.get(measure, -1.0) for key, row in found.items() if key[0] == name]
                value = found.get((name, learner), {}).get(measure)
                text = "-" if value is None else f"{value:.3f}".removeprefix("0")
                cells.append(f"**{text}**" if value == max(column) else text)
            lines.append(f"| {learner} | {' | '.join(cells)} |")
        lines.append("")
    return "\n".join(lines)


def speed(n: int, window: int = 1000, d: int = 100, q: int = 20) -> None:
    """Rows per second of WindowMLkNN, predicted and learned, and its memory on the way."""
    rng = np.random.default_rng(0)
    centres, learner, rates = rng.normal(size=(q, d)), streams.WindowMLkNN(window_size=window), []
    for start in range(0, n, 500):
        X = rng.normal(size=(500, d)) + centres[rng.integers(q, size=500)]
        Y = rng.random((500, q)) < 0.15
        rows = [dict(enumerate(x)) for x in X.tolist()], [dict(enumerate(y)) for y in Y.tolist()]
        begin = time.process_time()
        for x, y in zip(*rows):
            learner.predict_one(x)
            learner.learn_one(x, y)
        rates.append(500 / (time.process_time() - begin))
        if (start + 500) % 10_000 == 0:
            kilobytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            memory = f"{learner._raw_memory_usage:,} bytes, {kilobytes:,} kB in all"
            rate = np.median(rates[-20:])
            print(f"{start + 500:,} rows: {memory}, {rate:,.0f} rows per second", flush=True)
    steady = rates[2 * window // 500 :]
    median, least, most = np.median(steady), min(steady), max(steady)
    print(f"rows per second: median {median:,.0f}, least {least:,.0f}, most {most:,.0f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1500, help="the first rows of each dataset")
    parser.add_argument("--seconds", type=float, default=20.0, help="of each learner, per dataset")
    parser.add_argument("--only", nargs="*", default=[], help="learners, by their names")
    parser.add_argument("--speed", type=int, help="only the speed of WindowMLkNN on so many rows")
    parser.add_argument("--tables", action="store_true", help="only print what was measured")
    args = parser.parse_args()
    if args.tables:
        return print(tables())
    if args.speed:
        return speed(args.speed)
    learners = {**OURS, **river_learners()}
    for name in DATASETS:
        data = datasets.load(name)
        X, Y = dense(data.X[: args.rows]), dense(data.Y[: args.rows]).astype(bool)
        for learner in args.only or learners:
            found = measure(learners[learner](), X, Y, args.seconds)
            row = {"dataset": name, "rows": len(X), "learner": learner, **(found or {})}
            with open(RUNS, "a") as stream:
                stream.write(json.dumps(row) + "\n")
            print(row, flush=True)


if __name__ == "__main__":
    main()
