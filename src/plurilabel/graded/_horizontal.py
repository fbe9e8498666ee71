"""Horizontal reduction: a multi-label problem for each grade."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from plurilabel._core.base import MultiLabelClassifier
from plurilabel.graded._reduction import Reduction, stacked


class HorizontalReduction(Reduction):
    """Grades grade by grade: a multi-label problem for each, "which labels have at least g?".

    The label sets of different grades are learned apart, so that a label may be said to have a
    high grade and not a lower one; the cumulative probabilities are made consistent afterwards
    (:func:`consistent`).

    Parameters
    ----------
    estimator : multi-label learner or classifier
        Any learner of the library, or a pipeline that ends in one; where it has no
        ``predict_proba``, its label sets are used. Another classifier is put into a
        :class:`~plurilabel.StackedRelevance`: it learns each label, and a second
        layer of logistic regressions sees its out-of-fold scores for all labels.
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
    estimators_ : list of m - 1 fitted learners
        One for each grade but the lowest, of all labels.
    grades_, classes_ : ndarray of shape (m,)
        The scale.
    label_names_ : ndarray of shape (q,)

    Notes
    -----
    Around :class:`~plurilabel.BinaryRelevance` it asks the same binary questions
    as :class:`VerticalReduction` and gives the same answers.

    References
    ----------
    W. Cheng, K. Dembczynski, E. Huellermeier. Graded multilabel classification: the ordinal case.
    ICML 2010.

    Examples
    --------
    >>> import numpy as np
    >>> from plurilabel import MLkNN
    >>> from plurilabel import HorizontalReduction
    >>> x = np.arange(30)
    >>> Y = np.column_stack([x // 10, 2 - x // 10])
    >>> learner = HorizontalReduction(MLkNN(3)).fit(x[:, None], Y)
    >>> learner.predict([[0.4], [26.6]])
    array([[0, 2],
           [2, 0]])
    >>> learner.predict_at_least([[11.0]]).round(2)  # each label at least 1, at least 2
    array([[[0.95, 0.04],
            [0.96, 0.05]]])
    """

    def _split(self, cuts: NDArray[np.int8]) -> list[NDArray[np.int8]]:
        return [cuts[:, :, g] for g in range(cuts.shape[2])]

    def _join(self, parts: list[NDArray[np.floating]]) -> NDArray[np.floating]:
        return np.stack(parts, axis=2)

    def _around(self, classifier: Any) -> MultiLabelClassifier:
        return stacked(classifier)
