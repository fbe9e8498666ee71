"""Wrappers: what classifiers around another classifier share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from importlib.util import find_spec
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn import get_config
from sklearn.base import MetaEstimatorMixin, clone
from sklearn.pipeline import Pipeline
from sklearn.utils import Bunch, get_tags, indexable
from sklearn.utils.metadata_routing import UNUSED, MetadataRouter, MethodMapping, process_routing
from sklearn.utils.metaestimators import available_if
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from plurilabel._core.base import (
    CUTS,
    LabelMatrix,
    MultiLabelClassifier,
    check_label_order,
    default_label_names,
    fit_router,
    is_tags,
    tag_matrix,
)
from plurilabel._core.blocks import dense
from plurilabel._core.compat import HasMethods, StrOptions, rows_of_params, safe_indexing
from plurilabel._core.explanation.contributions import Contributions, Explanations
from plurilabel._core.explanation.explain import explain, left_out
from plurilabel._core.fitted import Declared, one_of
from plurilabel._core.scores import score_matrix, score_method
from plurilabel._core.unknown import known_part, takes_soft_labels, takes_unknown_labels
from plurilabel.model_selection.shared import groups_for, routed_splitter, splits_by
from plurilabel.thresholds.shared import Scores


class Wrapper(MetaEstimatorMixin, MultiLabelClassifier):
    """A classifier around another one, ``estimator_``, which computes the scores."""

    estimator: Annotated[
        Any, HasMethods(["fit", "predict_proba"]), HasMethods(["fit", "decision_function"])
    ]
    estimator_: Any

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
    """A wrapper that passes X on unchecked to the wrapped classifier, which validates it.

    Tags, feature names and explanations are those of the wrapped classifier.
    """

    # what an explanation adds up to, if the scores are not those of the wrapped classifier
    _explained: ClassVar[str] = ""

    def explain(
        self, X: Any, *, feature_names: Sequence[str] | None = None, reference: Any = None
    ) -> list[Any]:
        """Explain each label by base and parts of the wrapped classifier's scores.

        Parameters and result are those of :func:`plurilabel.inspection.explain`.
        """
        check_is_fitted(self)
        if (said := left_out(self, X, feature_names)) is not None:
            return said
        found = explain(self.estimator_, X, feature_names=feature_names, reference=reference)
        names = tuple(map(str, self.label_names_))
        if not self._explained:
            fits = (isinstance(e, Contributions) and len(e.scores) == len(names) for e in found)
            named = (replace(e, label_names=names) if fit else e for e, fit in zip(found, fits))
            return Explanations(named)
        scales = (self._explained,) * len(names)
        return Explanations(
            Contributions(
                names, scores, e.base, tuple(e.part_names), e.parts, scales,
                getattr(e, "text", None),
            )
            for e, scores in zip(found, self._validated_scores(X))
        )  # fmt: skip

    def _validate_X(self, X: Any, *, reset: bool) -> Any:
        if X is None:
            raise ValueError(f"{type(self).__name__} requires rows X, got None")
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

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.input_tags = inner.input_tags
        tags.classifier_tags = inner.classifier_tags or tags.classifier_tags
        tags.target_tags.multi_output = inner.target_tags.multi_output
        tags.target_tags.single_output = inner.target_tags.single_output
        return tags


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


def named(matrix: Any, names: Iterable[str]) -> Any:
    """A data frame with these columns if pandas is installed, else the matrix."""
    if find_spec("pandas") is None:
        return matrix
    import pandas as pd

    if sparse.issparse(matrix):
        return pd.DataFrame.sparse.from_spmatrix(matrix, columns=list(names))
    return pd.DataFrame(matrix, columns=list(names))


HeldOut = Callable[[], tuple[Scores, LabelMatrix, NDArray[np.integer]]]


@dataclass(eq=False, repr=False)
class OutOfFoldWrapper(OpenWrapper):
    """Base class of wrappers that learn from out-of-fold scores of the classifier.

    Subclasses have the parameters ``estimator``, ``cv``, ``response_method`` and ``n_jobs``, and
    implement ``_learn``.
    """

    estimator: Any
    _: KW_ONLY
    cv: Annotated[Any, "cv_object", StrOptions({"prefit"})] = 5
    response_method: Annotated[str, StrOptions({"auto", *CUTS})] = "auto"
    n_jobs: int | None = None

    _fitted: ClassVar[Declared] = {"response_method_": one_of(*CUTS)}
    _learns_from_soft = True

    @property
    def accepts_soft_labels(self) -> bool:
        """Whether ``fit`` takes probabilities in place of 0 and 1: if the classifier does."""
        return takes_soft_labels(self.estimator)

    @property
    def accepts_unknown_labels(self) -> bool:
        """Whether ``fit`` takes unknown labels: if the classifier does."""
        return takes_unknown_labels(self.estimator)

    @abstractmethod
    def _learn(self, X: Any, Y: LabelMatrix, held_out: HeldOut) -> None:
        """Learn from what ``held_out()`` returns: scores, labels and the numbers of their rows."""

    # groups are for the splits; whether the classifier wants them, too, is its own request
    __metadata_request__fit: ClassVar[dict[str, Any]] = {"groups": UNUSED}

    def fit(self, X: ArrayLike, y: ArrayLike, *, groups: Any = None, **params: Any) -> Self:
        """Fit the classifier, and learn from its out-of-fold scores.

        Parameters
        ----------
        X : n rows of whatever ``estimator`` accepts
        y : 0/1 matrix of shape (n, q), dense, sparse or a data frame; or 1-D classes
        groups : array-like of shape (n,), default=None
            Rows of one group stay together in every split, here and in ``estimator``.
        **params : dict
            Metadata for ``estimator.fit`` and ``cv.split``, such as ``sample_weight``, by routing.
        """
        if params and not get_config()["enable_metadata_routing"]:
            raise ValueError(
                f"{sorted(params)} require sklearn.set_config(enable_metadata_routing=True)"
            )
        if isinstance(self.cv, str):
            y = self._as_trained(y)
        X, Y = self._validate_fit(X, y)
        self._fit(X, Y, y, self._routed(groups, params))
        return self

    def _routed(self, groups: Any, params: dict[str, Any]) -> Any:
        """Parameters of ``estimator.fit`` and of the splits."""
        if get_config()["enable_metadata_routing"]:
            given = params if groups is None else {**params, "groups": groups}
            return process_routing(self, "fit", **given)
        own = {} if groups is None else {"groups": groups}
        inner = Bunch(fit=groups_for(self.estimator, groups))
        return Bunch(estimator=inner, splitter=Bunch(split=own))

    def _fit(self, X: Any, Y: LabelMatrix, y: Any = None, routed: Any = None) -> None:
        if self.single_output_:
            target = self._targets(Y)
        elif is_tags(y):
            target = named(Y, self.label_names_)
        else:  # as it came, so that the classifier sees the names of a data frame
            target = indexable(y)[0] if hasattr(y, "shape") else np.asarray(y)
        prefit = isinstance(self.cv, str)
        if not prefit:
            self.estimator_ = clone(self.estimator).fit(X, target, **routed.estimator.fit)
        else:
            check_is_fitted(self.estimator)
            self.estimator_ = self.estimator
            known = self.estimator.classes_ if self.single_output_ else self.classes_
            if not np.array_equal(known, self.classes_):
                wanted = f"the classes of the fitted estimator, {known}"
                raise ValueError(f"y must have {wanted}, got {self.classes_}")
        self.response_method_ = self._chosen_method()

        def held_out() -> tuple[Scores, LabelMatrix, NDArray[np.integer]]:
            if prefit:
                return self._estimator_scores(X), Y, np.arange(Y.shape[0])
            splits = splits_by(self.cv, X, Y, **routed.splitter.split)
            scores = self._out_of_fold(X, target, splits, routed.estimator.fit)
            fill_unseen(scores, Y, splits)
            rows = np.concatenate([test for _, test in splits])
            return scores, Y[rows], rows

        self._learn(X, Y, held_out)

    def _out_of_fold(self, X: Any, y: Any, splits: list[Any], fit_params: Any) -> Scores:
        """Scores of the test rows of each split, by a clone trained on its training rows."""
        # Splits may overlap or leave rows out.
        # no self in the closure: worker processes would get the fitted classifier with it
        estimator, method, columns = self.estimator, self.response_method_, self._columns()

        def score(train: NDArray[np.integer], test: NDArray[np.integer]) -> Scores:
            params = rows_of_params(X, fit_params, train)
            fold = safe_indexing(X, train), safe_indexing(y, train)
            model = clone(estimator).fit(*fold, **params)
            return scores_of(model, safe_indexing(X, test), method, **columns)

        parallel = Parallel(n_jobs=self.n_jobs)
        return np.concatenate(parallel(delayed(score)(train, test) for train, test in splits))

    def _as_trained(self, y: Any) -> Any:
        """Labels in the columns of a classifier that is fitted already, by their names."""
        last = self.estimator[-1] if isinstance(self.estimator, Pipeline) else self.estimator
        names = getattr(last, "label_names_", None)
        if names is None:
            return y
        if is_tags(y):
            return named(tag_matrix(y, [str(name) for name in names])[0], names)
        check_label_order(y, names)
        return y

    def _columns(self) -> dict[str, Any]:
        """The columns of the scores: labels, or the classes of a 1-D y."""
        classes = self.classes_ if self.single_output_ else None
        return {"n_labels": self.n_labels_, "classes": classes}

    def _chosen_method(self) -> str:
        if self.response_method == "auto":
            return score_method(self.estimator_)
        if not hasattr(self.estimator_, self.response_method):
            raise ValueError(
                f"response_method must be a method of estimator, but "
                f"{type(self.estimator_).__name__} has no {self.response_method}"
            )
        return self.response_method

    def _estimator_scores(self, X: Any) -> Scores:
        return scores_of(self.estimator_, X, self.response_method_, **self._columns())

    def get_metadata_routing(self) -> MetadataRouter:
        """Metadata passed to ``fit`` goes to ``estimator.fit`` and ``cv.split``."""
        to_split = MethodMapping().add(caller="fit", callee="split")
        return fit_router(self).add(splitter=routed_splitter(self.cv), method_mapping=to_split)


def fill_unseen(scores: Scores, Y: LabelMatrix, splits: Sequence[Any]) -> None:
    """Replace the scores of models whose training rows all have, or all lack, a label."""
    # Such scores are often far from those of the final model: the only instance with a label would
    # get the lowest score of all. They become the median of the scores of the other models.
    filled, unknown = known_part(Y)
    hidden = None if unknown is None else dense(unknown)
    unseen = np.zeros(scores.shape, dtype=bool)
    ends = np.cumsum([len(test) for _, test in splits])
    for (train, test), end in zip(splits, ends):
        positives = np.asarray(filled[train].sum(axis=0)).ravel()
        known = len(train) - (0 if hidden is None else hidden[train].sum(axis=0))
        unseen[end - len(test) : end] = (positives == 0) | (positives == known)
    for j in np.flatnonzero(unseen.any(axis=0) & ~unseen.all(axis=0)):
        scores[unseen[:, j], j] = np.median(scores[~unseen[:, j], j])


def scores_of(
    estimator: Any, X: Any, method: str, *, n_labels: int, classes: NDArray[Any] | None
) -> Scores:
    """Scores (n, q) of a fitted classifier's ``method``."""
    # For a 1-D y, ``classes`` are all classes; one that this classifier has not seen gets the
    # lowest of its scores, or a probability of 0.
    output, seen = getattr(estimator, method)(X), getattr(estimator, "classes_", None)
    scores: Any
    if classes is None:
        scores = score_matrix(output, classes=seen, n_labels=n_labels)
    else:
        scores = np.asarray(output)
        if scores.ndim == 1:  # two classes, positive for the second
            scores = np.column_stack([-scores, scores])
        if len(seen) < len(classes):  # type: ignore[arg-type]
            lowest, found = 0.0 if method == "predict_proba" else scores.min(), scores
            scores = np.full((len(found), len(classes)), lowest)
            scores[:, np.searchsorted(classes, seen)] = found  # type: ignore[arg-type]
    name = f"{method} of {type(estimator).__name__}"
    if sparse.issparse(scores):
        raise TypeError(f"estimator must return dense scores, but {name} returned a sparse matrix")
    if scores.shape[1] != n_labels:
        raise ValueError(
            f"estimator must score all {n_labels} labels, but {name} returned {scores.shape[1]}"
        )
    return scores
