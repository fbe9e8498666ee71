"""``plurilabel stream``."""

from __future__ import annotations

import sys
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, cast

import click

from plurilabel._core.words import file_size, listed
from plurilabel.cli import _data
from plurilabel.cli import _output as ui

if TYPE_CHECKING:
    from plurilabel.streams import Stream, StreamResults

GENERATORS = {
    "trees": "RandomTreeStream",
    "centres": "MovingCentreStream",
    "dependence": "LabelDependenceStream",
}
IDLE = ("fresh", "as_json", "report")  # options that change no result
LEARNERS = "WindowMLkNN, MLSAMPkNN, NoChange, LabelShares"
SHOWN = {
    "subset_accuracy": "subset", "hamming_loss": "Hamming", "f1": "F1", "micro_f1": "micro F1",
    "macro_f1": "macro F1", "average_precision": "avg.pr",
}  # fmt: skip
NEEDS_ALL_ROWS = ("min_count", "embeddings")
TO_RUN = ("window", "fading", "every", "delay", "max_rows", "checkpoint", "out", "fresh")
"""Options that are passed on unchanged."""


@click.command()
@click.argument("data", metavar="FILE|NAME|-")
@click.option(
    "--learners", default=LEARNERS, metavar="LEARNERS",
    help="Learners separated by commas; those of river with their module, such as "
    '"chain=river.multioutput.ClassifierChain(river.linear_model.LogisticRegression())". '
    "name=LEARNER gives a name.",
)  # fmt: skip
@click.option("--measures", metavar="NAMES", help="Measures separated by commas; by default all.")
@click.option("--window", type=click.IntRange(1), default=1000, help="Rows of windowed measures.")
@click.option("--fading", type=ui.FRACTION, default=0.995, help="Factor of fading measures.")
@click.option("--every", type=click.IntRange(1), default=100, help="Rows between two readings.")
@click.option("--delay", type=click.IntRange(0), default=0, help="Rows until labels arrive.")
@click.option("--rows", "max_rows", type=click.IntRange(1), help="Maximum number of rows to read.")
@click.option(
    "--out", type=click.Path(file_okay=False, path_type=Path), default=Path("stream"),
    help="Folder for the results; an interrupted run continues there.",
)  # fmt: skip
@click.option("--checkpoint", type=click.IntRange(1), default=10_000, help="Rows per checkpoint.")
@click.option("--fresh", is_flag=True, help="Start again and replace the results.")
@click.option("--report/--no-report", default=True, help="Write the report.")
@click.option("--json", "as_json", is_flag=True, help="Print the results as JSON.")
@_data.data_options
@click.option("--format", "kind", type=click.Choice(["csv", "jsonl"]), help="Of standard input.")
@click.option("--drift", metavar="KIND", help="Drift of a generated stream; sudden by default.")
@click.option("--seed", type=click.IntRange(0), default=0, help="Seed of a generated stream.")
@click.pass_context
def stream(
    ctx: click.Context, data: str, learners: str, measures: str | None, report: bool,
    as_json: bool, **options: Any,
) -> None:  # fmt: skip
    """Test learners on each row of a stream, then let them learn it.

    CSV files and JSON lines, gzipped or not, are read row by row; a dash reads standard input.
    Other files and standard datasets are read in their order. trees, centres and dependence are
    generated streams with drifts at known rows. The same command continues an interrupted run, for
    which standard input must begin with the same rows. The exit status is 1 if any learner failed.

    Numbers and dates are read as by fit. Name columns of text with --text; other text is treated
    as categories.

    \b
    plurilabel stream scene --learners "NoChange, LabelShares"
    plurilabel stream trees --drift gradual --rows 5000
    zcat log.csv.gz | plurilabel stream - --labels tags --delay 100
    plurilabel stream mails.csv --labels topics --text subject,body --drop id
    """
    passed = {name: options.pop(name) for name in TO_RUN}
    _data.check_names(measures)
    source = _source(data, passed["max_rows"], **options)
    from plurilabel.evaluation import write_stream_report
    from plurilabel.metrics.shared import check_measures
    from plurilabel.streams import make_stream_learners, prequential

    with ui.about_option("--measures"):
        wanted = check_measures(_data.names_in(measures))
    with ui.about_option("--learners"):
        chosen = make_stream_learners(learners)
    try:
        command = ui.command_line(ctx, [data], IDLE)
        results = prequential(
            source, chosen, wanted, progress=_Progress(), command=command, **passed
        )
    except KeyboardInterrupt:
        out = passed["out"]
        ui.echo(f"Stopped. The same command resumes from the last checkpoint in {out}.", err=True)
        ctx.exit(130)
    except TypeError as error:
        raise ui.UsageError(f"--learners: {error}") from None
    if not as_json:
        _show(results)
    if names := getattr(source, "identifiers", []):
        named, are = listed([repr(name) for name in names], 5), "is" if len(names) == 1 else "are"
        leave = f"leave out with --drop {','.join(names)!r}"
        ui.say(f"Note: {named} {are} like identifiers, different in each row; {leave}",
               as_json=as_json)  # fmt: skip
    for name, why in results.errors.items():
        ui.echo(f"{name} failed at {why}", err=True)
    files = write_stream_report(results) if report else {}
    ui.say(*(f"Wrote {path}" for path in files.values()), as_json=as_json)
    if as_json:
        ui.print_json(_as_dict(results, files))
    if results.errors:
        ctx.exit(1)


