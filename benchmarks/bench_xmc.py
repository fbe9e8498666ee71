"""The XMC reader beside scikit-learn's reader of the same lines.

``load_svmlight_file(multilabel=True)`` gives X and a list of label tuples; ours also gives Y in
CSR, so that it does slightly more. Times are the best of three, taken in turn.
"""

from __future__ import annotations

import tempfile
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.datasets import load_svmlight_file

from plurilabel.datasets import Dataset, read_xmc, write_xmc

N, D, Q = 100_000, 50_000, 5_000
N_FEATURES, N_LABELS = 50, 5  # per row


def generate(round_to: int | None) -> Dataset:
    """Rows with 50 features and 5 labels each; values with a few digits, or with all."""
    rng = np.random.default_rng(0)

    def columns(width: int, k: int) -> tuple[np.ndarray, np.ndarray]:
        stride = width // k  # one from each stretch of the columns: no duplicates, sorted
        chosen = rng.integers(0, stride, (N, k)) + stride * np.arange(k)
        return chosen.ravel(), np.arange(N + 1) * k

    values = rng.random(N * N_FEATURES) + 0.1
    if round_to is not None:
        values = values.round(round_to)
    X = sparse.csr_array((values, *columns(D, N_FEATURES)), shape=(N, D))
    Y = sparse.csr_array((np.ones(N * N_LABELS, int), *columns(Q, N_LABELS)), shape=(N, Q))
    return Dataset(X, Y, ("",) * D, ("",) * Q)


def best_of(repeats: int, *functions: Callable[[], Any]) -> list[float]:
    times = [[] for _ in functions]
    for _ in range(repeats):
        for function, taken in zip(functions, times):
            start = time.perf_counter()
            function()
            taken.append(time.perf_counter() - start)
    return [min(taken) for taken in times]


def run() -> list[dict[str, Any]]:
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for what, round_to in (("6 decimals", 6), ("all 16 or 17 digits", None)):
            data = generate(round_to)
            path, bare = Path(folder, "data.txt"), Path(folder, "data.svm")
            write_xmc(path, data)
            bare.write_bytes(path.read_bytes().partition(b"\n")[2])
            back, (X, _) = read_xmc(path), load_svmlight_file(bare, multilabel=True)
            assert (back.X != data.X).nnz == (back.X != X).nnz == (back.Y != data.Y).nnz == 0
            del back, X

            tracemalloc.start()
            back = read_xmc(path)
            size, peak = tracemalloc.get_traced_memory()
            tracemalloc.stop()
            del back
            ours, peer = best_of(
                3,
                lambda path=path: read_xmc(path),
                lambda bare=bare: load_svmlight_file(bare, multilabel=True),
            )
            megabytes = path.stat().st_size / 1e6
            rows.append(
                {
                    "what": f"read_xmc, {N:,} rows, {what}",
                    "ours_s": ours,
                    "peer_s": peer,
                    "ratio": ours / peer,
                    "note": f"peer: load_svmlight_file(multilabel=True); file {megabytes:.0f} MB, "
                    f"result {size / 1e6:.0f} MB, peak {peak / 1e6:.0f} MB",
                }
            )
    return rows


def main() -> None:
    for row in run():
        print(
            f"{row['what']}: {row['ours_s']:.2f} s, peer {row['peer_s']:.2f} s, "
            f"ratio {row['ratio']:.2f} ({row['note']})"
        )


if __name__ == "__main__":
    main()
