"""The card of a model: what it is for, how it was trained, and how good it is."""

from __future__ import annotations

import os
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any

from plurilabel._core.html import html_table
from plurilabel._core.records import write_atomic
from plurilabel._core.words import capital, counted, shortened
from plurilabel.learners import learner_text
from plurilabel.metrics import get_measure
from plurilabel.models._model import Model

MOST_LABELS, MOST_COLUMNS = 30, 20
HEADLINES = ("micro_f1", "macro_f1", "subset_accuracy", "hamming_loss", "average_precision")

Section = tuple[str, list[str], list[list[str]]]  # title, head and rows of a table


def model_card(model: Model) -> str:
    """Describe a model in Markdown: data, learner, measures on held-out rows, versions.

    Examples
    --------
    >>> from plurilabel import datasets
    >>> from plurilabel.models import model_card, train
    >>> model = train(datasets.make_multilabel(60, 5, 3, random_state=0), learner="MLkNN(5)")
    >>> print(model_card(model))  # doctest: +ELLIPSIS
    # Model card
    <BLANKLINE>
    ## Model
    <BLANKLINE>
    |  |  |
    | --- | --- |
    | learner | MLkNN(n_neighbors=5) |
    | labels | 3: label0, label1, label2 |
    ...
    """
    parts = ["# Model card"]
    for title, head, rows in _sections(model):
        lines = [head, ["---"] * len(head), *rows]
        cells = ([cell.replace("|", "\\|") for cell in line] for line in lines)
        parts += [f"## {title}", "\n".join("| " + " | ".join(line) + " |" for line in cells)]
    return "\n\n".join(parts)


def write_model_card(model: Model, path: str | os.PathLike[str]) -> Path:
    """Write the card of a model as Markdown, or as HTML if the name ends in ``.html``.

    Folders are created if needed.
    """
    path = Path(path)
    if path.suffix in (".html", ".htm"):
        tables = (
            f"<h2>{escape(title)}</h2>{html_table(head if any(head) else [], rows, text=True)}"
            for title, head, rows in _sections(model)
        )
        text = (
            '<!doctype html><html lang="en"><meta charset="utf-8"><title>Model card</title>'
            '<body style="font-family:sans-serif;max-width:50rem;margin:auto;padding:1rem">'
            f"<h1>Model card</h1>{''.join(tables)}</body></html>\n"
        )
    elif path.suffix == ".md":
        text = model_card(model) + "\n"
    else:
        raise ValueError(f"path must end in .md or .html, got {path.name!r}")
    path.parent.mkdir(parents=True, exist_ok=True)
    with write_atomic(path) as stream:
        stream.write(text.encode())
    return path


def _sections(model: Model) -> Iterator[Section]:
    notes, labels = model.notes, model.label_names
    data, held_out = notes.get("data", {}), notes.get("held_out", {})
    about = {
        "learner": notes.get("learner") or learner_text(model.estimator),
        "labels": f"{len(labels):,}: {_listed(labels, MOST_LABELS)}",
        "features": _features(model),
        "threshold": notes.get("threshold"),
        "seed": notes.get("seed"),
    }
    yield "Model", ["", ""], _rows(about)
    rows = {
        "name": data.get("name"),
        "rows": data.get("rows"),
        "digest": data.get("digest"),
        "rows learned": notes.get("learned_rows"),
        "held out": held_out.get("how"),
    }
    if found := _rows(rows):
        yield "Training data", ["", ""], found
    if measures := held_out.get("measures"):
        guessing = notes.get("guessing") or {}
        table = []
        for name in [*HEADLINES, *(other for other in measures if other not in HEADLINES)]:
            if name in measures:
                one, arrow = get_measure(name), "↓↑"[get_measure(name).greater_is_better]
                values = [part.get(name) for part in (measures, guessing)]
                shown = ["" if value is None else f"{value:.4f}" for value in values]
                table.append([f"{capital(one.title)} {arrow}", *shown])
        yield "Measures on held-out rows", ["", "model", "same labels for every row"], table
    if report := notes.get("report"):
        members = [
            [one["name"], f"{one['weight']:.2f}", "" if one["value"] is None else
             f"{one['value']:.3f}"]
            for one in sorted(report["tried"], key=lambda one: -one["weight"])
            if one["weight"] > 0
        ]  # fmt: skip
        title = get_measure(report["measure"]).title
        yield "Members", ["", "weight", f"{title} in cross-validation"], members
    if model.versions:
        yield "Versions", ["", ""], _rows(model.versions)


def _features(model: Model) -> str:
    if not len(model.feature_names):
        return "texts"
    kinds: dict[str, Any] = model.kinds
    names = [f"{name} ({kinds[name]})" if name in kinds else name for name in model.feature_names]
    return f"{counted(len(names), 'feature')}: {_listed(names, MOST_COLUMNS)}"


def _listed(names: Any, most: int) -> str:
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(shortened(str(name), 40) for name in names[:most]) + more


def _rows(about: dict[str, Any]) -> list[list[str]]:
    return [[name, f"{value:,}" if isinstance(value, int) and name == "rows" else str(value)]
            for name, value in about.items() if value not in (None, "")]  # fmt: skip
