"""Read files, tables, records and arrays as rows for a model."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from plurilabel import io
from plurilabel._core.base import default_feature_names
from plurilabel._core.blocks import dense
from plurilabel._core.data.bags import Bags
from plurilabel._core.data.dataset import Dataset, Matrix
from plurilabel._core.records import digest_of
from plurilabel._core.unknown import UnknownLabels
from plurilabel._core.words import counted, listed
from plurilabel.io.shared import (
    as_table,
    formats,
    is_texts,
    open_frame,
    table_module,
    unseen_categories,
    without_known_words,
)
from plurilabel.models._layers import layers

if TYPE_CHECKING:
    from plurilabel.models._model import Model

SHOWN = 5  # rows in a remark
MOST_MARKS = 500  # hashes of training rows that a model keeps


class Strange(NamedTuple):
    """What a model has not seen in training, among some rows."""

    categories: Mapping[str, Sequence[str]] = MappingProxyType({})  # values by column
    silent: tuple[int, ...] = ()  # the first rows without a known word
    n_silent: int = 0
    labels: Sequence[str] = ()

    def and_then(self, other: Strange, start: int) -> Strange:
        """The same of these rows and of others, the first of which has the number ``start``."""
        values: dict[str, Sequence[str]] = dict(self.categories)
        for column, more in other.categories.items():
            values[column] = list(dict.fromkeys([*values.get(column, ()), *more]))
        silent = (*self.silent, *(start + row for row in other.silent))[:SHOWN]
        labels = list(dict.fromkeys([*self.labels, *other.labels]))
        return Strange(values, silent, self.n_silent + other.n_silent, labels)

    def remarks(self, kinds: Mapping[str, str]) -> list[str]:
        """The same for the user, given the kinds of the columns."""
        found = [
            f"column {column!r} has values that were not seen in training and are encoded as "
            f"zeros: {_quoted(values)}"
            for column, values in self.categories.items()
        ]
        if n := self.n_silent:
            columns = [name for name, kind in kinds.items() if kind == "text"]
            which = ", ".join(f"{place:,}" for place in self.silent) + ", ..." * (n > SHOWN)
            has = "has" if n == 1 else "have"
            alone = len(columns) == len(kinds)
            then = "the model cannot predict them" if alone else ""
            then = then or "predictions use only the other columns"
            what = f"{counted(n, 'row')} ({which}) {has} no known word"
            found.append(f"{what} in {_quoted(columns)}: {then}")
        if self.labels:
            found.append(f"labels unknown to the model are ignored: {_quoted(self.labels)}")
        return found


class ModelRows(NamedTuple):
    """Rows that were read for a model.

    Attributes
    ----------
    X : ndarray, csr_array or pandas data frame of n rows
        Input of the estimator.
    Y : ndarray or csr_array of shape (n, q), or None
        Labels, if they were read.
    frame : pandas data frame or None
        The original table.
    remarks : list of str
        Remarks for the user, such as values that were not seen in training.
    test : ndarray of int or None
        Rows of the published test part of a standard dataset.
    unknown : ndarray of bool of shape (n,), or None
        For a model with only columns of text: rows without a known word, which it cannot predict.
    strange : Strange
        What the remarks are made of, for rows that are read in blocks.
    """

    X: Any
    Y: Matrix | None
    frame: Any
    remarks: list[str]
    test: Any = None
    unknown: NDArray[np.bool_] | None = None
    strange: Strange = Strange()


def read_rows(
    model: Model, source: Any, *, with_labels: bool, embeddings: Any, **options: Any
) -> ModelRows:
    """Read rows for a model: see :meth:`Model.read`."""
    if isinstance(source, list | tuple) and source and isinstance(source[0], Mapping):
        source = table_module("pandas").DataFrame(list(source))
    elif model.encoder is not None and len(model.feature_names) == 1 and is_texts(source):
        source = as_table(source, model.feature_names).frame
    if not with_labels and (given := _as_given(model, source)) is not None:
        return given
    kinds = model.kinds
    data, by_position = _dataset(model, source)
    if data is None:
        table = _further(model, source, kinds, with_labels, embeddings=embeddings, **options)
        rows, names = ModelRows(table.X, table.Y, table.frame, []), tuple(table.label_names)
    elif embeddings is not None:
        raise ValueError("embeddings can only be given for the rows of a table")
    else:
        if model.encoder is None:
            X = _features(model, data, by_position)
        else:
            pandas = table_module("pandas")
            frame = pandas.DataFrame(dense(data.X), columns=list(data.feature_names))
            X = io.read_further(frame, kinds).X
        rows, names = ModelRows(X, data.Y, None, [], data.test), tuple(data.label_names)
    rows = _as_in_training(model, rows, kinds)
    Y, labels = _labels(model, rows.Y, names, by_position) if with_labels else (None, [])
    strange = rows.strange._replace(labels=labels)
    return rows._replace(Y=Y, strange=strange, remarks=strange.remarks(kinds))


def _as_in_training(model: Model, rows: ModelRows, kinds: dict[str, str]) -> ModelRows:
    """Make features dense or sparse as in training; for a table, look for new values."""
    if model.encoder is None:
        X = sparse.csr_array(rows.X) if model.sparse_features else dense(rows.X)
        return rows._replace(X=_array(X, len(model.feature_names), _names_in(model)))
    similar = any(hasattr(part, "label_vectors_") for part in layers(model.estimator))
    silent = None if similar else without_known_words(model.encoder, rows.X)
    places = np.flatnonzero([] if silent is None else silent)
    first = tuple(places[:SHOWN].tolist())
    strange = Strange(unseen_categories(model.encoder, rows.X), first, len(places))
    alone = silent is not None and set(kinds.values()) == {"text"}
    return rows._replace(unknown=silent if alone else None, strange=strange)


def _as_given(model: Model, source: Any) -> ModelRows | None:
    """Rows in memory that need no conversion; None for other sources."""
    has_names = hasattr(source, "columns")
    is_read = isinstance(source, str | os.PathLike | Dataset) or hasattr(source, "open_table")
    if not len(model.feature_names):  # texts, or other input of the first step
        if has_names or is_read:
            is_text = isinstance(source, str) and not os.path.exists(source)
            table = None if is_text else open_frame(source).frame
            if table is None or table.shape[1] != 1:
                given = "a text" if table is None else f"the columns {_quoted(table.columns)}"
                raise ValueError(f"the model takes one column of texts, got {given}")
            source = table.iloc[:, 0].fillna("")
        frame = source.to_frame("text") if hasattr(source, "to_frame") else None
        return ModelRows(source, None, frame, [])
    if is_read:
        return None
    names = _names_in(model)
    if not has_names:
        return ModelRows(_array(source, len(model.feature_names), names), None, None, [])
    # the model of a table types columns as in training; a user's own frame is used as in fit
    if not names or model.labels is not None or model.encoder is not None:
        return None
    source = source if hasattr(source, "iloc") else source.to_pandas()
    if missing := [name for name in names if name not in set(source.columns)]:
        raise ValueError(f"missing columns: {_quoted(missing)} ({len(missing)} of {len(names)})")
    return ModelRows(source[names], None, source, [])


def _names_in(model: Model) -> list[str]:
    """Names of the features, if the estimator was fitted on a data frame."""
    return [str(name) for name in getattr(model.estimator, "feature_names_in_", ())]


def _array(source: Any, d: int, names: list[str]) -> Any:
    """Check an array of d features; a data frame if the estimator was fitted on one."""
    X = source if sparse.issparse(source) or isinstance(source, Bags) else np.asarray(source)
    if len(X.shape) < 2 or X.shape[-1] != d:
        raise ValueError(f"expected {counted(d, 'feature')}, as in training, got shape {X.shape}")
    if not names or isinstance(X, Bags):
        return X
    return table_module("pandas").DataFrame(dense(X), columns=names)


def _further(
    model: Model, source: Any, kinds: dict[str, str], with_labels: bool, **options: Any
) -> io.FurtherRows:
    """Read a table, typed as in training."""
    options |= {"sep": options["sep"] or model.sep, "tag_sep": model.tag_sep}
    options["labels"] = model.labels if isinstance(model.labels, str) else None
    options["label_names"] = model.label_names if with_labels else None
    options["written"] = {} if model.encoder is None else model.encoder.written_
    table = io.read_further(source, kinds, **options)
    return table if model.encoder is not None else table._replace(X=table.X.to_numpy())


def _dataset(model: Model, source: Any) -> tuple[Dataset | None, bool]:
    """The dataset of a source, None for a table, and whether its columns have no names."""
    if isinstance(source, Dataset):
        return source, False
    is_path = isinstance(source, str | os.PathLike)
    format = formats().get(io.file_format(source) or "") if is_path else None
    if format is None or format.further is None:
        return None, False
    data = format.further(source, len(model.feature_names), list(model.label_names))
    return data, not format.has_names


def _features(model: Model, data: Dataset, by_position: bool) -> Matrix:
    names, d = tuple(model.feature_names), len(model.feature_names)
    if by_position and names == default_feature_names(d):
        if data.X.shape[1] != d:
            raise ValueError(f"expected {d} features, as in training, got {data.X.shape[1]}")
        return data.X
    if missing := sorted(set(names).difference(data.feature_names)):
        raise ValueError(f"missing features: {_quoted(missing)} ({len(missing)} of {d})")
    return _columns_by_name(data.X, data.feature_names, names)


def _labels(
    model: Model, Y: Any, names: Sequence[str], by_position: bool
) -> tuple[Matrix, list[str]]:
    """Columns of Y in the order of the model, 0 for absent ones; and names of the others."""
    q = len(model.label_names)
    if by_position:
        if Y.shape[1] != q:
            raise ValueError(f"expected {q} labels, as in training, got {Y.shape[1]}")
        return Y, []
    if not names:
        raise ValueError(f"the true labels are missing: {_quoted(model.label_names)}")
    strange = [name for name in names if name not in set(model.label_names)]
    if len(strange) == len(names):
        raise ValueError(
            f"none of the labels {_quoted(names)} is a label of the model, "
            f"{_quoted(model.label_names)}"
        )
    return _columns_by_name(Y, names, model.label_names), strange


def _columns_by_name(M: Any, names: Sequence[str], wanted: Sequence[str]) -> Any:
    """Columns of M by name, 0 for missing ones."""
    if tuple(names) == tuple(wanted):
        return M
    if isinstance(M, UnknownLabels):
        return UnknownLabels(*(_columns_by_name(part, names, wanted) for part in (M.Y, M.unknown)))
    place = {name: j for j, name in enumerate(names)}
    at = [place.get(name, len(names)) for name in wanted]  # the last one is 0
    nothing = np.zeros((M.shape[0], 1), dtype=M.dtype)
    if sparse.issparse(M):
        return sparse.hstack([M, sparse.csr_array(nothing)], format="csr")[:, at]
    return np.hstack([M, nothing])[:, at]


def row_texts(X: Any, texts: Any) -> list[str] | None:
    """Rows of a table as text: columns of text if there are any; None for other data."""
    if not hasattr(X, "iloc"):
        return None
    if texts:
        return X[list(texts)].fillna("").astype(str).agg(" | ".join, axis=1).tolist()
    names = list(X.columns)[:8]
    return [
        ", ".join(
            f"{name} {cell:.4g}" if isinstance(cell, float) else f"{name} {cell}"
            for name, cell in zip(names, row)
        )
        for row in X[names].itertuples(index=False)
    ]


def _quoted(names: Sequence[str]) -> str:
    return listed([repr(name) for name in names], 5)


def rows_digest(X: Any, Y: Any) -> str:
    """Digest of rows and labels, independent of the index types of sparse matrices."""
    return digest_of(*(part for matrix in (X, Y) for part in _canonical(matrix)))


def row_marks(X: Any) -> list[int]:
    """The smallest hashes of rows, from which a subset of the rows can be recognized."""
    return np.unique(_row_hashes(X))[:MOST_MARKS].tolist()


def share_seen(X: Any, marks: Sequence[int]) -> float:
    """Estimated share of the rows that are among those with these marks."""
    known, hashes = np.asarray(marks, dtype=np.uint64), _row_hashes(X)
    if len(known) == MOST_MARKS:  # rows with larger hashes have no mark
        hashes = hashes[hashes <= known[-1]]
    return float(np.isin(hashes, known).mean()) if len(hashes) and len(known) else 0.0


def _row_hashes(X: Any) -> NDArray[np.uint64]:
    """A hash of each row, below 2**53 for JSON; none for bags."""
    if is_texts(X):
        X = as_table(X).frame
    if isinstance(X, Bags) or X.ndim != 2:
        return np.empty(0, dtype=np.uint64)
    if hasattr(X, "iloc"):
        from pandas.util import hash_pandas_object

        # lists cannot be hashed
        texts = X.apply(lambda column: column.map(str) if column.dtype == object else column)
        return hash_pandas_object(texts, index=False).to_numpy() >> np.uint64(11)
    csr = sparse.csr_array(X, dtype=np.float64, copy=True)
    csr.eliminate_zeros()
    keys = np.random.default_rng(0).integers(1, 2**63, csr.shape[1], dtype=np.uint64)
    mixed = (csr.data.view(np.uint64) ^ keys[csr.indices]) * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= mixed >> np.uint64(29)
    total = np.concatenate([[np.uint64(0)], np.cumsum(mixed, dtype=np.uint64)])
    return (np.diff(total[csr.indptr]) * np.uint64(0xBF58476D1CE4E5B9)) >> np.uint64(11)


def _canonical(matrix: Any) -> list[Any]:
    if isinstance(matrix, UnknownLabels):
        return [*_canonical(matrix.Y), *_canonical(matrix.unknown)]
    if not sparse.issparse(matrix):
        return [matrix if hasattr(matrix, "iloc") else np.asarray(matrix, dtype=np.float64)]
    csr = sparse.csr_array(matrix, dtype=np.float64, copy=True)
    csr.sum_duplicates()
    csr.eliminate_zeros()
    return [csr.data, csr.indices.astype(np.int64), csr.indptr.astype(np.int64), list(csr.shape)]
