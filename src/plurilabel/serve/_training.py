"""How a model learns corrections: by exact updates, or by a refit on all rows."""

from __future__ import annotations

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


class Training:
    """The training rows of a model. Subclasses learn corrections; here they are only exported."""

    how = "kept"

    def __init__(self, model: Model, reader: RowReader, Y: Any = None) -> None:
        self.model, self.reader, self.Y = model, reader, Y
        self.n_given = 0 if Y is None else int(Y.shape[0])
        self.places = {name: j for j, name in enumerate(model.label_names)}

    def labels_of(self, ledger: Ledger, row: int) -> tuple[str, ...]:
        corrected = ledger.labels(row)
        if corrected is not None:
            return corrected
        names = self.model.label_names
        return tuple(names[j] for j in np.flatnonzero(dense(self.Y[[row]]).ravel()).tolist())

    def learned(self, before: Trained, _ledger: Ledger) -> Trained:
        """Return the model of a later version, without changing the earlier one."""
        return before

    def _matrix(self, ledger: Ledger, rows: list[int]) -> NDArray[np.int8]:
        Y = np.zeros((len(rows), len(self.places)), dtype=np.int8)
        for i, row in enumerate(rows):
            Y[i, [self.places[name] for name in self.labels_of(ledger, row)]] = 1
        return Y


class Growing(Training):
    """Update a learner exactly, with ``partial_fit`` and ``forget``.

    Transformers before the learner and a threshold after it stay as fitted.
    """

    how = "exact"

    def __init__(self, model: Model, reader: RowReader) -> None:
        self.learner = model.learner
        super().__init__(model, reader, self.learner.Y_)

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

    def _points(self, ledger: Ledger, rows: list[int]) -> Any:
        new = [row for row in rows if row >= self.n_given]
        read = dict(zip(new, self._read([ledger.features(row) for row in new])))
        X = stack_rows([self.learner.X_[[r]] if r < self.n_given else read[r] for r in rows])
        X = X.astype(self.learner.X_.dtype)  # the dtype must not depend on the new rows
        names = getattr(self.learner, "feature_names_in_", None)
        if names is None:
            return X
        import pandas as pd

        frame = pd.DataFrame.sparse.from_spmatrix if sparse.issparse(X) else pd.DataFrame
        return frame(X, columns=names)

    def _read(self, records: list[Any]) -> list[Any]:
        """Read new rows, together where that gives the same values.

        Each row is encoded on its own: the last bit of a matrix product may depend on the number
        of rows, and the model must not depend on how the log was replayed.
        """
        together = [i for i, one in enumerate(records) if self.reader.independent([one])]
        read: dict[int, Any] = {}
        if together:
            X = self.reader.read_records([records[i] for i in together]).X
            read = {i: safe_indexing(X, [place]) for place, i in enumerate(together)}
        encoded = []
        for i, one in enumerate(records):
            x = self.model.encoded(read[i] if i in read else self.reader.read_records([one]).X)
            encoded.append(sparse.csr_array(x) if sparse.issparse(x) else np.asarray(x, float))
        return encoded

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
            learner.partial_fit(self._points(ledger, come), Y)
        if gone:
            learner.forget(gone)
        rows = np.concatenate([np.delete(before.rows, gone), np.array(come, dtype=np.intp)])
        return Trained(before.model.with_learner(learner), ledger.version, rows)


class Refitting(Training):
    """Refit a learner on the data and the corrections."""

    how = "refit"

    def __init__(self, model: Model, reader: RowReader, X: Any, Y: Any) -> None:
        super().__init__(model, reader, Y)
        self.X = X
        n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
        if n_rows != self.n_given:
            raise ValueError(f"X has {n_rows} rows, but Y has {self.n_given}")

    def table(self, ledger: Ledger, rows: list[int]) -> tuple[Any, Any]:
        """Input of the estimator for some rows, and their labels."""
        given = [row for row in rows if row < self.n_given]
        added = [row for row in rows if row >= self.n_given]
        X: Any = safe_indexing(self.X, np.array(given, dtype=np.intp))
        if added:
            X = _stacked(X, self.reader.read_records([ledger.features(row) for row in added]).X)
        order = {row: i for i, row in enumerate([*given, *added])}
        X = safe_indexing(X, np.array([order[row] for row in rows], dtype=np.intp))
        Y = np.zeros((len(rows), len(self.places)), dtype=np.int8)
        corrected = np.array([row in ledger.changed for row in rows], dtype=bool)
        Y[~corrected] = dense(self.Y[np.array(rows, dtype=np.intp)[~corrected]])
        Y[corrected] = self._matrix(ledger, [row for row in rows if row in ledger.changed])
        return X, (sparse.csr_array(Y) if sparse.issparse(self.Y) else Y)

    def learned(self, before: Trained, ledger: Ledger) -> Trained:
        rows = ledger.rows()
        estimator = clone(before.model.estimator)
        set_seeds(estimator, 0)  # so that the same log gives the same model
        X, Y = self.table(ledger, rows)
        model = replace(before.model, estimator=estimator.fit(X, Y))
        return Trained(model, ledger.version, np.array(rows, dtype=np.intp))


def _stacked(X: Any, new: Any) -> Any:
    if hasattr(X, "iloc"):
        import pandas as pd

        return pd.concat([X, new], ignore_index=True)
    if sparse.issparse(X):
        return sparse.csr_array(sparse.vstack([X, sparse.csr_array(new)]))
    return np.vstack([X, new]) if isinstance(X, np.ndarray) else [*X, *new]
