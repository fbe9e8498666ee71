"""Labels of tables: 0/1 columns, tags, and tables with different labels."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import chain
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse as sp
from sklearn.preprocessing import MultiLabelBinarizer

from plurilabel._core.base import check_labels, column_names
from plurilabel._core.blocks import dense, stack_rows
from plurilabel._core.labels import TAG_SEPARATORS
from plurilabel._core.unknown import known_part
from plurilabel._core.words import NUMBER, first_repeated, is_unicode
from plurilabel.io._table._frame import CellError, table_module
from plurilabel.io._table._kinds import cells_of, numbers_of, shown

SOFT = (
    "fractions are probabilities with soft=True; otherwise cut them into 0 and 1, or learn grades "
    "and degrees with plurilabel.graded"
)
MOST_NUMBERS = 100  # beyond these, a column with one number in each cell is not one of tags


def label_columns(
    frame: Any, names: Sequence[str], empty: str | None = None, soft: bool = False
) -> NDArray[Any]:
    """Y from 0/1 columns: int64, or float64 if some labels are unknown (NaN) or soft.

    Empty cells are "unknown" or "absent". By default they are unknown if any of the columns has a
    0; otherwise they might mean 0, and are rejected.
    """
    Y = np.empty((len(frame), len(names)))
    expected = "a probability from 0 to 1" if soft else "a label 0 or 1"
    for j, name in enumerate(names):
        values = numbers_of(frame[name], name, expected)
        good = (values >= 0) & (values <= 1) if soft else (values == 0) | (values == 1)
        wrong = np.flatnonzero(~good & ~np.isnan(values))
        if len(wrong):
            cell = cells_of(frame[name].iloc[wrong[:1]])[0]
            more = f"; {SOFT}" if 0 < values[wrong[0]] < 1 else ""
            raise CellError(name, int(wrong[0]), f"expected {expected}, got {shown(cell)}{more}")
        Y[:, j] = values
    blank = np.isnan(Y)
    whole = not ((Y > 0) & (Y < 1)).any()
    if not blank.any() or empty == "absent":
        Y = np.where(blank, 0, Y)
        return Y.astype(np.int64) if whole else Y
    if empty is None and not (Y < 1).any():
        row, j = (int(at[0]) for at in np.nonzero(blank))
        problem = "expected a label 0 or 1, got an empty cell, and no label column has a 0: use "
        problem += 'empty_labels="absent" or empty_labels="unknown"'
        raise CellError(names[j], row, problem)
    return Y


def tag_column(
    series: Any, name: str, tag_sep: str | None, label_names: Sequence[str] | None,
    soft: bool = False,
) -> tuple[sp.csr_array, list[str], str | None]:  # fmt: skip
    """Y in CSR for a column of tags, the names of the tags, and their separator."""
    if label_names is not None and (twice := first_repeated(label_names)) is not None:
        raise ValueError(f"label_names must name each label once, got {twice!r} twice")
    cells, shares = cells_of(series), None
    if soft:
        cells = [
            _as_tags(cell, name, row) if isinstance(cell, dict) else cell
            for row, cell in enumerate(cells)
        ]
    texts = list(dict.fromkeys(cell for cell in cells if isinstance(cell, str)))
    tag_sep = _tag_separator(texts, cells, name) if tag_sep is None else tag_sep
    tags_of = {text: _distinct(text.split(tag_sep) if tag_sep else [text]) for text in texts}
    sets = [
        tags_of[cell] if isinstance(cell, str) else _listed(cell, name, row)
        for row, cell in enumerate(cells)
    ]
    if soft:
        shares = [_shares(tags, name, row) for row, tags in enumerate(sets)]
        sets = [list(tags) for tags in shares]
    found = set(chain.from_iterable(sets))
    if label_names is None and not soft and 2 * sum(map(_is_share, found)) > len(found):
        row, tag = next((row, t) for row, tags in enumerate(sets) for t in tags if _is_share(t))
        raise CellError(name, row, f"expected tags, got {tag!r}; {SOFT}")
    if label_names is None and tag_sep is None:
        _refuse_numbers(sets, found, name)
    if label_names is None and found and found <= {"0", "1"}:
        problem = f"expected tags, got only 0 and 1; a label column is labels=[{name!r}]"
        raise CellError(name, None, problem)
    names = sorted(found) if label_names is None else list(label_names)
    if not names:
        raise CellError(name, None, "expected tags, got only empty cells")
    if strange := found.difference(names):
        row, tag = next((row, t) for row, tags in enumerate(sets) for t in tags if t in strange)
        raise CellError(name, row, f"expected one of label_names, got {tag!r}")
    binarizer = MultiLabelBinarizer(classes=names, sparse_output=True)
    Y = sp.csr_array(binarizer.fit_transform(sets), dtype=np.int64)
    Y.sort_indices()
    if shares is not None:
        places = np.repeat(np.arange(len(shares)), np.diff(Y.indptr))
        each = [shares[i][names[j]] for i, j in zip(places, Y.indices)]
        Y = sp.csr_array((np.array(each), Y.indices, Y.indptr), Y.shape)
        Y.eliminate_zeros()
        Y = Y if (Y.data < 1).any() else Y.astype(np.int64)
    return Y, names, tag_sep


_SHARE = re.compile(r"(.*\S)\s*:\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|nan)(%?)")


def _as_tags(shares: dict[str, Any], name: str, row: int) -> list[str]:
    """Tags with their probabilities; None and NaN are no tags."""
    for tag, share in shares.items():
        if not (share is None or isinstance(share, Real)):
            problem = f"expected a probability from 0 to 1, got {shown(share)} of {tag!r}"
            raise CellError(name, row, problem)
    given = {tag: float(share) for tag, share in shares.items() if share is not None}
    return [f"{tag}:{share}" for tag, share in given.items() if share == share]


def _is_share(tag: str) -> bool:
    """Whether a tag looks like one with a fraction, as in ``sun:0.7``."""
    found = _SHARE.fullmatch(tag)
    return found is not None and "." in found[2] and 0 <= float(found[2]) <= 1


def _shares(tags: list[str], name: str, row: int) -> dict[str, float]:
    """Probabilities of tags such as ``sun:0.7``; 1 for a tag without a number."""
    shares: dict[str, float] = {}
    for tag in tags:
        found = _SHARE.fullmatch(tag)
        stem, share = (tag, 1.0) if found is None else (found[1], float(found[2]))
        if not 0 <= share <= 1 or (found is not None and found[3]):
            raise CellError(name, row, f"expected a probability from 0 to 1, got {tag!r}")
        if stem in shares:
            raise CellError(name, row, f"expected each tag once, got {stem!r} twice")
        shares[stem] = share
    return shares


def _refuse_numbers(sets: list[list[str]], found: set[str], name: str) -> None:
    """Reject a column of single numbers if some are fractions, or very many differ."""
    if not all(map(NUMBER.fullmatch, found)):
        return
    part = next((tag for tag in sorted(found) if not float(tag).is_integer()), None)
    if part is not None:
        row = next(row for row, tags in enumerate(sets) if part in tags)
        raise CellError(name, row, f"expected tags, got {part}; {SOFT}")
    if len(found) > MOST_NUMBERS and max(map(len, sets)) == 1:
        problem = f"expected tags, got {len(found):,} different numbers, such as {min(found)}"
        problem += "; if they are tags, say so with tag_sep=';'"
        raise CellError(name, None, problem)


def _tag_separator(texts: list[str], cells: list[Any], name: str) -> str | None:
    """The only separator in a column of tags; None if there is none."""
    for text in texts:
        if text.startswith("[") and text.endswith("]"):
            problem = f"expected separated tags, got a printed list, {shown(text)}; save lists as "
            problem += "Parquet or JSON lines, or join the tags with a separator"
            raise CellError(name, cells.index(text), problem)
    found = [sep for sep in TAG_SEPARATORS if any(sep in text for text in texts)]
    if len(found) > 1:
        problem = f"expected one separator between tags, got {' and '.join(map(repr, found))}"
        raise CellError(name, None, f"{problem}; choose one with tag_sep=")
    return found[0] if found else None


def _listed(cell: Any, name: str, row: int) -> list[str]:
    """Tags of a cell that is a list, or missing."""
    if cell is None:
        return []
    if isinstance(cell, dict):
        raise CellError(name, row, f"expected tags (text or a list), got {shown(cell)}; {SOFT}")
    if not isinstance(cell, list | tuple | set | frozenset | np.ndarray):
        more = f"; {SOFT}" if isinstance(cell, float) and not cell.is_integer() else ""
        raise CellError(name, row, f"expected tags (text or a list), got {shown(cell)}{more}")
    for tag in cell:
        if not isinstance(tag, str | int | np.integer) or isinstance(tag, bool):
            raise CellError(name, row, f"expected a list of texts, got {shown(tag)} in it")
        if not is_unicode(str(tag)):
            raise CellError(name, row, f"expected tags in valid Unicode, got {shown(tag)}")
    return _distinct(map(str, cell))


def _distinct(tags: Any) -> list[str]:
    return list(dict.fromkeys(tag for tag in map(str.strip, tags) if tag))


def label_matrix(
    tags: Any,
    *,
    sep: str | None = None,
    label_names: Sequence[str] | None = None,
    sparse: bool = False,
    soft: bool = False,
) -> Any:
    """Convert tags to a 0/1 label matrix, a data frame with a column for each tag.

    Learners accept lists and sets of tags as ``y``. Use this function for separated tags in texts,
    tags that are numbers, splits and measures, or to get the same columns for several parts of the
    data. Needs pandas: ``pip install plurilabel[table]``.

    Parameters
    ----------
    tags : sequence of n lists, sets or texts; or a column or array of them
        None, NaN, empty texts and lists: no labels. Blanks around tags and repeats are dropped.
    sep : str, default=None
        Tag separator in texts. By default ``;``, ``|`` or ``,``; required if several occur.
    label_names : sequence of str, default=None
        The labels, in the order wanted. By default the tags that occur, sorted.
    sparse : bool, default=False
        Whether the columns are sparse, which learners treat as a sparse matrix.
    soft : bool, default=False
        Whether tags may have probabilities, as in ``"sea:0.7;sun"``, which are then the entries.

    Returns
    -------
    pandas data frame of shape (n, q)
        0 and 1 in int64, with the index of ``tags`` if that is a column of pandas.

    Examples
    --------
    >>> from plurilabel import MLkNN, label_matrix
    >>> Y = label_matrix(["sea;sun", "sun", "", "sea"])
    >>> Y
       sea  sun
    0    1    1
    1    0    1
    2    0    0
    3    1    0
    >>> MLkNN(n_neighbors=1).fit([[0.0], [1], [2], [0]], Y).label_names_.tolist()
    ['sea', 'sun']
    """
    pd = table_module("pandas")
    if sep == "":
        raise ValueError("sep must hold at least one character, got ''")
    column = _tag_cells(tags, pd)
    if not len(column):
        raise ValueError("tags must have at least one instance, got none")
    try:
        Y, names, _ = tag_column(column, "tags", sep, label_names, soft)
    except CellError as error:
        where = "" if error.row is None else f", row {error.row}"
        # in terms of the parameters of this function, not of a table
        problem = error.problem.replace("tag_sep=", "sep=").replace(
            "; a label column is labels=['tags']", "; a 0/1 matrix is a label matrix already"
        )
        raise ValueError(f"tags{where}: {problem}") from None
    if sparse:
        return pd.DataFrame.sparse.from_spmatrix(Y, index=column.index, columns=names)
    return pd.DataFrame(Y.toarray(), index=column.index, columns=names)


def _tag_cells(tags: Any, pd: Any) -> Any:
    """The tags as a column of objects."""
    if isinstance(tags, str | dict) or not hasattr(tags, "__len__"):
        raise TypeError(f"tags must be a sequence, one entry per instance, got {tags!r:.60}")
    if hasattr(tags, "columns"):
        if len(tags.columns) != 1:
            raise ValueError(f"tags must be one column, got a frame of {len(tags.columns)}")
        tags = tags[tags.columns[0]]
    if isinstance(tags, pd.Series):
        return tags.astype(object)
    cells = tags.to_list() if hasattr(tags, "to_list") else list(tags)
    column = pd.Series(index=pd.RangeIndex(len(cells)), dtype=object)
    column[:] = np.fromiter(cells, dtype=object, count=len(cells))  # lists stay lists
    return column


def stack_tables(tables: Sequence[tuple[Any, Any]]) -> tuple[Any, Any]:
    """Stack tables that were labeled for different tasks.

    Each row keeps the labels of its table; those of the other tables are unknown (NaN). A learner
    that accepts unknown labels then learns all tasks in one fit.

    Parameters
    ----------
    tables : sequence of pairs (X, Y)
        All X have the same features: matrices, dense or sparse, or data frames, with columns in
        any order. Y is a data frame with labels as columns, where equal names are the same label,
        or a 0/1 matrix, whose labels belong to this table alone. It may have unknown labels.

    Returns
    -------
    X : matrix of shape (n, d), or a data frame if the first table has one
    Y : data frame of shape (n, q) if one of the tables has one, else ndarray; float, with NaN
        Labels are in the order of their first appearance.

    Examples
    --------
    >>> import numpy as np
    >>> from plurilabel.io import stack_tables
    >>> X, Y = stack_tables([([[0.0], [1.0]], [[0], [1]]), ([[2.0]], [[1, 0]])])
    >>> X.ravel()
    array([0., 1., 2.])
    >>> Y
    array([[ 0., nan, nan],
           [ 1., nan, nan],
           [nan,  1.,  0.]])
    """
    if len(tables) == 0:
        raise ValueError("tables must have at least one pair (X, Y), got none")
    X = _stack_features([X for X, _ in tables])
    blocks = [_label_block(t, *table) for t, table in enumerate(tables)]
    places = {key: j for j, key in enumerate(dict.fromkeys(chain(*(keys for keys, _ in blocks))))}
    Y = np.full((sum(len(block) for _, block in blocks), len(places)), np.nan)
    start = 0
    for keys, block in blocks:
        Y[start : start + len(block), [places[key] for key in keys]] = block
        start += len(block)
    if all(column_names(Y) is None for _, Y in tables):
        return X, Y
    return X, table_module("pandas").DataFrame(Y, columns=list(places))


def _label_block(t: int, X: Any, Y: Any) -> tuple[list[Any], NDArray[np.float64]]:
    """Names of the labels of table ``t``, and the labels, NaN where they are unknown."""
    filled, unknown = known_part(Y)
    block = dense(check_labels(filled, name=f"Y of table {t}")).astype(np.float64)
    if unknown is not None:
        block[dense(unknown)] = np.nan
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    if len(block) != n:
        raise ValueError(f"X and Y of table {t} must have as many rows, got {n}, {len(block)}")
    names = column_names(Y)
    if names is not None and len(set(names)) < len(names):
        raise ValueError(f"Y of table {t} must have each label once, got {names}")
    return list(names or [f"table{t}_label{j}" for j in range(block.shape[1])]), block


def _stack_features(parts: list[Any]) -> Any:
    names = column_names(parts[0])
    if names is not None:
        import pandas as pd

        for t, part in enumerate(parts):
            if sorted(column_names(part) or []) != sorted(names):
                raise ValueError(
                    f"X of table {t} must have the features {names}, got {column_names(part)}"
                )
        return pd.concat([part[list(parts[0].columns)] for part in parts], ignore_index=True)
    widths = {part.shape[1] if sp.issparse(part) else np.shape(part)[1] for part in parts}
    if len(widths) > 1:
        raise ValueError(f"all X must have as many features, got {sorted(widths)}")
    return stack_rows(parts)
