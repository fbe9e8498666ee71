"""MATLAB files of versions 5 to 7: matrices, cells and text.

scipy's reader trusts the sizes that a file declares: malformed files crash the process or allocate
gigabytes. Here each size is checked against the bytes that are left.
"""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Collection
from typing import Any

import numpy as np

from plurilabel._core.data.bags import Bags
from plurilabel._core.data.dataset import Dataset
from plurilabel.io._files import MOST_UNPACKED, AnyPath, FileFormatError, most_unpacked, plain_name

# types of elements
_INT8, _INT32, _UINT32, _MATRIX, _COMPRESSED = 1, 5, 6, 14, 15
_NUMBERS = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8",
            13: "u8"}  # fmt: skip
_TEXTS = {1: "latin-1", 2: "latin-1", 4: "utf-16", 16: "utf-8", 17: "utf-16", 18: "utf-32"}
# classes of matrices
_CELLS, _CHARACTERS, _NUMERIC, _OPAQUE = 1, 4, range(6, 16), 17
_OTHERS = {2: "a struct", 3: "an object", 5: "a sparse matrix"}
_COMPLEX = 0x800
_CELL_SIZE = 256  # bytes of an array in memory besides its numbers


def mat_variables(path: AnyPath, wanted: Collection[str]) -> dict[str, Any]:
    """All variables of a file by name; None for those that are not wanted.

    A matrix is an array, text is a list of its rows, and cells are a list of these.
    """
    with open(path, "rb") as stream:
        content = stream.read()
    return dict(_MatFile(path, content, wanted).variables())


class _MatFile:
    """The content of a file, and how much memory it may still take."""

    def __init__(self, path: AnyPath, content: bytes, wanted: Collection[str]) -> None:
        self.path, self.wanted, self.content = path, wanted, memoryview(content)
        self.name = ""  # of the variable that is read
        self.limit = self.left = most_unpacked(len(content))
        self.order = {b"IM": "<", b"MI": ">"}.get(content[126:128], "")
        version = struct.unpack_from(f"{self.order}H", content, 124)[0] if self.order else 0
        if version != 0x100:
            saved = "version 7.3; save it with -v7" if version == 0x200 else "another file"
            raise self.error(f"expected a MATLAB file of version 5 to 7, got {saved}")

    def error(self, problem: str) -> FileFormatError:
        where = f"in {self.name!r}: " if self.name else ""
        return FileFormatError(self.path, None, where + problem)

    def take(self, size: int) -> None:
        """Count bytes that are unpacked or allocated."""
        self.left -= size
        if self.left < 0:
            problem = f"it takes more than {self.limit:,} bytes; if you trust it, set "
            raise self.error(f"{problem}{MOST_UNPACKED} to a higher limit")

    def variables(self) -> list[tuple[str, Any]]:
        """Names and values of the variables in the file."""
        found, at = [], 128
        while at < len(self.content):
            kind, data, at = self.element(self.content, at)
            if kind == _COMPRESSED:
                kind, data = self.unpacked(data)
            if kind != _MATRIX:
                raise self.error(f"expected a variable, got an element of type {kind}")
            found.append(self.matrix(data))
            self.name = ""
        return found

    def element(self, content: memoryview, at: int) -> tuple[int, memoryview, int]:
        """Type and data of the element at a position, and the position after it."""
        if at + 8 > len(content):
            raise self.error("an element is cut off")
        first, size = struct.unpack_from(f"{self.order}II", content, at)
        kind, small = first & 0xFFFF, first >> 16
        if small:  # up to four bytes of data, stored instead of their size
            start, size, after = at + 4, small, at + 8
        else:
            start, after = at + 8, at + 8 + size + (0 if first == _COMPRESSED else -size % 8)
        if start + size > min(after, len(content)):
            there = len(content) - start
            raise self.error(f"expected an element of {size:,} bytes, got {there:,}")
        return kind, content[start : start + size], after

    def unpacked(self, data: memoryview) -> tuple[int, memoryview]:
        """Type and data of a compressed element."""
        unpacker = zlib.decompressobj()
        try:
            tag = unpacker.decompress(data, 8)
            if len(tag) < 8:
                raise self.error("a compressed variable is cut off")
            kind, size = struct.unpack(f"{self.order}II", tag)
            self.take(size)
            # zlib takes a limit of 0 for none
            content = unpacker.decompress(unpacker.unconsumed_tail, size) if size else b""
        except zlib.error as error:
            raise self.error(f"a compressed variable is broken: {error}") from None
        if len(content) < size:
            raise self.error(f"expected a variable of {size:,} bytes, got {len(content):,}")
        return kind, memoryview(content)

    def matrix(self, data: memoryview, *, in_cell: bool = False) -> tuple[str, Any]:
        """Name and value of a matrix; None for a variable that is not wanted."""
        if in_cell and not len(data):
            return "", np.empty((0, 0))
        kind, flags, at = self.element(data, 0)
        if kind != _UINT32 or len(flags) != 8:
            raise self.error("expected the flags of a matrix")
        flag = struct.unpack(f"{self.order}II", flags)[0]
        if (family := flag & 0xFF) == _OPAQUE and not in_cell:  # has no shape
            return "", None
        kind, sizes, at = self.element(data, at)
        named_by, letters, at = self.element(data, at)
        if kind != _INT32 or named_by != _INT8:
            raise self.error("expected the shape and the name of a matrix")
        name = bytes(letters).decode("latin-1")
        if not in_cell and name not in self.wanted:
            return name, None
        self.name = name or self.name
        if len(sizes) != 8 or min(shape := struct.unpack(f"{self.order}ii", sizes)) < 0:
            raise self.error("expected a matrix of two dimensions")
        if family == _CELLS and not in_cell:
            return name, self.cells(data[at:], shape)
        if family == _CHARACTERS:
            return name, self.text(data, at, shape)
        if family not in _NUMERIC or flag & _COMPLEX:
            other = _OTHERS.get(family, f"class {family}")
            got = "complex numbers" if flag & _COMPLEX else other
            raise self.error(f"expected a matrix, text or cells of them, got {got}")
        return name, self.numbers(data, at, shape)

    def numbers(self, data: memoryview, at: int, shape: tuple[int, int]) -> Any:
        kind, part, _ = self.element(data, at)
        if kind not in _NUMBERS:
            raise self.error(f"expected numbers, got an element of type {kind}")
        dtype = np.dtype(self.order + _NUMBERS[kind])
        if len(part) != math.prod(shape) * dtype.itemsize:
            raise self.error(f"expected {shape} {dtype.name} numbers, got {len(part):,} bytes")
        values = np.frombuffer(part, dtype).reshape(shape, order="F")
        return values.astype(dtype.newbyteorder("="), copy=False)

    def text(self, data: memoryview, at: int, shape: tuple[int, int]) -> list[str]:
        kind, part, _ = self.element(data, at)
        if kind not in _TEXTS:
            raise self.error(f"expected text, got an element of type {kind}")
        ends = {"<": "-le", ">": "-be"}[self.order]
        code = _TEXTS[kind] + (ends if _TEXTS[kind] in ("utf-16", "utf-32") else "")
        try:
            letters = bytes(part).decode(code)
        except UnicodeDecodeError as error:
            raise self.error(f"expected text in {code}, got {error.reason}") from None
        rows = shape[0]
        if rows <= 1:
            return [letters]
        if len(letters) != math.prod(shape):
            raise self.error(f"expected {shape} characters, got {len(letters):,}")
        self.take(rows * _CELL_SIZE)
        return [letters[row::rows].rstrip() for row in range(rows)]

    def cells(self, data: memoryview, shape: tuple[int, int]) -> list[Any]:
        if min(shape) > 1:
            raise self.error(f"expected a row or a column of cells, got the shape {shape}")
        self.take(math.prod(shape) * _CELL_SIZE)
        found, at = [], 0
        for _ in range(math.prod(shape)):
            kind, part, at = self.element(data, at)
            if kind != _MATRIX:
                raise self.error(f"expected a matrix in a cell, got an element of type {kind}")
            found.append(self.matrix(part, in_cell=True)[1])
        return found


