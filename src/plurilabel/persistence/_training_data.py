"""Data to learn a model from, with what the model must remember of how they were read."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from plurilabel._dataset import Matrix
from plurilabel.compare import digest_of
from plurilabel.datasets import Dataset
from plurilabel.io import TableEncoder
from plurilabel.io._table._open import open_table
from plurilabel.model_selection import stratified_split
from plurilabel.persistence._model import Model

Rows = NDArray[np.intp]


@dataclass(frozen=True)
class TrainingData:
    """A dataset, and for a table how it was read."""

    data: Dataset
    encoder: TableEncoder | None = None
    frame: Any = None
    labels: str | list[str] | None = None
    tag_sep: str | None = None
    sep: str | None = None

    @property
    def n_numbers(self) -> int:
        """How many features are no words of a text."""
        if self.encoder is None or self.encoder.words is None:
            return self.data.X.shape[1]
        return self.data.X.shape[1] - len(self.encoder.words.vocabulary)

    def held_out(self, share: float, seed: int) -> tuple[Rows, Rows]:
        """Rows to learn from and rows to test on: the published split, or a stratified one."""
        if self.data.train is not None and self.data.test is not None:
            return self.data.train, self.data.test
        rows = np.arange(self.data.X.shape[0])
        train, test, *_ = stratified_split(
            rows, self.data.Y, sizes=(1 - share, share), random_state=seed
        )
        return train, test

    def parts(self, train: Rows, test: Rows) -> tuple[Matrix, Matrix, Matrix, Matrix]:
        """``X_train, X_test, Y_train, Y_test``; words and their weights come from ``train``."""
        X, Y = self.data.X, self.data.Y
        if self.encoder is not None and self.encoder.words is not None:
            columns = [column.column for column in self.encoder.columns]
            text = self.encoder.words.column
            encoder = TableEncoder().fit(self.frame, columns, text, word_rows=train)
            X = encoder.transform(self.frame)
        return X[train], X[test], Y[train], Y[test]

    def model(self, estimator: Any, notes: dict[str, Any]) -> Model:
        """What is saved of an estimator that was fitted on these data."""
        data = self.data
        notes = {
            "data": {
                "name": data.name,
                "rows": int(data.X.shape[0]),
                "digest": rows_digest(data.X, data.Y),
            },
            **notes,
        }
        return Model(
            estimator,
            data.label_names,
            data.feature_names,
            self.encoder,
            self.labels,
            self.tag_sep,
            self.sep,
            sparse.issparse(data.X),
            notes,
        )


def rows_digest(X: Any, Y: Any) -> str:
    """Digest of rows and their labels, whatever the types of index in sparse ones."""
    return digest_of(*(part for matrix in (X, Y) for part in _canonical(matrix)))


def _canonical(matrix: Any) -> list[Any]:
    if not sparse.issparse(matrix):
        return [np.asarray(matrix, dtype=np.float64)]
    csr = sparse.csr_array(matrix, copy=True)
    csr.sum_duplicates()
    csr.eliminate_zeros()
    return [
        csr.data.astype(np.float64),
        csr.indices.astype(np.int64),
        csr.indptr.astype(np.int64),
        list(csr.shape),
    ]


def read_training_table(
    path: str | os.PathLike[str],
    *,
    labels: str | Sequence[str],
    features: Sequence[str] | None = None,
    drop: Sequence[str] = (),
    text: str | None = None,
    sep: str | None = None,
    tag_sep: str | None = None,
) -> TrainingData:
    """Read a table as :func:`plurilabel.io.read_table` does, and keep how."""
    named = [labels] if isinstance(labels, str) else list(labels)
    as_text = [name for name in (labels, text) if isinstance(name, str)]
    table = open_table(path, sep=sep, as_text=as_text)
    with table.located():
        used = table.feature_columns(named, features, text, drop)
        if isinstance(labels, str) and tag_sep is None:
            tag_sep = table.tag_separator(labels)
        Y, names = table.labels(labels, tag_sep)
        encoder = TableEncoder().fit(table.frame, used, text)
        X = encoder.transform(table.frame)
    data = Dataset(X, Y, encoder.feature_names, tuple(names), name=table.name)
    kept = labels if isinstance(labels, str) else named
    return TrainingData(data, encoder, table.frame, kept, tag_sep, sep)
