"""Small random problems, with ties, empty and full sets, absent and constant labels."""

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse

SETTINGS = {"max_examples": 100, "deadline": None}
BITS = st.integers(0, 1)
VALUES = st.sampled_from([-2.0, -0.5, -0.0, 0.0, 0.25, 1.0, np.nextafter(1.0, 2.0)])
SHAPES = st.tuples(st.integers(1, 6), st.integers(1, 5))


@st.composite
def label_pairs(draw):
    """True and predicted labels."""
    shape = draw(SHAPES)
    return draw(arrays(int, shape, elements=BITS)), draw(arrays(int, shape, elements=BITS))


@st.composite
def scored(draw):
    """True labels, and scores from few values: many ties, both signs, both zeros."""
    shape = draw(SHAPES)
    return draw(arrays(int, shape, elements=BITS)), draw(arrays(float, shape, elements=VALUES))


@st.composite
def sparsely_scored(draw):
    """True labels, CSR scores, and the same scores dense with -inf where nothing is stored."""
    Y, F = draw(scored())
    stored = draw(arrays(bool, F.shape))
    r, c = np.nonzero(stored)
    indptr = np.concatenate([[0], np.cumsum(stored.sum(axis=1))])
    S = sparse.csr_array((F[r, c], c, indptr), shape=F.shape)
    return Y, S, np.where(stored, F, -np.inf)


def random_problem(n=300, q=7, seed=0, decimals=None, p=0.3):
    """Larger: labels, scores (rounded: ties) and predictions."""
    rng = np.random.default_rng(seed)
    Y = (rng.random((n, q)) < p).astype(int)
    F = rng.random((n, q)) * 0.7 + 0.3 * Y
    if decimals is not None:
        F = F.round(decimals)
    return Y, F, (F > 0.5).astype(int)


def near(value):
    """Equal but for rounding; NaN equals NaN."""
    return pytest.approx(value, nan_ok=True)
