"""Label powerset: each label set is a class."""

from __future__ import annotations

import warnings
from contextlib import nullcontext
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone

from plurilabel._core.base import LabelMatrix
from plurilabel._core.blocks import dense
from plurilabel._core.explanation.contributions import (
    LOG_ODDS,
    OCCLUSION,
    OCCLUSION_LOG_ODDS,
    SCORE,
    Given,
    Parts,
    constant_parts,
)
from plurilabel._core.explanation.models import class_parts
from plurilabel._core.fitted import Declared, count, labels, parameter
from plurilabel._core.limits import check_size
from plurilabel.learners.transformation import _base_models as base
from plurilabel.learners.transformation._transformation_classifier import TransformationClassifier

# the scale of explanations where probabilities of label sets cannot be summed part by part
AGAINST = "the score of the best label set with the label, less that of the best without it"
# decision value of a label of the predicted set if a set without it has the same score
TIED = float(np.finfo(np.float64).tiny)


@dataclass(eq=False, repr=False)
class LabelPowerset(TransformationClassifier):
    """One multi-class model whose classes are the label sets seen in training.

    Parameters
    ----------
    estimator : classifier
        Multi-class, with ``predict_proba`` or ``decision_function``.
    decision : {"joint", "marginal"}, default="joint"
        What to predict from probabilities. "joint": the most probable of the label sets seen in
        training, best for subset accuracy. "marginal": the labels with a probability above 0.5,
        best for Hamming loss.

    Attributes
    ----------
    sets_ : csr_array of shape (c, q)
        The label set of each class.
    estimator_ : fitted clone of ``estimator``, or None
        None if there is only one class.
    n_samples_fit_ : int
        Number of training instances, or their total weight.

    Notes
    -----
    A model of c classes needs about 8 c (n + d) bytes for its coefficients and scores; a fit that
    needs more than 4 GB is refused (see :doc:`/guides/large-label-spaces`).

    The probability of a label is the sum over the sets that contain it. With ``decision="joint"``
    the predicted set may differ from the labels with probabilities above 0.5. The decision value
    of a label is the best decision value of a set with it, less the best of a set without it: it
    is positive for the labels of the predicted set, and only for those.

    The predicted set is the one with the highest score; ties go to the first in ``sets_``. The
    base estimator's own ``predict`` may differ: that of ``SVC`` counts votes of pairs of classes
    and breaks ties by order, not by score, unless ``break_ties=True``. Subset accuracy of a linear
    SVC on emotions and scene is 0.297 and 0.651 by scores, 0.277 and 0.648 by votes.

    References
    ----------
    M. Boutell, J. Luo, X. Shen, C. Brown. Learning multi-label scene classification.
    Pattern Recognition 37, 2004. K. Dembczyński, W. Waegeman, W. Cheng, E. Hüllermeier. On label
    dependence and loss minimization in multi-label classification. Machine Learning 88, 2012.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from plurilabel import LabelPowerset
    >>> X = [[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]]
    >>> Y = [[1, 0], [1, 0], [1, 1], [1, 1], [0, 1], [0, 1]]
    >>> learner = LabelPowerset(LogisticRegression(C=10)).fit(X, Y)
    >>> learner.predict([[0.5], [2.5], [4.5]])
    array([[1, 0],
           [1, 1],
           [0, 1]])
    >>> learner.sets_.toarray().tolist()
    [[0, 1], [1, 0], [1, 1]]
    """

    _fitted: ClassVar[Declared] = {
        "sets_": labels("n_sets", "n_labels_"),
        "n_samples_fit_": count(),
        "decision_": parameter(),
    }

    estimator: Any
    _: KW_ONLY
    decision: Literal["joint", "marginal"] = "joint"

    def _fit(self, X: Any, Y: LabelMatrix, **params: Any) -> None:
        self.n_samples_fit_ = base.counted_instances(X, params)
        self._fit_classes(X, *distinct_sets(Y), params)

    def _fit_classes(
        self, X: Any, sets: sparse.csr_array, classes: NDArray[np.intp], params: base.Params
    ) -> None:
        c, (n, d) = sets.shape[0], X.shape
        instead = "PrunedSets with a higher pruning_threshold, HOMER, or BinaryRelevance"
        # coefficients and targets of a linear model; leaves of trees take about as much
        check_size(self, f"{c:,} label sets", memory=8.0 * c * (n + d), instead=instead)
        self.sets_, self.decision_, self.estimator_ = sets, self.decision, None
        if c > 1:
            # catch_warnings is not thread-safe: only where scikit-learn would suspect regression
            with warnings.catch_warnings() if 2 * c > n else nullcontext():
                if 2 * c > n:
                    warnings.filterwarnings("ignore", "The number of unique classes is greater")
                self.estimator_ = clone(self.estimator).fit(X, classes, **params)

    def _set_scores(self, X: Any) -> NDArray[np.floating]:
        """Score of each label set, shape (n, c)."""
        c = self.sets_.shape[0]
        if c == 1:
            return np.ones((X.shape[0], 1))
        method = self._score_method()
        scores = np.asarray(getattr(self.estimator_, method)(X))
        if scores.ndim == 1:  # two classes
            scores = np.column_stack([-scores, scores])
        if scores.shape[1] != c:
            raise ValueError(
                f"estimator must give a score for each of its {c} classes, but {method} of "
                f"{type(self.estimator_).__name__} has {scores.shape[1]} columns; set "
                "decision_function_shape='ovr' if it has that parameter"
            )
        return scores

    def _scores(self, X: Any) -> NDArray[np.floating]:
        scores = self._set_scores(X)
        if self._score_method() == "predict_proba":
            # class probabilities may sum to slightly more than one
            return np.clip(scores @ self.sets_.astype(scores.dtype), 0.0, 1.0)
        margins = set_margins(scores, self.sets_, self.n_samples_fit_)
        tied = np.flatnonzero((margins == 0).any(axis=1))
        if len(tied):  # lift the labels of the predicted set just above the cut
            has = self.sets_[scores[tied].argmax(axis=1)].toarray() == 1
            margins[tied] = np.where(has & (margins[tied] == 0), TIED, margins[tied])
        return margins

    def _parts(self, x: Any, given: Given) -> Parts:
        scores, sets = self._scores(x)[0], self.sets_.toarray().astype(np.float64)
        c, method = len(sets), self._score_method()
        if c == 1:
            return constant_parts(scores)
        found = class_parts(self.estimator_, x, method, given)
        scale = found.scales[0]
        if scale in (OCCLUSION, OCCLUSION_LOG_ODDS):
            return super()._parts(x, given)
        probable = method == "predict_proba"
        if len(found.base) == 1:  # the score of the second of two sets
            if probable and scale == SCORE:
                found = found.mapped([[-1.0, 1.0]]).shifted([1.0, 0.0])
            else:  # the log-odds of two sets are those of either
                half = 0.5 if scale == LOG_ODDS else 1.0
                found = found.mapped([[-half, half]])
        if probable and scale == SCORE:
            return found.mapped(sets, SCORE)
        exact = scale if scale == SCORE or (scale == LOG_ODDS and c == 2) else AGAINST
        return best_set_parts(found, self._set_scores(x)[0], sets, scores, exact)

    def _predict(self, X: Any) -> NDArray[np.bool_]:
        if self.decision_ == "marginal":
            return super()._predict(X)
        return self.sets_[self._set_scores(X).argmax(axis=1)].toarray() == 1


