"""A fitted estimator together with what it takes to read new data for it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline

from plurilabel import io
from plurilabel._blocks import dense
from plurilabel._dataset import Matrix
from plurilabel._text import counted, listed
from plurilabel.base import default_feature_names
from plurilabel.datasets import Dataset


class ModelRows(NamedTuple):
    """Rows that were read for a model.

    Attributes
    ----------
    X : ndarray, csr_array or pandas data frame of n rows
        What the estimator takes.
    Y : ndarray or csr_array of shape (n, q), or None
        None unless they were asked for.
    frame : pandas data frame or None
        The table from which they come, for a table.
    remarks : list of str
        What a user should know about these rows.
    test : ndarray of int or None
        The rows of the published test part, for a standard dataset that has one.
    unknown : ndarray of bool of shape (n,), or None
        For a model of nothing but text: rows without a word that it knows, about which it can
        say nothing.
    """

    X: Any
    Y: Matrix | None
    frame: Any
    remarks: list[str]
    test: Any = None
    unknown: NDArray[np.bool_] | None = None


@dataclass(frozen=True)
class Model:
    """A fitted estimator, the names of its labels, and how data are read for it.

    Parameters
    ----------
    estimator : fitted classifier
        For a model of tables, one whose first step is a
        :class:`~sklearn.compose.ColumnTransformer` fitted on a data frame, such as
        :func:`plurilabel.io.table_encoder` makes.
    label_names : sequence of str
    feature_names : sequence of str
        The columns that the estimator takes: features, or the columns of a typed table.
    labels : str or list of str, default=None
        For a model of a table: the column of tags, or the label columns.
    tag_sep : str, default=None
        What separates the tags of a cell.
    sep : str, default=None
        What separates the columns of a CSV file.
    sparse_features : bool, default=False
        Whether an estimator of arrays takes sparse rows; they are turned into what it takes.
    notes : dict, default={}
        Anything else that is worth keeping, as JSON takes it.
    versions : dict, default={}
        Versions with which a model was saved.
    written : mapping of str to str, default={}
        How the numbers and dates of a table are written, as its dataset says.

    See Also
    --------
    save_model, load_model : To and from files.

    Examples
    --------
    >>> import pandas as pd
    >>> from sklearn.pipeline import make_pipeline
    >>> from plurilabel import MLDecisionTree, io
    >>> from plurilabel.persistence import Model
    >>> notes = pd.DataFrame(
    ...     {"note": ["a cough", "cough, fever", "a rash"], "codes": ["c", "c;f", "r"]})
    >>> data = io.read_table(notes, labels="codes", text="note", encode=False)
    >>> pipeline = make_pipeline(io.table_encoder(data.X, text="note"), MLDecisionTree())
    >>> model = Model(pipeline.fit(data.X, data.Y), data.label_names, data.X.columns, "codes")
    >>> rows = model.read(pd.DataFrame({"id": [7], "note": ["high fever, a cough"]}))
    >>> model.estimator.predict(rows.X).toarray()
    array([[1, 1, 0]])
    """

    estimator: Any
    label_names: Sequence[str]
    feature_names: Sequence[str]
    labels: str | list[str] | None = None
    tag_sep: str | None = None
    sep: str | None = None
    sparse_features: bool = False
    notes: dict[str, Any] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    written: Mapping[str, str] = field(default_factory=dict)

    def read(
        self,
        source: str | os.PathLike[str] | Dataset | Any,
        *,
        with_labels: bool = False,
        sep: str | None = None,
        embeddings: str | os.PathLike[str] | Any = None,
    ) -> ModelRows:
        """Read rows as the estimator takes them.

        Parameters
        ----------
        source : path, Dataset, or data frame
            A file in any format that :func:`plurilabel.io.read` knows. Its columns are found by
            name, whatever their order; others are left out. Those of LIBSVM and extreme
            classification files have no names and are taken in their order.
        with_labels : bool, default=False
            Whether the true labels are there and wanted. Without it they may be missing.
        sep : str, default=None
            What separates the columns of a CSV file; by default what was given for the first
            file, or what the file shows.
        embeddings : path or ndarray, default=None
            Ready-made vectors of the rows of a table, if the model was learned with such.

        Returns
        -------
        ModelRows
        """
        data, by_position = self._dataset(source)
        encoder, frame, test = self.encoder, None, None
        kinds = dict.fromkeys(self.feature_names, "numbers")
        if encoder is not None:
            kinds = io.column_kinds(encoder)
        if data is None:
            table = io.read_further(
                source,
                kinds,
                labels=self.labels if isinstance(self.labels, str) else None,
                label_names=self.label_names if with_labels else None,
                sep=sep or self.sep,
                tag_sep=self.tag_sep,
                written=self.written,
                embeddings=embeddings,
            )
            X, frame = table.X if encoder else table.X.to_numpy(), table.frame
            Y, names = table.Y, tuple(table.label_names)
        elif embeddings is not None:
            raise ValueError("embeddings are for the rows of a table")
        else:
            Y, names, test = data.Y, tuple(data.label_names), data.test
            X = self._features(data, by_position) if encoder is None else _typed(data, kinds)
        if encoder is None:
            # dense or sparse as in training, which was of the same width
            X = sparse.csr_array(X) if self.sparse_features else dense(X)
        unseen = {} if encoder is None else io.unseen_categories(encoder, X)
        remarks = [
            f"column {column!r} has values that were not seen in training and are encoded as "
            f"zeros: {_quoted(values)}"
            for column, values in unseen.items()
        ]
        unknown, remark = _unknown(encoder, X, kinds)
        remarks += remark
        if not with_labels:
            return ModelRows(X, None, frame, remarks, test, unknown)
        Y, strange = self._labels(Y, names, by_position)
        if strange:
            remarks.append(f"labels that the model does not know are left out: {_quoted(strange)}")
        return ModelRows(X, Y, frame, remarks, test, unknown)

    @property
    def encoder(self) -> ColumnTransformer | None:
        """The fitted encoder with which a model of tables begins; None for a model of arrays."""
        part = self.estimator
        while part is not None and not isinstance(part, ColumnTransformer):
            if isinstance(part, Pipeline):
                part = part[0]
            else:  # around a pipeline: what was fitted
                part = getattr(part, "estimator_", getattr(part, "best_estimator_", None))
        return part if hasattr(part, "feature_names_in_") else None

    def _dataset(self, source: Any) -> tuple[Dataset | None, bool]:
        """What is not a table, and whether its columns have no names."""
        if isinstance(source, Dataset):
            return source, False
        format = io.file_format(source) if isinstance(source, str | os.PathLike) else None
        if format == "arff":
            return io.read_arff(source, list(self.label_names), require_labels=False), False
        if format == "libsvm":
            d, q = len(self.feature_names), len(self.label_names)
            return io.read_libsvm(source, n_features=d, n_labels=q), True
        return (io.read_xmc(source), True) if format == "xmc" else (None, False)

    def _features(self, data: Dataset, by_position: bool) -> Matrix:
        names, d = tuple(self.feature_names), len(self.feature_names)
        if by_position and names == default_feature_names(d):
            if data.X.shape[1] != d:
                raise ValueError(
                    f"the rows must have the model's {d} features, got {data.X.shape[1]}"
                )
            return data.X
        if missing := sorted(set(names).difference(data.feature_names)):
            raise ValueError(
                f"the rows lack {len(missing)} of the model's {d} features: {_quoted(missing)}"
            )
        return _columns_by_name(data.X, data.feature_names, names)

    def _labels(self, Y: Any, names: Sequence[str], by_position: bool) -> tuple[Matrix, list[str]]:
        """Columns of Y in the model's order, zeros for absent ones; and names of the others."""
        q = len(self.label_names)
        if by_position:
            if Y.shape[1] != q:
                raise ValueError(f"the rows must have the model's {q} labels, got {Y.shape[1]}")
            return Y, []
        if not names:
            raise ValueError(f"the rows must have the true labels, {_quoted(self.label_names)}")
        strange = [name for name in names if name not in set(self.label_names)]
        if len(strange) == len(names):
            raise ValueError(
                f"none of the labels {_quoted(names)} is one of the model's, "
                f"{_quoted(self.label_names)}"
            )
        return _columns_by_name(Y, names, self.label_names), strange


