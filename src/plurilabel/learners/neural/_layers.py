"""The network while it is trained: backpropagation written out, and Adam without a detour.

What torch does around the arithmetic takes longer than the arithmetic of a small network.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

_aten = torch.ops.aten
STEPS: dict[type[nn.Module], tuple[Callable[[Tensor], Tensor], Callable[..., Tensor]]] = {
    nn.Sigmoid: (torch.sigmoid_, _aten.sigmoid_backward.default),
    nn.Tanh: (torch.tanh_, _aten.tanh_backward.default),
    nn.ReLU: (torch.relu_, lambda slope, y: _aten.threshold_backward.default(slope, y, 0)),
}
"""Each activation, in place, and the slope before it, from the slope after it and its value."""


class Layers(nn.Sequential):
    """Linear layers and activations, with gradients that need no autograd: the same to the bit."""

    _plain: list[_Layer] | None = None
    _quick_step: Callable[[], object] | None = None

    def outputs(self, x: Tensor) -> Tensor:
        """What ``forward`` returns; keeps the values of all layers."""
        if self._plain is None:  # the parameters are on their device by now
            self._plain = []
            for part in self:
                if isinstance(part, nn.Linear):
                    self._plain.append(_Layer(part))
                else:
                    self._plain[-1].activation, self._plain[-1].slope = STEPS[type(part)]
        for layer in self._plain:
            x = layer.forward(x)
        return x

    def backpropagate(self, slope: Tensor) -> None:
        """Store the gradients, from the slope of the error at the outputs."""
        assert self._plain is not None
        for layer in self._plain[:0:-1]:
            slope = layer.backward(slope) @ layer.W
        self._plain[0].backward(slope)

    def update(self, optimizer: torch.optim.Optimizer) -> None:
        """A step of one of torch's optimizers; the first creates its state."""
        if self._quick_step is not None:
            self._quick_step()
            return
        optimizer.step()
        names = {torch.optim.Adam: "_fused_adam_", torch.optim.AdamW: "_fused_adamw_"}
        fused = getattr(torch, names.get(type(optimizer), ""), None)
        self._quick_step = optimizer.step if fused is None else _Adam(optimizer, fused)


class _Layer:
    """h = f(x W' + b), and its gradients."""

    activation: Callable[[Tensor], Tensor] | None = None
    slope: Callable[..., Tensor]

    def __init__(self, linear: nn.Linear):
        self.parameters = linear.weight, linear.bias
        self.W, self.b = (p.detach() for p in self.parameters)
        self.gradients = torch.empty_like(self.W), torch.empty_like(self.b)

    def forward(self, x: Tensor) -> Tensor:
        self.x, self.h = x, torch.addmm(self.b, x, self.W.t())
        if self.activation is not None:
            self.activation(self.h)
        return self.h

    def backward(self, slope: Tensor) -> Tensor:
        """The slope before the activation."""
        if self.activation is not None:
            slope = self.slope(slope, self.h)
        torch.mm(slope.t(), self.x, out=self.gradients[0])
        torch.sum(slope, 0, out=self.gradients[1])
        for parameter, gradient in zip(self.parameters, self.gradients):
            parameter.grad = gradient
        return slope


class _Adam:
    """What ``step`` of torch's fused Adam does for gradients that stay where they are."""

    def __init__(self, optimizer: torch.optim.Optimizer, fused: Callable[..., None]):
        self.groups, self.fused = optimizer.param_groups, fused
        self.tensors = []
        for group in self.groups:
            of = [optimizer.state[p] for p in group["params"]]
            averages = ([memory[key] for memory in of] for key in ("exp_avg", "exp_avg_sq"))
            values = [p.detach() for p in group["params"]]
            gradients = [p.grad for p in group["params"]]
            self.tensors.append((values, gradients, *averages, [], [m["step"] for m in of]))

    def __call__(self) -> None:
        for group, tensors in zip(self.groups, self.tensors):
            torch._foreach_add_(tensors[-1], 1)
            beta1, beta2 = group["betas"]
            names = ("lr", "weight_decay", "eps", "amsgrad", "maximize")
            known = {name: group[name] for name in names}
            self.fused(*tensors, beta1=beta1, beta2=beta2, **known)
