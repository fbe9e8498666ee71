"""Problem transformations compared with their base estimators, and at scale.

The limit of binary relevance is the base estimator in a plain loop over the labels. Quick voting
is compared with the votes of all pairs.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import SVC, LinearSVC

from benchmarks.harness.data import generated, has_real_data, real
from benchmarks.harness.measure import (
    Row,
    added_mb,
    alone,
    beside,
    cpu_seconds,
    left_out,
    megabytes,
)
from plurilabel import BinaryRelevance, CalibratedLabelRanking, EnsembleOfChains, StackedRelevance


def run(quick: bool = False) -> list[Row]:
    X, Y = generated(300 if quick else 1_500, 100, 14)
    rows = over_base_estimator("generated", X, Y)
    if not has_real_data():
        return [*rows, left_out("real data", "", "PLURILABEL_DATA names no folder")]
    data = [("yeast", LinearSVC(random_state=0))]
    if not quick:
        data += [("scene", LinearSVC(random_state=0)), ("scene", SVC())]
    for name, base in data:
        rows += quick_voting(name, base)
    if not quick:
        X, X_test, Y, _ = real("bibtex").holdout()
        base = LogisticRegression(solver="liblinear")
        rows += ask(f"bibtex, {X_test.shape[0]:,} rows asked", base, X[:500], Y[:500], X_test)
        X, X_test, Y, _ = real("delicious").holdout()
        title = f"delicious, {X_test.shape[0]:,} rows asked"
        rows += ask(title, LinearSVC(random_state=0), X[:500], Y[:500], X_test)
        rows.append(memory_of_delicious())
    return rows


def over_base_estimator(name: str, X: Any, Y: Any) -> list[Row]:
    base = LogisticRegression(solver="liblinear")
    n, d, q = *X.shape, Y.shape[1]

    def bare(times: int) -> None:
        for l in range(q):
            for _ in range(times):
                base.fit(X, Y[:, l])

    rows = []
    for learner, fits in (
        (BinaryRelevance(base), 1),
        (EnsembleOfChains(base, n_estimators=3, max_samples=1.0, random_state=0), 3),
        (StackedRelevance(base, cv=None), 2),
    ):
        what = f"{type(learner).__name__}, fit, {name}, {n:,} x {d}, {q} labels"
        limit = {f"{fits} x {q} bare fits": lambda fits=fits: bare(fits)}
        rows += beside(what, lambda learner=learner: learner.fit(X, Y), limits=limit)
    return rows


def ask(title: str, base: Any, X: Any, Y: Any, X_test: Any) -> list[Row]:
    """Predictions of many linear models, beside scikit-learn's and the bare product."""
    Y = Y.toarray() if sparse.issparse(Y) else Y
    Y = Y[:, (Y.sum(axis=0) >= 2)]
    ours, peer = (kind(base).fit(X, Y) for kind in (BinaryRelevance, OneVsRestClassifier))
    weights = np.vstack([model.coef_ for model in peer.estimators_]).T
    different = int((ours.predict(X_test) != peer.predict(X_test)).sum())
    return beside(
        f"BinaryRelevance, predict, {title}, {Y.shape[1]} labels",
        lambda: ours.predict(X_test),
        {"scikit-learn": lambda: peer.predict(X_test)},
        limits={"the product of X and the weights": lambda: X_test @ weights},
        note=f"{different} predictions differ",
    )


def quick_voting(name: str, base: Any) -> list[Row]:
    X, X_test, Y, _ = real(name).holdout()
    X, Y, X_test = X[:600], Y[:600], X_test[:300]
    quick, every = (CalibratedLabelRanking(base, quick=q).fit(X, Y) for q in (True, False))
    asked, q = quick.count_asked(X_test).mean(), Y.shape[1]
    return beside(
        f"quick voting, predict, {type(base).__name__}, {name}, 600 training rows",
        lambda: quick.predict(X_test),
        selves={"all votes": lambda: every.predict(X_test)},
        note=f"asks {asked:.1f} of {q * (q + 1) // 2} models for a row",
    )


def memory_of_delicious() -> Row:
    X, _, Y, _ = real("delicious").holdout()
    X, Y = X[:3_000], Y[:3_000]
    learner = BinaryRelevance(LinearSVC(random_state=0))
    seconds = cpu_seconds(lambda: learner.fit(X, Y))
    added, size = added_mb(lambda: learner.fit(X, Y)), megabytes(X, Y)
    what = "BinaryRelevance, fit, LinearSVC, delicious, 3,000 rows, 983 labels"
    return alone(what, seconds, f"adds {added:.0f} MB, models included, to {size:.0f} MB of data")
