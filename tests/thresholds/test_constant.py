import numpy as np

from plurilabel import ConstantCut


def test_constant_is_strict():
    scores, Y = np.array([[0.5, 0.6], [0.4, 0.5]]), np.array([[1, 0], [0, 1]])
    assert ConstantCut(0.5).fit(None, Y).predict(scores).tolist() == [[0, 1], [0, 0]]


def test_float32_scores_are_compared_in_float64():
    scores = np.array([[0.1]], dtype=np.float32)  # a little above the float64 number 0.1
    assert ConstantCut(0.1).fit(None, [[1]]).predict(scores).tolist() == [[1]]
    assert ConstantCut(float(scores[0, 0])).fit(None, [[1]]).predict(scores).tolist() == [[0]]
