"""``plurilabel evaluate``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from plurilabel._core.names import check_measure
from plurilabel._core.words import counted
from plurilabel.cli._data import (
    empty_labels_option,
    list_option,
    names_in,
    read_rows,
    rows_options,
    soft_option,
)
from plurilabel.cli._output import (
    UsageError,
    about_option,
    arrow,
    check_file,
    check_output,
    echo,
    fail,
    force_option,
    print_json,
    print_table,
    say,
)

SEEN = (
    "the model was learned from these very rows, so the figures flatter it; `plurilabel fit` "
    "says how good it is on rows that it has not seen"
)
COLUMNS = (
    "positives", "predicted", "tp", "fp", "fn", "tn", "accuracy", "precision", "recall", "f1",
    "jaccard", "auc",
)  # fmt: skip


@click.command()
@click.argument("model", metavar="MODEL")
@click.argument("data", metavar="NAME|FILE")
@click.option("--per-label", is_flag=True, help="Also the counts and measures of each label.")
@click.option(
    "--sort", type=click.Choice(COLUMNS), metavar="COLUMN",
    help="Column of --per-label to sort the labels by, the lowest first.",
)  # fmt: skip
@list_option(
    "--fail-under", metavar="MEASURE=VALUE",
    help="Exit with status 1 if a measure is worse than this, such as micro_f1=0.7: below it, or "
    "above it for a loss.",
)  # fmt: skip
@click.option(
    "--report", type=click.Path(path_type=Path), metavar="FILE.html",
    help="Write a page with all measures, labels, curves and the worst rows.",
)  # fmt: skip
@force_option
@empty_labels_option
@soft_option
@rows_options
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def evaluate(
    model: str,
    data: str,
    per_label: bool,
    sort: str | None,
    fail_under: list[str] | None,
    report: Path | None,
    force: bool,
    as_json: bool,
    **reading: Any,
) -> None:
    """Measure a model on rows with known labels.

    FILE has the features and the labels that the model was learned from, found by their names; a
    dash reads CSV from standard input. Unknown labels are left out, and counted. For a standard
    dataset with a published split, the test part is used. An arrow tells which way a measure is
    better.

    \b
    Examples:
      plurilabel evaluate films.skops checked.csv
      plurilabel evaluate films.skops checked.csv --per-label --sort f1
      plurilabel evaluate films.skops checked.csv --fail-under micro_f1=0.7 --report films.html
    """
    bounds = _bounds(names_in(fail_under) or [])
    if report is not None:
        check_output(report, model, data, suffixes=(".html",), option="--report", force=force)
    check_file(model)
    from plurilabel.models import load_model

    loaded = load_model(model)
    rows = read_rows(loaded, data, with_labels=True, **reading)
    found, table = loaded.evaluate(rows, per_label=per_label or sort is not None, report=report)
    remarks = [*rows.remarks, *([SEEN] if loaded.trained_on(rows) else [])]
    remarks += [found.note] if found.note else []
    for remark in remarks:
        say(f"Note: {remark}", as_json=True)
    n = rows.X.shape[0] if rows.test is None else len(rows.test)
    lines = [] if table is None else list(zip(loaded.label_names, *table.values()))
    if sort is not None and table is not None:
        lines.sort(key=lambda line: line[1 + list(table).index(sort)])
    if as_json:
        result: dict[str, Any] = {"model": model, "data": data, "rows": n}
        result |= {"notes": remarks, "not_known": found.n_unknown, "measures": found}
        if table is not None:
            result["per_label"] = {name: dict(zip(table, cells)) for name, *cells in lines}
        print_json(result)
    else:
        say(f"{counted(n, 'row')}, {counted(len(loaded.label_names), 'label')}")
        print_table(
            ["measure", "value"],
            [[f"{name} {arrow(name)}", f"{value:.4f}"] for name, value in found.items()],
        )
        if table is not None:
            echo()
            print_table(["label", *table], [[_shown(cell) for cell in line] for line in lines])
    if report is not None:
        say(f"Wrote {report}", as_json=True)
    if worse := found.worse_than(bounds):
        fail(
            "; ".join(f"{name} is {found[name]:.4f}, worse than {bounds[name]}" for name in worse)
        )


def _bounds(given: list[str]) -> dict[str, float]:
    """Values by measure, from MEASURE=VALUE."""
    bounds = {}
    for text in given:
        name, _, value = text.partition("=")
        with about_option("--fail-under"):
            name = check_measure(name.strip())
        try:
            bounds[name] = float(value)
        except ValueError:
            raise UsageError(f"--fail-under must be MEASURE=VALUE, got {text!r}") from None
    return bounds


def _shown(cell: Any) -> str:
    return f"{cell:.4f}" if isinstance(cell, float) else str(cell)
