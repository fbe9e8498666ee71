"""Forward and backward passes over batches of fixed shapes, captured as CUDA graphs."""

from __future__ import annotations

import sys
from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from benchmarks.prior_fitted._batches import Batch, Shape, empty_batch
from benchmarks.prior_fitted._optimizer import Optimizer
from benchmarks.prior_fitted.learner._network import Network

FASTEST_FIRST = [
    SDPBackend.CUDNN_ATTENTION, SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION,
    SDPBackend.MATH,
]  # fmt: skip
"""cuDNN plans for every shape, 16 ms a call, which does not matter in a captured graph."""


class Steps:
    """Loss and gradients of a batch; a shape is captured when it is first seen.

    A graph replays all kernels of a step at once: the hundreds of small ones would otherwise take
    longer to launch than to run. Graphs share their memory, since they never run together and what
    they leave (gradients and loss) is allocated outside.
    """

    def __init__(self, network: Network, optimizer: Optimizer, *, graphs: bool = True):
        self.network = network
        self.optimizer = optimizer
        self.device = optimizer.flat.device
        self.kind = next(network.parameters()).dtype
        self.graphs = graphs and self.device.type == "cuda"
        self.loss = torch.zeros((), device=self.device)
        self.ready: dict[Shape, Callable[[Batch], None]] = {}
        self.pool = torch.cuda.graph_pool_handle() if self.graphs else None

    def __call__(self, shape: Shape, batch: Batch) -> Tensor:
        """Set the gradients of the optimizer; return the loss, valid until the next call."""
        if shape not in self.ready:
            self.ready[shape] = self._prepare(shape)
        self.ready[shape](batch)
        return self.loss

    def _backward(self, batch: Batch) -> None:
        logits = self.network(*batch.tensors()[:-1])
        loss = F.binary_cross_entropy_with_logits(logits, batch.targets)
        gradients = torch.autograd.grad(loss, self.optimizer.live)
        torch._foreach_copy_(self.optimizer.gradients, [g.detach() for g in gradients])
        self.loss.copy_(loss.detach())

    def _prepare(self, shape: Shape) -> Callable[[Batch], None]:
        if not self.graphs:
            return self._backward
        try:
            return self._capture(shape)
        except torch.OutOfMemoryError:
            raise
        except RuntimeError as error:
            print(f"no graph for {shape}, step by step instead: {error}", file=sys.stderr)
            torch.cuda.synchronize()
            return self._backward

    def _capture(self, shape: Shape) -> Callable[[Batch], None]:
        inputs = empty_batch(shape, self.network.size, self.device, self.kind)
        # libraries allocate on their first calls, which a graph must not
        aside = torch.cuda.Stream()
        aside.wait_stream(torch.cuda.current_stream())
        with sdpa_kernel(FASTEST_FIRST, set_priority=True):
            with torch.cuda.stream(aside):
                for _ in range(2):
                    self._backward(inputs)
            torch.cuda.current_stream().wait_stream(aside)
            torch.cuda.synchronize()
            torch.cuda.empty_cache()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, pool=self.pool):
                self._backward(inputs)

        def replay(batch: Batch) -> None:
            torch._foreach_copy_(inputs.tensors(), batch.tensors())
            graph.replay()

        return replay
