"""OutOfFoldWrapper: wrappers that learn from scores of models that did not see the instances."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn import get_config
from sklearn.base import clone
from sklearn.model_selection import check_cv
from sklearn.pipeline import Pipeline
from sklearn.utils import indexable
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from plurilabel._core.base import CUTS, LabelMatrix, check_label_order, is_tags, tag_matrix
from plurilabel._core.compat import StrOptions, rows_of_params, safe_indexing
from plurilabel._core.fitted import Declared, one_of
from plurilabel._core.unknown import takes_missing_labels
from plurilabel.metrics import score_matrix, score_method
from plurilabel.model_selection import IterativeStratifiedKFold
from plurilabel.thresholds.shared import Scores
from plurilabel.wrappers._wrapper import OpenWrapper, named

HeldOut = Callable[[], tuple[Scores, LabelMatrix]]


class OutOfFoldWrapper(OpenWrapper):
    """A classifier, fitted on all data, and something learned from its out-of-fold scores.

    Subclasses have the parameters ``estimator``, ``cv``, ``response_method`` and ``n_jobs``, and
    write ``_learn``.
    """

    cv: Any
    response_method: str
    n_jobs: int | None

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **OpenWrapper._parameter_constraints,
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
    def _learn(self, Y: LabelMatrix, held_out: HeldOut) -> None:
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
            target = self._targets(Y)
        elif is_tags(y):
            target = named(Y, self.label_names_)
        else:  # as it came, so that the classifier sees the names of a data frame
            target = indexable(y)[0] if hasattr(y, "shape") else np.asarray(y)
        prefit = isinstance(self.cv, str)
        if prefit:
            self.estimator_ = self._checked_prefit()
        else:
            self.estimator_ = clone(self.estimator).fit(X, target, **routed.estimator.fit)
        self.response_method_ = self._chosen_method()

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
                **self._columns(),
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
            return named(tag_matrix(y, [str(name) for name in names])[0], names)
        check_label_order(y, names)
        return y

    def _checked_prefit(self) -> Any:
        check_is_fitted(self.estimator)
        if self.single_output_ and not np.array_equal(self.estimator.classes_, self.classes_):
            raise ValueError(
                f"y must have the classes that estimator was trained on, "
                f"{self.estimator.classes_}, got {self.classes_}"
            )
        return self.estimator

    def _columns(self) -> dict[str, Any]:
        """What the columns of the scores stand for: labels, or the classes of a 1-D y."""
        return {
            "n_labels": self.n_labels_,
            "classes": self.classes_ if self.single_output_ else None,
        }

    def _splitter(self, n: int) -> Any:
        if self.cv is not None and not isinstance(self.cv, Integral):
            return check_cv(self.cv)
        folds = 5 if self.cv is None else int(self.cv)
        if folds > n:
            raise ValueError(f"cv must be at most n_samples={n}, the number of rows, got {folds}")
        return IterativeStratifiedKFold(folds)

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
        return self._fit_router().add(splitter=self.cv, method_mapping=to_split)


def scores_of(
    estimator: Any, X: Any, method: str, *, n_labels: int, classes: NDArray[Any] | None
) -> Scores:
    """Scores (n, q) of a fitted classifier's ``method``.

    For a 1-D y, ``classes`` are all classes; one that this classifier has not seen gets the lowest
    of its scores, or a probability of 0.
    """
    output, seen = getattr(estimator, method)(X), getattr(estimator, "classes_", None)
    if classes is None:
        scores = score_matrix(output, classes=seen, n_labels=n_labels)
    else:
        scores = _scores_of_classes(np.asarray(output), np.asarray(seen), classes, method)
    name = f"{method} of {type(estimator).__name__}"
    if sparse.issparse(scores):
        raise TypeError(f"estimator must return dense scores, but {name} returned a sparse matrix")
    if scores.shape[1] != n_labels:
        raise ValueError(
            f"estimator must score each of the {n_labels} labels, but {name} returned "
            f"{scores.shape[1]} column(s)"
        )
    return scores


def _scores_of_classes(
    scores: NDArray[Any], seen: NDArray[Any], classes: NDArray[Any], method: str
) -> Scores:
    if scores.ndim == 1:  # two classes, positive for the second
        scores = np.column_stack([-scores, scores])
    if len(seen) == len(classes):
        return scores
    lowest = 0.0 if method == "predict_proba" else scores.min()
    spread = np.full((len(scores), len(classes)), lowest)
    spread[:, np.searchsorted(classes, seen)] = scores
    return spread


def out_of_fold_scores(
    estimator: Any,
    X: Any,
    y: Any,
    splits: Iterable[tuple[NDArray[np.integer], NDArray[np.integer]]],
    method: str,
    *,
    fit_params: Mapping[str, Any],
    n_jobs: int | None,
    **kind: Any,
) -> tuple[Scores, NDArray[np.integer]]:
    """Scores of the test rows of each split, by a clone trained on its training rows.

    Returns the scores and the rows that they belong to; splits may overlap or leave rows out.
    ``kind`` goes to :func:`scores_of`.
    """

    def score(train: NDArray[np.integer], test: NDArray[np.integer]) -> Scores:
        params = rows_of_params(X, fit_params, train)
        model = clone(estimator).fit(safe_indexing(X, train), safe_indexing(y, train), **params)
        return scores_of(model, safe_indexing(X, test), method, **kind)

    splits = list(splits)
    scores = Parallel(n_jobs=n_jobs)(delayed(score)(train, test) for train, test in splits)
    return np.concatenate(scores), np.concatenate([test for _, test in splits])
