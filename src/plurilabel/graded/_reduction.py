"""What the three reductions share: which cut sets are learned together."""

from __future__ import annotations

from abc import abstractmethod
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn import get_config
from sklearn.base import MetaEstimatorMixin, clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.parallel import Parallel, delayed

from plurilabel._core.base import MultiLabelClassifier, validate_features
from plurilabel._core.blocks import dense
from plurilabel._core.compat import HasMethods
from plurilabel._core.fitted import Declared, flag, values
from plurilabel.graded._base import GRADED, GradedClassifier
from plurilabel.learners.transformation import StackedRelevance, TransformationClassifier


class Reduction(MetaEstimatorMixin, GradedClassifier):
    """Grades by multi-label problems: the cut sets, split into problems in one way or another.

    The cuts of q labels with m grades are a table of q times m - 1 questions for each instance,
    "has label l at least grade g?". A reduction says which of them make one multi-label problem:

    ``_split(cuts)``
        a list of 0/1 matrices (n, questions).
    ``_join(parts)``
        the same way back: probabilities (n, questions) of each problem to (n, q, m - 1).
    ``_around(classifier)``
        the multi-label learner that is put around a classifier of one label.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "estimator": [HasMethods(["fit", "predict"])],
        **GRADED,
        "n_jobs": [None, Integral],
    }

    _fitted: ClassVar[Declared] = {
        "estimators_": values(None, optional=True),  # none are needed for a single grade
        "allow_nan_": flag(),
    }

    estimator: Any
    n_jobs: int | None

    def __init__(
        self,
        estimator: Any,
        *,
        grades: Any = None,
        decision: str = "median",
        n_jobs: int | None = None,
    ):
        self.estimator = estimator
        self.grades = grades
        self.decision = decision
        self.n_jobs = n_jobs

    def fit(self, X: ArrayLike, y: ArrayLike, **params: Any) -> Self:
        """Learn from instances and the grades of their labels.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d), or data frame
        y : grades of shape (n, q)
            Integers, ordered categories (the columns of a data frame), or whatever is in the
            parameter ``grades``. 1-D for a single label.
        **params : dict
            ``sample_weight`` for the estimator's ``fit``. Under
            ``sklearn.set_config(enable_metadata_routing=True)`` whatever ``estimator`` requests.

        Returns
        -------
        self
        """
        X, cuts = self._validate_fit(X, y)
        self.allow_nan_ = bool(get_tags(self.estimator).input_tags.allow_nan)
        if cuts.shape[2]:
            self._fit(X, cuts, **self._routed(params))
        return self

    def _fit(self, X: Any, cuts: NDArray[np.int8], **params: Any) -> None:
        learner = self._learner()
        self.estimators_ = Parallel(n_jobs=self.n_jobs, prefer="threads")(
            delayed(_fit_one)(learner, X, Y, params) for Y in self._split(cuts)
        )

    def _learner(self) -> Any:
        return self.estimator if is_multilabel(self.estimator) else self._around(self.estimator)

    def _routed(self, params: dict[str, Any]) -> dict[str, Any]:
        """What goes to the learner's ``fit`` beside X and y."""
        if get_config()["enable_metadata_routing"]:
            return dict(process_routing(self, "fit", **params).estimator.fit)
        given = {name: value for name, value in params.items() if value is not None}
        if others := sorted(given.keys() - {"sample_weight"}):
            raise ValueError(
                f"passing {others} to fit is only supported if metadata routing is enabled: "
                "sklearn.set_config(enable_metadata_routing=True)"
            )
        if given and not isinstance(self._learner(), TransformationClassifier):
            raise ValueError(
                f"sample_weight was passed, but fit of {type(self.estimator).__name__} "
                "does not accept it"
            )
        return given

    def get_metadata_routing(self) -> MetadataRouter:
        """Where ``fit`` sends metadata: to ``estimator.fit``."""
        return MetadataRouter(owner=type(self).__name__).add(
            estimator=self.estimator,
            method_mapping=MethodMapping().add(caller="fit", callee="fit"),
        )

    def _cumulative(self, X: Any) -> NDArray[np.floating]:
        parts = Parallel(n_jobs=self.n_jobs, prefer="threads")(
            delayed(_probabilities)(model, X) for model in self.estimators_
        )
        return self._join(parts)

    @abstractmethod
    def _split(self, cuts: NDArray[np.int8]) -> list[NDArray[np.int8]]: ...

    @abstractmethod
    def _join(self, parts: list[NDArray[np.floating]]) -> NDArray[np.floating]: ...

    @abstractmethod
    def _around(self, classifier: Any) -> MultiLabelClassifier: ...

    def _validate_X(self, X: Any, *, reset: bool) -> Any:
        allow_nan = get_tags(self.estimator).input_tags.allow_nan if reset else self.allow_nan_
        finite = "allow-nan" if allow_nan else True
        return validate_features(self, X, reset=reset, order="C", ensure_all_finite=finite)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.input_tags.sparse = inner.input_tags.sparse
        tags.input_tags.allow_nan = inner.input_tags.allow_nan
        tags.non_deterministic = inner.non_deterministic
        return tags


def is_multilabel(estimator: Any) -> bool:
    """Whether an estimator is a multi-label learner of the library, or a pipeline to one."""
    if isinstance(estimator, Pipeline):
        return is_multilabel(estimator.steps[-1][1])
    return isinstance(estimator, MultiLabelClassifier)


def stacked(classifier: Any) -> StackedRelevance:
    """Around a classifier of one label: a second layer that sees its scores for all labels."""
    final = LogisticRegression(max_iter=1000)
    return StackedRelevance(classifier, final_estimator=final, passthrough=False)


def _fit_one(learner: Any, X: Any, Y: NDArray[np.int8], params: dict[str, Any]) -> Any:
    return clone(learner).fit(X, Y, **params)


def _probabilities(model: Any, X: Any) -> NDArray[np.floating]:
    """Of each question; the label sets, as 0 and 1, where a learner has no probabilities."""
    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(X))
    return dense(model.predict(X)).astype(np.float64)
