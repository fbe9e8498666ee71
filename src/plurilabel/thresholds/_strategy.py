"""What the strategies share: the checks at the door, and the sets above a cut or of a given size.

A strategy turns scores (n, q) into label sets. It implements two hooks that trust their input:

``_fit(scores, Y)``
    scores are float64 or float32, dense and finite (or None, if ``learns_from_scores`` says that
    they are not needed); Y is 0/1 in int8, or float64 if some labels are soft, dense or CSR. If
    some labels are unknown and the strategy has ``_learns_from_known``, Y is
    :class:`~plurilabel.datasets.UnknownLabels`.
``_sets(scores)``
    returns a boolean array (n, q), True for the labels that are predicted.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from plurilabel._core.base import AllOrNothing, LabelMatrix, check_labels, refuse_masked
from plurilabel._core.blocks import huge_numbers, row_blocks
from plurilabel._core.compat import check_params, check_sample_weight
from plurilabel._core.fitted import Declared, count, flag
from plurilabel._core.soft import is_soft, soft_or_hard
from plurilabel._core.unknown import UnknownLabels, known_part

Scores: TypeAlias = NDArray[np.floating]
Sets: TypeAlias = NDArray[np.bool_]
BLOCK = 2**20  # entries handled at a time


class ThresholdStrategy(AllOrNothing, BaseEstimator, ABC):
    """Base class of strategies that turn scores into label sets: hooks ``_fit`` and ``_sets``."""

    cut_: Any
    _learns_from_known: ClassVar[bool] = False
    _learns_from_soft: ClassVar[bool] = True
    _needs_scores: ClassVar[bool] = True
    _fitted: ClassVar[Declared] = {"n_labels_": count(), "sparse_output_": flag()}

    def learns_from_scores(self) -> bool:
        """Whether ``fit`` needs scores; if not, labels are enough."""
        return self._needs_scores

    def fit(
        self, scores: ArrayLike | None, Y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn from scores and true labels.

        The scores should be those of instances that the scoring model was not trained on: scores
        of its own training instances look better than those of new ones.

        Parameters
        ----------
        scores : array-like of shape (n, q), or None
            Finite numbers; higher means that a label is more likely. None is enough for a strategy
            that does not learn from scores.
        Y : 0/1 matrix of shape (n, q), dense, sparse or a data frame
            Unknown labels (NaN, None, NA, or :class:`~plurilabel.datasets.UnknownLabels`) are
            ignored. :class:`MetaLabeler` and :class:`SeenSets`, which learn whole label sets, use
            the instances whose labels are all known. Numbers between 0 and 1 are soft labels:
            measures are optimised in expectation, as :func:`plurilabel.metrics.evaluate` computes
            them, :class:`MetaLabeler` learns the expected size, rounded, and :class:`SeenSets`
            the most probable set. A guarantee needs labels of 0 and 1.
        sample_weight : array-like of shape (n,), default=None
            For :class:`LinearThreshold`; the other strategies count instances and refuse it.
        """
        check_params(self)
        if scores is None and self.learns_from_scores():
            raise ValueError(f"scores must be given: {type(self).__name__} learns from them")
        filled, unknown = known_part(Y)
        if not self._learns_from_soft and is_soft(filled):
            raise ValueError(
                f"Y must hold only 0 and 1 for {type(self).__name__}, got numbers between them: a "
                "guarantee needs labels that are certain, such as those of audited rows"
            )
        checked, labels = check_scores_and_labels(scores, filled)
        self.sparse_output_ = bool(sparse.issparse(filled))
        self.n_labels_ = labels.shape[1]
        if unknown is not None:
            if not self._learns_from_known:
                raise ValueError(f"Y must hold only 0 and 1 for {type(self).__name__}, got NaN")
            labels = UnknownLabels(labels, unknown)
        if sample_weight is None:
            self._fit(checked, labels)
        else:
            self._fit_weighted(checked, labels, check_sample_weight(sample_weight, labels))
        return self

    def predict(self, scores: ArrayLike) -> NDArray[np.int64] | sparse.csr_array:
        """Predict label sets from scores.

        Parameters
        ----------
        scores : array-like of shape (n, q)

        Returns
        -------
        0/1 matrix of shape (n, q), CSR if the labels given to ``fit`` were sparse
        """
        check_is_fitted(self)
        sets = self._sets(check_dense_scores(scores, self.n_labels_))
        return (sparse.csr_array(sets) if self.sparse_output_ else sets).astype(np.int64)

    @abstractmethod
    def _fit(self, scores: Any, Y: LabelMatrix) -> None: ...

    def _fit_weighted(self, scores: Any, Y: LabelMatrix, weights: NDArray[np.float64]) -> None:
        del scores, Y, weights
        raise ValueError(f"{type(self).__name__} does not take sample_weight")

    def _sets(self, scores: Scores) -> Sets:
        """Scores above the learned cut, unless a strategy decides otherwise."""
        return above(scores, self.cut_)


