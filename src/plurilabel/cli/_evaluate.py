"""``plurilabel evaluate``."""

from __future__ import annotations

from typing import Any

import click

from plurilabel._core.words import counted
from plurilabel.cli._data import empty_labels_option, read_rows, sheet_option
from plurilabel.cli._output import arrow, check_file, echo, print_json, print_table, say

SEEN = (
    "the model was learned from these very rows, so the figures flatter it; `plurilabel fit` "
    "says how good it is on rows that it has not seen"
)


@click.command()
@click.argument("model", metavar="MODEL")
@click.argument("data", metavar="NAME|FILE")
@click.option("--per-label", is_flag=True, help="Also the counts and measures of each label.")
@click.option(
    "--embeddings", metavar="FILE.npy", help="The vectors of these rows, for a model of vectors."
)  # fmt: skip
@empty_labels_option
@click.option("--sep", metavar="CHARACTER", help="What separates the columns of a CSV file.")
@sheet_option
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def evaluate(
    model: str,
    data: str,
    per_label: bool,
    embeddings: str | None,
    empty_labels: str | None,
    sep: str | None,
    sheet: str | None,
    as_json: bool,
) -> None:
    """Measure a model on rows with known labels.

    FILE has the features and the labels that the model was learned from, found by their names; a
    dash reads CSV from standard input. Unknown labels are left out, and counted. For a standard
    dataset with a published split, the test part is used. An arrow tells which way a measure is
    better.

    \b
    Examples:
      plurilabel evaluate films.skops checked.csv
      plurilabel evaluate films.skops checked.csv --per-label --json
    """
    check_file(model)
    from plurilabel.models import load_model

    loaded = load_model(model)
    rows = read_rows(
        loaded,
        data,
        with_labels=True,
        sep=sep,
        sheet=sheet,
        embeddings=embeddings,
        empty_labels=empty_labels,
    )
    found, table = loaded.evaluate(rows, per_label=per_label)
    remarks = [*rows.remarks, *([SEEN] if loaded.trained_on(rows) else [])]
    remarks += [found.note] if found.note else []
    for remark in remarks:
        say(f"Note: {remark}", as_json=True)
    n = rows.X.shape[0] if rows.test is None else len(rows.test)
    if as_json:
        result: dict[str, Any] = {"model": model, "data": data, "rows": n}
        result |= {"notes": remarks, "not_known": found.n_unknown, "measures": found}
        if table is not None:
            cells = zip(*table.values())
            lines = (dict(zip(table, line)) for line in cells)
            result["per_label"] = dict(zip(loaded.label_names, lines))
        print_json(result)
        return
    say(f"{counted(n, 'row')}, {counted(len(loaded.label_names), 'label')}")
    print_table(
        ["measure", "value"],
        [[f"{name} {arrow(name)}", f"{value:.4f}"] for name, value in found.items()],
    )
    if table is not None:
        columns = [[_shown(cell) for cell in column] for column in table.values()]
        echo()
        print_table(["label", *table], list(zip(loaded.label_names, *columns)))


def _shown(cell: Any) -> str:
    return f"{cell:.4f}" if isinstance(cell, float) else str(cell)
