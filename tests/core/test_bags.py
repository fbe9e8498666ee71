"""What counts as bags."""

import numpy as np

from plurilabel._core.data.bags import is_bags


def test_bags_and_a_matrix():
    assert is_bags([np.zeros((2, 3)), np.zeros((1, 3))])
    assert not is_bags([[1.0, 2.0], [3.0, 4.0]])
