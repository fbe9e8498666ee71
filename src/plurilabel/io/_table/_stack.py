"""Several tables that label different rows, as one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from plurilabel._core.base import check_labels, column_names
from plurilabel._core.blocks import dense, stack_rows
from plurilabel._core.unknown import known_part


def stack_tables(tables: Sequence[tuple[Any, Any]]) -> tuple[Any, Any]:
    """Put tables below each other that know different labels of different rows.

    Each table was labelled for a task of its own. In the result a row has the labels of its
    table; those of the other tables are not known, NaN. A learner that accepts missing labels
    then learns all tasks in one fit.

    Parameters
    ----------
    tables : sequence of pairs (X, Y)
        X has the same features in all of them: matrices, dense or sparse, or data frames, whose
        columns may come in another order. Y is a data frame, whose columns are named after the
        labels; labels of the same name are the same. Or Y is a 0/1 matrix, whose labels no other
        table has. Y may have missing labels itself.

    Returns
    -------
    X : matrix of shape (n, d), or a data frame if the first table has one
    Y : data frame of shape (n, q) if one of the tables has one, else ndarray; float, with NaN
        The labels in the order in which they are first seen.

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
    places: dict[Any, int] = {}
    blocks: list[tuple[list[int], NDArray[np.float64]]] = []
    named = False
    for t, (features, Y) in enumerate(tables):
        filled, unknown = known_part(Y)
        block = dense(check_labels(filled, name=f"Y of table {t}")).astype(np.float64)
        if unknown is not None:
            block[dense(unknown)] = np.nan
        n = features.shape[0] if hasattr(features, "shape") else len(features)
        if len(block) != n:
            raise ValueError(f"X and Y of table {t} must have as many rows, got {n}, {len(block)}")
        names = column_names(Y)
        named |= names is not None
        if names is not None and len(set(names)) < len(names):
            raise ValueError(f"Y of table {t} must have each label once, got {names}")
        keys = names or [f"table{t}_label{j}" for j in range(block.shape[1])]
        blocks.append(([places.setdefault(key, len(places)) for key in keys], block))
    result = np.full((sum(len(block) for _, block in blocks), len(places)), np.nan)
    start = 0
    for columns, block in blocks:
        result[start : start + len(block), columns] = block
        start += len(block)
    if not named:
        return X, result
    import pandas as pd

    return X, pd.DataFrame(result, columns=list(places))


def _stack_features(parts: list[Any]) -> Any:
    names = column_names(parts[0])
    if names is not None:
        import pandas as pd

        for t, part in enumerate(parts):
            if sorted(column_names(part) or []) != sorted(names):
                raise ValueError(
                    f"X of table {t} must have the features of the first, {names}, "
                    f"got {column_names(part)}"
                )
        return pd.concat([part[list(parts[0].columns)] for part in parts], ignore_index=True)
    widths = {part.shape[1] if sparse.issparse(part) else np.shape(part)[1] for part in parts}
    if len(widths) > 1:
        raise ValueError(f"all X must have as many features, got {sorted(widths)}")
    return stack_rows(parts)
