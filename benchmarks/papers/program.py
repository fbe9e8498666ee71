"""Repeat the published tables of the papers: ``python -m benchmarks reproduce``."""

from __future__ import annotations

from pathlib import Path

import click

from benchmarks.papers import page, paper, runs
from plurilabel._core.words import counted
from plurilabel._core.writable import not_writable
from plurilabel.cli._output import UsageError, echo, in_words, print_json
from plurilabel.cli._progress import ComparisonProgress


@click.command()
@click.argument("name", metavar="[PAPER]", required=False)
@click.option("--table", metavar="T", help='One table or figure: I, "table 3", "figure 2".')
@click.option("--list", "only_list", is_flag=True, help="Show the papers and their tables.")
@click.option("--json", "as_json", is_flag=True, help="Print every cell as JSON.")
@click.option(
    "--out", type=click.Path(path_type=Path, file_okay=False),
    help="Folder for the page reproduction.md and its figures.",
)  # fmt: skip
@click.option("--jobs", type=int, default=-1, show_default=True, help="Processes; -1: all cores.")
@click.pass_context
def main(
    ctx: click.Context,
    name: str | None,
    table: str | None,
    only_list: bool,
    as_json: bool,
    out: Path | None,
    jobs: int,
) -> None:
    """Repeat the published tables of the papers.

    Each published value is shown next to ours, with the difference and a verdict. Without PAPER,
    all papers are run. The exit status is 0 if all claims hold, otherwise 1.

    The data are read from the folder named by PLURILABEL_DATA.

    \b
    python -m benchmarks reproduce --list
    python -m benchmarks reproduce ml-knn --table I
    python -m benchmarks reproduce --out docs
    """
    known = paper.paper_names()
    if jobs == 0:
        raise click.UsageError("--jobs must not be 0", ctx=ctx)
    if out is not None and (why := not_writable(out)):
        raise UsageError(f"--out {out} cannot be written: {why}")
    if name is not None and name not in known:
        raise click.UsageError(f"unknown paper {name!r}; there are {', '.join(known)}", ctx=ctx)
    if only_list:
        parts = {key: list(paper.load_paper(key).parts) for key in ([name] if name else known)}
        if as_json:
            print_json(parts)
        else:
            echo("\n".join(f"{key}: {', '.join(tables)}" for key, tables in parts.items()))
        return
    try:
        with ComparisonProgress() as progress:
            result = runs.reproduce(name, table, n_jobs=jobs, progress=progress)
    except runs.UnknownPart as error:
        raise click.UsageError(str(error), ctx=ctx) from None
    except (ImportError, OSError, ValueError) as error:
        raise click.ClickException(in_words(error)) from None
    if as_json:
        print_json({"holds": result.holds, "cells": result.rows})
    else:
        echo(str(result))
    if out is not None:
        echo(f"Wrote {page.write_page(result, out)}", err=True)
    if not result.holds:
        echo(f"{counted(len(result.failures), 'cell')} failed to hold.", err=True)
        ctx.exit(1)