def read_mat_bags(path: AnyPath, *, bags: str = "bags", targets: str = "targets") -> Dataset:
    """Read bags of instances and their labels from a MATLAB file of version 5 to 7.

    Parameters
    ----------
    path : str or path
    bags : str, default="bags"
        Variable with a cell for each bag, a matrix (instances, features).
    targets : str, default="targets"
        Variable with a matrix (labels, bags): 1 if the bag has the label, else -1 or 0.

    Returns
    -------
    Dataset
        X is a :class:`~plurilabel.bags.Bags`. The variable ``class_name``, if it has a cell for
        each label, gives the names of the labels.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> from scipy.io import savemat
    >>> from plurilabel.io import read_mat_bags
    >>> cells = np.empty((2, 1), dtype=object)
    >>> cells[:, 0] = [np.zeros((3, 4)), np.ones((1, 4))]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "photos.mat")
    ...     savemat(path, {"bags": cells, "targets": np.array([[1, -1], [-1, 1], [1, 1]])})
    ...     data = read_mat_bags(path)
    >>> data, data.X
    (Dataset 'photos': 2 instances, 4 features, 3 labels,
     Bags: 2 bags, 4 instances, 4 features)
    """
    content = mat_variables(path, {bags, targets, "class_name"})
    for name in (bags, targets):
        if name not in content:
            known = [key for key in content if not key.startswith("__")]
            raise FileFormatError(path, None, f"expected a variable {name!r}, got {known}")
    cells, T = content[bags], content[targets]
    if not isinstance(cells, list):
        raise FileFormatError(path, None, f"expected cells in {bags!r}, got a matrix")
    try:
        X = Bags(cells)
    except (TypeError, ValueError) as error:
        raise FileFormatError(path, None, f"in {bags!r}: {error}") from None
    shape = "cells" if isinstance(T, list) else f"the shape {T.shape}"
    if isinstance(T, list) or T.shape[1] != len(X) or not np.isin(T, (-1, 0, 1)).all():
        problem = f"expected a matrix (labels, {len(X)} bags) of 1 and -1 or 0 in {targets!r}"
        raise FileFormatError(path, None, f"{problem}, got {shape}")
    names = [name for name in map(_name, content.get("class_name", ())) if name is not None]
    names = names if len(names) == len(T) else []
    return Dataset(X, (T.T > 0).astype(np.int64), label_names=names, name=plain_name(path))


def _name(cell: Any) -> str | None:
    """The name in a cell, None if it is a number."""
    cell = cell[0] if isinstance(cell, list) and len(cell) == 1 else cell
    return cell if isinstance(cell, str) else None
