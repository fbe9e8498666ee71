"""Classes in a hierarchy, as CLUS writes them into one attribute of an ARFF file.

The attribute is declared as ``class hierarchical a,a/b,a/c``, and the cell of a row lists its
classes: ``a/b@a/c``. The entries of the declaration are paths in a tree. If some begin with
``root/``, they are edges instead, ``root/a,root/c,a/b,c/b``, and a class may have several parents.
"""

from __future__ import annotations

import io
from collections.abc import Collection, Sequence
from typing import BinaryIO

import numpy as np

from plurilabel._core.blocks import csr_of_rows
from plurilabel._core.data.dataset import Dataset
from plurilabel._core.data.hierarchy import Hierarchy
from plurilabel._core.words import shortened, similar
from plurilabel.io._arff_columns import Columns
from plurilabel.io._arff_header import SPACE, Attribute, Header, decode, unquote
from plurilabel.io._arff_rows import cell_span, read_rows
from plurilabel.io._files import AnyPath, FileFormatError

ROOT = "root"


def read_classes(
    stream: BinaryIO,
    path: AnyPath,
    header: Header,
    classes: Attribute,
    drop: Collection[str],
    encoding: str,
) -> Dataset:
    """The rest of the file; Y (CSR) has the classes of each row and all above them."""
    try:
        tree = class_hierarchy(classes.values)
    except ValueError as error:
        raise FileFormatError(path, classes.line, str(error)) from None
    number = {label: l for l, label in enumerate(tree.label_names)}
    place, what = header.attributes.index(classes), f"the classes {classes.name!r}"
    is_last = place == len(header.attributes) - 1
    others = io.BytesIO()  # the rows without their classes, on the same lines
    labels: list[int] = []
    sizes: list[int] = []
    for line, raw in enumerate(stream, header.lines + 1):
        text = decode(raw, path, line, encoding).strip(SPACE)
        if not text or text.startswith("%"):
            others.write(b"\n")
            continue
        # the usual row, much faster than a pattern
        start, end = text.rfind(",") + 1, len(text)
        if not is_last or any(mark in text for mark in "'\"%{"):
            start, end = cell_span(text, place, what, path, line)
        found = _numbers(text[start:end], number, what, path, line)
        labels += found
        sizes.append(len(found))
        others.write(f"{text[:start]}?{text[end:]}\n".encode())
    others.seek(0)
    columns = Columns(path, header.attributes, (), {*drop, classes.name})
    X, _ = read_rows(others, path, header.lines, columns, "utf-8")
    places = np.array(labels, dtype=np.int32)
    Y = csr_of_rows(np.ones(len(labels), dtype=np.int64), places, np.array(sizes), len(number))
    names = columns.feature_names, tree.label_names
    parents = tree.parents if len(tree.edges) else None
    return Dataset(X, tree.close(Y), *names, label_parents=parents)


def _numbers(cell: str, number: dict[str, int], what: str, path: AnyPath, line: int) -> list[int]:
    """The numbers of the classes in a cell, each once."""
    cell = cell.strip(SPACE)
    names = (unquote(cell) if cell[:1] in ("'", '"') else cell).split("@")
    for name in names:
        if name not in number and name != ROOT:
            near = similar(name, list(number))
            hint = f"; did you mean {near!r}?" if near else ""
            problem = f"{what} must be declared ones, joined by @, got {shortened(name)!r}{hint}"
            raise FileFormatError(path, line, problem)
    return list(dict.fromkeys(number[name] for name in names if name in number))


def class_hierarchy(declared: Sequence[str]) -> Hierarchy:
    """The hierarchy of a declaration; ``root`` is not a label.

    Examples
    --------
    >>> class_hierarchy(["a/b", "c"]).label_names
    ('a', 'a/b', 'c')
    >>> class_hierarchy(["root/a", "root/c", "a/b", "c/b"]).parents
    (-1, -1, (0, 1))
    """
    edges_given = any(entry.startswith(f"{ROOT}/") for entry in declared)
    parents: dict[str, list[str]] = {}
    for entry in declared:
        parts = entry.split("/")
        if not all(parts) or (edges_given and len(parts) != 2):
            form = "edges parent/child" if edges_given else "paths such as a/b"
            raise ValueError(f"expected {form} in the hierarchy of classes, got {entry!r}")
        paths = parts if edges_given else ["/".join(parts[: i + 1]) for i in range(len(parts))]
        for above, name in zip(["", *paths], paths):
            found = parents.setdefault(name, [])
            if above and above not in found:
                found.append(above)
    names = [name for name in parents if not edges_given or name != ROOT]
    if set(map(tuple, parents.values())) <= {(), (ROOT,)}:  # all on one level
        return Hierarchy.from_edges(names, np.zeros((0, 2), dtype=np.intp))
    return Hierarchy(names, parents)
