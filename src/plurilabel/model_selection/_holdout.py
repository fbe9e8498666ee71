"""Training, validation and test parts with evenly distributed labels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import ceil, floor, isclose
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.model_selection import ShuffleSplit
from sklearn.utils import check_random_state, indexable

from plurilabel._core.compat import safe_indexing
from plurilabel.model_selection import _stratification


class IterativeStratifiedShuffleSplit(ShuffleSplit):
    """Random training and test parts of multi-label data with evenly distributed labels.

    The multi-label counterpart of :class:`sklearn.model_selection.StratifiedShuffleSplit`. Parts
    have exactly the given sizes; rows are assigned as in :class:`IterativeStratifiedKFold`. Labels
    too rare for both parts go to the training part.

    Parameters
    ----------
    n_splits : int, default=10
        Number of splits.
    test_size, train_size : float, int or None, default=None
        Fraction or number of rows; None is the complement of the other. If both are None, the
        test size is 0.1. Other rows are left out.
    random_state : int, RandomState instance or None, default=None

    Examples
    --------
    >>> import numpy as np
    >>> from plurilabel.model_selection import IterativeStratifiedShuffleSplit
    >>> Y = np.tile([[1, 0], [1, 1], [1, 1], [0, 0]], (5, 1))
    >>> cv = IterativeStratifiedShuffleSplit(n_splits=2, test_size=0.2, random_state=0)
    >>> [(len(train), Y[test].sum(axis=0).tolist()) for train, test in cv.split(Y, Y)]
    [(16, [3, 2]), (16, [3, 2])]
    """

    def _iter_indices(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[Any]:  # noqa: ARG002
        if self.n_splits < 1:
            raise ValueError(f"n_splits must be at least 1, got {self.n_splits}")
        Y, given = _stratification.label_sets(y), (self.train_size, self.test_size)
        given = (None, 0.1) if given == (None, None) else given
        sizes = part_sizes(Y.shape[0], given, names=("train_size", "test_size"))
        random_state = check_random_state(self.random_state)
        for _ in range(self.n_splits):
            yield tuple(_parts(Y, sizes, None, random_state))


def stratified_split(
    X: Any,
    Y: Any,
    *arrays: Any,
    sizes: Sequence[float | None] = (0.75, 0.25),
    groups: Any = None,
    random_state: int | np.random.RandomState | None = None,
) -> list[Any]:
    """Split arrays into two or more parts with evenly distributed labels.

    Like :func:`sklearn.model_selection.train_test_split`, with results in the same order.

    Parameters
    ----------
    X : array-like, sparse matrix or data frame with n rows
    Y : 0/1 matrix of shape (n, q), dense, sparse or a data frame; or 1-D classes
    *arrays : further arrays with n rows
    sizes : sequence of float, int or None, default=(0.75, 0.25)
        Sizes of the parts, as fractions or numbers of rows; None for the rest. If they add up to
        less than all rows, the other rows are left out. Fractions are rounded up at the expense of
        the first part, as in ``train_test_split``.
    groups : array-like of shape (n,), optional
        Keep the rows of each group together; sizes are then approximate.
    random_state : int, RandomState instance or None, default=None

    Returns
    -------
    list
        ``X_train, X_test, Y_train, Y_test``, or with three sizes ``X_train, X_validation, X_test,
        Y_train, Y_validation, Y_test``, then the parts of other arrays. Rows are in random order.

    Examples
    --------
    >>> import numpy as np
    >>> from plurilabel.model_selection import stratified_split
    >>> X = np.arange(20).reshape(20, 1)
    >>> Y = np.tile([[1, 0], [1, 1], [1, 1], [0, 0]], (5, 1))
    >>> X_train, X_test, Y_train, Y_test = stratified_split(X, Y, sizes=(0.8, 0.2), random_state=0)
    >>> Y_train.mean(axis=0), Y_test.mean(axis=0)
    (array([0.75, 0.5 ]), array([0.75, 0.5 ]))
    >>> parts = stratified_split(X, Y, sizes=(None, 4, 4), random_state=0)
    >>> [len(part) for part in parts]
    [12, 4, 4, 12, 4, 4]
    """
    given, labels = indexable(X, Y, *arrays), _stratification.label_sets(Y)
    rows = part_sizes(labels.shape[0], sizes)
    group = None if groups is None else _stratification.group_numbers(groups)
    parts = _parts(labels, rows, group, check_random_state(random_state))
    return [safe_indexing(array, rows) for array in given for rows in parts]


def _parts(
    Y: sparse.csr_array, sizes: list[int], group: Any, random_state: np.random.RandomState
) -> list[NDArray[np.intp]]:
    """Row numbers of each part, in random order."""
    n = Y.shape[0]
    left_out = n - sum(sizes)
    all_sizes = np.array([*sizes, left_out] if left_out else sizes)
    if group is None:
        part = _stratification.deal_rows(Y, all_sizes, random_state)
    elif len(group) != n:
        raise ValueError(f"groups must have one entry for each of the {n} rows, got {len(group)}")
    else:
        part = _stratification.deal_groups(Y, group, all_sizes / n, random_state)
    rows = random_state.permutation(n)
    parts = [rows[part[rows] == j] for j in range(len(sizes))]
    for j, found in enumerate(parts):
        if len(found) == 0:
            raise ValueError(
                f"groups must be small enough for parts of {sizes} rows, but none of the "
                f"{group.max() + 1} groups fits part {j}"
            )
    return parts


def part_sizes(
    n: int, sizes: Sequence[float | None], *, names: Sequence[str] | None = None
) -> list[int]:
    """Numbers of rows for sizes given as fractions, numbers or None (the rest)."""
    if isinstance(sizes, Real | str) or not hasattr(sizes, "__len__") or len(sizes) < 2:
        raise ValueError(f"sizes must have an entry for each of two or more parts, got {sizes!r}")
    sizes = list(sizes)
    names = names or [f"sizes[{j}]" for j in range(len(sizes))]
    together = " and ".join(names)
    if sizes.count(None) > 1:
        raise ValueError(f"only one of {together} may be None, got {tuple(sizes)}")
    rows = [_rows_of(n, size, j == 0, names[j]) for j, size in enumerate(sizes)]
    fractions = not any(size is None or isinstance(size, Integral) for size in sizes)
    if None in sizes or (fractions and isclose(sum(map(float, sizes)), 1)):  # type: ignore[arg-type]
        rest = sizes.index(None) if None in sizes else 0
        rows[rest] = n - (sum(rows) - rows[rest])
    if sum(rows) > n:
        raise ValueError(f"{together} must add up to at most the {n} rows, got {tuple(sizes)}")
    if min(rows) < 1:
        raise ValueError(
            f"{together} must give each part at least one of the {n} rows, got {tuple(sizes)}"
        )
    return rows


def _rows_of(n: int, size: Any, round_down: bool, name: str) -> int:
    if size is None:
        return 0
    if isinstance(size, Integral) and not isinstance(size, bool) and 1 <= int(size) < n:
        return int(size)
    if isinstance(size, Real) and not isinstance(size, Integral) and 0 < float(size) < 1:
        wanted = round(float(size) * n, 9)  # 0.07 * 100 is 7.000000000000001
        return floor(wanted) if round_down else ceil(wanted)
    raise ValueError(
        f"{name} must be a fraction in (0, 1) or a number of rows up to {n - 1}, got {size!r}"
    )
