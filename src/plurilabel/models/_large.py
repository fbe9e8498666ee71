"""Large arrays of model files: written directly, and mapped into memory instead of read.

While skops writes or reads a learner, marks stand in for its large arrays: complex numbers, which
no learner holds, that count the arrays from 1. Nothing is copied that way, and what skops does not
see need not be in memory.
"""

from __future__ import annotations

import io
import json
import mmap
import struct
import zipfile
from collections.abc import Iterator
from copy import deepcopy
from importlib import import_module
from typing import Any, BinaryIO

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator

from plurilabel._core.fitted import let_go
from plurilabel.models._audit import header_of, stored, trusted_types, written
from plurilabel.models._sound import parts_of

LARGE = 2**20  # bytes from which an array is large
ALIGN = 64  # arrays start at multiples of this in a file, as compiled code expects

_FORMATS = {
    "csr": (sparse.csr_matrix, sparse.csr_array),
    "csc": (sparse.csc_matrix, sparse.csc_array),
}


def without_large(estimator: Any) -> tuple[Any, list[Any]]:
    """A copy with marks in place of the large arrays, and these arrays."""
    others = set(_held_by_others(estimator))
    found = {
        id(value): value
        for _, _, value in _attributes(estimator)
        if id(value) not in others and _is_large(value)
    }
    if not found:
        return estimator, []
    marks = {number: _mark(value, i) for i, (number, value) in enumerate(found.items())}
    return deepcopy(estimator, marks), list(found.values())  # marks are taken for copies


def with_large(estimator: Any, arrays: list[Any]) -> None:
    """Put arrays in the place of their marks."""
    marks = [found for found in _attributes(estimator) if _is_mark(found[2])]
    if {_number(value) for *_, value in marks} != set(range(len(arrays))):
        raise ValueError("the marks do not match the arrays")
    for part, name, value in marks:
        vars(part)[name] = arrays[_number(value)]


def _attributes(estimator: Any) -> Iterator[tuple[Any, str, Any]]:
    for part in list(parts_of(estimator)):
        if _takes_marks(type(part).__module__, type(part).__name__):
            for name, value in list(vars(part).items()):
                yield part, name, value


def _held_by_others(estimator: Any) -> Iterator[int]:
    """The ids of all values outside of attributes that may hold a mark."""
    for part in parts_of(estimator):
        if isinstance(part, dict):
            yield from map(id, part.values())
        elif isinstance(part, list | tuple):
            yield from map(id, part)
        elif not _takes_marks(type(part).__module__, type(part).__name__):
            yield from map(id, getattr(part, "__dict__", {}).values())


def _takes_marks(module: str, name: str) -> bool:
    """Whether a class is ours and does not inspect its attributes while it is loaded."""
    if module.partition(".")[0] != "plurilabel" or f"{module}.{name}" not in trusted_types():
        return False
    cls = getattr(import_module(module), name)
    return getattr(cls, "__setstate__", None) is BaseEstimator.__setstate__


def _is_large(value: Any) -> bool:
    if type(value) in (kind for kinds in _FORMATS.values() for kind in kinds):
        return value.dtype.kind in "biuf" and bool(value.data.nbytes >= LARGE)
    return type(value) is np.ndarray and value.dtype.kind in "biuf" and value.nbytes >= LARGE


def _mark(value: Any, number: int) -> Any:
    content = np.array([number + 1], dtype=complex)  # sparse matrices do not store 0
    return type(value)(content[None]) if sparse.issparse(value) else content


def _is_mark(value: Any) -> bool:
    return (
        (sparse.issparse(value) or isinstance(value, np.ndarray))
        and value.dtype.kind == "c"
        and value.shape in ((1,), (1, 1))
    )


def _number(mark: Any) -> int:
    entries = mark.data if sparse.issparse(mark) else mark
    return int(entries.real.sum()) - 1


def write(
    stream: BinaryIO, content: bytes, arrays: list[Any], others: dict[str, str], level: int
) -> int:
    """Write the members that skops made, with arrays for their marks, and other members.

    The bytes that they have without compression are returned.

    With a level from 1 to 9, everything is compressed; otherwise nothing is.
    """
    packing = zipfile.ZIP_DEFLATED if level else zipfile.ZIP_STORED
    with (
        zipfile.ZipFile(io.BytesIO(content)) as given,
        zipfile.ZipFile(stream, "w", packing, compresslevel=level or None) as archive,
    ):
        for name in given.namelist():
            member = given.read(name)
            if (number := _number_of(member)) is not None:
                _write_array(archive, name, arrays[number])
            else:
                archive.writestr(name, stored(member) if member.startswith(b"PK") else member)
        for name, text in others.items():
            archive.writestr(name, text)
        return sum(entry.file_size for entry in archive.infolist())


def _number_of(member: bytes) -> int | None:
    """Number of the array that a member marks; None if it is not a mark."""
    value: Any = None
    if member.startswith(b"\x93NUMPY"):
        if header_of(io.BytesIO(member))[2].kind == "c":
            value = np.load(io.BytesIO(member), allow_pickle=False)
    elif member.startswith(b"PK"):
        with np.load(io.BytesIO(member), allow_pickle=False) as parts:
            value = parts["data"] if parts["data"].dtype.kind == "c" else None
    return _number(value) if value is not None and _is_mark(value) else None


