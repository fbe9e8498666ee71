"""Choosing thresholds, compared with a scikit-learn curve for each label.

The limits are one sort of the scores, whole, by rows or by columns, as the strategy needs it, or
one pass over them if it does not sort.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.metrics import precision_recall_curve

from benchmarks.harness.data import scored
from benchmarks.harness.measure import Row, beside
from plurilabel import (
    CardinalityThreshold,
    ExpectedF,
    GlobalThreshold,
    LinearThreshold,
    MCut,
    PCut,
    RCut,
    SCut,
)


def best_f1_cut(y: Any, scores: Any) -> float:
    precision, recall, cuts = precision_recall_curve(y, scores)
    bottom = np.maximum(precision + recall, 1e-300)
    return float(cuts[np.argmax((2 * precision * recall / bottom)[:-1])])


def run(quick: bool = False) -> list[Row]:
    n, q = (2_000, 20) if quick else (50_000, 100)
    Y, scores = scored(n, q)
    by_rows = {"one sort by rows": lambda: np.sort(scores, axis=1)}
    by_columns = {"one sort by columns": lambda: np.sort(scores.T, axis=1)}
    one_pass = {"one pass over the scores": lambda: scores.sum(axis=0)}
    whole = {"one sort of all scores": lambda: np.sort(scores, axis=None)}
    curves = {"scikit-learn": lambda: [best_f1_cut(Y[:, l], scores[:, l]) for l in range(q)]}
    one_curve = {"scikit-learn": lambda: best_f1_cut(Y.ravel(), scores.ravel())}
    jobs: list[tuple[str, Any, dict, dict]] = [
        ("SCut by F1", lambda: SCut(shrink=0).fit(scores, Y), curves, by_columns),
        ("global cut by micro F1", lambda: GlobalThreshold().fit(scores, Y), one_curve, whole),
        ("global cut by F1", lambda: GlobalThreshold("f1").fit(scores, Y), {}, whole),
        ("global cut by macro F1", lambda: GlobalThreshold("macro_f1").fit(scores, Y), {}, whole),
        ("cardinality cut", lambda: CardinalityThreshold().fit(scores, Y), {}, one_pass),
        ("linear cut", lambda: LinearThreshold().fit(scores, Y), {}, by_rows),
        ("RCut", lambda: RCut(3).fit(None, Y).predict(scores), {}, by_rows),
        ("PCut", lambda: PCut().fit(None, Y).predict(scores), {}, by_columns),
        ("MCut", lambda: MCut().fit(None, Y).predict(scores), {}, by_rows),
        ("expected F", lambda: ExpectedF().fit(None, Y).predict(scores), {}, by_rows),
    ]
    return [
        row
        for what, ours, peers, limits in jobs
        for row in beside(f"{what}, {n:,} x {q}", ours, peers, limits=limits)
    ]
