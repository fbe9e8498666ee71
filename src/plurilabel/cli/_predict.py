"""``plurilabel predict``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from plurilabel._core.words import counted
from plurilabel.cli import _output as ui
from plurilabel.cli._data import list_option, names_in, read_rows, rows_options

if TYPE_CHECKING:
    from plurilabel.models import Model, ModelRows

MOST_COLUMNS = 10_000
OUTPUTS = (".csv", ".tsv", ".parquet", ".jsonl")
PACKED = (".csv.gz", ".tsv.gz", ".jsonl.gz")
SEPARATORS = (";", "|", ",")
DIGITS = 6  # of scores in CSV
_SCORES_AT_ONCE = 5_000_000  # rows times labels


@click.command()
@click.argument("model", metavar="MODEL")
@click.argument("data", metavar="NAME|FILE")
@ui.file_option(
    "-o", "--out", metavar="FILE",
    help=f"Output file: {', '.join(OUTPUTS)}, also with .gz. By default CSV on standard output.",
)  # fmt: skip
@click.option("--scores", is_flag=True, help="Add a column with the score of each label.")
@click.option(
    "--top", type=click.IntRange(1), metavar="K",
    help="Return the K labels with the highest scores, best first, instead of the predicted "
    "ones; with --scores, a further column has their scores.",
)  # fmt: skip
@list_option("--id", "keep", metavar="COLUMNS", help="Columns of the table to include.")
@click.option(
    "--digits", type=click.IntRange(1, 17), metavar="N",
    help="Significant digits of scores; by default 6 in CSV, else all.",
)  # fmt: skip
@ui.force_option
@rows_options
@click.option("--json", "as_json", is_flag=True, help="Print JSON lines instead of CSV.")
@click.option(
    "--formulas", is_flag=True,
    help="Do not escape text such as =A1 in CSV, which spreadsheets would run, with a '.",
)  # fmt: skip
def predict(
    model: str, data: str, out: Path | None, scores: bool, top: int | None, keep: list[str] | None,
    digits: int | None, force: bool, as_json: bool, formulas: bool, **reading: Any,
) -> None:  # fmt: skip
    """Predict the labels of new rows with a model.

    FILE has the columns that the model was trained on, in any order; other columns are ignored. A
    dash reads CSV from standard input. The order of the rows is kept. If a model has only columns
    of text, rows without a known word get no labels.

    \b
    Examples:
      plurilabel predict films.skops new.csv
      plurilabel predict films.skops new.csv --id title --scores -o predicted.parquet
      cat new.csv | plurilabel predict films.skops - --top 3
    """
    if out is not None:
        if as_json:
            raise ui.UsageError("--json is for standard output; for a file use -o NAME.jsonl")
        ui.check_output(out, model, data, suffixes=OUTPUTS + PACKED, force=force)
    loaded, rows = load_rows(model, data, **reading)
    from plurilabel import io

    kind = "jsonl" if as_json else "csv" if out is None else str(io.file_format(out))
    answers = Answers(loaded, scores=scores, top=top, kind=kind, digits=digits)
    kept = _kept(rows, names_in(keep) or [], data)
    _write(out, kind, rows, kept, answers, not formulas)
    if out is not None:
        ui.say(f"Wrote {out} ({counted(rows.X.shape[0], 'row')})", as_json=True)


def load_rows(model: str, data: str, **reading: Any) -> tuple[Model, ModelRows]:
    """Load a model and read rows for it; remarks are printed on stderr."""
    ui.check_file(model)
    from plurilabel.models import load_model

    loaded = load_model(model)
    rows = read_rows(loaded, data, **reading)
    for remark in rows.remarks:
        ui.say(f"Note: {remark}", as_json=True)
    return loaded, rows


def _write(
    out: Path | None, kind: str, rows: ModelRows, kept: Any, answers: Answers,
    escape_formulas: bool,
) -> None:  # fmt: skip
    """Write the kept columns and the predictions, a block of rows at a time."""
    from plurilabel._core.records import write_atomic
    from plurilabel.io.shared import formats

    kept = kept.rename(columns={name: f"{name}_given" for name in answers.types})

    def schema(arrow: Any) -> Any:
        columns = arrow.Schema.from_pandas(kept, preserve_index=False)
        for name, make in answers.types.items():
            columns = columns.append(arrow.field(name, make(arrow)))
        return columns.remove_metadata()

    names = [*kept.columns, *answers.types]
    screen: Any = _Screen() if sys.stdout.isatty() else sys.stdout.buffer
    target = nullcontext(screen) if out is None else write_atomic(out)
    writer: Any = formats()[kind].writer
    with target as stream, writer(stream, names, schema, escape_formulas) as write:
        for block, frame in answers.blocks(rows.X, rows.unknown):
            write(kept.iloc[block].join(frame.set_axis(kept.index[block])))
        stream.flush()


class _Screen:
    """A terminal, which gets no control characters."""

    def write(self, content: bytes) -> None:
        ui.echo(content.decode(), nl=False)

    def writelines(self, lines: Iterable[bytes]) -> None:
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        sys.stdout.flush()


def _kept(rows: ModelRows, names: list[str], data: str) -> Any:
    import pandas as pd

    frame = rows.frame
    if not names:
        return pd.DataFrame(index=range(rows.X.shape[0]))
    if frame is None:
        raise ui.UsageError(f"--id needs a table, but {data} is not one")
    missing = [name for name in names if name not in frame.columns]
    if missing:
        raise ui.UsageError(f"--id: {data} has no column {missing[0]!r}")
    return frame[names].reset_index(drop=True)


class Answers:
    """Predictions of a model as columns: tags, and optionally scores."""

    def __init__(
        self, model: Model, *, scores: bool, top: int | None, kind: str, digits: int | None = None
    ) -> None:
        import numpy as np

        from plurilabel._core.scores import score_method

        if scores and top is None and len(model.label_names) > MOST_COLUMNS:
            raise ui.UsageError(f"--scores adds {len(model.label_names):,} columns; add --top K")
        self.model, self.scores, self.lists = model, scores, kind in ("parquet", "jsonl")
        self.digits = digits or (None if self.lists else DIGITS)
        self.names = np.array(model.label_names, dtype=object)
        self.top = None if top is None else min(top, len(self.names))
        self.column = model.labels if isinstance(model.labels, str) else "labels"
        self.sep = "" if self.lists else self._separator(model.tag_sep)
        if scores or top is not None:
            score_method(model.estimator)  # raises an error if there are no scores

    @cached_property
    def types(self) -> dict[str, Callable[[Any], Any]]:
        """Types of the columns in Parquet, as functions of pyarrow."""
        types = {self.column: lambda arrow: arrow.list_(arrow.string())}
        if self.scores and self.top is not None:
            types["scores"] = lambda arrow: arrow.list_(arrow.float64())
        elif self.scores:
            types |= {f"score_{name}": lambda arrow: arrow.float64() for name in self.names}
        return types

    def _separator(self, given: str | None) -> str:
        """The separator of the model, or the first that no label name contains."""
        for sep in (given, *SEPARATORS):
            if sep is not None and not any(sep in name for name in self.names):
                return sep
        raise ValueError(
            f"the label names contain {' and '.join(SEPARATORS)}, so that tags cannot be joined "
            "in CSV; use --json, or -o with a .jsonl or .parquet file"
        )

    def blocks(self, X: Any, unknown: Any = None) -> Iterator[tuple[slice, Any]]:
        """Blocks of rows and data frames of predictions; unknown rows get none."""
        import numpy as np
        import pandas as pd

        from plurilabel._core.blocks import row_blocks
        from plurilabel._core.compat import safe_indexing

        unknown = np.zeros(X.shape[0], dtype=bool) if unknown is None else unknown
        for rows in row_blocks(X.shape[0], len(self.names), _SCORES_AT_ONCE):
            columns = self._columns(safe_indexing(X, rows))
            for row in np.flatnonzero(unknown[rows]):
                for name, cells in columns.items():
                    is_score = name.startswith("score_") and name != self.column
                    cells[row] = None if is_score else self._cell(self.names[:0])
            yield rows, pd.DataFrame(columns)

    def _columns(self, X: Any) -> dict[str, list[Any]]:
        import numpy as np

        S: Any = None
        if self.scores or self.top is not None:
            S = self.model.scores(X)
        if self.top is not None:
            # the first label wins ties
            best = np.argsort(-S, axis=1, kind="stable")[:, : self.top]
            columns = {self.column: [self._cell(self.names[row]) for row in best]}
            if self.scores:
                ordered = np.take_along_axis(S, best, axis=1)
                columns["scores"] = [self._cell(self._rounded(row)) for row in ordered]
            return columns
        columns = {self.column: [self._cell(labels) for labels in self.model.label_sets(X)]}
        if self.scores:
            columns |= {f"score_{tag}": self._rounded(S[:, j]) for j, tag in enumerate(self.names)}
        return columns

    def _rounded(self, scores: Any) -> list[float]:
        if self.digits is None:
            return scores.tolist()
        return [float(f"{score:.{self.digits}g}") for score in scores.tolist()]

    def _cell(self, values: Any) -> Any:
        """Tags or scores of a cell: a list, or text with separators."""
        if self.lists:
            return list(values)
        return self.sep.join(v if isinstance(v, str) else repr(float(v)) for v in values)
