"""``plurilabel evaluate``."""

from __future__ import annotations

from typing import Any

import click

from plurilabel import metrics
from plurilabel._core.compat import safe_indexing
from plurilabel._core.words import counted
from plurilabel.cli._data import empty_labels_option, read_rows
from plurilabel.cli._output import echo, print_json, print_table, say
from plurilabel.cli._training import arrow, rows_digest, scores_of
from plurilabel.models import Model, ModelRows, load_model


@click.command()
@click.argument("model", metavar="MODEL")
@click.argument("data", metavar="NAME|FILE")
@click.option("--per-label", is_flag=True, help="Also the counts and measures of each label.")
@click.option(
    "--embeddings", metavar="FILE.npy", help="The vectors of these rows, for a model of vectors."
)
@empty_labels_option
@click.option("--sep", metavar="CHARACTER", help="What separates the columns of a CSV file.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def evaluate(
    model: str,
    data: str,
    per_label: bool,
    embeddings: str | None,
    empty_labels: str | None,
    sep: str | None,
    as_json: bool,
) -> None:
    """Measure a model on rows with known labels.

    FILE has the features and the labels that the model was learned from, found by their names; a
    dash reads CSV from standard input. Labels that are not known are left out, and counted. Of a
    standard dataset with a published split, the test part is used. An arrow tells which way a
    measure is better.

    \b
    Examples:
      plurilabel evaluate films.skops checked.csv
      plurilabel evaluate films.skops checked.csv --per-label --json
    """
    loaded = load_model(model)
    rows = read_rows(
        loaded, data, with_labels=True, sep=sep, embeddings=embeddings, empty_labels=empty_labels
    )
    remarks = [*rows.remarks, *_seen(loaded, rows)]
    tested = slice(None) if rows.test is None else rows.test
    X, Y = safe_indexing(rows.X, tested), safe_indexing(rows.Y, tested)
    scores, labels = scores_of(loaded.estimator, X, Y.shape[1]), loaded.estimator.predict(X)
    found = metrics.evaluate(Y, scores, labels)
    remarks += [found.note] if found.note else []
    table = metrics.per_label(Y, scores, labels, loaded.label_names) if per_label else None
    for remark in remarks:
        say(f"Note: {remark}", as_json=True)
    if as_json:
        result: dict[str, Any] = {"model": model, "data": data, "rows": X.shape[0]}
        result |= {"notes": remarks, "not_known": found.n_unknown, "measures": found}
        if table is not None:
            names = loaded.label_names
            result["per_label"] = {
                name: {key: column[j] for key, column in table.items()}
                for j, name in enumerate(names)
            }
        print_json(result)
        return
    say(f"{counted(X.shape[0], 'row')}, {counted(Y.shape[1], 'label')}")
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


def _seen(model: Model, rows: ModelRows) -> list[str]:
    """A warning if these are the rows that the model was learned from."""
    data = model.notes.get("data", {})
    if data.get("digest") != rows_digest(rows.X, rows.Y):
        return []
    if model.notes.get("learned_rows") == "train" and rows.test is not None:
        return []
    return [
        "the model was learned from these very rows, so the figures flatter it; "
        "`plurilabel fit` says how good it is on rows that it has not seen"
    ]
