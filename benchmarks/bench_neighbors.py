"""Neighbour search against scikit-learn, and against the product that a search cannot avoid.

Each row compares two things in the same process: fit and search, best of a few runs. Sparse rows
need the data folder (``PLURILABEL_DATA``); they are left out where it is missing.
"""

import os
import time

import numpy as np
from scipy import sparse
from sklearn.neighbors import NearestNeighbors

from plurilabel.neighbors import ExactIndex

K = 10


def _best(work, repeats):
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def _row(what, ours, peer, repeats, note=""):
    # in turn, so that a busy machine slows both
    pairs = [(_best(ours, 1), _best(peer, 1)) for _ in range(repeats)]
    ours_s, peer_s = (min(side) for side in zip(*pairs))
    return {
        "what": what,
        "ours_s": ours_s,
        "peer_s": peer_s,
        "ratio": ours_s / peer_s,
        "note": note,
    }


def _against_sklearn(what, X, repeats, queries=None, metric="euclidean", note=""):
    return _row(
        what,
        lambda: ExactIndex(metric).fit(X).kneighbors(queries, n_neighbors=K),
        lambda: NearestNeighbors(metric=metric).fit(X).kneighbors(queries, n_neighbors=K),
        repeats,
        note or "peer: NearestNeighbors",
    )


def _half_product(X):
    """Half of the float32 product of all pairs, in blocks: what the training graph must cost."""
    single = X.astype(np.float32)

    def work():
        for i in range(0, len(X), 512):
            for j in range(i, len(X), 4096):
                single[i : i + 512] @ single[j : j + 4096].T

    return work


def _one_row(n, d):
    """Adding one row: its search, and the index that knows it."""
    X = np.random.default_rng(0).normal(size=(n, d))
    index = ExactIndex().fit(X)
    return _row(
        f"one row more, n={n}, d={d}: partial_fit + search / fit + search",
        lambda: index.partial_fit(X[:1]).kneighbors(X[:1], n_neighbors=K),
        lambda: ExactIndex().fit(X).kneighbors(X[:1], n_neighbors=K),
        2,
        "peer: ours from scratch",
    )


def run(sizes=(1_500, 5_000, 20_000)):
    return list(_rows(sizes))


def _rows(sizes=(1_500, 5_000, 20_000)):
    rng = np.random.default_rng(0)
    for n in sizes:
        X = rng.normal(size=(n, 100))
        repeats = 3 if n <= 5_000 else 2
        yield _against_sklearn(f"training graph, n={n}, d=100", X, repeats)
    X = rng.normal(size=(20_000, 100))
    yield _against_sklearn("2,000 queries, n=20000, d=100", X, 2, queries=X[:2000] + 0.1)
    yield (
        _row(
            "training graph, n=20000, d=100, against its limit",
            lambda: ExactIndex().fit(X).kneighbors(n_neighbors=K),
            _half_product(X),
            2,
            "peer: half of the float32 product, nothing else",
        )
    )
    for d in (2, 4, 10):
        low = rng.normal(size=(20_000, d))
        yield _against_sklearn(f"training graph, n=20000, d={d}", low, 2)
    whole = rng.integers(0, 17, (5_000, 64)).astype(float)
    yield _against_sklearn("training graph, whole numbers, n=5000, d=64", whole, 2)
    manhattan = X[:4000]
    yield _against_sklearn("training graph, n=4000, d=100", manhattan, 2, metric="manhattan")
    yield _one_row(50_000, 100)
    if os.environ.get("PLURILABEL_DATA"):
        from plurilabel.datasets._load import load

        for name in ("medical", "bibtex", "delicious", "tmc2007-500"):
            points = sparse.csr_array(load(name).X)
            for metric in ("euclidean", "cosine"):
                repeats = 3 if name == "medical" else 1
                yield (
                    _against_sklearn(f"{name} as CSR, {metric}", points, repeats, metric=metric)
                )


def main():
    for row in _rows():
        print(
            f"{row['what']:<62} {row['ours_s']:8.3f} s {row['peer_s']:8.3f} s"
            f"  ratio {row['ratio']:.2f}  {row['note']}",
            flush=True,
        )


if __name__ == "__main__":
    main()
