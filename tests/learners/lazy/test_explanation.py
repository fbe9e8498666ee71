"""Neighbours for and against each label."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from plurilabel import MLkNN


def test_explain_names_the_neighbours():
    X = np.array([[0.0], [0.1], [0.2], [1.0], [1.1], [1.2]])
    pd = pytest.importorskip("pandas")
    Y = pd.DataFrame({"low": [1, 1, 1, 0, 0, 0], "high": [0, 0, 0, 1, 1, 1]})
    (case,) = MLkNN(2).fit(X, Y).explain([[0.04]])
    vote = case["low"]
    assert vote.neighbors_for.tolist() == [0, 1] and vote.neighbors_against.tolist() == []
    assert_allclose(vote.distances_for, [0.04, 0.06])
    assert_allclose(vote.odds, vote.posterior / (1 - vote.posterior))
    assert case[1].neighbors_against.tolist() == [0, 1]
    text = str(case)
    assert text.splitlines()[1].startswith("low") and "0 (0.04), 1 (0.06)" in text
