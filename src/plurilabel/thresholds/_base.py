"""What the strategies share: the checks at the door, blocks of rows, cutting.

A strategy turns scores (n, q) into label sets. It implements two hooks that trust what they get:

``_fit(scores, Y)``
    scores are float64 or float32, dense and finite (or None where ``learns_from_scores`` says
    that they are not needed); Y is 0/1 in int8, dense or CSR.
``_sets(scores)``
    returns a boolean array (n, q), True for the labels that are predicted.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from plurilabel._compat import validate_parameter_constraints
from plurilabel.base import LabelMatrix, check_labels


class ThresholdStrategy(BaseEstimator, ABC):
    """A way to turn scores into label sets. Subclasses write ``_fit`` and ``_sets``."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {}

    def learns_from_scores(self) -> bool:
        """Whether ``fit`` needs scores, or labels alone will do."""
        return True

    def fit(self, scores: ArrayLike | None, Y: ArrayLike) -> Self:
        """Learn from scores and true labels.

        The scores should be those of instances that the scoring model was not trained on: scores
        of its own training instances look better than those of new ones.

        Parameters
        ----------
        scores : array-like of shape (n, q), or None
            Higher means that a label is more likely. Finite numbers. None is enough for a
            strategy that does not learn from scores.
        Y : 0/1 matrix of shape (n, q), dense, sparse or a data frame

        Returns
        -------
        self
        """
        validate_parameter_constraints(
            self._parameter_constraints, self.get_params(deep=False), type(self).__name__
        )
        if scores is None and self.learns_from_scores():
            raise ValueError(f"scores must be given: {type(self).__name__} learns from them")
        labels = check_labels(Y)
        if 0 in labels.shape:
            raise ValueError(f"Y must have at least one row and one label, got {labels.shape}")
        checked = None if scores is None else check_dense_scores(scores)
        check_same_shape(checked, labels)
        self.sparse_output_ = bool(sparse.issparse(Y))
        self.n_labels_ = labels.shape[1]
        self._fit(checked, labels)
        return self

    def predict(self, scores: ArrayLike) -> NDArray[np.int64] | sparse.csr_array:
        """Label sets for scores.

        Parameters
        ----------
        scores : array-like of shape (n, q)

        Returns
        -------
        0/1 matrix of shape (n, q), CSR if the labels given to ``fit`` were sparse
        """
        check_is_fitted(self)
        checked = check_dense_scores(scores)
        if checked.shape[1] != self.n_labels_:
            raise ValueError(
                f"scores must have {self.n_labels_} columns, one per label as in fit, "
                f"got {checked.shape[1]}"
            )
        return as_labels(self._sets(checked), to_sparse=self.sparse_output_)

    @abstractmethod
    def _fit(self, scores: Any, Y: LabelMatrix) -> None: ...

    @abstractmethod
    def _sets(self, scores: NDArray[np.floating]) -> NDArray[np.bool_]: ...


def check_dense_scores(scores: Any, *, name: str = "scores") -> NDArray[np.floating]:
    """Scores as float64 or float32 of shape (n, q); an error for NaN, infinity and sparse."""
    if sparse.issparse(scores):
        raise TypeError(
            f"{name} must be a dense array, got a sparse matrix: a cut needs the score of every "
            f"label. If unstored scores are zeros and it fits in memory, pass {name}.toarray()"
        )
    if np.ndim(scores) != 2:
        raise ValueError(
            f"{name} must be a matrix (instances, labels), got {np.ndim(scores)} dimension(s)"
        )
    return check_array(scores, dtype=[np.float64, np.float32], input_name=name)


def check_same_shape(scores: NDArray[np.floating] | None, Y: LabelMatrix) -> None:
    """An error where scores and labels do not belong together."""
    if scores is not None and scores.shape != Y.shape:
        raise ValueError(f"scores must have the shape of Y, {Y.shape}, got {scores.shape}")


def check_scores_and_labels(scores: Any, Y: Any) -> tuple[NDArray[np.floating], LabelMatrix]:
    """Scores and labels that belong together, in the form that the hooks expect."""
    checked, labels = check_dense_scores(scores), check_labels(Y)
    check_same_shape(checked, labels)
    return checked, labels


def check_probabilities(scores: NDArray[np.floating], who: str) -> None:
    """An error where scores are no probabilities."""
    low, high = scores.min(), scores.max()
    if low < 0 or high > 1:
        raise ValueError(
            f"scores must be probabilities in [0, 1] for {who}, got {low if low < 0 else high:g}"
        )


def as_labels(
    sets: NDArray[np.bool_], *, to_sparse: bool = False
) -> NDArray[np.int64] | sparse.csr_array:
    """Label sets as the learners return them: int64, dense or CSR."""
    return sparse.csr_array(sets).astype(np.int64) if to_sparse else sets.astype(np.int64)


def above(scores: NDArray[np.floating], cut: ArrayLike) -> NDArray[np.bool_]:
    """Scores strictly above the cut, compared in float64 whatever the type of the scores."""
    # A Python float would be rounded to float32 next to float32 scores.
    return scores > np.asarray(cut, dtype=np.float64)


def blocks(n: int, width: int, *, entries: int = 2**20) -> Iterator[slice]:
    """Slices of n rows such that a block of this width has about ``entries`` entries."""
    step = max(1, entries // max(1, width))
    for start in range(0, n, step):
        yield slice(start, min(start + step, n))


def dense_rows(Y: LabelMatrix, rows: slice) -> NDArray[np.int8]:
    """A block of rows of the labels, dense."""
    block = Y[rows]
    return block if isinstance(block, np.ndarray) else block.toarray()


def round_half_up(values: ArrayLike) -> NDArray[np.int64]:
    """Nearest integers; halves go up, unlike numpy's halves to even."""
    return np.floor(np.asarray(values, dtype=np.float64) + 0.5).astype(np.int64)
