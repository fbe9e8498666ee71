"""The learning curve of a project, and what more answers would bring."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import KFold

from plurilabel.learners.lazy import MLkNN
from plurilabel.metrics import micro_f1
from plurilabel.serve.labeling._live import NEIGHBORS

FEWEST = 20  # answers for a learning curve
_FOLDS, _POINTS = 5, 6
_POWERS = (0.05, 0.25, 0.5, 1.0)

Floats = NDArray[np.float64]


def learning_curve(
    X: Any, Y: NDArray[np.int8], random_state: int = 0
) -> tuple[NDArray[np.intp], Floats, Floats] | None:
    """Micro F1 of ML-kNN by the number of answers, in cross-validation.

    Returns
    -------
    (sizes, f1, curves) or None
        The sizes (s,), the F1 (folds, s), and the limit, drop and power of a curve
        limit - drop * size ** -power through each fold (folds, 3); None with too few answers.
    """
    n = len(Y)
    if n < FEWEST or not Y.any():
        return None
    largest = n - -(-n // _FOLDS)
    sizes = np.unique(np.geomspace(max(8, largest // 8), largest, _POINTS).astype(int))
    f1 = np.zeros((_FOLDS, len(sizes)))
    rng = np.random.default_rng(random_state)
    for fold, (train, test) in enumerate(KFold(_FOLDS, shuffle=True, random_state=0).split(Y)):
        train = rng.permutation(train)
        for at, size in enumerate(sizes):
            rows = train[:size]
            learner = MLkNN(min(NEIGHBORS, size // 4)).fit(X[rows], Y[rows])
            f1[fold, at] = np.nan_to_num(micro_f1(Y[test], learner.predict(X[test])))
    curves = np.array([_power_law(sizes, values) for values in f1])
    return sizes, f1, curves


def _power_law(sizes: Any, values: Floats) -> tuple[float, float, float]:
    """limit, drop and power of the curve nearest to the last values, which never falls."""
    best, found = np.inf, (float(values[-1]), 0.0, 1.0)
    w = np.asarray(sizes, dtype=np.float64)  # later points count more
    for power in _POWERS:
        A = np.column_stack([np.ones(len(w)), -(w**-power)])
        (limit, drop), *_ = np.linalg.lstsq(A * w[:, np.newaxis], values * w, rcond=None)
        error = float((w**2 * (A @ (limit, drop) - values) ** 2).sum())
        if error < best and drop >= 0:
            best, found = error, (float(limit), float(drop), power)
    return found


def drawn(
    curve: tuple[Any, Floats, Floats], n: int, most: int, seconds: float | None
) -> dict[str, Any]:
    """Points with intervals: size, F1, low and high; now, and after another hour at this pace."""
    sizes, f1, curves = curve

    def point(size: int, values: Floats) -> list[float]:
        mean, half = values.mean(), 1.96 * values.std(ddof=1) / np.sqrt(len(values))
        return [size, *(round(float(v), 4) for v in (mean, mean - half, mean + half))]

    def expected(size: int) -> list[float]:
        limit, drop, power = curves.T
        return point(size, np.clip(limit - drop * size**-power, 0, 1))

    found: dict[str, Any] = {
        "points": [point(size, f1[:, i]) for i, size in enumerate(sizes.tolist())],
        "now": expected(n),
    }
    if seconds and n < most:
        found["hour"] = expected(min(most, n + max(1, round(3600 / seconds))))
    return found
