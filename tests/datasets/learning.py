"""Measures of generated data: whether it can be learned, how its labels depend."""

import numpy as np
from sklearn.metrics import f1_score

from plurilabel._core.blocks import dense


def micro_f1(data, learner):
    """Learn from one half, measure on the other; and the best constant label set beside it."""
    half = data.X.shape[0] // 2
    Y = dense(data.Y)
    predicted = learner.fit(data.X[:half], Y[:half]).predict(data.X[half:])
    constant = max(
        f1_score(Y[half:], np.tile(Y[:half].mean(axis=0) >= cut, (len(Y) - half, 1)),
                 average="micro", zero_division=0)
        for cut in np.unique(Y[:half].mean(axis=0))
    )  # fmt: skip
    return f1_score(Y[half:], predicted, average="micro", zero_division=0), constant


def mean_correlation(data):
    """Mean absolute correlation of the pairs of labels."""
    correlation = np.corrcoef(dense(data.Y).T)
    return abs(correlation[np.triu_indices_from(correlation, k=1)]).mean()
