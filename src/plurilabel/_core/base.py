"""The contract of a learner.

A learner implements two hooks that trust what they get:

``_fit(X, Y)``
    X is float64 or float32, dense or CSR; Y is 0/1 in int8, dense or CSR. A learner with
    ``_learns_from_soft`` gets float64 if some labels are probabilities between 0 and 1.
``_scores(X)``
    returns an array (n, q), one score for each label.

Everything a user may pass (lists, data frames, booleans, a 1-D y, sparse labels) is converted to
this form once, here.

Scores are probabilities (:class:`ProbabilisticClassifier`) or decision values
(:class:`ScoringClassifier`). A learner that can have either, such as one whose scores come from a
base estimator, derives from both and overrides ``_score_method()``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import cache, wraps
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.utils import assert_all_finite, get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
    has_fit_parameter,
    validate_data,
)

from plurilabel._core.blocks import (
    canonical,
    dense,
    huge_numbers,
    naming_text,
    on_host,
    refuse_dates,
    refuse_masked,
    short_indices,
)
from plurilabel._core.compat import all_constraints, check_params, check_sample_weight
from plurilabel._core.explanation.contributions import (
    Explanations,
    Given,
    Parts,
    checked_given,
    occlusion,
)
from plurilabel._core.fitted import Declared, count, flag, values
from plurilabel._core.labels import (
    LabelMatrix,
    NumberedNames,
    check_label_order,
    check_labels,
    check_scores,
    column_names,
    default_feature_names,
    default_label_names,
    is_tags,
    names_or_default,
    one_class_each,
    one_hot,
    sparse_or_as_is,
    tag_matrix,
)
from plurilabel._core.soft import expanded, is_soft, soft_or_hard
from plurilabel._core.unknown import UnknownLabels, known_part
from plurilabel._core.words import FRACTIONS, check_unicode

__all__ = [
    "CUTS", "AllOrNothing", "AroundEstimator", "LabelMatrix", "MultiLabelClassifier",
    "NumberedNames", "ProbabilisticClassifier", "ScoringClassifier", "WeightedFit", "check_labels",
    "check_scores", "column_names", "default_label_names", "fit_router", "is_tags",
    "names_or_default", "refuse_masked", "tag_matrix", "validate_features",
]  # fmt: skip

CUTS = {"predict_proba": 0.5, "decision_function": 0.0}
"""The score above which a label is predicted, by the method that gives the scores."""


def validate_features(estimator: Any, X: Any, *, reset: bool, **form: Any) -> Any:
    """Validate X with scikit-learn's ``validate_data``, to which ``form`` is passed."""
    # By default X is float64 or float32, dense or CSR. Arrays of torch, JAX or CuPy become numpy
    # arrays. Masked values and dates are refused. Duplicate entries of a sparse matrix are summed,
    # in a copy, and its indices have 32 bits if these suffice.
    form = {"accept_sparse": "csr", "dtype": [np.float64, np.float32], **form}
    if _is_valid(estimator, X, form, reset=reset):
        if reset:
            estimator.n_features_in_ = X.shape[1]
        return X
    X = on_host(X)
    refuse_masked(X, "X")
    refuse_dates(X, "X")
    with naming_text(X):
        return short_indices(validate_data(estimator, canonical(X), reset=reset, **form))


def _is_valid(estimator: Any, X: Any, form: dict[str, Any], *, reset: bool) -> bool:
    """Whether ``validate_data`` would return X as it is, which takes it longer to find out."""
    if type(X) is not np.ndarray or X.ndim != 2 or not X.size:
        return False
    if form.keys() - {"accept_sparse", "dtype", "order", "ensure_all_finite"}:
        return False
    d = X.shape[1] if reset else getattr(estimator, "n_features_in_", None)
    if hasattr(estimator, "feature_names_in_") or d != X.shape[1]:
        return False
    kinds = form["dtype"] if isinstance(form["dtype"], list) else [form["dtype"]]
    if X.dtype not in kinds or not (X.flags.c_contiguous or "order" not in form):
        return False
    with huge_numbers():
        return bool(np.isfinite(X.sum()))


