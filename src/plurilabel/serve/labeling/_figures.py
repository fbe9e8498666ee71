"""Figures of a project: quality of the models, agreement of people, drift and stopping."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np

from plurilabel import labeling
from plurilabel.metrics import evaluate, micro_f1
from plurilabel.serve import _answers as answers
from plurilabel.serve.labeling._modeled import Trained
from plurilabel.serve.labeling._state import State
from plurilabel.votes import Votes

FEWEST_DRIFT = 5  # answers since the model was trained
SAMPLES = 200  # of the bootstrap
MOST_PAIRS = 12  # confusions
MEASURES = ("precision", "recall", "f1")
TOGETHER = 5  # labels that often occur with a label


def together(
    names: Mapping[int, str], sets: list[frozenset[int]], counts: Counter[int]
) -> dict[str, Any]:
    """Labels that often occur with each label, and the shares of its rows that have them."""
    pairs = Counter((a, b) for labels in sets for a in labels for b in labels if a != b)
    found: dict[str, list[Any]] = {}
    for (a, b), n in pairs.most_common():
        near = found.setdefault(names[a], [])
        if len(near) < TOGETHER:
            near.append([names[b], round(n / counts[a], 3)])
    return found


def quality(Y: Any, P: Any, names: list[str]) -> dict[str, Any]:
    """Figures of each label and of all, and confusions, from held-out probabilities."""
    table: dict[str, Any] = {"labels": []}
    Z = (P > 0.5).astype(np.int8)
    figures = labeling.quality(Y, Z, label_names=names)
    for i, name in enumerate(figures.label_names):
        one: dict[str, Any] = {"label": name, "rows": int(figures["rows"][i])}
        for measure in MEASURES:
            ends = (figures[f"{measure}{end}"][i] for end in ("", "_low", "_high"))
            one[measure] = [answers.finite(value) for value in ends]
        table["labels"].append(one)
    both: Any = evaluate(Y, labels=Z, bootstrap=SAMPLES, random_state=0)
    for measure in MEASURES:
        name = f"micro_{measure}"
        values = (both[name], *both.intervals[name])
        table.setdefault("all", {"rows": len(Y)})[measure] = [*map(answers.finite, values)]
    table["confusions"] = labeling.confusions(Y, Z, label_names=names, n=MOST_PAIRS)
    return table


def agreement(state: State) -> list[dict[str, Any]]:
    """Krippendorff's alpha and number of conflicts of each label, where people overlap."""
    names = list(state.names.values())
    shared = [given for given in state.answers.values() if len(given) > 1]
    if not shared or not names:
        return []
    people = sorted({person for given in shared for person in given})
    said = {
        p: [state.named(given[p].labels) if p in given else None for given in shared]
        for p in people
    }
    votes = Votes.from_sets(said, label_names=names)
    yes, total = votes.counts()
    split, alpha = ((yes > 0) & (yes < total)).sum(axis=0), votes.agreement()["alpha"]
    return [
        {"label": name, "rows": len(shared), "conflicts": int(n), "alpha": answers.finite(a)}
        for name, n, a in zip(names, split, alpha)
    ]


def drift(state: State, trained: Trained | None) -> dict[str, Any] | None:
    """F1 of the trained model on the rows answered since, which it has never seen."""
    rows = [] if trained is None else [r for r in state.answered() if r not in trained.rows]
    if trained is None or len(rows) < FEWEST_DRIFT:
        return None
    sets = [state.labels_of(row) or frozenset() for row in rows]
    Y = np.array([[id in labels for id in trained.labels] for labels in sets])
    measures = trained.model.notes.get("held_out", {}).get("measures", {})
    before = answers.finite(measures.get("micro_f1", np.nan))
    since = answers.finite(micro_f1(Y, trained.P[rows] > 0.5))
    return {"rows": len(rows), "since": since, "before": before}


def stopping(bound: labeling.RecallBound, names: list[str]) -> dict[str, Any]:
    """Bounds of the recall of each label, and whether one may stop."""
    columns = [bound.found, bound.at_most, bound.recall, bound.jointly]
    labels = zip(names, *(column.tolist() for column in columns))
    keys = ("label", "found", "at_most", "recall", "jointly")
    return {
        "labels": [dict(zip(keys, one)) for one in labels], "overall": bound.overall,
        "audits": bound.n_audits, "confidence": bound.confidence, "target": bound.target,
        "may_stop": bound.may_stop,
    }  # fmt: skip


def shown_rows(state: State) -> dict[str, Any]:
    """What :func:`plurilabel.labeling.recall_bound` takes: the rows that people have seen."""
    ids, rows = list(state.names), list(state.shown)
    Y = np.zeros((len(rows), len(ids)))  # skipped rows count as rows without labels
    for i, row in enumerate(rows):
        labels = state.labels_of(row) or ()
        told = np.inf if row in state.skips else -1  # an answer that was undone says nothing
        last = max((a.event for a in state.answers.get(row, {}).values()), default=told)
        late = [row in state.again or last < state.born[id] for id in ids]
        Y[i] = np.where(late, np.nan, [id in labels for id in ids])
    since = np.array([state.since[id] for id in ids], dtype=int)
    # which rows are asked again depends on their labels: until then, audits tell nothing
    waiting = [np.isnan(y[start:]).any() for y, start in zip(Y.T, since)]
    since = np.where(waiting, len(rows), since)
    audit = list(state.shown.values())
    return {"Y": Y, "audit": audit, "n_rows": state.n_rows, "since": since}
