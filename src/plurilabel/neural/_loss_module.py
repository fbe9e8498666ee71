"""The error of BP-MLL as a module of torch."""

from __future__ import annotations

import torch

from plurilabel.neural._losses import pairwise_exponential_loss


class BPMLLLoss(torch.nn.Module):
    """The pairwise error of BP-MLL, for any network of torch.

    Linear in the number of labels; see :func:`pairwise_exponential_loss` for the definition and
    for what the targets may be.

    Parameters
    ----------
    weight : float tensor of shape (q,), optional
        Weights of the labels. A buffer: it moves to the device with the module.
    indices : bool, default=False
        Whether targets are padded label numbers (n, m) rather than 0/1 (n, q).
    reduction : {"mean", "sum", "none"}, default="mean"

    Examples
    --------
    >>> import torch
    >>> from plurilabel.neural import BPMLLLoss
    >>> network = torch.nn.Sequential(torch.nn.Linear(5, 3), torch.nn.Tanh())
    >>> loss = BPMLLLoss()(network(torch.zeros(2, 5)), torch.tensor([[1, 0, 1], [0, 1, 0]]))
    >>> loss.backward()
    >>> network[0].bias.grad.shape
    torch.Size([3])
    """

    __module__ = "plurilabel.neural"  # loaded when it is asked for, after the package is published
    weight: torch.Tensor | None

    def __init__(
        self,
        *,
        weight: torch.Tensor | None = None,
        indices: bool = False,
        reduction: str = "mean",
    ):
        super().__init__()
        self.register_buffer("weight", weight)
        self.indices = indices
        self.reduction = reduction

    def forward(self, scores: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        """The error of scores (n, q) for these targets."""
        return pairwise_exponential_loss(
            scores,
            targets,
            weight=self.weight,
            indices=self.indices,
            reduction=self.reduction,
        )

    def extra_repr(self) -> str:
        """What ``repr`` shows."""
        return f"indices={self.indices}, reduction={self.reduction!r}"
