"""After a sudden drift the adaptive learners are back soon; ML-kNN on all rows is not."""

from importlib.util import find_spec

import numpy as np
import pytest

from plurilabel import (
    MLHoeffdingTree,
    MLSAMPkNN,
    NeighborSubspaceEnsemble,
    StreamBinaryRelevance,
    StreamClassifierChain,
    StreamPrunedSets,
    WindowMLkNN,
)

BEFORE, AFTER, BLOCK = 750, 750, 250
ADAPTIVE = [MLSAMPkNN(), WindowMLkNN(window_size=500)]
if find_spec("river"):
    ADAPTIVE += [
        NeighborSubspaceEnsemble(4, random_state=0),
        StreamBinaryRelevance(),
        StreamClassifierChain(),
        StreamPrunedSets(),
        MLHoeffdingTree(),
        MLHoeffdingTree("mlknn"),
    ]


def sudden_drift(seed=0, d=6, q=4):
    """Labels are half-spaces, well apart; after a while they are the opposite ones."""
    rng = np.random.default_rng(seed)
    W = np.eye(d, q)
    X = rng.normal(size=(BEFORE + AFTER, d))
    X[:, :q] += 1.5 * np.sign(X[:, :q])
    Y = (X @ W > 0).astype(int)
    Y[BEFORE:] = 1 - Y[BEFORE:]
    return X, Y


def accuracy(learner):
    """The share of labels that were right before each row was learned, (blocks,)."""
    X, Y = sudden_drift()
    right = np.zeros(len(X))
    core = learner._new_core()
    rows = (dict(enumerate(x)) for x in X.tolist()) if learner._takes_dicts else X
    for i, (x, y) in enumerate(zip(rows, Y.astype(np.int8))):
        if i:
            right[i] = ((core.score(x) > 0.5) == y).mean()
        core.learn(x, y)
    return right.reshape(-1, BLOCK).mean(axis=1)


@pytest.mark.parametrize("learner", ADAPTIVE, ids=lambda learner: type(learner).__name__)
def test_back_within_a_thousand_rows(learner):
    found = accuracy(learner)
    level = found[BEFORE // BLOCK - 1]
    assert level > 0.9
    assert found[BEFORE // BLOCK] < level - 0.02  # the drift is noticed
    assert found[-1] > level - 0.02


def test_all_rows_are_too_many():
    found = accuracy(WindowMLkNN(window_size=BEFORE + AFTER))
    assert found[-1] < found[BEFORE // BLOCK - 1] - 0.1
