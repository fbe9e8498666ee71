"""The search on a GPU, compared with the product it needs and with torch.

    python -m benchmarks gpu [--quick] [PART ...]

Needs a GPU with CUDA. Every line is a time in seconds, the best of three after a warm-up, all in
one run: the training graph of 10 neighbors, excluding the point itself, with the points on the GPU
("device") and in main memory ("host", with transfers, canonical distances, and answers in numpy),
torch's product and ``topk`` in float32 on the same points, FlashLib if it is installed, and ML-kNN
with 1,000 labels. Then sparse points, tensors and answers of learners, each compared with main
memory and CPU; and the GPU memory used compared with the limit.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any
from unittest import mock

import numpy as np
import torch
from scipy import sparse

from plurilabel import ExactIndex, MLkNN, MLkNNCV
from plurilabel.learners.lazy import _gpu
from plurilabel.neighbors._gpu.search import Search

K = 10


def seconds(work: Callable[[], Any], turns: int = 3) -> tuple[float, Any]:
    """Least time of some turns, after one that is not counted; and the last answer."""
    times, answer = [], work()
    for _ in range(turns):
        torch.cuda.synchronize()
        start = time.perf_counter()
        answer = work()
        torch.cuda.synchronize()
        times.append(time.perf_counter() - start)
    return min(times), answer


def points(n: int, d: int, kind: str) -> torch.Tensor:
    """Normal points, or a thousand clusters of them: loose (0.3), or tight (0.001)."""
    generator = torch.Generator("cuda").manual_seed(0)
    X = torch.randn(n, d, device="cuda", generator=generator)
    if kind == "normal":
        return X
    centres = torch.randn(1000, d, device="cuda", generator=generator)
    of = torch.randint(0, 1000, (n,), device="cuda", generator=generator)
    return X * {"loose clusters": 0.3, "tight clusters": 0.001}[kind] + centres[of]


def product_and_topk(X: torch.Tensor, rows: int = 4096) -> torch.Tensor:
    """What one writes in torch: not exact, and of the size (rows, n) at a time."""
    squares = X.square().sum(1)
    found = []
    for i in range(0, len(X), rows):
        D = torch.addmm(squares, X[i : i + rows], X.T, alpha=-2.0)
        found.append(D.topk(K + 1, dim=1, largest=False).indices)
    return torch.cat(found)


def line(*cells: Any) -> None:
    """A line of the table, filled up to seven cells."""
    cells += ("",) * (7 - len(cells))
    print("| " + " | ".join(str(cell) for cell in cells) + " |", flush=True)


def on_device(n: int, d: int, kind: str, memory: int) -> None:
    X = points(n, d, kind)
    torch.cuda.reset_peak_memory_stats()

    def graph() -> tuple[Search, Any]:
        search = Search(X, memory)
        return search, search.neighbors(None, K)

    took, (search, (distances, indices)) = seconds(graph, turns=3 if n <= 1_000_000 else 1)
    peak = torch.cuda.max_memory_allocated() / 2**30
    sample = torch.randint(0, n, (256,), device="cuda")
    right = _right(X, sample, distances[sample], indices[sample])
    line(f"{n:,} x {d}", kind, "device", f"{took:.3f}", f"{search.uncertain} in float64", right,
         f"{peak:.1f} GiB")  # fmt: skip


def _right(X: torch.Tensor, rows: torch.Tensor, distances: torch.Tensor, indices: Any) -> str:
    """Whether some rows have the neighbours that all distances in float64 give."""
    same = 0
    for row, near, far in zip(rows.tolist(), indices, distances):
        parts = X.split(1 << 20)
        D = torch.cat([(part.double() - X[row].double()).square().sum(1) for part in parts])
        D[row] = torch.inf
        value, index = D.topk(K, largest=False)
        close = torch.allclose(value.sqrt(), far, rtol=1e-12)
        same += close and set(index.tolist()) == set(near.tolist())
    return f"{same} of {len(rows)} rows right"


def queries_and_peers(n: int, memory: int) -> None:
    X = points(n, 128, "normal")
    search, new = Search(X, memory), torch.randn(10_000, 128, device="cuda")
    size = f"{n:,} x 128"
    line(size, "10,000 queries", "device", f"{seconds(lambda: search.neighbors(new, K))[0]:.4f}")
    took, _ = seconds(lambda: product_and_topk(X), turns=1)
    line(size, "normal", "torch: product, topk", f"{took:.3f}")
    if not find_spec("flashlib"):
        line(size, "normal", "FlashLib", "is not installed")
        return
    import flashlib

    line(size, "normal", "FlashLib", f"{seconds(lambda: flashlib.knn(X, X, K + 1))[0]:.3f}")


def from_host(n: int) -> None:
    """Arrays in the main memory: the index, and ML-kNN with 1,000 labels."""
    host = points(n, 128, "normal").cpu().numpy()
    size = f"{n:,} x 128"
    took, _ = seconds(lambda: ExactIndex(device="cuda").fit(host).kneighbors(None, K), turns=2)
    line(size, "normal", "host", f"{took:.3f}")
    Y = sparse.random(n, 1000, density=0.003, format="csr", random_state=0, dtype=np.float64)
    Y = sparse.csr_array((np.ones(Y.nnz, dtype=np.int8), Y.indices, Y.indptr), shape=Y.shape)
    learner = MLkNN(K, device="cuda")
    took, _ = seconds(lambda: learner.fit(host, Y), turns=2)
    line(f"{size}, 1,000 labels", "normal", "MLkNN.fit", f"{took:.3f}")
    for m in (10_000, 100_000):
        answers(learner, host[:m], f"{size}, 1,000 labels", "sparse labels")
    many, Y = host[:200_000], (np.random.default_rng(0).random((n, 100)) < 0.03).astype(np.int8)
    learner = MLkNN(K, device="cuda").fit(host, Y)
    answers(learner, host[:100_000], f"{size}, 100 labels", "dense labels")
    for scoring in ("hamming_loss", "average_precision"):
        sweep(many, Y[: len(many)], scoring)


def answers(learner: MLkNN, X: np.ndarray, size: str, form: str) -> None:
    """Each answer with labels counted on the GPU, and in the main memory; the search alone."""
    kind = f"{len(X):,} queries, {form}"
    search, _ = seconds(lambda: learner.index_.kneighbors(X, K), turns=1)
    line(size, kind, "the search alone", f"{search:.3f}")
    for name in ("predict_top", "predict", "predict_proba"):
        ask = getattr(learner, name)
        there, found = seconds(lambda ask=ask: ask(X), turns=1)
        _gpu.SENT_FOR_ONE, usual = 0, _gpu.SENT_FOR_ONE
        here, expected = seconds(lambda ask=ask: ask(X), turns=1)
        _gpu.SENT_FOR_ONE = usual
        same = abs(found - expected).max() == 0
        line(size, kind, f"MLkNN.{name}", f"{there:.3f}", f"{here:.3f} on the CPU", _said(same))


def sweep(X: np.ndarray, Y: np.ndarray, scoring: str) -> None:
    """What MLkNNCV takes after the search, for ten values of k."""
    learner = MLkNNCV(range(1, 11), scoring=scoring, device="cuda")
    with_search, found = seconds(lambda: learner.fit(X, Y).cv_values_, turns=1)
    search, _ = seconds(lambda: ExactIndex(device="cuda").fit(X).kneighbors(None, 11), turns=1)
    start = time.perf_counter()
    # labels are counted where neighbours were found
    with mock.patch.object(ExactIndex, "device_", "cpu"):
        learner._learn(*learner.graph_)
    here = time.perf_counter() - start
    size = f"{X.shape[0]:,} x {X.shape[1]}, {Y.shape[1]} labels"
    line(size, f"k to 10, {scoring}", "the search alone", f"{search:.3f}")
    line(size, f"k to 10, {scoring}", "MLkNNCV after it", f"{with_search - search:.3f}",
         f"{here:.3f} on the CPU", _said(np.array_equal(found, learner.cv_values_)))  # fmt: skip


def sparse_points(n: int, d: int, density: float) -> None:
    """CSR on the GPU, made dense there, beside the CPU's search: the graph of some, queries."""
    rng = np.random.default_rng(0)
    ends = np.concatenate([[0], np.cumsum(rng.binomial(d, density, n))])
    columns = (d * rng.random(ends[-1]) ** 2).astype(np.int32)  # some features are frequent
    X = sparse.csr_array((rng.random(ends[-1], dtype=np.float32), columns, ends), (n, d))
    X.sum_duplicates()
    new, size = X[:2000], f"{n:,} x {d:,}, {density:.2%} not zero"
    for metric in ("euclidean", "cosine"):
        there = ExactIndex(metric, device="cuda")
        took, _ = seconds(lambda there=there: there.fit(X).kneighbors(None, K), turns=1)
        asked, found = seconds(lambda there=there: there.kneighbors(new, K), turns=1)
        uncertain = [search.uncertain for search in there._engine.kept or ()]
        here = ExactIndex(metric, device="cpu").fit(X)
        start = time.perf_counter()
        expected = here.kneighbors(new, K)
        cpu = time.perf_counter() - start
        same = all(np.array_equal(a, b) for a, b in zip(found, expected))
        line(size, metric, f"graph on {there.device_}", f"{took:.3f}", f"{uncertain} in float64")
        line(size, f"{metric}, 2,000 queries", there.device_, f"{asked:.3f}",
             f"{cpu:.3f} on the CPU", _said(same))  # fmt: skip


