"""ADWIN with a plain state, which can be stored in a model file."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import log, sqrt
from typing import Any

import numpy as np


@dataclass(eq=False, repr=False)
class ADWIN:
    """Adaptive windowing: a drift detector with the longest window of constant mean.

    It finds the same drifts as :class:`river.drift.ADWIN`, whose compiled state cannot be stored
    in a model file.

    Parameters
    ----------
    delta : float, default=0.002
        Probability of a false alarm, at most.
    clock : int, default=32
        Number of values between two checks.
    max_buckets : int, default=5
        Maximum number of buckets of each size; if there are more, two are merged.
    min_window_length : int, default=5
        Minimum number of values on both sides of a drift.
    grace_period : int, default=10
        Number of values before the first check.

    Attributes
    ----------
    drift_detected : bool
        Whether the last value revealed a drift.
    width : int
        Number of values in the window.

    Notes
    -----
    The window consists of buckets of 1, 2, 4, ... values, each with their sum and variance. If the
    means of an older and a newer part differ significantly, the oldest bucket is dropped.

    References
    ----------
    A. Bifet, R. Gavalda. Learning from time-changing data with adaptive windowing. SDM 2007.

    Examples
    --------
    >>> from plurilabel.streams import ADWIN
    >>> detector = ADWIN()
    >>> [i for i in range(400) if detector.update(float(i >= 200)).drift_detected]
    [223]
    """

    delta: float = 0.002
    clock: int = 32
    max_buckets: int = 5
    min_window_length: int = 5
    grace_period: int = 10

    def __post_init__(self) -> None:
        self._reset()

    def _reset(self) -> None:
        self.drift_detected = False
        self.width = self.ticks = 0
        self.total = self.variance = 0.0
        # by size: sums and variances of the buckets with 2 ** level values, oldest first
        self.levels: list[list[tuple[float, float]]] = [[]]

    def clone(self) -> ADWIN:
        """A new detector with the same parameters."""
        return replace(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> ADWIN:
        same = self.clone()
        vars(same).update(vars(self), levels=[held.copy() for held in self.levels])
        return same

    def __getstate__(self) -> dict[str, Any]:
        buckets = [(level, *pair) for level, held in enumerate(self.levels) for pair in held]
        state = {name: value for name, value in vars(self).items() if name != "levels"}
        return {**state, "buckets": np.array(buckets).reshape(-1, 3)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        buckets = np.asarray(state["buckets"], dtype=np.float64)
        numbers = [value for name, value in state.items() if name != "buckets"]
        if state.keys() != _STATE or not np.isfinite([*numbers, *buckets.ravel()]).all():
            raise ValueError("an ADWIN must have finite numbers")
        levels, most = buckets[:, 0], 63
        if not ((levels >= 0) & (levels <= most)).all() or state["clock"] < 1:
            raise ValueError("an ADWIN must have buckets of 1, 2, 4, ... values")
        vars(self).update({name: value for name, value in state.items() if name != "buckets"})
        self.levels = [
            [(total, variance) for _, total, variance in buckets[levels == level].tolist()]
            for level in range(int(levels.max(initial=0)) + 1)
        ]

    def update(self, value: float) -> ADWIN:
        """Add a value, and check for a drift if it is time."""
        if self.drift_detected:
            self._reset()
        if self.width:
            away = value - self.total / self.width
            self.variance += self.width * away * away / (self.width + 1)
        self.width += 1
        self.total += value
        self.levels[0].append((value, 0.0))
        self._merge()
        self.ticks += 1
        if self.ticks % self.clock == 0 and self.width > self.grace_period:
            while self._differs():
                self.drift_detected = True
                self._drop()
        return self

    def _merge(self) -> None:
        for level, held in enumerate(self.levels):
            if len(held) <= self.max_buckets:
                return
            (a, of_a), (b, of_b) = held[:2]
            del held[:2]
            if level + 1 == len(self.levels):
                self.levels.append([])
            n = 2.0**level
            between = n * n * (a / n - b / n) ** 2 / (n + n)
            self.levels[level + 1].append((a + b, of_a + of_b + between))

    def _drop(self) -> None:
        """Drop the oldest bucket."""
        total, variance = self.levels[-1].pop(0)
        n = 2 ** (len(self.levels) - 1)
        self.width -= n
        self.total -= total
        away = total / n - self.total / self.width
        self.variance -= variance + n * self.width * away * away / (n + self.width)
        while len(self.levels) > 1 and not self.levels[-1]:
            self.levels.pop()

    def _differs(self) -> bool:
        """Whether the mean of an older part differs from that of the rest."""
        n, total, fewest = 0.0, 0.0, max(self.min_window_length, 1)
        if self.width < 2 * fewest:
            return False
        spread = self.variance / self.width
        chance = log(2 * log(self.width) / self.delta)
        if spread * chance < 0:  # rounded to less than 0, after many values were dropped
            return False
        for level in range(len(self.levels) - 1, -1, -1):
            for part, _ in self.levels[level]:
                n, total = n + 2.0**level, total + part
                rest = self.width - n
                if n < fewest or rest < fewest:
                    continue
                inverse = 1 / (n - fewest + 1) + 1 / (rest - fewest + 1)
                bound = sqrt(2 * inverse * spread * chance) + 2 / 3 * chance * inverse
                if abs(total / n - (self.total - total) / rest) > bound:
                    return True
        return False


_STATE = {*vars(ADWIN()), "buckets"} - {"levels"}
