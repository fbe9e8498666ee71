"""Resampler and ResampledClassifier: any classifier trained on resampled data."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.utils import check_array, indexable
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from plurilabel._core.base import AllOrNothing, LabelMatrix, check_labels, column_names
from plurilabel._core.blocks import canonical, refuse_dates, refuse_masked
from plurilabel._core.compat import HasMethods, check_params, safe_indexing
from plurilabel._core.fitted import Declared, count
from plurilabel._core.unknown import UnknownLabels, known_part, takes_unknown_labels
from plurilabel.datasets import describe
from plurilabel.wrappers._wrapper import DelegatedScores, named


class Resampler(AllOrNothing, BaseEstimator, ABC):
    """Base class: ``fit_resample(X, Y)`` checks its input once and calls ``_resample``.

    Resamplers have no state; the same parameters and data give the same result. To train a
    learner on resampled data, put both into a :class:`ResampledClassifier`.
    """

    _needs_numbers: ClassVar[bool] = True  # X must be numbers, to find neighbours
    _learns_from_known: ClassVar[bool] = False  # unknown labels may be treated as absent

    def fit_resample(self, X: Any, Y: Any) -> tuple[Any, Any]:
        """Resample a training set.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d), or data frame
            Random resampling and REMEDIAL take any rows, also a list of texts.
        Y : 0/1 matrix of shape (n, q), dense, sparse or a data frame
            :class:`MLROS` and :class:`MLRUS` take unknown labels (NaN, None, NA, or
            :class:`~plurilabel.datasets.UnknownLabels`), since they only count present ones.

        Returns
        -------
        X : rows in their original form; numbers, for methods that need neighbours
        Y : ndarray of int8 or csr_array of shape (n', q)
            CSR if Y was sparse; UnknownLabels if some labels are unknown.
        """
        check_params(self)
        filled, unknown = known_part(Y)
        if unknown is not None and not self._learns_from_known:
            i, j = (int(at[0]) for at in unknown.nonzero())
            raise ValueError(
                f"Y must hold only 0 and 1 for {type(self).__name__}, got NaN in row {i}, "
                f"column {j}; MLROS and MLRUS take unknown labels"
            )
        labels = check_labels(filled)
        if 0 in labels.shape:
            raise ValueError(f"Y must have at least one row and one label, got {labels.shape}")
        if X is None:
            raise ValueError(f"{type(self).__name__} requires rows X, got None")
        refuse_masked(X, "X")
        if self._needs_numbers:
            refuse_dates(X, "X")
            form = {"accept_sparse": "csr", "dtype": [np.float64, np.float32], "input_name": "X"}
            X = check_array(canonical(X), **form)
        else:
            X = indexable(X)[0]
        check_consistent_length(X, labels)
        return self._resample(X, labels if unknown is None else UnknownLabels(labels, unknown))

    @abstractmethod
    def _resample(self, X: Any, Y: Any) -> tuple[Any, Any]:
        """X and Y, resampled; Y is 0/1 in int8, dense or CSR, or UnknownLabels of these."""


class RowChooser(Resampler):
    """A resampler that only repeats or drops rows: ``_rows`` returns the rows to keep.

    If there would be none, all are kept.
    """

    def _resample(self, X: Any, Y: Any) -> tuple[Any, Any]:
        rows = self._rows(X, known_part(Y)[0])
        rows = rows if len(rows) else np.arange(Y.shape[0])
        return safe_indexing(X, rows), Y[rows]

    @abstractmethod
    def _rows(self, X: Any, Y: Any) -> NDArray[np.intp]: ...


def rare_labels(Y: Any) -> NDArray[np.bool_]:
    """Whether each label is present and rarer than the mean: IRLbl(l) > MeanIR."""
    found = describe(Y)
    return (found.counts > 0) & (found.irlbl > found.mean_ir)


def with_any(Y: Any, labels: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Whether each row has at least one of these labels."""
    return np.asarray(Y @ labels.astype(np.int64)).ravel() > 0


@dataclass(eq=False, repr=False)
class ResampledClassifier(DelegatedScores):
    """Train any classifier on resampled data.

    Only ``fit`` resamples. In a pipeline or a cross-validation, rows that are predicted stay as
    they are, and no copy of a test row is among the training rows.

    Parameters
    ----------
    estimator : classifier
        A learner of this library, or one of scikit-learn that accepts label matrices.
    resampler : object with ``fit_resample(X, Y)``
        One of this package, or your own.

    Attributes
    ----------
    estimator_ : classifier
        The classifier, fitted on the resampled data.
    n_resampled_ : int
        Number of rows that it was trained on.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from plurilabel import MLROS, MLkNN, ResampledClassifier
    >>> X, Y = make_multilabel_classification(n_classes=6, random_state=0)
    >>> learner = ResampledClassifier(MLkNN(), MLROS(0.5, random_state=0)).fit(X, Y)
    >>> len(X), learner.n_resampled_, learner.predict(X).shape
    (100, 121, (100, 6))
    """

    _fitted: ClassVar[Declared] = {"n_resampled_": count()}

    estimator: Annotated[Any, HasMethods(["fit", "predict"])]
    resampler: Annotated[Any, HasMethods("fit_resample")]

    @property
    def accepts_unknown_labels(self) -> bool:
        """Whether ``fit`` takes unknown labels: if classifier and resampler do."""
        able = getattr(self.resampler, "_learns_from_known", False)
        return bool(able) and takes_unknown_labels(self.estimator)

    def _fit(self, X: Any, Y: LabelMatrix) -> None:
        found = clone(self.resampler).fit_resample(X, Y)
        if not isinstance(found, list | tuple) or len(found) != 2:
            what = type(found).__name__
            raise TypeError(f"resampler must return X and Y as a pair, got {what}")
        rows, Y = found
        unknown = isinstance(Y, UnknownLabels)
        Y = Y if unknown else check_labels(Y, name="Y of the resampler")
        if Y.shape[1] != self.n_labels_:
            raise ValueError(f"resampler must keep all {self.n_labels_} labels, got {Y.shape[1]}")
        self.n_resampled_ = int(Y.shape[0])
        if not (unknown and sparse.issparse(Y.Y)):
            Y = self._named_targets(Y.toarray() if unknown else Y)
        names = column_names(X)
        if names is not None and not hasattr(rows, "columns"):  # a frame became numbers
            polars = not hasattr(X, "iloc")
            rows = type(X)(rows, schema=names) if polars else named(rows, names)
        self.estimator_ = clone(self.estimator).fit(rows, Y)

    def predict(self, X: ArrayLike) -> NDArray[Any] | sparse.csr_array:
        """Predict label sets (n, q), or classes (n,) if y was 1-D, with the wrapped classifier."""
        check_is_fitted(self)
        return self.estimator_.predict(X)
