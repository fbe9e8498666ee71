"""Least squares where columns depend on each other, and the learners that rely on it."""

import numpy as np
import pytest

from plurilabel import INSDIF, MIMLNN, MIMLkNN
from plurilabel._core.least_squares import least_squares


@pytest.mark.parametrize("large", [False, True])
def test_least_norm_where_columns_depend_on_each_other(large):
    for seed in range(20):
        rng = np.random.default_rng(seed)
        A = rng.normal(size=(30, 4)) @ rng.normal(size=(4, 7))
        B = rng.normal(size=(30, 2))
        U, sizes, V = np.linalg.svd(A)
        expected = V[:4].T @ (U[:, :4].T @ B / sizes[:4, np.newaxis])
        np.testing.assert_allclose(least_squares(A, B, large=large), expected, atol=1e-8)


@pytest.mark.parametrize(
    "learner", [INSDIF(0.5), MIMLkNN(5, n_citers=7), MIMLNN(0.5, alpha=0.0)], ids=repr
)
def test_coefficients_are_not_those_of_rounding_errors(learner):
    """Rows occur three times and labels twice."""
    for seed in range(0, 25, 3):
        rng = np.random.default_rng(seed)
        half = (rng.random((15 + 3 * seed, 3)) < 0.4).astype(int)
        X = np.tile(rng.normal(size=half.shape) + half, (3, 1))
        Y = np.tile(np.repeat(half, 2, axis=1), (3, 1))
        if hasattr(learner, "random_state"):
            learner.random_state = seed
        assert abs(learner.fit(X, Y).coef_).max() < 1e3


def test_a_column_that_is_the_sum_of_others():
    A = np.array([[0.1, 0.2, 0.3], [0.7, 0.1, 0.8], [0.3, 0.3, 0.6], [0.2, 0.5, 0.7]])
    assert least_squares(A, A.sum(axis=1)).round(3).tolist() == [0.667, 0.667, 1.333]
