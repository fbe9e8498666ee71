"""How the columns of a table become features: learned from one table, used for others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from plurilabel._dataset import Matrix
from plurilabel.io._table._columns import (
    Categories,
    FeatureColumn,
    Numbers,
    Vectors,
    Words,
)
from plurilabel.io._table._features import learn_column
from plurilabel.io._table._files import first_repeated

_KINDS: dict[str, type] = {kind.kind: kind for kind in (Numbers, Categories, Vectors)}


class TableEncoder:
    """How the columns of a table become features.

    :func:`read_table` learns it from the table that it reads, and describes there what becomes
    of each kind of column. Kept with a model, it turns further tables into the same features:
    columns are found by their names, in any order, and others are not looked at. A category that
    was not in the first table counts as missing, and words that were not there do not count.

    Attributes
    ----------
    columns : list of Numbers, Categories and Vectors
        What is known of each feature column.
    words : Words or None
        Vocabulary and weights of the column of text.

    Examples
    --------
    >>> import pandas as pd
    >>> from plurilabel.io import TableEncoder
    >>> encoder = TableEncoder().fit(
    ...     pd.DataFrame({"length": [90, 143, 71], "country": ["fr", "us", "uk"]}))
    >>> encoder.feature_names
    ('length', 'country=fr', 'country=uk', 'country=us')
    >>> encoder.transform(pd.DataFrame({"country": ["us", "it"], "length": [100, 88]}))
    array([[100.,   0.,   0.,   1.],
           [ 88.,  nan,  nan,  nan]])
    """

    def __init__(self, columns: Sequence[FeatureColumn] = (), words: Words | None = None) -> None:
        self.columns = list(columns)
        self.words = words

    def fit(
        self,
        frame: Any,
        columns: Sequence[str] | None = None,
        text: str | None = None,
        *,
        word_rows: NDArray[np.intp] | None = None,
    ) -> Self:
        """Find out what kind each column is, and which categories and words there are.

        Parameters
        ----------
        frame : pandas data frame
        columns : sequence of str, default=None
            Feature columns; by default all, or none with ``text``.
        text : str, default=None
            A column of text, for word features.
        word_rows : array of int, default=None
            Rows from which words and their weights are learned; by default all.

        Returns
        -------
        self
        """
        if columns is None:
            columns = [] if text is not None else list(frame.columns)
        self.columns = [learn_column(frame[name], name) for name in columns]
        self.words = None
        if text is not None:
            texts = frame[text] if word_rows is None else frame[text].iloc[word_rows]
            self.words = Words.learn(texts, text)
        twice = first_repeated(self.feature_names)
        if twice is not None:
            raise ValueError(f"two columns would give a feature {twice!r}: rename one of them")
        return self

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the features."""
        names = [name for column in self.columns for name in column.names]
        if self.words is None:
            return tuple(names)
        prefix = f"{self.words.column}:" if self.columns else ""
        return (*names, *(prefix + word for word in self.words.vocabulary))

    @property
    def n_features(self) -> int:
        """How many there are, without their names."""
        widths = (getattr(column, "length", None) or len(column.names) for column in self.columns)
        return sum(widths) + (len(self.words.vocabulary) if self.words else 0)

    @property
    def column_names(self) -> list[str]:
        """The columns that a table must have."""
        return [c.column for c in self.columns] + ([self.words.column] if self.words else [])

    @property
    def text_columns(self) -> list[str]:
        """Columns which in CSV are text, even where they look like numbers."""
        texts = [c.column for c in self.columns if isinstance(c, Categories)]
        return texts + ([self.words.column] if self.words else [])

    def transform(self, frame: Any) -> Matrix:
        """Features of the rows of a pandas data frame: dense, or CSR if there are words."""
        self._check_columns(frame)
        blocks = [column.encode(frame[column.column]) for column in self.columns]
        X = np.concatenate([np.empty((len(frame), 0)), *blocks], axis=1)
        if self.words is None:
            return X
        words = self.words.encode(frame[self.words.column])
        if not self.columns:
            return words
        return sparse.csr_array(sparse.hstack([sparse.csr_array(X), words]))

    def unseen(self, frame: Any) -> dict[str, list[str]]:
        """By column, the categories of this table that the first one did not have."""
        self._check_columns(frame)
        found = {
            column.column: column.unseen(frame[column.column])
            for column in self.columns
            if isinstance(column, Categories)
        }
        return {column: values for column, values in found.items() if values}

    def _check_columns(self, frame: Any) -> None:
        there = set(frame.columns)
        missing = [name for name in self.column_names if name not in there]
        if missing:
            shown = ", ".join(map(repr, missing[:10])) + (", ..." if len(missing) > 10 else "")
            columns = "the column" if len(missing) == 1 else f"{len(missing)} columns,"
            what = f"the {len(self.column_names)} feature columns of the table learned from"
            if len(frame.columns) == 1:
                what += f", but has only one, {frame.columns[0]!r}; is sep= right?"
            raise ValueError(f"the table lacks {columns} {shown}; it must have {what}")

    # as JSON -------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """Everything that is known, as lists, texts and numbers."""
        columns = []
        for column in self.columns:
            fields = {name: _plain(value) for name, value in vars(column).items()}
            columns.append({"kind": column.kind, **fields})
        words = None
        if self.words is not None:
            words = {name: _plain(value) for name, value in vars(self.words).items()}
        return {"columns": columns, "words": words}

    @classmethod
    def from_dict(cls, known: dict[str, Any]) -> Self:
        """The way back from :meth:`to_dict`."""
        columns = []
        for fields in known["columns"]:
            fields = {name: _tuple(value) for name, value in fields.items()}
            columns.append(_KINDS[fields.pop("kind")](**fields))
        words = None
        if known["words"] is not None:
            about = known["words"]
            words = Words(about["column"], tuple(about["vocabulary"]), np.array(about["idf"]))
        return cls(columns, words)


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return list(value)
    return value.tolist() if isinstance(value, np.ndarray) else value


def _tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