def check_dense_scores(scores: Any, q: int | None = None) -> Scores:
    """Scores as float64 or float32 of shape (n, q); an error for NaN, infinity and sparse."""
    if sparse.issparse(scores):
        raise TypeError(
            "scores must be a dense array, got a sparse matrix: a cut needs the score of every "
            "label. If unstored scores are zeros and it fits in memory, pass scores.toarray()"
        )
    if (ndim := np.ndim(scores)) != 2:
        raise ValueError(f"scores must be a matrix (instances, labels), got {ndim} dimension(s)")
    refuse_masked(scores, "scores")
    with huge_numbers():
        checked = check_array(scores, dtype=[np.float64, np.float32], input_name="scores")
    if q not in (None, width := checked.shape[1]):
        raise ValueError(f"scores must have {q} columns, one per label as in fit, got {width}")
    return checked


def check_scores_and_labels(scores: Any, Y: Any) -> tuple[Any, LabelMatrix]:
    """Scores (or None) and labels of the same shape, in the form that the hooks expect."""
    labels = soft_or_hard(Y)
    if 0 in labels.shape:
        raise ValueError(f"Y must have at least one row and one label, got {labels.shape}")
    if scores is None:
        return None, labels
    checked = check_dense_scores(scores)
    if checked.shape != labels.shape:
        raise ValueError(f"scores must have the shape of Y, {labels.shape}, got {checked.shape}")
    return checked, labels


def complete_rows(scores: Any, Y: LabelMatrix, who: str) -> tuple[Any, LabelMatrix]:
    """Scores (or None) and labels of the instances whose labels are all known."""
    if not isinstance(Y, UnknownLabels):
        return scores, Y
    rows = np.flatnonzero(Y.complete)
    if not len(rows):
        raise ValueError(f"Y must have rows of which all labels are known for {who}, got none")
    return None if scores is None else scores[rows], Y.Y[rows]


def check_probabilities(scores: Scores | None, who: str) -> None:
    """An error if the scores are not probabilities."""
    if scores is not None and (scores.min() < 0 or scores.max() > 1):
        wrong = scores.min() if scores.min() < 0 else scores.max()
        raise ValueError(f"scores must be probabilities in [0, 1] for {who}, got {wrong:g}")


def above(scores: Scores, cut: ArrayLike) -> Sets:
    """Scores strictly above the cut, compared in float64 whatever the type of the scores."""
    # A Python float would be rounded to float32 next to float32 scores.
    return scores > np.asarray(cut, dtype=np.float64)


def just_below(score: ArrayLike) -> Any:
    """The next number below; minus infinity below the lowest of all."""
    with np.errstate(over="ignore"):
        return np.nextafter(np.asarray(score, dtype=np.float64), -np.inf)


def highest(scores: Scores, sizes: NDArray[np.integer]) -> Sets:
    """The ``sizes[i]`` highest entries of row i; ties go to the left."""
    n, q = scores.shape
    sets = np.empty((n, q), dtype=bool)
    for rows in row_blocks(n, q, BLOCK):
        f, size = scores[rows], sizes[rows, np.newaxis]
        ordered = np.sort(f, axis=1)  # ascending
        smallest = np.take_along_axis(ordered, q - np.maximum(size, 1), axis=1)
        over, equal = f > smallest, f == smallest
        spare = size - over.sum(axis=1, keepdims=True)
        sets[rows] = over | (equal & (equal.cumsum(axis=1) <= spare))
    return sets


def round_half_up(values: ArrayLike) -> NDArray[np.int64]:
    """Nearest integers; halves go up, unlike numpy's halves to even."""
    return np.floor(np.asarray(values, dtype=np.float64) + 0.5).astype(np.int64)


def never_empty(labels: ArrayLike, scores: ArrayLike) -> NDArray[Any] | sparse.csr_array:
    """Give each instance without a predicted label the one with its highest score.

    This is the T-criterion of Boutell et al. (see :class:`~plurilabel.BinaryRelevance`). Ties go
    to the first label. ``ThresholdClassifier(nonempty=True)`` applies it to any strategy.

    Parameters
    ----------
    labels : 0/1 matrix of shape (n, q), dense or sparse
        Predicted label sets.
    scores : array-like of shape (n, q)

    Returns
    -------
    0/1 matrix of shape (n, q)
        A new one, int64; CSR if ``labels`` was sparse.

    Examples
    --------
    >>> from plurilabel.thresholds import never_empty
    >>> never_empty([[0, 0, 0], [1, 1, 0]], [[0.1, 0.3, 0.2], [0.9, 0.8, 0.7]])
    array([[0, 1, 0],
           [1, 1, 0]])
    """
    Y, f = check_labels(labels, name="labels"), check_dense_scores(scores)
    if Y.shape != f.shape:
        raise ValueError(f"scores must have the shape of labels, {Y.shape}, got {f.shape}")
    empty = np.flatnonzero(Y.sum(axis=1, dtype=np.int64) == 0)
    top = f[empty].argmax(axis=1)
    if sparse.issparse(Y):
        one = np.ones(len(empty), dtype=np.int64)
        return sparse.csr_array(Y + sparse.csr_array((one, (empty, top)), shape=Y.shape))
    filled = Y.astype(np.int64)
    filled[empty, top] = 1
    return filled
