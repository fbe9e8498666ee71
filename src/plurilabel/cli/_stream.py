"""plurilabel stream: learners on rows that come one by one."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

import click

from plurilabel._core.words import file_size, listed
from plurilabel.cli._data import (
    check_names,
    data_options,
    find,
    names_in,
    table_labels,
    word_features,
)
from plurilabel.cli._output import (
    UsageError,
    about_option,
    command_line,
    echo,
    no_file,
    print_json,
    print_table,
    say,
)

if TYPE_CHECKING:
    from plurilabel.streams import Stream, StreamResults

option = partial(click.option, show_default=True)
flag = partial(click.option, is_flag=True)

GENERATORS = {
    "trees": "RandomTreeStream",
    "centres": "MovingCentreStream",
    "dependence": "LabelDependenceStream",
}
IDLE = ("fresh", "as_json", "report")  # options that change no result
LEARNERS = "WindowMLkNN, MLSAMPkNN, NoChange, LabelShares"
SHOWN = {
    "subset_accuracy": "subset",
    "hamming_loss": "Hamming",
    "f1": "F1",
    "micro_f1": "micro F1",
    "macro_f1": "macro F1",
    "average_precision": "avg.pr",
}
NEEDS_ALL_ROWS = ("min_count", "embeddings")
TO_RUN = ("window", "fading", "every", "delay", "max_rows", "checkpoint", "out", "fresh")
"""Options that are passed on as they are."""


@click.command()
@click.argument("data", metavar="FILE|NAME|-")
@option(
    "--learners", default=LEARNERS, metavar="LEARNERS",
    help="Learners with commas between them; those of river with their module, such as "
    '"chain=river.multioutput.ClassifierChain(river.linear_model.LogisticRegression())". '
    "name=LEARNER gives a name.",
)  # fmt: skip
@click.option("--measures", metavar="NAMES", help="Measures with commas between them; else all.")
@option("--window", type=click.IntRange(1), default=1000, help="Rows of windowed measures.")
@option(
    "--fading", type=click.FloatRange(0, 1, min_open=True, max_open=True), default=0.995,
    help="Factor of fading measures.",
)  # fmt: skip
@option("--every", type=click.IntRange(1), default=100, help="Rows between two readings.")
@option("--delay", type=click.IntRange(0), default=0, help="Rows until labels arrive.")
@click.option("--rows", "max_rows", type=click.IntRange(1), help="Rows to read at most.")
@option(
    "--out", type=click.Path(file_okay=False, path_type=Path), default=Path("stream"),
    help="Folder for the results; a run that was stopped is continued there.",
)  # fmt: skip
@option("--checkpoint", type=click.IntRange(1), default=10_000, help="Rows between two savings.")
@flag("--fresh", help="Start again, and replace what is there.")
@option("--report/--no-report", default=True, help="Write the report.")
@flag("--json", "as_json", help="Print the results as JSON.")
@data_options
@click.option(
    "--format", "kind", type=click.Choice(["csv", "jsonl"]), help="Of standard input; else CSV."
)  # fmt: skip
@click.option("--drift", metavar="KIND", help="Of a generated stream.  [default: sudden]")
@option("--seed", type=click.IntRange(0), default=0, help="Of a generated stream.")
@click.pass_context
def stream(
    ctx: click.Context,
    data: str,
    learners: str,
    measures: str | None,
    report: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Test learners on each row of a stream, then let them learn it.

    A CSV file or JSON lines are read row by row, gzipped or not; a dash is standard input. Other
    files and standard datasets are read in their order. trees, centres and dependence are
    generated, with drifts at known rows. The same command continues where it was stopped; standard
    input has to begin with the same rows then. The exit status is 1 if any learner failed.

    Numbers and dates in a table are written as for fit. Columns of text are named with --text; any
    other text is a category.

    \b
    plurilabel stream scene --learners "NoChange, LabelShares"
    plurilabel stream trees --drift gradual --rows 5000
    zcat log.csv.gz | plurilabel stream - --labels tags --delay 100
    plurilabel stream mails.csv --labels topics --text subject,body --drop id
    """
    passed = {name: options.pop(name) for name in TO_RUN}
    check_names(measures)
    source = _source(data, passed["max_rows"], **options)
    from plurilabel.evaluation import write_stream_report
    from plurilabel.metrics.shared import check_measures
    from plurilabel.streams import make_stream_learners, prequential

    with about_option("--measures"):
        wanted = check_measures(names_in(measures))
    with about_option("--learners"):
        chosen = make_stream_learners(learners)
    try:
        command = command_line(ctx, [data], IDLE)
        results = prequential(
            source, chosen, wanted, progress=_Progress(), command=command, **passed
        )
    except KeyboardInterrupt:
        out = passed["out"]
        echo(f"Stopped. The same command continues from the last checkpoint in {out}.", err=True)
        ctx.exit(130)
    except TypeError as error:
        raise UsageError(f"--learners: {error}") from None
    if not as_json:
        _show(results)
    say(*_notes(source), as_json=as_json)
    for name, why in results.errors.items():
        echo(f"{name} failed at {why}", err=True)
    files = write_stream_report(results) if report else {}
    say(*(f"Wrote {path}" for path in files.values()), as_json=as_json)
    if as_json:
        print_json(_as_dict(results, files))
    if results.errors:
        ctx.exit(1)


