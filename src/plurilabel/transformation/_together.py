"""Labels that need no model of their own: those without doubt, and those learned together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.linear_model import RidgeClassifier
from sklearn.neighbors import KNeighborsClassifier, RadiusNeighborsClassifier

from plurilabel.metrics import score_matrix


class Always:
    """Stands for a binary model whose answer training leaves no doubt about.

    Parameters
    ----------
    present : bool
        Whether all n training instances had the label, or none.
    n : int
    """

    def __init__(self, present: bool, n: int):
        self.present = present
        self.n = n

    def score(self, method: str) -> float:
        """Probability 0 or 1; as a decision value the log-odds if half an instance disagreed.

        These, -+ log(2 n + 1), lie beyond the usual range of margins, so that a label never seen
        ranks last, and are small enough to be averaged and fitted.
        """
        if method == "predict_proba":
            return float(self.present)
        return float(np.log(2 * self.n + 1)) * (1 if self.present else -1)


def learns_together(estimator: Any) -> bool:
    """Whether one fit of all labels gives the same as a fit of each, and costs as much as one.

    So with neighbours, where the search is the work, and with ridge regression, where the
    factorised matrix is.
    """
    if type(estimator) is RidgeClassifier:
        return estimator.class_weight is None
    return type(estimator) in (KNeighborsClassifier, RadiusNeighborsClassifier)


class Together:
    """One model of all labels that vary.

    Attributes
    ----------
    model : fitted classifier of several labels, or None if no label varies
    constant : list
        An ``Always`` for each label that does not vary, None for the others.
    """

    def __init__(self, model: Any, constant: list[Always | None]):
        self.model = model
        self.constant = constant

    @classmethod
    def fit(
        cls, estimator: Any, X: Any, Y: NDArray[np.int8], params: Mapping[str, Any]
    ) -> Together:
        """Train a clone of the estimator on the labels that vary."""
        n, present = len(Y), Y.sum(axis=0, dtype=np.int64)
        constant = [Always(p > 0, n) if p in (0, n) else None for p in present.tolist()]
        vary = np.flatnonzero((present > 0) & (present < n))
        if len(vary) == 0:
            return cls(None, constant)
        labels = Y[:, vary].astype(np.int64)
        labels = labels.ravel() if len(vary) == 1 else labels
        return cls(clone(estimator).fit(X, labels, **params), constant)

    def __len__(self) -> int:
        return len(self.constant)

    def scores(self, X: Any, method: str) -> NDArray[np.floating]:
        """Score of each label, shape (n, q)."""
        scores = np.empty((X.shape[0], len(self.constant)))
        for l, always in enumerate(self.constant):
            if always is not None:
                scores[:, l] = always.score(method)
        vary = [l for l, always in enumerate(self.constant) if always is None]
        if vary:
            output = getattr(self.model, method)(X)
            scores[:, vary] = score_matrix(output, n_labels=len(vary))
        return scores
