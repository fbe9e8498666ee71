"""Vertical reduction: an ordinal problem for each label."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from plurilabel._core.base import MultiLabelClassifier
from plurilabel.graded._reduction import Reduction
from plurilabel.learners.transformation import BinaryRelevance


class VerticalReduction(Reduction):
    """Grades label by label: an ordinal problem for each, by the method of Frank and Hall.

    For label l and each grade g but the lowest, a binary model learns whether an instance has l
    to at least g. Its probabilities, made consistent (:func:`consistent`), give the distribution
    of the grade: P(grade = g) = P(at least g) - P(at least the next).

    Parameters
    ----------
    estimator : classifier
        Learns one cut at a time. A multi-label learner of the library learns all cuts of a label
        together instead. Where it has no ``predict_proba``, its 0/1 predictions are used.
    grades : sequence, default=None
        The scale, the lowest grade first. None: the categories of ``y`` if it has ordered ones, or
        the integers that occur in it.
    decision : {"median", "mode"}, default="median"
        Which grade of the predicted distribution ``predict`` returns: the median makes the mean
        absolute error small, the mode the share of wrong grades.
    n_jobs : int, default=None
        Problems that are solved at the same time, in threads. The result does not depend on it.

    Attributes
    ----------
    estimators_ : list of q fitted learners
        One for each label, of its m - 1 cuts.
    grades_, classes_ : ndarray of shape (m,)
        The scale.
    label_names_ : ndarray of shape (q,)

    Notes
    -----
    Frank and Hall take the differences of the probabilities as they come, and negative ones may
    occur; here the cumulative probabilities are made consistent first.

    References
    ----------
    E. Frank, M. Hall. A simple approach to ordinal classification. ECML 2001.

    W. Cheng, K. Dembczynski, E. Huellermeier. Graded multilabel classification: the ordinal case.
    ICML 2010.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from plurilabel import VerticalReduction
    >>> X = [[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]]
    >>> Y = [[0, 5], [0, 3], [1, 3], [1, 1], [3, 0], [3, 0]]
    >>> learner = VerticalReduction(LogisticRegression(C=100)).fit(X, Y)
    >>> learner.predict([[1.2], [4.8]])
    array([[0, 3],
           [3, 0]])
    """

    def _split(self, cuts: NDArray[np.int8]) -> list[NDArray[np.int8]]:
        return [cuts[:, l] for l in range(cuts.shape[1])]

    def _join(self, parts: list[NDArray[np.floating]]) -> NDArray[np.floating]:
        return np.stack(parts, axis=1)

    def _around(self, classifier: Any) -> MultiLabelClassifier:
        return BinaryRelevance(classifier)
