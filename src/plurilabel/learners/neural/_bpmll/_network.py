"""A network as plain arrays: activations, first weights, and its form as a torch module."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

Weights = list[NDArray[np.float32]]

ACTIVATIONS: dict[str, Callable[[Any], Any]] = {
    "identity": lambda h: h,
    "logistic": lambda h: expit(h, out=h),
    "tanh": lambda h: np.tanh(h, out=h),
    "relu": lambda h: np.maximum(h, 0, out=h),
}
SLOPES: dict[str, Callable[[Any], Any]] = {
    "identity": np.ones_like,
    "logistic": lambda y: y * (1 - y),
    "tanh": lambda y: 1 - y * y,
    "relu": lambda y: (y > 0).astype(y.dtype),
}
"""Slopes of the activations where their value is y."""

TORCH_NAMES = {"logistic": "Sigmoid", "tanh": "Tanh", "relu": "ReLU"}


def initial_weights(sizes: Sequence[int], rng: np.random.RandomState) -> tuple[Weights, Weights]:
    """Random weights (inputs, outputs) after Glorot and Bengio, and zero biases, of each layer.

    Drawn by numpy, so that a seed means the same network on every device.
    """
    W = []
    for fan_in, fan_out in pairwise(sizes):
        bound = np.sqrt(6.0 / (fan_in + fan_out))
        W.append(rng.uniform(-bound, bound, size=(fan_in, fan_out)).astype(np.float32))
    return W, [np.zeros(size, dtype=np.float32) for size in sizes[1:]]


def as_module(torch: Any, W: Weights, b: Weights, *, activation: str, last: str) -> Any:
    """The same network as a ``torch.nn.Sequential`` that holds copies of the weights."""
    from plurilabel.learners.neural._bpmll._layers import Layers

    layers: list[Any] = []
    for number, (W_l, b_l) in enumerate(zip(W, b), start=1):
        linear = torch.nn.utils.skip_init(torch.nn.Linear, *W_l.shape)
        with torch.no_grad():
            linear.weight.copy_(torch.from_numpy(W_l.T))
            linear.bias.copy_(torch.from_numpy(b_l))
        layers.append(linear)
        name = last if number == len(W) else activation
        if name != "identity":
            layers.append(getattr(torch.nn, TORCH_NAMES[name])())
    return Layers(*layers)


def from_module(module: Any) -> tuple[Weights, Weights]:
    """Weights and biases of such a module, as copies."""
    arrays = [p.detach().cpu().numpy() for p in module.parameters()]
    W = [np.array(array.T, order="C") for array in arrays[0::2]]
    return W, [np.array(array) for array in arrays[1::2]]
