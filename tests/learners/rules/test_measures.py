"""The three measures against loops."""

import numpy as np
import pytest

from plurilabel.learners import any_label, label_weight, top_label


def test_measures_by_loops():
    rng = np.random.default_rng(0)
    Y = rng.integers(0, 2, (40, 5))
    W = rng.integers(0, 4, (40, 5)).astype(float)
    W[:5] = 0
    top = anything = weight = 0.0
    for y, w in zip(Y.tolist(), W.tolist()):
        if sum(w):
            top += y[w.index(max(w))]
            anything += any(a and b for a, b in zip(y, w))
            weight += sum(b for a, b in zip(y, w) if a) / sum(w)
    assert top_label(Y, W) == pytest.approx(top / 40)
    assert any_label(Y, W) == pytest.approx(anything / 40)
    assert label_weight(Y, W) == pytest.approx(weight / 40)


@pytest.mark.parametrize("measure", [top_label, any_label, label_weight])
def test_bad_input(measure):
    with pytest.raises(ValueError, match=r"shape of Y_true, \(1, 2\), got \(1, 3\)"):
        measure([[0, 1]], [[0.1, 0.2, 0.3]])
    with pytest.raises(ValueError, match="must not be negative, got -0.5"):
        measure([[0, 1]], [[0.1, -0.5]])
    with pytest.raises(ValueError, match="only 0 and 1"):
        measure([[0, 2]], [[0.1, 0.5]])


def test_huge_and_tiny_weights():
    assert label_weight([[1, 1, 0]], [[1e308, 1e308, 1e308]]) == pytest.approx(2 / 3)
    assert label_weight([[1, 0]], [[5e-324, 5e-324]]) == 0.5
    assert label_weight([[1, 0], [1, 0]], [[0, 0], [1, 0]]) == 0.5
