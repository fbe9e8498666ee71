"""Data for the tests of the lazy learners."""

import numpy as np
from hypothesis import strategies as st


@st.composite
def problems(draw, spare=2):
    """Integer grids, so that equal distances and duplicates abound; rare and common labels.

    X, Y, three queries, and a k that leaves at least ``spare`` instances over.
    """
    seed = draw(st.integers(0, 2**32 - 1))
    n, d, q = draw(st.integers(4, 14)), draw(st.integers(1, 3)), draw(st.integers(1, 4))
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 4, size=(n, d)).astype(float)
    Y = (rng.random((n, q)) < rng.random(q)).astype(int)
    return X, Y, rng.integers(0, 5, size=(3, d)) / 1.0, draw(st.integers(1, n - spare))


def made(n, d, q):
    """X, Y and the generator they came from."""
    rng = np.random.default_rng(n)
    X = rng.normal(size=(n, d))
    Y = (X @ rng.normal(size=(d, q)) + rng.normal(size=(n, q)) > 1.0).astype(int)
    return X, Y, rng
