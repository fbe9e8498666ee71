"""Answers of a service as JSON and as files."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from plurilabel._core.blocks import dense
from plurilabel._core.explanation.contributions import Contributions
from plurilabel._core.explanation.marks import Marker, readable
from plurilabel._core.records import json_bytes
from plurilabel._core.words import no_formula
from plurilabel.models import Model
from plurilabel.serve._training import Trained

MARKED_LABELS = 30  # labels with the highest scores, for which words are marked
LONGEST_MARKED = 20_000  # characters of a text whose words are marked
_MOST_SHARED = 12
_SPARSE = 0.5  # shared features are named if two rows share a smaller part of them


@dataclass(frozen=True)
class Ask:
    """Options of a prediction.

    Attributes
    ----------
    scores : bool
        Whether to return scores along with the labels.
    top : int or None
        Number of labels to return, those with the highest scores.
    cut : float or None
        Return the labels with a score above it instead of the predicted ones.
    """

    scores: bool = False
    top: int | None = None
    cut: float | None = None

    @property
    def predicted(self) -> bool:
        """Whether the labels are the ones that the model predicts."""
        return self.top is None and self.cut is None

    @property
    def scored(self) -> bool:
        return self.scores or not self.predicted


def answered_row(
    ask: Ask, names: Sequence[str], scores: Any, predicted: Sequence[str] | None
) -> dict[str, Any]:
    if not ask.scored:
        return {"labels": list(predicted or ())}
    at = np.arange(len(names))
    if ask.top is not None:
        at = np.argsort(-scores, kind="stable")[: ask.top]
    kept = at if ask.cut is None else at[scores[at] > ask.cut]
    labels = list(predicted or ()) if ask.predicted else [names[j] for j in kept.tolist()]
    answer: dict[str, Any] = {"labels": labels}
    if ask.scores:
        answer["scores"] = {names[j]: finite(scores[j]) for j in at.tolist()}
    return answer


def explained(
    why: Any, label_names: Sequence[str], wanted: Sequence[str] | None, top: int,
    texts: Mapping[str, str],
) -> dict[str, Any]:  # fmt: skip
    """Labels of one row with their largest contributions, the highest score first.

    The words of ``texts``, by column, are marked for the first labels.
    """
    scores = np.asarray(why.scores, dtype=np.float64)
    order = np.argsort(-scores, kind="stable").tolist()
    if wanted is not None:
        places = {name: j for j, name in enumerate(label_names)}
        order = [places[name] for name in wanted]
    markers = _markers(why, texts)
    return {
        "labels": [
            {
                "label": str(label_names[j]),
                "score": finite(scores[j]),
                "base": finite(why.base[j]),
                "adds_up_to": str(why.scales[j]),
                "parts": [{"part": name, "adds": finite(adds)} for name, adds in why.top(j, top)],
                **(_marks(markers, j) if place < MARKED_LABELS else {}),
            }
            for place, j in enumerate(order)
        ]
    }


def _markers(why: Any, texts: Mapping[str, str]) -> dict[str, Marker]:
    """Markers of the words in each column of text; none for explanations by neighbors."""
    if not isinstance(why, Contributions):
        return {}
    if not texts and why.text is not None:
        texts = {"": why.text}
    several = len(texts) > 1
    return {
        name: Marker(why, text, name if several else None)
        for name, text in texts.items()
        if len(text) <= LONGEST_MARKED
    }


def _marks(markers: Mapping[str, Marker], j: int) -> dict[str, Any]:
    """Positions and contributions of words, by column; empty columns are left out."""
    found = {
        name: [[start, end, finite(adds)] for start, end, adds in marker.marked(j).marks]
        for name, marker in markers.items()
    }
    found = {name: marks for name, marks in found.items() if marks}
    return {"marks": found} if found else {}


def shared_features(now: Trained, X: Any, found: Sequence[Any]) -> list[list[list[str]]]:
    """Features that each row shares with each of its neighbors: nonzero in both.

    Empty for dense rows, which share all of them.
    """
    names = _feature_names(now.model)
    if names is None:
        return [[[] for _ in why.neighbors] for why in found]
    points, learned = now.model.encoded(X), now.model.learner.X_
    # a nonzero number or date says little next to a word
    telling = np.array([not name.startswith(("numbers__", "dates__")) for name in names])
    shared = []
    for i, why in enumerate(found):
        x = dense(points[[i]] if not hasattr(points, "iloc") else points.iloc[[i]]).ravel()
        near = dense(learned[why.neighbors])  # (k, d)
        common = np.minimum(np.abs(x), np.abs(near)) * (np.sign(x) == np.sign(near)) * telling
        best = np.argsort(-common, axis=1, kind="stable")[:, :_MOST_SHARED]
        few = (common > 0).mean(axis=1) < _SPARSE
        named = (common > 0) & few[:, np.newaxis]
        rows = enumerate(best.tolist())
        shared.append([[readable(names[j]) for j in row if named[k, j]] for k, row in rows])
    return shared


def _feature_names(model: Model) -> list[str] | None:
    """Names of the features of the learner; None if the pipeline does not provide them."""
    if not model.steps:
        return [str(name) for name in model.feature_names]
    with suppress(ValueError, AttributeError, NotImplementedError):
        return [str(name) for name in model.steps[-1].get_feature_names_out()]
    return None


def holds(features: Any, words: str) -> bool:
    """Whether a text, or a cell of a row, has some words, whatever their case."""
    if isinstance(features, Mapping):
        features = " ".join(str(value) for value in features.values())
    return words.casefold() in str(features).casefold()


def finite(value: Any) -> float | None:
    """A number as JSON represents it: NaN and infinity are null."""
    number = float(value)
    return number if np.isfinite(number) else None


def exported(
    columns: Sequence[str], features: Sequence[Any], cells: Sequence[Mapping[str, Any]],
    format: str, nothing: Any = None,
) -> bytes:  # fmt: skip
    """Write JSON rows as CSV or JSON lines, each with more cells, such as its labels.

    ``cells`` begin with those of no row, for the header; ``nothing`` is the value of a gap.
    """
    columns = columns or ["text"]
    records = []
    for row, more in zip(features, cells[1:]):
        row = {"text": row} if isinstance(row, str) else row
        records.append({name: row.get(name, nothing) for name in columns} | dict(more))
    if format == "jsonl":
        return b"".join(json_bytes(record) + b"\n" for record in records)
    head = [*columns, *cells[0]]
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(map(no_formula, head))
    for record in records:
        row = (record[name] for name in head)
        writer.writerow(["" if cell is None else no_formula(cell) for cell in row])
    return stream.getvalue().encode()


def label_cells(model: Model, names: Sequence[str], format: str) -> dict[str, Any]:
    """Cells of a row for its labels, by column: as in the training table."""
    if isinstance(model.labels, list):
        return {name: int(name in names) for name in model.label_names}
    column = model.labels if isinstance(model.labels, str) else "labels"
    return {column: (model.tag_sep or ";").join(names) if format == "csv" else list(names)}
