"""Pruned sets: a label powerset without the rare label sets."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from plurilabel._compat import Interval, StrOptions
from plurilabel.base import LabelMatrix
from plurilabel.transformation._base import ESTIMATOR, TransformationClassifier
from plurilabel.transformation._label_sets import LabelSetModel

PRUNING: dict[str, list[Any]] = {
    "pruning_threshold": [Interval(Integral, 0, None, closed="left")],
    "reintroduce": [StrOptions({"a", "b"}), None],
    "limit": [Interval(Integral, 0, None, closed="left")],
}
"""Parameters of the pruning, here and in the ensemble."""


class PrunedSets(TransformationClassifier):
    """A label powerset that leaves rare label sets out, and keeps what is frequent in them.

    Label sets seen ``pruning_threshold`` times or less are pruned. An instance with such a set
    is not lost: it comes back with subsets of its labels that are frequent as sets.

    Parameters
    ----------
    estimator : classifier
        Multi-class, with ``predict_proba`` or ``decision_function``.
    pruning_threshold : int, default=1
        A label set must be seen more often than this to be a class (p); 0 is the label powerset.
    reintroduce : {"a", "b", None}, default="a"
        Which frequent, non-empty subsets come back. "a": the ``limit`` best, ranked by their
        number of labels, then by their frequency. "b": all with more than ``limit`` labels. None:
        none, the instances are lost.
    limit : int, default=2
        The b of the paper's strategies A_b and B_b.
    decide : {"joint", "marginal"}, default="joint"
        As in :class:`LabelPowerset`.

    Attributes
    ----------
    sets_ : csr_array of shape (c, q)
        The label sets that are classes.
    model_ : LabelSetModel
    label_names_ : ndarray of shape (q,)

    Notes
    -----
    An instance that comes back with several subsets is in the training set several times, with
    the same sample weight each.

    References
    ----------
    J. Read, B. Pfahringer, G. Holmes. Multi-label classification using ensembles of pruned sets.
    ICDM 2008.

    Examples
    --------
    The set of both labels is seen only once: its instance is learned as one of each.

    >>> from sklearn.linear_model import LogisticRegression
    >>> from plurilabel.transformation import PrunedSets
    >>> X = [[0.0], [1.0], [2.0], [3.0], [4.0]]
    >>> Y = [[1, 0], [1, 0], [1, 1], [0, 1], [0, 1]]
    >>> learner = PrunedSets(LogisticRegression(C=10)).fit(X, Y)
    >>> learner.sets_.toarray().tolist()
    [[0, 1], [1, 0]]
    >>> learner.predict_proba([[2.0]]).round(2)
    array([[0.5, 0.5]])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **ESTIMATOR,
        **PRUNING,
        "decide": [StrOptions({"joint", "marginal"})],
    }

    def __init__(
        self,
        estimator: Any,
        *,
        pruning_threshold: int = 1,
        reintroduce: str | None = "a",
        limit: int = 2,
        decide: str = "joint",
    ):
        self.estimator = estimator
        self.pruning_threshold = pruning_threshold
        self.reintroduce = reintroduce
        self.limit = limit
        self.decide = decide

    def _fit(self, X: Any, Y: LabelMatrix, **params: Any) -> None:
        self.model_ = LabelSetModel.fit(
            self.estimator,
            X,
            Y,
            self._score_method(),
            params,
            pruning=self.pruning_threshold,
            reintroduce=self.reintroduce,
            limit=self.limit,
        )
        self.sets_ = self.model_.sets

    def _scores(self, X: Any) -> NDArray[np.floating]:
        return self.model_.label_scores(X)

    def _predict(self, X: Any) -> NDArray[np.bool_]:
        return super()._predict(X) if self.decide == "marginal" else self.model_.best_sets(X)
