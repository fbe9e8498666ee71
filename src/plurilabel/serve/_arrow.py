"""Read untrusted Arrow tables: sizes are checked before anything is unpacked.

Imports pyarrow: import it where it is used.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Collection
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import compute

from plurilabel.serve._row_reader import BadInput, check_number_of_rows

_PER_CELL = 64  # bytes of a cell as an object
_TEXTS = ("string", "large_string", "binary", "large_binary", "fixed_size_binary")
_SCALARS = (*_TEXTS, "boolean", "integer", "floating", "decimal", "temporal", "null")


def read_table(
    content: bytes | bytearray, wanted: Collection[str], *, rows: int, size: int
) -> Any:
    """Read columns of an Arrow stream or file as a data frame; others are left out.

    The table may have at most ``rows`` rows, and unpack to at most ``size`` bytes.
    """
    # A file is a stream between two magic words. Its footer could point to other batches, and is
    # ignored.
    start = 8 if content[:6] == b"ARROW1" else 0
    stream = pa.py_buffer(content).slice(start)
    _check_declared(stream, rows, size)
    with pa.ipc.open_stream(stream) as reader:
        names = reader.schema.names
    places = [j for j, name in enumerate(names) if name in wanted]
    for name, count in Counter(names[j] for j in places).items():
        if count > 1:
            raise BadInput(f"the table has the column {count} times", column=name)
    # without any, all columns would be read: the first stands for the number of rows
    options = pa.ipc.IpcReadOptions(included_fields=places or [0], use_threads=False)
    with pa.ipc.open_stream(stream, options=options) as reader:
        for field in reader.schema if places else ():
            _check_type(field)
        table = reader.read_all()
    table.validate(full=True)
    if not places:
        table = table.select([])
    return _as_frame(table, size)


def _as_frame(table: Any, size: int) -> Any:
    """Convert a table to a data frame; nested values are replaced by placeholders."""
    nested = {}
    for j, name in enumerate(table.column_names):
        if pa.types.is_nested(table.schema.types[j]):
            nested[name] = _placeholders(table.column(j))
            table = table.set_column(j, name, pa.nulls(len(table)))
    unpacked = sum(map(_unpacked, table.columns))
    if unpacked > size:
        raise BadInput(f"the table may unpack to {size:,} bytes, got {unpacked:,}", status=413)
    frame = table.to_pandas(ignore_metadata=True, use_threads=False)
    for name, cells in nested.items():
        frame[name] = cells
    return frame


def _check_declared(stream: Any, rows: int, size: int) -> None:
    """Check the numbers of rows and the sizes that the messages of a stream declare."""
    found = unpacked = 0
    for n, message in enumerate(pa.ipc.MessageReader.open_stream(stream)):
        if n > 2 * rows + 1000:
            raise BadInput("the table has too many batches", status=413)
        if message.type not in ("record batch", "dictionary"):
            continue
        length, buffers = _declared(message)
        unpacked += sum(buffers)
        if message.type == "record batch":
            found += length
            check_number_of_rows(found, rows)
        if unpacked > size:
            raise BadInput(f"the table may unpack to {size:,} bytes, got {unpacked:,}", status=413)


class _Flatbuffer:
    """The metadata of a message."""

    def __init__(self, content: Any) -> None:
        self.content = memoryview(content)

    def read(self, form: str, at: int) -> int:
        value: int = struct.unpack_from(f"<{form}", self.content, at)[0]
        return value

    def follow(self, at: int) -> int:
        """Position that an offset points to."""
        return at + self.read("I", at)

    def field(self, table: int, place: int) -> int:
        """Position of a field of a table; 0 if it is missing."""
        vtable, slot = table - self.read("i", table), 4 + 2 * place
        offset = self.read("H", vtable + slot) if slot < self.read("H", vtable) else 0
        return table + offset if offset else 0


def _declared(message: Any) -> tuple[int, list[int]]:
    """Rows of a batch, and the size of each buffer once it is unpacked."""
    metadata, body = _Flatbuffer(message.metadata), memoryview(message.body or b"")
    batch = metadata.follow(metadata.field(metadata.follow(0), 2))
    if message.type == "dictionary":
        delta = metadata.field(batch, 2)
        if delta and metadata.read("B", delta):
            raise BadInput("the table has a delta dictionary: send whole ones", status=400)
        batch = metadata.follow(metadata.field(batch, 1))
    rows, vector, compressed = (metadata.field(batch, place) for place in (0, 2, 3))
    sizes = []
    if vector:
        vector = metadata.follow(vector)
        for i in range(metadata.read("I", vector)):
            offset, size = struct.unpack_from("<qq", metadata.content, vector + 4 + 16 * i)
            if compressed and size:
                (declared,) = struct.unpack_from("<q", body, offset)
                size = size - 8 if declared == -1 else declared
            if offset < 0 or size < 0:
                raise BadInput("the body is not an Arrow table: a negative size", status=400)
            sizes.append(size)
    length = metadata.read("q", rows) if rows else 0
    if length < 0:
        raise BadInput("the body is not an Arrow table: a negative length", status=400)
    return length, sizes


def _check_type(field: Any) -> None:
    """Reject types whose values may take much more space than their buffers."""
    kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
    lists = pa.types.is_nested(kind) and not pa.types.is_run_end_encoded(kind)
    if not _is(kind, _SCALARS) and not (lists and kind is field.type):
        problem = f"the Arrow type {str(field.type)[:60]} is not accepted: cast it to a plain one"
        raise BadInput(problem, column=field.name)


def _placeholders(column: Any) -> Any:
    """Empty lists or objects for a column of such values, which the caller rejects."""
    lists = pa.types.is_list(column.type) or pa.types.is_large_list(column.type)
    cells = np.full(len(column), None)
    for i in np.flatnonzero(column.is_valid().to_numpy()).tolist():
        cells[i] = [] if lists else {}
    return cells


def _unpacked(column: Any) -> int:
    """Bytes that a column takes as objects: a long text of a dictionary counts in every row."""
    total = _PER_CELL * len(column)
    for chunk in column.chunks:
        values = chunk.dictionary if pa.types.is_dictionary(chunk.type) else chunk
        if _is(values.type, _TEXTS):
            lengths = compute.binary_length(values)
            if values is not chunk:
                lengths = compute.take(lengths, chunk.indices)
            total += compute.sum(lengths).as_py() or 0
    return total


def _is(kind: Any, names: Collection[str]) -> bool:
    return any(getattr(pa.types, f"is_{name}")(kind) for name in names)
