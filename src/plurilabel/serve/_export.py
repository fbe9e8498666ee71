"""Corrected rows as a file that can be learned from."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from typing import Any

from plurilabel._core.words import no_formula
from plurilabel.models import Model


def exported(
    model: Model,
    columns: Sequence[str],
    features: Sequence[Any],
    labels: Sequence[Sequence[str]],
    format: str,
) -> bytes:
    """Rows of JSON and their labels as a table in CSV, or as JSON lines.

    Labels are written as the model's own table had them: as tags in one column, or as 0 and 1.
    """
    columns = columns or ["text"]
    column = model.labels if isinstance(model.labels, str) else "labels"
    by_label = isinstance(model.labels, list)
    nothing = 0 if model.sparse_features else None
    records = []
    for row, names in zip(features, labels):
        row = {"text": row} if isinstance(row, str) else row
        record = {name: row.get(name, nothing) for name in columns}
        if by_label:
            record |= {name: int(name in names) for name in model.label_names}
        elif format == "csv":
            record[column] = (model.tag_sep or ";").join(names)
        else:
            record[column] = list(names)
        records.append(record)
    if format == "jsonl":
        return "".join(json.dumps(r, ensure_ascii=False) + "\n" for r in records).encode()
    head = [*columns, *(model.label_names if by_label else [column])]
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(map(no_formula, head))
    for record in records:
        cells = (record[name] for name in head)
        writer.writerow(["" if cell is None else no_formula(cell) for cell in cells])
    return stream.getvalue().encode()
