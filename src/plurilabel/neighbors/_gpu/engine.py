"""The engine of :class:`~plurilabel.ExactIndex` that searches on a GPU, and tensors for it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import torch
from scipy import sparse

from plurilabel.neighbors._distance import Formula, Neighbors, Points
from plurilabel.neighbors._engines import Engine, Run
from plurilabel.neighbors._gpu.arithmetic import functions, in_parts, padded_width, root
from plurilabel.neighbors._gpu.search import Search, Tensor

THERE = {"cuda"}  # kinds of devices on which points are left
_SHARE = 0.6  # of the free memory, where none is named
_LARGEST, _SMALLEST = 2.0**400, 2.0**-400  # may be squared and added in float64


def devices(name: str) -> list[torch.device]:
    """The devices that a name stands for: "cuda" for all GPUs, "cuda:1" for one."""
    try:
        device = torch.device(name)
    except RuntimeError:
        known = "'auto', 'cpu', 'cuda' or 'cuda:N'"
        raise ValueError(f"device must be {known}, got {name!r}") from None
    if device.type != "cuda":
        return [device]
    if not torch.cuda.is_available():
        raise ValueError(f"device={name!r} needs a GPU with CUDA, and torch finds none")
    there = torch.cuda.device_count()
    if device.index is None:
        return [torch.device("cuda", i) for i in range(there)]
    if device.index >= there:
        raise ValueError(f"device={name!r}, but the GPUs are numbered 0 to {there - 1}")
    return [device]


class GpuEngine(Engine):
    """Points on one or several GPUs, each of which searches for a share of the rows.

    Points that do not fit into memory are searched in blocks; the best of the exact results of all
    blocks is exact. Sparse points are made dense on the GPU.
    """

    formula: Formula

    def __init__(
        self, formula: Formula, X: Points | Tensor, where: list[torch.device], memory: int | None
    ):
        self.formula, self.where = formula, where
        self.n = X.shape[0]
        self.X = X
        self.memory = [_free(device) if memory is None else memory for device in where]
        # the points in both orders, in float32 and in half precision
        d = X.shape[1]
        per_row = 2 * X.dtype.itemsize * d + 6 * padded_width(d) + 64
        # an eighth of the memory is for queries, a quarter for comparisons
        self.block = max(1024, int(min(self.memory) * 0.6 / per_row))
        self.rows = max(1024, int(min(self.memory) * 0.125 / per_row))
        # a single block stays on the GPU, several are sent for each search
        fits = self.n <= self.block
        self.kept = [self._search(0, i) for i in range(len(where))] if fits else None

    def _search(self, start: int, i: int) -> Search:
        points = as_tensor(self.X[start : start + self.block], self.where[i])
        return Search(points, self.memory[i] // 4, cosine=self.formula.cosine)

    def neighbors(self, Q: Points | Tensor | None, k: int, run: Run) -> Neighbors:  # noqa: ARG002
        distances, indices = self.on_device(Q, k)
        return distances.cpu().numpy(), indices.cpu().numpy()

    def on_device(self, Q: Points | Tensor | None, k: int) -> tuple[Tensor, Tensor]:
        """Distances and indices, on the (first) GPU."""
        if self.kept is not None and (Q is None and len(self.where) == 1):
            found = self.kept[0].neighbors(None, k)
        else:
            found = self._shared(self.X if Q is None else Q, Q is None, k)
        return self._with_zero_rows(*found, Q)

    def _shared(self, asked: Points | Tensor, own: bool, k: int) -> tuple[Tensor, Tensor]:
        """Search in shares of the rows, one per device, and blocks of the points."""
        cuts = np.linspace(0, asked.shape[0], len(self.where) + 1).astype(int)

        def share(i: int) -> tuple[Tensor, Tensor]:
            device, start, stop = self.where[i], int(cuts[i]), int(cuts[i + 1])
            shape = (stop - start, k)
            distances = torch.full(shape, torch.inf, dtype=torch.float64, device=device)
            indices = torch.full(shape, -1, device=device)
            for first in range(0, self.n, self.block):
                search = self._search(first, i) if self.kept is None else self.kept[i]
                for a in range(start, stop, self.rows):
                    b = min(a + self.rows, stop)
                    Q = as_tensor(asked[a:b], device)
                    # a point may be its own neighbour here, and is removed below
                    far, near = search.neighbors(Q, min(k + own, search.n))
                    near += first
                    if own:
                        names = torch.arange(a, b, device=device)
                        far = far.masked_fill(near == names[:, None], torch.inf)
                    part = slice(a - start, b - start)
                    far = torch.cat([distances[part], far], dim=1)
                    near = torch.cat([indices[part], near], dim=1)
                    # a stable sort keeps the lower indices of earlier blocks first
                    far, order = far.sort(dim=1, stable=True)
                    distances[part] = far[:, :k]
                    indices[part] = near.gather(1, order[:, :k])
                del search
            return distances.to(self.where[0]), indices.to(self.where[0])

        with ThreadPoolExecutor(len(self.where)) as pool:
            found = list(pool.map(share, range(len(self.where))))
        return torch.cat([d for d, _ in found]), torch.cat([i for _, i in found])

    def _with_zero_rows(
        self, distances: Tensor, indices: Tensor, Q: Points | Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """Cosine: rows of zeros have distance 1 from all others; the first are the nearest."""
        if not self.formula.cosine:
            return distances, indices
        marks = as_tensor((self.X if Q is None else Q)[:, -1:], distances.device)
        zero = (marks > 0).ravel().nonzero().ravel()
        k = distances.shape[1]
        first = torch.arange(k + (Q is None), device=zero.device).repeat(len(zero), 1)
        if Q is None:
            keep = first != zero[:, None]
            keep[keep.all(dim=1), -1] = False
            first = first[keep].view(-1, k)
        distances[zero], indices[zero] = 1.0, first
        return distances, indices


def _free(device: torch.device) -> int:
    if device.type != "cuda":
        return 1 << 30
    # memory that torch has reserved but does not use is free as well
    spare = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    return int((torch.cuda.mem_get_info(device)[0] + spare) * _SHARE)


def checked(X: Tensor) -> Tensor | None:
    """A copy in float32 or float64 of points that are on a GPU and can be searched there, or None.

    Invalid points, and numbers whose squares could overflow or vanish, also give None.
    """
    numeric = not (X.is_complex() or X.dtype == torch.bool)
    if X.device.type not in THERE or X.ndim != 2 or not X.numel() or not numeric:
        return None
    half = X.dtype in (torch.float16, torch.bfloat16)
    wide = torch.float32 if half or X.dtype == torch.float32 else torch.float64
    own = X.to(wide, copy=True).contiguous()  # a view would change with its source
    for part in in_parts(own):
        size = part.abs().amax(dim=1)  # NaN if there is one
        if not bool(((size < _LARGEST) & ((size > _SMALLEST) | (size == 0))).all()):
            return None
    return own


def as_tensor(X: Any, device: torch.device) -> Tensor:
    """Points on a device; sparse points are made dense there."""
    if sparse.issparse(X):
        ends, columns, values = (as_tensor(part, device) for part in (X.indptr, X.indices, X.data))
        rows = torch.arange(X.shape[0], device=device).repeat_interleave(ends.diff())
        tensor = torch.zeros(X.shape, dtype=values.dtype, device=device)
        tensor[rows, columns.long()] = values
        return tensor
    if not isinstance(X, torch.Tensor):
        X = torch.from_numpy(np.require(X, requirements=["C", "W"]))
    return X.to(device).contiguous()


def unit_rows(X: Tensor) -> Tensor:
    """Unit rows with marks for zeros, by the same operations as :meth:`Formula.prepare`."""
    zero = torch.zeros((len(X), 1), dtype=torch.int64, device=X.device)
    rows = torch.arange(len(X), device=X.device)
    origin = torch.zeros((1, X.shape[1]), dtype=X.dtype, device=X.device)
    norms = root(functions(X.device).canonical_squares(X, rows, origin, zero))  # (n, 1)
    unit = torch.empty((len(X), X.shape[1] + 1), dtype=torch.float64, device=X.device)
    unit[:, -1:] = norms == 0
    torch.div(X, norms.masked_fill(norms == 0, 1.0), out=unit[:, :-1])
    return unit
