"""Linear models asked without ceremony: the product with their weights, and no more.

Asked by its own method, each model would check X again, and go through a sparse X alone. The
answers here are the same, bit for bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.linear_model import LogisticRegression, Perceptron, RidgeClassifier, SGDClassifier
from sklearn.svm import LinearSVC

ENTRIES = 2**23
"""Weights put side by side at once: 64 megabytes."""


def is_linear(model: Any, method: str) -> bool:
    """Whether the scores of a binary model are known to be a product with its weights.

    Known are scikit-learn's own classes only: one derived from them may do as it likes.
    """
    if type(model) is LogisticRegression:
        # until scikit-learn 1.7 this made other probabilities of two classes
        return getattr(model, "multi_class", "auto") != "multinomial"
    others = (LinearSVC, Perceptron, RidgeClassifier, SGDClassifier)
    return method == "decision_function" and type(model) in others


def linear_scores(models: Sequence[Any], X: Any, method: str) -> NDArray[np.floating]:
    """Scores of y = 1, a column for each model, for X that has been checked.

    Only a sparse X gives the same to the last bit for several models as for each alone: BLAS
    rounds a product with many columns differently.
    """
    weights = np.vstack([np.atleast_2d(model.coef_) for model in models])
    values = X @ weights.T + np.concatenate([np.ravel(model.intercept_) for model in models])
    return expit(values) if method == "predict_proba" else values


def in_batches(labels: Sequence[int], n_features: int) -> list[Sequence[int]]:
    """So many labels at a time that the weights of their models stay small together."""
    step = max(1, ENTRIES // max(1, n_features))
    return [labels[start : start + step] for start in range(0, len(labels), step)]
