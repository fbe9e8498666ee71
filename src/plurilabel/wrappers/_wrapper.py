"""What wrappers share that learn from out-of-fold scores of any classifier."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib.util import find_spec
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn import get_config
from sklearn.base import MetaEstimatorMixin, clone
from sklearn.model_selection import check_cv
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags, indexable
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.validation import check_is_fitted

from plurilabel._core.base import (
    CUTS,
    LabelMatrix,
    MultiLabelClassifier,
    check_label_order,
    is_tags,
    tag_matrix,
)
from plurilabel._core.compat import HasMethods, StrOptions
from plurilabel._core.explanation.contributions import Contributions
from plurilabel._core.explanation.explain import explain
from plurilabel._core.fitted import Declared, one_of
from plurilabel._core.scores import score_method
from plurilabel._core.unknown import takes_missing_labels
from plurilabel.model_selection import IterativeStratifiedKFold
from plurilabel.thresholds.shared import Scores, out_of_fold_scores, scores_of


class ScoreWrapper(MetaEstimatorMixin, MultiLabelClassifier):
    """A classifier, fitted on all data, and something learned from its out-of-fold scores.

    Subclasses have the parameters ``estimator``, ``cv``, ``response_method`` and ``n_jobs``, and
    write ``_learn``.
    """

    estimator: Any
    cv: Any
    response_method: str
    n_jobs: int | None

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "estimator": [
            HasMethods(["fit", "predict_proba"]),
            HasMethods(["fit", "decision_function"]),
        ],
        "cv": ["cv_object", StrOptions({"prefit"})],
        "response_method": [StrOptions({"auto", "predict_proba", "decision_function"})],
        "n_jobs": [None, Integral],
    }
    _fitted: ClassVar[Declared] = {"response_method_": one_of(*CUTS)}

    @property
    def accepts_missing_labels(self) -> bool:
        """Whether ``fit`` takes labels that are not known: where the classifier does."""
        return takes_missing_labels(self.estimator)

    @abstractmethod
    def _learn(self, Y: LabelMatrix, held_out: Callable[[], tuple[Scores, LabelMatrix]]) -> None:
        """Learn from the labels, and from the scores and labels that ``held_out()`` returns."""

    def fit(self, X: ArrayLike, y: ArrayLike, **params: Any) -> Self:
        """Fit the classifier, and learn from its out-of-fold scores.

        Parameters
        ----------
        X : n rows of whatever ``estimator`` accepts
        y : 0/1 matrix of shape (n, q), dense, sparse or a data frame; or 1-D classes
        **params : dict
            Metadata for ``estimator.fit`` and ``cv.split``, such as ``sample_weight`` and
            ``groups``, passed on by scikit-learn's metadata routing.

        Returns
        -------
        self
        """
        if params and not get_config()["enable_metadata_routing"]:
            raise ValueError(
                f"{sorted(params)} can only be passed to fit with "
                "sklearn.set_config(enable_metadata_routing=True)"
            )
        if isinstance(self.cv, str):
            y = self._as_trained(y)
        X, Y = self._validate_fit(X, y)
        self._fit(X, Y, y, process_routing(self, "fit", **params))
        return self

    def _fit(self, X: Any, Y: LabelMatrix, y: Any = None, routed: Any = None) -> None:
        if self.single_output_:
            target = self.classes_[Y.argmax(axis=1)]
        elif is_tags(y):
            target = _named(Y, self.label_names_)
        else:  # as it came, so that the classifier sees the names of a data frame
            target = indexable(y)[0] if hasattr(y, "shape") else np.asarray(y)
        prefit = isinstance(self.cv, str)
        if prefit:
            self.estimator_ = self._checked_prefit()
        else:
            self.estimator_ = clone(self.estimator).fit(X, target, **routed.estimator.fit)
        self.response_method_ = self._asked_method()

        def held_out() -> tuple[Scores, LabelMatrix]:
            if prefit:
                return self._estimator_scores(X), Y
            scores, rows = out_of_fold_scores(
                self.estimator,
                X,
                target,
                self._splitter(Y.shape[0]).split(X, Y, **routed.splitter.split),
                self.response_method_,
                fit_params=routed.estimator.fit,
                n_jobs=self.n_jobs,
                **self._targets(),
            )
            return scores, Y[rows]

        self._learn(Y, held_out)

    def _as_trained(self, y: Any) -> Any:
        """Labels in the columns of a classifier that is fitted already, by their names."""
        last = self.estimator[-1] if isinstance(self.estimator, Pipeline) else self.estimator
        names = getattr(last, "label_names_", None)
        if names is None:
            return y
        if is_tags(y):
            return _named(tag_matrix(y, [str(name) for name in names])[0], names)
        check_label_order(y, names)
        return y

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
            Of the scores of the wrapped classifier, before anything is made of them.
        """
        check_is_fitted(self)
        found = explain(self.estimator_, X, feature_names=feature_names, reference=reference)
        ours = tuple(map(str, self.label_names_))
        return [
            replace(one, label_names=ours) if isinstance(one, Contributions) else one
            for one in found
        ]

    def _checked_prefit(self) -> Any:
        check_is_fitted(self.estimator)
        if self.single_output_ and not np.array_equal(self.estimator.classes_, self.classes_):
            raise ValueError(
                f"y must have the classes that estimator was trained on, "
                f"{self.estimator.classes_}, got {self.classes_}"
            )
        return self.estimator

    def _targets(self) -> dict[str, Any]:
        """What the columns of the scores stand for: labels, or the classes of a 1-D y."""
        return {
            "n_labels": self.n_labels_,
            "classes": self.classes_ if self.single_output_ else None,
        }

    def _validate_X(self, X: Any, *, reset: bool) -> Any:
        return indexable(X)[0] if reset else X

    def _splitter(self, n: int) -> Any:
        if self.cv is not None and not isinstance(self.cv, Integral):
            return check_cv(self.cv)
        folds = 5 if self.cv is None else int(self.cv)
        if folds > n:
            raise ValueError(f"cv must be at most n_samples={n}, the number of rows, got {folds}")
        return IterativeStratifiedKFold(folds)

    def _asked_method(self) -> str:
        if self.response_method == "auto":
            return score_method(self.estimator_)
        if not hasattr(self.estimator_, self.response_method):
            raise ValueError(
                f"response_method must be a method of estimator, but "
                f"{type(self.estimator_).__name__} has no {self.response_method}"
            )
        return self.response_method

    def _estimator_scores(self, X: Any) -> Scores:
        return scores_of(self.estimator_, X, self.response_method_, **self._targets())

    @property
    def n_features_in_(self) -> int:
        """Number of features seen by the classifier."""
        return self.estimator_.n_features_in_

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        """Names of the features seen by the classifier."""
        return self.estimator_.feature_names_in_

    def get_metadata_routing(self) -> MetadataRouter:
        """Metadata passed to ``fit`` goes to ``estimator.fit`` and ``cv.split``."""
        router = MetadataRouter(owner=type(self).__name__)
        to_fit = MethodMapping().add(caller="fit", callee="fit")
        to_split = MethodMapping().add(caller="fit", callee="split")
        router.add(estimator=self.estimator, method_mapping=to_fit)
        return router.add(splitter=self.cv, method_mapping=to_split)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.input_tags = inner.input_tags
        tags.classifier_tags = inner.classifier_tags or tags.classifier_tags
        tags.target_tags.multi_output = inner.target_tags.multi_output
        tags.target_tags.single_output = inner.target_tags.single_output
        tags.non_deterministic = inner.non_deterministic
        return tags


def _named(Y: LabelMatrix, names: Any) -> Any:
    """A label matrix with the names of its columns, where pandas is there to hold them."""
    if find_spec("pandas") is None:
        return Y
    import pandas as pd

    return pd.DataFrame(Y, columns=list(names))
