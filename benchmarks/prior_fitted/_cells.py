"""Cells of generated tables as the network reads them, on the device.

The learner has the same for single tables in numpy, in double precision.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn import functional as F

from benchmarks.prior_fitted.learner._weights import GROUP, LARGEST


def view_features(X: Tensor, n_known: int) -> Tensor:
    """What the network reads of each value: standardized, as a rank, and whether it is there.

    Parameters
    ----------
    X : tensor of shape (tables, rows, features)
        NaN where a value is missing.
    n_known : int
        The first rows, whose labels are known: they alone define scales and ranks.

    Returns
    -------
    tensor of shape (tables, rows, features, 3)
    """
    there = ~X.isnan()
    X = X.nan_to_num(0.0, posinf=3e38, neginf=-3e38)
    count = there[:, :n_known].sum(1, keepdim=True).clamp(min=1)
    mean = (X * there)[:, :n_known].sum(1, keepdim=True) / count
    centred = (X - mean) * there
    scale = (centred[:, :n_known].square().sum(1, keepdim=True) / count).sqrt()
    z = torch.where(scale > 1e-6 * (1 + mean.abs()), centred / (scale + 1e-30), 0.0)
    return torch.stack([z.clamp(-LARGEST, LARGEST), _ranks(X, there, n_known), there.to(X)], -1)


def group_features(views: Tensor) -> Tensor:
    """Groups of features, shape (tables, rows, groups, 3 * GROUP)."""
    views = F.pad(views, (0, 0, 0, -views.shape[2] % GROUP))
    return views.unflatten(2, (-1, GROUP)).flatten(3)


def _ranks(X: Tensor, there: Tensor, n_known: int) -> Tensor:
    """Mid-ranks among the known rows, with mean 0 and variance 1; 0 where missing."""
    columns = X.transpose(1, 2).contiguous()  # (tables, features, rows)
    known = there[:, :n_known].transpose(1, 2)
    ordered = torch.where(known, columns[..., :n_known], torch.inf).sort(-1).values.contiguous()
    count = known.sum(-1, keepdim=True)
    below = torch.searchsorted(ordered, columns)
    upto = torch.minimum(torch.searchsorted(ordered, columns, right=True), count)
    share = (below + upto) / (2 * count.clamp(min=1))
    return ((2 * share - 1) * math.sqrt(3)).transpose(1, 2) * there
