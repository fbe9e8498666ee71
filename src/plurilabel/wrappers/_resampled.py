"""ResampledClassifier: a learner that is trained on resampled data."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any, ClassVar

from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import MetaEstimatorMixin, clone
from sklearn.utils import get_tags, indexable
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from plurilabel._core.base import (
    LabelMatrix,
    MultiLabelClassifier,
    column_names,
    default_label_names,
)
from plurilabel._core.compat import HasMethods
from plurilabel._core.explanation.explain import explain
from plurilabel._core.fitted import Declared, count
from plurilabel._core.scores import score_matrix, score_method
from plurilabel._core.unknown import PartialLabels, takes_missing_labels


def _has(method: str) -> Any:
    """Decorator: the method exists only if the wrapped classifier has it."""

    def check(self: ResampledClassifier) -> bool:
        getattr(getattr(self, "estimator_", self.estimator), method)
        return True

    return available_if(check)


class ResampledClassifier(MetaEstimatorMixin, MultiLabelClassifier):
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
        target = self.classes_[Y.argmax(axis=1)] if self.single_output_ else Y
        names = list(self.label_names_)
        if isinstance(Y, PartialLabels) and not sparse.issparse(Y.Y):
            target = Y.toarray()
        if (
            not self.single_output_
            and not isinstance(target, PartialLabels)
            and names != list(default_label_names(len(names)))
        ):
            target = _named(target, names)
        self.estimator_ = clone(self.estimator).fit(_named_like(rows, X), target)

    def explain(
        self,
        X: Any,
        *,
        feature_names: Sequence[str] | None = None,
        reference: ArrayLike | None = None,
    ) -> list[Any]:
        """What speaks for and against each label, from the wrapped classifier.

        Parameters
        ----------
        X, feature_names, reference : as in :func:`plurilabel.inspection.explain`

        Returns
        -------
        list of explanations, one for each row of X
        """
        check_is_fitted(self)
        return explain(self.estimator_, X, feature_names=feature_names, reference=reference)

    def _validate_X(self, X: Any, *, reset: bool) -> Any:
        return indexable(X)[0] if reset else X

    def _score_method(self) -> str:
        return score_method(self.estimator_)

    def _scores(self, X: Any) -> NDArray[Any]:
        return self._asked(self._score_method(), X)

    def _asked(self, method: str, X: Any) -> NDArray[Any]:
        check_is_fitted(self)
        output = getattr(self.estimator_, method)(X)
        if self.single_output_:
            return output
        classes = getattr(self.estimator_, "classes_", None)
        return score_matrix(output, classes=classes, n_labels=self.n_labels_)

    def predict(self, X: ArrayLike) -> NDArray[Any] | sparse.csr_array:
        """Predict label sets, as the wrapped classifier does.

        Returns
        -------
        0/1 matrix of shape (n, q), or classes of shape (n,) if y was 1-D.
        """
        check_is_fitted(self)
        return self.estimator_.predict(X)

    @_has("predict_proba")
    def predict_proba(self, X: ArrayLike) -> NDArray[Any]:
        """Probabilities of the labels, from the wrapped classifier.

        Returns
        -------
        ndarray of shape (n, q)
            Column l is P(label l | x), even if the classifier returns a list of arrays.
        """
        return self._asked("predict_proba", X)

    @_has("decision_function")
    def decision_function(self, X: ArrayLike) -> NDArray[Any]:
        """Scores of the labels, from the wrapped classifier.

        Returns
        -------
        ndarray of shape (n, q)
            For a 1-D y, what the classifier returns: shape (n,) if there are two classes.
        """
        return self._asked("decision_function", X)

    @property
    def n_features_in_(self) -> int:
        """Number of features seen by the classifier."""
        return self.estimator_.n_features_in_

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        """Names of the features seen by the classifier."""
        return self.estimator_.feature_names_in_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.input_tags = inner.input_tags
        tags.classifier_tags = inner.classifier_tags or tags.classifier_tags
        tags.target_tags.multi_output = inner.target_tags.multi_output
        tags.target_tags.single_output = inner.target_tags.single_output
        tags.non_deterministic = inner.non_deterministic
        return tags


def _named_like(rows: Any, X: Any) -> Any:
    """Resampled rows with the column names of X, where neighbours have made numbers of a frame."""
    names = column_names(X)
    if names is None or hasattr(rows, "columns"):
        return rows
    if not hasattr(X, "iloc"):  # polars
        return type(X)(rows, schema=names)
    return _named(rows, names)


def _named(matrix: Any, names: Sequence[str]) -> Any:
    """A data frame of these columns, where pandas is there to hold it."""
    if find_spec("pandas") is None:
        return matrix
    import pandas as pd

    if sparse.issparse(matrix):
        return pd.DataFrame.sparse.from_spmatrix(matrix, columns=list(names))
    return pd.DataFrame(matrix, columns=list(names))
