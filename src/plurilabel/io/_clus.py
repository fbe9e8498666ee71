"""Classes in a hierarchy, as CLUS writes them into one attribute of an ARFF file.

The attribute is declared as ``class hierarchical a,a/b,a/c``, and the cell of a row lists its
classes: ``a/b@a/c``. The entries of the declaration are paths in a tree. If some begin with
``root/``, they are edges instead, ``root/a,root/c,a/b,c/b``, and a class may have several parents.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, BinaryIO

import numpy as np

from plurilabel._core.blocks import csr_of_rows
from plurilabel._core.data.dataset import Dataset
from plurilabel._core.data.hierarchy import Hierarchy
from plurilabel._core.words import shortened, similar
from plurilabel.io._arff_columns import Columns
from plurilabel.io._arff_header import Attribute, Header
from plurilabel.io._arff_rows import CellKeeper, read_rows
from plurilabel.io._files import AnyPath, FileFormatError

ROOT = "root"


def read_classes(
    stream: BinaryIO, path: AnyPath, header: Header, classes: Attribute, drop: Collection[str],
    encoding: str,
) -> Dataset:  # fmt: skip
    """Read the rest of the file; Y (CSR) has the classes of each row and their ancestors."""
    try:
        tree = class_hierarchy(classes.values)
    except ValueError as error:
        raise FileFormatError(path, classes.line, str(error)) from None
    columns = Columns(path, header.attributes, (), {*drop, classes.name})
    rows = _ClassRows(tree, classes, path, header.lines, columns, encoding)
    X, _ = read_rows(stream, path, header.lines, columns, encoding, rows)
    ones, places = np.ones(len(rows.labels), dtype=np.int64), np.array(rows.labels, np.int32)
    Y = csr_of_rows(ones, places, rows.sizes, len(tree.label_names))
    names = columns.feature_names, tree.label_names
    parents = tree.parents if len(tree.edges) else None
    return Dataset(X, tree.close(Y), *names, label_parents=parents)


class _ClassRows(CellKeeper):
    """Rows with classes, whose numbers are collected."""

    def __init__(self, tree: Hierarchy, *args: Any):
        super().__init__(*args)
        self.number = {label: l for l, label in enumerate(tree.label_names)}
        self.labels: list[int] = []

    def keep(self, cell: str) -> None:
        names = dict.fromkeys(cell.split("@"))
        for name in names:
            if name not in self.number and name != ROOT:
                near = similar(name, list(self.number))
                hint = f"; did you mean {near!r}?" if near else ""
                problem = f"{self.name!r} must have declared classes, joined by @"
                raise self.fail(f"{problem}, got {shortened(name)!r}{hint}")
        found = [self.number[name] for name in names if name != ROOT]
        self.labels += found
        self.sizes.append(len(found))


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