def tensors(n: int) -> None:
    """Tensors in, tensors out, through the public index."""
    X = points(n, 128, "normal")
    for metric in ("euclidean", "cosine"):
        index = ExactIndex(metric, device="cuda")
        took, found = seconds(
            lambda index=index: index.fit(X).kneighbors(None, K, as_tensors=True)
        )
        line(f"{n:,} x 128", metric, "tensors in and out", f"{took:.3f}")
        del index, found


def bounded_memory(n: int, d: int) -> None:
    """The peak of a GPU's memory beside the bound given, and the answer of no bound."""
    host = points(n, d, "normal").cpu().numpy()
    torch.cuda.empty_cache()
    expected = ExactIndex(device="cuda").fit(host).kneighbors(host[:5000], K)
    for gigabytes in (1, 2, 4):
        index = ExactIndex(device="cuda", device_memory=gigabytes << 30)
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
        start = time.perf_counter()
        index.fit(host).kneighbors(None, K)
        took = time.perf_counter() - start
        found = index.kneighbors(host[:5000], K)
        peak = torch.cuda.max_memory_allocated() / 2**30
        same = all(np.array_equal(a, b) for a, b in zip(found, expected))
        line(f"{n:,} x {d}", "normal", f"at most {gigabytes} GiB", f"{took:.3f}", "", _said(same),
             f"{peak:.2f} GiB")  # fmt: skip
        del index


