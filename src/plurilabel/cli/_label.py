"""``plurilabel label``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from plurilabel._core.words import counted, file_size
from plurilabel.cli import _output as ui
from plurilabel.cli._data import names_in, read_learner
from plurilabel.cli._serve import check_token, data_source, listening, serve_until_stopped


@click.command()
@click.argument("data", metavar="NAME|FILE")
@click.option(
    "--labels", multiple=True, metavar="NAMES",
    help="Labels to begin with, separated by commas; more can be added on the page. A slash makes "
    "groups: animal/dog.",
)  # fmt: skip
@click.option("--text", multiple=True, metavar="COLUMNS", help="Columns of text, if not detected.")
@click.option("--drop", multiple=True, metavar="COLUMNS", help="Columns that are not features.")
@click.option(
    "--embeddings", type=click.Path(path_type=Path), metavar="FILE.npy",
    help="Vectors of the rows, for instance of images, which are otherwise only shown.",
)  # fmt: skip
@click.option("--sep", help="Column separator of a CSV file, if not detected.")
@click.option(
    "--store", type=click.Path(path_type=Path), metavar="FILE.db",
    help="File for the answers; by default FILE.labels.db, next to the data.",
)  # fmt: skip
@click.option(
    "--learner", metavar="SPEC", help="Learner of the models; by default an automatic choice."
)
@click.option(
    "--quick/--thorough", default=True, help="Train quickly, as `plurilabel fit --quick` does."
)
@click.option(
    "--import", "imported", type=click.Path(path_type=Path), metavar="FILE",
    help="Import answers first: a table with a column of labels, or an export of Label Studio.",
)  # fmt: skip
@click.option(
    "--export", "exported", type=click.Path(path_type=Path), metavar="FILE",
    help="Write the answers so far to a .csv, .jsonl or .json (Label Studio) file, and exit.",
)  # fmt: skip
@click.option(
    "--save", type=click.Path(path_type=Path), metavar="MODEL.skops",
    help="Train a model on the answers so far, save it, and exit.",
)  # fmt: skip
@ui.force_option
@listening
def label(
    data: str, labels: tuple[str, ...], text: tuple[str, ...], drop: tuple[str, ...],
    embeddings: Path | None, sep: str | None, store: Path | None, learner: str | None,
    quick: bool, imported: Path | None, exported: Path | None, save: Path | None, force: bool,
    **serving: Any,
) -> None:  # fmt: skip
    """Label rows on a page, from nothing to a model.

    The page suggests labels after a few answers, and learns each answer at once; better models
    are trained in the background. It shows how good the suggestions are, what more answers would
    bring, and when enough rows with a label are found. Several people can label at the same time.
    Every answer is on disk before it is acknowledged.

    \b
    Examples:
      plurilabel label mails.csv --labels urgent,question,complaint
      plurilabel label mails.csv --host 0.0.0.0
      plurilabel label mails.csv --save mails.skops
    """
    check_token(serving["token"])
    if learner is not None:
        read_learner(learner)  # its errors name the option
    for path, suffixes, option in (
        (save, (".skops",), "--save"), (exported, (".csv", ".jsonl", ".json"), "--export")
    ):  # fmt: skip
        if path is not None:
            ui.check_output(path, data, suffixes=suffixes, option=option, force=force)
    source = data_source(data)
    from plurilabel.serve.labeling import LabelProject

    store = store or Path(f"{data}.labels.db")
    given: dict[str, Any] = {"sep": sep, "embeddings": embeddings}
    given |= {"text": names_in(text or None), "drop": names_in(drop or None)}
    project = LabelProject(
        source, labels=names_in(labels or None) or (), store=store, learner=learner, quick=quick,
        background=save is None and exported is None,
        **{name: value for name, value in given.items() if value is not None},
    )  # fmt: skip
    if imported is not None:
        done = project.load(imported.read_bytes(), imported.name)
        ui.echo(f"Imported {counted(done['answers'], 'answer')} from {imported}")
    if exported is not None:
        form = {".json": "label-studio"}.get(exported.suffix.lower(), exported.suffix[1:].lower())
        exported.write_bytes(project.export(form))
        ui.echo(f"Wrote {exported} ({counted(len(project.state.answered()), 'row')})")
    if save is not None:
        project.save(save)
        ui.echo(f"Wrote {save} ({file_size(save.stat().st_size)})")
    if exported is not None or save is not None:
        project.close()
        return
    n = len(project.state.answered())
    about = f"{project!r}\nAnswers are stored in {project.log.path} ({counted(n, 'row')} so far)"
    serve_until_stopped(project, about, **serving)
