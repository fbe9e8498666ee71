"""Random numbers for the prior: structure is drawn on the host, tables on the device."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor

T = TypeVar("T")


class Dice:
    """Two generators that are seeded together.

    Nothing drawn on the host is copied to the device, and nothing is read back: the device never
    waits.
    """

    def __init__(self, device: str | torch.device = "cpu", *seed: int):
        self.device = torch.device(device)
        self.generator = torch.Generator(self.device)
        self.seed(*seed)

    def seed(self, *seed: int) -> None:
        """Begin again from these numbers, such as the seed of a training and a step."""
        sequence = np.random.SeedSequence(seed)
        self.host = np.random.default_rng(sequence)
        self.generator.manual_seed(int(sequence.generate_state(1, np.uint32)[0]))

    def uniform(self, low: float, high: float) -> float:
        return float(self.host.uniform(low, high))

    def log_uniform(self, low: float, high: float) -> float:
        return math.exp(self.host.uniform(math.log(low), math.log(high)))

    def integer(self, low: int, high: int) -> int:
        """An integer from ``low`` to ``high``, both included."""
        return int(self.host.integers(low, max(low, high) + 1))

    def chance(self, probability: float) -> bool:
        return bool(self.host.random() < probability)

    def choose(self, options: Sequence[T]) -> T:
        return options[int(self.host.integers(len(options)))]

    def normal(self, *shape: int) -> Tensor:
        return torch.randn(shape, device=self.device, generator=self.generator)

    def flat(self, *shape: int) -> Tensor:
        """Uniform on [0, 1)."""
        return torch.rand(shape, device=self.device, generator=self.generator)

    def index(self, high: int, *shape: int) -> Tensor:
        return torch.randint(0, high, shape, device=self.device, generator=self.generator)

    def mask(self, probability: float, *shape: int) -> Tensor:
        return self.flat(*shape) < probability

    def order(self, tables: int, size: int) -> Tensor:
        """A permutation for each table, shape (tables, size)."""
        return self.flat(tables, size).argsort(1)
