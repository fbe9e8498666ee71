"""expected_calibration_error against a loop over bins."""

import numpy as np
import pytest
from scipy import sparse

from plurilabel.metrics import expected_calibration_error


def twin(y, p, n_bins):
    total = 0.0
    for k in range(n_bins):
        low, high = k / n_bins, (k + 1) / n_bins
        inside = [i for i in range(len(p)) if low < p[i] <= high or (k == 0 and p[i] == 0)]
        if inside:
            distance = abs(np.mean([p[i] for i in inside]) - np.mean([y[i] for i in inside]))
            total += len(inside) / len(p) * distance
    return total


@pytest.mark.parametrize("n_bins", [1, 4, 10, 15])
def test_twin(n_bins):
    rng = np.random.default_rng(n_bins)
    P = rng.integers(0, 21, size=(60, 3)) / 20
    Y = (rng.uniform(size=P.shape) < P).astype(int)
    labels = [twin(Y[:, j], P[:, j], n_bins) for j in range(3)]
    each = expected_calibration_error(Y, P, n_bins=n_bins, average=None)
    np.testing.assert_allclose(each, labels, atol=1e-12)
    macro = expected_calibration_error(Y, P, n_bins=n_bins, average="macro")
    assert macro == pytest.approx(np.mean(labels))
    micro = expected_calibration_error(Y, P, n_bins=n_bins)
    assert micro == pytest.approx(twin(Y.ravel(), P.ravel(), n_bins))
    thin = expected_calibration_error(sparse.csr_array(Y), sparse.csr_array(P), n_bins=n_bins)
    assert thin == pytest.approx(micro)


def test_known_values():
    assert expected_calibration_error([[1], [0]], [[1.0], [0.0]]) == 0
    assert expected_calibration_error([[1], [0]], [[0.0], [1.0]]) == 1
    assert expected_calibration_error([[1], [0]], [[0.5], [0.5]]) == 0


def test_bad_input():
    with pytest.raises(ValueError, match="between 0 and 1, got 1.5"):
        expected_calibration_error([[1]], [[1.5]])
    with pytest.raises(ValueError, match="average must be"):
        expected_calibration_error([[1]], [[0.5]], average="mean")
    with pytest.raises(ValueError, match="n_bins must be"):
        expected_calibration_error([[1]], [[0.5]], n_bins=0)


def test_labels_that_are_not_known_are_left_out():
    rng = np.random.default_rng(0)
    P, Y = rng.random((50, 3)), rng.integers(0, 2, (50, 3)).astype(float)
    Y[rng.random(Y.shape) < 0.4] = np.nan
    Y[:, 2] = np.nan
    found = expected_calibration_error(Y, P, average=None)
    for j in (0, 1):
        rows = ~np.isnan(Y[:, j])
        alone = expected_calibration_error(Y[rows, j : j + 1], P[rows, j : j + 1])
        assert found[j] == pytest.approx(alone)
    assert np.isnan(found[2])
    macro = expected_calibration_error(Y, P, average="macro")
    assert macro == pytest.approx(found[:2].mean())
    rows, columns = np.nonzero(~np.isnan(Y))
    flat = expected_calibration_error(Y[rows, columns][:, None], P[rows, columns][:, None])
    assert expected_calibration_error(Y, P) == pytest.approx(flat)
    assert np.isnan(expected_calibration_error(Y[:, 2:], P[:, 2:]))