def _unknown(
    encoder: ColumnTransformer | None, X: Any, kinds: dict[str, str]
) -> tuple[NDArray[np.bool_] | None, list[str]]:
    """Rows without a known word, if there is nothing but text; and a remark about such rows."""
    rows = None if encoder is None else io.without_known_words(encoder, X)
    if rows is None:
        return None, []
    columns = [name for name, kind in kinds.items() if kind == "text"]
    alone = len(columns) == len(kinds)
    places = np.flatnonzero(rows)
    if not len(places):
        return (rows if alone else None), []
    which = ", ".join(f"{place + 1:,}" for place in places[:5]) + ", ..." * (len(places) > 5)
    what = f"{counted(len(places), 'row')} ({which}) {'has' if len(places) == 1 else 'have'}"
    then = "the model can say nothing about them" if alone else "only the other columns speak"
    return (rows if alone else None), [f"{what} no known word in {_quoted(columns)}: {then}"]


def _typed(data: Dataset, kinds: dict[str, str]) -> Any:
    """Rows of a dataset for a model of tables."""
    import pandas as pd

    frame = pd.DataFrame(dense(data.X), columns=list(data.feature_names))
    return io.read_further(frame, kinds).X


def _columns_by_name(M: Any, names: Sequence[str], wanted: Sequence[str]) -> Any:
    """The columns of M that are wanted, zeros for those that it does not have."""
    if tuple(names) == tuple(wanted):
        return M
    place = {name: j for j, name in enumerate(names)}
    found = [(j, place[name]) for j, name in enumerate(wanted) if name in place]
    into, out_of = np.array(found, dtype=np.intp).reshape(-1, 2).T
    if sparse.issparse(M):
        ones = np.ones(len(into), dtype=M.dtype)
        choose = sparse.csr_array((ones, (out_of, into)), shape=(len(names), len(wanted)))
        return sparse.csr_array(M @ choose)
    result = np.zeros((M.shape[0], len(wanted)), dtype=M.dtype)
    result[:, into] = M[:, out_of]
    return result


def _quoted(names: Sequence[str]) -> str:
    return listed([repr(name) for name in names], 5)
