"""Commands: ``train``, ``profile``, ``export-data``, ``evaluate`` and ``ship``; see ``--help``."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import torch

from benchmarks.prior_fitted._checkpoint import ship_weights
from benchmarks.prior_fitted._evaluate import evaluate, evaluate_regressions, export
from benchmarks.prior_fitted._profile import profile
from benchmarks.prior_fitted._train import Plan, Trainer, copy_log
from benchmarks.prior_fitted.learner._classifier import PriorFittedClassifier
from benchmarks.prior_fitted.learner._weights import Size, load_weights


def parser() -> argparse.ArgumentParser:
    """The command line."""
    top = argparse.ArgumentParser(prog="python -m benchmarks.prior_fitted", description=__doc__)
    commands = top.add_subparsers(dest="command", required=True)

    both = argparse.ArgumentParser(add_help=False)
    size, plan = Size(), Plan()
    both.add_argument("--seconds", type=float, default=60.0)
    both.add_argument("--width", type=int, default=size.width)
    both.add_argument("--heads", type=int, default=size.heads)
    both.add_argument("--layers", type=int, default=size.layers)
    both.add_argument("--seed", type=int, default=plan.seed)
    both.add_argument("--scale", type=float, default=plan.scale, help="factor of the batch size")
    both.add_argument(
        "--stages", type=float, nargs=3, default=plan.stages, metavar="SECONDS",
        help="from when on small, middle and large tables are drawn",
    )  # fmt: skip
    both.add_argument(
        "--steady", type=float, default=plan.steady, metavar="SECONDS",
        help="until when the learning rate stays at its peak",
    )  # fmt: skip
    both.add_argument(
        "--landmarks", type=int, default=plan.landmarks,
        help="rows that the regressions compare with, at most",
    )  # fmt: skip
    both.add_argument("--device", default=_device())
    both.add_argument("--no-graphs", action="store_true", help="launch every kernel by itself")

    train = commands.add_parser("train", parents=[both], help="train for some time")
    train.add_argument("--checkpoint", type=Path, required=True, help="folder to write to")
    train.add_argument("--resume", type=Path, help="folder to go on from, with its plan")
    train.add_argument("--start", type=Path, help="weights to begin with, such as those kept")
    train.add_argument(
        "--decay", type=float, default=0.0, metavar="SECONDS",
        help="at the end, lower the learning rate to 0: the state kept is that before",
    )  # fmt: skip
    train.add_argument(
        "--ends", type=float, metavar="SECONDS",
        help="when the decay ends, in seconds of the whole training; by default with this run",
    )  # fmt: skip
    train.add_argument("--every", type=float, default=20.0, help="seconds between reports")

    timing = commands.add_parser("profile", parents=[both], help="time a step of every shape")
    timing.add_argument("--then", type=float, default=0.0, help="seconds to train for afterwards")

    data = commands.add_parser("export-data", help="write real tables with five folds each")
    data.add_argument("folder", type=Path)

    judge = commands.add_parser("evaluate", help="measure weights on real tables")
    judge.add_argument(
        "--checkpoint", type=Path, help="folder, or weights.npz; without it the regressions alone"
    )
    judge.add_argument("--data", type=Path, nargs="+", required=True)
    judge.add_argument("--passes", type=int, default=8)
    judge.add_argument("--folds", type=int, default=0, help="only the first ones")
    judge.add_argument("--seed", type=int, default=0)
    judge.add_argument("--device", default=_device())
    judge.add_argument("--output", type=Path, help="file for the figures")

    ship = commands.add_parser("ship", help="put weights into the package, with their digest")
    ship.add_argument("--checkpoint", type=Path, required=True, help="folder of the training")
    return top


def _device() -> str:
    return "cuda" if torch.cuda.is_available() else "cpu"


def new_trainer(options: argparse.Namespace) -> Trainer:
    """A training from the beginning."""
    size = Size(options.width, options.heads, options.layers)
    plan = Plan(
        size, options.seed, options.scale, tuple(options.stages), options.steady,
        landmarks=options.landmarks,
    )  # fmt: skip
    return Trainer(plan, options.device, graphs=not options.no_graphs)


def main(arguments: list[str] | None = None) -> None:
    """Run a command."""
    options = parser().parse_args(arguments)
    if options.command == "train":
        graphs = not options.no_graphs
        if options.resume:
            trainer = Trainer.resume(options.resume, options.device, graphs=graphs)
            copy_log(options.resume, options.checkpoint)
        else:
            trainer = new_trainer(options)
            if options.start:
                weights = load_weights(options.start)
                trainer.optimizer.begin_with(weights.arrays)
                trainer.seconds, trainer.tables = (
                    weights.about[name] for name in ("seconds", "tables")
                )
        count = sum(w.numel() for w in trainer.optimizer.weights)
        print(f"{count} weights, {trainer.about()}", flush=True)
        trainer.run(
            options.seconds, decay=options.decay, ends=options.ends, every=options.every,
            folder=options.checkpoint,
        )  # fmt: skip
    elif options.command == "profile":
        trainer = new_trainer(options)
        profile(trainer, options.seconds)
        if options.then:
            trainer.run(options.then, every=5.0)
    elif options.command == "export-data":
        export(options.folder)
    elif options.command == "ship":
        ship_weights(options.checkpoint)
    else:
        if options.checkpoint is None:
            lines = evaluate_regressions(options.data)
        else:
            file = options.checkpoint
            learner = PriorFittedClassifier(
                options.passes, weights=file / "weights.npz" if file.is_dir() else file,
                device=options.device, random_state=options.seed,
            )  # fmt: skip
            lines = evaluate(learner, options.data, holdouts=options.folds)
        if options.output:
            options.output.write_text(json.dumps(lines, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
