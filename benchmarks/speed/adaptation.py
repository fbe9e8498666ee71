"""Trees and forests compared with scikit-learn's, CML and Rank-SVM with straightforward solvers.

The limit of a forest is the part of its fit that is spent in scikit-learn.
"""

from __future__ import annotations

import importlib.util
from typing import Any
from unittest import mock

import numpy as np
from scipy import sparse
from scipy.special import logsumexp
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from benchmarks.harness.data import generated, has_real_data, real
from benchmarks.harness.measure import Row, beside, cpu_seconds, left_out, row
from plurilabel import CML, MLRandomForest, RankSVM
from plurilabel.learners.adaptation._cml_likelihood import LabelSets


def run(quick: bool = False) -> list[Row]:
    n, trees = (300, 3) if quick else (1_500, 10)
    rows = [*forest(n, 100, 14, trees), *forest(n // 2, 30, 100, trees)]
    rows += sums_over_sets(100 if quick else 500, 8 if quick else 14)
    if has_real_data():
        for name in ("emotions",) if quick else ("emotions", "scene", "yeast"):
            rows += collective(name, "all")
            rows += collective(name, "seen")
    return [*rows, *beside_clarabel(40 if quick else 100)]


def forest(n: int, d: int, q: int, trees: int) -> list[Row]:
    X, Y = generated(6 * n, d, q)
    X, Y, new = X[:n], Y[:n], X[n:]
    ours = MLRandomForest(trees, criterion="entropy", random_state=0)
    name = f"{n:,} x {d}, {q} labels, {trees} trees"
    rows = []
    for form, labels in (("dense", Y), ("CSR", sparse.csr_array(Y))):
        pairs = [fit_and_engine(ours, X, labels) for _ in range(3)]
        what = f"MLRandomForest, fit, {form} labels, {name}"
        rows.append(row(what, "scikit-learn's part of it", *zip(*pairs), kind="limit"))
    ours.fit(X, Y)
    peer = RandomForestClassifier(trees, criterion="entropy", random_state=0).fit(X, Y)
    return rows + beside(
        f"MLRandomForest, predict_proba of {5 * n:,} rows, {name}",
        lambda: ours.predict_proba(new),
        {"scikit-learn": lambda: peer.predict_proba(new)},
    )


def fit_and_engine(learner: Any, X: Any, Y: Any) -> tuple[float, float]:
    """The fit, and the part of it that scikit-learn's fit takes: two fits would differ."""
    inside, fit = [], RandomForestClassifier.fit

    def timed(self: Any, *args: Any, **kwargs: Any) -> Any:
        inside.append(cpu_seconds(lambda: fit(self, *args, **kwargs)))
        return self

    with mock.patch.object(RandomForestClassifier, "fit", timed):
        total = cpu_seconds(lambda: learner.fit(X, Y))
    return total, inside[0]


def sums_over_sets(n: int, q: int) -> list[Row]:
    """The factorised sum over all label sets, beside every set for every instance."""
    rng = np.random.default_rng(0)
    U, Y = rng.normal(size=(n, q)), rng.integers(0, 2, size=(100, q))
    interaction = rng.normal(size=(q, q))
    interaction = np.triu(interaction, 1) + np.triu(interaction, 1).T
    sets = LabelSets.all(Y)
    table = (np.arange(2**q)[:, None] >> np.arange(q) & 1).astype(float)

    def plain() -> Any:
        F = U @ table.T + 0.5 * ((table @ interaction) * table).sum(axis=1)
        P = np.exp(F - logsumexp(F, axis=1, keepdims=True))
        return P @ table, (table.T * P.sum(axis=0)) @ table

    return beside(
        f"CML, one sum over 2**{q} sets, {n} rows",
        lambda: sets.expectations(U, interaction),
        {"plain enumeration": plain},
    )


def collective(name: str, label_sets: str) -> list[Row]:
    """CML on a hold-out beside as many logistic regressions."""
    X, X_test, Y, Y_test = real(name).holdout()
    learner = CML(label_sets=label_sets)
    predicted = np.tile(Y[0], (len(Y_test), 1))

    def relevance() -> None:
        for l in np.flatnonzero(Y.min(axis=0) != Y.max(axis=0)):
            model = LogisticRegression(max_iter=20_000).fit(X, Y[:, l])
            predicted[:, l] = model.predict(X_test)

    rows = beside(f"CML, fit, {label_sets} sets, {name}", lambda: learner.fit(X, Y),
                  {"scikit-learn, a regression for each label": relevance})  # fmt: skip
    exact = [(p == Y_test).all(axis=1).mean() for p in (learner.predict(X_test), predicted)]
    note = f"subset accuracy {exact[0]:.3f}, peer {exact[1]:.3f}"
    return [{**found, "note": note} for found in rows]


def beside_clarabel(n: int, q: int = 6) -> list[Row]:
    """Rank-SVM's dual over all pairs, handed to a general solver."""
    what = f"RankSVM, linear, {n} rows, {q} labels"
    if importlib.util.find_spec("clarabel") is None:
        return [left_out(what, "clarabel", "not installed")]
    import clarabel

    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 20))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    Y = X @ rng.normal(size=(20, q)) + 0.5 * rng.normal(size=(n, q)) > np.linspace(-0.5, 1.5, q)
    K = X @ X.T
    i, k, l = np.nonzero(Y[:, :, None] & ~Y[:, None, :])
    P = len(i)
    at = np.r_[i * q + k, i * q + l], np.r_[np.arange(P), np.arange(P)]
    A = sparse.csr_array((np.r_[np.ones(P), -np.ones(P)], at), shape=(n * q, P))
    upper = 1.0 / (Y.sum(axis=1) * (~Y).sum(axis=1))[i]

    def general() -> None:
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

    ours = RankSVM(tol=1e-8)
    return beside(what, lambda: ours.fit(X, Y.astype(int)), {"clarabel": general},
                  note=f"the peer solves over all {P:,} pairs")  # fmt: skip
