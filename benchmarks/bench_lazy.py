"""The lazy learners beside the bare search, and beside scikit-multilearn-ng's ML-kNN."""

from time import perf_counter

import numpy as np
from scipy import sparse

from plurilabel import MLkNN, MLkNNCV, datasets
from plurilabel.metrics import average_precision
from plurilabel.neighbors import ApproximateIndex, ExactIndex, recall


def data(n, d, q, cardinality=3, seed=0):
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(50, d))
    which = rng.integers(0, 50, n)
    X = (centres[which] + rng.normal(size=(n, d))).astype(np.float32).astype(np.float64)
    favour = rng.random((50, q)) ** 4
    favour *= cardinality / favour.sum(axis=1, keepdims=True)
    return X, (rng.random((n, q)) < favour[which]).astype(np.int8)


def seconds(work, repeat=1):
    times = []
    for _ in range(repeat):
        start = perf_counter()
        work()
        times.append(perf_counter() - start)
    return float(np.median(times))


def row(what, ours, peer, note=""):
    return {"what": what, "ours_s": ours, "peer_s": peer, "ratio": ours / peer, "note": note}


def beside_the_search(n, d, q, queries):
    """Fit and predict_proba over the search of the same rows."""
    X, Y = data(n, d, q)

    def search():
        index = ExactIndex().fit(X)
        index.kneighbors(None, n_neighbors=10)
        index.kneighbors(X[:queries], n_neighbors=10)

    learn = seconds(lambda: MLkNN(10).fit(X, Y).predict_proba(X[:queries]))
    return row(f"MLkNN, n={n} d={d} q={q}: fit and {queries} queries / search", learn,
               seconds(search), "bar: 1.1")  # fmt: skip


def sweep(n, d, q, ks, leave_out):
    """Choosing k from many over one fit."""
    X, Y = data(n, d, q)
    cv = seconds(lambda: MLkNNCV(range(1, ks + 1), leave_out=leave_out).fit(X, Y))
    one = seconds(lambda: MLkNN(10).fit(X, Y))
    what = f"MLkNNCV of {ks} values ({leave_out}) / one fit, n={n} q={q}"
    return row(what, cv, one, "bar: 2")


def one_more_row(n, d, q):
    """Adding one row over one query, and over a fit."""
    X, Y = data(n + 1, d, q)
    learner = MLkNN(10)
    fit = seconds(lambda: learner.fit(X[:n], Y[:n]))
    more = seconds(lambda: learner.partial_fit(X[n:], Y[n:]))
    return row(f"MLkNN, one more row to {n} / fit", more, fit)


def large_labels(n, q):
    """Sparse labels: memory of what is kept beside that of the data."""
    rng = np.random.default_rng(0)
    X = rng.random((n, 3))
    Y = sparse.csr_array(
        (np.ones(5 * n), rng.integers(0, q, 5 * n), np.arange(0, 5 * n + 1, 5)), (n, q)
    )
    Y.sum_duplicates()
    Y.data[:] = 1
    import tracemalloc

    size = X.nbytes + Y.data.nbytes + Y.indices.nbytes + Y.indptr.nbytes
    tracemalloc.start()
    start = perf_counter()
    learner = MLkNN(10).fit(X, Y)
    fitted = perf_counter() - start
    learner.predict_top(X[:10_000], 5)
    asked = perf_counter() - start - fitted
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return {
        "what": f"n={n}, q={q}, 5 labels each: fit, then top 5 of 10,000 rows",
        "ours_s": fitted,
        "peer_s": asked,
        "ratio": peak / size,
        "note": "peer_s is the prediction; ratio is peak memory over X and Y",
    }


def growth():
    """Seconds for fit, as n and q grow."""
    rows = []
    for n, d, q in [(10_000, 100, 100), (50_000, 100, 100), (10_000, 100, 10),
                    (10_000, 100, 1_000), (10_000, 100, 10_000)]:  # fmt: skip
        X, Y = data(n, d, q)
        Y = sparse.csr_array(Y) if q > 1000 else Y
        search = seconds(lambda X=X: ExactIndex().fit(X).kneighbors(None, n_neighbors=10))
        fit = seconds(lambda X=X, Y=Y: MLkNN(10).fit(X, Y))
        rows.append(row(f"growth: fit / search, n={n} q={q}", fit, search))
    return rows


