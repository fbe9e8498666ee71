"""Blocks of rows of CSV and Parquet files, which a model reads as it reads whole files."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby, pairwise
from typing import Any, NamedTuple

import numpy as np

from plurilabel.distributed._csv_blocks import CsvBlock, csv_blocks, is_packed
from plurilabel.io import file_format
from plurilabel.io.shared import (
    Frame,
    StackedFrame,
    check_columns,
    check_same_columns,
    parquet_errors,
    part_files,
    table_module,
)

BUFFER = 1 << 16  # bytes that are read at once from a column of a row group
USUAL_SEP = {"csv": None, "tsv": "\t"}


class ParquetRows(NamedTuple):
    """Rows of a Parquet file, from start to stop."""

    path: str
    start: int
    stop: int

    @property
    def n_rows(self) -> int:
        return self.stop - self.start

    def open(self, _: Any, columns: Sequence[str], scans: dict[str, Any] | None) -> Frame:
        with parquet_errors(self.path):
            scan = None if scans is None else scans.pop(self.path, None)
            if scan is None or scan.at > self.start:
                scan = _Scan(self.path, self.start, columns)
            if scans is not None and self.stop < scan.n_rows:
                scans[self.path] = scan
            batches = list(scan.until(self.start, self.stop))
            frame = table_module("pyarrow").Table.from_batches(batches).to_pandas()
        return Frame(frame.reset_index(drop=True), self.path, start=self.start)


class _Scan:
    """Reads a Parquet file from a row on, a little at a time."""

    def __init__(self, path: str, start: int, columns: Sequence[str]):
        parquet = table_module("pyarrow.parquet")
        self.file = parquet.ParquetFile(path, buffer_size=BUFFER, pre_buffer=False)
        about = self.file.metadata
        ends = np.cumsum([about.row_group(i).num_rows for i in range(about.num_row_groups)])
        first = int(np.searchsorted(ends, start, side="right"))
        self.at, self.n_rows = int(ends[first - 1]) if first else 0, about.num_rows
        groups = list(range(first, len(ends)))
        names = [name for name in self.file.schema_arrow.names if name in set(columns)]
        self.batches = self.file.iter_batches(
            batch_size=1 << 14, row_groups=groups, columns=names or None, use_threads=False
        )
        self.rest: Any = None

    def until(self, start: int, stop: int) -> Iterator[Any]:
        while self.at < stop:
            batch = next(self.batches) if self.rest is None else self.rest
            end = self.at + batch.num_rows
            a, b = max(start - self.at, 0), min(stop - self.at, batch.num_rows)
            if a < b:
                yield batch.slice(a, b - a)
            self.rest = batch.slice(b) if b < batch.num_rows else None
            self.at = end if self.rest is None else self.at + b


@dataclass(frozen=True)
class TableBlock:
    """Consecutive rows of one table in one or several files.

    Only ``columns`` are read from Parquet files; ``types`` are those of columns whose type depends
    on all rows, ``str`` for what is text somewhere. ``scans`` keeps a file open for the next
    block, where one process reads them in order.
    """

    pieces: tuple[CsvBlock | ParquetRows, ...]
    start: int  # row of the table
    columns: tuple[str, ...]
    types: tuple[tuple[str, str], ...] = ()
    scans: dict[str, Any] | None = field(default=None, compare=False, repr=False)

    @property
    def n_rows(self) -> int:
        return sum(piece.n_rows for piece in self.pieces)

    def open_table(self, as_text: Collection[str] = ()) -> Frame:
        """Read the rows."""
        text = {*as_text, *(name for name, kind in self.types if kind == "str")}
        parts = [piece.open(text, self.columns, self.scans) for piece in self.pieces]
        name = parts[0].path or ""
        table = parts[0] if len(parts) == 1 else StackedFrame(parts, os.path.dirname(name))
        others = {name: kind for name, kind in self.types if kind != "str"}
        table.frame = table.frame.astype(others) if others else table.frame
        return table


def table_blocks(
    paths: Any, rows: int, columns: Sequence[str], sep: str | None = None
) -> list[TableBlock] | None:
    """Split CSV and Parquet files into blocks of equal numbers of rows, which go on over files.

    Returns None for other files, and for those that can only be read as a whole: gzipped or in
    UTF-16.
    """
    pieces: list[CsvBlock | ParquetRows] = []
    names: dict[str, list[str]] = {}
    before = 0
    for path in part_files(paths):
        kind = file_format(path)
        if kind == "parquet":
            found, names[path] = _parquet_pieces(path, rows, before)
        elif kind not in USUAL_SEP or is_packed(path):
            return None
        else:
            found = csv_blocks(path, rows, before=before, sep=sep or USUAL_SEP[kind])
            names |= {path: list(found[0].columns)} if found else {}
        pieces += found
        before += sum(piece.n_rows for piece in found)
    check_same_columns(names)
    ends = np.cumsum([piece.n_rows for piece in pieces])
    numbered = zip(((ends - 1) // rows).tolist(), pieces)
    return [
        TableBlock(tuple(piece for _, piece in some), number * rows, tuple(columns))
        for number, some in groupby(numbered, key=lambda pair: pair[0])
    ]


def _parquet_pieces(path: str, rows: int, before: int) -> tuple[list[Any], list[str]]:
    with parquet_errors(path), table_module("pyarrow.parquet").ParquetFile(path) as file:
        n, names = file.metadata.num_rows, list(map(str, file.schema_arrow.names))
    check_columns(path, None, len(names))
    cuts = [0, *range(rows - before % rows, n, rows), n]
    return [ParquetRows(path, a, b) for a, b in pairwise(cuts) if b > a], names


def with_types(blocks: Sequence[TableBlock], names: Sequence[str]) -> tuple[list[TableBlock], Any]:
    """The same blocks with the types of columns in all rows, and the Arrow schema of these.

    What is a number in one block may be text or missing in another: all are looked at.
    """
    arrow = table_module("pyarrow")
    kinds: dict[str, set[str]] = {name: set() for name in names}
    schemas = []
    scans: dict[str, Any] = {}
    narrow = (replace(block, columns=tuple(names), scans=scans) for block in blocks)
    for frame in (block.open_table().frame[list(names)] for block in narrow):
        schemas.append(arrow.Schema.from_pandas(frame, preserve_index=False))
        for name in names:
            kinds[name].add(frame[name].dtype.kind)
    is_text = all(isinstance(piece, CsvBlock) for block in blocks for piece in block.pieces)
    types = {name: _joined(found, is_text) for name, found in kinds.items()}
    given = tuple((name, kind) for name, kind in types.items() if kind)
    known = {"str": arrow.string(), "float64": arrow.float64()}
    joined = arrow.unify_schemas(
        [
            arrow.schema([of.with_type(known.get(types[of.name], of.type)) for of in schema])
            for schema in schemas
        ],
        promote_options="permissive",
    )
    return [replace(block, types=given) for block in blocks], joined


def _joined(kinds: set[str], is_text: bool) -> str:
    """The type of a column with these kinds of blocks, empty if they can be left as they are."""
    if len(kinds) > 1 and kinds <= set("iuf"):
        return "float64"
    return "str" if len(kinds) > 1 and is_text else ""
