"""A nearest-neighbor model that learns every answer at once, and suggests labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.preprocessing import StandardScaler, normalize

from plurilabel import io
from plurilabel.learners.lazy import MLkNN
from plurilabel.serve.labeling._state import State

FEWEST = 5  # answered rows from which on labels are suggested
NEIGHBORS = 10

Floats = NDArray[np.float64]


def encoded_rows(encoder: io.TableEncoder, frame: Any) -> Any:
    """Encode all rows of a project, scaled for distances; a constant if no column is left."""
    if not encoder.kinds:
        return np.zeros((len(frame), 1))
    X = encoder.fit_transform(frame)
    if sparse.issparse(X):
        return sparse.csr_array(normalize(X))
    return StandardScaler().fit_transform(X)


class LiveModel:
    """ML-kNN on the answered rows.

    An answer is learned by an exact update, so that the model does not depend on the order of
    the answers; it is fitted again only if labels or the number of neighbors change.
    """

    def __init__(self, X: Any) -> None:
        self.X = X
        self.learner: MLkNN | None = None
        self.labels: list[int] = []  # ids
        self.rows: list[int] = []  # as the learner has them
        self._known: dict[int, frozenset[int]] = {}

    def learn(self, state: State) -> None:
        """Learn the answers that are new or have changed."""
        known = {row: state.labels_of(row) or frozenset() for row in state.answered()}
        labels = list(state.names)
        if len(known) < FEWEST or not labels:
            self.learner, self.labels, self.rows, self._known = None, labels, [], {}
            return
        k = min(NEIGHBORS, len(known) // 4)
        if self.learner is None or labels != self.labels or k != self.learner.n_neighbors:
            self.rows, self.labels = list(known), labels
            self.learner = MLkNN(k).fit(self.X[self.rows], self._matrix(known, self.rows))
        else:
            touched = [row for row in known if known[row] != self._known.get(row)]
            gone = [row for row in self._known if known.get(row) != self._known[row]]
            if touched:
                self.learner.partial_fit(self.X[touched], self._matrix(known, touched))
            if gone:
                places = {row: i for i, row in enumerate(self.rows)}
                self.learner.forget([places[row] for row in gone])
            self.rows = [row for row in self.rows if row not in set(gone)] + touched
        self._known = known

    def _matrix(self, known: dict[int, frozenset[int]], rows: Sequence[int]) -> NDArray[np.int8]:
        Y = np.zeros((len(rows), len(self.labels)), dtype=np.int8)
        place = {id: j for j, id in enumerate(self.labels)}
        for i, row in enumerate(rows):
            Y[i, [place[id] for id in known[row]]] = 1
        return Y

    def probabilities(self, rows: Sequence[int] | NDArray[np.intp]) -> Floats | None:
        """Probabilities (n, q) of the labels of some rows; None with too few answers."""
        if self.learner is None:
            return None
        return np.asarray(self.learner.predict_proba(self.X[np.asarray(rows, dtype=np.intp)]))

    def held_out(self) -> tuple[NDArray[np.intp], NDArray[np.int8], Floats] | None:
        """Answered rows, their labels, and probabilities of models without the row itself."""
        if self.learner is None:
            return None
        Y: Any = self.learner.Y_
        return np.array(self.rows), np.asarray(Y), np.asarray(self.learner.training_scores())
