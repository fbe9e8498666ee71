"""Closed-form regressions of the labels, which the network reads beside them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky, solve_triangular
from scipy.spatial.distance import cdist

from benchmarks.prior_fitted.learner._weights import BINS, LARGEST, PENALTIES
from plurilabel._core.blocks import row_blocks

Floats = NDArray[np.floating]

LANDMARKS = 1024
"""Known rows that a kernel compares all rows with, at most."""


def regress(z: Floats, u: Floats, Y: Floats, rng: Any) -> Floats:
    """What kernel regressions say about every label and row, from the other known rows.

    ``z`` and ``u`` are standardized values and ranks of all rows (rows, features), the known ones
    first; ``Y`` (known rows, labels) has NaN where a label is unknown. The answers for known rows
    leave out the row itself. Returns (rows, labels, 2 * regressions): answers in standard
    deviations of a label, and the share of its variance that they explain.
    """
    m, told = len(Y), ~np.isnan(Y)
    frequency = (np.nansum(Y, axis=0) + 0.5) / (told.sum(axis=0) + 1)
    Y = np.where(told, Y - frequency, 0.0)
    weight = _relevance(u[:m], Y)
    places = np.sort(rng.permutation(m)[:LANDMARKS])
    found = np.empty((len(z), Y.shape[1], len(PENALTIES), 2))
    # linear, Gaussian, the same with weights on ranks, Laplace, the same with weights on ranks
    kinds: tuple[tuple[Floats, str, float], ...] = (
        (z, "linear", 0.0), (z, "sqeuclidean", 1.0), (u * np.sqrt(weight), "sqeuclidean", 2.0),
        (z, "cityblock", 2.0), (u * weight, "cityblock", 2.0),
    )  # fmt: skip
    for j, ((x, name, reach), penalty) in enumerate(zip(kinds, PENALTIES)):
        C = _compare(x[:m], x[places], name)
        mean = C.mean() + 1e-9
        C = _bell(C, mean, reach)
        A = C.T @ C + penalty * C[places]
        A[np.diag_indices_from(A)] += 1e-6 * A.diagonal().mean() + 1e-9
        root = cholesky(A, lower=True)
        B = solve_triangular(root, C.T, lower=True)
        worth = B @ Y
        own = np.square(B).sum(axis=0)[:, None]
        found[:m, :, j, 0] = (B.T @ worth - own * Y) / np.maximum(1 - own, 1e-3)
        worth = solve_triangular(root, worth, lower=True, trans="T")
        for part in row_blocks(len(x) - m, len(places), 2**22):
            rows = slice(m + part.start, m + part.stop)
            found[rows, :, j, 0] = _bell(_compare(x[rows], x[places], name), mean, reach) @ worth
        wrong = np.where(told, Y - found[:m, :, j, 0], 0.0)
        share = 1 - np.square(wrong).sum(axis=0) / (np.square(Y).sum(axis=0) + 1e-9)
        found[:, :, j, 1] = np.clip(share, -1, 1)
    found[..., 0] /= np.sqrt(frequency * (1 - frequency))[:, None]
    return np.clip(found, -LARGEST, LARGEST).reshape(len(z), Y.shape[1], -1)


def _compare(x: Floats, landmarks: Floats, name: str) -> Floats:
    if name == "linear":
        return x @ landmarks.T / x.shape[1]
    return cdist(x, landmarks, name)


def _bell(distance: Floats, mean: float, reach: float) -> Floats:
    return np.exp(-reach / mean * distance) if reach else distance


def _relevance(u: Floats, Y: Floats) -> Floats:
    """Weights of features, 1 in the mean: roots of what their intervals explain of the labels."""
    total = np.square(Y).sum(axis=0) + 1e-9
    interval = np.clip(((u / math.sqrt(3) + 1) / 2 * BINS + 1e-3).astype(int), 0, BINS - 1)
    share = np.zeros((u.shape[1], Y.shape[1]))
    for number in range(BINS):
        inside = (interval == number).astype(float)
        share += np.square(inside.T @ Y) / np.maximum(inside.sum(axis=0), 1)[:, None]
    mean = np.maximum(share / total - (BINS - 1) / len(u), 0).mean(axis=1)
    weight = np.sqrt(mean / (mean.mean() + 1e-9)) + 0.1
    return weight / weight.mean()
