"""How a model learns corrections: by exact updates, or by a refit on all rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone

from plurilabel._core.blocks import dense, stack_rows
from plurilabel._core.compat import safe_indexing
from plurilabel.learners import set_seeds
from plurilabel.models import Model
from plurilabel.serve._ledger import Ledger
from plurilabel.serve._row_reader import RowReader

Rows = NDArray[np.intp]


@dataclass(frozen=True)
class Trained:
    """A version of the model, and the numbers of its training rows in order."""

    model: Model
    version: int
    rows: Rows


class Training(ABC):
    """Base class: the training rows, and how a model learns corrections of them."""

    how: str
    """"exact", "refit" or "kept"."""
    n_given: int

    def __init__(self, model: Model, reader: RowReader) -> None:
        self.model, self.reader = model, reader
        self.places = {name: j for j, name in enumerate(model.label_names)}

    @abstractmethod
    def labels_given(self, row: int) -> tuple[str, ...]:
        """Labels of a training row before any correction."""

    def labels_of(self, ledger: Ledger, row: int) -> tuple[str, ...]:
        """Current labels of a row."""
        said = ledger.labels(row)
        return self.labels_given(row) if said is None else said

    @abstractmethod
    def learned(self, before: Trained, ledger: Ledger) -> Trained:
        """Return the model of a later version, without changing the earlier one."""

    def _matrix(self, ledger: Ledger, rows: list[int]) -> NDArray[np.int8]:
        Y = np.zeros((len(rows), len(self.places)), dtype=np.int8)
        for i, row in enumerate(rows):
            Y[i, [self.places[name] for name in self.labels_of(ledger, row)]] = 1
        return Y

    def _names(self, y: Any) -> tuple[str, ...]:
        names = self.model.label_names
        return tuple(names[j] for j in np.flatnonzero(dense(y).ravel()).tolist())


class Growing(Training):
    """Update a learner exactly, with ``partial_fit`` and ``forget``.

    Transformers before the learner and a threshold after it stay as fitted.
    """

    how = "exact"

    def __init__(self, model: Model, reader: RowReader) -> None:
        super().__init__(model, reader)
        self.learner = model.learner
        self.n_given = self.learner.Y_.shape[0]

    @staticmethod
    def can(model: Model) -> bool:
        """Whether the learner of a model supports exact updates."""
        learner = model.learner
        return (
            hasattr(learner, "forget")
            and hasattr(learner, "partial_fit")
            and getattr(learner, "unknown_", None) is None
            and getattr(getattr(learner, "index_", None), "metric", None) != "precomputed"
            and not learner.single_output_
        )

    def labels_given(self, row: int) -> tuple[str, ...]:
        """Labels of a training row before any correction."""
        return self._names(self.learner.Y_[[row]])

    def points(self, ledger: Ledger, rows: list[int]) -> Any:
        """Encode rows for the learner."""
        new = [row for row in rows if row >= self.n_given]
        read = dict(zip(new, self._read([ledger.features(row) for row in new])))
        X = stack_rows([self.learner.X_[[r]] if r < self.n_given else read[r] for r in rows])
        X = X.astype(self.learner.X_.dtype)  # the dtype must not depend on the new rows
        names = getattr(self.learner, "feature_names_in_", None)
        if names is None:
            return X
        import pandas as pd

        if sparse.issparse(X):
            return pd.DataFrame.sparse.from_spmatrix(X, columns=names)
        return pd.DataFrame(X, columns=names)

    def _read(self, records: list[Any]) -> list[Any]:
        """Read new rows, together where that gives the same values.

        Each row is encoded on its own: the last bit of a matrix product may depend on the number
        of rows, and the model must not depend on how the log was replayed.
        """
        together = [i for i, one in enumerate(records) if self.reader.independent([one])]
        found: list[Any] = [None] * len(records)
        if together:
            read = self.reader.read_records([records[i] for i in together])
            for place, i in enumerate(together):
                found[i] = _array(self.model.encoded(safe_indexing(read.X, [place])))
        for i, one in enumerate(records):
            if found[i] is None:
                found[i] = _array(self.model.encoded(self.reader.read_records([one]).X))
        return found

    def learned(self, before: Trained, ledger: Ledger) -> Trained:
        """Return the model of a later version: corrected rows move to the end."""
        place = {row: i for i, row in enumerate(before.rows.tolist())}
        touched: dict[int, None] = {}
        for id in range(before.version + 1, ledger.version + 1):
            row = ledger.row_of(ledger.entries[id])
            touched.pop(row, None)
            touched[row] = None
        come = [row for row in touched if row in ledger.changed]
        gone = sorted(place[row] for row in touched if row in place)
        learner = copy(before.model.learner)  # its methods replace arrays, never write to them
        # grow before shrinking: a learner with few rows left could not forget
        if come:
            Y: Any = self._matrix(ledger, come)
            Y = sparse.csr_array(Y) if sparse.issparse(learner.Y_) else Y
            learner.partial_fit(self.points(ledger, come), Y)
        if gone:
            learner.forget(gone)
        rows = np.concatenate([np.delete(before.rows, gone), np.array(come, dtype=np.intp)])
        return Trained(before.model.with_learner(learner), ledger.version, rows)


class Refitting(Training):
    """Refit a learner on the data and the corrections."""

    how = "refit"

    def __init__(self, model: Model, reader: RowReader, X: Any, Y: Any) -> None:
        super().__init__(model, reader)
        self.X, self.Y = X, Y
        self.n_given = int(Y.shape[0])
        n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
        if n_rows != self.n_given:
            raise ValueError(f"X has {n_rows} rows, but Y has {self.n_given}")

    def labels_given(self, row: int) -> tuple[str, ...]:
        """Labels of a row of the data before any correction."""
        return self._names(self.Y[[row]])

    def rows_now(self, ledger: Ledger) -> list[int]:
        """Numbers of all current rows, in order."""
        return [r for r in range(self.n_given) if r not in ledger.changed] + list(ledger.changed)

    def table(self, ledger: Ledger, rows: list[int]) -> tuple[Any, Any]:
        """Input of the estimator for some rows, and their labels."""
        given = [row for row in rows if row < self.n_given]
        added = [row for row in rows if row >= self.n_given]
        X: Any = safe_indexing(self.X, np.array(given, dtype=np.intp))
        if added:
            new = self.reader.read_records([ledger.features(row) for row in added]).X
            X = _stacked(X, new)
        order = {row: i for i, row in enumerate([*given, *added])}
        X = safe_indexing(X, np.array([order[row] for row in rows], dtype=np.intp))
        Y = np.zeros((len(rows), len(self.places)), dtype=np.int8)
        corrected = np.array([row in ledger.changed for row in rows], dtype=bool)
        Y[~corrected] = dense(self.Y[np.array(rows, dtype=np.intp)[~corrected]])
        Y[corrected] = self._matrix(ledger, [row for row in rows if row in ledger.changed])
        return X, (sparse.csr_array(Y) if sparse.issparse(self.Y) else Y)

    def learned(self, before: Trained, ledger: Ledger) -> Trained:
        """Return a model fitted on all rows."""
        rows = self.rows_now(ledger)
        estimator = clone(before.model.estimator)
        set_seeds(estimator, 0)  # so that the same log gives the same model
        X, Y = self.table(ledger, rows)
        model = replace(before.model, estimator=estimator.fit(X, Y))
        return Trained(model, ledger.version, np.array(rows, dtype=np.intp))


class Keeping(Training):
    """Keep corrections for export without learning them."""

    how = "kept"
    n_given = 0

    def labels_given(self, row: int) -> tuple[str, ...]:
        """Raise an error, since there are no training rows."""
        raise KeyError(row)

    def learned(self, before: Trained, ledger: Ledger) -> Trained:
        """Return the same model, of the same version."""
        del ledger
        return before


def _array(X: Any) -> Any:
    """The output of a transformer as an array."""
    if sparse.issparse(X):
        return sparse.csr_array(X)
    return np.asarray(X, dtype=np.float64)


def _stacked(X: Any, new: Any) -> Any:
    if hasattr(X, "iloc"):
        import pandas as pd

        return pd.concat([X, new], ignore_index=True)
    if sparse.issparse(X):
        return sparse.csr_array(sparse.vstack([X, sparse.csr_array(new)]))
    return np.vstack([X, new]) if isinstance(X, np.ndarray) else [*X, *new]
