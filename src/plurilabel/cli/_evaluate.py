"""``plurilabel evaluate``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from plurilabel._core.names import check_measure
from plurilabel._core.words import counted
from plurilabel.cli import _output as ui
from plurilabel.cli._data import (
    empty_labels_option,
    list_option,
    names_in,
    rows_options,
    soft_option,
)
from plurilabel.cli._predict import load_rows

SEEN = (
    "the model was trained on these rows, so the measures are too optimistic; `plurilabel fit` "
    "reports measures on held-out rows"
)
COLUMNS = (
    "positives", "predicted", "tp", "fp", "fn", "tn", "accuracy", "precision", "recall", "f1",
    "jaccard", "auc",
)  # fmt: skip


@click.command()
@click.argument("model", metavar="MODEL")
@click.argument("data", metavar="NAME|FILE")
@click.option("--per-label", is_flag=True, help="Print counts and measures of each label, too.")
@click.option(
    "--sort", type=click.Choice(COLUMNS), metavar="COLUMN",
    help="Sort the labels of --per-label by this column, lowest first.",
)  # fmt: skip
@list_option(
    "--fail-under", metavar="MEASURE=VALUE",
    help="Exit with status 1 if a measure is worse than this value, such as micro_f1=0.7: lower, "
    "or higher for a loss.",
)  # fmt: skip
@ui.file_option(
    "--report", metavar="FILE.html",
    help="Write a page with all measures, labels, curves and the worst rows.",
)  # fmt: skip
@ui.force_option
@empty_labels_option
@soft_option
@rows_options
@ui.json_option
def evaluate(
    model: str, data: str, per_label: bool, sort: str | None, fail_under: list[str] | None,
    report: Path | None, force: bool, as_json: bool, **reading: Any,
) -> None:  # fmt: skip
    """Evaluate a model on rows with known labels.

    FILE has the columns of features and labels that the model was trained on, in any order; a dash
    reads CSV from standard input. Unknown labels are ignored, and counted. If a standard dataset
    has a published split, the test part is used. Arrows point in the direction of better values.

    \b
    Examples:
      plurilabel evaluate films.skops checked.csv
      plurilabel evaluate films.skops checked.csv --per-label --sort f1
      plurilabel evaluate films.skops checked.csv --fail-under micro_f1=0.7 --report films.html
    """
    bounds = _bounds(names_in(fail_under) or [])
    if report is not None:
        ui.check_output(report, model, data, suffixes=(".html",), option="--report", force=force)
    loaded, rows = load_rows(model, data, with_labels=True, **reading)
    found, table = loaded.evaluate(rows, per_label=per_label or sort is not None, report=report)
    remarks = [SEEN] * loaded.trained_on(rows) + [found.note] * bool(found.note)
    ui.say(*(f"Note: {remark}" for remark in remarks), as_json=True)
    n = rows.X.shape[0] if rows.test is None else len(rows.test)
    lines = [] if table is None else list(zip(loaded.label_names, *table.values()))
    if sort is not None and table is not None:
        lines.sort(key=lambda line: line[1 + list(table).index(sort)])
    if as_json:
        result: dict[str, Any] = {"model": model, "data": data, "rows": n}
        notes = [*rows.remarks, *remarks]
        result |= {"notes": notes, "not_known": found.n_unknown, "measures": found}
        if table is not None:
            result["per_label"] = {name: dict(zip(table, cells)) for name, *cells in lines}
        ui.print_json(result)
    else:
        ui.say(f"{counted(n, 'row')}, {counted(len(loaded.label_names), 'label')}")
        _print(found, table, lines)
    if report is not None:
        ui.say(f"Wrote {report}", as_json=True)
    if worse := found.worse_than(bounds):
        ui.fail("; ".join(f"{m} is {found[m]:.4f}, worse than {bounds[m]}" for m in worse))


def _print(found: Any, table: Any, lines: list[Any]) -> None:
    measures = [[f"{name} {ui.arrow(name)}", f"{value:.4f}"] for name, value in found.items()]
    ui.print_table(["measure", "value"], measures)
    if table is not None:
        ui.echo()
        ui.print_table(["label", *table], [[_shown(cell) for cell in line] for line in lines])


def _bounds(given: list[str]) -> dict[str, float]:
    """Parse MEASURE=VALUE."""
    bounds = {}
    for text in given:
        name, _, value = text.partition("=")
        with ui.about_option("--fail-under"):
            name = check_measure(name.strip())
        try:
            bounds[name] = float(value)
        except ValueError:
            raise ui.UsageError(f"--fail-under must be MEASURE=VALUE, got {text!r}") from None
    return bounds


def _shown(cell: Any) -> str:
    return f"{cell:.4f}" if isinstance(cell, float) else str(cell)
