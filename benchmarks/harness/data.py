"""Generated data that the groups share: it grows in n, d and q as they ask."""

from __future__ import annotations

import os
from typing import Any

import numpy as np


def generated(n: int, d: int, q: int, *, cardinality: float = 3.0, seed: int = 0) -> tuple:
    """Rows around 50 centres; each centre favours some labels."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(50, d))
    which = rng.integers(0, 50, n)
    X = (centres[which] + rng.normal(size=(n, d))).astype(np.float32).astype(np.float64)
    favour = rng.random((50, q)) ** 4
    favour *= min(cardinality, q / 2) / favour.sum(axis=1, keepdims=True)
    return X, (rng.random((n, q)) < favour[which]).astype(np.int8)


def scored(n: int, q: int, *, seed: int = 0) -> tuple:
    """Labels, about three to a row, and scores that know something of them."""
    rng = np.random.default_rng(seed)
    Y = (rng.random((n, q)) < rng.random(q) * 6 / q).astype(np.int8)
    Y[Y.sum(axis=1) == 0, 0] = 1  # empty sets are where the definitions differ
    scores = 1 / (1 + np.exp(3 - 2 * Y - rng.normal(size=(n, q))))
    return Y, scores


def has_real_data() -> bool:
    return bool(os.environ.get("PLURILABEL_DATA"))


def real(name: str) -> Any:
    from plurilabel import datasets

    return datasets.load(name)