def best_set_parts(
    found: Parts, fit: NDArray[Any], sets: NDArray[Any], scores: NDArray[Any], scale: str
) -> Parts:
    """For each label the parts of the best set with it, less those of the best set without."""
    # ``fit`` (c,) are the scores of the ``sets`` (c, q). Labels that all or no sets have keep
    # their ``scores`` (q,). ``scale`` is the scale of the differences.
    c, q = sets.shape
    has = sets > 0
    M = np.zeros((c, q))
    constant = has.all(axis=0) | ~has.any(axis=0)
    for l in np.flatnonzero(~constant):
        M[np.where(has[:, l], fit, -np.inf).argmax(), l] += 1
        M[np.where(has[:, l], -np.inf, fit).argmax(), l] -= 1
    return found.mapped(M, scale).fixed(constant, scores)


def distinct_sets(Y: LabelMatrix) -> tuple[sparse.csr_array, NDArray[np.intp]]:
    """The distinct rows of Y in lexicographic order, and the index of each row of Y in them."""
    q = Y.shape[1]
    if q <= 62:  # encode each set as an integer
        codes = dense(Y) @ (np.int64(1) << np.arange(q - 1, -1, -1, dtype=np.int64))
        _, first, classes = np.unique(codes, return_index=True, return_inverse=True)
        return sparse.csr_array(Y[first]), classes.ravel()
    csr = sparse.csr_array(Y)
    # tuples of negated column numbers compare as the 0/1 rows do
    keys = [tuple(-row) for row in np.split(csr.indices, csr.indptr[1:-1])]
    number = {key: c for c, key in enumerate(sorted(set(keys)))}
    classes = np.fromiter((number[key] for key in keys), dtype=np.intp, count=len(keys))
    first = np.unique(classes, return_index=True)[1]
    return csr[first], classes


def set_margins(scores: NDArray[Any], sets: sparse.csr_array, n: int) -> NDArray[np.float64]:
    """For each label the best score of a set with it, less the best of a set without it."""
    # Positive for the labels of the best set, and only for those. A label that all or no sets have
    # gets the score of a constant label after n training instances.
    members = sparse.csc_array(sets)
    c, q = members.shape
    top = scores.max(axis=1)
    in_best = sparse.csc_array(sparse.csr_array(sets)[scores.argmax(axis=1)])  # (n, q)
    margins = np.empty((len(scores), q))
    for l in range(q):
        has = members.indices[members.indptr[l] : members.indptr[l + 1]]
        if len(has) in (0, c):
            margins[:, l] = base.constant_score(len(has) > 0, n, "decision_function")
            continue
        # the best set without l is the best of all, except in rows whose best set has l
        without = top.copy()
        rows = in_best.indices[in_best.indptr[l] : in_best.indptr[l + 1]]
        lacks = np.ones(c, dtype=bool)
        lacks[has] = False
        without[rows] = scores[np.ix_(rows, lacks)].max(axis=1)
        margins[:, l] = scores[:, has].max(axis=1) - without
    return margins
