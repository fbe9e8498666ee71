"""ImputedLabels: unknown labels are predicted before a learner sees them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.base import clone

from plurilabel._core.base import LabelMatrix, ProbabilisticClassifier, ScoringClassifier
from plurilabel._core.blocks import dense
from plurilabel._core.compat import HasMethods
from plurilabel._core.fitted import Declared, count
from plurilabel._core.limits import check_size
from plurilabel._core.unknown import UnknownLabels
from plurilabel.learners.lazy import MLkNN
from plurilabel.wrappers._wrapper import Wrapper


@dataclass(eq=False, repr=False)
class ImputedLabels(Wrapper, ProbabilisticClassifier, ScoringClassifier):
    """Train a learner that needs all labels although some are unknown.

    ``imputer`` learns from the known labels and predicts the unknown ones; ``estimator`` learns
    from the completed matrix. The estimator takes predicted labels for true ones: its
    probabilities are closer to 0 and 1 than they should be, and no better than the imputer's where
    most labels are unknown.

    If all labels are known, this is ``estimator`` alone.

    Parameters
    ----------
    estimator : classifier
        With ``predict_proba`` (scores are probabilities, cut at 0.5) or ``decision_function``
        (cut at 0).
    imputer : learner, default=None
        One with ``accepts_unknown_labels``; None is :class:`~plurilabel.MLkNN` with 10 neighbours.

    Attributes
    ----------
    estimator_ : fitted classifier
    imputer_ : fitted learner, or None if all labels were known
    n_imputed_ : int
        How many labels were predicted.

    Notes
    -----
    Sparse labels with a sparse mask are made dense for the imputation.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from plurilabel import ImputedLabels, LabelPowerset
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
    _fitted: ClassVar[Declared] = {"n_imputed_": count()}

    estimator: Any
    imputer: Annotated[Any, HasMethods(["fit", "predict"])] | None = None

    def _fit(self, X: Any, Y: LabelMatrix) -> None:
        self.imputer_: Any = None
        self.n_imputed_ = 0
        if isinstance(Y, UnknownLabels):
            Y = self._complete(X, Y)
        self.estimator_ = clone(self.estimator).fit(X, self._targets(Y))

    def _complete(self, X: Any, Y: UnknownLabels) -> Any:
        """The labels, unknown ones as the imputer predicts them."""
        n, q = Y.shape
        check_size(
            self, f"{n:,} instances and {q:,} labels", memory=12.0 * n * q,
            instead="BinaryRelevance, which learns from the known labels",
        )  # fmt: skip
        if self.imputer is not None and not getattr(self.imputer, "accepts_unknown_labels", False):
            raise ValueError(
                f"imputer must accept unknown labels, got {type(self.imputer).__name__}"
            )
        few = max(1, min(10, n - 1))
        imputer: Any = MLkNN(few) if self.imputer is None else clone(self.imputer)
        labels, unknown = dense(Y.Y), dense(Y.unknown)
        self.imputer_ = imputer.fit(X, UnknownLabels(labels, unknown))
        rows = np.flatnonzero(unknown.any(axis=1))
        guess = np.zeros(labels.shape, dtype=labels.dtype)
        guess[rows] = dense(self.imputer_.predict(X[rows]))
        self.n_imputed_ = Y.n_unknown
        full = np.where(unknown, guess, labels)
        return sparse.csr_array(full) if sparse.issparse(Y.Y) else full

    def _predict(self, X: Any) -> Any:
        return dense(self.estimator_.predict(X)).reshape(-1, self.n_labels_)