def _said(same: bool) -> str:
    return "identical, bit for bit" if same else "NOT identical"


def beside_the_cpu(n: int = 100_000) -> None:
    host = points(n, 128, "normal").cpu().numpy()
    found = ExactIndex(device="cuda").fit(host).kneighbors(None, K)
    start = time.perf_counter()
    expected = ExactIndex(device="cpu").fit(host).kneighbors(None, K)
    took = time.perf_counter() - start
    same = all(np.array_equal(a, b) for a, b in zip(found, expected))
    line(f"{n:,} x 128", "normal", "the CPU's search", f"{took:.1f}", _said(same))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="100,000 points instead of a million")
    parser.add_argument("--gigabytes", type=int, default=30, help="that a search may use")
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}; or all")
    options = parser.parse_args()
    n, memory = 100_000 if options.quick else 1_000_000, options.gigabytes << 30
    print(torch.cuda.get_device_name(), "torch", torch.__version__)
    line("points", "kind", "what", "seconds", "", "", "peak memory")
    line(*["---"] * 7)
    for part in options.parts or PARTS:
        torch.cuda.empty_cache()
        PARTS[part](n, memory)


def graphs(n: int, memory: int) -> None:
    kinds = ("normal", "loose clusters", "tight clusters")
    for d, kind in (*((128, kind) for kind in kinds), (384, "normal"), (768, "normal")):
        on_device(n, d, kind, memory)


def all_sparse(n: int, _: int) -> None:
    for rows, d, density in (
        (50_000, 2000, 0.01),
        (100_000, 30_000, 0.001),
        (30_000, 60_000, 5e-4),
    ):
        sparse_points(min(rows, n // 2), d, density)


PARTS: dict[str, Callable[[int, int], Any]] = {
    "graphs": graphs,
    "large": lambda n, memory: on_device(10 * n, 64, "normal", memory),
    "queries": queries_and_peers,
    "host": lambda n, _: from_host(n),
    "tensors": lambda n, _: tensors(n),
    "sparse": all_sparse,
    "memory": lambda n, _: [bounded_memory(n, d) for d in (4, 128)],
    "cpu": lambda _, __: beside_the_cpu(),
}


if __name__ == "__main__":
    main()
