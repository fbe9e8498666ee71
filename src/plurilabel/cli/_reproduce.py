"""``plurilabel reproduce``."""

from __future__ import annotations

from pathlib import Path

import click

from plurilabel._core.words import counted
from plurilabel.cli._output import check_folder, echo, print_json
from plurilabel.cli._progress import ComparisonProgress

# plurilabel.evaluation.paper_names, whose import would take a second
PAPERS = ["ml-knn", "dw-ml-knn", "ml-wknn", "bp-mll", "review", "insdif", "miml"]


@click.command()
@click.argument("paper", required=False)
@click.option("--table", metavar="T", help='One table or figure: I, "table 3", "figure 2".')
@click.option("--list", "only_list", is_flag=True, help="Show the papers and their tables.")
@click.option("--json", "as_json", is_flag=True, help="Print every cell as JSON.")
@click.option(
    "--out", type=click.Path(path_type=Path, file_okay=False),
    help="Folder for the page reproduction.md and its figures.",
)  # fmt: skip
@click.option("--jobs", type=int, default=-1, show_default=True, help="Processes; -1: all cores.")
@click.pass_context
def reproduce(
    ctx: click.Context,
    paper: str | None,
    table: str | None,
    only_list: bool,
    as_json: bool,
    out: Path | None,
    jobs: int,
) -> None:
    """Run the published tables of the papers again.

    Each published value stands beside ours, with the difference and a verdict. Without PAPER all
    of them are run. The exit status is 0 if all that is claimed to hold does, else 1.

    The data are looked for in the folder that PLURILABEL_DATA names.

    \b
    plurilabel reproduce --list
    plurilabel reproduce ml-knn --table I
    plurilabel reproduce --out docs
    """
    if jobs == 0:
        raise click.UsageError("--jobs must not be 0", ctx=ctx)
    if out is not None:
        check_folder(out, f"--out {out}")
    if paper is not None and paper not in PAPERS:
        raise click.UsageError(f"unknown paper {paper!r}; there are {', '.join(PAPERS)}", ctx=ctx)
    if only_list:
        _list([paper] if paper else PAPERS, as_json=as_json)
        return
    from plurilabel import evaluation

    try:
        with ComparisonProgress() as progress:
            result = evaluation.reproduce(paper, table, n_jobs=jobs, progress=progress)
    except evaluation.UnknownPart as error:
        raise click.UsageError(str(error), ctx=ctx) from None
    if as_json:
        print_json({"holds": result.holds, "cells": result.rows})
    else:
        echo(str(result))
    if out is not None:
        echo(f"Wrote {evaluation.write_page(result, out)}", err=True)
    if not result.holds:
        echo(f"{counted(len(result.failures), 'cell')} failed to hold.", err=True)
        ctx.exit(1)


def _list(papers: list[str], *, as_json: bool) -> None:
    """Print papers and their tables."""
    from plurilabel import evaluation

    parts = {name: list(evaluation.load_paper(name).parts) for name in papers}
    if as_json:
        print_json(parts)
    else:
        echo("\n".join(f"{name}: {', '.join(tables)}" for name, tables in parts.items()))
