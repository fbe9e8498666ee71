"""HierarchicalClassifier: predictions that are consistent with a hierarchy of labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn import get_config
from sklearn.base import MetaEstimatorMixin, clone
from sklearn.pipeline import Pipeline
from sklearn.utils.metadata_routing import MetadataRouter, process_routing
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from plurilabel._core.base import (
    LabelMatrix,
    ProbabilisticClassifier,
    ScoringClassifier,
    fit_router,
)
from plurilabel._core.blocks import dense
from plurilabel._core.compat import StrOptions
from plurilabel._core.data.hierarchy import METHODS, Hierarchy
from plurilabel._core.fitted import Declared, places
from plurilabel.wrappers._threshold import ThresholdClassifier
from plurilabel.wrappers._wrapper import OpenWrapper


@dataclass(eq=False, repr=False)
class HierarchicalClassifier(OpenWrapper, ProbabilisticClassifier, ScoringClassifier):
    """Make the predictions of any classifier consistent with a hierarchy of labels.

    In training, label sets are completed: an instance that has a label has all labels above it.
    In prediction, scores are changed as little as possible so that no label scores above its
    parents: with every predicted label, those above it are predicted.

    Parameters
    ----------
    estimator : classifier
        With ``predict_proba`` or ``decision_function``, for label matrices.
    parents : Hierarchy, mapping, pairs or data frame, default=None
        A hierarchy, such as that of a :class:`~plurilabel.datasets.Dataset`; or the parent of each
        label, or a list of several, by name or number; see :class:`Hierarchy`. None: taken from
        the names of the labels, ``sports/football`` is below ``sports``.
    sep : str, default="/"
        Separator of the parts of a name, if ``parents`` is None.
    method : {"isotonic", "max", "min"}, default="isotonic"
        "isotonic": the nearest consistent scores, in squares: child and parent meet halfway.
        "max": a parent has at least the highest score below it, no label loses. "min": a child
        has at most the lowest score above it, no label gains.

    Attributes
    ----------
    estimator_ : classifier
        The fitted classifier.
    edges_ : ndarray of shape (m, 2)
        The numbers of child and parent.
    n_completed_ : int
        Training instances whose label sets were completed.

    Notes
    -----
    Label names come from the columns of a data frame y. Around a :class:`ThresholdClassifier` or
    an :class:`AutoClassifier` the label sets that it predicts are completed upwards.

    The alternative, products P(child) = P(child | parent) P(parent), needs models trained on the
    instances of the parent only, and multiplies the errors of all levels.

    The default, "isotonic", favors neither side; :doc:`/guides/hierarchies` compares the methods.

    References
    ----------
    G. Obozinski, G. Lanckriet, C. Grant, M. I. Jordan, W. S. Noble. Consistent probabilistic
    outputs for protein function prediction. Genome Biology 9, 2008. R. L. Dykstra. An algorithm
    for restricted least squares regression. JASA 78, 1983.

    Examples
    --------
    >>> import pandas as pd
    >>> from sklearn.linear_model import LogisticRegression
    >>> from plurilabel import BinaryRelevance, HierarchicalClassifier
    >>> X = [[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]]
    >>> Y = pd.DataFrame({"animal": [0, 0, 1, 1, 1, 0], "animal/cat": [0, 0, 0, 0, 1, 1]})
    >>> plain = BinaryRelevance(LogisticRegression()).fit(X, Y)
    >>> plain.predict_proba([[5.0]]).round(2)
    array([[0.67, 0.82]])
    >>> learner = HierarchicalClassifier(BinaryRelevance(LogisticRegression())).fit(X, Y)
    >>> learner.n_completed_  # the last cat is an animal, too
    1
    >>> bool((learner.predict_proba(X)[:, 1] <= learner.predict_proba(X)[:, 0]).all())
    True
    """

    _fitted: ClassVar[Declared] = {"edges_": places("m", 2, below="n_labels_")}

    estimator: Any
    parents: Annotated[Any, Hierarchy, Mapping, "array-like", None] = None
    _: KW_ONLY
    sep: Annotated[str, str] = "/"
    method: Annotated[str, StrOptions(set(METHODS))] = "isotonic"

    def fit(self, X: ArrayLike, y: ArrayLike, **params: Any) -> Self:
        """Complete the label sets, and fit the classifier to them.

        Parameters
        ----------
        X : n rows of whatever ``estimator`` accepts
        y : 0/1 matrix of shape (n, q), dense, sparse or a data frame
            A data frame gives the labels their names.
        **params : dict
            ``sample_weight`` or ``groups`` for ``fit``, if it accepts them; under metadata routing
            whatever it requests.
        """
        X, Y = self._validate_fit(X, y)
        if get_config()["enable_metadata_routing"]:
            routed = dict(process_routing(self, "fit", **params).estimator.fit)
        else:
            routed = {name: value for name, value in params.items() if value is not None}
            for name in routed:
                if not (name in ("sample_weight", "groups") and _takes(self.estimator, name)):
                    fit = f"fit of {type(self.estimator).__name__}"
                    raise ValueError(f"{name} was passed, but {fit} does not accept it")
        self._fit(X, Y, **routed)
        return self

    def _fit(self, X: Any, Y: LabelMatrix, **params: Any) -> None:
        if self.single_output_:
            raise ValueError("y must be a label matrix, got a 1-D y with one class per instance")
        hierarchy = Hierarchy.of(self.label_names_, self.parents, sep=self.sep)
        self.edges_, self.method_ = hierarchy.edges, self.method
        closed = hierarchy.close(Y)
        self.n_completed_ = int(((closed - Y).sum(axis=1) > 0).sum())
        self.estimator_ = clone(self.estimator).fit(X, self._named_targets(closed), **params)

    @property
    def hierarchy_(self) -> Hierarchy:
        """The labels and what is above them."""
        check_is_fitted(self)
        return Hierarchy.from_edges(self.label_names_, self.edges_)

    def _scores(self, X: Any) -> NDArray[np.float64]:
        return self.hierarchy_.consistent(super()._scores(X), self.method_)

    def _predict(self, X: Any) -> Any:
        if _cuts(self.estimator_):
            return dense(self.hierarchy_.close(self.estimator_.predict(X)))
        return super()._predict(X)

    def get_metadata_routing(self) -> MetadataRouter:
        """Where ``fit`` sends metadata: to ``estimator.fit``."""
        return fit_router(self)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.single_output = False
        return tags


def _takes(estimator: Any, name: str) -> bool:
    """Whether ``fit`` takes a parameter such as weights, itself or for an estimator inside."""
    if isinstance(estimator, MetaEstimatorMixin) and hasattr(estimator, "estimator"):
        return _takes(estimator.estimator, name)
    return bool(has_fit_parameter(estimator, name))


def _cuts(estimator: Any) -> bool:
    """Whether label sets come from a cut: at the end of a pipeline, or inside wrappers."""
    while estimator is not None:
        if isinstance(estimator, Pipeline):
            estimator = estimator[-1]
        elif isinstance(estimator, ThresholdClassifier) or hasattr(estimator, "cut_"):
            return True  # a threshold that was fitted, also by AutoClassifier
        else:
            estimator = getattr(estimator, "estimator_", None)
    return False