class AllOrNothing:
    """A ``fit`` that fails changes nothing, nor does ``partial_fit``, ``forget`` and so on.

    If one of these methods raises, or is interrupted, all attributes are restored. For that to
    work, the methods replace attributes instead of changing arrays or lists in place. Subclasses
    inherit the ``_parameter_constraints`` of their bases.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls._parameter_constraints = all_constraints(cls)
        for name in ("fit", "partial_fit", "learn_one", "forget", "refit"):
            if callable(method := vars(cls).get(name)):
                setattr(cls, name, _undone_on_error(method))

    @classmethod
    @cache
    def _get_param_names(cls) -> list[str]:
        return super()._get_param_names()  # type: ignore[misc]  # which inspects the signature


def _undone_on_error(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def learn(self: Any, *args: Any, **kwargs: Any) -> Any:
        before = vars(self).copy()
        try:
            return method(self, *args, **kwargs)
        except BaseException:
            vars(self).clear()
            vars(self).update(before)
            raise

    return learn


class MultiLabelClassifier(AllOrNothing, ClassifierMixin, BaseEstimator, ABC):
    """Base class of all learners. Subclasses implement ``_fit`` and ``_scores``.

    Learners derive from :class:`ProbabilisticClassifier`, :class:`ScoringClassifier`, or both.

    A 1-D y has one class per instance: each class is learned as a label, and ``predict`` returns
    the class with the highest score.

    A ``fit`` that fails changes nothing. A fitted learner predicts with the parameters of its
    ``fit``, whatever is set later, except ``n_jobs``, which does not change results. Parameters
    needed after ``fit`` are stored under their name with a trailing ``_``.

    All fitted learners have ``label_names_`` of shape (q,), ``n_labels_``, ``classes_`` and,
    unless X is passed on unchecked, ``n_features_in_``.
    """

    _learns_from_known: ClassVar[bool] = False  # then ``_fit`` gets UnknownLabels if some are not
    _learns_from_soft: ClassVar[bool] = False  # then ``_fit`` gets probabilities as they are
    _X_form: ClassVar[dict[str, Any]] = {}  # passed to ``validate_data`` for X
    _fitted: ClassVar[Declared] = {
        "n_features_in_": count(optional=True),
        "n_labels_": count(),
        "classes_": values(None),  # 0 and 1 for a single label, one for each label otherwise
        "label_names_": values("n_labels_"),
        "single_output_": flag(),
        "sparse_output_": flag(),
    }

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Learn from instances and their label sets.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d), or data frame
        y : 0/1 matrix of shape (n, q), dense, sparse or a data frame; or 1-D classes
            Or a list or set of tags for each instance; the labels are then the tags, sorted.
            :func:`plurilabel.io.label_matrix` reads them from texts such as ``"sea;sun"``.
            NaN, None and NA are unknown labels, for learners with ``accepts_unknown_labels``;
            numbers between 0 and 1 are probabilities, for those with ``accepts_soft_labels``.
        """
        self._fit(*self._validate_fit(X, y))
        return self

    def predict(self, X: ArrayLike) -> NDArray[Any] | sparse.csr_array:
        """Predict label sets.

        Returns
        -------
        0/1 matrix of shape (n, q), CSR if the labels given to ``fit`` were sparse;
        classes of shape (n,) if they were 1-D.
        """
        X = self._validate_predict(X)
        if self.single_output_:
            return self.classes_[self._scores(X).argmax(axis=1)]
        sets = self._predict(X)
        return (sparse.csr_array(sets) if self.sparse_output_ else sets).astype(np.int64)

    def explain(
        self, X: Any, *, feature_names: Sequence[str] | None = None, reference: Any = None
    ) -> list[Any]:
        """Explain what speaks for and against each label, instance by instance.

        Parameters
        ----------
        X : rows to explain, as ``predict`` takes them
        feature_names : sequence of str, default=None
            By default those of the data frame given to ``fit``, or ``x0, x1, ...``.
        reference : array-like of shape (d,), default=None
            For models that cannot be decomposed: feature values that stand for "nothing known",
            such as the means of the training set. The default, 0, suits standardised features and
            counts; some learners have a better one.

        Returns
        -------
        list of explanations, one for each row of X
            :class:`~plurilabel.inspection.Contributions`, or a class of the learner's own with
            the same attributes; ``print`` shows one, or all.
        """
        X, d = self._validate_predict(X), self.n_features_in_
        if feature_names is None:
            feature_names = getattr(self, "feature_names_in_", default_feature_names(d))
        return Explanations(self._explain(X, checked_given(feature_names, reference, d)))

    def score(self, X: ArrayLike, y: Any, sample_weight: ArrayLike | None = None) -> float:
        """Subset accuracy: the share of the instances whose label set is predicted exactly.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d), or data frame
        y : true labels, as ``fit`` takes them
            Unknown labels are ignored, and so are instances without any known label. With soft
            labels, the score is the expected share.
        sample_weight : array-like of shape (n,), default=None
        """
        if is_tags(y):
            y, _ = tag_matrix(y, self.label_names_.tolist())
        else:
            check_label_order(y, self.label_names_)
        y, unknown = known_part(y)
        if unknown is None and not is_soft(y):
            return super().score(X, y, sample_weight)
        P = dense(y).astype(np.float64)
        right = np.where(dense(self.predict(X)) == 1, P, 1 - P)
        some: Any = np.ones(len(P), dtype=bool)
        if unknown is not None:
            some = ~dense(unknown).all(axis=1)
            right[dense(unknown)] = 1
        weights = None if sample_weight is None else np.asarray(sample_weight)[some]
        share = right.prod(axis=1)[some]
        return float(np.average(share, weights=weights)) if some.any() else float("nan")

    def _explain(self, X: Any, given: Given) -> list[Any]:
        """Explain each row; overridden where the parts do not belong to features."""
        scores = np.asarray(self._scores(X), dtype=np.float64)
        return [
            self._parts(X[i : i + 1], given).said_of(scores[i], self.label_names_)
            for i in range(len(scores))
        ]

    def _parts(self, x: Any, given: Given) -> Parts:
        """Base and parts of the scores of one row (1, d); by occlusion unless overridden."""
        return occlusion(self._scores, x, given, self._score_method())

    @abstractmethod
    def _fit(self, X: Any, Y: LabelMatrix) -> None: ...

    @abstractmethod
    def _scores(self, X: Any) -> NDArray[np.floating]: ...

    @abstractmethod
    def _score_method(self) -> str:
        """The method that the scores come from: "predict_proba" or "decision_function"."""

    def _predict(self, X: Any) -> Any:
        """Label sets (n, q): scores strictly above the cut, unless a learner decides otherwise."""
        return self._scores(X) > self._cut

    @property
    def _cut(self) -> float:
        return CUTS[self._score_method()]

    def _validate_X(self, X: Any, *, reset: bool) -> Any:
        return validate_features(self, X, reset=reset, **self._X_form)

    def _validate_fit(self, X: Any, y: Any, classes: Any = None) -> tuple[Any, LabelMatrix]:
        if y is None:
            name = type(self).__name__
            raise ValueError(f"{name} requires y to be passed, but the target y is None")
        check_params(self)
        X = self._validate_X(X, reset=True)
        filled, unknown = self._known_part(y)
        Y = self._encode(filled, classes)
        check_consistent_length(X, Y)
        if unknown is None:
            return X, Y
        if self.single_output_:  # a column of classes
            raise ValueError("Input y contains NaN: a class of one instance must be known")
        if (names := column_names(y)) is not None:
            self.label_names_ = np.asarray(names, dtype=object)
        return X, UnknownLabels(Y, unknown)

    @property
    def accepts_unknown_labels(self) -> bool:
        """Whether ``fit`` takes unknown labels: NaN, None, NA or UnknownLabels."""
        return self._learns_from_known

    @property
    def accepts_soft_labels(self) -> bool:
        """Whether ``fit`` takes probabilities in place of 0 and 1."""
        return self._learns_from_soft or has_fit_parameter(self, "sample_weight")  # by copies

    def _known_part(self, y: Any) -> tuple[Any, Any]:
        """Labels with 0 where unknown, and the mask of those, if the learner takes such labels."""
        name, (filled, unknown) = type(self).__name__, known_part(y)
        if unknown is not None and not self.accepts_unknown_labels:
            i, j = (int(at[0]) for at in unknown.nonzero())
            raise ValueError(
                f"y must hold only 0 and 1, got NaN in row {i}, column {j}: {name} needs all "
                f"labels; plurilabel.ImputedLabels({name}(...)) fills in unknown ones"
            )
        if not (self._learns_from_soft and self.accepts_soft_labels) and is_soft(filled):
            raise ValueError(
                f"y must hold only 0 and 1 for {name}, got numbers between them: cut them, as in "
                "y > 0.5, or use a learner with accepts_soft_labels"
            )
        return filled, unknown

    def _fit_inside(
        self, X: Any, Y: LabelMatrix, outer: MultiLabelClassifier | None = None, **params: Any
    ) -> Self:
        """Run ``_fit`` on data that the door of another learner has checked already."""
        # The fitted learner is used through ``_scores(X)`` and ``_predict(X)``, for checked X.
        # ``outer`` is the learner whose features and labels these are, if they are all of them.
        if outer is None:
            self.n_features_in_, Y = X.shape[1], self._encode(Y)
        else:
            for name in ("feature_names_in_", *MultiLabelClassifier._fitted):
                if hasattr(outer, name):  # features need not have names
                    setattr(self, name, getattr(outer, name))
        self._fit(X, Y, **params)
        return self

    def _validate_predict(self, X: Any) -> Any:
        if "n_labels_" not in vars(self):  # which takes longer to find out
            check_is_fitted(self)
        return self._validate_X(X, reset=False)

    def _validate_more(self, X: Any, y: Any) -> tuple[Any, LabelMatrix]:
        """Validate further training data, with the features and labels of ``fit``."""
        X = self._validate_X(X, reset=False)
        Y = self._encode_more(y)
        check_consistent_length(X, Y)
        return X, Y

    def _encode(self, y: Any, classes: ArrayLike | None = None) -> LabelMatrix:
        """Turn y into a label matrix, and remember its form for predictions."""
        names: Any = column_names(y)
        y = sparse_or_as_is(y)
        self.sparse_output_ = bool(sparse.issparse(y))
        refuse_masked(y, "y")
        if is_tags(y):
            y, names = tag_matrix(y)
        flat = None if self.sparse_output_ or is_soft(y) else one_class_each(y)
        self.single_output_ = flat is not None
        if flat is None:
            Y = soft_or_hard(y, name="y")
            # as scikit-learn has them: the classes of a single label, the labels of several
            self.classes_ = np.arange(max(2, Y.shape[1]))
        else:
            assert_all_finite(flat, input_name="y")
            try:
                check_classification_targets(flat)
            except ValueError as error:
                raise ValueError(f"{str(error).rstrip('.')}; {FRACTIONS}") from None
            self.classes_ = np.unique(flat if classes is None else np.asarray(classes))
            names = [str(c) for c in self.classes_]
            check_unicode(names, "the classes of y")
            Y = one_hot(flat, self.classes_)
        if Y.shape[1] == 0:
            raise ValueError("y must have at least one label (column), got 0")
        self.n_labels_ = Y.shape[1]
        names = list(names or default_label_names(Y.shape[1]))
        self.label_names_ = np.asarray(names, dtype=object)
        return Y

    def _encode_more(self, y: Any) -> LabelMatrix:
        """Turn further labels into the form of the first ones."""
        refuse_masked(y, "y")
        if self.single_output_:
            return one_hot(column_or_1d(y), self.classes_)
        names = column_names(y)
        if is_tags(y):
            y, _ = tag_matrix(y, self.label_names_.tolist())
        y, unknown = self._known_part(y)
        Y = soft_or_hard(y, name="y")
        if Y.shape[1] != self.n_labels_:
            raise ValueError(f"y must have the {self.n_labels_} labels of fit, got {Y.shape[1]}")
        if names is not None and names != (known := list(self.label_names_)):
            raise ValueError(f"y must have the label names of fit, {known}, got {names}")
        Y = sparse.csr_array(Y) if self.sparse_output_ else dense(Y)
        return Y if unknown is None else UnknownLabels(Y, unknown)

    def _validated_scores(self, X: Any) -> NDArray[np.floating]:
        return self._scores(self._validate_predict(X))

    def _proba(self, scores: NDArray[np.floating]) -> NDArray[np.floating]:
        """Probabilities from scores (n, q): for a 1-D y, each row is scaled to sum to one."""
        if not self.single_output_:
            return scores
        total = scores.sum(axis=1, keepdims=True)
        return np.where(total > 0, scores, 1.0) / np.where(total > 0, total, scores.shape[1])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        tags.target_tags.multi_output = True
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self._X_form.get("ensure_all_finite") == "allow-nan"
        return tags


