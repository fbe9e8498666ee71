"""Rows for a model: of a file, of a standard dataset, or of standard input."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from plurilabel import datasets
from plurilabel.cli._common import is_standard
from plurilabel.persistence import Model, ModelRows


def read_rows(
    model: Model, data: str, *, with_labels: bool = False, sep: str | None = None
) -> ModelRows:
    """Read rows for a model; a dash is CSV on standard input."""
    if data == "-":
        return _from_stdin(model, with_labels, sep)
    try:
        source = datasets.load(data) if is_standard(data) else data
        return model.read(source, with_labels=with_labels, sep=sep)
    except ValueError as error:
        if data in str(error):
            raise
        raise ValueError(f"{data}: {error}") from None


def _from_stdin(model: Model, with_labels: bool, sep: str | None) -> ModelRows:
    # the reader looks at a file more than once
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "stdin.csv")
        path.write_bytes(sys.stdin.buffer.read())
        try:
            return model.read(path, with_labels=with_labels, sep=sep)
        except ValueError as error:
            text = str(error)
            if str(path) not in text:
                text = f"standard input: {text}"
            raise ValueError(text.replace(str(path), "standard input")) from None
