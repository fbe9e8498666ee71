"""Closed-form regressions of the labels for generated tables, on the device.

The learner has the same for single tables in numpy, see ``learner/_regressions.py``.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from benchmarks.prior_fitted.learner._weights import BINS, LARGEST, PENALTIES

LANDMARKS = 384
"""Known rows that a kernel compares all rows with, at most; the learner affords more."""


def regress(views: Tensor, known: Tensor, landmarks: int = LANDMARKS) -> Tensor:
    """What kernel regressions say about every label and row, from the other known rows.

    Parameters
    ----------
    views : tensor of shape (tables, rows, features, 3)
        Standardized values and ranks, the known rows first.
    known : tensor of shape (tables, known rows, labels)
        Labels; NaN where unknown.

    Returns
    -------
    tensor of shape (tables, rows, labels, 2 * regressions)
        Answers in standard deviations of a label, and the share of its variance that they explain.
    """
    tables, m, q = known.shape
    z, u = views[..., 0].double(), views[..., 1].double()
    told = ~known.isnan()
    frequency = (known.nansum(1, keepdim=True).double() + 0.5) / (told.sum(1, keepdim=True) + 1)
    Y = torch.where(told, known.double() - frequency, 0.0)
    C = torch.stack(_kernels(z, u, _relevance(u[:, :m], Y), min(m, landmarks), m))
    k, _, n, size = C.shape
    C = C.flatten(0, 1)
    penalty = torch.tensor(PENALTIES, dtype=C.dtype, device=C.device).repeat_interleave(tables)
    A = C[:, :m].mT @ C[:, :m] + penalty[:, None, None] * C[:, :size]
    diagonal = A.diagonal(dim1=1, dim2=2)
    diagonal += 1e-6 * diagonal.mean(1, keepdim=True) + 1e-9
    root = torch.linalg.cholesky_ex(A).L
    B = torch.linalg.solve_triangular(root, C.mT.contiguous(), upper=False)  # (.., size, rows)
    targets = Y.repeat(k, 1, 1)
    answer = B.mT @ (B[:, :, :m] @ targets)
    own = B[:, :, :m].square().sum(1)[..., None]
    answer[:, :m] = (answer[:, :m] - own * targets) / (1 - own).clamp(min=1e-3)
    wrong = torch.where(told.repeat(k, 1, 1), targets - answer[:, :m], 0.0).square().sum(1)
    share = (1 - wrong / (targets.square().sum(1) + 1e-9)).clamp(-1, 1)
    answer = answer / (frequency * (1 - frequency)).sqrt().repeat(k, 1, 1)
    found = [answer.clamp(-LARGEST, LARGEST), share[:, None].expand(-1, n, -1)]
    both = torch.stack(found, -1).view(k, tables, n, q, 2).permute(1, 2, 3, 0, 4).flatten(3)
    return both.nan_to_num(0.0).float()


def _kernels(z: Tensor, u: Tensor, weight: Tensor, size: int, m: int) -> list[Tensor]:
    """Kernels between all rows and the first known ones, each (tables, rows, size)."""
    weighted = u * weight.sqrt()[:, None]

    def squares(x: Tensor) -> Tensor:
        sums = x.square().sum(2)
        return (sums[..., None] + sums[:, None, :size] - 2 * x @ x[:, :size].mT).clamp(min=0)

    def sums(x: Tensor) -> Tensor:
        return torch.cdist(x, x[:, :size].contiguous(), p=1.0)

    def bell(distance: Tensor, reach: float) -> Tensor:
        mean = distance[:, :m].mean((1, 2), keepdim=True)
        return torch.exp(-reach * distance / (mean + 1e-9))

    return [
        z @ z[:, :size].mT / z.shape[2],
        bell(squares(z), 1.0),
        bell(squares(weighted), 2.0),
        bell(sums(z), 2.0),
        bell(sums(u * weight[:, None]), 2.0),
    ]


def _relevance(u: Tensor, Y: Tensor) -> Tensor:
    """Weights of features, 1 in the mean: roots of what their intervals explain of the labels."""
    total = Y.square().sum(1, keepdim=True) + 1e-9
    interval = ((u / math.sqrt(3) + 1) / 2 * BINS + 1e-3).long().clamp(0, BINS - 1)
    share = torch.zeros(u.shape[0], u.shape[2], Y.shape[2], dtype=u.dtype, device=u.device)
    for number in range(BINS):
        inside = (interval == number).to(u)
        share += (inside.mT @ Y).square() / inside.sum(1).clamp(min=1)[..., None]
    mean = (share / total - (BINS - 1) / u.shape[1]).clamp(min=0).mean(2)
    weight = (mean / (mean.mean(1, keepdim=True) + 1e-9)).sqrt() + 0.1
    return weight / weight.mean(1, keepdim=True)