class WithSelf(ExactIndex):
    """Counts each training point as its own neighbour, as scikit-multilearn does."""

    def fit(self, X, y=None):
        self.points = X
        return super().fit(X, y)

    def kneighbors(self, X=None, n_neighbors=None, return_distance=True):
        return super().kneighbors(self.points if X is None else X, n_neighbors, return_distance)


def beside_scikit_multilearn(X, Y, what, share=1.0):
    """The peer, where it is installed, on a share of the rows; also: do the posteriors agree?"""
    try:
        from skmultilearn.adapt import MLkNN as Peer
    except ImportError as error:
        return {"what": f"scikit-multilearn-ng, {what}", "ours_s": np.nan, "peer_s": np.nan,
                "ratio": np.nan, "note": f"not installed: {error}"}  # fmt: skip
    ours = seconds(lambda: MLkNN(10).fit(X, Y), repeat=3)
    some = slice(0, int(share * X.shape[0]))
    peer = Peer(k=10)
    part = seconds(lambda: peer.fit(X[some], sparse.csr_matrix(Y[some])))
    queries = X[:200]
    theirs = peer.predict_proba(queries).toarray()
    alike = MLkNN(10, index=WithSelf()).fit(X[some], Y[some]).predict_proba(queries)
    note = f"posteriors differ by at most {np.abs(theirs - alike).max():.1e} with self counted"
    if share < 1:
        note += f"; peer on {share:.0%} of the rows, times {1 / share:.0f}"
    return row(f"fit / scikit-multilearn-ng, {what}", ours, part / share, note)


def approximate(n, d, q):
    """What an approximate index does to the measures."""
    try:
        import pynndescent  # noqa: F401
    except ImportError as error:
        return {"what": "ApproximateIndex", "ours_s": np.nan, "peer_s": np.nan,
                "ratio": np.nan, "note": f"not installed: {error}"}  # fmt: skip
    X, Y = data(n + 2_000, d, q)
    exact = MLkNN(10).fit(X[:n], Y[:n])
    index = ApproximateIndex(random_state=0)
    loose = MLkNN(10, index=index).fit(X[:n], Y[:n])
    found = recall(loose.index_, exact.index_, n_neighbors=10)
    quality = [average_precision(Y[n:], m.predict_proba(X[n:])) for m in (loose, exact)]
    return {"what": f"ApproximateIndex, n={n} d={d}: average precision / exact",
            "ours_s": quality[0], "peer_s": quality[1], "ratio": quality[0] / quality[1],
            "note": f"recall {found:.3f}; the figures are average precisions"}  # fmt: skip


def delicious():
    X, _, Y, _ = datasets.load("delicious").holdout()
    return X, Y


def run():
    return [
        beside_the_search(20_000, 100, 100, 2_000),
        beside_the_search(50_000, 100, 100, 5_000),
        sweep(1_500, 100, 14, 30, "entry"),
        sweep(20_000, 100, 100, 30, "entry"),
        sweep(1_500, 100, 14, 30, "instance"),
        one_more_row(100_000, 20, 100),
        large_labels(500_000, 100_000),
        *growth(),
        beside_scikit_multilearn(*data(1_500, 50, 1_000), "n=1500 q=1000"),
        beside_scikit_multilearn(*data(10_000, 50, 100), "n=10000 q=100"),
        beside_scikit_multilearn(*delicious(), "delicious", share=0.05),
        approximate(20_000, 50, 50),
    ]


def main():
    for r in run():
        print(
            f"{r['what']:70}  {r['ours_s']:8.3f} s  {r['peer_s']:8.3f} s  {r['ratio']:7.3f}  "
            f"{r['note']}",
            flush=True,
        )


if __name__ == "__main__":
    main()
