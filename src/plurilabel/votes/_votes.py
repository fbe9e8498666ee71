"""Votes: the opinion of each source on each label of each row."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from plurilabel._core.blocks import dense, is_missing, ranges
from plurilabel._core.compat import import_extra
from plurilabel._core.labels import column_names, default_label_names, names_or_default
from plurilabel._core.words import check_unicode, counted, first_repeated
from plurilabel.metrics import PerLabel

Floats = NDArray[np.float64]


class Votes:
    """Labels from several sources: people, rules or models.

    A vote is the opinion of one source on one label of one row: 1 for yes, 0 for no, or a
    probability. A source without an opinion on a label abstains; an abstention is not a no. If a
    source votes several times on the same label of a row, the mean counts as one vote. Use
    :meth:`from_long`, :meth:`from_wide`, :meth:`from_sets`, :meth:`from_matrices` or
    :meth:`from_functions` to create votes, or :func:`plurilabel.votes.read_votes` to read them.

    Attributes
    ----------
    rows, labels, sources : ndarray of shape (v,)
        Numbers of the row, the label and the source of each vote; votes are sorted in this order.
    values : ndarray of shape (v,)
        The votes, from 0 to 1.
    row_names, label_names, source_names : tuple
    shape : tuple (n, q)
        Number of rows and labels.

    Examples
    --------
    >>> from plurilabel.votes import Votes
    >>> votes = Votes.from_sets({
    ...     "ann": [{"joy"}, {"fear", "joy"}, set()],
    ...     "bob": [{"joy"}, {"fear"}, None],       # None: bob abstains
    ... })
    >>> votes
    Votes(10 votes of 2 sources on 3 rows and 2 labels)
    >>> votes.shares()
    array([[0. , 1. ],
           [1. , 0.5],
           [0. , 0. ]])
    """

    def __init__(
        self,
        rows: ArrayLike,
        labels: ArrayLike,
        sources: ArrayLike,
        values: ArrayLike,
        *,
        row_names: Sequence[Any],
        label_names: Sequence[str],
        source_names: Sequence[str],
    ) -> None:
        self.row_names, self.label_names = tuple(row_names), tuple(map(str, label_names))
        self.source_names = tuple(map(str, source_names))
        for what, names in (("label", self.label_names), ("source", self.source_names)):
            check_unicode(names, f"{what}_names")
            if (twice := first_repeated(names)) is not None:
                raise ValueError(f"{what}_names must be distinct, got {twice!r} twice")
            if not names:
                raise ValueError(f"votes need at least one {what}, got none")
        self.shape = len(self.row_names), len(self.label_names)
        v, sizes = as_floats(values), (*self.shape, len(self.source_names))
        at = [np.asarray(a, dtype=np.int64) for a in (rows, labels, sources)]
        for name, a, size in zip(("rows", "labels", "sources"), at, sizes):
            if a.shape != v.shape or not ((a >= 0) & (a < size)).all():
                raise ValueError(f"{name} must be {len(v)} numbers from 0 to {size - 1}, got {a}")
        for wrong in np.flatnonzero(~((v >= 0) & (v <= 1))):
            row, label, source = (int(a[wrong]) for a in at)
            raise ValueError(
                f"votes must be between 0 and 1, got {float(v[wrong])!r} of source "
                f"{self.source_names[source]!r} on label {self.label_names[label]!r} in row "
                f"{self.row_names[row]!r}; grades need a cut, above which they are a yes"
            )
        key = np.ravel_multi_index((at[0], at[1], at[2]), sizes) if len(v) else at[0]
        kept, place = np.unique(key, return_inverse=True)
        self.values: Floats = np.bincount(place, v) / np.bincount(place) if len(v) else v
        self.rows, self.labels, self.sources = np.unravel_index(kept, sizes)
        for array in (self.values, self.rows, self.labels, self.sources):
            array.flags.writeable = False  # they have been checked, once

    # made from ---------------------------------------------------------------------------

    @classmethod
    def from_long(
        cls, rows: Iterable[Any], labels: Iterable[str], sources: Iterable[str], values: ArrayLike
    ) -> Self:
        """Votes from a long table: the row, label, source and value of each vote.

        Missing values are abstentions; rows, labels and sources must not be missing. Rows keep
        the order of their first occurrence; labels and sources are sorted.
        """
        place: dict[Any, int] = {}
        numbers = np.array([place.setdefault(row, len(place)) for row in named(rows, "rows")])
        label_names, label = np.unique(named(labels, "labels", str), return_inverse=True)
        source_names, source = np.unique(named(sources, "sources", str), return_inverse=True)
        v = as_floats(values)
        shapes = [a.shape for a in (numbers, label, source, v)]
        if len(set(shapes)) > 1:
            raise ValueError(f"a long table must have columns of one length, got shapes {shapes}")
        said = ~np.isnan(v)
        return cls(
            numbers[said], label[said], source[said], v[said],
            row_names=list(place), label_names=label_names.tolist(),
            source_names=source_names.tolist(),
        )  # fmt: skip

    @classmethod
    def from_wide(
        cls, rows: Iterable[Any], labels: Iterable[str], columns: Mapping[str, ArrayLike]
    ) -> Self:
        """Votes from a wide table: a line for each row and label, a column for each source.

        Missing values are abstentions.
        """
        rows, labels, k = list(rows), list(labels), len(columns)
        values = [as_floats(column) for column in columns.values()]
        sources = np.repeat(np.asarray(list(columns), dtype=object), len(rows))
        v = np.concatenate(values) if values else np.empty(0)
        return cls.from_long(rows * k, labels * k, sources, v)

    @classmethod
    def from_sets(
        cls,
        answers: Mapping[str, Sequence[Any]],
        *,
        label_names: Sequence[str] | None = None,
        row_names: Sequence[Any] | None = None,
    ) -> Self:
        """Votes of sources that give a label set, probabilities or nothing for each row.

        Parameters
        ----------
        answers : mapping of str to sequence of length n
            The answers of each source, one per row: a set or list of labels, which is a no to
            all others; a mapping from labels to probabilities, which abstains on the others; or
            None for an abstention.
        label_names : sequence of str, optional
            All labels; by default those that occur, sorted.
        row_names : sequence, optional
            By default the numbers of the rows.
        """
        lists = {source: list(given) for source, given in answers.items()}
        sizes = {len(given) for given in lists.values()}
        if len(sizes) != 1:
            raise ValueError(f"each source must have as many answers, got {sorted(sizes)}")
        n = sizes.pop()
        if row_names is not None and len(row_names) != n:
            raise ValueError(f"row_names must have {n} entries, got {len(row_names)}")
        said = [(i, source, one) for source, given in lists.items() for i, one in enumerate(given)]
        rows = range(n) if row_names is None else row_names
        return cls._from_answers(said, rows, list(lists), label_names)

    @classmethod
    def _from_answers(
        cls,
        said: list[tuple[int, str, Any]],
        row_names: Sequence[Any],
        source_names: Sequence[str],
        label_names: Sequence[str] | None,
    ) -> Self:
        """Votes of answers, each with the number of its row and its source."""
        names = None if label_names is None else list(map(str, label_names))
        answers = []
        for row, source, one in said:
            try:
                answers.append(_answer(one, names))
            except ValueError as error:
                raise ValueError(f"{source!r}, row {row_names[row]!r}: {error}") from None
        if names is None:
            names = sorted({name for one in answers for name in one or ()})
        place = {name: j for j, name in enumerate(names)}
        V = np.full((len(answers), len(names)), np.nan)
        for v, one in zip(V, answers):
            if isinstance(one, set):
                v[:] = 0
                one = dict.fromkeys(one, 1.0)
            for name, p in (one or {}).items():
                v[place[name]] = p
        number = {name: s for s, name in enumerate(source_names)}
        pairs = np.array([(row, number[source]) for row, source, _ in said], dtype=np.int64)
        rows, sources = pairs.reshape(-1, 2).T
        at, labels = np.nonzero(~np.isnan(V))
        return cls(
            rows[at], labels, sources[at], V[at, labels],
            row_names=row_names, label_names=names, source_names=source_names,
        )  # fmt: skip

    @classmethod
    def from_matrices(
        cls,
        matrices: Mapping[str, Any],
        *,
        label_names: Sequence[str] | None = None,
        row_names: Sequence[Any] | None = None,
    ) -> Self:
        """Votes of sources with a matrix (n, q) each: 0/1 or probabilities, NaN for abstentions.

        Columns of data frames are matched by name; their indexes must be the same.
        """
        if label_names is None:
            label_names = next(filter(None, map(column_names, matrices.values())), None)
        indexes = [list(M.index) for M in matrices.values() if hasattr(M, "iloc")]
        if any(index != indexes[0] for index in indexes):
            raise ValueError("matrices must have the same index; reset_index(drop=True) drops it")
        found = {
            name: as_floats(dense(by_label(M, label_names, f"matrices[{name!r}]")))
            for name, M in matrices.items()
        }
        shapes = sorted({M.shape for M in found.values()})
        if len(shapes) != 1 or len(shape := shapes[0]) != 2:
            raise ValueError(f"matrices must be of one shape (n, q), got {shapes}")
        V = np.stack(list(found.values()))
        sources, rows, labels = np.nonzero(~np.isnan(V))
        if row_names is not None and len(row_names) != shape[0]:
            raise ValueError(f"row_names must have {shape[0]} entries, got {len(row_names)}")
        return cls(
            rows, labels, sources, V[sources, rows, labels],
            row_names=range(shape[0]) if row_names is None else row_names,
            label_names=names_or_default(label_names, shape[1]), source_names=list(found),
        )  # fmt: skip

    @classmethod
    def from_functions(
        cls,
        functions: Sequence[Callable[[Any], Any]] | Mapping[str, Callable[[Any], Any]],
        rows: Sequence[Any],
        *,
        label_names: Sequence[str] | None = None,
    ) -> Self:
        """Votes of labelling functions: ``f(row)`` returns what :meth:`from_sets` takes.

        Functions in a list are sources by their names, which must differ. A row of a pandas data
        frame is a Series, one of polars a dict.
        """
        if not isinstance(functions, Mapping):
            names = [
                getattr(getattr(f, "func", f), "__name__", type(f).__name__) for f in functions
            ]
            if (twice := first_repeated(names)) is not None:
                raise ValueError(f"functions must have distinct names, got {twice!r}: use a dict")
            functions = dict(zip(names, functions))
        if hasattr(rows, "iterrows"):  # data frames would be iterated by their columns
            rows = [row for _, row in rows.iterrows()]
        rows = list(rows.iter_rows(named=True) if hasattr(rows, "iter_rows") else rows)
        answers = {name: [f(row) for row in rows] for name, f in functions.items()}
        return cls.from_sets(answers, label_names=label_names)

    # asked -------------------------------------------------------------------------------

    def counts(self) -> tuple[Floats, Floats]:
        """Sum of the votes and number of votes of each cell, both (n, q)."""
        return self._sums(self.values), self._sums(np.ones(len(self.values)))

    def shares(self) -> Floats:
        """Mean vote of each cell (n, q); NaN where all sources abstain."""
        yes, total = self.counts()
        return np.divide(yes, total, out=np.full(self.shape, np.nan), where=total > 0)

    def matrix(self, source: str) -> Floats:
        """Votes of one source (n, q); NaN where it abstains."""
        mine = self.sources == self._number(source)
        M = np.full(self.shape, np.nan)
        M[self.rows[mine], self.labels[mine]] = self.values[mine]
        return M

    def without(self, *sources: str) -> Votes:
        """The votes of the other sources."""
        gone = [self._number(source) for source in sources]
        kept = ~np.isin(self.sources, gone)
        left = np.setdiff1d(np.arange(len(self.source_names)), gone)
        return Votes(
            self.rows[kept], self.labels[kept], np.searchsorted(left, self.sources[kept]),
            self.values[kept], row_names=self.row_names, label_names=self.label_names,
            source_names=[self.source_names[s] for s in left],
        )  # fmt: skip

    def take(self, rows: ArrayLike) -> Votes:
        """The votes on some rows, by number or mask, in the order given; a row may be repeated."""
        n, rows = self.shape[0], np.atleast_1d(np.asarray(rows))
        try:
            numbers = np.arange(n)[rows if rows.size or rows.dtype == bool else rows.astype(int)]
        except IndexError as error:
            raise IndexError(f"rows must be numbers or a mask of the {n} rows: {error}") from None
        # votes are sorted by row: those of each are a slice
        start, end = (np.searchsorted(self.rows, numbers, side) for side in ("left", "right"))
        size = end - start
        kept = ranges(start, size)
        place = np.repeat(np.arange(len(numbers)), size)
        return Votes(
            place, self.labels[kept], self.sources[kept], self.values[kept],
            row_names=[self.row_names[i] for i in numbers], label_names=self.label_names,
            source_names=self.source_names,
        )  # fmt: skip

    def agreement(self) -> PerLabel:
        """Number of votes, share of yes and Krippendorff's alpha of each label.

        Alpha is 1 if all sources agree, about 0 if they agree as often as by chance, and NaN if
        no row has two votes or all votes are the same. See also :meth:`set_agreement`.
        """
        yes, total = self.counts()
        squares = self._sums(self.values**2)
        alpha = [_alpha(*(M[:, j] for M in (yes, squares, total))) for j in range(self.shape[1])]
        n = total.sum(axis=0)
        share = np.divide(yes.sum(axis=0), n, out=np.full(len(n), np.nan), where=n > 0)
        table = {"votes": n.astype(np.int64), "yes": share, "alpha": np.asarray(alpha)}
        return PerLabel(table, self.label_names)

    def set_agreement(self) -> float:
        """Krippendorff's alpha of whole label sets, with the MASI distance.

        Only sources that voted on all labels of a row count there; probabilities are cut at 0.5.
        The distance of two sets is 1 - J m, where J is their Jaccard index and m is 1 for equal
        sets, 2/3 if one contains the other, 1/3 if they overlap, and 0 otherwise (Passonneau
        2006).
        """
        q, s = self.shape[1], len(self.source_names)
        key = self.rows * s + self.sources
        complete = np.bincount(key, minlength=self.shape[0] * s) == q
        kept = complete[key]
        order = np.lexsort((self.labels[kept], key[kept]))
        sets = (self.values[kept][order] > 0.5).reshape(-1, q)
        return _set_alpha(sets, np.flatnonzero(complete) // s)

    def source_table(self) -> PerLabel:
        """Sources, sorted by their agreement with the others.

        ``coverage`` is the share of cells that a source votes on, ``yes`` its mean vote, and
        ``agreement`` 1 minus the mean distance of its votes to the mean vote of the others. It
        is NaN for a source that shares no cell with others.
        """
        others, rest = self._others()
        near = 1 - np.abs(self.values - rest)
        k, met = len(self.source_names), others > 0
        n = np.bincount(self.sources, minlength=k)
        mean = np.bincount(self.sources, self.values, k) / np.maximum(n, 1)
        shared = np.bincount(self.sources, met, k)
        close = np.bincount(self.sources, np.where(met, near, 0), k)
        close = np.divide(close, shared, out=np.full(k, np.nan), where=shared > 0)
        order = np.argsort(np.where(np.isnan(close), 1, -close), kind="stable")
        columns = {
            "votes": n, "coverage": n / max(1, self.shape[0] * self.shape[1]), "yes": mean,
            "agreement": close,
        }  # fmt: skip
        names = [self.source_names[s] for s in order]
        return PerLabel({key: c[order] for key, c in columns.items()}, names, of="source")

    def to_frame(self) -> Any:
        """A long pandas data frame with the columns row, label, source and value."""
        pandas = import_extra("pandas", "Votes.to_frame", "table")
        return pandas.DataFrame({
            "row": [self.row_names[i] for i in self.rows],
            "label": [self.label_names[j] for j in self.labels],
            "source": [self.source_names[s] for s in self.sources],
            "value": self.values,
        })  # fmt: skip

    def __len__(self) -> int:
        return len(self.values)

    def __repr__(self) -> str:
        n, q = self.shape
        sources = counted(len(self.source_names), "source")
        return (
            f"Votes({counted(len(self), 'vote')} of {sources} on {counted(n, 'row')} and "
            f"{counted(q, 'label')})"
        )

    def _sums(self, weights: Floats) -> Floats:
        """Sums over the votes of each cell."""
        n, q = self.shape
        sums = np.bincount(self.rows * q + self.labels, weights, n * q)
        return sums.astype(np.float64, copy=False).reshape(n, q)

    def _others(self) -> tuple[Floats, Floats]:
        """How many other votes there are on the cell of each vote, and their mean; 0 for none."""
        yes, total = (M[self.rows, self.labels] for M in self.counts())
        return total - 1, (yes - self.values) / np.maximum(total - 1, 1)

    def _number(self, source: str) -> int:
        if source not in self.source_names:
            raise ValueError(f"source must be one of {self.source_names}, got {source!r}")
        return self.source_names.index(source)


def by_label(M: Any, label_names: Sequence[str] | None, what: str) -> Any:
    """A data frame with its columns in the order of the labels, if both have names; else M."""
    given, names = column_names(M), list(map(str, label_names or ()))
    if given is None or given == names or len(given) != len(names):
        return M
    if sorted(given) == sorted(names):
        return M[[M.columns[given.index(name)] for name in names]]
    if given == [str(j) for j in range(len(names))] or names == default_label_names(len(names)):
        return M
    raise ValueError(f"{what} must have the columns {names[:5]}, got {given[:5]}")


def as_floats(values: Any) -> Floats:
    """Numbers, NaN for all that is missing."""
    if isinstance(values, list | tuple) or str(getattr(values, "dtype", "")) == "object":
        values = np.asarray(values, dtype=object)
        flat = [np.nan if is_missing(v) else v for v in values.ravel()]
        values = np.array(flat, dtype=object).reshape(values.shape)
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"votes must be numbers from 0 to 1, got text: {error}") from None


def named(names: Any, what: str, kind: Callable[[Any], Any] = lambda name: name) -> list[Any]:
    """Names of rows, labels or sources as a list, none of them missing."""
    try:
        if isinstance(names, str):
            raise TypeError  # it would be a name for each letter
        names = list(names)
        missing = any(map(is_missing, set(names)))
    except TypeError:  # a scalar, or names that are not hashable
        raise ValueError(f"{what} must be a sequence of names or numbers, got {names!r}") from None
    if missing:
        i = next(i for i, name in enumerate(names) if is_missing(name))
        raise ValueError(f"{what} must not be missing, got {names[i]!r} in row {i}")
    return list(map(kind, names))


def _answer(one: Any, label_names: Sequence[str] | None) -> Any:
    """A set of texts, a mapping, or None for an abstention."""
    if isinstance(one, Mapping):
        found: Any = dict(zip(named(one, "labels", str), as_floats(list(one.values()))))
    elif isinstance(one, list | tuple | set | frozenset | np.ndarray):
        found = set(named(one, "labels", str))
    elif is_missing(one):
        return None
    else:
        raise ValueError(f"an answer must be a set of labels, a mapping or None, got {one!r}")
    if label_names is not None and (unknown := sorted(set(found).difference(label_names))):
        raise ValueError(f"label_names has no {unknown[0]!r}")
    return found


def _alpha(yes: Floats, squares: Floats, total: Floats) -> float:
    """Krippendorff's alpha with squared differences, which are 0 or 1 for votes of 0 and 1."""
    pairs = total > 1  # a single vote of a row has nothing to agree with
    yes, squares, total = yes[pairs], squares[pairs], total[pairs]
    n = total.sum()
    observed = (2 * (total * squares - yes**2) / (total - 1)).sum() / n if n else 0.0
    expected = 2 * (n * squares.sum() - yes.sum() ** 2) / (n * (n - 1)) if n else 0.0
    return float(1 - observed / expected) if expected > 1e-12 else float("nan")


