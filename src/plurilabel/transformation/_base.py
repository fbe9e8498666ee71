"""What the problem transformations share: the door, metadata, and the kind of scores."""

from __future__ import annotations

from abc import abstractmethod
from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn import get_config
from sklearn.base import MetaEstimatorMixin
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, has_fit_parameter, validate_data

from plurilabel._compat import HasMethods
from plurilabel.base import (
    LabelMatrix,
    ProbabilisticClassifier,
    ScoringClassifier,
    default_label_names,
)
from plurilabel.metrics import score_method
from plurilabel.transformation._models import NO_PARAMS, Params, cut_of

ESTIMATOR: dict[str, list[Any]] = {
    "estimator": [
        HasMethods(["fit", "predict_proba"]),
        HasMethods(["fit", "decision_function"]),
    ],
}
"""What a base estimator must have."""

PARALLEL: dict[str, list[Any]] = {"n_jobs": [None, Integral], "verbose": ["verbose"]}
"""Parameters of learners with many models."""


def scores_by(method: str) -> Any:
    """Decorator: the method exists only for learners whose scores come from it."""

    def check(self: TransformationClassifier) -> bool:
        kind = self._score_method()
        if kind != method:
            raise AttributeError(
                f"this {type(self).__name__} has no {method}: its scores come from {kind}"
            )
        return True

    return available_if(check)