def _source(
    data: str,
    max_rows: int | None,
    *,
    kind: Any,
    drift: str | None,
    seed: int,
    **reading: Any,
) -> Stream:
    """A generated stream, a table row by row, or the rows of a dataset."""
    if reading["soft"]:
        raise UsageError("--soft is not available for streams, whose labels are 0 or 1")
    if data in GENERATORS and not Path(data).exists():
        from plurilabel import streams

        given = {"n_rows": max_rows, "drift": drift, "random_state": seed}
        given = {name: value for name, value in given.items() if value is not None}
        made: Stream = getattr(streams, GENERATORS[data])(**given)
        return made
    if drift is not None:
        raise UsageError(f"--drift is for {', '.join(GENERATORS)}, got {data}")
    if data != "-" and Path(data).suffix and not Path(data).is_file():
        raise FileNotFoundError(no_file(Path(data)))
    from plurilabel import io, streams

    if data != "-" and io.file_format(data) not in ("csv", "tsv", "jsonl"):
        return streams.DatasetStream(find(data, **reading))
    return _table(data, kind, reading)


def _table(data: str, kind: Any, reading: dict[str, Any]) -> Stream:
    """A table that is read row by row."""
    from plurilabel import streams

    columns = table_labels(data, reading["labels"])
    for name in NEEDS_ALL_ROWS:
        if reading[name] is not None:
            option = "--" + name.replace("_", "-")
            raise UsageError(f"{option} needs all rows at once, but {data} is read row by row")
    return streams.TableStream(
        data,
        columns,
        tag_sep=reading["tag_sep"] or ";",
        text=names_in(reading["text"]) or (),
        features=names_in(reading["features"]),
        drop=names_in(reading["drop"]) or (),
        sep=reading["sep"],
        decimal=reading["decimal"],
        day_first=reading["day_first"],
        words=_words(reading),
        format=kind,
    )


def _words(reading: dict[str, Any]) -> list[Any] | None:
    """Analyzers of text for the options; None if none is given."""
    options = {
        "ngrams": reading["ngrams"],
        "stop_words": names_in(reading["stop_words"]),
        "subwords": reading["subwords"] or None,
    }
    found = word_features(options)
    if found is None:
        return None
    if reading["text"] is None:
        option = next(name for name, value in options.items() if value is not None)
        option = "--" + option.replace("_", "-")
        raise UsageError(f"{option} is for columns of text: name them with --text")
    several = [part for _, part in getattr(found, "transformer_list", [("", found)])]
    return [part.build_analyzer() for part in several]


def _notes(source: Any) -> list[str]:
    """Remarks about the columns of the table."""
    names = getattr(source, "identifiers", [])
    if not names:
        return []
    named, are = listed([repr(name) for name in names], 5), "is" if len(names) == 1 else "are"
    return [
        f"Note: {named} {are} like identifiers, different in each row; leave out with "
        f"--drop {','.join(names)!r}"
    ]


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
    print_table(["learner", *titles, "rows/s", "size"], rows, title=title)


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
