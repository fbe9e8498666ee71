"""The base class of problem transformations: validation, metadata, and the kind of scores."""

from __future__ import annotations

from abc import abstractmethod
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn import get_config
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.validation import has_fit_parameter

from plurilabel._core.base import (
    CUTS,
    AroundEstimator,
    LabelMatrix,
    ProbabilisticClassifier,
    ScoringClassifier,
    fit_router,
)
from plurilabel._core.compat import check_sample_weight, rows_of_params, safe_indexing
from plurilabel._core.fitted import Declared, one_of
from plurilabel._core.scores import score_method
from plurilabel._core.soft import copied_rows, needs_copies
from plurilabel.learners.transformation._base_models import ONE_MODEL
from plurilabel.model_selection.shared import routed_splitter


class TransformationClassifier(AroundEstimator, ProbabilisticClassifier, ScoringClassifier):
    """Base class of learners that train a base estimator on one label, or label set, at a time.

    The learner has ``predict_proba``, with a cut at 0.5, if the base estimator has it. Otherwise
    it has ``decision_function``, with a cut at 0. It never has both.

    Hooks: ``_fit(X, Y, **params)``, where ``params`` are passed to the base estimator's ``fit``,
    and ``_scores(X)``. Override ``_score_method()`` if the scores are not those of the base
    estimator, and ``_predict(X)`` if the label sets are not the scores above the cut.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {"estimator": ONE_MODEL}
    _fitted: ClassVar[Declared] = {"base_method_": one_of(*CUTS)}

    def fit(self, X: ArrayLike, y: ArrayLike, **params: Any) -> Self:
        """Learn from instances and their label sets.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d), or data frame
        y : 0/1 matrix of shape (n, q), dense, sparse or a data frame; or 1-D classes
            Probabilities between 0 and 1 are soft labels, learned from weighted copies of the
            instances (see :func:`plurilabel.datasets.soft_copies`).
        **params : dict
            ``sample_weight`` for the base estimator's ``fit``, of shape (n,), or (n, q) for
            learners with ``accepts_unknown_labels``. With ``cv`` also ``groups``: rows of one
            group stay together in every split. If metadata routing is enabled, whatever
            ``estimator`` requests.
        """
        if needs_copies(y, params.get("sample_weight")):
            X, y, params = self._copies(X, y, params)
        checked, Y = self._validate_fit(X, y)
        self._look_at_estimator()
        routed = self._routed(checked, params)
        weights = routed.get("sample_weight")
        # Instances of weight 0 are dropped, unless cv lists splits by row number.
        cv = getattr(self, "cv", None)
        may_drop = cv is None or isinstance(cv, Integral) or hasattr(cv, "split")
        if weights is not None and not weights.all() and may_drop:
            kept = np.flatnonzero(weights)
            routed = rows_of_params(checked, routed, kept)
            checked, Y = checked[kept], Y[kept]
        self._fit(checked, Y, **routed)
        return self

    @property
    def accepts_soft_labels(self) -> bool:
        """Whether ``fit`` takes probabilities for 0 and 1: if ``estimator`` has weights."""
        inner = self.estimator
        nested = isinstance(inner, TransformationClassifier) and inner.accepts_soft_labels
        return nested or has_fit_parameter(inner, "sample_weight")

    def _copies(self, X: Any, y: Any, params: dict[str, Any]) -> tuple[Any, Any, dict[str, Any]]:
        """Replace rows with soft labels by weighted copies, which stay in one fold."""
        if not (self.accepts_soft_labels or get_config()["enable_metadata_routing"]):
            raise ValueError(
                f"soft labels and weights of single labels need a base estimator with "
                f"sample_weight, got {type(self.estimator).__name__}"
            )
        rows, Y, weights = copied_rows(X, y, params.get("sample_weight"), self)
        params = {name: value for name, value in params.items() if name != "sample_weight"}
        n = y.shape[0] if hasattr(y, "shape") else len(y)
        if self._has_splits() and params.get("groups") is None and len(rows) > n:
            params["groups"] = np.arange(n)
        params = {**rows_of_params(X, params, rows), "sample_weight": weights}
        return safe_indexing(X, rows), Y, params

    def _fit_inside(self, *args: Any, **params: Any) -> Self:
        self._look_at_estimator()
        return super()._fit_inside(*args, **params)

    def _look_at_estimator(self) -> None:
        """Remember what validation needs to know: another estimator may be set later."""
        self.base_method_ = score_method(self.estimator)
        self.allow_nan_ = bool(get_tags(self.estimator).input_tags.allow_nan)

    @abstractmethod
    def _fit(self, X: Any, Y: LabelMatrix, **params: Any) -> None: ...

    def _base_method(self) -> str:
        """The method of the (fitted) base estimator that the scores come from."""
        fitted = getattr(self, "base_method_", None)
        return score_method(self.estimator) if fitted is None else fitted

    _score_method = _base_method

    def _routed(self, X: Any, params: dict[str, Any]) -> dict[str, Any]:
        """Validate the parameters of the base estimator's ``fit`` other than X and y."""
        if get_config()["enable_metadata_routing"]:
            found = process_routing(self, "fit", **params)
            routed = dict(found.estimator.fit)
            groups = found.splitter.split.get("groups") if self._has_splits() else None
        else:
            routed = dict(params)
            groups = routed.pop("groups", None) if self._has_splits() else None
            routed = only_weights(routed, self.estimator, taken=_takes_weights(self.estimator))
        if routed.get("sample_weight") is not None:
            routed["sample_weight"] = check_sample_weight(routed["sample_weight"], X)
        return routed if groups is None else {**routed, "groups": groups}

    def _has_splits(self) -> bool:
        return getattr(self, "cv", None) is not None

    def get_metadata_routing(self) -> MetadataRouter:
        """Route metadata of ``fit`` to ``estimator.fit``, and groups to ``cv.split``."""
        router = fit_router(self)
        if not self._has_splits():
            return router
        to_split = MethodMapping().add(caller="fit", callee="split")
        splitter = routed_splitter(getattr(self, "cv", None))
        return router.add(splitter=splitter, method_mapping=to_split)


def only_weights(params: dict[str, Any], estimator: Any, *, taken: bool) -> dict[str, Any]:
    """Parameters of ``fit`` without metadata routing: the weights, if the estimator takes them."""
    given = {name: value for name, value in params.items() if value is not None}
    if others := sorted(given.keys() - {"sample_weight"}):
        raise ValueError(
            f"passing {others} to fit is only supported if metadata routing is enabled: "
            "sklearn.set_config(enable_metadata_routing=True)"
        )
    if given and not taken:
        name = type(estimator).__name__
        raise ValueError(f"sample_weight was passed, but fit of {name} does not accept it")
    return given


def _takes_weights(estimator: Any) -> bool:
    if isinstance(estimator, TransformationClassifier):  # it passes them on
        return _takes_weights(estimator.estimator)
    return bool(has_fit_parameter(estimator, "sample_weight"))