def _set_alpha(sets: NDArray[np.bool_], rows: NDArray[np.int64]) -> float:
    met = np.bincount(rows)[rows] > 1 if len(rows) else np.zeros(0, dtype=bool)
    sets, rows = sets[met], np.unique(rows[met], return_inverse=True)[1]
    if not len(sets):
        return float("nan")
    distinct, kind = np.unique(sets, axis=0, return_inverse=True)
    # MASI distances of all pairs of sets
    both, size = distinct.astype(np.float64) @ distinct.T, distinct.sum(axis=1)
    either = size[:, None] + size - both
    jaccard = np.divide(both, either, out=np.ones_like(both), where=either > 0)
    inside = both == np.minimum(size[:, None], size)
    same = inside & (size[:, None] == size)
    D = 1 - jaccard * np.select([same, inside, both > 0], [1.0, 2 / 3, 1 / 3], 0.0)
    counts = np.bincount(kind.ravel())
    n, m = len(sets), np.bincount(rows)
    # the distance of each set to the others of its row, a row at a time
    starts = np.concatenate([[0], np.cumsum(m)[:-1]])
    observed = 0.0
    for start, size in zip(starts, m):
        k = kind.ravel()[start : start + size]
        observed += D[np.ix_(k, k)].sum() / (size - 1)
    expected = counts @ D @ counts / (n - 1)
    return float(1 - observed / expected) if expected > 1e-12 else float("nan")
