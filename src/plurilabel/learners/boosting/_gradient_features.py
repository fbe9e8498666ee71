"""Features as bins, without storing the most common one; categories as numbers.

An entry says that an instance is in a bin of a feature. The bin of the zeros, or else the one that
most instances are in, is left out: so sparse X stays sparse, and dense indicators become sparse.
Every cut of a feature has this common bin on one side; on the other, its far side, are entries.
The bins below the common one are numbered upwards from the first, those above it downwards from
the last: then the sum over the far side of each cut is a running sum, and there are as many cuts
as bins with entries. The number of a bin in this order is its slot; the cut of a slot has the bin
on its far side, and is nearer to the common bin than the cuts before.

A categorical feature has a bin for each category, and no common one: its slots are its bins, and
what a cut is depends on the order that the search puts them into.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from plurilabel._core.blocks import on_host, refuse_masked
from plurilabel._core.words import listed
from plurilabel.learners.boosting._bins import between, columns_of, distinct_values, find_cuts
from plurilabel.learners.boosting._rules import Columns, Floats, Rows

TABLE = 1 << 24  # bins that may be written down although most of them are common ones
MOST = 255  # categories of a feature


@dataclass(frozen=True)
class Column:
    """The bins of one feature: instances outside of ``rows`` are in the common bin."""

    feature: int
    cuts: Floats
    common: int
    rows: NDArray[Any]
    codes: NDArray[Any]
    missing: bool = False
    categories: int = 0

    @property
    def ends(self) -> Floats:
        """The value of the cut of each slot; behind the last there are only missing values."""
        if self.categories:
            return np.full(self.categories + self.missing, np.nan)
        return np.append(self.cuts, np.inf) if self.missing else self.cuts


class Binned:
    """The bins of all features, feature by feature.

    Missing values (NaN) have a bin of their own, the last of a feature, beyond ``max_bins``.
    Categories are numbers from 0; ``categories`` (d,) says how many a feature has, 0 if it is not
    categorical. An instance of weight 2 counts as two.

    Attributes
    ----------
    features : ndarray of shape (d',)
        The features with more than one bin. All that follows is about these.
    common, n_slots, categories : ndarrays of shape (d',)
        The bin without entries, for a categorical feature one behind the last; the number of
        slots, which are bins with entries and cuts; the number of categories.
    missing : ndarray of bool of shape (d',)
        Whether the last bin is for missing values; False for a categorical feature.
    bin, cut, right, owner, start, threshold : ndarrays of shape (slots of all features,)
        The bin of a slot; its cut c, between the bins c and c + 1; whether its bin is on the right
        of the cut; its feature; the first slot whose sums run on to it; the value of the cut.
    entries : list of bytes
        For each feature an int32 array (entries, 2) with the slots of its entries, in order, and
        their rows. Bytes are joined several times as fast as arrays.
    """

    def __init__(self, X: Any, max_bins: int, weights: Floats, categories: Rows | None = None):
        n, d = X.shape
        categories = np.zeros(d, dtype=np.intp) if categories is None else categories
        found = list(_columns(X, max_bins, weights, categories))
        self.features = np.array([c.feature for c in found], dtype=np.intp)
        self.common = np.array([c.common for c in found], dtype=np.intp)
        self.n_slots = np.array([len(c.ends) for c in found], dtype=np.intp)
        self.categories = categories[self.features]
        missing = np.array([c.missing for c in found], dtype=bool)
        self.missing = missing & (self.categories == 0)
        self.all = np.arange(len(found))
        self.any_runs = bool((self.n_slots > 1).any())
        self.any_missing = bool(self.missing.any())
        self.n_categories = int(self.categories.max(initial=0))
        first = np.cumsum(self.n_slots) - self.n_slots
        self.owner = which = np.repeat(np.arange(len(found)), self.n_slots)
        self.bin = self._turned(np.arange(len(which)) - first[which], which)
        self.right = self.bin > self.common[which]
        self.cut = self.bin - self.right
        self.start = np.where(self.right, (first + self.common)[which], first[which])
        cuts = np.concatenate([np.empty(0), *(c.ends for c in found)])
        self.threshold = cuts[first[which] + self.cut]
        rows = np.concatenate([np.empty(0, dtype=np.int32), *(c.rows for c in found)])
        codes = np.concatenate([np.empty(0, dtype=np.int32), *(c.codes for c in found)])
        size = np.array([len(c.rows) for c in found], dtype=np.intp)
        owner = np.repeat(np.arange(len(found)), size)
        slots = self._turned(codes, owner) + first[owner]
        # in the order of the slots, and the rows of a slot in theirs
        order = slots.argsort(kind="stable")
        entries = np.column_stack([slots[order], rows[order]]).astype(np.int32)
        ends = np.concatenate([[0], np.cumsum(size)]).tolist()
        self.entries = [entries[start:end].tobytes() for start, end in pairwise(ends)]
        # where they take little memory, all bins are written down too: to look one up is cheap
        self._table: NDArray[Any] | None = None
        if n * len(found) <= max(4 * len(codes), TABLE):
            small = np.min_scalar_type(self.n_slots.max(initial=0) + 1)
            # feature by feature: most instances of a node need the same one
            table = np.repeat(self.common.astype(small), n)
            table[owner * n + rows] = codes
            self._table, self._table_rows = table, np.arange(n)

    def __len__(self) -> int:
        return len(self.features)

    def _turned(self, bins: NDArray[Any], which: Rows) -> Rows:
        """Slots of bins, or bins of slots: those above the common bin count from the last."""
        common = self.common[which]
        return np.where(bins < common, bins, common + self.n_slots[which] - bins)

    def draw(self, features: Rows) -> tuple[NDArray[Any], NDArray[Any]]:
        """The entries of some features: their slots, in order, and their rows."""
        drawn = b"".join([self.entries[j] for j in features.tolist()])
        slots, rows = np.frombuffer(drawn, dtype=np.int32).reshape(-1, 2).T
        return slots, rows

    def bins_of(self, features: Rows) -> NDArray[Any]:
        """The bin of each instance in a feature of its own, (n,)."""
        if self._table is not None:
            return self._table.take(features * len(self._table_rows) + self._table_rows)
        bins = self.common[features]
        slots, rows = self.draw(np.unique(features))
        mine = np.flatnonzero(features[rows] == self.owner[slots])
        bins[rows[mine]] = self.bin[slots[mine]]
        return bins


def _columns(X: Any, max_bins: int, weights: Floats, categories: Rows) -> Iterator[Column]:
    """The features with more than one bin."""
    # most columns of texts are counts; one by one they take ten times as long
    counts = _counts(X, max_bins) if sparse.issparse(X) else {}
    whole = Columns(X)
    for j, (values, rows, zeros) in enumerate(columns_of(X)):
        column = counts.get(j)
        if categories[j]:
            column = _categorical(j, whole(j), int(categories[j]))
        elif column is None and len(rows):  # or else a word that no training instance has
            column = _ordered(j, values, rows, zeros, max_bins, weights)
        if column is not None:
            yield column


def _counts(X: Any, max_bins: int) -> dict[int, Column]:
    """The columns with zeros and few other values, all of them positive."""
    X = sparse.csc_array(X, dtype=np.float64, copy=True)
    X.sum_duplicates()
    X.eliminate_zeros()
    column = np.repeat(np.arange(X.shape[1]), np.diff(X.indptr))
    order = np.lexsort((X.data, column))
    values = X.data[order]
    new = np.diff(values, prepend=np.nan) != 0
    new[np.diff(column, prepend=-1) != 0] = True
    number = np.cumsum(new)  # of the value of each entry among the distinct ones, from 1
    high, owner = values[new], column[new]
    low = np.where(np.diff(owner, prepend=-1) != 0, 0.0, np.concatenate([[0.0], high])[:-1])
    cuts = between(np.column_stack([low, high])).ravel()
    ends = np.cumsum(np.bincount(owner, minlength=X.shape[1]))
    starts = np.concatenate([[0], ends])[:-1]
    codes = np.empty(len(values), dtype=np.int32)
    codes[order] = number - starts[column]
    found = {}
    for j in np.flatnonzero((ends > starts) & (ends - starts < max_bins)).tolist():
        stored = slice(X.indptr[j], X.indptr[j + 1])
        least, most = high[starts[j]], high[ends[j] - 1]
        if least > 0 and not np.isnan(most) and stored.stop - stored.start < X.shape[0]:
            own = cuts[starts[j] : ends[j]]
            found[j] = Column(j, own, 0, X.indices[stored], codes[stored])
    return found


def _categorical(j: int, values: Floats, categories: int) -> Column | None:
    unknown = np.isnan(values)
    codes = np.where(unknown, categories, values).astype(np.int32)
    if (codes == codes[0]).all():
        return None
    n_bins, rows = categories + bool(unknown.any()), np.arange(len(values), dtype=np.int32)
    return Column(j, np.empty(0), n_bins, rows, codes, n_bins > categories, categories)


def _ordered(
    j: int, values: Floats, rows: NDArray[Any], zeros: int, max_bins: int, weights: Floats
) -> Column | None:
    zeros = zeros or int(np.sum(values == 0))
    weights = weights[rows]
    unknown = np.isnan(values)
    missing = bool(unknown.any())
    distinct, counts = distinct_values(values[~unknown], zeros)
    if len(distinct) > max_bins:
        place = np.searchsorted(distinct, values[~unknown])
        counts = np.bincount(place, weights[~unknown], minlength=len(distinct))
    cuts = find_cuts(distinct, counts, max_bins)
    codes = np.searchsorted(cuts, values)
    codes[unknown] = len(cuts) + 1
    if len(cuts) + missing == 0 or (unknown.all() and not zeros):
        return None
    common = int(np.searchsorted(cuts, 0.0) if zeros else np.bincount(codes, weights).argmax())
    stored = np.flatnonzero(codes != common)
    return Column(j, cuts, common, rows[stored], codes[stored].astype(np.int32), missing)


def learn_codes(X: Any, asked: Any) -> tuple[Any, NDArray[np.intp], list[list[Any]]]:
    """X with the numbers of its categories, its categorical columns and their categories."""
    dtypes = getattr(X, "dtypes", ()) if hasattr(X, "columns") else ()
    nothing: Any = X, np.empty(0, dtype=np.intp), []
    if asked is None or (isinstance(asked, str) and not any(map(_is_categorical, dtypes))):
        return nothing
    columnar = _as_columns(X)
    columns = _find_categorical(asked, columnar)
    if not len(columns):
        return nothing
    categories = _categories_of(columnar, columns)
    return encode(columnar, columns, categories), columns, categories


def _as_columns(X: Any) -> Any:
    """X in a form whose columns may hold anything: a frame of pandas, or an array."""
    X = on_host(X)
    refuse_masked(X, "X")
    if sparse.issparse(X):
        raise TypeError("categorical features need dense X, got a sparse matrix")
    if hasattr(X, "iloc") or isinstance(X, np.ndarray):
        return X
    return X.to_pandas() if hasattr(X, "to_pandas") else np.array(X, dtype=object)


def _is_categorical(dtype: Any) -> bool:
    # "category" in pandas; "Categorical" and "Enum(categories=...)" in polars
    return str(dtype).lower().startswith(("categor", "enum"))


def _find_categorical(asked: ArrayLike | str, X: Any) -> NDArray[np.intp]:
    """The categorical columns of X, by ``categorical_features``."""
    if isinstance(asked, str):  # "from_dtype"
        return np.flatnonzero([_is_categorical(dtype) for dtype in X.dtypes])
    wanted = np.atleast_1d(np.asarray(asked))
    if wanted.size == 0:
        return np.empty(0, dtype=np.intp)
    d = X.shape[1] if np.ndim(X) == 2 else 0
    if wanted.dtype == bool:
        if wanted.shape != (d,):
            raise ValueError(
                f"categorical_features as a mask must have {d} entries, got shape {wanted.shape}"
            )
        return np.flatnonzero(wanted)
    if wanted.dtype.kind not in "iu":
        if not hasattr(X, "columns"):
            raise ValueError("categorical_features are names, but X is not a data frame")
        names, columns = list(map(str, wanted.ravel())), list(map(str, X.columns))
        if strange := [name for name in names if name not in columns]:
            what = listed(strange, 5)
            raise ValueError(f"categorical_features has {what}, which X does not have")
        return np.unique([columns.index(name) for name in names])
    if wanted.min() < 0 or wanted.max() >= d:
        raise ValueError(f"categorical_features must be from 0 to {d - 1}, got {wanted.tolist()}")
    return np.unique(wanted)


def _categories_of(X: Any, columns: NDArray[np.intp]) -> list[list[Any]]:
    """The categories of some columns of X, in order."""
    found = []
    for j in columns:
        distinct = {cell for cell in _cells(X, int(j)) if cell is not None}
        if len(distinct) > MOST:
            raise ValueError(
                f"a categorical feature has at most {MOST} categories, got {len(distinct)} in "
                f"column {X.columns[j] if hasattr(X, 'columns') else j}"
            )
        found.append(sorted(distinct, key=lambda cell: (isinstance(cell, str), cell)))
    return found


def encode(X: Any, columns: NDArray[np.intp], categories: Sequence[Sequence[Any]]) -> Any:
    """X with the numbers of the categories in some columns, NaN for unknown ones."""
    X = _as_columns(X)
    if np.ndim(X) != 2 or X.shape[1] <= columns.max(initial=-1):
        return X  # refused at the door, with its own words
    is_frame = hasattr(X, "iloc")
    dtype = float if is_frame or X.dtype.kind in "biuf" else object
    coded: Any = X.copy() if is_frame else np.array(X, dtype=dtype)
    for j, known in zip(columns, categories):
        number = {category: float(code) for code, category in enumerate(known)}
        codes = np.array([number.get(cell, np.nan) for cell in _cells(X, int(j))], dtype=float)
        if is_frame:
            coded.isetitem(int(j), codes)
        else:
            coded[:, j] = codes
    return coded


def text_in(X: Any) -> tuple[Any, str] | None:
    """The first column of X with text that is not a number, and the text."""
    if sparse.issparse(X) or np.ndim(X := _as_columns(X)) != 2:
        return None
    for j in range(X.shape[1]):
        for cell in _cells(X, j):
            try:
                float(cell if isinstance(cell, str) else 0)
            except ValueError:
                return (X.columns[j] if hasattr(X, "columns") else j), cell
    return None


def _cells(X: Any, j: int) -> list[Any]:
    """A column as text, numbers, or None where missing."""
    cells = (X.iloc[:, j].astype(object) if hasattr(X, "iloc") else X[:, j]).tolist()
    return [_plain(cell) for cell in cells]


def _plain(cell: Any) -> Any:
    if isinstance(cell, str | bool | int):
        return cell
    if isinstance(cell, float):
        return None if np.isnan(cell) else cell
    if isinstance(cell, np.generic):
        return _plain(cell.item())
    # NA and NaT of pandas are not equal to themselves, and NA does not even say so
    if cell is None or (cell == cell) is not True:
        return None
    return str(cell)
