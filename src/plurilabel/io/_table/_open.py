"""A table in memory, and which of its columns are what."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from plurilabel._dataset import Matrix
from plurilabel.io._files import FileFormatError, plain_name
from plurilabel.io._table._cells import CellError, cells_of
from plurilabel.io._table._files import (
    Table,
    first_repeated,
    no_line,
    read_frame,
    table_format,
    table_module,
    with_names,
)
from plurilabel.io._table._labels import label_columns, tag_column, tag_separator


@dataclass(frozen=True)
class OpenTable:
    """A table that was read, from a file if it has a path."""

    table: Table
    path: str | None = None

    @property
    def frame(self) -> Any:
        """The data frame."""
        return self.table.frame

    @property
    def name(self) -> str:
        """Name of the dataset."""
        return "" if self.path is None else plain_name(self.path)

    @contextmanager
    def located(self) -> Iterator[None]:
        """Errors of cells get file and line, or the row of a data frame."""
        try:
            if not len(self.frame):
                raise CellError("", None, "expected at least one row, got none")
            yield
        except CellError as error:
            raise self._located(error) from None

    def _located(self, error: CellError) -> ValueError:
        column = f"column {error.column!r}" if error.column else "table"
        if self.path is None:
            row = "" if error.row is None else f", row {error.row}"
            return ValueError(f"{column}{row}: {error.problem}")
        line = None if error.row is None else self.table.line_of(error.row)
        if error.row is not None and line is None:
            column += f", row {error.row}"
        return FileFormatError(self.path, line, f"{column}: {error.problem}")

    def labels(
        self,
        labels: str | Sequence[str],
        tag_sep: str | None = None,
        label_names: Sequence[str] | None = None,
    ) -> tuple[Matrix, list[str]]:
        """Y and the names of its columns, for a column of tags or for label columns."""
        if isinstance(labels, str):
            return tag_column(self.frame[labels], labels, tag_sep, label_names)
        return label_columns(self.frame, labels), list(labels)

    def tag_separator(self, column: str) -> str | None:
        """What separates the tags of a column of text; None if each cell has at most one."""
        cells = cells_of(self.frame[column])
        return tag_separator([cell for cell in cells if isinstance(cell, str)], cells, column)

    def feature_columns(
        self,
        labels: Sequence[str],
        features: Sequence[str] | None,
        text: str | None,
        drop: Sequence[str] = (),
    ) -> list[str]:
        """The feature columns, after a check of all names that were given."""
        columns = list(self.frame.columns)
        there = set(columns)
        asked = {
            "labels": labels,
            "features": features or (),
            "text": [] if text is None else [text],
            "drop": drop,
        }
        for parameter, names in asked.items():
            twice = first_repeated(names)
            if twice is not None:
                raise ValueError(f"{parameter} must name each column once, got {twice!r} twice")
            for column in names:
                if column not in there:
                    instead = _instead(column, columns)
                    raise ValueError(f"{parameter} names a column {column!r}: {instead}")
                if parameter != "labels" and column in labels:
                    raise ValueError(f"{parameter} must name no label column, got {column!r}")
        if not labels:
            raise ValueError("labels must name at least one column, got none")
        if features is not None or text is not None:
            used = list(features or ())
        else:
            used = [name for name in columns if name not in labels]
        used = [name for name in used if name not in drop]
        if not used and text is None:
            raise ValueError("features must name at least one column, got none besides the labels")
        if features is None and "" in used:
            raise ValueError(
                f"column {columns.index('') + 1} has no name, as that of an index which was saved "
                "with the table: give it one, or leave it out with drop=['']"
            )
        return used


def open_table(
    path: str | os.PathLike[str] | Any,
    *,
    sep: str | None = None,
    format: str | None = None,
    as_text: Sequence[str] = (),
) -> OpenTable:
    """Read a file or take a data frame; in CSV the columns ``as_text`` stay text."""
    if isinstance(path, str | os.PathLike):
        return OpenTable(
            read_frame(path, table_format(path, format), sep, as_text), os.fspath(path)
        )
    pandas = table_module("pandas")
    frame = path
    if not isinstance(frame, pandas.DataFrame):
        if not hasattr(frame, "to_pandas"):
            raise TypeError(f"path must be a path or a data frame, got {type(frame).__name__}")
        table_module("pyarrow")  # what polars converts with
        frame = frame.to_pandas()
    named = with_names(frame, lambda text: ValueError(f"data frame: {text}"))
    return OpenTable(Table(named, no_line))


def _instead(column: str, columns: list[str]) -> str:
    if len(columns) == 1:
        return f"the table has only one, {columns[0]!r}; is sep= right?"
    close = difflib.get_close_matches(column, columns, n=1)
    if close:
        return f"expected one of the table's, such as {close[0]!r}"
    shown = ", ".join(map(repr, columns[:10])) + (", ..." if len(columns) > 10 else "")
    return f"expected one of the table's {len(columns)}, {shown}"
