"""ResampledClassifier: a learner that is trained on resampled data."""

from __future__ import annotations

from typing import Any, ClassVar

from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from plurilabel._core.base import LabelMatrix, column_names
from plurilabel._core.compat import HasMethods
from plurilabel._core.fitted import Declared, count
from plurilabel._core.unknown import PartialLabels, takes_missing_labels
from plurilabel.wrappers._wrapper import DelegatedScores, named


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
    classes_, label_names_, n_labels_
        As for all learners.
    n_features_in_, feature_names_in_
        Only if ``estimator_`` has them.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from plurilabel import MLkNN
    >>> from plurilabel import MLROS, ResampledClassifier
    >>> X, Y = make_multilabel_classification(n_classes=6, random_state=0)
    >>> learner = ResampledClassifier(MLkNN(), MLROS(0.5, random_state=0)).fit(X, Y)
    >>> len(X), learner.n_resampled_, learner.predict(X).shape
    (100, 121, (100, 6))
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "estimator": [HasMethods(["fit", "predict"])],
        "resampler": [HasMethods("fit_resample")],
    }

    _fitted: ClassVar[Declared] = {"n_resampled_": count()}

    def __init__(self, estimator: Any, resampler: Any):
        self.estimator = estimator
        self.resampler = resampler

    @property
    def accepts_missing_labels(self) -> bool:
        """Whether ``fit`` takes labels that are not known: where classifier and resampler do."""
        able = getattr(self.resampler, "_learns_from_known", False)
        return bool(able) and takes_missing_labels(self.estimator)

    def _fit(self, X: Any, Y: LabelMatrix) -> None:
        rows, Y = clone(self.resampler).fit_resample(X, Y)
        self.n_resampled_ = int(Y.shape[0])
        if not isinstance(Y, PartialLabels):
            target = self._named_targets(Y)
        else:
            target = Y if sparse.issparse(Y.Y) else self._named_targets(Y.toarray())
        self.estimator_ = clone(self.estimator).fit(_named_like(rows, X), target)

    def predict(self, X: ArrayLike) -> NDArray[Any] | sparse.csr_array:
        """Predict label sets, as the wrapped classifier does.

        Returns
        -------
        0/1 matrix of shape (n, q), or classes of shape (n,) if y was 1-D.
        """
        check_is_fitted(self)
        return self.estimator_.predict(X)


def _named_like(rows: Any, X: Any) -> Any:
    """Resampled rows with the column names of X, where neighbours have made numbers of a frame."""
    names = column_names(X)
    if names is None or hasattr(rows, "columns"):
        return rows
    if not hasattr(X, "iloc"):  # polars
        return type(X)(rows, schema=names)
    return named(rows, names)
