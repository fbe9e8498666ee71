"""Neighbors on Dask: compared with one process, with little memory, in other chunks, and costs.

    python -m benchmarks dask [graph] [chunks] [memory] [cost] [mlknn] [answers] [spread] ...

Starts a cluster of two worker processes with one thread each.

graph : the training graph on two workers and by :class:`ExactIndex` with two threads, in turns;
    seconds, processor seconds (of all processes), and their ratios. The goal is 1.25.
chunks : whether five chunkings give the same bytes.
memory : points on disk that are ``--times`` as large as the memory limits of all workers.
cost : the estimate of ``DaskIndex.cost`` next to the measured cost.
mlknn : ML-kNN on Parquet files, with a list of labels in each row, out of core.
answers : predictions of 200 labels for ``--n`` rows with 100 features in a Parquet file: by one
    process with all rows in memory, in blocks, and by two workers of 1 GB; whether the files
    are equal, processor seconds and peaks of memory. The goal is 1.3 of the processor time.
spread : binary relevance with logistic regression on the same rows, in memory and on two workers.
rows : binary relevance with logistic regression by ``distributed.fit``: ``--memory-n`` of these
    rows in memory, by scikit-learn and as blocks, and on two workers of 1 GB; then ``--n`` rows
    on these, with their predictions and measures. Processor seconds, their ratios per row, peaks.
"""

from __future__ import annotations

import argparse
import math
import multiprocessing
import os
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from itertools import pairwise
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from distributed import Client, LocalCluster
from plurilabel import (
    BinaryRelevance,
    DaskIndex,
    DaskLazyClassifier,
    ExactIndex,
    MLkNN,
    metrics,
    save,
)  # fmt: skip
from plurilabel.distributed import _tiles as tasks
from plurilabel.distributed import evaluate, fit, predict_proba, read, spread
from plurilabel.models import write_predictions
from plurilabel.neighbors import _products as products

K = 10


@contextmanager
def cluster(
    memory: str | int = 0, folder: str | None = None, n_workers: int = 2
) -> Iterator[Client]:
    with (
        LocalCluster(
            n_workers=n_workers,
            threads_per_worker=1,
            memory_limit=memory,
            dashboard_address=":0",
            local_directory=folder,
        ) as workers,
        Client(workers) as client,
    ):
        client.run(_imported)
        yield client


def _imported() -> float:
    import plurilabel.distributed  # noqa: F401 - not part of what is measured

    return time.process_time()


def _peak_mb() -> float:
    # not ru_maxrss, which a new process takes over from the one that starts it
    (line,) = (one for one in Path("/proc/self/status").read_text().split("\n") if "VmHWM" in one)
    return int(line.split()[1]) / 1024


def _received(dask_worker: Any) -> int:
    return sum(entry["total"] for entry in dask_worker.transfer_incoming_log)


def measured(client: Client | None, work: Callable[[], Any]) -> tuple[float, float, Any]:
    """Seconds, processor seconds of all processes, and the answer."""

    def spent() -> float:
        return time.process_time() + (sum(client.run(time.process_time).values()) if client else 0)

    before, start = spent(), time.perf_counter()
    answer = work()
    return time.perf_counter() - start, spent() - before, answer


def line(*cells: Any) -> None:
    print("| " + " | ".join(str(cell) for cell in cells) + " |", flush=True)


def points(n: int, d: int) -> Any:
    return np.random.default_rng(0).normal(size=(n, d))