def _source(
    data: str, max_rows: int | None, *, kind: Any, drift: str | None, seed: int, **reading: Any
) -> Stream:
    """A generated stream, a table row by row, or the rows of a dataset."""
    if reading["soft"]:
        raise ui.UsageError("--soft is not available for streams, whose labels are 0 or 1")
    if data in GENERATORS and not Path(data).exists():
        from plurilabel import streams

        given = {"n_rows": max_rows, "drift": drift, "random_state": seed}
        given = {name: value for name, value in given.items() if value is not None}
        return cast("Stream", getattr(streams, GENERATORS[data])(**given))
    if drift is not None:
        raise ui.UsageError(f"--drift is for {', '.join(GENERATORS)}, got {data}")
    if data != "-" and Path(data).suffix and not Path(data).is_file():
        raise FileNotFoundError(ui.no_file(Path(data)))
    from plurilabel import io, streams

    if data != "-" and io.file_format(data) not in ("csv", "tsv", "jsonl"):
        return streams.DatasetStream(_data.find(data, **reading))
    return _table(data, kind, reading)


def _table(data: str, kind: Any, reading: dict[str, Any]) -> Stream:
    from plurilabel import streams

    columns = _data.table_labels(data, reading["labels"])
    for name in NEEDS_ALL_ROWS:
        if reading[name] is not None:
            option = "--" + name.replace("_", "-")
            raise ui.UsageError(f"{option} needs all rows at once, but {data} is read row by row")
    given: dict[str, Any] = {n: _data.names_in(reading[n]) for n in ("text", "features", "drop")}
    given |= {name: reading[name] for name in ("tag_sep", "sep", "decimal", "day_first")}
    given = {name: value for name, value in given.items() if value is not None}
    return streams.TableStream(data, columns, words=_words(reading), format=kind, **given)


def _words(reading: dict[str, Any]) -> list[Any] | None:
    """Analyzers of text for the options; None if none is given."""
    names = ("ngrams", "stop_words", "subwords")
    options = {name: reading[name] for name in names if reading[name]}
    if "stop_words" in options:
        options["stop_words"] = _data.names_in(options["stop_words"])
    found = _data.word_features(options)
    if found is None:
        return None
    if reading["text"] is None:
        option = "--" + next(iter(options)).replace("_", "-")
        raise ui.UsageError(f"{option} is for columns of text: name them with --text")
    several = [part for _, part in getattr(found, "transformer_list", [("", found)])]
    return [part.build_analyzer() for part in several]


class _Progress:
    """The number of rows on stderr, now and then."""

    def __init__(self) -> None:
        self.said, self.on_terminal = monotonic(), sys.stderr.isatty()

    def __call__(self, results: StreamResults) -> None:
        pause = 0.5 if self.on_terminal else 30
        if results.is_finished and self.on_terminal:
            click.echo("\r", err=True, nl=False)
        elif monotonic() - self.said > pause:
            self.said = monotonic()
            text = f"{results.n_rows:,} rows"
            click.echo(
                f"\r{text}" if self.on_terminal else text, err=True, nl=not self.on_terminal
            )


def _show(results: StreamResults) -> None:
    shown = [name for name in SHOWN if name in results.measures] or list(results.measures[:6])
    finals = {name: results.final(name) for name in shown}
    speed, size = results.speed(), results.size()
    rows = [
        [
            learner,
            *(_number(finals[name][learner]) for name in shown),
            f"{speed[learner]:,.0f}" if speed[learner] == speed[learner] else "-",
            file_size(size[learner]) if size[learner] == size[learner] else "-",
        ]
        for learner in results.learners
    ]
    titles = [SHOWN.get(name, name) for name in shown]
    drifts = f", {len(results.drifts)} drifts" if results.drifts else ""
    title = f"{results.plan['name']}: {results.n_rows:,} rows{drifts}; measures over all of them"
    ui.print_table(["learner", *titles, "rows/s", "size"], rows, title=title)


def _number(value: float) -> str:
    return f"{value:.4f}" if value == value else "-"


def _as_dict(results: StreamResults, files: dict[str, Path]) -> dict[str, Any]:
    speed, size = results.speed(), results.size()
    return {
        "stream": results.plan["name"],
        "rows": results.n_rows,
        "drifts": [drift._asdict() for drift in results.drifts],
        "learners": {
            name: {
                "overall": {m: results.final(m)[name] for m in results.measures},
                "mean_fading": {m: results.mean(m)[name] for m in results.measures},
                "rows_per_second": speed[name],
                "bytes": size[name],
                "error": results.errors.get(name),
            }
            for name in results.learners
        },
        "files": {name: str(path) for name, path in files.items()},
    }
