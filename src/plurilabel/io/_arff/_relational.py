"""Bags in ARFF: a relational attribute, whose cells hold the rows of a table of their own."""

from __future__ import annotations

import io
from typing import BinaryIO

import numpy as np

from plurilabel._core.data.bags import Bags
from plurilabel._core.data.dataset import Matrix
from plurilabel._core.words import shortened
from plurilabel.io._arff._columns import Columns
from plurilabel.io._arff._header import CELL, PAIR, SPACE, Attribute, Header, decode, unquote
from plurilabel.io._arff._rows import read_rows
from plurilabel.io._files import AnyPath, FileFormatError


def relational(header: Header, path: AnyPath) -> Attribute | None:
    """The attribute that holds the bags; None if there is none."""
    found = [attribute for attribute in header.attributes if attribute.type == "relational"]
    if len(found) > 1:
        problem = f"expected one relational attribute, got {found[1].name!r} as a second"
        raise FileFormatError(path, found[1].line, problem)
    return found[0] if found else None


def read_bags(
    stream: BinaryIO,
    path: AnyPath,
    header: Header,
    bag: Attribute,
    labels: set[str],
    encoding: str,
) -> tuple[Bags, Matrix, list[str]]:
    """Bags, Y and the names of the labels from the rest of the file."""
    inside = Columns(path, list(bag.inside), set(), set())
    names = {attribute.name for attribute in header.attributes}
    outside = Columns(path, header.attributes, labels, names - labels)
    place = header.attributes.index(bag)
    rows: list[bytes] = []  # all instances
    lines: list[int] = []  # the line that each is from
    sizes: list[int] = []
    outer = io.BytesIO()
    for number, raw in enumerate(stream, header.lines + 1):
        text = decode(raw, path, number, encoding).strip(SPACE)
        if not text or text.startswith("%"):
            outer.write(b"\n")
            continue
        start, end = _cell(text, place, bag.name, path, number)
        cell = text[start:end]
        content = unquote(cell) if cell[:1] in ("'", '"') else cell
        instances = [row.encode() for row in content.split("\n") if row.strip(SPACE)]
        if not instances:
            raise FileFormatError(path, number, f"the bag {bag.name!r} has no instances")
        rows += instances
        sizes.append(len(instances))
        lines += [number] * len(instances)
        # what is left is a usual row, of the same line
        outer.write(f"{text[:start]}?{text[end:]}\n".encode())
    if not rows:
        raise FileFormatError(path, header.lines, "expected rows of data after @data, got none")
    outer.seek(0)
    Y = read_rows(outer, path, header.lines, outside, "utf-8")[1]
    try:
        X = read_rows(io.BytesIO(b"\n".join(rows)), path, 0, inside, "utf-8")[0]
    except FileFormatError as error:
        line = None if error.line is None else lines[error.line - 1]
        raise FileFormatError(path, line, f"in {bag.name!r}: {error.problem}") from None
    offsets = np.concatenate(([0], np.cumsum(sizes)))
    try:
        bags = Bags(X, offsets, feature_names=inside.feature_names)
    except ValueError as error:  # a missing value
        raise FileFormatError(path, None, str(error)) from None
    return bags, Y, outside.label_names


def _cell(text: str, place: int, name: str, path: AnyPath, line: int) -> tuple[int, int]:
    """Where the cell of an attribute begins and ends in a row, dense or sparse."""
    sparse_row = text.startswith("{")
    position, cell = int(sparse_row), -1
    while position < len(text):
        if cell == place - 1 and not sparse_row and text[position] in "'\"":
            # the usual case, much faster than a pattern: no quote inside the quotes
            end = text.find(text[position], position + 1)
            if end > 0 and text[end - 1] != "\\":
                return position, end + 1
        match = (PAIR if sparse_row else CELL).match(text, position)
        if match is None:
            break
        if sparse_row:
            cell = int(match[1]) if match[1].isdecimal() else -1
            group = 2 if match[2] else 3
        else:
            cell, group = cell + 1, 1 if match[1] else 2
        if cell == place and match[group]:
            return match.span(group)
        position = match.end()
    problem = f"expected the bag {name!r} as value {place + 1}, in quotes, got {shortened(text)!r}"
    raise FileFormatError(path, line, problem)
