"""``plurilabel evaluate``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from plurilabel._core.names import check_measure
from plurilabel._core.words import counted
from plurilabel.cli import _data
from plurilabel.cli import _output as ui
from plurilabel.cli._predict import noted_rows

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
@click.argument("data", metavar="NAME|FILE...", nargs=-1, required=True)
@click.option("--per-label", is_flag=True, help="Print counts and measures of each label, too.")
@click.option(
    "--sort", type=click.Choice(COLUMNS), metavar="COLUMN",
    help="Sort the labels of --per-label by this column, lowest first.",
)  # fmt: skip
@_data.list_option(
    "--fail-under", metavar="MEASURE=VALUE",
    help="Exit with status 1 if a measure is worse than this value, such as micro_f1=0.7: lower, "
    "or higher for a loss.",
)  # fmt: skip
@ui.file_option(
    "--report", metavar="FILE.html",
    help="Write a page with all measures, labels, curves and the worst rows.",
)  # fmt: skip
@_data.scheduler_option
@ui.force_option
@_data.empty_labels_option
@_data.soft_option
@_data.rows_options
@ui.json_option
def evaluate(
    model: str, data: tuple[str, ...], per_label: bool, sort: str | None,
    fail_under: list[str] | None, report: Path | None, scheduler: str | None, force: bool,
    as_json: bool, **reading: Any,
) -> None:  # fmt: skip
    """Evaluate a model on rows with known labels.

    FILE has the columns of features and labels that the model was trained on, in any order; a dash
    reads CSV from standard input. Unknown labels are ignored, and counted. If a standard dataset
    has a published split, the test part is used. Arrows point in the direction of better values.

    With --scheduler, CSV and Parquet files may be larger than memory. Areas under curves, which
    compare all rows, are left out, and --per-label and --report are not available.

    \b
    Examples:
      plurilabel evaluate films.skops checked.csv
      plurilabel evaluate films.skops checked.csv --per-label --sort f1
      plurilabel evaluate films.skops checked.csv --fail-under micro_f1=0.7 --report films.html
      plurilabel evaluate films.skops rows/*.parquet --scheduler threads
    """
    bounds = _bounds(_data.names_in(fail_under) or [])
    if report is not None:
        ui.check_output(report, model, *data, suffixes=(".html",), option="--report", force=force)
    ui.check_file(model)
    from plurilabel.models import evaluate_files
    from plurilabel.models.shared import shared_model

    loaded, table = shared_model(model).model, None
    if scheduler is not None:
        if report is not None or per_label or sort is not None:
            raise ui.UsageError("--per-label, --sort and --report do not go with --scheduler")
        with _data.row_source(*data) as source:
            found, about = evaluate_files(model, source, scheduler=scheduler, **reading)
        n, notes, remarks = about.rows, about.remarks, list[str]()
        ui.say(*(f"Note: {remark}" for remark in notes), as_json=True)
    else:
        rows = noted_rows(loaded, *data, with_labels=True, **reading)
        found, table = loaded.evaluate(
            rows, per_label=per_label or sort is not None, report=report
        )
        n, notes = rows.X.shape[0] if rows.test is None else len(rows.test), rows.remarks
        remarks = [SEEN] * loaded.trained_on(rows)
    remarks += [found.note] * bool(found.note)
    ui.say(*(f"Note: {remark}" for remark in remarks), as_json=True)
    lines = [] if table is None else list(zip(loaded.label_names, *table.values()))
    if sort is not None and table is not None:
        lines.sort(key=lambda line: line[1 + list(table).index(sort)])
    if as_json:
        result: dict[str, Any] = {"model": model, "data": " ".join(data), "rows": n}
        result |= {"notes": [*notes, *remarks], "not_known": found.n_unknown, "measures": found}
        if table is not None:
            result["per_label"] = {name: dict(zip(table, cells)) for name, *cells in lines}
        ui.print_json(result)
    else:
        ui.say(f"{counted(n, 'row')}, {counted(len(loaded.label_names), 'label')}")
        measures = [[f"{name} {ui.arrow(name)}", f"{value:.4f}"] for name, value in found.items()]
        ui.print_table(["measure", "value"], measures)
        if table is not None:
            ui.echo()
            shown = [
                [f"{c:.4f}" if isinstance(c, float) else str(c) for c in row] for row in lines
            ]
            ui.print_table(["label", *table], shown)
    if report is not None:
        ui.say(f"Wrote {report}", as_json=True)
    if worse := found.worse_than(bounds):
        ui.fail("; ".join(f"{m} is {found[m]:.4f}, worse than {bounds[m]}" for m in worse))


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
