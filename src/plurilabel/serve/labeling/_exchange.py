"""Answers in files: CSV, JSON lines and the tasks of Label Studio."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from plurilabel._core.records import json_bytes
from plurilabel.io.shared import open_frame
from plurilabel.serve._answers import exported
from plurilabel.serve._row_reader import BadInput, json_value, one_line

FORMATS = {
    "csv": "text/csv",
    "jsonl": "application/x-ndjson",
    "label-studio": "application/json",
    "votes": "text/csv",
}
TAG_SEP = ";"
_FROM, _TO = "labels", "row"  # names of the tags in the configuration of Label Studio


class Given(NamedTuple):
    """Labels that a person gave a row, as they are in a file."""

    features: Mapping[str, Any]
    labels: list[str]
    person: str | None = None
    seconds: float | None = None


def written(
    rows: Sequence[tuple[Mapping[str, Any], list[str]]], columns: Sequence[str],
    label_column: str, format: str, more: Sequence[Mapping[str, Any]] = (),
) -> bytes:  # fmt: skip
    """Rows and their labels as a table for ``plurilabel fit``, with more cells if given."""
    cells: list[Mapping[str, Any]] = [{label_column: None, **(more[0] if more else {})}]
    for i, (_, labels) in enumerate(rows):
        tags = TAG_SEP.join(labels) if format == "csv" else labels
        cells.append({label_column: tags, **(more[i] if more else {})})
    return exported(columns, [features for features, _ in rows], cells, format)


def votes(given: Iterable[tuple[int, str, list[str]]], labels: Sequence[str]) -> bytes:
    """A long table for ``plurilabel fuse``: the opinion of each person on each label of a row."""
    rows = [
        {"row": row, "label": name, "source": person, "value": int(name in chosen)}
        for row, person, chosen in given
        for name in labels
    ]
    names = ["row", "label", "source", "value"]
    return exported(names, rows, [{} for _ in range(len(rows) + 1)], "csv")


def tasks(
    rows: Iterable[tuple[int, Mapping[str, Any], Mapping[str, tuple[list[str], float | None]]]],
) -> bytes:
    """Tasks of Label Studio, with an annotation for each person."""
    found = []
    for row, features, given in rows:
        annotations = [
            {
                "completed_by": {"email": person},
                "was_cancelled": False,
                "lead_time": seconds,
                "result": [
                    {
                        "from_name": _FROM, "to_name": _TO, "type": "choices",
                        "value": {"choices": labels},
                    }
                ] if labels else [],
            }
            for person, (labels, seconds) in given.items()
        ]  # fmt: skip
        found.append({"id": row + 1, "data": dict(features), "annotations": annotations})
    return json_bytes(found)


def read(content: bytes, name: str, label_column: str) -> list[Given]:
    """Read answers from tasks of Label Studio, or from a table with a column of labels."""
    if content.lstrip()[:1] == b"[" or name.lower().endswith(".json"):
        try:
            return list(_from_tasks(json.loads(content)))
        except (ValueError, RecursionError) as error:
            if isinstance(error, BadInput):
                raise
            raise BadInput(f"{name} is not JSON: {one_line(error)}") from None
    suffix = Path(name).suffix.lower()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"answers{suffix}")
        try:
            path.write_bytes(content)
            frame = open_frame(path, as_text=[label_column]).frame
        except ValueError as error:
            raise BadInput(str(error).replace(str(path), name)) from None
    if label_column not in frame.columns:
        raise BadInput(f"{name} has no column {label_column!r}")
    found = []
    for record in frame.to_dict("records"):
        labels, person = record.pop(label_column), record.pop("person", None)
        cells = {str(key): json_value(value) for key, value in record.items()}
        found.append(Given(cells, _tags(labels), None if person != person else person))
    return found


def _tags(cell: Any) -> list[str]:
    if isinstance(cell, str):
        cell = cell.split(TAG_SEP)
    elif cell is None or (isinstance(cell, float) and cell != cell):
        cell = []
    return list(dict.fromkeys(name for one in cell if (name := " ".join(str(one).split()))))


def _from_tasks(sent: Any) -> Iterator[Given]:
    for i, task in enumerate(sent if isinstance(sent, list) else [sent]):
        if not isinstance(task, Mapping) or not isinstance(task.get("data"), Mapping):
            raise BadInput(f"task {i} must be an object with data, as Label Studio exports it")
        for one in _list(task.get("annotations")):
            if not isinstance(one, Mapping) or one.get("was_cancelled"):
                continue
            who, labels = one.get("completed_by"), []
            person = who.get("email", who.get("id")) if isinstance(who, Mapping) else who
            for region in _list(one.get("result")):
                value = region.get("value") if isinstance(region, Mapping) else None
                chosen = value.get("choices") if isinstance(value, Mapping) else None
                labels += _list(chosen)
            seconds: Any = one.get("lead_time")
            is_time = type(seconds) in (int, float) and 0 <= seconds < 1e9
            name = None if person is None else str(person)
            yield Given(task["data"], _tags(labels), name, seconds if is_time else None)


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def matched(
    given: Sequence[Given], rows: Sequence[Mapping[str, Any]], columns: Sequence[str]
) -> list[int]:
    """The row of each answer: the same cells; copies of a row are taken in turn."""
    places: dict[str, list[int]] = {}
    for row, features in enumerate(rows):
        places.setdefault(_key(features, columns), []).append(row)
    taken: dict[tuple[str | None, str], int] = {}
    found = []
    for i, one in enumerate(given):
        same = _key(one.features, columns)
        if same not in places:
            raise BadInput(f"answer {i}: no row of the data has these cells")
        turn = taken[one.person, same] = taken.get((one.person, same), -1) + 1
        found.append(places[same][turn % len(places[same])])
    return found


def _key(cells: Mapping[str, Any], columns: Sequence[str]) -> str:
    """A text that is the same for the same cells, however a file wrote them."""
    found = []
    for name in columns:
        value = cells.get(name)
        with suppress(TypeError, ValueError, OverflowError):
            number = float(value)  # type: ignore[arg-type]
            value = number if abs(number) < 2**53 else value  # larger ids have digits of their own
        found.append("" if value is None else str(value).strip())
    return repr(found)
