"""Training a network: weights as arrays and as a torch module, mini-batches, devices."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import expit

Weights = list[NDArray[np.float32]]
ACTIVATIONS: dict[str, Callable[[Any], Any]] = {
    "identity": lambda h: h,
    "logistic": lambda h: expit(h, out=h),
    "tanh": lambda h: np.tanh(h, out=h),
    "relu": lambda h: np.maximum(h, 0, out=h),
}
SLOPES: dict[str, Callable[[Any], Any]] = {  # of the activations where their value is y
    "identity": np.ones_like,
    "logistic": lambda y: y * (1 - y),
    "tanh": lambda y: 1 - y * y,
    "relu": lambda y: (y > 0).astype(y.dtype),
}
TORCH_NAMES = {"logistic": "Sigmoid", "tanh": "Tanh", "relu": "ReLU"}


def initial_weights(sizes: Sequence[int], rng: np.random.RandomState) -> tuple[Weights, Weights]:
    """Random weights (inputs, outputs) after Glorot and Bengio, and zero biases, of each layer."""
    W = []  # drawn by numpy, so that a seed means the same network on every device
    for fan_in, fan_out in pairwise(sizes):
        bound = np.sqrt(6.0 / (fan_in + fan_out))
        W.append(rng.uniform(-bound, bound, size=(fan_in, fan_out)).astype(np.float32))
    return W, [np.zeros(size, dtype=np.float32) for size in sizes[1:]]


def mean_slopes(
    coefs: Weights, intercepts: Weights, points: NDArray[np.float64], activation: str, last: str
) -> NDArray[np.float64]:
    """Slopes of the outputs by the inputs (d, q), averaged over points (steps, d)."""
    W = [w.astype(np.float64) for w in coefs]
    h, slopes = points @ W[0] + intercepts[0], []
    for w, b in zip(W[1:], intercepts[1:]):
        h = ACTIVATIONS[activation](h)
        slopes.append(SLOPES[activation](h))
        h = h @ w + b
    c = ACTIVATIONS[last](h)
    back = np.eye(c.shape[1]) * SLOPES[last](c)[:, np.newaxis, :]
    for w, slope in zip(W[:0:-1], slopes[::-1]):
        back = (back @ w.T) * slope[:, np.newaxis, :]  # (steps, q, units)
    return W[0] @ back.mean(axis=0).T


def as_module(torch: Any, W: Weights, b: Weights, *, activation: str, last: str) -> Any:
    """The same network as a ``torch.nn.Sequential`` that holds copies of the weights."""
    from plurilabel.learners.neural._layers import Layers

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


CHUNK = 2**22  # entries of X or Y that are gathered at once, to be split into batches


def choose_device(torch: Any, device: str) -> Any:
    """The device of that name; "auto" is a CUDA device if there is one, else the CPU."""
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        torch.empty(0, device=device)
    except (AssertionError, RuntimeError) as error:
        reason = str(error).split("\n")[0]
        raise ValueError(
            f'device must be "auto" or a device that torch can use, got {device!r}: {reason}'
        ) from error
    return torch.device(device)


class Batches:
    """Rows of X and Y on a device; call with an order and a size to get batches.

    Dense matrices go to the device once. Sparse ones stay sparse here, and only a chunk of rows at
    a time is made dense. A chunk is gathered at once: for small networks, a gather for each batch
    would cost as much as a layer. ``weight`` (n, q) is that of each label in the error; a sparse
    one has the weights less 1.
    """

    def __init__(self, torch: Any, X: Any, Y: Any, scaler: Any, device: Any, weight: Any = None):
        mean, scale = scaler.mean_, scaler.scale_
        self.torch, self.device = torch, device
        if sparse.issparse(X):
            data = (X.data / scale[X.indices]).astype(np.float32)
            self.X: Any = sparse.csr_array((data, X.indices, X.indptr), shape=X.shape)
            self.shift = self._tensor((mean / scale).astype(np.float32))
        else:
            Z = X - mean
            Z /= scale
            self.X = self._tensor(Z.astype(np.float32))
        self.Y = Y if sparse.issparse(Y) else self._tensor(Y)
        self.weight = weight
        if weight is not None and not sparse.issparse(weight):
            self.weight = self._tensor(weight)

    def __call__(self, order: NDArray[np.intp], size: int) -> Iterator[tuple[Any, ...]]:
        """Batches of x and y, and of the weights if there are any."""
        widest = max(self.X.shape[1], self.Y.shape[1])
        chunk = max(1, CHUNK // (widest * size)) * size
        for start in range(0, len(order), chunk):
            rows = order[start : start + chunk]
            x = self._rows(self.X, rows)
            y = self._rows(self.Y, rows).to(self.torch.float32)
            if sparse.issparse(self.X):
                x -= self.shift
            parts = [x, y]
            if self.weight is not None:
                weight = self._rows(self.weight, rows)
                parts.append(weight + 1 if sparse.issparse(self.weight) else weight)
            yield from zip(*(part.split(size) for part in parts))

    def _rows(self, matrix: Any, rows: NDArray[np.intp]) -> Any:
        if sparse.issparse(matrix):
            return self._tensor(matrix[rows].toarray())
        return matrix.index_select(0, self._tensor(rows))

    def _tensor(self, array: NDArray[Any]) -> Any:
        # from_numpy warns about read-only arrays, though nothing here writes
        if not array.flags.writeable:
            array = array.copy()
        return self.torch.from_numpy(array).to(self.device)


def state_of(optimizer: Any) -> dict[int, dict[str, Any]]:
    """The state of an optimizer for each parameter, without torch's types."""
    return {
        number: {
            key: value.cpu().numpy().copy() if hasattr(value, "cpu") else value
            for key, value in memory.items()
        }
        for number, memory in optimizer.state_dict()["state"].items()
    }


def load_state(torch: Any, optimizer: Any, state: dict[int, dict[str, Any]]) -> None:
    """Restore in an optimizer what ``state_of`` returned, if there is anything."""
    if not state:
        return
    tensors = {
        number: {
            key: torch.from_numpy(value.copy()) if isinstance(value, np.ndarray) else value
            for key, value in memory.items()
        }
        for number, memory in state.items()
    }
    optimizer.load_state_dict({**optimizer.state_dict(), "state": tensors})
