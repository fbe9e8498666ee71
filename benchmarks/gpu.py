"""The search on a GPU, beside the product it cannot avoid and what torch makes of it.

    python -m benchmarks.gpu [--quick]

A program of its own: it needs a GPU with CUDA, and has no part in ``python -m benchmarks``. Every
line is a time in seconds, the least of three after one to warm up, all in one run: the training
graph of 10 neighbours, none its own, with the points on the GPU ("device") and in the main memory
("host", with transfers, canonical distances, and answers in numpy), torch's product and ``topk``
in float32 on the same points, FlashLib where it is installed, and ML-kNN with 1,000 labels.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np
import torch
from scipy import sparse

from plurilabel.lazy import MLkNN
from plurilabel.neighbors import ExactIndex
from plurilabel.neighbors._device.search import Search

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
    took, _ = seconds(lambda: learner.predict_top(host[:10_000], 5), turns=1)
    line(f"{size}, 1,000 labels", "10,000 queries", "MLkNN.predict_top", f"{took:.3f}")


def beside_the_cpu(n: int = 100_000) -> None:
    host = points(n, 128, "normal").cpu().numpy()
    found = ExactIndex(device="cuda").fit(host).kneighbors(None, K)
    start = time.perf_counter()
    expected = ExactIndex(device="cpu").fit(host).kneighbors(None, K)
    took = time.perf_counter() - start
    same = all(np.array_equal(a, b) for a, b in zip(found, expected))
    said = "identical, bit for bit" if same else "NOT identical"
    line(f"{n:,} x 128", "normal", "the CPU's search", f"{took:.1f}", said)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="100,000 points instead of a million")
    parser.add_argument("--gigabytes", type=int, default=30, help="that a search may use")
    options = parser.parse_args()
    n, memory = 100_000 if options.quick else 1_000_000, options.gigabytes << 30
    print(torch.cuda.get_device_name(), "torch", torch.__version__)
    line("points", "kind", "what", "seconds", "", "", "peak memory")
    line(*["---"] * 7)
    kinds = ("normal", "loose clusters", "tight clusters")
    for d, kind in (*((128, kind) for kind in kinds), (384, "normal"), (768, "normal")):
        on_device(n, d, kind, memory)
    if not options.quick:
        on_device(10_000_000, 64, "normal", memory)
    queries_and_peers(n, memory)
    from_host(n)
    beside_the_cpu()


if __name__ == "__main__":
    main()
