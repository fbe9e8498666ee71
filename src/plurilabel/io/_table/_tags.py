"""Tags as people have them, lists, sets or text with separators, as a label matrix with names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from plurilabel._core.words import first_repeated
from plurilabel.io._table._frame import CellError, table_module
from plurilabel.io._table._labels import tag_column


def label_matrix(
    tags: Any,
    *,
    sep: str | None = None,
    label_names: Sequence[str] | None = None,
    sparse: bool = False,
) -> Any:
    """Make a 0/1 label matrix of tags: a data frame with a column for each tag.

    Learners take lists and sets of tags as ``y`` as they are. This is for everything else: tags
    in one text, tags that are numbers, splits and measures, or several parts of the data that
    shall have the same columns. Needs pandas: ``pip install plurilabel[table]``.

    Parameters
    ----------
    tags : sequence of n lists, sets or texts; or a column or array of them
        None, NaN, an empty text and an empty list are an instance without labels. Blanks around a
        tag and repetitions are dropped. The rows of a matrix are lists.
    sep : str, default=None
        What separates the tags in a text. By default ``;``, ``|`` or ``,``, whichever occurs; if
        more than one does, this must be given.
    label_names : sequence of str, default=None
        The labels, in the order wanted. By default the tags that occur, sorted.
    sparse : bool, default=False
        Whether the columns are sparse. Learners read such a frame as a sparse matrix.

    Returns
    -------
    pandas data frame of shape (n, q)
        0 and 1 in int64, with the index of ``tags`` if that is a column of pandas.

    See Also
    --------
    read_table : The same for a whole table, features included.

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

    New rows with the labels of the first:

    >>> label_matrix([{"sun"}, {"sea"}], label_names=Y.columns).to_numpy()
    array([[0, 1],
           [1, 0]])
    """
    pd = table_module("pandas")
    if sep == "":
        raise ValueError("sep must hold at least one character, got ''")
    if label_names is not None and (twice := first_repeated(label_names)) is not None:
        raise ValueError(f"label_names must name each label once, got {twice!r} twice")
    column = _column(tags, pd)
    if not len(column):
        raise ValueError("tags must have at least one instance, got none")
    try:
        Y, names, _ = tag_column(column, "tags", sep, label_names)
    except CellError as error:
        where = "" if error.row is None else f", row {error.row}"
        raise ValueError(f"tags{where}: {_in_parameters(error.problem)}") from None
    if sparse:
        return pd.DataFrame.sparse.from_spmatrix(Y, index=column.index, columns=names)
    return pd.DataFrame(Y.toarray(), index=column.index, columns=names)


def _column(tags: Any, pd: Any) -> Any:
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


def _in_parameters(problem: str) -> str:
    """What is wrong with a column of a table, in the parameters of :func:`label_matrix`."""
    problem = problem.replace("tag_sep=", "sep=")
    return problem.replace(
        "; a label column is labels=['tags']", "; a 0/1 matrix is a label matrix already"
    )
