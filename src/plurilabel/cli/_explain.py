"""``plurilabel explain``."""

from __future__ import annotations

from typing import Any

import click

from plurilabel._core.words import listed, similar
from plurilabel.cli import _output as ui
from plurilabel.cli._data import list_option, names_in, rows_options
from plurilabel.cli._predict import load_rows


@click.command()
@click.argument("model", metavar="MODEL")
@click.argument("data", metavar="NAME|FILE")
@list_option("--row", metavar="NUMBERS", help="Rows to explain, from 0; by default the first 3.")
@list_option("--label", metavar="LABELS", help="Labels to explain; by default the predicted ones.")
@click.option("--top", type=click.IntRange(1), default=5, help="Contributions per label.")
@rows_options
@ui.json_option
def explain(
    model: str, data: str, row: list[str] | None, label: list[str] | None, top: int, as_json: bool,
    **reading: Any,
) -> None:  # fmt: skip
    """Explain the predicted labels of rows.

    FILE has the columns that the model was trained on, as for predict.

    \b
    Examples:
      plurilabel explain films.skops new.csv
      plurilabel explain films.skops new.csv --row 7 --label comedy --top 10
    """
    wanted = names_in(row)
    if wanted is not None and not all(one.isdecimal() for one in wanted):
        raise ui.UsageError(f"--row must be row numbers, got {', '.join(wanted)}")
    loaded, rows = load_rows(model, data, **reading)
    chosen, names, n = names_in(label), loaded.label_names, rows.X.shape[0]
    if unknown := [name for name in chosen or () if name not in names]:
        close = similar(unknown[0], names)
        hint = f"did you mean {close}?" if close else f"choose from {listed(names, 10)}"
        raise ui.UsageError(f"--label: the model has no label {unknown[0]!r}; {hint}")
    numbers = list(range(min(n, 3))) if wanted is None else [int(one) for one in wanted]
    if (last := max(numbers)) >= n:
        raise ui.UsageError(f"--row must be below the number of rows, {n:,}, got {last:,}")
    found = _explained(loaded, rows.X, numbers, chosen, top)
    if as_json:
        ui.print_json({"rows": found})
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
        ui.print_table(columns, table, title=title, texts=columns)
        ui.echo()


def _explained(model: Any, X: Any, numbers: list[int], chosen: Any, top: int) -> list[Any]:
    """The contributions to the scores of rows, by label, the highest score first."""
    from plurilabel._core.compat import safe_indexing

    X, names = safe_indexing(X, numbers), model.label_names
    found: list[Any] = []
    for number, labels, why in zip(numbers, model.label_sets(X), model.explanations(X)):
        lines = [
            {"label": one, "score": float(why.scores[j]), "parts": dict(why.top(j, top))}
            for j, one in sorted(enumerate(names), key=lambda pair: -why.scores[pair[0]])
            if one in (chosen or labels or names)
        ]
        found.append({"row": number, "predicted": labels, "labels": lines})
    return found
