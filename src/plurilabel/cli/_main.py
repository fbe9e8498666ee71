"""The commands, which are imported when they run, so that ``--help`` is fast."""

from __future__ import annotations

import errno
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any, cast

import click

from plurilabel import __version__
from plurilabel._core.words import similar
from plurilabel.cli import _output as ui

COMMANDS = {
    "describe": ("_describe:describe", "Describe a dataset."),
    "embed": ("_embed:embed", "Encode a column of text as vectors."),
    "fuse": ("_fuse:fuse", "Combine votes of several sources into probabilities."),
    "fit": ("_fit:fit", "Train a model, evaluate it, and save it."),
    "predict": ("_predict:predict", "Predict the labels of new rows with a model."),
    "evaluate": ("_evaluate:evaluate", "Evaluate a model on rows with known labels."),
    "explain": ("_explain:explain", "Explain the predicted labels of rows."),
    "issues": ("_issues:issues", "List tags that are probably wrong or missing."),
    "calibrate": ("_refine:calibrate", "Calibrate the predicted probabilities."),
    "guarantee": ("_refine:guarantee", "Add a guarantee to the label sets of a model."),
    "export": ("_export:export", "Export a model as an ONNX graph, to run it without Python."),
    "tune": ("_fit:tune", "Search for the best parameters and save the model."),
    "compare": ("_compare:compare", "Compare learners on datasets."),
    "stream": ("_stream:stream", "Test learners on each row of a stream, then let them learn it."),
    "serve": (
        "_serve:serve",
        "Serve a model over HTTP, with a page to view, explain and correct predictions.",
    ),
    "label": ("_label:label", "Label rows on a page, from nothing to a model."),
    "demo": ("_demo:demo", "Compare learners on the bundled data."),
}
"""Module, function and short help of each command, by name."""


class Friendly(click.Group):
    """A group with one-sentence errors, whose commands are imported when they run.

    ``lazy`` describes the commands as :data:`COMMANDS` does, so that ``--help`` imports little.
    """

    def __init__(self, *args: Any, lazy: dict[str, tuple[str, str]] | None = None, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self.lazy = lazy or {}

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*self.lazy, *super().list_commands(ctx)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.lazy:
            return super().get_command(ctx, cmd_name)
        module, _, name = self.lazy[cmd_name][0].partition(":")
        return cast(click.Command, getattr(import_module(f"plurilabel.cli.{module}"), name))

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """List the commands without importing them."""
        rows = {name: words for name, (_, words) in self.lazy.items()}
        rows |= {name: command.get_short_help_str() for name, command in self.commands.items()}
        with formatter.section("Commands"):
            formatter.write_dl(list(rows.items()))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        names = self.list_commands(ctx)
        if not args[0].startswith("-") and args[0] not in names:
            close = similar(args[0], names)
            hint = f"did you mean {close!r}?" if close else f"choose from {', '.join(names)}"
            raise ui.UsageError(f"No such command {args[0]!r}; {hint}")
        name, command, rest = super().resolve_command(ctx, args)
        if command is not None:
            _refuse_repeated(command, ctx, rest)
        return name, command, rest

    def invoke(self, ctx: click.Context) -> Any:
        try:
            with _plain_warnings():
                return super().invoke(ctx)
        except MemoryError as error:
            what = f" ({error})" if str(error) else ""
            ui.fail(f"not enough memory{what}; try fewer rows or labels")
        except RecursionError:
            ui.fail("the input is nested too deeply")
        except KeyboardInterrupt:
            click.echo("Stopped.", err=True)
            ctx.exit(130)  # by convention for SIGINT
        except (ImportError, OSError, ValueError) as error:
            if isinstance(error, OSError) and error.errno == errno.EPIPE:
                raise  # click exits quietly
            ui.fail(ui.in_words(error))


def _refuse_repeated(command: click.Command, ctx: click.Context, args: list[str]) -> None:
    """Reject a repeated option: click would use its last value."""
    own = click.Context(command, parent=ctx, resilient_parsing=True)
    try:
        _, _, order = command.make_parser(own).parse_args(list(args))
    except click.ClickException:
        return  # the command itself will report the error
    for parameter in order:
        single = isinstance(parameter, click.Option) and not (
            parameter.multiple or parameter.is_flag or parameter.count
        )
        if single and order.count(parameter) > 1:
            raise ui.UsageError(f"{parameter.opts[-1]} takes one value, but was given twice")


@contextmanager
def _plain_warnings() -> Iterator[None]:
    """Print warnings as one line on stderr, each once."""
    shown: set[str] = set()

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        text = ui.in_options(" ".join(str(message).split()))
        if text not in shown:
            shown.add(text)
            ui.echo(f"Warning: {text}", err=True)

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield


@click.group(
    cls=Friendly,
    lazy=COMMANDS,
    context_settings={
        "help_option_names": ["-h", "--help"], "max_content_width": 99, "show_default": True,
    },
)  # fmt: skip
@click.version_option(__version__, prog_name="plurilabel")
def plurilabel() -> None:
    """Multi-label learning, faithful to the papers and native to scikit-learn.

    \b
    plurilabel fit films.csv --labels tags -o films.skops
    plurilabel predict films.skops new.csv
    plurilabel COMMAND --help shows the options of a command, with examples.
    """
