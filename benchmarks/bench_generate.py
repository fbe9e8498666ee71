"""Generators and describe: a million rows, and the peers at sizes they can do.

    python benchmarks/bench_generate.py [rows]

``ratio`` is ours / peer in time; for the first row it is peak memory / size of the result.
"""

import resource
import sys
import time

import numpy as np
from sklearn.datasets import make_multilabel_classification

from plurilabel.datasets import describe, make_multilabel, make_sparse_multilabel


def timed(function, *args, **kwargs):
    start = time.perf_counter()
    result = function(*args, **kwargs)
    return time.perf_counter() - start, result


def peak_memory() -> int:
    """Most memory this process ever had, in bytes (Linux counts in kilobytes)."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def row(what, ours, peer=None, ratio=None, note=""):
    ratio = ours / peer if ratio is None and peer else ratio
    return {"what": what, "ours_s": ours, "peer_s": peer, "ratio": ratio, "note": note}


def run(rows: int = 1_000_000) -> list[dict]:
    before = peak_memory()
    seconds, data = timed(
        make_sparse_multilabel, rows, 100_000, 10_000, cardinality=5, random_state=0
    )
    more = peak_memory() - before
    size = sum(a.nbytes for M in (data.X, data.Y) for a in (M.data, M.indices, M.indptr))
    results = [
        row(
            f"make_sparse_multilabel, {rows:,} rows x 10,000 labels",
            seconds,
            ratio=more / size,
            note=f"ratio: peak memory {more / 1e6:.0f} MB / result {size / 1e6:.0f} MB",
        )
    ]
    seconds, found = timed(describe, data)
    results.append(row("describe it", seconds, note=f"{found.diversity:,} distinct sets"))
    seconds, together = timed(lambda: found.cooccurrence)
    results.append(row("its co-occurrence", seconds, note=f"{together.nnz:,} cells"))
    del data, found, together

    n, d, q = 5000, 1000, 100
    ours, _ = timed(make_sparse_multilabel, n, d, q, nnz_per_row=30, random_state=0)
    peer, _ = timed(
        make_multilabel_classification, n, d, n_classes=q, n_labels=3, length=30, sparse=True,
        return_indicator="sparse", random_state=0,
    )  # fmt: skip
    results.append(row(f"sparse {n:,} x {d:,}, {q} labels", ours, peer, note="scikit-learn"))
    ours, _ = timed(make_multilabel, n, 20, q, random_state=0)
    peer, _ = timed(make_multilabel_classification, n, 20, n_classes=q, n_labels=2, random_state=0)
    results.append(row(f"dense {n:,} x 20, {q} labels", ours, peer, note="scikit-learn"))

    Y = make_sparse_multilabel(100_000, 10, q, nnz_per_row=1, random_state=0).Y
    ours, found = timed(describe, Y)
    dense = Y.toarray().astype(np.int8)
    peer, sets = timed(np.unique, dense, axis=0)
    assert len(sets) == found.diversity
    results.append(row("distinct sets of 100,000 x 100", ours, peer, note="np.unique(axis=0)"))
    return results


def main() -> None:
    for r in run(*(int(a) for a in sys.argv[1:])):
        peer = "" if r["peer_s"] is None else f"{r['peer_s']:.3f}"
        ratio = "" if r["ratio"] is None else f"{r['ratio']:.2f}"
        print(f"{r['what']:<52}{r['ours_s']:>9.3f}{peer:>9}{ratio:>7}  {r['note']}")


if __name__ == "__main__":
    main()
