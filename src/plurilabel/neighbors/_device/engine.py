"""The engine of :class:`~plurilabel.neighbors.ExactIndex` that searches on a GPU."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import torch

from plurilabel.neighbors._device.search import Search, Tensor
from plurilabel.neighbors._exact.certify import Engine, Run
from plurilabel.neighbors._exact.distance import Formula, Neighbors, Points

_SHARE = 0.6  # of the free memory, where none is named


def devices(name: str) -> list[torch.device]:
    """The devices that a name stands for: "cuda" for all GPUs, "cuda:1" for one."""
    try:
        device = torch.device(name)
    except RuntimeError:
        raise ValueError(
            f"device must be 'auto', 'cpu', 'cuda' or 'cuda:N', got {name!r}"
        ) from None
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


class OnDevice(Engine):
    """Points on one GPU or several; each searches for its share of the rows.

    Points that do not fit are searched in blocks, one after the other. Each block's answer is
    exact, and so is what is best of all.
    """

    formula: Formula

    def __init__(
        self, formula: Formula, X: Points | Tensor, where: list[torch.device], memory: int | None
    ):
        self.formula, self.where = formula, where
        self.n = X.shape[0]
        self.X = X
        self.memory = [_free(device) if memory is None else memory for device in where]
        itemsize = X.element_size() if isinstance(X, torch.Tensor) else X.itemsize
        # the points as they are and in order, in float32 and in half precision
        per_row = (2 * itemsize + 8) * max(X.shape[1], 16) + 64
        self.block = max(1024, int(min(self.memory) * 0.5 / per_row))
        # one block stays where it is, more are sent each time
        self.kept = (
            [self._search(0, i) for i in range(len(where))] if self.n <= self.block else None
        )

    def _search(self, start: int, i: int) -> Search:
        points = _tensor(self.X[start : start + self.block], self.where[i])
        return Search(points, self.memory[i] // 2, cosine=self.formula.cosine)

    def neighbors(self, Q: Points | Tensor | None, k: int, run: Run) -> Neighbors:  # noqa: ARG002
        distances, indices = self.on_device(Q, k)
        return distances.cpu().numpy(), indices.cpu().numpy()

    def on_device(self, Q: Points | Tensor | None, k: int) -> tuple[Tensor, Tensor]:
        """Distances and numbers, where the (first) GPU has them."""
        if self.kept is not None and (Q is None and len(self.where) == 1):
            found = self.kept[0].neighbors(None, k)
        else:
            found = self._shared(self.X if Q is None else Q, Q is None, k)
        return self._with_zero_rows(*found, Q)

    def _shared(self, asked: Points | Tensor, own: bool, k: int) -> tuple[Tensor, Tensor]:
        """The rows in as many shares as there are devices, the points in blocks."""
        m = asked.shape[0]
        cuts = np.linspace(0, m, len(self.where) + 1).astype(int)

        def share(i: int) -> tuple[Tensor, Tensor]:
            rows = np.arange(cuts[i], cuts[i + 1])
            Q = _tensor(asked[cuts[i] : cuts[i + 1]], self.where[i])
            best = None
            for start in range(0, self.n, self.block):
                search = self._search(start, i) if self.kept is None else self.kept[i]
                wanted = min(k + own, search.n)  # a point may be its own neighbour
                distances, indices = search.neighbors(Q, wanted)
                indices = indices + start
                if own:
                    names = torch.from_numpy(rows).to(indices.device)
                    distances = distances.masked_fill(indices == names[:, None], torch.inf)
                if best is not None:
                    distances = torch.cat([best[0], distances], dim=1)
                    indices = torch.cat([best[1], indices], dim=1)
                # earlier blocks have lower numbers: a stable sort keeps them first
                distances, order = distances.sort(dim=1, stable=True)
                best = distances[:, :k], indices.gather(1, order[:, :k])
            assert best is not None
            return best[0].to(self.where[0]), best[1].to(self.where[0])

        with ThreadPoolExecutor(len(self.where)) as pool:
            found = list(pool.map(share, range(len(self.where))))
        return torch.cat([d for d, _ in found]), torch.cat([i for _, i in found])

    def _with_zero_rows(
        self, distances: Tensor, indices: Tensor, Q: Points | Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """Cosine: rows of zeros are at distance 1 from all others, the first are the nearest."""
        if not self.formula.cosine:
            return distances, indices
        marks = _tensor((self.X if Q is None else Q)[:, -1:], distances.device)
        zero = (marks > 0).ravel().nonzero().ravel()
        k = distances.shape[1]
        first = torch.arange(k + (Q is None), device=zero.device).repeat(len(zero), 1)
        if Q is None:
            keep = first != zero[:, None]
            keep[keep.all(dim=1), -1] = False
            first = first[keep].view(-1, k)
        distances[zero], indices[zero] = 1.0, first
        return distances, indices


def _tensor(X: Any, device: torch.device) -> Tensor:
    if not isinstance(X, torch.Tensor):
        X = torch.from_numpy(np.require(X, requirements=["C", "W"]))
    return X.to(device).contiguous()


def _free(device: torch.device) -> int:
    if device.type != "cuda":
        return 1 << 30
    return int(torch.cuda.mem_get_info(device)[0] * _SHARE)
