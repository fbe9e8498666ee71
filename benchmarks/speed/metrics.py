"""All measures in one call, compared with scikit-learn's functions called one by one.

The limits are one sort of the scores by rows, and one pass over them.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy import sparse
from sklearn import metrics as sk

from benchmarks.harness.data import has_real_data, real, scored
from benchmarks.harness.measure import Row, added_mb, alone, beside, cpu_seconds, megabytes
from plurilabel import MLkNN, metrics


def run(quick: bool = False) -> list[Row]:
    rows = []
    for n, q in [(2_000, 20)] if quick else [(2_000, 14), (20_000, 100)]:
        Y, scores = scored(n, q)
        rows += one_call(f"all measures, generated, {n:,} x {q}", Y, scores)
    if has_real_data() and not quick:
        for name in ("yeast", "bibtex", "delicious", "tmc2007-500"):
            X, X_test, Y, Y_test = real(name).holdout()
            scores = MLkNN().fit(X[:5_000], Y[:5_000]).predict_proba(X_test)
            Y_test = Y_test.toarray() if sparse.issparse(Y_test) else np.asarray(Y_test)
            used = (Y_test.sum(axis=1) > 0), (np.ptp(Y_test, axis=0) > 0)
            Y_test, scores = Y_test[used[0]][:, used[1]], scores[used[0]][:, used[1]]
            rows += one_call(f"all measures, ML-kNN on {name}, {len(Y_test):,} x "
                             f"{Y_test.shape[1]}", Y_test, scores)  # fmt: skip
    n = 2_000 if quick else 100_000
    Y, S = shortlists(n)
    rows.append(
        alone(
            f"all measures, {n:,} x {n:,}, CSR, 100 scores to a row",
            cpu_seconds(lambda: metrics.evaluate(Y, S)),
            "no peer without making the scores dense",
        )
    )
    return rows


def one_call(what: str, Y: Any, scores: Any) -> list[Row]:
    labels = (scores > np.quantile(scores, 0.95)).astype(np.int8)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mine, theirs = metrics.evaluate(Y, scores, labels), one_by_one(Y, scores, labels)
        difference = max(abs(mine[name] - theirs[name]) for name in theirs)
        memory = added_mb(lambda: metrics.evaluate(Y, scores, labels))
        size = megabytes(Y, scores, labels)
        return beside(
            what,
            lambda: metrics.evaluate(Y, scores, labels),
            {"scikit-learn": lambda: one_by_one(Y, scores, labels)},
            limits={
                "one sort of the scores": lambda: np.sort(scores, axis=1),
                "one pass over the scores": lambda: scores.sum(axis=0),
            },
            note=f"largest difference {difference:.0e}; ours adds {memory:.0f} MB to inputs of "
            f"{size:.0f} MB",
        )


def one_by_one(Y: Any, scores: Any, labels: Any) -> dict[str, float]:
    """What scikit-learn has of our measures; its slow nDCG is left out."""
    found = {
        "hamming_loss": sk.hamming_loss(Y, labels),
        "subset_accuracy": sk.accuracy_score(Y, labels),
        "accuracy": sk.jaccard_score(Y, labels, average="samples", zero_division=0),
        "coverage": sk.coverage_error(Y, scores) - 1,
        "ranking_loss": sk.label_ranking_loss(Y, scores),
        "average_precision": sk.label_ranking_average_precision_score(Y, scores),
    }
    for how, prefix in (("macro", "macro_"), ("micro", "micro_")):
        for name in ("precision", "recall", "f1"):
            function = getattr(sk, f"{name}_score")
            found[prefix + name] = function(Y, labels, average=how, zero_division=0)
        found[f"{prefix}auc"] = sk.roc_auc_score(Y, scores, average=how)
    return found


def shortlists(n: int, stored: int = 100) -> tuple[Any, Any]:
    """CSR labels, five to a row, and CSR scores of a shortlist that holds two of them."""
    rng = np.random.default_rng(0)

    def some_columns(per_row: int, data: Any) -> Any:
        # distinct and ascending: sorted picks plus their position
        picks = np.sort(rng.integers(0, n - per_row, (n, per_row), dtype=np.int32), axis=1)
        indices = (picks + np.arange(per_row, dtype=np.int32)).ravel()
        pointers = np.arange(n + 1, dtype=np.int32) * per_row
        return sparse.csr_array((data, indices, pointers), shape=(n, n))

    S = some_columns(stored, rng.random(n * stored))
    hits = S.indices.reshape(n, stored)[:, ::50]
    at = (np.ones(hits.size, np.int8), hits.ravel(), np.arange(n + 1) * hits.shape[1])
    Y = some_columns(3, np.ones(3 * n, np.int8)) + sparse.csr_array(at, shape=(n, n))
    Y.data[:] = 1
    return Y, S