class AroundEstimator(MetaEstimatorMixin):
    """A learner around ``estimator``: it takes the X and the metadata that this takes."""

    _fitted: ClassVar[Declared] = {"allow_nan_": flag()}
    estimator: Any
    allow_nan_: bool  # of ``fit``: another estimator may be set later

    def _validate_X(self, X: Any, *, reset: bool) -> Any:
        # C order, into which most base estimators would copy X anyway
        allow_nan = get_tags(self.estimator).input_tags.allow_nan if reset else self.allow_nan_
        finite = "allow-nan" if allow_nan else True
        return validate_features(self, X, reset=reset, order="C", ensure_all_finite=finite)

    def get_metadata_routing(self) -> MetadataRouter:
        """Route metadata of ``fit`` to ``estimator.fit``."""
        return fit_router(self)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.input_tags.sparse = inner.input_tags.sparse
        tags.input_tags.allow_nan = inner.input_tags.allow_nan
        tags.non_deterministic = inner.non_deterministic
        return tags


def fit_router(learner: Any) -> MetadataRouter:
    """Metadata routing from ``fit`` to ``estimator.fit``."""
    mapping = MethodMapping().add(caller="fit", callee="fit")
    router = MetadataRouter(owner=type(learner).__name__)
    return router.add(estimator=learner.estimator, method_mapping=mapping)