class TransformationClassifier(MetaEstimatorMixin, ProbabilisticClassifier, ScoringClassifier):
    """A learner made of models of a base estimator that knows nothing of several labels.

    If the base estimator has ``predict_proba``, so has the learner, and the cut is 0.5; else its
    scores are decision values, it has ``decision_function``, and the cut is 0. It never has both.

    Hooks: ``_fit(X, Y, params)``, where ``params`` goes to the base estimator's ``fit``, and
    ``_scores(X)``. ``_score_method()`` is overridden where the scores are of another kind than
    those of the base estimator, ``_sets(X)`` where the sets are not the scores above the cut.
    """

    estimator: Any

    def fit(self, X: ArrayLike, y: ArrayLike, **params: Any) -> Self:
        """Learn from instances and their label sets.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d), or data frame
        y : 0/1 matrix of shape (n, q), dense, sparse or a data frame; or 1-D classes
        **params : dict
            ``sample_weight`` for the base estimator's ``fit``. Under
            ``sklearn.set_config(enable_metadata_routing=True)`` whatever ``estimator`` requests.

        Returns
        -------
        self
        """
        X, Y = self._validate_fit(X, y)
        self._fit(X, Y, self._routed(params, Y.shape[0]))
        return self

    @abstractmethod
    def _fit(self, X: Any, Y: LabelMatrix, params: Params = NO_PARAMS) -> None: ...

    def _score_method(self) -> str:
        return score_method(self.estimator)

    def predict(self, X: ArrayLike) -> NDArray[Any] | sparse.csr_array:
        """Predict label sets.

        Returns
        -------
        0/1 matrix of shape (n, q), CSR if the labels given to ``fit`` were sparse;
        classes of shape (n,) if they were 1-D.
        """
        check_is_fitted(self)
        X = self._validate_X(X, reset=False)
        if self.single_output_:
            return self.classes_[self._scores(X).argmax(axis=1)]
        sets = self._sets(X)
        return (sparse.csr_array(sets) if self.sparse_output_ else sets).astype(np.int64)

    @scores_by("predict_proba")
    def predict_proba(self, X: ArrayLike) -> NDArray[np.floating]:
        """Probability of each label; only if the scores of this learner are probabilities.

        Returns
        -------
        ndarray of shape (n, q)
            Column l is P(label l | x). For a 1-D y the rows are scaled to sum to one.
        """
        return super().predict_proba(X)

    @scores_by("decision_function")
    def decision_function(self, X: ArrayLike) -> NDArray[np.floating]:
        """Score of each label, positive for labels that are predicted.

        Only if the scores of this learner are no probabilities.

        Returns
        -------
        ndarray of shape (n, q)
            For a 1-D y with two classes: shape (n,), positive for the second class.
        """
        return super().decision_function(X)

    @property
    def _cut(self) -> float:  # type: ignore[override]
        return cut_of(self._score_method())

    # learners inside learners ---------------------------------------------------------------

    def _fit_inside(self, X: Any, Y: LabelMatrix, params: Params = NO_PARAMS) -> Self:
        """``fit`` for data that another learner has checked; ask with ``_scores``, ``_sets``."""
        self.single_output_, self.sparse_output_ = False, bool(sparse.issparse(Y))
        self.n_features_in_, self.n_labels_ = X.shape[1], Y.shape[1]
        self.classes_ = np.arange(Y.shape[1])
        self.label_names_ = np.asarray(default_label_names(Y.shape[1]), dtype=object)
        self._fit(X, Y, params)
        return self

    def _sets(self, X: Any) -> NDArray[np.bool_]:
        """Predicted label sets (n, q) for checked X: scores strictly above the cut."""
        return self._scores(X) > self._cut

    # the door -------------------------------------------------------------------------------

    def _validate_X(self, X: Any, *, reset: bool) -> Any:
        """As for all learners, once in the order of rows that most base estimators would copy to.

        Missing values are welcome where the base estimator takes them.
        """
        return validate_data(
            self,
            X,
            reset=reset,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            order="C",
            ensure_all_finite=not self._allows_nan() or "allow-nan",
        )

    def _allows_nan(self) -> bool:
        return bool(get_tags(self.estimator).input_tags.allow_nan)

    def _routed(self, params: dict[str, Any], n: int) -> Params:
        if get_config()["enable_metadata_routing"]:
            routed = dict(process_routing(self, "fit", **params).estimator.fit)
        else:
            routed = {name: value for name, value in params.items() if value is not None}
            if others := sorted(routed.keys() - {"sample_weight"}):
                raise ValueError(
                    f"{others} can only be passed to fit with "
                    "sklearn.set_config(enable_metadata_routing=True)"
                )
            if routed and not _takes_weights(self.estimator):
                raise ValueError(
                    f"sample_weight was passed, but fit of {type(self.estimator).__name__} "
                    "does not take it"
                )
        if routed.get("sample_weight") is not None:
            routed["sample_weight"] = _check_weights(routed["sample_weight"], n)
        return {name: _as_rows(value, n) for name, value in routed.items()}

    def get_metadata_routing(self) -> MetadataRouter:
        """Where ``fit`` sends metadata: to ``estimator.fit``."""
        return MetadataRouter(owner=type(self).__name__).add(
            estimator=self.estimator,
            method_mapping=MethodMapping().add(caller="fit", callee="fit"),
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.input_tags.sparse = inner.input_tags.sparse
        tags.input_tags.allow_nan = inner.input_tags.allow_nan
        tags.non_deterministic = inner.non_deterministic
        return tags


def _takes_weights(estimator: Any) -> bool:
    if isinstance(estimator, TransformationClassifier):  # which passes them on
        return _takes_weights(estimator.estimator)
    return bool(has_fit_parameter(estimator, "sample_weight"))


def _check_weights(weights: ArrayLike, n: int) -> NDArray[np.float64]:
    checked = np.asarray(weights, dtype=np.float64)
    if checked.shape != (n,):
        raise ValueError(
            f"sample_weight must have one weight for each of the {n} instances, "
            f"got shape {checked.shape}"
        )
    if not np.isfinite(checked).all():
        raise ValueError("sample_weight must be finite, got NaN or infinity")
    return checked


def _as_rows(value: Any, n: int) -> Any:
    """Metadata with an entry per instance as an array, so that rows can be taken from it."""
    if isinstance(value, str | bytes | dict) or not hasattr(value, "__len__") or len(value) != n:
        return value
    return np.asarray(value)
