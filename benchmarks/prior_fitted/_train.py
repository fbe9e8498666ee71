"""Training, by the clock and over several runs."""

from __future__ import annotations

import json
import platform
import shutil
import signal
import sys
import time
from collections import deque
from collections.abc import Callable
from contextlib import nullcontext
from copy import deepcopy
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from benchmarks.prior_fitted import _prior
from benchmarks.prior_fitted._batches import EASY, MIXTURES, Batch, Shape, make_batch, shapes
from benchmarks.prior_fitted._checkpoint import load_state, save_state, save_weights
from benchmarks.prior_fitted._dice import Dice
from benchmarks.prior_fitted._optimizer import Optimizer
from benchmarks.prior_fitted._regressions import LANDMARKS
from benchmarks.prior_fitted._steps import Steps
from benchmarks.prior_fitted.learner._network import Network, base_logits
from benchmarks.prior_fitted.learner._weights import Size

WARM_UP = 200
"""Steps until the learning rate is at its peak."""
AHEAD = 3
"""Steps that the host may be ahead of the device."""
VALIDATION_SEED = 2**31
VALIDATION = (Shape(16, 200, 140, 20, 6), Shape(6, 1000, 700, 72, 8))


@dataclass(frozen=True)
class Plan:
    """What a training is determined by, kept with its weights."""

    size: Size = field(default_factory=Size)
    seed: int = 0
    scale: float = 1.0
    stages: tuple[float, ...] = (12.0, 50.0, 180.0)
    steady: float = 150.0
    average: float = 0.999
    landmarks: int = LANDMARKS

    def rate(self, seconds: float, steps: int) -> float:
        """Learning rate, 1 at its peak: constant at first, then with the root of time."""
        return min(1.0, (steps + 1) / WARM_UP) * min(
            1.0, (self.steady / max(seconds, 1e-9)) ** 0.5
        )

    def stage(self, seconds: float) -> int:
        """Where in ``MIXTURES`` the training stands: 0 with tiny tables, 3 with all but them."""
        return sum(seconds >= limit for limit in self.stages)

    @staticmethod
    def of(stored: dict[str, Any]) -> Plan:
        return Plan(**stored | {"size": Size(**stored["size"]), "stages": tuple(stored["stages"])})


