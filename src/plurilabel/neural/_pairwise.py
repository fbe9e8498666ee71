"""The error of BP-MLL and its gradient in one pass, as a function that torch can differentiate."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

INF = float("inf")


class PairwiseExponential(torch.autograd.Function):
    """E of each row and dE/dc, from scores c (n, q) and the row's labels, 0 and 1 as floats.

    With weights P of the labels and N of the others, zero elsewhere,

        own = sum P e^{-c} / sum P,  other = sum N e^{c} / sum N,  E = own * other,
        dE/dc = own N e^{c} / sum N - other P e^{-c} / sum P.

    One exponential for each score, where automatic differentiation of log-sum-exps takes four.
    E stays the same if all scores of a row move by s: half way between the lowest label and the
    highest other one, neither factor can overflow unless E does, and then both are cut short.
    """

    @staticmethod
    def forward(ctx: Any, c: Tensor, has: Tensor, weight: Tensor | None, bounded: bool) -> Tensor:
        P, N = has, 1 - has
        sign = N - P  # of the exponent
        if weight is not None:
            P, N = P * weight, N * weight
        # what a row without pairs is divided by does not matter, if it is not zero
        p = P.sum(1, keepdim=True).clamp_(min=1e-30)
        n = N.sum(1, keepdim=True).clamp_(min=1e-30)
        if bounded:
            z = c * sign
        else:
            z = (c - _half_way(c, P, N)).mul_(sign)  # -inf throughout in rows without pairs
            if weight is not None:
                z.masked_fill_(weight <= 0, -INF)
            z.clamp_(max=43.0 if z.dtype.itemsize == 4 else 354.0)  # E would not be finite
        e = z.exp_()
        Pe, Ne = P * e, N.mul_(e)
        own, other = Pe.sum(1, keepdim=True).div_(p), Ne.sum(1, keepdim=True).div_(n)
        error = (own * other).squeeze(1)
        ctx.save_for_backward(Ne.mul_(own.div_(n)).addcmul_(Pe, other.div_(p), value=-1))
        return error

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None, None]:
        if torch.is_grad_enabled():
            raise RuntimeError(
                "the pairwise exponential loss can be differentiated once: create_graph=True "
                "asks for more"
            )
        (gradient,) = ctx.saved_tensors
        return gradient * grad.unsqueeze(1), None, None, None


def _half_way(c: Tensor, P: Tensor, N: Tensor) -> Tensor:
    """Between the lowest label of a row and the highest of the others; infinite without pairs."""
    low = c.masked_fill(P <= 0, INF).amin(1, keepdim=True)
    high = c.masked_fill(N <= 0, -INF).amax(1, keepdim=True)
    return low / 2 + high / 2


def mask_of(indices: Tensor, q: int) -> Tensor:
    """A mask (n, q) of label numbers (n, m) that are filled up with -1."""
    mask = torch.zeros(len(indices), q, dtype=torch.bool, device=indices.device)
    if indices.shape[1] == 0:
        return mask
    # A padded place repeats the highest label of its row, as there is nothing beside to point to.
    highest = indices.amax(1, keepdim=True)
    numbers = indices.where(indices >= 0, highest.clamp(min=0)).long()
    return mask.scatter_(1, numbers, (highest >= 0).expand_as(numbers))
