"""Label powerset: each label set is a class."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from plurilabel._compat import StrOptions
from plurilabel.base import LabelMatrix
from plurilabel.transformation._base import ESTIMATOR, TransformationClassifier
from plurilabel.transformation._label_sets import LabelSetModel


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
    model_ : LabelSetModel
    label_names_ : ndarray of shape (q,)

    Notes
    -----
    The probability of a label is the sum of those of the sets with it. With ``decide="joint"``
    the set predicted need not be the labels with probabilities above 0.5. The decision value of a
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
        **ESTIMATOR,
        "decide": [StrOptions({"joint", "marginal"})],
    }

    def __init__(self, estimator: Any, *, decide: str = "joint"):
        self.estimator = estimator
        self.decide = decide

    def _fit(self, X: Any, Y: LabelMatrix, **params: Any) -> None:
        self.model_ = LabelSetModel.fit(self.estimator, X, Y, self._score_method(), params)
        self.sets_ = self.model_.sets

    def _scores(self, X: Any) -> NDArray[np.floating]:
        return self.model_.label_scores(X)

    def _predict(self, X: Any) -> NDArray[np.bool_]:
        return super()._predict(X) if self.decide == "marginal" else self.model_.best_sets(X)
