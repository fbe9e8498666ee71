"""Soft labels in networks: the expected error by enumeration, and training with it."""

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from plurilabel import BPMLL
from plurilabel.metrics import ranking_loss

torch = pytest.importorskip("torch")

from plurilabel.learners.neural._losses import ERRORS, error_and_slope  # noqa: E402

LOSSES = ["bpmll", "squared", "cross-entropy", "asymmetric"]


def problem(n=60, q=3):
    rng = np.random.default_rng(0)
    X = rng.random((n, 3))
    return X, np.round(np.clip(X[:, :q] + rng.normal(0, 0.1, (n, q)), 0, 1), 1)


@pytest.mark.parametrize("loss", LOSSES)
def test_slope_of_the_expected_error(loss):
    """Errors that are sums over labels: expected ones differ by a constant at most."""
    rng = np.random.default_rng(1)
    scores = torch.tensor(rng.uniform(-1, 1, (2, 3)))
    p = torch.tensor([[0.3, 1.0, 0.5], [0.0, 0.2, 0.9]], dtype=torch.float64)
    _, slope = error_and_slope("soft bpmll" if loss == "bpmll" else loss, scores, p)
    expected = np.zeros((2, 3))
    c = scores.numpy()
    for i in range(2):
        if loss == "bpmll":
            P, N = p[i].numpy(), 1 - p[i].numpy()
            for k, l in product(range(3), repeat=2):
                e = P[k] * N[l] * np.exp(-(c[i, k] - c[i, l])) / (P.sum() * N.sum())
                expected[i, k] -= e
                expected[i, l] += e
            continue
        for y in product((0, 1), repeat=3):
            probability = np.prod(np.where(np.array(y) == 1, p[i], 1 - p[i]))
            hard = torch.tensor([y], dtype=torch.float64)
            expected[i] += probability * error_and_slope(loss, scores[[i]], hard)[1].numpy()[0]
    assert_allclose(slope, expected / 2)


def test_certain_labels_have_the_same_error():
    scores = torch.tensor([[0.3, -0.2, 0.5], [0.1, 0.2, 0.3]])
    targets = torch.tensor([[1.0, 0, 0], [0, 1, 1]])
    assert_allclose(ERRORS["soft bpmll"](scores, targets), ERRORS["bpmll"](scores, targets))


@pytest.mark.parametrize("loss", LOSSES)
def test_training(loss):
    X, P = problem()
    learner = BPMLL(
        (8,), loss=loss, max_iter=60, batch_size=6, learning_rate_init=0.1, random_state=0
    )
    scores = learner.fit(X, P).decision_function(X)
    assert ranking_loss(P, scores) < 0.4  # 0.5 by chance; labels are uncertain
    assert ranking_loss((P > 0.7).astype(int), scores) < 0.1
    assert_array_equal(learner.fit(X, sparse.csr_array(P)).decision_function(X), scores)
    # labels of 0 and 1 give the same network as integers
    Y = (P > 0.5).astype(int)
    one, two = (
        learner.set_params(max_iter=2).fit(X, y).decision_function(X) for y in (Y, 1.0 * Y)
    )
    assert_array_equal(one, two)


def test_more_ways_to_train():
    X, P = problem()
    learner = BPMLL((4,), max_iter=3, early_stopping=True, label_weight="balanced", random_state=0)
    learner.fit(X, np.full(P.shape, 0.5)).predict(X)
    learner.partial_fit(X, P).partial_fit(X, (P > 0.5).astype(int))
    P[0, 0] = np.nan
    assert np.isfinite(learner.fit(X, P).decision_function(X)).all()
