"""Results label by label, as a table whose cells are shaded."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from plurilabel.report._data import Findings
from plurilabel.report._html_parts import table

MOST_LABELS = 30
MOST_LEARNERS = 12


def shown_labels(counts: NDArray[np.float64], most: int = MOST_LABELS) -> NDArray[np.intp]:
    """Labels by frequency, the most frequent first; of many, some at even distances."""
    order = np.argsort(-counts, kind="stable")
    if len(order) <= most:
        return order
    return order[np.linspace(0, len(order) - 1, most).round().astype(int)]


def label_f1(pooled: dict[str, NDArray[np.float64]]) -> NDArray[np.float64]:
    """F1 of each label from counts; NaN where a label is neither present nor predicted."""
    tp, fp, fn = pooled["tp"], pooled["fp"], pooled["fn"]
    total = 2 * tp + fp + fn
    return np.divide(2 * tp, total, out=np.full(len(tp), np.nan), where=total > 0)


def heat_table(findings: Findings, dataset: str) -> str:
    """F1 of each label and learner in percent, counts summed over the splits."""
    about = findings.results.plan["datasets"][dataset]
    known = [name for name in findings.learners if (dataset, name) in findings.pooled]
    if not known:
        return ""
    learners = known[:MOST_LEARNERS]
    f1 = np.array([label_f1(findings.pooled[dataset, name]) for name in learners])
    q = f1.shape[1]
    names = about.get("label_names") or [f"label {j}" for j in range(q)]
    counts = np.asarray(about.get("label_counts") or np.zeros(q), dtype=np.float64)
    shown = shown_labels(counts)
    rows = []
    for l in shown:
        cells = [f'<td style="--v:0">{int(counts[l]):,}</td>']
        for value in f1[:, l]:
            if np.isnan(value):
                cells.append('<td style="--v:0">–</td>')
            else:
                cells.append(f'<td style="--v:{value:.2f}">{100 * value:.0f}</td>')
        rows.append((str(names[l]), cells))
    caption = "<b>F1 of each label</b>, in percent; counts are summed over the folds"
    if q > len(shown):
        caption += f"; {len(shown)} of {q:,} labels, evenly from the frequent to the rare"
    if len(known) > len(learners):
        caption += f"; the first {len(learners)} learners"
    return table(
        "Label", ["instances", *learners], rows, caption + ".", sortable=True, style="heat"
    )
