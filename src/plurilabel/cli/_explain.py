"""``plurilabel explain``."""

from __future__ import annotations

from typing import Any

import click

from plurilabel._core.words import listed, similar
from plurilabel.cli._data import list_option, names_in, read_rows, rows_options
from plurilabel.cli._output import UsageError, check_file, echo, print_json, print_table, say


@click.command()
@click.argument("model", metavar="MODEL")
@click.argument("data", metavar="NAME|FILE")
@list_option(
    "--row", metavar="NUMBERS", help="Rows to explain, counted from 0; by default the first 3."
)
@list_option("--label", metavar="LABELS", help="Labels to explain; by default the predicted ones.")
@click.option(
    "--top",
    type=click.IntRange(1),
    default=5,
    show_default=True,
    help="Number of contributions per label.",
)
@rows_options
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def explain(
    model: str,
    data: str,
    row: list[str] | None,
    label: list[str] | None,
    top: int,
    as_json: bool,
    **reading: Any,
) -> None:
    """Explain the predicted labels of rows.

    FILE has the columns that the model was trained on, as for predict.

    \b
    Examples:
      plurilabel explain films.skops new.csv
      plurilabel explain films.skops new.csv --row 7 --label comedy --top 10
    """
    check_file(model)
    wanted = names_in(row)
    if wanted is not None and not all(one.isdecimal() for one in wanted):
        raise UsageError(f"--row must be row numbers, got {', '.join(wanted)}")
    from plurilabel._core.compat import safe_indexing
    from plurilabel.models import load_model

    loaded = load_model(model)
    names, chosen = list(loaded.label_names), names_in(label)
    if chosen and (unknown := [name for name in chosen if name not in names]):
        close = similar(unknown[0], names)
        hint = f"did you mean {close}?" if close else f"choose from {listed(names, 10)}"
        raise UsageError(f"--label: the model has no label {unknown[0]!r}; {hint}")
    rows = read_rows(loaded, data, **reading)
    for remark in rows.remarks:
        say(f"Note: {remark}", as_json=True)
    n = rows.X.shape[0]
    numbers = list(range(min(n, 3))) if wanted is None else [int(one) for one in wanted]
    if (last := max(numbers)) >= n:
        raise UsageError(f"--row must be below the number of rows, {n:,}, got {last:,}")
    X = safe_indexing(rows.X, numbers)
    found: list[dict[str, Any]] = []
    for number, labels, why in zip(numbers, loaded.label_sets(X), loaded.explanations(X)):
        lines = [
            {"label": one, "score": float(why.scores[j]), "parts": dict(why.top(j, top))}
            for j, one in sorted(enumerate(names), key=lambda pair: -why.scores[pair[0]])
            if one in (chosen or labels or names)
        ]
        found.append({"row": number, "predicted": labels, "labels": lines})
    if as_json:
        print_json({"rows": found})
        return
    for one in found:
        table = [
            [
                line["label"],
                f"{line['score']:.3f}",
                ", ".join(f"{name} {value:+.2f}" for name, value in line["parts"].items()) or "-",
            ]
            for line in one["labels"]
        ]
        title = f"Row {one['row']}: {', '.join(one['predicted']) or 'no label'}"
        columns = ["label", "score", "contributions"]
        print_table(columns, table, title=title, texts=columns)
        echo()
