"""MLSMOTE: new rows between rows with the same rare label."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.utils import check_random_state

from plurilabel._core.blocks import csr_of_rows, stack_rows
from plurilabel._core.compat import Interval
from plurilabel.neighbors import ExactIndex, training_neighbors
from plurilabel.wrappers.resampling._base import Resampler, rare_labels


class MLSMOTE(Resampler):
    """MLSMOTE: a new row for each row with a rare label, between it and a neighbour.

    For each label with IRLbl above MeanIR, and each row that has it: the neighbours are its
    nearest rows among those that have the label. Each feature of the new row is at a random place
    between the row and one random neighbour; its labels are those that more than half of the row
    and its neighbours have.

    Parameters
    ----------
    n_neighbors : int, default=5
        All rows with the label are neighbours if there are fewer; a label of a single row is left
        alone.
    random_state : int, RandomState instance or None, default=None

    Notes
    -----
    Features are numbers, and neighbours by Euclidean distance, from
    :class:`~plurilabel.ExactIndex`; the paper's treatment of nominal features is left
    out. Which labels are rare, and which rows have them, is decided by the original rows.

    References
    ----------
    F. Charte, A. J. Rivera, M. J. del Jesus, F. Herrera. MLSMOTE: approaching imbalanced
    multilabel learning through synthetic instance generation. Knowledge-Based Systems 89, 2015.

    Examples
    --------
    >>> from plurilabel import MLSMOTE
    >>> X, Y = [[0.0], [1.0], [2.0], [8.0], [9.0]], [[1, 0]] * 3 + [[1, 1]] * 2
    >>> X, Y = MLSMOTE(random_state=0).fit_resample(X, Y)
    >>> X[5:].round(1).ravel(), Y[5:].tolist()
    (array([8.5, 8.3]), [[1, 1], [1, 1]])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(self, n_neighbors: int = 5, *, random_state: Any = None):
        self.n_neighbors = n_neighbors
        self.random_state = random_state

    def _resample(self, X: Any, Y: Any) -> tuple[Any, Any]:
        rng, columns = check_random_state(self.random_state), sparse.csc_array(Y)
        new_X, new_Y = [X], [Y]
        for l in np.flatnonzero(rare_labels(Y)).tolist():
            bag = np.sort(columns.indices[columns.indptr[l] : columns.indptr[l + 1]])
            m, k = len(bag), min(self.n_neighbors, len(bag) - 1)
            if not k:
                continue
            inside = X[bag]
            _, near = training_neighbors(ExactIndex().fit(inside), inside, k)  # (m, k)
            chosen = near[np.arange(m), rng.randint(k, size=m)]
            new_X.append(_between(inside, inside[chosen], rng))
            graph = csr_of_rows(np.ones(m * k, np.int64), near.ravel(), np.full(m, k), m)
            votes = Y[bag].astype(np.int64) + graph @ Y[bag].astype(np.int64)
            new_Y.append((2 * votes > k + 1).astype(np.int8))
        if len(new_X) == 1:
            return X.copy(), Y.copy()
        return stack_rows(new_X), stack_rows(new_Y)


def _between(a: Any, b: Any, rng: np.random.RandomState) -> Any:
    """Rows whose features each lie at a random place between those of a and b."""
    if not sparse.issparse(a):
        return (a + rng.uniform(size=a.shape) * (b - a)).astype(a.dtype)
    step = sparse.csr_array(b - a)
    step.data = step.data * rng.uniform(size=len(step.data)).astype(step.dtype)
    return sparse.csr_array(a + step).astype(a.dtype)