class Trainer:
    """A network, its optimizer, and where they stand in their plan."""

    def __init__(
        self,
        plan: Plan,
        device: str | torch.device = "cpu",
        *,
        graphs: bool = True,
        clock: Callable[[], float] = time.monotonic,
    ):
        self.plan = plan
        self.device = torch.device(device)
        self.clock = clock
        self.on_gpu = self.device.type == "cuda"
        self.kind = torch.bfloat16 if self.on_gpu else torch.float32
        if self.on_gpu:
            torch.backends.cuda.enable_cudnn_sdp(False)  # plans anew for every shape, 16 ms a call
            torch.set_float32_matmul_precision("high")
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(plan.seed)
            network = Network(plan.size)
        self.network = network.to(self.device)
        if self.on_gpu:
            from benchmarks.prior_fitted._kernels import attend_columns

            for block in self.network.blocks:
                block.attend_columns = attend_columns
        self.optimizer = Optimizer(self.network, average=plan.average)  # in float32 still
        self.network.to(self.kind)
        self.steps = Steps(self.network, self.optimizer, graphs=graphs)
        self.shapes = shapes(plan.scale)
        self.dice = Dice(self.device, plan.seed)
        self.aside = torch.cuda.Stream() if self.on_gpu else None
        self.seconds = 0.0
        self.tables = 0
        self.history: list[dict[str, Any]] = []

    # ---- batches -------------------------------------------------------------------------------

    def draw(self, number: int) -> tuple[Shape, Batch]:
        """The batch of a step: a function of the seed, the number and the stage."""
        stream = torch.cuda.stream(self.aside) if self.on_gpu else nullcontext()
        with stream, torch.no_grad():
            self.dice.seed(self.plan.seed, number)
            stage = self.plan.stage(self.seconds)
            mixture = np.array(MIXTURES[stage])
            mixture = mixture * [bool(sizes) for sizes in self.shapes]
            kind = self.dice.host.choice(len(mixture), p=mixture / mixture.sum())
            shape = self.dice.choose(self.shapes[kind])
            size = self.plan.size
            return shape, make_batch(
                self.dice, shape, size, self.kind, easy=EASY[stage], landmarks=self.plan.landmarks
            )

    def receive(self, batch: Batch) -> None:
        """Let the training wait for what is drawn beside it."""
        if self.on_gpu:
            here = torch.cuda.current_stream()
            here.wait_stream(self.aside)
            for tensor in batch.tensors():
                tensor.record_stream(here)

    def forget(self, shape: Shape, error: Exception) -> None:
        """Go on without a shape that failed."""
        print(f"left out: {shape}: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
        self.steps.ready.pop(shape, None)
        for sizes in self.shapes:
            if shape in sizes:
                sizes.remove(shape)
        if not any(self.shapes[: self.plan.stage(self.seconds) + 1]):
            raise error
        if self.on_gpu:
            torch.cuda.synchronize()
            torch.cuda.empty_cache()

    # ---- the loop ------------------------------------------------------------------------------

    def run(
        self,
        seconds: float,
        *,
        decay: float = 0.0,
        ends: float | None = None,
        every: float = 20.0,
        folder: Path | None = None,
    ) -> None:
        """Train for ``seconds``; in the ``decay`` before the end the learning rate falls to 0.

        The end is that of this run, or ``ends``, in seconds of the whole training: a decay may
        take several runs. If it begins and ends in this run, the state in ``folder`` is the one
        before it, to go on from, and the weights there are those after it.
        """
        before, start = self.seconds, self.clock()
        last = before + seconds
        ends = last if ends is None else ends
        keeps_state = ends - decay < before or ends > last
        reported, kept, decaying = 0.0, 0.0, False
        total, count = torch.zeros((), device=self.device), 0
        under_way: deque[Any] = deque()
        stop = _Stop()
        pending = self._draw_or_forget()
        while not stop.asked and (now := self.clock() - start) < seconds:
            self.seconds = before + now
            if self.seconds > ends - decay and not decaying:
                decaying = True
                self.save(folder)
            rate = self.plan.rate(self.seconds, self.optimizer.steps)
            rate *= max(0.0, ends - self.seconds) / decay if decaying else 1.0
            shape, batch = pending
            try:
                self.receive(batch)
                loss = self.steps(shape, batch)
            except RuntimeError as error:
                self.forget(shape, error)
                self.optimizer.steps += 1  # so that another batch is drawn
                pending = self._draw_or_forget()
                continue
            self.optimizer.step(rate)
            total, count, self.tables = total + loss, count + 1, self.tables + shape.tables
            pending = self._draw_or_forget()
            if self.on_gpu:
                under_way.append(torch.cuda.current_stream().record_event())
                if len(under_way) > AHEAD:
                    under_way.popleft().synchronize()
            if now - reported >= every:
                self._report(float(total) / count, count / (now - reported), rate, folder)
                total, count, reported = torch.zeros_like(total), 0, now
            if now - kept >= 6 * every:
                if keeps_state or not decaying:
                    self.save(folder)
                self._save_weights(folder)  # in a decay too: what is lost otherwise is the best
                kept = now
        if count:
            self._report(float(total) / count, count / max(now - reported, 1e-9), rate, folder)
        stop.forget()
        if keeps_state or not decaying:
            self.save(folder)
        self._save_weights(folder)

    def _draw_or_forget(self) -> tuple[Shape, Batch]:
        while True:
            try:
                return self.draw(self.optimizer.steps)
            except torch.OutOfMemoryError as error:
                self.optimizer.steps += 1
                print(f"a batch did not fit: {error}", file=sys.stderr, flush=True)

    def _report(self, loss: float, pace: float, rate: float, folder: Path | None) -> None:
        line = {
            "seconds": round(self.seconds, 1),
            "steps": self.optimizer.steps,
            "tables": self.tables,
            "stage": self.plan.stage(self.seconds),
            "rate": round(rate, 4),
            "loss": round(loss, 5),
            "steps_per_second": round(pace, 2),
        } | self.validate()
        if self.on_gpu:
            line["memory_gib"] = round(torch.cuda.max_memory_reserved() / 2**30, 1)
        self.history.append(line)
        print(json.dumps(line), flush=True)
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
            with (folder / "log.jsonl").open("a", encoding="utf-8") as log:
                log.write(json.dumps(line) + "\n")

    # ---- validation ----------------------------------------------------------------------------

    @torch.no_grad()
    def validate(self) -> dict[str, Any]:
        """Share of the loss of constant answers that the averaged weights save, by mechanism."""
        if not hasattr(self, "_validation"):
            self._validation = self._validation_batches()
            self._judge = deepcopy(self.network)
        torch._foreach_copy_(list(self._judge.parameters()), self.optimizer.average)
        saved = {}
        for name, batch in self._validation:
            loss = _loss(self._judge(*batch.tensors()[:-1]), batch)
            base = _loss(base_logits(batch.known).expand_as(batch.targets), batch)
            saved[name] = round(1 - float(loss) / float(base), 4)
        return {"saved": round(float(np.mean(list(saved.values()))), 4), "by_kind": saved}

    def _validation_batches(self) -> list[tuple[str, Batch]]:
        scale = min(1.0, self.plan.scale)
        found = []
        for number, shape in enumerate(VALIDATION[: 1 + self.on_gpu]):
            shape = Shape(**asdict(shape) | {"tables": max(4, int(shape.tables * scale))})
            for kind, name in enumerate(_prior.SCORES):
                dice = Dice(self.device, VALIDATION_SEED, number, kind)
                batch = make_batch(
                    dice, shape, self.plan.size, self.kind, scores=name,
                    landmarks=self.plan.landmarks,
                )  # fmt: skip
                found.append((f"{name}-{shape.rows}", batch))
        return found

    # ---- files ---------------------------------------------------------------------------------

    def about(self) -> dict[str, Any]:
        """Where the training stands, and what it was made with."""
        return {
            "plan": asdict(self.plan),
            "prior": _prior.VERSION,
            "steps": self.optimizer.steps,
            "seconds": self.seconds,
            "tables": self.tables,
            "versions": {
                "python": platform.python_version(),
                "torch": torch.__version__,
                "numpy": np.__version__,
            },
            "device": torch.cuda.get_device_name() if self.on_gpu else "cpu",
        }

    def save(self, folder: Path | None) -> None:
        """Write all that is needed to go on."""
        if folder is not None:
            save_state(folder, self.about(), self.optimizer.state())

    def _save_weights(self, folder: Path | None) -> None:
        if folder is not None:
            average = dict(zip(self.optimizer.names, self.optimizer.average))
            save_weights(folder / "weights.npz", self.about(), average)

    @classmethod
    def resume(cls, folder: Path, device: str | torch.device = "cpu", **options: Any) -> Trainer:
        """Go on where the state in a folder was written."""
        about, arrays = load_state(folder)
        if about["prior"] != _prior.VERSION:
            print(f"version {about['prior']} of the prior so far, now {_prior.VERSION}")
        trainer = cls(Plan.of(about["plan"]), device, **options)
        trainer.optimizer.load(arrays, about["steps"])
        trainer.seconds, trainer.tables = about["seconds"], about["tables"]
        return trainer


def copy_log(source: Path, target: Path) -> None:
    """Keep the log of the runs before."""
    if (source / "log.jsonl").exists() and source.resolve() != target.resolve():
        target.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source / "log.jsonl", target / "log.jsonl")


def _loss(logits: Tensor, batch: Batch) -> Tensor:
    return F.binary_cross_entropy_with_logits(logits, batch.targets)


class _Stop:
    """Whether the process was asked to end; the training then ends as if its time were over."""

    def __init__(self) -> None:
        self.asked = False
        self._before = {}
        try:
            for number in (signal.SIGTERM, signal.SIGINT):
                self._before[number] = signal.signal(number, self._ask)
        except ValueError:  # only the main thread hears signals
            pass

    def _ask(self, *_: object) -> None:
        self.asked = True

    def forget(self) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
