"""Rank-SVM: growth with the instances, and beside a general solver of quadratic programmes."""

from time import process_time

import numpy as np
from scipy import sparse

from plurilabel.adaptation import RankSVM


def data(n, d=100, q=14, seed=0):
    """Rows of norm 1 with labels that depend on them, as Yeast has them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    Y = X @ rng.normal(size=(d, q)) + 0.5 * rng.normal(size=(n, q)) > np.linspace(-0.5, 1.5, q)
    return X, Y.astype(np.int8)


def seconds(work):
    """Processor time: the machine may be shared."""
    start = process_time()
    work()
    return process_time() - start


def row(what, ours, peer, note=""):
    return {"what": what, "ours_s": ours, "peer_s": peer, "ratio": ours / peer, "note": note}


def growth(sizes=(500, 1000, 2000, 4000)):
    """Each size beside the one before it: quadratic growth is a ratio of 4."""
    rows = []
    for kernel in ("poly", "linear"):
        before = None
        for n in sizes:
            X, Y = data(n)
            learner = RankSVM(kernel=kernel, degree=8, tol=1e-4)
            now = seconds(lambda X=X, Y=Y, learner=learner: learner.fit(X, Y))
            note = (
                f"{learner.n_iter_} steps, gap {learner.dual_gap_:.0e}; peer: half the instances"
            )
            rows.append(row(f"{kernel}, n={n}", now, before or np.nan, note))
            before = now
    return rows


def beside_clarabel(n=100, q=6):
    """The dual over all pairs, handed to a general solver."""
    try:
        import clarabel
    except ImportError:
        return []
    X, Y = data(n, d=20, q=q)
    Y = Y.astype(bool)
    K = X @ X.T
    i, k, l = np.nonzero(Y[:, :, None] & ~Y[:, None, :])
    P = len(i)
    columns = np.r_[np.arange(P), np.arange(P)]
    A = sparse.csr_array((np.r_[np.ones(P), -np.ones(P)], (np.r_[i * q + k, i * q + l], columns)),
                         shape=(n * q, P))  # fmt: skip
    upper = 1.0 / (Y.sum(axis=1) * (~Y).sum(axis=1))[i]

    def general():
        H = A.T @ sparse.kron(K, np.eye(q)) @ A
        sums = sparse.csr_array(np.tile(np.eye(q), n)[:-1]) @ A
        eye = sparse.eye_array(P)
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        clarabel.DefaultSolver(
            sparse.csc_matrix(sparse.triu(H)),
            -np.ones(P),
            sparse.csc_matrix(sparse.vstack([sums, eye, -eye])),
            np.r_[np.zeros(q - 1), upper, np.zeros(P)],
            [clarabel.ZeroConeT(q - 1), clarabel.NonnegativeConeT(2 * P)],
            settings,
        ).solve()

    ours = seconds(lambda: RankSVM(tol=1e-8).fit(X, Y.astype(int)))
    return [row(f"linear, n={n}, {P} pairs", ours, seconds(general), "peer: clarabel on pairs")]


def run() -> list[dict]:
    return beside_clarabel() + growth()


def main() -> None:
    for entry in run():
        print(
            f"{entry['what']:28} {entry['ours_s']:7.2f} s  {entry['peer_s']:7.2f} s  "
            f"ratio {entry['ratio']:6.2f}  {entry['note']}",
            flush=True,
        )


if __name__ == "__main__":
    main()
