"""ImputedLabels: labels that are not known are predicted before a learner sees them."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import MetaEstimatorMixin, clone
from sklearn.utils import get_tags

from plurilabel._core.base import CUTS, LabelMatrix, ProbabilisticClassifier, ScoringClassifier
from plurilabel._core.blocks import dense
from plurilabel._core.compat import HasMethods
from plurilabel._core.fitted import Declared, count, one_of
from plurilabel._core.limits import check_size
from plurilabel._core.scores import score_method
from plurilabel._core.unknown import PartialLabels
from plurilabel.learners.lazy import MLkNN
from plurilabel.metrics import label_scores


class ImputedLabels(MetaEstimatorMixin, ProbabilisticClassifier, ScoringClassifier):
    """A learner that needs all labels, on labels of which some are not known.

    ``imputer`` learns from the known labels; what it predicts takes the place of those that are
    not known, and ``estimator`` learns from the completed matrix. No prediction is of a label
    that its model was trained on: the imputer has seen only labels that are known. The estimator
    takes predicted labels for true ones: its probabilities are closer to 0 and 1 than they should
    be, and no better than the imputer's where most labels are not known.

    If all labels are known, this is ``estimator`` alone.

    Parameters
    ----------
    estimator : classifier
        With ``predict_proba`` (scores are probabilities, cut at 0.5) or ``decision_function``
        (cut at 0).
    imputer : learner, default=None
        One with ``accepts_missing_labels``; None is :class:`~plurilabel.MLkNN` with ten
        neighbours, or as many as there are.

    Attributes
    ----------
    estimator_ : fitted classifier
    imputer_ : fitted learner, or None if all labels were known
    n_imputed_ : int
        How many labels were predicted.
    label_names_ : ndarray of shape (q,)

    Notes
    -----
    Sparse labels with a sparse mask are made dense for the imputation.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from plurilabel import LabelPowerset
    >>> from plurilabel import ImputedLabels
    >>> X = np.arange(8.0).reshape(-1, 1)
    >>> Y = np.array([[1, 0]] * 4 + [[0, 1]] * 4, dtype=float)
    >>> Y[1, 0] = Y[6, 1] = np.nan
    >>> learner = ImputedLabels(LabelPowerset(LogisticRegression())).fit(X, Y)
    >>> learner.n_imputed_
    2
    >>> learner.predict([[0.0], [7.0]])
    array([[1, 0],
           [0, 1]])
    """

    _learns_from_known = True
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "estimator": [
            HasMethods(["fit", "predict_proba"]),
            HasMethods(["fit", "decision_function"]),
        ],
        "imputer": [None, HasMethods(["fit", "predict"])],
    }
    _fitted: ClassVar[Declared] = {"base_method_": one_of(*CUTS), "n_imputed_": count()}

    def __init__(self, estimator: Any, imputer: Any = None):
        self.estimator = estimator
        self.imputer = imputer

    def _fit(self, X: Any, Y: LabelMatrix) -> None:
        self.base_method_ = score_method(self.estimator)
        self.imputer_: Any = None
        self.n_imputed_ = 0
        if isinstance(Y, PartialLabels):
            Y = self._complete(X, Y)
        if self.single_output_:
            Y = self.classes_[dense(Y).argmax(axis=1)]
        self.estimator_ = clone(self.estimator).fit(X, Y)

    def _complete(self, X: Any, Y: PartialLabels) -> Any:
        """The labels, those that are not known as the imputer predicts them."""
        n, q = Y.shape
        check_size(
            self, f"{n:,} instances and {q:,} labels", memory=12.0 * n * q,
            instead="BinaryRelevance, which learns from the known labels",
        )  # fmt: skip
        if self.imputer is not None and not getattr(self.imputer, "accepts_missing_labels", False):
            raise ValueError(
                "imputer must be a learner that accepts missing labels, "
                f"got {type(self.imputer).__name__}"
            )
        imputer: Any = (
            MLkNN(max(1, min(10, n - 1))) if self.imputer is None else clone(self.imputer)
        )
        labels, unknown = dense(Y.Y), dense(Y.unknown)
        self.imputer_ = imputer.fit(X, PartialLabels(labels, unknown))
        rows = np.flatnonzero(unknown.any(axis=1))
        guess = np.zeros(labels.shape, dtype=labels.dtype)
        guess[rows] = dense(self.imputer_.predict(X[rows]))
        self.n_imputed_ = Y.n_unknown
        full = np.where(unknown, guess, labels)
        return sparse.csr_array(full) if sparse.issparse(Y.Y) else full

    def _scores(self, X: Any) -> NDArray[np.floating]:
        if self.single_output_:
            return _by_class(getattr(self.estimator_, self.base_method_)(X), len(self.classes_))
        return dense(label_scores(self.estimator_, X, n_labels=self.n_labels_))

    def _predict(self, X: Any) -> Any:
        return dense(self.estimator_.predict(X)).reshape(X.shape[0], -1)

    def _score_method(self) -> str:
        fitted = getattr(self, "base_method_", None)
        return score_method(self.estimator) if fitted is None else fitted

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.input_tags.sparse = inner.input_tags.sparse
        tags.input_tags.pairwise = inner.input_tags.pairwise
        tags.non_deterministic = inner.non_deterministic
        return tags


def _by_class(scores: Any, n_classes: int) -> NDArray[np.floating]:
    """A column for each class of a 1-D y."""
    scores = np.asarray(scores)
    if scores.ndim == 1:
        return np.column_stack([-scores, scores])
    return scores.reshape(len(scores), n_classes)
