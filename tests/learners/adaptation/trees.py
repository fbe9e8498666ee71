"""Data and learners that the tests of trees and forests share."""

import numpy as np

from plurilabel import MLDecisionTree, MLRandomForest

LEARNERS = [
    MLDecisionTree(),
    MLDecisionTree(criterion="gini", max_depth=5),
    MLRandomForest(10),
    MLRandomForest(10, criterion="gini", extra_trees=True, n_jobs=2),
]


def columns(lists):
    """scikit-learn's list of probabilities, one array per label, as a matrix (n, q)."""
    return np.column_stack([found[:, 1] for found in lists])


def data(n, d, q):
    rng = np.random.default_rng(n)
    X = rng.normal(size=(n, d))
    Y = (X @ rng.normal(size=(d, q)) + rng.normal(size=(n, q)) > 0.7).astype(int)
    return X, Y, rng
