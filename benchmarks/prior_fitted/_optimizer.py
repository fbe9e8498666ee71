"""Muon for the matrices of the blocks, Adam for the rest, around weights in float32."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

MOMENTUM = 0.95
WEIGHT_DECAY = 0.02
BETAS = (0.9, 0.98)
LARGEST_GRADIENT = 1.0
"""Norm of the gradient of all that Adam updates."""


class Optimizer:
    """Weights in float32, of which the network has a copy in its own precision.

    The momentum of a matrix is made orthogonal by five Newton-Schulz steps (Jordan et al., 2024):
    with Adam alone the network learns nothing for minutes. ``average`` holds an exponential moving
    average of the weights, the ones to evaluate.
    """

    def __init__(self, network: nn.Module, *, average: float = 0.999):
        named = dict(network.named_parameters())
        self.names = list(named)
        self.live = list(named.values())
        self.horizon = average
        self.steps = 0
        self.weights = [p.detach().float().clone() for p in self.live]
        self.average = [w.clone() for w in self.weights]
        # one buffer, so that checking and clearing it is one kernel
        flat = torch.zeros(sum(w.numel() for w in self.weights), device=self.weights[0].device)
        self.flat = flat
        parts = flat.split([w.numel() for w in self.weights])
        self.gradients = [part.view_as(w) for part, w in zip(parts, self.weights)]
        matrix = [name.startswith("blocks.") and p.ndim == 2 for name, p in named.items()]
        self.rest = [i for i, is_matrix in enumerate(matrix) if not is_matrix]
        self.groups: dict[tuple[int, ...], list[int]] = {}
        for i, is_matrix in enumerate(matrix):
            if is_matrix:
                self.groups.setdefault(tuple(self.weights[i].shape), []).append(i)
        self.momentum = [torch.zeros_like(w) for w in self.weights]
        self.square = {i: torch.zeros_like(self.weights[i]) for i in self.rest}

    @torch.no_grad()
    def step(self, rate: float) -> None:
        """Update the weights; ``rate`` is 1 at the peak of the schedule."""
        self.steps += 1
        self.flat.copy_(torch.where(self.flat.isfinite().all(), self.flat, 0.0))
        for shape, ids in self.groups.items():
            self._orthogonal_step(shape, ids, 0.02 * rate)
        self._adam_step(0.002 * rate)
        torch._foreach_copy_(self.live, self.weights)
        # early on the average follows quickly
        share = max(1 - self.horizon, 1 / (1 + self.steps / 10))
        torch._foreach_lerp_(self.average, self.weights, share)

    def _orthogonal_step(self, shape: tuple[int, ...], ids: list[int], rate: float) -> None:
        gradients = [self.gradients[i] for i in ids]
        momentum = [self.momentum[i] for i in ids]
        torch._foreach_lerp_(momentum, gradients, 1 - MOMENTUM)
        update = torch.stack(gradients).lerp(torch.stack(momentum), MOMENTUM)
        update = _orthogonal(update) * max(1.0, shape[0] / shape[1]) ** 0.5
        weights = [self.weights[i] for i in ids]
        torch._foreach_mul_(weights, 1 - rate * WEIGHT_DECAY)
        torch._foreach_add_(weights, list(update.unbind()), alpha=-rate)

    def _adam_step(self, rate: float) -> None:
        gradients = [self.gradients[i] for i in self.rest]
        norm = torch.stack(torch._foreach_norm(gradients)).norm()
        torch._foreach_mul_(gradients, (LARGEST_GRADIENT / (norm + 1e-6)).clamp(max=1.0))
        momentum = [self.momentum[i] for i in self.rest]
        square = list(self.square.values())
        torch._foreach_lerp_(momentum, gradients, 1 - BETAS[0])
        torch._foreach_mul_(square, BETAS[1])
        torch._foreach_addcmul_(square, gradients, gradients, value=1 - BETAS[1])
        root = torch._foreach_sqrt(square)
        torch._foreach_div_(root, (1 - BETAS[1] ** self.steps) ** 0.5)
        torch._foreach_add_(root, 1e-8)
        weights = [self.weights[i] for i in self.rest]
        rate /= 1 - BETAS[0] ** self.steps
        torch._foreach_addcdiv_(weights, momentum, root, value=-rate)

    def state(self) -> dict[str, Tensor]:
        """All that has to be kept, by name."""
        parts = {"weights": self.weights, "average": self.average, "momentum": self.momentum}
        found = {
            f"{part}/{name}": value
            for part, values in parts.items()
            for name, value in zip(self.names, values)
        }
        return found | {f"square/{self.names[i]}": value for i, value in self.square.items()}

    @torch.no_grad()
    def begin_with(self, weights: dict[str, np.ndarray]) -> None:
        """Begin a training with weights of another one, by name."""
        for name, *copies in zip(self.names, self.weights, self.average, self.live):
            for one in copies:
                one.copy_(torch.from_numpy(weights[name]))

    @torch.no_grad()
    def load(self, state: dict[str, Tensor], steps: int) -> None:
        """Go on from a state that :meth:`state` returned after ``steps`` steps."""
        for name, value in self.state().items():
            value.copy_(state[name])
        torch._foreach_copy_(self.live, self.weights)
        self.steps = steps


def _orthogonal(update: Tensor) -> Tensor:
    """Matrices with the same singular vectors and singular values near 1."""
    kind = torch.bfloat16 if update.is_cuda else torch.float32
    tall = update.shape[1] > update.shape[2]
    x = (update.transpose(1, 2) if tall else update).to(kind)
    x = x / (x.norm(dim=(1, 2), keepdim=True) + 1e-7)
    for _ in range(5):
        a = x @ x.transpose(1, 2)
        x = 3.4445 * x + (-4.7750 * a + 2.0315 * a @ a) @ x
    return (x.transpose(1, 2) if tall else x).float()
