"""Points as tensors on a device: checked, made dense, scaled to length one."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from scipy import sparse

from plurilabel.neighbors._device.rounded import in_parts
from plurilabel.neighbors._device.search import Tensor, functions, root

THERE = {"cuda"}
"""Kinds of devices on which points are left."""

_LARGEST, _SMALLEST = 2.0**400, 2.0**-400  # what may be squared and added, in float64


def checked(X: Tensor) -> Tensor | None:
    """A copy, in float32 or float64, of points that are on a GPU; None if they are not.

    None also where an array would raise an error, and for numbers so large or so small that their
    squares could overflow or vanish.
    """
    if (
        X.device.type not in THERE
        or X.ndim != 2
        or not X.numel()
        or X.is_complex()
        or X.dtype == torch.bool
    ):
        return None
    half = X.dtype in (torch.float16, torch.bfloat16)
    wide = torch.float32 if half or X.dtype == torch.float32 else torch.float64
    own = X.to(wide, copy=True).contiguous()  # it would change with what it was made of
    for part in in_parts(own):
        size = part.abs().amax(dim=1)  # NaN if there is one
        if not bool(((size < _LARGEST) & ((size > _SMALLEST) | (size == 0))).all()):
            return None
    return own


def as_tensor(X: Any, device: torch.device) -> Tensor:
    """Points on a device; sparse ones are sent as they are and made dense there."""
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
    """What the formula of the cosine distance makes of points, by the same operations."""
    zero = torch.zeros((len(X), 1), dtype=torch.int64, device=X.device)
    rows = torch.arange(len(X), device=X.device)
    origin = torch.zeros((1, X.shape[1]), dtype=X.dtype, device=X.device)
    norms = root(functions(X.device).canonical_squares(X, rows, origin, zero))  # (n, 1)
    unit = torch.empty((len(X), X.shape[1] + 1), dtype=torch.float64, device=X.device)
    unit[:, -1:] = norms == 0
    torch.div(X, norms.masked_fill(norms == 0, 1.0), out=unit[:, :-1])
    return unit