class WeightedFit(MultiLabelClassifier):
    """A learner that takes sample weights: its hook is ``_fit(X, Y, weights)``.

    An instance of weight 2 counts as two; instances of weight 0 do not reach the hook. ``weights``
    is None if none were given.
    """

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from instances and their label sets.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d), or data frame
        y : 0/1 matrix of shape (n, q), dense, sparse or a data frame; or 1-D classes
            Probabilities between 0 and 1 are soft labels, learned from weighted copies of the
            instances: see :func:`plurilabel.datasets.soft_copies`.
        sample_weight : array-like of shape (n,) or (n, q), default=None
            Weight of each instance, not negative; None is 1 for all. Weights of single labels,
            (n, q), are for learners with ``accepts_unknown_labels``; others need all labels of an
            instance to weigh the same.
        """
        X, y, sample_weight = expanded(self, X, y, sample_weight)
        self._fit(*with_weights(*self._validate_fit(X, y), sample_weight))
        return self

    @abstractmethod
    def _fit(self, X: Any, Y: LabelMatrix, weights: Any = None) -> None: ...


def with_weights(X: Any, Y: LabelMatrix, sample_weight: Any) -> tuple[Any, LabelMatrix, Any]:
    """Checked X, Y and sample weights, without the instances of weight 0."""
    if sample_weight is None:
        return X, Y, None
    weights = check_sample_weight(sample_weight, X)
    if not weights.all():
        kept = np.flatnonzero(weights)
        X, Y, weights = X[kept], Y[kept], weights[kept]
    return X, Y, weights


def _if_scores_by(method: str) -> Any:
    """Decorator: the method exists if the scores of the learner come from it."""

    def check(self: MultiLabelClassifier) -> bool:
        if (kind := self._score_method()) != method:
            name = type(self).__name__
            raise AttributeError(f"this {name} has no {method}: its scores come from {kind}")
        return True

    return available_if(check)


class ProbabilisticClassifier(MultiLabelClassifier):
    """A learner whose scores are probabilities: ``predict_proba``, cut at 0.5."""

    def _score_method(self) -> str:
        return "predict_proba"

    @_if_scores_by("predict_proba")
    def predict_proba(self, X: ArrayLike) -> NDArray[np.floating]:
        """Probability of each label.

        Returns
        -------
        ndarray of shape (n, q)
            Column l is P(label l | x). For a 1-D y the rows are scaled to sum to one.
        """
        return self._proba(self._validated_scores(X))

    @available_if(lambda self: hasattr(self, "predict_proba"))
    def predict_log_proba(self, X: ArrayLike) -> NDArray[np.floating]:
        """Logarithm of the probability of each label.

        Returns
        -------
        ndarray of shape (n, q)
            Minus infinity where the probability is 0.
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))


class ScoringClassifier(MultiLabelClassifier):
    """A learner whose scores are not probabilities: ``decision_function``, cut at 0."""

    def _score_method(self) -> str:
        return "decision_function"

    @_if_scores_by("decision_function")
    def decision_function(self, X: ArrayLike) -> NDArray[np.floating]:
        """Score of each label, positive for labels that are predicted.

        Returns
        -------
        ndarray of shape (n, q)
            For a 1-D y with two classes: shape (n,), positive for the second class.
        """
        scores = self._validated_scores(X)
        if self.single_output_ and scores.shape[1] == 2:
            return scores[:, 1] - scores[:, 0]
        return scores


for _learner in (MultiLabelClassifier, ProbabilisticClassifier, ScoringClassifier):
    _learner.__module__ = "plurilabel"
