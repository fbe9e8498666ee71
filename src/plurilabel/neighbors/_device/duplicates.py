"""Rows with many duplicates: their neighbours are found by sorting."""

from __future__ import annotations

from typing import TypeAlias

import torch

from plurilabel.neighbors._device.rounded import in_numbered_parts, in_parts

Tensor: TypeAlias = torch.Tensor


def settle_duplicates(
    X: Tensor, order: Tensor | None, rows: Tensor, distances: Tensor, indices: Tensor
) -> Tensor:
    """Rows with k duplicates or more take the first of them; the other rows are returned.

    Equal rows are found by sorting: by a sum of their bits, each times an odd number.
    """
    k = distances.shape[1]
    none = distances[rows, -1] == 0
    some = rows[none]
    if not len(some) or not _zero_means_equal(X):
        return rows
    name = some if order is None else order[some]
    by_name = name.argsort()
    some, name = some[by_name], name[by_name]
    generator = torch.Generator().manual_seed(0)
    odd = (torch.randint(-(2**61), 2**61, (X.shape[1],), generator=generator) * 2 + 1).tolist()
    sums = torch.zeros(len(some), dtype=torch.int64, device=X.device)
    for j, factor in enumerate(odd):
        bits = (X[some, j].double() + 0.0).view(torch.int64)  # 0.0 and -0.0 are equal
        sums += (bits ^ (bits >> 17)) * factor
    by_sum = sums.argsort(stable=True)
    some, name, sums = some[by_sum], name[by_sum], sums[by_sum]
    start = torch.searchsorted(sums, sums)
    size = torch.searchsorted(sums, sums, right=True) - start
    differ = torch.zeros(len(some), dtype=torch.int32, device=X.device)
    for i, part in in_numbered_parts(X[some]):
        unequal = (part != X[some[start[i : i + len(part)]]]).any(dim=1)
        differ.index_add_(0, start[i : i + len(part)], unequal.to(torch.int32))
    sure = (differ[start] == 0) & (size > k)
    first = name[(start[:, None] + torch.arange(k + 1, device=X.device)).clamp_max(len(some) - 1)]
    keep = first != name[:, None]
    keep[keep.all(dim=1), -1] = False
    indices[some[sure]] = first[sure][keep[sure]].view(-1, k)
    return torch.cat([rows[~none], some[~sure]])


def _zero_means_equal(X: Tensor) -> bool:
    """Whether no difference of two values is so small that its square vanishes."""
    least = min(float(part.abs().masked_fill(part == 0, 1.0).min()) for part in in_parts(X))
    return least > 1e-133