def graph(n: int, d: int, turns: int) -> None:
    X = points(n, d)
    line("points", "ExactIndex, 2 threads", "2 workers", "ratio", "CPU s", "CPU s", "ratio")
    with cluster() as client, tempfile.TemporaryDirectory() as folder:
        chunks = on_disk(X, folder, -(-n // 4))
        for _ in range(turns):
            alone = measured(None, lambda: ExactIndex(n_jobs=2).fit(X).kneighbors(None, K))
            both = measured(client, lambda: DaskIndex().fit(chunks).kneighbors(None, K))
            for a, b in zip(alone[2], both[2]):
                np.testing.assert_array_equal(a, b)
            walls = f"{alone[0]:.1f}", f"{both[0]:.1f}", f"{both[0] / alone[0]:.2f}"
            cpus = f"{alone[1]:.1f}", f"{both[1]:.1f}", f"{both[1] / alone[1]:.2f}"
            line(f"{n:,} x {d}", *walls, *cpus)


def on_disk(X: Any, folder: str, rows: int) -> Any:
    """A file for each chunk of rows, and the array of them."""
    cuts = [*range(0, len(X), rows), len(X)]
    return from_files([(X[a:b], b - a) for a, b in pairwise(cuts)], X.shape[1], folder)


def from_files(parts: Any, d: int, folder: str) -> Any:
    arrays = []
    for i, (part, size) in enumerate(parts):
        path = os.path.join(folder, f"{i}.npy")
        np.save(path, part)
        arrays.append(da.from_delayed(dask.delayed(np.load)(path), (size, d), dtype=np.float64))
    return da.concatenate(arrays)


def chunkings(n: int, d: int) -> None:
    X = points(n, d)
    expected = ExactIndex().fit(X).kneighbors(None, K)
    with cluster():
        for chunks, rows in (
            ((n, d), None), ((n // 3, d), n // 5), ((997, d), n // 7), ((n // 4, d // 3), n // 2),
            ((tuple([0, 1, n // 2, n - n // 2 - 1, 0]), d), n // 11),
        ):  # fmt: skip
            found = DaskIndex(rows=rows).fit(da.from_array(X, chunks=chunks)).kneighbors(None, K)
            same = all(a.tobytes() == b.tobytes() for a, b in zip(found, expected))
            line(f"chunks {str(chunks)[:40]}", f"rows={rows}", "same" if same else "DIFFERENT")


def memory(limit: int, times: float, d: int, rows: int, n_workers: int, k: int = 5) -> None:
    """Points in a file, larger than all memory; the answer is that of one process with room."""
    n = rows * math.ceil(times * n_workers * limit * 2**20 / (8 * d * rows))
    cuts = list(range(0, n + 1, rows))  # those of the index, too: a block is in one piece
    with (
        # Dask keeps profiles of the last hour: 0.1 MB for each second
        dask.config.set({"distributed.worker.profile.enabled": False}),
        tempfile.TemporaryDirectory() as folder,
        cluster(limit * 2**20, folder, n_workers) as client,
    ):
        path = os.path.join(folder, "points")
        with open(path, "wb") as file:
            for part in wide(cuts, d):
                part.tofile(file)
        chunks = [dask.delayed(read_rows)(path, a, b, d) for a, b in pairwise(cuts)]
        X = da.concatenate(
            [
                da.from_delayed(chunk, (b - a, d), dtype=np.float64)
                for chunk, (a, b) in zip(chunks, pairwise(cuts))
            ]
        )
        index = DaskIndex(rows=rows).fit(X)
        assert index._again(index.blocks_) is not None, "the points would be kept"
        before, python = client.run(os.getpid), max(client.run(_peak_mb).values())
        took, cpu, found = measured(client, lambda: index.kneighbors(None, k))
        assert client.run(os.getpid) == before, "a worker was restarted"
        peaks = client.run(_peak_mb).values()
        size, said = 8 * n * d / 2**20, index.cost(k, n_workers=n_workers).memory / 2**20
        line("points", "GB", "MB of workers", "times", "s", "CPU s", "peak MB", "start", "formula")
        line(
            f"{n:,} x {d:,}", f"{size / 1024:.2f}", f"{n_workers} x {limit}",
            f"{size / limit / n_workers:.2f}",
            f"{took:.0f}", f"{cpu:.0f}", ", ".join(f"{peak:.0f}" for peak in peaks),
            f"{python:.0f}", f"{said:.0f}",
        )  # fmt: skip
        client.shutdown()  # one process with room for everything is next
        whole = np.memmap(path, dtype=np.float64, shape=(n, d), mode="r")
        took, cpu, expected = measured(
            None, lambda: ExactIndex(n_jobs=2).fit(whole).kneighbors(None, k)
        )
        same = all(a.tobytes() == b.tobytes() for a, b in zip(found, expected))
        line("ExactIndex", f"{took:.0f}", f"{cpu:.0f}", "same" if same else "DIFFERENT")


def wide(cuts: list[int], d: int) -> Iterator[Any]:
    """Blocks of points with 16 hidden features, and noise."""
    rng = np.random.default_rng(0)
    hidden = rng.normal(size=(16, d))
    for a, b in pairwise(cuts):
        yield rng.normal(size=(b - a, 16)) @ hidden + 0.1 * rng.normal(size=(b - a, d))


def read_rows(path: str, start: int, stop: int, d: int) -> Any:
    """Rows of a file. Mapped, they would count as memory of the worker for as long as it runs."""
    return np.fromfile(path, count=(stop - start) * d, offset=8 * start * d).reshape(-1, d)


def cost(sizes: list[tuple[int, int, int, int]]) -> None:
    """With blocks that are kept, and that are read again: 1 is what the formula says."""
    line("points", "rows", "k", "blocks", "products", "task MB", "least MB", "received", "most MB")
    with cluster() as client, tempfile.TemporaryDirectory() as folder:
        for n, d, rows, k in sizes:
            X = points(n, d)
            chunks = on_disk(X, folder, rows)
            for again in (False, True):
                index = DaskIndex(rows=rows, reload=again).fit(chunks)
                said = index.cost(k, n_workers=2)
                counted = counted_products(index, k) / said.products
                task, traced = traced_task(X, rows, k)
                before = sum(client.run(_received).values())
                index.kneighbors(None, k)
                received = sum(client.run(_received).values()) - before
                least, most = (moved / 2**20 for moved in said.moved)
                line(
                    f"{n:,} x {d}", f"{rows:,}", k, "read again" if again else "kept",
                    f"{counted:.2f}", f"{traced / task:.2f}", f"{least:.1f}",
                    f"{received / 2**20:.1f}", f"{most:.1f}",
                )  # fmt: skip


def counted_products(index: DaskIndex, k: int) -> int:
    """Products of pairs of points that the tasks really make."""
    total, product = 0, products.product

    def counting(left: Any, right: Any, out: Any = None) -> Any:
        nonlocal total
        total += left.shape[0] * right.shape[1]
        return product(left, right, out)

    products.product = counting
    try:
        with dask.config.set(scheduler="synchronous"):
            index.kneighbors(None, k)
    finally:
        products.product = product
    return total


def traced_task(X: Any, rows: int, k: int) -> tuple[float, int]:
    """Bytes of a task of two blocks, by formula and at most, with its blocks."""
    blocks = [[(X[a : a + rows], a, a + rows)] for a in (0, rows)]
    far = [tasks.limits(tasks.among_themselves(ExactIndex(n_jobs=1), one, k)) for one in blocks]
    tracemalloc.start()
    tasks.across(ExactIndex(n_jobs=1), (blocks[0], blocks[1]), (far[0], far[1]), k)
    peak = tracemalloc.get_traced_memory()[1] + 2 * X[:rows].nbytes
    tracemalloc.stop()
    two = DaskIndex(rows=rows).fit(da.zeros((2 * rows, X.shape[1]), chunks=(rows, -1)))
    return two.cost(k).memory - 6 * 16 * k * rows, peak  # without the lists that wait


def mlknn(n: int, d: int, q: int, rows: int, limit: int) -> None:
    rng = np.random.default_rng(0)
    names = [f"x{j}" for j in range(d)]
    # labels are the cells that random directions cut, so that there is something to learn
    directions = rng.normal(size=(d, q))
    with tempfile.TemporaryDirectory() as folder, cluster(limit * 2**20, folder) as client:
        for i, start in enumerate(range(0, n, rows)):
            X = rng.normal(size=(min(rows, n - start), d))
            frame = pd.DataFrame(X.astype(np.float32), columns=names)
            frame["labels"] = list(np.argpartition(-(X @ directions), 3, axis=1)[:, :3])
            frame.to_parquet(Path(folder, f"part{i:04}.parquet"))
        sizes = [min(rows, n - start) for start in range(0, n, rows)]
        paths = sorted(Path(folder).glob("part*.parquet"))
        empty = sparse.csr_array((0, q), dtype=np.int8)
        X, Y = (
            da.concatenate(
                [
                    da.from_delayed(dask.delayed(read)(path, *args), (size, width), meta=meta)
                    for path, size in zip(paths, sizes)
                ]
            )
            for read, args, width, meta in (
                (features, (names,), d, np.empty((0, d), dtype=np.float32)),
                (indicator, (q,), q, empty),
            )
        )
        learner = DaskLazyClassifier(MLkNN(K), reload=True)
        fitted = measured(client, lambda: learner.fit(X, Y))
        asked = slice(0, min(n, 2 * rows))
        told = measured(
            client, lambda: evaluate(Y[asked], labels=learner.predict(X[asked]), rows=rows)
        )
        line("points", "labels", "fit s", "CPU s", "predict s", "micro F1", "peak MB of workers")
        peaks = ", ".join(f"{peak:.0f}" for peak in client.run(_peak_mb).values())
        line(
            f"{n:,} x {d}", q, f"{fitted[0]:.0f}", f"{fitted[1]:.0f}", f"{told[0]:.0f}",
            f"{told[2]['micro_f1']:.3f}", peaks,
        )  # fmt: skip


def features(path: Path, names: list[str]) -> Any:
    return pd.read_parquet(path, columns=names).to_numpy()


def indicator(path: Path, q: int) -> Any:
    """A CSR matrix of the lists of labels in a file."""
    lists = pd.read_parquet(path, columns=["labels"])["labels"]
    rows = np.repeat(np.arange(len(lists)), [len(some) for some in lists])
    columns = np.concatenate(list(lists))
    return sparse.csr_array(
        (np.ones(len(rows), dtype=np.int8), (rows, columns)), shape=(len(lists), q)
    )


def table(n: int, d: int, q: int, path: Path, *, labelled: bool = False) -> None:
    """Write rows with q labels of 10% each, a block at a time; also as columns if labelled."""
    names = [f"x{j}" for j in range(d)]
    more = [f"y{l}" for l in range(q)] if labelled else []
    columns = [(name, pa.float64()) for name in names] + [(name, pa.int8()) for name in more]
    W = np.random.default_rng(1).normal(size=(d, q)) / np.sqrt(d)
    with pq.ParquetWriter(path, pa.schema(columns)) as file:
        for i, start in enumerate(range(0, n, 25_000)):
            X = np.random.default_rng([2, i]).normal(size=(min(25_000, n - start), d))
            Y = X @ W + 0.5 * np.random.default_rng([3, i]).normal(size=(len(X), q)) > 1.43
            Y = Y.astype(np.int8)
            file.write_table(pa.table(dict(zip(names, X.T)) | dict(zip(more, Y.T))))
            np.save(path.with_name(f"Y{i:04d}.npy"), Y)


def labels(path: Path) -> Any:
    return np.vstack([np.load(part) for part in sorted(path.parent.glob("Y*.npy"))])


def answers(n: int, d: int, q: int, limit: int, folder: Path) -> None:
    """In processes of their own, whose peaks of memory are told."""
    rows, model = folder / "rows.parquet", folder / "model.skops"
    table(n, d, q, rows)
    frame = pq.ParquetFile(rows).read_row_group(0).to_pandas()
    learner = BinaryRelevance(LogisticRegression()).fit(frame, np.load(folder / "Y0000.npy"))
    save(learner, model)
    del frame, learner
    line("answers", "processor s", "ratio", "peak of the process, MB", "of a worker, MB", "equal")
    base = 0.0
    for how in ("memory", "blocks", "cluster"):
        ask = multiprocessing.get_context("spawn").Process(
            target=_answered, args=(how, model, rows, folder / f"{how}.parquet", limit)
        )
        ask.start()
        ask.join()
        seconds, peak, workers = np.load(folder / f"{how}.npy")
        base = base or seconds
        same = (folder / f"{how}.parquet").read_bytes() == (folder / "memory.parquet").read_bytes()
        line(how, f"{seconds:.1f}", f"{seconds / base:.2f}", f"{peak:.0f}", f"{workers:.0f}", same)


def _answered(how: str, model: Path, rows: Path, out: Path, limit: int) -> None:
    threadpool_limits(1)
    options: Any = {"top": 5, "scores": True}
    with cluster(f"{limit}MB") if how == "cluster" else nullcontext() as client:

        def work() -> Any:
            if how == "memory":
                return write_predictions(model, pd.read_parquet(rows), out, **options)
            return write_predictions(model, rows, out, scheduler=client, **options)

        _, spent, _ = measured(client, work)
        workers = max(client.run(_peak_mb).values()) if client else 0.0
        np.save(out.with_suffix(".npy"), [spent, _peak_mb(), workers])


def spread_by_labels(n: int, d: int, q: int, limit: int, folder: Path) -> None:
    rows = folder / "rows.parquet"
    table(n, d, q, rows)
    X, Y = pd.read_parquet(rows).to_numpy(), labels(rows)
    learner = BinaryRelevance(LogisticRegression())
    _, base, expected = measured(None, lambda: clone(learner).fit(X, Y))
    with cluster(f"{limit}MB") as client, spread(client):
        _, spent, found = measured(client, lambda: clone(learner).set_params(n_jobs=-1).fit(X, Y))
        peak = max(client.run(_peak_mb).values())
    same = all(
        np.array_equal(a.coef_, b.coef_) and np.array_equal(a.intercept_, b.intercept_)
        for a, b in zip(expected.estimators_, found.estimators_)
    )
    line("training", "in memory, processor s", "two workers", "ratio", "peak, MB", "equal bits")
    line(f"{n:,} x {d}, {q} labels", f"{base:.1f}", f"{spent:.1f}", f"{spent / base:.2f}",
         f"{peak:.0f}", same)  # fmt: skip


def by_rows(n: int, few: int, d: int, q: int, limit: int, folder: Path) -> None:
    line("rows", "how", "processor s", "ratio per row", "peak of a worker, MB", "micro F1")
    table(few, d, q, folder / "few.parquet", labelled=True)
    alone, base = _in_memory(pd.read_parquet(folder / "few.parquet").to_numpy(), d)
    found = _on_workers(few, folder / "few.parquet", q, limit, base / few)
    print("farthest coefficient:", _farthest(alone, found))
    table(n, d, q, folder / "many.parquet", labelled=True)
    _on_workers(n, folder / "many.parquet", q, limit, base / few)


def _in_memory(rows: Any, d: int) -> tuple[Any, float]:
    X, Y = rows[:, :d], rows[:, d:].astype(np.int8)
    learner, size = BinaryRelevance(LogisticRegression()), f"{len(rows):,}"
    _, base, alone = measured(None, lambda: clone(learner).fit(X, Y))
    line(size, "scikit-learn, in memory", f"{base:.1f}", "1.00", "", "")
    _, spent, _ = measured(None, lambda: fit(learner, X, Y))
    line(size, "blocks in memory", f"{spent:.1f}", f"{spent / base:.2f}", "", "")

    def ask() -> Any:
        return metrics.evaluate(Y, alone.predict_proba(X), alone.predict(X))["micro_f1"]

    _, spent, told = measured(None, ask)
    line(size, "predictions and measures, in memory", f"{spent:.1f}", "", "", f"{told:.4f}")
    return alone, base


def _on_workers(n: int, path: Path, q: int, limit: int, per_row: float) -> Any:
    learner = BinaryRelevance(LogisticRegression())
    with cluster(f"{limit}MB", str(path.parent)) as client:
        data = read(str(path), labels=[f"y{l}" for l in range(q)])
        _, spent, found = measured(client, lambda: fit(learner, data.X, data.Y))
        ratio, peak = spent / n / per_row, max(client.run(_peak_mb).values())
        passes = max(int(np.max(one.n_iter_)) for one in found.estimators_)
        line(f"{n:,}", f"two workers, {passes} passes", f"{spent:.1f}", f"{ratio:.2f}",
             f"{peak:.0f}", "")  # fmt: skip

        def ask() -> Any:
            scores = predict_proba(found, data.X)
            return evaluate(data.Y, scores, scores > 0.5)["micro_f1"]

        _, spent, told = measured(client, ask)
        peak = max(client.run(_peak_mb).values())
        line(f"{n:,}", "predictions and measures, two workers", f"{spent:.1f}", "", f"{peak:.0f}",
             f"{told:.4f}")  # fmt: skip
    return found


def _farthest(one: Any, other: Any) -> float:
    return max(abs(a.coef_ - b.coef_).max() for a, b in zip(one.estimators_, other.estimators_))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", nargs="*", default=["graph", "chunks", "memory", "cost"])
    parser.add_argument("--n", type=int, default=200_000)
    parser.add_argument("--d", type=int, default=64)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--limit", type=int, default=500, help="MB of each worker")
    parser.add_argument("--times", type=float, default=4.0)
    parser.add_argument("--features", type=int, default=100_000, help="of the points in `memory`")
    parser.add_argument("--rows", type=int, default=27, help="of a block in `memory`")
    parser.add_argument("--workers", type=int, default=2, help="in `memory`")
    parser.add_argument("--labels", type=int, default=200, help="in `answers` and `spread`")
    parser.add_argument("--memory-n", type=int, default=50_000, help="in memory, in `rows`")
    parser.add_argument("--mlknn-n", type=int, default=500_000)
    asked = parser.parse_args()
    threadpool_limits(1)  # as in Dask's workers
    if "graph" in asked.what:
        graph(asked.n, asked.d, asked.turns)
    if "chunks" in asked.what:
        chunkings(20_000, 60)
    if "memory" in asked.what:
        memory(asked.limit, asked.times, asked.features, asked.rows, asked.workers)
    if "cost" in asked.what:
        cost(
            [
                (20_000, 64, 5000, 10), (12_000, 32, 1000, 10), (16_000, 128, 4000, 20),
                (1_000, 20_000, 50, 5),
            ]
        )  # fmt: skip
    if "mlknn" in asked.what:
        mlknn(asked.mlknn_n, 32, 1000, max(5000, asked.mlknn_n // 10), 1024)
    for name, work in {"answers": answers, "spread": spread_by_labels}.items():
        if name in asked.what:
            with tempfile.TemporaryDirectory() as folder:
                work(asked.n, 100, asked.labels, 1000, Path(folder))
    if "rows" in asked.what:
        with tempfile.TemporaryDirectory() as folder:
            by_rows(asked.n, asked.memory_n, 100, asked.labels, 1000, Path(folder))


if __name__ == "__main__":
    main()
