"""What a step costs, by shape."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable

import torch

from benchmarks.prior_fitted._batches import Batch, Shape, make_batch
from benchmarks.prior_fitted._train import Trainer


def profile(trainer: Trainer, seconds: float, *, repeats: int = 5) -> list[dict[str, object]]:
    """Time every shape for about ``seconds`` in all; print a line for each.

    Gradients of the captured step are compared with those of single calls: in half precision they
    differ by about a hundredth.
    """
    lines: list[dict[str, object]] = []
    with torch.no_grad():  # a head of zeros would leave nothing to compare
        trainer.network.head[-1].weight.normal_(std=0.1)
    end = time.monotonic() + seconds
    # large ones first: they are the ones that may fail
    for shape in [shape for sizes in reversed(trainer.shapes) for shape in sizes]:
        if time.monotonic() > end:
            print("time is over: the remaining shapes are not timed")
            break
        try:
            lines.append(_profile_shape(trainer, shape, repeats))
        except RuntimeError as error:
            print(f"failed: {shape}: {error}", file=sys.stderr, flush=True)
            trainer.forget(shape, error)
            continue
        print(json.dumps(lines[-1]), flush=True)
    return lines


def _profile_shape(trainer: Trainer, shape: Shape, repeats: int) -> dict[str, object]:
    size, kind, steps = trainer.plan.size, trainer.kind, trainer.steps

    def draw() -> Batch:
        return make_batch(trainer.dice, shape, size, kind, landmarks=trainer.plan.landmarks)

    start = time.perf_counter()
    batch = draw()
    steps(shape, batch)
    _wait(trainer)
    first = time.perf_counter() - start
    captured = trainer.optimizer.flat.clone()
    steps._backward(batch)
    plain = trainer.optimizer.flat
    difference = float((captured - plain).norm() / plain.norm())
    single = _clocked(trainer, lambda: steps._backward(batch), 2)
    step = _clocked(trainer, lambda: steps(shape, batch), repeats)
    update = _clocked(trainer, lambda: trainer.optimizer.step(0.0), repeats)
    drawn = _clocked(trainer, draw, repeats)
    line: dict[str, object] = {
        "shape": str(shape),
        "cells": shape.cells,
        "first_s": round(first, 2),
        "step_ms": round(1e3 * step, 2),
        "without_graph_ms": round(1e3 * single, 2),
        "gradient_difference": float(f"{difference:.1e}"),
        "update_ms": round(1e3 * update, 2),
        "draw_ms": round(1e3 * drawn, 2),
        "draw_share": round(drawn / (drawn + step + update), 2),
        "million_cells_per_s": round(shape.cells / (step + update) / 1e6, 2),
    }
    if trainer.on_gpu:
        line["memory_gib"] = round(torch.cuda.max_memory_reserved() / 2**30, 1)
    return line


def _clocked(trainer: Trainer, call: Callable[[], object], repeats: int) -> float:
    _wait(trainer)
    start = time.perf_counter()
    for _ in range(repeats):
        call()
    _wait(trainer)
    return (time.perf_counter() - start) / repeats


def _wait(trainer: Trainer) -> None:
    if trainer.on_gpu:
        torch.cuda.synchronize()
