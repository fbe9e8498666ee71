"""A warning about rows that are copies of others, or nearly: they belong to one group."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from plurilabel.neighbors import ExactIndex

ASKED = 300  # rows whose neighbours are looked at
MOST_VALUES = 1e7  # of X: with more, neighbours are those in a sample of the rows
NEAR = 60  # neighbours that may be copies; at most a tenth of the rows: others are clusters
JUMP = 3.0  # a neighbour that is so much farther than the one before it is no copy
MANY = 0.6  # of the rows: at random in a plane it would be 0.12, on a line 0.44
WORDS = 20  # features of a sparse row that are equal to another's by chance in no case


def warn_of_copies(X: Any, random_state: int) -> None:
    """Warn if most rows have copies: folds would have one to learn from and one to be tested on.

    A row has copies if its next neighbours are at a distance of 0, or if their distances jump:
    the neighbours before the jump are copies, with some noise, the ones after it are other rows.
    Where values repeat anyway, as in tables of counts or short texts, equal rows are no news, and
    rows of one category are near each other: only continuous columns tell of a jump.
    """
    X = X if sparse.issparse(X) else np.asarray(X, dtype=np.float64)
    share = _share_of_copied(X, np.random.default_rng(random_state))
    if share >= MANY:
        warnings.warn(
            f"{share:.0%} of the rows are equal to others, or nearly: if they belong together, "
            "such as several rows of one person, the estimate is too good; pass what they belong "
            "to as groups=",
            stacklevel=2,
        )


def _share_of_copied(X: Any, rng: np.random.Generator) -> float:
    n = X.shape[0]
    if n < 10:
        return 0.0
    values = X.nnz if sparse.issparse(X) else X.size
    if values > MOST_VALUES:
        kept = rng.choice(n, size=max(2 * ASKED, int(n * MOST_VALUES / values)), replace=False)
        X, n = X[np.sort(kept)], len(kept)
    asked = np.sort(rng.choice(n, size=min(ASKED, n), replace=False))
    if sparse.issparse(X):
        X = sparse.csr_array(X)
        telling = np.diff(X.indptr)[asked] >= WORDS
    else:
        X = _scaled(X[:, _continuous(X[asked])])
        telling = np.full(len(asked), X.shape[1] > 1)  # on a line, distances jump by chance
    if not telling.any():
        return 0.0
    k = max(2, min(NEAR, n // 10))
    distances, near = ExactIndex().fit(X).kneighbors(X[asked], k + 1)
    # each row without itself; where more than k are equal, itself may not be among them
    own = near == asked[:, None]
    own[~own.any(axis=1), -1] = True
    d = distances[~own].reshape(len(asked), k)
    jumps = (d[:, 1:] > JUMP * d[:, :-1]) & (d[:, :-1] > 0)
    return float(((jumps.any(axis=1) | (d[:, 0] == 0)) & telling).mean())


def _scaled(X: NDArray[np.float64]) -> NDArray[np.float64]:
    spread = X.std(axis=0)
    return np.ascontiguousarray((X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0))


def _continuous(X: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Columns that have a value of its own in most rows, copies aside."""
    enough = max(20, len(np.unique(X, axis=0)) / 2)
    return np.array([len(np.unique(column)) > enough for column in X.T], dtype=bool)
