"""ThresholdClassifier: the scores of any classifier, cut by any strategy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from importlib.util import find_spec
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn import get_config
from sklearn.base import MetaEstimatorMixin, clone
from sklearn.model_selection import check_cv
from sklearn.utils import get_tags, indexable
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from plurilabel._compat import HasMethods, StrOptions
from plurilabel._fitted import Declared, one_of, parameter
from plurilabel.base import CUTS, LabelMatrix, MultiLabelClassifier, is_tags
from plurilabel.explanation import Contributions, explain
from plurilabel.metrics import score_method
from plurilabel.model_selection import IterativeStratifiedKFold
from plurilabel.thresholds._base import Scores, never_empty
from plurilabel.thresholds._crossfit import out_of_fold_scores, scores_of
from plurilabel.thresholds._strategies import STRATEGIES, get_strategy


def _scores_by(method: str) -> Any:
    """Decorator: the method exists only if the wrapped classifier has it."""

    def check(self: ThresholdClassifier) -> bool:
        getattr(getattr(self, "estimator_", self.estimator), method)
        return True

    return available_if(check)


class ThresholdClassifier(MetaEstimatorMixin, MultiLabelClassifier):
    """Turn the scores of any classifier into label sets by a strategy that is learned from data.

    The classifier is trained on all data. The strategy is learned from out-of-fold scores: clones
    of the classifier, each trained on a part of the data, score the rest.

    Parameters
    ----------
    estimator : classifier
        With ``predict_proba`` or ``decision_function``: a learner of this library, or one of
        scikit-learn that accepts label matrices.
    strategy : str or object with ``fit(scores, Y)`` and ``predict(scores)``, default="cardinality"
        ``"constant"``, ``"cardinality"``, ``"linear"``, ``"scut"``, ``"global"``, ``"rcut"``,
        ``"pcut"``, ``"mcut"``, ``"expected_f"``, ``"metalabeler"``, ``"seen_sets"``, or an
        instance of one of the classes with these names (:func:`get_strategy`) and other
        parameters.
    cv : int, cross-validation splitter, iterable of splits, or "prefit", default=5
        How the out-of-fold scores are computed. An int is a number of stratified folds
        (:class:`~plurilabel.model_selection.IterativeStratifiedKFold`); None stands for 5.
        With ``"prefit"``, ``estimator`` is already fitted and remains unchanged; ``fit`` only
        learns the strategy, and should get data that the classifier has not seen.
    response_method : {"auto", "predict_proba", "decision_function"}, default="auto"
        Where the scores come from; ``"auto"`` prefers ``predict_proba``.
    nonempty : bool, default=False
        Whether an empty prediction is replaced by the label with the highest score (the
        T-criterion).
    n_jobs : int, default=None
        Number of folds processed in parallel.

    Attributes
    ----------
    estimator_ : classifier
        The classifier, fitted on all data.
    strategy_ : strategy
        The fitted strategy, with the learned cuts.
    classes_, label_names_, n_labels_
        As for all learners.
    n_features_in_, feature_names_in_
        Only if ``estimator_`` has them.

    Notes
    -----
    For a 1-D y, scores are cut class by class; ``predict`` returns the class with the highest
    score among those above their cut, or among all classes if there is none.

    No folds are needed for strategies that do not learn from scores: ``"constant"``, ``"rcut"``,
    ``"pcut"``, ``"mcut"``, ``"expected_f"`` and ``"seen_sets"``.

    See Also
    --------
    sklearn.model_selection.TunedThresholdClassifierCV : The same for a single label.

    Examples
    --------
    Eight labels, some of them rare. The neighbours of an instance seldom agree on a rare label;
    with a separate cut for each label, many more are found:

    >>> from sklearn.datasets import make_multilabel_classification
    >>> from sklearn.model_selection import train_test_split
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from plurilabel.metrics import macro_f1
    >>> from plurilabel.thresholds import SCut, ThresholdClassifier
    >>> X, Y = make_multilabel_classification(
    ...     n_samples=600, n_classes=8, n_labels=2, random_state=0)
    >>> X_train, X_test, Y_train, Y_test = train_test_split(X, Y, random_state=0)
    >>> knn = KNeighborsClassifier(10).fit(X_train, Y_train)
    >>> tuned = ThresholdClassifier(KNeighborsClassifier(10), SCut("f1")).fit(X_train, Y_train)
    >>> round(macro_f1(Y_test, knn.predict(X_test)), 2)
    0.35
    >>> round(macro_f1(Y_test, tuned.predict(X_test)), 2)
    0.54
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "estimator": [
            HasMethods(["fit", "predict_proba"]),
            HasMethods(["fit", "decision_function"]),
        ],
        "strategy": [StrOptions(set(STRATEGIES)), HasMethods(["fit", "predict"])],
        "cv": ["cv_object", StrOptions({"prefit"})],
        "response_method": [StrOptions({"auto", "predict_proba", "decision_function"})],
        "nonempty": ["boolean"],
        "n_jobs": [None, Integral],
    }
    _fitted: ClassVar[Declared] = {"response_method_": one_of(*CUTS), "nonempty_": parameter()}

    def __init__(
        self,
        estimator: Any,
        strategy: Any = "cardinality",
        *,
        cv: Any = 5,
        response_method: str = "auto",
        nonempty: bool = False,
        n_jobs: int | None = None,
    ):
        self.estimator = estimator
        self.strategy = strategy
        self.cv = cv
        self.response_method = response_method
        self.nonempty = nonempty
        self.n_jobs = n_jobs

    def fit(self, X: ArrayLike, y: ArrayLike, **params: Any) -> Self:
        """Fit the classifier, and learn the strategy from out-of-fold scores.

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
        X, Y = self._validate_fit(X, y)
        self._fit(X, Y, y, process_routing(self, "fit", **params))
        return self

    def _fit(self, X: Any, Y: LabelMatrix, y: Any = None, routed: Any = None) -> None:
        if self.single_output_:
            target = self.classes_[Y.argmax(axis=1)]
        elif is_tags(y):
            target = self._named(Y)
        else:  # as it came, so that the classifier sees the names of a data frame
            target = indexable(y)[0] if hasattr(y, "shape") else np.asarray(y)
        prefit = isinstance(self.cv, str)
        if prefit:
            self.estimator_ = self._checked_prefit()
        else:
            self.estimator_ = clone(self.estimator).fit(X, target, **routed.estimator.fit)
        self.response_method_ = self._asked_method()
        self.nonempty_ = self.nonempty
        strategy = self._unfitted_strategy()
        if not getattr(strategy, "learns_from_scores", lambda: True)():
            scores = None
        elif prefit:
            scores = self._scores(X)
        else:
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
            Y = Y[rows]
        self.strategy_ = strategy.fit(scores, Y)

    def _named(self, Y: LabelMatrix) -> Any:
        """A label matrix with the names of its columns, where pandas is there to hold them."""
        if find_spec("pandas") is None:
            return Y
        import pandas as pd

        return pd.DataFrame(Y, columns=list(self.label_names_))

    def _checked_prefit(self) -> Any:
        check_is_fitted(self.estimator)
        if self.single_output_ and not np.array_equal(self.estimator.classes_, self.classes_):
            raise ValueError(
                f"y must have the classes that estimator was trained on, "
                f"{self.estimator.classes_}, got {self.classes_}"
            )
        return self.estimator

    def _unfitted_strategy(self) -> Any:
        if isinstance(self.strategy, str):
            probabilities = self.response_method_ == "predict_proba"
            return get_strategy(self.strategy, probabilities=probabilities)
        return clone(self.strategy)

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

    def _score_method(self) -> str:
        return self.response_method_

    def _asked_method(self) -> str:
        if self.response_method == "auto":
            return score_method(self.estimator_)
        if not hasattr(self.estimator_, self.response_method):
            raise ValueError(
                f"response_method must be a method of estimator, but "
                f"{type(self.estimator_).__name__} has no {self.response_method}"
            )
        return self.response_method

    def _scores(self, X: Any) -> Scores:
        return scores_of(self.estimator_, X, self.response_method_, **self._targets())

    def predict(self, X: ArrayLike) -> NDArray[Any] | sparse.csr_array:
        """Predict label sets by the strategy.

        Returns
        -------
        0/1 matrix of shape (n, q), CSR if the labels given to ``fit`` were sparse;
        classes of shape (n,) if they were 1-D.
        """
        scores = self._validated_scores(X)
        labels = self.strategy_.predict(scores)
        if self.single_output_:
            chosen = np.where(never_empty(labels, scores) == 1, scores, -np.inf)
            return self.classes_[chosen.argmax(axis=1)]
        return never_empty(labels, scores) if self.nonempty_ else labels

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
        X, feature_names, reference : as in :func:`plurilabel.explanation.explain`

        Returns
        -------
        list of explanations, one for each row of X
            Of the scores, before they are cut.
        """
        check_is_fitted(self)
        found = explain(self.estimator_, X, feature_names=feature_names, reference=reference)
        ours = tuple(map(str, self.label_names_))
        return [
            replace(one, label_names=ours) if isinstance(one, Contributions) else one
            for one in found
        ]

    @_scores_by("predict_proba")
    def predict_proba(self, X: ArrayLike) -> Scores:
        """Probabilities of the labels, from the wrapped classifier.

        Returns
        -------
        ndarray of shape (n, q)
            Column l is P(label l | x), even if the classifier returns a list of arrays.
        """
        check_is_fitted(self)
        return scores_of(self.estimator_, X, "predict_proba", **self._targets())

    @_scores_by("decision_function")
    def decision_function(self, X: ArrayLike) -> Scores:
        """Scores of the labels, from the wrapped classifier.

        Returns
        -------
        ndarray of shape (n, q)
            For a 1-D y, what the classifier returns: shape (n,) if there are two classes.
        """
        check_is_fitted(self)
        if self.single_output_:
            return self.estimator_.decision_function(X)
        return scores_of(self.estimator_, X, "decision_function", **self._targets())

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
