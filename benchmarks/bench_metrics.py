"""All measures in one call: time beside scikit-learn's functions one after the other, and memory.

Run with ``python benchmarks/bench_metrics.py``.
"""

from __future__ import annotations

import time
import tracemalloc
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from sklearn import metrics as sk

from plurilabel import metrics


def problem(n: int = 100_000, q: int = 100, density: float = 0.1, seed: int = 0) -> tuple:
    rng = np.random.default_rng(seed)
    scores = rng.random((n, q))
    Y = (rng.random((n, q)) < density).astype(np.int8)
    Y[Y.sum(axis=1) == 0, 0] = 1  # empty sets are where the definitions differ
    return Y, scores, (scores > 0.8).astype(np.int8)


def top_scores(n: int = 100_000, q: int = 100_000, stored: int = 100, seed: int = 0) -> tuple:
    """CSR labels (5 per row) and CSR scores of a shortlist."""
    rng = np.random.default_rng(seed)

    def random_rows(per_row: int, data: Any) -> sparse.csr_array:
        # Distinct columns of a row, ascending: sorted picks plus their position.
        picks = np.sort(rng.integers(0, q - per_row, (n, per_row), dtype=np.int32), axis=1)
        indices = (picks + np.arange(per_row, dtype=np.int32)).ravel()
        indptr = np.arange(n + 1, dtype=np.int32) * per_row
        return sparse.csr_array((data, indices, indptr), shape=(n, q))

    S = random_rows(stored, rng.random(n * stored))
    hits = S.indices.reshape(n, stored)[:, ::50]  # so that some of the shortlist is right
    Y = random_rows(3, np.ones(3 * n, dtype=np.int8))
    Y = Y + sparse.csr_array(
        (np.ones(hits.size, dtype=np.int8), hits.ravel(), np.arange(n + 1) * hits.shape[1]),
        shape=(n, q),
    )
    Y.data[:] = 1
    return Y, S


def scikit_learn_one_by_one(Y: Any, scores: Any, labels: Any) -> dict[str, float]:
    found = {"hamming_loss": sk.hamming_loss(Y, labels)}
    found["subset_accuracy"] = sk.accuracy_score(Y, labels)
    found["accuracy"] = sk.jaccard_score(Y, labels, average="samples", zero_division=0)
    for how, prefix in (("samples", ""), ("macro", "macro_"), ("micro", "micro_")):
        for name in ("precision", "recall", "f1"):
            function = getattr(sk, f"{name}_score")
            found[prefix + name] = function(Y, labels, average=how, zero_division=0)
    # ndcg_score is left out: it would only make the ratio larger
    found["coverage"] = sk.coverage_error(Y, scores) - 1
    found["ranking_loss"] = sk.label_ranking_loss(Y, scores)
    found["average_precision"] = sk.label_ranking_average_precision_score(Y, scores)
    for how in ("macro", "micro"):
        found[f"{how}_auc"] = sk.roc_auc_score(Y, scores, average=how)
    return found


def seconds(call: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    result = call()
    return time.perf_counter() - start, result


def peak_over_inputs(call: Callable[[], Any], inputs: list[Any]) -> float:
    """Inputs plus the most that was allocated during the call, over the inputs."""
    size = sum(a.nbytes for a in inputs)
    tracemalloc.start()
    call()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return (size + peak) / size


def run() -> list[dict[str, Any]]:
    rows = []
    Y, scores, labels = problem()
    inputs = [Y, scores, labels]
    ours, mine = seconds(lambda: metrics.evaluate(Y, scores, labels))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs, peer = seconds(lambda: scikit_learn_one_by_one(Y, scores, labels))
    difference = max(abs(mine[name] - peer[name]) for name in peer)
    memory = peak_over_inputs(lambda: metrics.evaluate(Y, scores, labels), inputs)
    rows.append(
        {
            "what": "evaluate, n=100,000, q=100, density 0.1",
            "ours_s": ours,
            "peer_s": theirs,
            "ratio": theirs / ours,
            "note": f"peer: scikit-learn; peak memory {memory:.2f} x inputs; "
            f"largest difference {difference:.1e}",
        }
    )
    for what, (Y, scores, labels) in {
        "density 0.5": problem(density=0.5),
        "scores of 2 digits": (lambda Y, S, Z: (Y, S.round(2), Z))(*problem()),
    }.items():
        ours, _ = seconds(lambda: metrics.evaluate(Y, scores, labels))  # noqa: B023
        memory = peak_over_inputs(
            lambda: metrics.evaluate(Y, scores, labels),  # noqa: B023
            [Y, scores, labels],
        )
        note = f"peak memory {memory:.2f} x inputs"
        rows.append(
            {
                "what": f"evaluate, n=100,000, q=100, {what}",
                "ours_s": ours,
                "peer_s": None,
                "ratio": None,
                "note": note,
            }
        )
    Y, S = top_scores()
    for what, options in {
        "": {},
        " with propensities": {"propensities": metrics.propensities(Y)},
    }.items():
        ours, _ = seconds(lambda: metrics.evaluate(Y, S, **options))  # noqa: B023
        rows.append(
            {
                "what": f"evaluate, n=q=100,000, CSR top 100{what}",
                "ours_s": ours,
                "peer_s": None,
                "ratio": None,
                "note": "all ranking measures, AUCs and those at k; no peer without densifying",
            }
        )
    Y, scores, labels = problem(n=1000, q=14, density=0.3)
    ours, _ = seconds(lambda: metrics.evaluate(Y, scores, labels, bootstrap=1000, random_state=0))
    rows.append(
        {
            "what": "evaluate, n=1,000, q=14, bootstrap=1000",
            "ours_s": ours,
            "peer_s": None,
            "ratio": None,
            "note": "intervals of all measures",
        }
    )
    return rows


def main() -> None:
    for row in run():
        ratio = "" if row["ratio"] is None else f"  {row['peer_s']:.1f} s, {row['ratio']:.1f} x"
        print(f"{row['what']:55} {row['ours_s']:6.2f} s{ratio}  {row['note']}")


if __name__ == "__main__":
    main()
