"""A fitted learner together with what it takes to read new data for it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from plurilabel import io
from plurilabel._dataset import Matrix
from plurilabel.base import default_feature_names
from plurilabel.datasets import Dataset
from plurilabel.io import TableEncoder
from plurilabel.io._table._columns import Numbers
from plurilabel.io._table._open import OpenTable, open_table


class ModelRows(NamedTuple):
    """Rows that were read for a model.

    Attributes
    ----------
    X : ndarray or csr_array of shape (n, d)
    Y : ndarray or csr_array of shape (n, q), or None
        None unless they were asked for.
    frame : pandas data frame or None
        The table from which they come, for a table.
    remarks : list of str
        What a user should know about these rows.
    test : ndarray of int or None
        The rows of the published test part, for a standard dataset that has one.
    """

    X: Matrix
    Y: Matrix | None
    frame: Any
    remarks: list[str]
    test: Any = None


@dataclass(frozen=True)
class Model:
    """A fitted learner, the names of its labels, and how data are read for it.

    Parameters
    ----------
    estimator : fitted classifier
    label_names : sequence of str
    feature_names : sequence of str
    encoder : TableEncoder, default=None
        For a model of a table: how its columns become features.
    labels : str or list of str, default=None
        For a model of a table: the column of tags, or the label columns.
    tag_sep : str, default=None
        What separates the tags of a cell.
    sep : str, default=None
        What separates the columns of a CSV file.
    sparse_features : bool, default=False
        Whether the learner takes sparse rows; they are turned into what it takes.
    notes : dict, default={}
        Anything else that is worth keeping, as JSON takes it.
    versions : dict, default={}
        Versions with which a model was saved.

    See Also
    --------
    save_model, load_model : To and from files.
    """

    estimator: Any
    label_names: Sequence[str]
    feature_names: Sequence[str]
    encoder: TableEncoder | None = None
    labels: str | list[str] | None = None
    tag_sep: str | None = None
    sep: str | None = None
    sparse_features: bool = False
    notes: dict[str, Any] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)

    def read(
        self,
        source: str | os.PathLike[str] | Dataset | Any,
        *,
        with_labels: bool = False,
        sep: str | None = None,
    ) -> ModelRows:
        """Read rows as the model wants them.

        Parameters
        ----------
        source : path, Dataset, or data frame
            A file in any format that :func:`plurilabel.io.read` knows. Its columns are
            found by name, whatever their order; others are left out.
        with_labels : bool, default=False
            Whether the true labels are there and wanted. Without it they may be missing.
        sep : str, default=None
            What separates the columns of a CSV file; by default what the first file had.

        Returns
        -------
        ModelRows
        """
        rows = self._read(source, with_labels, sep)
        return rows._replace(X=self._in_form(rows.X))

    def _in_form(self, X: Any) -> Matrix:
        """Dense or sparse as in training; of the same size, so that it was meant to fit."""
        if self.sparse_features:
            return sparse.csr_array(X)
        return X.toarray() if sparse.issparse(X) else X

    def _read(self, source: Any, with_labels: bool, sep: str | None) -> ModelRows:
        if isinstance(source, Dataset):
            return self._from_dataset(source, with_labels)
        if isinstance(source, str | os.PathLike):
            kind = io.file_format(source)
            if kind == "arff":
                data = io.read_arff(source, self.label_names, require_labels=False)
                return self._from_dataset(data, with_labels)
            if kind == "libsvm":
                d, q = len(self.feature_names), len(self.label_names)
                data = io.read_libsvm(source, n_features=d, n_labels=q)
                return self._from_dataset(data, with_labels, by_position=True)
            if kind == "xmc":
                return self._from_dataset(io.read_xmc(source), with_labels, by_position=True)
        return self._from_table(source, with_labels, sep)

    # tables --------------------------------------------------------------------------------

    def _from_table(self, source: Any, with_labels: bool, sep: str | None) -> ModelRows:
        encoder = self.encoder
        if encoder is None:  # learned from a file without categories: all columns are numbers
            encoder = TableEncoder([Numbers(name) for name in self.feature_names])
        as_text = encoder.text_columns + ([self.labels] if isinstance(self.labels, str) else [])
        table = open_table(source, sep=sep or self.sep, as_text=as_text)
        with table.located():
            X = encoder.transform(table.frame)
            remarks = [
                f"column {column!r} has values that were not there in training, taken as "
                f"missing: {_listed(values)}"
                for column, values in encoder.unseen(table.frame).items()
            ]
            Y = None
            if with_labels:
                Y, strange = self._table_labels(table)
                remarks += strange
        return ModelRows(X, Y, table.frame, remarks)

    def _table_labels(self, table: OpenTable) -> tuple[Matrix, list[str]]:
        there = set(table.frame.columns)
        if isinstance(self.labels, str) and self.labels in there:
            Y, names = table.labels(self.labels, self.tag_sep)
            return self._known_labels(Y, names)
        missing = [name for name in self.label_names if name not in there]
        if missing:
            wanted = f"the column {self.labels!r}" if isinstance(self.labels, str) else "columns"
            raise ValueError(
                f"the table must have the true labels, in {wanted} as in training; "
                f"it has no {_listed(missing)}"
            )
        return table.labels(list(self.label_names))[0], []

    def _known_labels(self, Y: Any, names: Sequence[str]) -> tuple[Any, list[str]]:
        """Columns of Y in the model's order; absent ones are zeros, strange ones left out."""
        strange = [name for name in names if name not in set(self.label_names)]
        if len(strange) == len(names):
            raise ValueError(
                f"none of the labels {_listed(names)} is one of the model's, "
                f"{_listed(self.label_names)}"
            )
        remarks = []
        if strange:
            remarks.append(f"labels that the model does not know are left out: {_listed(strange)}")
        return _columns_by_name(Y, names, self.label_names), remarks

    # other formats -------------------------------------------------------------------------

    def _from_dataset(
        self, data: Dataset, with_labels: bool, *, by_position: bool = False
    ) -> ModelRows:
        X = data.X
        remarks: list[str] = []
        names, d = tuple(self.feature_names), len(self.feature_names)
        if by_position and names == default_feature_names(d):
            if X.shape[1] != d:
                raise ValueError(f"the rows must have the model's {d} features, got {X.shape[1]}")
        elif data.feature_names != names:
            missing = sorted(set(names) - set(data.feature_names))
            if missing:
                raise ValueError(
                    f"the rows lack {len(missing)} of the model's {d} features: {_listed(missing)}"
                )
            X = _columns_by_name(X, data.feature_names, names)
        Y = None
        if with_labels:
            if not data.label_names:
                raise ValueError(
                    f"the rows must have the true labels, {_listed(self.label_names)}"
                )
            if by_position:
                Y = data.Y
                if Y.shape[1] != len(self.label_names):
                    raise ValueError(
                        f"the rows must have the model's {len(self.label_names)} labels, "
                        f"got {Y.shape[1]}"
                    )
            else:
                Y, remarks = self._known_labels(data.Y, data.label_names)
        return ModelRows(X, Y, None, remarks, data.test)


def _columns_by_name(M: Any, names: Sequence[str], wanted: Sequence[str]) -> Any:
    """The columns of M that are wanted, zeros for those that it has not."""
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


def _listed(names: Sequence[str], most: int = 5) -> str:
    shown = ", ".join(map(repr, names[:most]))
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
