"""What training needs of torch: the import, the device, mini-batches, states of optimizers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from plurilabel._core.base import LabelMatrix

CHUNK = 2**22
"""Entries of X or Y that are gathered at once, to be split into batches."""


def import_torch(who: str) -> Any:
    """The module torch, or an error that names the extra."""
    try:
        import torch
    except ImportError as error:
        raise ImportError(f"{who} needs torch: pip install 'plurilabel[torch]'") from error
    return torch


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

    def __init__(
        self, torch: Any, X: Any, Y: LabelMatrix, scaler: Any, device: Any, weight: Any = None
    ):
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

    def __call__(self, order: NDArray[np.intp], size: int) -> Iterator[tuple[Any, Any, Any]]:
        widest = max(self.X.shape[1], self.Y.shape[1])
        chunk = max(1, CHUNK // (widest * size)) * size
        for start in range(0, len(order), chunk):
            rows = order[start : start + chunk]
            x = self._rows(self.X, rows)
            y = self._rows(self.Y, rows).to(self.torch.float32)
            if sparse.issparse(self.X):
                x -= self.shift
            w = [None] * -(-len(rows) // size)
            if self.weight is not None:
                weight = self._rows(self.weight, rows)
                w = (weight + 1 if sparse.issparse(self.weight) else weight).split(size)
            yield from zip(x.split(size), y.split(size), w)

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
    """What an optimizer remembers of each parameter, without torch's types."""
    return {
        number: {
            key: value.cpu().numpy().copy() if hasattr(value, "cpu") else value
            for key, value in memory.items()
        }
        for number, memory in optimizer.state_dict()["state"].items()
    }


def load_state(torch: Any, optimizer: Any, state: dict[int, dict[str, Any]]) -> None:
    """Restore in an optimizer what ``state_of`` returned."""
    tensors = {
        number: {
            key: torch.from_numpy(value.copy()) if isinstance(value, np.ndarray) else value
            for key, value in memory.items()
        }
        for number, memory in state.items()
    }
    optimizer.load_state_dict({**optimizer.state_dict(), "state": tensors})
