"""Wrapper: what a classifier around another classifier shares with the others of its kind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from importlib.util import find_spec
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import MetaEstimatorMixin
from sklearn.utils import get_tags, indexable
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from plurilabel._core.base import LabelMatrix, MultiLabelClassifier, default_label_names
from plurilabel._core.blocks import dense
from plurilabel._core.compat import HasMethods
from plurilabel._core.explanation.contributions import Contributions
from plurilabel._core.explanation.explain import explain
from plurilabel.metrics import score_matrix, score_method


class Wrapper(MetaEstimatorMixin, MultiLabelClassifier):
    """A classifier around another one, which is fitted as ``estimator_`` and makes the scores."""

    estimator: Any
    estimator_: Any

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "estimator": [
            HasMethods(["fit", "predict_proba"]),
            HasMethods(["fit", "decision_function"]),
        ],
    }

    def _score_method(self) -> str:
        return score_method(getattr(self, "estimator_", self.estimator))

    def _scores(self, X: Any) -> NDArray[np.floating]:
        scores = self._delegated(self._score_method(), X)
        if scores.ndim == 1:  # two classes of a 1-D y, positive for the second
            return np.column_stack([-scores, scores])
        return dense(scores)

    def _delegated(self, method: str, X: Any) -> Any:
        """Scores (n, q) by a method of the wrapped classifier; for a 1-D y, as it returns them."""
        check_is_fitted(self)
        output = getattr(self.estimator_, method)(X)
        if self.single_output_:
            return np.asarray(output)
        classes = getattr(self.estimator_, "classes_", None)
        return score_matrix(output, classes=classes, n_labels=self.n_labels_)

    def _targets(self, Y: LabelMatrix) -> Any:
        """Labels for the wrapped classifier: a matrix, or the classes of a 1-D y."""
        return self.classes_[dense(Y).argmax(axis=1)] if self.single_output_ else Y

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.input_tags.sparse = inner.input_tags.sparse
        tags.input_tags.pairwise = inner.input_tags.pairwise
        tags.non_deterministic = inner.non_deterministic
        return tags


class OpenWrapper(Wrapper):
    """A wrapper that passes X on as it comes: the wrapped classifier checks it.

    y is checked here, as for all learners. Tags, feature names and explanations are those of the
    wrapped classifier.
    """

    _explained: ClassVar[str] = ""
    """What an explanation adds up to, if the scores are not those of the wrapped classifier."""

    def explain(
        self,
        X: Any,
        *,
        feature_names: Sequence[str] | None = None,
        reference: ArrayLike | None = None,
    ) -> list[Any]:
        """Explain what speaks for and against each label, by means of the wrapped classifier.

        Parameters
        ----------
        X, feature_names, reference : as in :func:`plurilabel.inspection.explain`

        Returns
        -------
        list of explanations, one for each row of X
            Base and parts are those of the wrapped classifier.
        """
        check_is_fitted(self)
        found = explain(self.estimator_, X, feature_names=feature_names, reference=reference)
        names = tuple(map(str, self.label_names_))
        if not self._explained:
            return [_with_names(one, names) for one in found]
        scales = (self._explained,) * len(names)
        return [
            Contributions(names, scores, one.base, tuple(one.part_names), one.parts, scales)
            for one, scores in zip(found, self._validated_scores(X))
        ]

    def _validate_X(self, X: Any, *, reset: bool) -> Any:
        return indexable(X)[0] if reset else X

    def _named_targets(self, Y: LabelMatrix) -> Any:
        """Labels for the wrapped classifier, as a data frame if they have names."""
        names = list(self.label_names_)
        if self.single_output_ or names == default_label_names(len(names)):
            return self._targets(Y)
        return named(Y, names)

    @property
    def n_features_in_(self) -> int:
        """Number of features seen by the classifier."""
        return self.estimator_.n_features_in_

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        """Names of the features seen by the classifier."""
        return self.estimator_.feature_names_in_

    def _fit_router(self) -> MetadataRouter:
        """Metadata routing from ``fit`` to ``estimator.fit``."""
        return MetadataRouter(owner=type(self).__name__).add(
            estimator=self.estimator,
            method_mapping=MethodMapping().add(caller="fit", callee="fit"),
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.input_tags = inner.input_tags
        tags.classifier_tags = inner.classifier_tags or tags.classifier_tags
        tags.target_tags.multi_output = inner.target_tags.multi_output
        tags.target_tags.single_output = inner.target_tags.single_output
        return tags


def _with_names(one: Any, names: tuple[str, ...]) -> Any:
    """An explanation with the names of the labels, unless they do not fit its columns."""
    if not isinstance(one, Contributions) or len(one.scores) != len(names):
        return one
    return replace(one, label_names=names)


def _if_wrapped_has(method: str) -> Any:
    """Decorator: the method exists only if the wrapped classifier has it."""

    def check(self: Wrapper) -> bool:
        getattr(getattr(self, "estimator_", self.estimator), method)
        return True

    return available_if(check)


class DelegatedScores(OpenWrapper):
    """A wrapper whose ``predict_proba`` and ``decision_function`` are the wrapped classifier's."""

    @_if_wrapped_has("predict_proba")
    def predict_proba(self, X: ArrayLike) -> NDArray[Any]:
        """Probabilities of the labels, from the wrapped classifier.

        Returns
        -------
        ndarray of shape (n, q)
            Column l is P(label l | x), even if the classifier returns a list of arrays.
        """
        return self._delegated("predict_proba", X)

    @_if_wrapped_has("decision_function")
    def decision_function(self, X: ArrayLike) -> NDArray[Any]:
        """Scores of the labels, from the wrapped classifier.

        Returns
        -------
        ndarray of shape (n, q)
            For a 1-D y, what the classifier returns: shape (n,) if there are two classes.
        """
        return self._delegated("decision_function", X)


def named(matrix: Any, names: Sequence[str]) -> Any:
    """A data frame with these columns if pandas is installed, else the matrix."""
    if find_spec("pandas") is None:
        return matrix
    import pandas as pd

    if sparse.issparse(matrix):
        return pd.DataFrame.sparse.from_spmatrix(matrix, columns=list(names))
    return pd.DataFrame(matrix, columns=list(names))
