import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.tree import DecisionTreeClassifier

from plurilabel import MetaLabeler


@pytest.mark.parametrize(
    ("model", "features"),
    [
        (None, "sorted"),
        (None, "scores"),
        (DecisionTreeClassifier(random_state=0), "sorted"),
        (Ridge(), "sorted"),
        (Ridge(), "scores"),
    ],
)
def test_metalabeler_learns_the_size(model, features):
    rng = np.random.default_rng(0)
    sizes = rng.integers(1, 4, 300)
    # labels of an instance score high, and the scores say how many there are
    scores = rng.random((300, 6)) * 0.1
    Y = np.zeros((300, 6), dtype=int)
    for i, r in enumerate(sizes):
        Y[i, rng.permutation(6)[:r]] = 1
    scores += Y * 0.5
    strategy = MetaLabeler(model, features=features).fit(scores[:200], Y[:200])
    predicted = strategy.predict(scores[200:])
    np.testing.assert_array_equal(predicted.sum(axis=1), sizes[200:])
    np.testing.assert_array_equal(predicted, Y[200:])


def test_metalabeler_with_one_size():
    strategy = MetaLabeler().fit([[0.1, 0.2], [0.2, 0.1]], [[1, 0], [0, 1]])
    assert strategy.estimator_ is None
    assert strategy.predict([[0.5, 0.4]]).tolist() == [[1, 0]]


def test_metalabeler_clips_a_regressor():
    scores, Y = np.array([[1.0, 1.0], [0.0, 0.0]]), [[1, 1], [0, 0]]
    strategy = MetaLabeler(Ridge(alpha=1e-6)).fit(scores, Y)
    assert strategy.predict([[9.0, 9.0], [-9.0, -9.0]]).tolist() == [[1, 1], [0, 0]]
