"""Votes from files: tables, answers of models, and exports of Label Studio."""

from __future__ import annotations

import fnmatch
import json
import os
import re
from collections.abc import Sequence
from numbers import Real
from typing import Any

import numpy as np

from plurilabel._core.blocks import is_missing
from plurilabel._core.names import no_column
from plurilabel._core.words import NO_YES, listed
from plurilabel.io import FileFormatError
from plurilabel.io.shared import open_frame, opened
from plurilabel.votes._votes import Votes, as_floats, named


def read_votes(
    path: Any,
    *,
    row: str | None = None,
    label: str | None = None,
    source: str | None = None,
    value: str | None = None,
    answer: str | None = None,
    sources: Sequence[str] | str | None = None,
    cut: float | None = None,
    label_names: Sequence[str] | None = None,
) -> Votes:
    """Read votes from a table (CSV, Parquet, JSON) or from an export of Label Studio.

    ====================== ==============================================================
    columns given          meaning of a line
    ====================== ==============================================================
    label, source, value   a vote
    source, answer         the answer of a source for a row: a JSON list of labels, which is a
                           no to all others, or a JSON object of probabilities, which abstains
                           on the others; empty for an abstention
    label, sources         the votes of all sources on one label, a column for each
    none                   a task of Label Studio, with annotations and predictions
    ====================== ==============================================================

    Parameters
    ----------
    path : str, path or data frame
        Tables as :func:`plurilabel.io.read_table` takes them. An export of Label Studio is a JSON
        file with a list of tasks.
    row : str
        Column that identifies the row, such as an id or the text.
    label, source, value, answer : str, optional
        Columns of the table, as above. A value is a number, or a word such as yes or no.
    sources : sequence of str or str, optional
        Columns of sources, or a pattern of their names such as ``"annotator_*"``.
    cut : float, optional
        For grades: values above it are a yes, others a no. Without it they are probabilities.
    label_names : sequence of str, optional
        All labels, for answers and Label Studio; by default those that occur, sorted.

    Examples
    --------
    >>> import pandas as pd
    >>> from plurilabel.votes import read_votes
    >>> table = pd.DataFrame({
    ...     "id": [1, 1, 2], "model": ["small", "large", "large"],
    ...     "said": ['["joy"]', '{"joy": 0.9, "fear": 0.2}', '["fear"]'],
    ... })
    >>> read_votes(table, row="id", source="model", answer="said").shares()
    array([[0.1 , 0.95],
           [1.  , 0.  ]])
    """
    if cut is not None and not (isinstance(cut, Real) and np.isfinite(cut)):
        raise ValueError(f"cut must be a finite number, got {cut!r}")
    if row is None:
        if hasattr(path, "columns") or any((label, source, value, answer, sources)):
            raise ValueError("row must name the column of the table that identifies the row")
        return _label_studio(path, label_names)
    frame = open_frame(path, as_text=[answer] if answer else ()).frame
    if isinstance(sources, str):
        pattern, sources = sources, fnmatch.filter(frame.columns, sources)
        if not sources:
            raise ValueError(f"the table has no column of the pattern sources={pattern!r}")
    roles = {"label": label, "source": source, "value": value, "answer": answer}
    given = {role: column for role, column in roles.items() if column is not None}
    for role, column in [("row", row), *given.items(), *(("sources", s) for s in sources or ())]:
        if column not in frame.columns:
            raise ValueError(no_column(role, column, list(frame.columns)))
    rows, columns = frame[row], {name: frame[column] for name, column in given.items()}
    if columns.keys() == {"source", "answer"}:
        return _answers(rows, columns["source"], columns["answer"], label_names)
    if columns.keys() == {"label", "source", "value"}:
        columns["value"] = _graded(columns["value"], cut)
        return Votes.from_long(rows, columns["label"], columns["source"], columns["value"])
    if columns.keys() == {"label"} and sources is not None:
        by_source = {name: _graded(frame[name], cut) for name in sources}
        return Votes.from_wide(rows, columns["label"], by_source)
    raise ValueError(
        "columns must be named by source and answer, by label, source and value, or by label and "
        f"sources, got {listed(list(given)) or 'none'}"
    )


def _graded(column: Any, cut: float | None) -> Any:
    """Values of a column; with a cut, whether they are above it."""
    said = [NO_YES.get(v.lower(), v) if isinstance(v, str) else v for v in column]
    v = as_floats(said)
    return v if cut is None else np.where(np.isnan(v), np.nan, v > cut)


def _answers(rows: Any, sources: Any, answers: Any, label_names: Sequence[str] | None) -> Votes:
    """Votes of a line per row and source; several answers of a source are averaged."""
    rows, sources = named(rows, "rows"), named(sources, "sources", str)
    place = {row: i for i, row in enumerate(dict.fromkeys(rows))}
    said = [
        (place[row], source, _parsed(text, i))
        for i, (row, source, text) in enumerate(zip(rows, sources, answers))
    ]
    return Votes._from_answers(said, list(place), sorted(set(sources)), label_names)


def _parsed(text: Any, i: int) -> Any:
    """A list or an object of JSON, which models often put in a fence; None if it is empty."""
    try:
        plain = re.sub(r"^```\w*|```$", "", text.strip()) if isinstance(text, str) else None
        found = text if plain is None else json.loads(plain.strip() or "null")
    except (ValueError, RecursionError):
        found = text
    if is_missing(found) or isinstance(found, list | tuple | set | dict | np.ndarray):
        return found
    raise ValueError(
        f"answer must be a JSON list of labels or an object of probabilities in row {i}, got "
        f"{str(text)[:60]!r}"
    )


def _label_studio(path: Any, label_names: Sequence[str] | None) -> Votes:
    """Votes of the annotators and models in an export: each chose among the same labels."""
    with opened(path) as stream:
        try:
            tasks = json.loads(stream.read())
        except (ValueError, RecursionError) as error:
            raise FileFormatError(path, None, f"expected JSON, got {error}") from None
    if not isinstance(tasks, list) or not all(isinstance(task, dict) for task in tasks):
        raise FileFormatError(path, None, "expected a list of Label Studio's tasks")
    said = []
    for i, task in enumerate(tasks):
        for one in [*task.get("annotations", ()), *task.get("predictions", ())]:
            if one.get("was_cancelled"):  # skipped
                continue
            try:
                chosen = [
                    choice
                    for result in one.get("result", ())
                    if result.get("type") == "choices"
                    for choice in result["value"]["choices"]
                ]
            except (KeyError, TypeError):
                raise FileFormatError(path, None, f"expected choices in task {i}") from None
            said.append((i, _author(one), chosen))
    if not said:
        what = listed(["annotations", "predictions"])
        raise FileFormatError(os.fspath(path), None, f"expected tasks with {what}, got none")
    names = [task.get("id", i) for i, task in enumerate(tasks)]
    authors = list(dict.fromkeys(author for _, author, _ in said))
    return Votes._from_answers(said, names, authors, label_names)


def _author(one: dict[str, Any]) -> str:
    """Who made an annotation or a prediction."""
    who = one.get("completed_by", one.get("model_version", "unknown"))
    if isinstance(who, dict):
        who = who.get("email", who.get("id"))
    return str(who)
