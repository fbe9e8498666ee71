"""Small problems for the tests of the transformations, and a base estimator for them."""

import numpy as np
from hypothesis import strategies as st
from sklearn.naive_bayes import GaussianNB

BASE = GaussianNB(var_smoothing=1e-2)


@st.composite
def problems(draw):
    """Small problems; labels may be constant, and equal to each other."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, d, q = draw(st.integers(6, 14)), draw(st.integers(1, 3)), draw(st.integers(1, 4))
    X = rng.normal(size=(n, d)).round(2)
    Y = (X @ rng.normal(size=(d, q)) + rng.normal(size=q) + rng.normal(size=(n, q)) > 0).astype(
        int
    )
    if q > 1 and draw(st.booleans()):
        Y[:, -1] = draw(st.sampled_from([0, 1, 2]))
        Y[:, -1] = Y[:, 0] if Y[0, -1] == 2 else Y[:, -1]
    return X, Y, rng.normal(size=(3, d)).round(2), rng.permutation(q)


def made(n, d, q):
    rng = np.random.default_rng(n + q)
    X = rng.normal(size=(n, d))
    Z = X @ rng.normal(size=(d, q)) + 0.5 * rng.normal(size=(n, q))
    Y = (Z > 0.3).astype(int)
    Y[:, -1] ^= Y[:, 0]  # dependence between labels
    return X, Y


def positive():
    """Forty instances with positive features; each label occurs."""
    rng = np.random.default_rng(5)
    X = np.abs(rng.normal(size=(40, 3))) + 0.5
    Y = (X @ rng.normal(size=(3, 4)) + 0.3 * rng.normal(size=(40, 4)) > 0.2).astype(int)
    Y[:4] = np.eye(4)
    return X, Y
