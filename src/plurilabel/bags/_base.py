"""The door of the learners of bags: X is read as bags, and answers can be explained."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import validate_data

from plurilabel._core.base import LabelMatrix, MultiLabelClassifier
from plurilabel._core.blocks import dense
from plurilabel._core.data.bags import Bags, is_bags
from plurilabel._core.explanation.contributions import Given
from plurilabel.bags._explain import BagExplanation, explain_bags


def validated_bags(estimator: Any, X: Any, *, reset: bool) -> Bags | None:
    """X as bags, with the number of features checked; None if X does not consist of bags."""
    if not is_bags(X):
        return None
    bags = X if isinstance(X, Bags) else Bags(X)
    if len(bags) == 0:
        raise ValueError(
            f"Found 0 bags (0 sample(s)) while a minimum of 1 is required by "
            f"{type(estimator).__name__}."
        )
    if reset:
        validate_data(estimator, bags, reset=True, skip_check_array=True)
        if bags.feature_names is not None:
            estimator.feature_names_in_ = np.array(bags.feature_names, dtype=object)
        return bags
    if bags.shape[1] != estimator.n_features_in_:
        raise ValueError(
            f"X has {bags.shape[1]} features, but {type(estimator).__name__} is expecting "
            f"{estimator.n_features_in_} features as input"
        )
    names = getattr(estimator, "feature_names_in_", None)
    given = bags.feature_names
    if names is not None and given is not None and list(names) != list(given):
        raise ValueError(
            "the features of X must have the names that they had in fit, in the same order: "
            f"{', '.join(names)}, got {', '.join(given)}"
        )
    return bags


class BagClassifier(MultiLabelClassifier):
    """What the learners of bags share.

    X is a :class:`Bags`, or anything that makes one: a list of matrices or an array of shape
    (n, m, d). The rows of a matrix (n, d) are bags of one instance. The hooks of a learner get
    :class:`Bags`.
    """

    def _validate_X(self, X: Any, *, reset: bool) -> Bags:
        bags = validated_bags(self, X, reset=reset)
        if bags is None:
            bags = Bags.from_rows(super()._validate_X(X, reset=reset))
        return bags

    def _explain(self, X: Bags, given: Given) -> list[BagExplanation]:
        """Which instance of a bag speaks for which label."""
        del given  # instances are left out as wholes
        return explain_bags(self, X)


def as_targets(Y: LabelMatrix) -> NDArray[np.float64]:
    """Labels as -1 and 1, (n, q)."""
    return 2.0 * dense(Y) - 1


def with_constants(scores: NDArray[np.float64], constant: NDArray[np.float64]) -> Any:
    """Scores with those of the labels that all (1) or no (-1) training bags have put in place."""
    known = constant != 0
    scores[:, known] = constant[known]
    return scores


def constants_of(Y: LabelMatrix) -> NDArray[np.float64]:
    """For each label 1 if all bags have it, -1 if none has, else 0."""
    n_l = np.asarray(Y.sum(axis=0, dtype=np.int64)).ravel()
    return np.where(n_l == 0, -1.0, np.where(n_l == Y.shape[0], 1.0, 0.0))
