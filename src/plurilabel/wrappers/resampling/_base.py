"""What all resamplers share: the public door."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_array, indexable
from sklearn.utils.validation import check_consistent_length

from plurilabel._core.base import check_labels
from plurilabel._core.blocks import canonical, refuse_masked
from plurilabel._core.compat import safe_indexing, validate_parameter_constraints
from plurilabel._core.unknown import PartialLabels, known_part
from plurilabel.datasets import describe


class Resampler(BaseEstimator, ABC):
    """Base class: ``fit_resample(X, Y)`` checks its input once and calls ``_resample``.

    Resamplers keep nothing; the same parameters and data give the same answer. To train a learner
    on resampled data, and to score it on data that is not, put both into a
    :class:`ResampledClassifier`.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {}
    _needs_numbers: ClassVar[bool] = True
    """Whether X must be numbers, to find neighbours by."""
    _learns_from_known: ClassVar[bool] = False
    """Whether labels that are not known may be taken for absent ones."""

    def fit_resample(self, X: Any, Y: Any) -> tuple[Any, Any]:
        """Resample a training set.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d), or data frame
            Random resampling and REMEDIAL take any rows, also a list of texts.
        Y : 0/1 matrix of shape (n, q), dense, sparse or a data frame
            :class:`MLROS` and :class:`MLRUS` take labels that are not known (NaN, None, NA, or
            :class:`~plurilabel.datasets.PartialLabels`): they count labels that are present.

        Returns
        -------
        X : rows in the form that they came in; for methods that need neighbours, numbers
        Y : ndarray of int8 or csr_array of shape (n', q)
            CSR if it came sparse; PartialLabels if some labels are not known.
        """
        validate_parameter_constraints(
            self._parameter_constraints, self.get_params(deep=False), type(self).__name__
        )
        filled, unknown = known_part(Y)
        if unknown is not None and not self._learns_from_known:
            i, j = (int(at[0]) for at in unknown.nonzero())
            raise ValueError(
                f"Y must hold only 0 and 1 for {type(self).__name__}, got NaN in row {i}, "
                f"column {j}; MLROS and MLRUS take labels that are not known"
            )
        labels = check_labels(filled)
        if 0 in labels.shape:
            raise ValueError(f"Y must have at least one row and one label, got {labels.shape}")
        refuse_masked(X, "X")
        if self._needs_numbers:
            X = check_array(
                canonical(X), accept_sparse="csr", dtype=[np.float64, np.float32], input_name="X"
            )
        else:
            X = indexable(X)[0]
        check_consistent_length(X, labels)
        return self._resample(X, labels if unknown is None else PartialLabels(labels, unknown))

    @abstractmethod
    def _resample(self, X: Any, Y: Any) -> tuple[Any, Any]:
        """X and Y, resampled; Y is 0/1 in int8, dense or CSR, or PartialLabels of these."""


class RowChooser(Resampler):
    """A resampler that only repeats rows or leaves them out: ``_rows`` says which remain.

    If none would, all do.
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
