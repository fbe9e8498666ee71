"""From the columns of a data frame to Y."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.preprocessing import MultiLabelBinarizer

from plurilabel._core.labels import TAG_SEPARATORS
from plurilabel.io._table._frame import CellError
from plurilabel.io._table._kinds import cells_of, numbers_of, shown


def label_columns(frame: Any, names: Sequence[str], empty: str | None = None) -> NDArray[Any]:
    """Y for columns that hold 0 and 1, int64; float64 with NaN if some labels are not known.

    ``empty`` says what an empty cell is, "unknown" or "absent". None: not known if there is a 0
    in one of the columns; without any, an empty cell may well mean 0, and is refused.
    """
    Y = np.empty((len(frame), len(names)))
    for j, name in enumerate(names):
        values = numbers_of(frame[name], name, "a label 0 or 1")
        wrong = np.flatnonzero((values != 0) & (values != 1) & ~np.isnan(values))
        if len(wrong):
            cell = cells_of(frame[name].iloc[wrong[:1]])[0]
            raise CellError(name, int(wrong[0]), f"expected a label 0 or 1, got {shown(cell)}")
        Y[:, j] = values
    blank = np.isnan(Y)
    if not blank.any():
        return Y.astype(np.int64)
    if empty == "absent":
        return np.where(blank, 0, Y).astype(np.int64)
    if empty is None and not (Y == 0).any():
        row, j = (int(at[0]) for at in np.nonzero(blank))
        raise CellError(
            names[j],
            row,
            "expected a label 0 or 1, got an empty cell, and no label column has a 0: "
            'say what it means with empty_labels="absent" or empty_labels="unknown"',
        )
    return Y


def tag_column(
    series: Any, name: str, tag_sep: str | None, label_names: Sequence[str] | None
) -> tuple[sparse.csr_array, list[str], str | None]:
    """Y in CSR for a column of tags, their names, and what separates them in a cell of text."""
    cells = cells_of(series)
    texts = list(dict.fromkeys(cell for cell in cells if isinstance(cell, str)))
    if tag_sep is None:
        tag_sep = _tag_separator(texts, cells, name)
    tags_of = {
        text: _distinct([text] if tag_sep is None else text.split(tag_sep)) for text in texts
    }
    sets = [
        tags_of[cell] if isinstance(cell, str) else _listed(cell, name, row)
        for row, cell in enumerate(cells)
    ]
    found = {tag for tags in sets for tag in tags}
    if found and found <= {"0", "1"} and label_names is None:
        problem = f"expected tags, got only 0 and 1; a label column is labels=[{name!r}]"
        raise CellError(name, None, problem)
    names = sorted(found) if label_names is None else list(label_names)
    if not names:
        raise CellError(name, None, "expected tags, got only empty cells")
    known = set(names)
    for row, tags in enumerate(sets):
        if strange := [tag for tag in tags if tag not in known]:
            raise CellError(name, row, f"expected one of label_names, got {strange[0]!r}")
    binarizer = MultiLabelBinarizer(classes=names, sparse_output=True)
    Y = sparse.csr_array(binarizer.fit_transform(sets), dtype=np.int64)
    Y.sort_indices()
    return Y, names, tag_sep


def _tag_separator(texts: list[str], cells: list[Any], name: str) -> str | None:
    """The one separator that occurs in a column of tags, None if there is none."""
    for text in texts:
        if text.startswith("[") and text.endswith("]"):
            raise CellError(
                name,
                cells.index(text),
                f"expected separated tags, got a printed list, {shown(text)}; save lists as "
                "Parquet or JSON lines, or join the tags with a separator",
            )
    found = [sep for sep in TAG_SEPARATORS if any(sep in text for text in texts)]
    if len(found) > 1:
        raise CellError(
            name,
            None,
            f"expected one separator between tags, got {' and '.join(map(repr, found))}; "
            "say which with tag_sep=",
        )
    return found[0] if found else None


def _listed(cell: Any, name: str, row: int) -> list[str]:
    """Tags of a cell that is a list, or missing."""
    if cell is None:
        return []
    if not isinstance(cell, list | tuple | set | frozenset | np.ndarray):
        raise CellError(name, row, f"expected tags (text or a list), got {shown(cell)}")
    for tag in cell:
        if not isinstance(tag, str | int | np.integer) or isinstance(tag, bool):
            raise CellError(name, row, f"expected a list of texts, got {shown(tag)} in it")
    return _distinct(map(str, cell))


def _distinct(tags: Any) -> list[str]:
    return list(dict.fromkeys(tag for tag in map(str.strip, tags) if tag))