def _write_array(archive: zipfile.ZipFile, name: str, value: Any) -> None:
    with _member(archive, name) as stream:
        if not sparse.issparse(value):
            np.lib.format.write_array(stream, value, allow_pickle=False)
            return
        # as scipy.sparse.save_npz does, but with nothing compressed
        with zipfile.ZipFile(stream, "w") as inner:
            for key, part in {
                "indices": value.indices,
                "indptr": value.indptr,
                "format": np.array(value.format.encode("ascii")),
                "shape": np.array(value.shape),
                "data": value.data,
                "_is_array": np.array(isinstance(value, sparse.sparray)),
            }.items():
                with _member(inner, f"{key}.npy") as entry:
                    np.lib.format.write_array(entry, part, allow_pickle=False)


def _member(archive: zipfile.ZipFile, name: str) -> Any:
    """A new member whose content begins at a multiple of ``ALIGN`` bytes, unless compressed."""
    if archive.compression != zipfile.ZIP_STORED:
        return archive.open(name, "w", force_zip64=True)
    info = zipfile.ZipInfo(name)
    # the header, the name, the field for large sizes, and the start of a field of zeros
    start = archive.fp.tell() + 30 + len(name.encode()) + 20 + 4  # type: ignore[union-attr]
    room = -start % ALIGN
    info.extra = struct.pack("<HH", 0xD935, room) + bytes(room)
    return archive.open(info, "w", force_zip64=True)


def mapped(stream: BinaryIO) -> tuple[bytes, list[Any]]:
    """The content of a model file with marks for its large arrays, and these, mapped.

    All members are read once, in pieces, to see that they are whole.
    """
    arrays: list[Any] = []
    buffer, memory = io.BytesIO(), mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
    with zipfile.ZipFile(stream) as archive, zipfile.ZipFile(buffer, "w") as small:
        ours = _arrays_of_ours(json.loads(archive.read("schema.json")))
        for entry in archive.infolist():
            if entry.filename not in ours or entry.file_size < LARGE:
                small.writestr(entry.filename, archive.read(entry))
                continue
            with archive.open(entry) as member:
                while member.read(LARGE):  # to the end, where the checksum is compared
                    pass
                member.seek(0)
                value = _map(memory, member, _start(memory, 0, entry))
            mark = _mark(value, len(arrays))
            arrays.append(value)
            with small.open(entry.filename, "w") as target:
                if sparse.issparse(mark):
                    sparse.save_npz(target, mark, compressed=False)
                else:
                    np.lib.format.write_array(target, mark, allow_pickle=False)
    return buffer.getvalue(), arrays


def _arrays_of_ours(schema: Any) -> set[str]:
    """Members that are attributes of the library's own objects, and nothing else."""
    nodes = list(written(schema))
    attributes = set()
    for node in nodes:
        if node.get("__loader__") != "ObjectNode" or not isinstance(node.get("content"), dict):
            continue
        held = node["content"].get("content")
        if isinstance(held, dict) and _takes_marks(node["__module__"], node["__class__"]):
            attributes |= {id(value) for value in held.values() if _is_array(value)}
    named = [(node["file"], id(node) in attributes) for node in nodes if "file" in node]
    return {name for name, _ in named} - {name for name, is_ours in named if not is_ours}


def _is_array(node: Any) -> bool:
    if not isinstance(node, dict):
        return False
    kinds = {"NdArrayNode": "numpy", "SparseMatrixNode": "scipy"}
    if node.get("__loader__") == "NdArrayNode" and node.get("__class__") != "ndarray":
        return False  # a number
    return node.get("type") == kinds.get(node.get("__loader__", ""), "")


def _map(memory: mmap.mmap, member: Any, start: int) -> Any:
    """The array or sparse matrix that begins in a file at ``start``."""
    magic = member.read(2)
    member.seek(0)
    if magic != b"PK":
        return _map_array(memory, member, start)
    parts = {}
    with zipfile.ZipFile(member) as inner:
        for entry in inner.infolist():
            with inner.open(entry) as part:
                at = _start(memory, start, entry)
                parts[entry.filename.removesuffix(".npy")] = _map_array(memory, part, at)
    kinds = _FORMATS[parts["format"].item().decode("ascii")]
    kind = kinds[bool(parts["_is_array"]) if "_is_array" in parts else 0]
    content = (parts["data"], parts["indices"], parts["indptr"])
    return kind(content, shape=tuple(parts["shape"].tolist()))


def _map_array(memory: mmap.mmap, member: Any, start: int) -> Any:
    shape, by_columns, dtype = header_of(member)
    order, at, size = "F" if by_columns else "C", start + member.tell(), int(np.prod(shape))
    found = np.frombuffer(memory, dtype, size, at) if size else np.empty(0, dtype)
    if at % dtype.alignment:  # from an older version
        found = found.copy()
    let_go(found)
    return found.reshape(shape, order=order)  # type: ignore[call-overload]


def _start(memory: mmap.mmap, offset: int, entry: zipfile.ZipInfo) -> int:
    """Where the content of a member begins, by the header before it."""
    header = offset + entry.header_offset
    if memory[header : header + 4] != b"PK\3\4":
        raise zipfile.BadZipFile(f"{entry.filename} has no header")
    sizes = struct.unpack("<HH", memory[header + 26 : header + 30])
    return header + 30 + sum(sizes)
