"""Label powerset: each label set is a class."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone

from plurilabel._blocks import dense
from plurilabel._compat import StrOptions
from plurilabel._fitted import Declared, count, labels
from plurilabel.base import LabelMatrix
from plurilabel.transformation._base import ONE_MODEL, TransformationClassifier
from plurilabel.transformation._models import Params, constant_score


class LabelPowerset(TransformationClassifier):
    """One multi-class model whose classes are the label sets seen in training.

    Parameters
    ----------
    estimator : classifier
        Multi-class, with ``predict_proba`` or ``decision_function``.
    decide : {"joint", "marginal"}, default="joint"
        What is predicted if the base estimator gives probabilities. "joint": the most probable
        label set, which is one of those seen in training; best for subset accuracy. "marginal":
        the labels with a probability above 0.5; best for Hamming loss.

    Attributes
    ----------
    sets_ : csr_array of shape (c, q)
        The label sets that are classes.
    estimator_ : fitted clone of ``estimator``
        Of the classes 0 to c - 1; None if there is only one.
    n_samples_fit_ : int
        Number of training instances.
    label_names_ : ndarray of shape (q,)

    Notes
    -----
    The probability of a label is the sum of those of the sets with it. With ``decide="joint"``
    the predicted set need not be the labels with probabilities above 0.5. The decision value of a
    label is the best decision value of a set with it, less the best of a set without it.

    References
    ----------
    M. Boutell, J. Luo, X. Shen, C. Brown. Learning multi-label scene classification.
    Pattern Recognition 37, 2004. K. Dembczyński, W. Waegeman, W. Cheng, E. Hüllermeier. On label
    dependence and loss minimization in multi-label classification. Machine Learning 88, 2012.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from plurilabel.transformation import LabelPowerset
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

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **ONE_MODEL,
        "decide": [StrOptions({"joint", "marginal"})],
    }
    _fitted: ClassVar[Declared] = {
        "sets_": labels("n_sets", "n_labels_"),
        "n_samples_fit_": count(),
    }

    def __init__(self, estimator: Any, *, decide: str = "joint"):
        self.estimator = estimator
        self.decide = decide

    def _fit(self, X: Any, Y: LabelMatrix, **params: Any) -> None:
        self.n_samples_fit_ = X.shape[0]
        self._fit_classes(X, *distinct_sets(Y), params)

    def _fit_classes(
        self, X: Any, sets: sparse.csr_array, classes: NDArray[np.intp], params: Params
    ) -> None:
        self.sets_ = sets
        several = sets.shape[0] > 1
        self.estimator_ = clone(self.estimator).fit(X, classes, **params) if several else None

    def _set_scores(self, X: Any) -> NDArray[np.floating]:
        """Score of each label set, shape (n, c)."""
        c = self.sets_.shape[0]
        if c == 1:
            return np.ones((X.shape[0], 1))
        method = self._score_method()
        scores = np.asarray(getattr(self.estimator_, method)(X))
        if scores.ndim == 1:  # two classes, positive for the second
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
            # the class probabilities add up to one only up to rounding
            return np.clip(scores @ self.sets_.astype(scores.dtype), 0.0, 1.0)
        return set_margins(scores, self.sets_, self.n_samples_fit_)

    def _predict(self, X: Any) -> NDArray[np.bool_]:
        if self.decide == "marginal":
            return super()._predict(X)
        return self.sets_[self._set_scores(X).argmax(axis=1)].toarray() == 1


def distinct_sets(Y: LabelMatrix) -> tuple[sparse.csr_array, NDArray[np.intp]]:
    """The distinct rows of Y, and which of them each row is.

    The sets are in the order of their 0/1 rows, whether Y is dense or sparse.
    """
    q = Y.shape[1]
    if q <= 62:  # a set is a number
        codes = dense(Y) @ (np.int64(1) << np.arange(q - 1, -1, -1, dtype=np.int64))
        _, first, classes = np.unique(codes, return_index=True, return_inverse=True)
        return sparse.csr_array(Y[first]), classes.ravel()
    csr = sparse.csr_array(Y)
    # Of two 0/1 rows the later one has a 1 at the first place where they differ; negated column
    # numbers compare in the same way.
    keys = [tuple(-row) for row in np.split(csr.indices, csr.indptr[1:-1])]
    number = {key: c for c, key in enumerate(sorted(set(keys)))}
    classes = np.fromiter((number[key] for key in keys), dtype=np.intp, count=len(keys))
    first = np.unique(classes, return_index=True)[1]
    return csr[first], classes


def set_margins(
    scores: NDArray[np.floating], sets: sparse.csr_array, n: int
) -> NDArray[np.float64]:
    """For each label the best score of a set with it, less the best of a set without it.

    Positive for the labels of the best set, and only for those. A label that is in all sets, or
    in none, has the score of a constant label after n training instances.
    """
    members = sparse.csc_array(sets)
    c, q = members.shape
    margins = np.empty((len(scores), q))
    for l in range(q):
        has = np.zeros(c, dtype=bool)
        has[members.indices[members.indptr[l] : members.indptr[l + 1]]] = True
        if has.all() or not has.any():
            margins[:, l] = constant_score(bool(has.all()), n, "decision_function")
        else:
            margins[:, l] = scores[:, has].max(axis=1) - scores[:, ~has].max(axis=1)
    return margins
