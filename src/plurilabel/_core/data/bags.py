"""Bags of instances, for examples with several feature vectors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.utils import check_array

from plurilabel._core import blocks
from plurilabel._core.fitted import Declared, numbers, places
from plurilabel._core.words import first_repeated


class Bags:
    """Bags of instances, stored as one matrix with all instances and the place of each bag.

    scikit-learn's splitters, pipelines and searches take it as X: it has a length and a shape,
    and is indexed like an array, by bags.

    Parameters
    ----------
    bags : sequence of matrices, array of shape (n, m, d), or matrix of shape (N, d)
        One matrix (instances, features) for each bag, dense or sparse; or an array of bags of
        equal size; or, with ``offsets``, all instances below each other.
    offsets : array-like of int, shape (n + 1,), optional
        Bag i consists of the rows ``offsets[i]`` to ``offsets[i + 1] - 1``. The first offset is 0,
        the last is N.
    ids : sequence of length n, optional
        Names of the bags.
    feature_names : sequence of str of length d, optional

    Attributes
    ----------
    instances : ndarray or csr_array of shape (N, d)
        float64 or float32.
    offsets : ndarray of shape (n + 1,)
    ids : ndarray of shape (n,), or None
    feature_names : tuple of str, or None

    Examples
    --------
    >>> import numpy as np
    >>> from plurilabel.bags import Bags
    >>> bags = Bags([np.array([[0.0, 1.0]]), np.array([[2.0, 3.0], [4.0, 5.0]])])
    >>> bags
    Bags: 2 bags, 3 instances, 2 features
    >>> bags[1]
    array([[2., 3.],
           [4., 5.]])
    >>> bags[[1, 0]].sizes
    array([2, 1])
    """

    _fitted: ClassVar[Declared] = {
        "instances": numbers("N", None),
        "offsets": places(None, below="N+1"),
    }

    def __init__(
        self,
        bags: Any,
        offsets: ArrayLike | None = None,
        *,
        ids: Any = None,
        feature_names: Sequence[str] | None = None,
    ):
        if offsets is None:
            matrix, places = _joined(bags)
        else:
            matrix, places = bags, _checked_offsets(offsets)
        blocks.refuse_masked(matrix, "bags")
        blocks.refuse_dates(matrix, "bags")
        form = {"accept_sparse": "csr", "dtype": [np.float64, np.float32], "input_name": "bags"}
        # C order: a data frame is stored by columns, and sums in another order differ
        matrix = check_array(blocks.canonical(matrix), order="C", ensure_all_finite=False, **form)
        if sparse.issparse(matrix):
            matrix = sparse.csr_array(blocks.short_indices(matrix))
        self.instances, self.offsets = matrix, places
        N, end = matrix.shape[0], places[-1]
        if end != N:
            raise ValueError(f"offsets must end with the number of instances, {N}, got {end}")
        self._check_finite()
        self.ids = None if ids is None else np.asarray(ids)
        n = len(self)
        if self.ids is not None and self.ids.shape != (n,):
            raise ValueError(f"ids must have {n} entries, one per bag, got {self.ids.size}")
        self.feature_names = None if feature_names is None else tuple(map(str, feature_names))
        if self.feature_names is not None and len(self.feature_names) != self.shape[1]:
            raise ValueError(
                f"feature_names must have {self.shape[1]} entries, one per feature, "
                f"got {len(self.feature_names)}"
            )

    @classmethod
    def from_frame(cls, frame: Any, bag: str) -> Self:
        """Bags from a data frame with one row per instance.

        Parameters
        ----------
        frame : data frame of pandas or polars
        bag : str
            The column that says which bag a row belongs to. All other columns are features.

        Returns
        -------
        Bags
            In the order in which the bags appear first; ``ids`` are the values of the column, to
            put labels into the same order.

        Examples
        --------
        >>> import pandas as pd
        >>> from plurilabel.bags import Bags
        >>> frame = pd.DataFrame({"photo": ["b", "a", "b"], "red": [1, 2, 3], "blue": [4, 5, 6]})
        >>> bags = Bags.from_frame(frame, bag="photo")
        >>> bags.ids, bags.feature_names
        (array(['b', 'a'], dtype=object), ('red', 'blue'))
        >>> bags[0]
        array([[1., 4.],
               [3., 6.]])
        """
        if not (hasattr(frame, "__len__") and hasattr(frame, "columns")):
            raise TypeError(f"frame must be a data frame, got a {type(frame).__name__}")
        names = list(frame.columns)
        if (again := first_repeated(names)) is not None:
            raise ValueError(f"the columns of the frame must differ, got {again!r} twice")
        if bag not in names:
            raise ValueError(f"bag must be a column of the frame, got {bag!r}; it has {names}")
        names.remove(bag)
        if not names or len(frame) == 0:
            raise ValueError(
                f"the frame must have rows and columns beside {bag!r}, "
                f"got {len(frame)} row(s) and {len(names)} column(s)"
            )
        owner = np.asarray(frame[bag])
        if any(map(blocks.is_missing, owner)):
            raise ValueError(f"column {bag!r} must name a bag in every row, got a missing value")
        codes: dict[Any, int] = {}
        try:
            code = np.array([codes.setdefault(value, len(codes)) for value in owner.tolist()])
        except TypeError:
            raise ValueError(
                f"column {bag!r} must name bags by numbers or text, got {owner[0]!r}"
            ) from None
        columns = [_column(frame[name], name) for name in names]
        first = np.sort(np.unique(code, return_index=True)[1])
        offsets = np.concatenate(([0], np.cumsum(np.bincount(code))))
        order = np.argsort(code, kind="stable")
        matrix = np.column_stack(columns)[order]
        return cls(matrix, offsets, ids=owner[first], feature_names=names)

    @classmethod
    def from_rows(cls, X: Any) -> Self:
        """Bags with one instance each: the rows of a matrix.

        Examples
        --------
        >>> from plurilabel.bags import Bags
        >>> Bags.from_rows([[1.0, 2.0], [3.0, 4.0]])
        Bags: 2 bags, 2 instances, 2 features
        """
        rows = X.shape[0] if hasattr(X, "shape") else len(X)
        return cls(X, np.arange(rows + 1))

    @property
    def shape(self) -> tuple[int, int]:
        """Number of bags, and of features of an instance."""
        return len(self), int(self.instances.shape[1])

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, key: Any) -> Any:
        """One bag as a matrix for a number; bags for a slice, numbers or a mask."""
        if isinstance(key, tuple):  # scikit-learn asks for X[rows, ...]
            if len(key) != 2 or not (key[1] is Ellipsis or key[1] == slice(None)):
                raise IndexError("bags are indexed by bags only; see instances and offsets")
            key = key[0]
        if isinstance(key, Integral) and not isinstance(key, bool):
            i = range(len(self))[int(key)]
            return self.instances[self.offsets[i] : self.offsets[i + 1]]
        chosen = np.arange(len(self))[key]
        if chosen.ndim != 1:
            raise IndexError(f"bags are indexed by one dimension, got {chosen.ndim}")
        sizes = self.sizes[chosen]
        offsets = np.concatenate(([0], np.cumsum(sizes)))
        if isinstance(key, slice) and key.step in (None, 1):  # neighbours in memory: no copy
            start = self.offsets[chosen[0]] if len(chosen) else 0
            rows: Any = slice(start, start + offsets[-1])
        else:
            rows = np.repeat(self.offsets[chosen] - offsets[:-1], sizes) + np.arange(offsets[-1])
        part = object.__new__(type(self))  # which needs no check
        part.instances, part.offsets = self.instances[rows], offsets
        part.ids = None if self.ids is None else self.ids[chosen]
        part.feature_names = self.feature_names
        return part

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def __repr__(self) -> str:
        n, N, d = len(self), self.instances.shape[0], self.shape[1]
        sizes = ((n, "bag"), (N, "instance"), (d, "feature"))
        return "Bags: " + ", ".join(f"{size} {what}{'s' * (size != 1)}" for size, what in sizes)

    @property
    def sizes(self) -> NDArray[np.intp]:
        """Number of instances of each bag."""
        return np.diff(self.offsets)

    @property
    def owner(self) -> NDArray[np.intp]:
        """For each instance the number of its bag."""
        return np.repeat(np.arange(len(self)), self.sizes)

    def with_instances(self, instances: Any) -> Self:
        """The same bags with other instances: the same number of rows, any number of features.

        Examples
        --------
        >>> from plurilabel.bags import Bags
        >>> bags = Bags([[[1.0], [2.0]], [[3.0]]])
        >>> bags.with_instances(bags.instances * 10)[0]
        array([[10.],
               [20.]])
        """
        return type(self)(instances, self.offsets, ids=self.ids)

    def _check_finite(self) -> None:
        values = self.instances.data if sparse.issparse(self.instances) else self.instances
        wrong = ~np.isfinite(values)
        if not wrong.any():
            return
        if sparse.issparse(self.instances):
            at = np.flatnonzero(wrong)[0]
            row = np.searchsorted(self.instances.indptr, at, side="right") - 1
            column, value = self.instances.indices[at], values[at]
        else:
            row, column = np.argwhere(wrong)[0]
            value = values[row, column]
        i = np.searchsorted(self.offsets, row, side="right") - 1
        what = "NaN" if value != value else "infinity"
        raise ValueError(
            f"bags must hold finite numbers, got {what} in bag {i}, "
            f"instance {row - self.offsets[i]}, feature {column}"
        )


def is_bags(X: Any) -> bool:
    """Whether X is something that :class:`Bags` takes without offsets."""
    if isinstance(X, Bags):
        return True
    if isinstance(X, np.ndarray):
        return X.ndim == 3 or (X.dtype == object and X.ndim == 1 and _is_matrix(X[:1]))
    return isinstance(X, list | tuple) and _is_matrix(X[:1])


def as_bags(X: Any) -> Bags:
    """Bags from anything: bags in any form, or a matrix whose rows are bags of one instance."""
    if isinstance(X, Bags):
        return X
    return Bags(X) if is_bags(X) else Bags.from_rows(X)


def _is_matrix(first: Any) -> bool:
    """Whether the only entry of a list is a matrix."""
    if len(first) == 0:
        return False
    if hasattr(first[0], "shape"):
        return len(first[0].shape) == 2
    try:
        return np.ndim(first[0]) == 2
    except ValueError:  # lists of different lengths
        return False


def _column(column: Any, name: Any) -> NDArray[np.float64]:
    values = np.asarray(column)
    text = values.dtype == object and any(isinstance(value, str | bytes) for value in values)
    try:
        if text or values.dtype.kind not in "biufO":
            raise TypeError
        return values.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"column {name!r} must hold numbers") from None


def _joined(bags: Any) -> tuple[Any, NDArray[np.intp]]:
    """All instances below each other, and the offsets of the bags."""
    if isinstance(bags, np.ndarray) and bags.dtype != object:
        if bags.ndim != 3:
            raise ValueError(
                "an array of bags must have the shape (bags, instances, features), "
                f"got {bags.shape}; for a matrix of instances give offsets"
            )
        n, m, d = bags.shape
        if 0 in (n, m, d):
            raise ValueError(f"an array of bags must not be empty, got the shape {bags.shape}")
        return bags.reshape(n * m, d), np.arange(0, n * m + 1, m)
    if sparse.issparse(bags):
        raise ValueError("a sparse matrix of instances needs offsets")
    if not isinstance(bags, np.ndarray | Iterable) or isinstance(bags, str):
        raise TypeError(f"bags must be a sequence of matrices or an array, got {bags!r}")
    parts: list[Any] = []
    names: list[Any] | None = None
    for i, bag in enumerate(bags):
        if hasattr(bag, "columns"):
            columns = list(bag.columns)
            if names is not None and columns != names:
                raise ValueError(f"bag {i} has the columns {columns}, but bag 0 has {names}")
            names = columns
        parts.append(_checked_bag(bag, i, parts[0].shape[1] if parts else None))
    if not parts:
        raise ValueError("there must be at least one bag, got none")
    return blocks.stack_rows(parts), np.concatenate(
        ([0], np.cumsum([part.shape[0] for part in parts]))
    )


def _checked_bag(bag: Any, i: int, width: int | None) -> Any:
    """Bag i as a matrix with as many features as the first."""
    blocks.refuse_masked(bag, f"bag {i}")
    blocks.refuse_dates(bag, f"bag {i}")
    part = bag if sparse.issparse(bag) else np.asarray(bag)
    if part.ndim != 2:
        raise ValueError(f"bag {i} must be a matrix (instances, features), got {part.ndim}-D")
    if part.shape[0] == 0:
        raise ValueError(f"bag {i} has no instances")
    if width is not None and part.shape[1] != width:
        raise ValueError(f"bag {i} has {part.shape[1]} features, but bag 0 has {width}")
    return part


def _checked_offsets(offsets: ArrayLike) -> NDArray[np.intp]:
    blocks.refuse_masked(offsets, "offsets")
    places = np.asarray(offsets)
    if places.ndim != 1 or places.dtype.kind not in "iu" or len(places) < 2 or places[0] != 0:
        raise ValueError("offsets must be integers that begin with 0, one more than bags")
    places = places.astype(np.intp)
    if (np.diff(places) < 1).any():
        i = int(np.argmax(np.diff(places) < 1))
        raise ValueError(
            f"offsets must increase, since every bag has an instance: bag {i} goes from "
            f"{places[i]} to {places[i + 1]}"
        )
    return places
