"""Rows as clients send them: checked one by one, so that an error names row and column."""

from __future__ import annotations

import json
import math
import re
import tempfile
from array import array
from collections.abc import Mapping, Sequence
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from plurilabel import io
from plurilabel._core.words import counted, listed, shortened
from plurilabel.io.shared import unseen_categories, without_known_words
from plurilabel.models import Model, ModelRows

_WANTED = {"numbers": "a number", "dates": "a date as text", "text": "a text"}
_HUGE = 1e100  # numbers beyond it are what a learner means that cannot calculate
_PLAIN_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")


class BadInput(ValueError):
    """Something in a request that cannot be used: a sentence, and where it is.

    Attributes
    ----------
    problem : str
    row : int or None
        Number of the row, from 0.
    column : str or None
    status : int
        Of the answer over HTTP.
    """

    def __init__(
        self, problem: str, *, row: int | None = None, column: str | None = None, status: int = 422
    ) -> None:
        self.problem, self.row, self.column, self.status = problem, row, column, status
        where = [] if row is None else [f"row {row}"]
        where += [] if column is None else [f"column {column!r}"]
        super().__init__(f"{', '.join(where)}: {problem}" if where else problem)


class RowReader:
    """Turns rows of a request into what a model takes.

    Parameters
    ----------
    model : Model
    """

    def __init__(self, model: Model) -> None:
        self.model, encoder = model, model.encoder
        self.names = [str(name) for name in model.feature_names]
        self.kinds = dict.fromkeys(self.names, "numbers")
        if encoder is not None:
            self.kinds = io.column_kinds(encoder)
        self.texts_only = not self.names
        self.plain = encoder is None  # numbers in the order of the features
        self._place = {name: j for j, name in enumerate(self.names)}

    # JSON ---------------------------------------------------------------------------------------

    def records(self, rows: Any) -> list[Any]:
        """Rows of JSON, checked: objects by column name, lists of numbers, or texts."""
        if isinstance(rows, Mapping | str):
            rows = [rows]
        if not isinstance(rows, list):
            raise BadInput(f"rows must be a list of objects, got {_kind(rows)}")
        if not rows:
            raise BadInput("rows must hold at least one row, got none")
        return [self._record(row, i) for i, row in enumerate(rows)]

    def quick_records(self, rows: Any) -> list[Any]:
        """The same; rows of nothing but numbers, the usual ones, are packed as arrays."""
        if self.plain and not self.model.sparse_features and type(rows) is list and rows:
            packed = [self._packed(row) for row in rows]
            if None not in packed:
                return packed
        return self.records(rows)

    def _packed(self, row: Any) -> array[float] | None:
        """The numbers of a row in the order of the features; None if it has to be looked at."""
        try:
            values = map(row.__getitem__, self.names) if type(row) is dict else iter(row)
            packed = array("d", values)
        except (KeyError, TypeError, OverflowError):  # a gap, a text, a number of 400 digits
            return None
        usual = len(packed) == len(self.names) and sum(map(abs, packed)) < 1e300
        return packed if usual else None

    def _record(self, row: Any, i: int) -> Any:
        if self.texts_only:
            if isinstance(row, Mapping) and set(row) == {"text"}:
                row = row["text"]
            if not isinstance(row, str):
                raise BadInput(f"expected a text, got {_kind(row)}", row=i)
            check_text(row, i, None)
            return row
        if isinstance(row, list) and self.plain:
            if len(row) != len(self.names):
                wanted = counted(len(self.names), "number")
                raise BadInput(f"expected {wanted}, got {len(row)}", row=i)
            row = dict(zip(self.names, row))
        if not isinstance(row, Mapping):
            raise BadInput(f"expected an object with a value by column, got {_kind(row)}", row=i)
        if self.model.sparse_features:
            if strange := [name for name in row if name not in self._place]:
                raise BadInput("the model has no such feature", row=i, column=str(strange[0]))
            return {name: self._value(value, i, name, "numbers") for name, value in row.items()}
        kept = {}
        for name, kind in self.kinds.items():
            if name not in row:
                raise BadInput("the value is missing; null stands for none", row=i, column=name)
            kept[name] = self._value(row[name], i, name, kind)
        return kept

    def _value(self, value: Any, row: int, column: str, kind: str) -> Any:
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, int):
            if abs(value) > 10**300:
                raise BadInput("the number is too large", row=row, column=column)
            return value
        if isinstance(value, float):
            if not math.isfinite(value):
                raise BadInput("the number is too large", row=row, column=column)
            return value
        if isinstance(value, str) and not (self.plain and kind == "numbers"):
            check_text(value, row, column)
            return value
        raise BadInput(
            f"expected {_WANTED.get(kind, 'a text or a number')}, got {_kind(value)}",
            row=row,
            column=column,
        )

    def independent(self, records: Sequence[Any]) -> bool:
        """Whether rows mean the same whatever other rows are read with them.

        How numbers and dates in a text are written is seen from all texts of a column.
        """
        if self.plain:
            return True
        for name, kind in self.kinds.items():
            if kind == "numbers" and any(isinstance(row[name], str) for row in records):
                return False
            if kind == "dates" and not all(_is_plain_date(row[name]) for row in records):
                return False
        return True

    def remarks(self, rows: ModelRows, sizes: Sequence[int]) -> list[list[str]]:
        """What should be known about rows that were read together, for each group of them."""
        found: list[list[str]] = [[] for _ in sizes]
        if not rows.remarks or (encoder := self.model.encoder) is None:
            return found
        group = np.repeat(np.arange(len(sizes)), sizes)
        first = np.concatenate([[0], np.cumsum(sizes)[:-1]])
        for column, values in unseen_categories(encoder, rows.X).items():
            for i in np.flatnonzero(rows.X[column].isin(values)).tolist():
                value = shortened(str(rows.X[column].iloc[i]), 60)
                problem = f"column {column!r}: {value!r} was not seen in training"
                found[group[i]].append(f"row {i - first[group[i]]}, {problem}")
        silent = without_known_words(encoder, rows.X)
        for i in [] if silent is None else np.flatnonzero(silent).tolist():
            found[group[i]].append(f"row {i - first[group[i]]} has no known word")
        return found

    def read_records(self, records: Sequence[Any]) -> ModelRows:
        """Checked rows as the model takes them."""
        if self.texts_only:
            return self.model.read(list(records))
        if self.model.sparse_features:
            X: Any = self._sparse(records)
        elif self.plain:
            X = self._array(records)
        else:
            return self._read(list(records))
        return self.model.read(X)

    def _array(self, records: Sequence[Any]) -> Any:
        rows = bytearray().join(
            record if isinstance(record, array) else self._with_gaps(record) for record in records
        )
        return np.frombuffer(rows).reshape(len(records), len(self.names))

    def _with_gaps(self, record: Mapping[str, Any]) -> array[float]:
        values = (record[name] for name in self.names)
        return array("d", (math.nan if value is None else value for value in values))

    def _sparse(self, records: Sequence[Mapping[str, Any]]) -> Any:
        found = [
            (i, self._place[name], value)
            for i, record in enumerate(records)
            for name, value in record.items()
            if value
        ]
        i, j, values = zip(*found) if found else ((), (), ())
        shape = (len(records), len(self.names))
        return sparse.csr_array((np.array(values, dtype=np.float64), (i, j)), shape=shape)

    # tables -------------------------------------------------------------------------------------

    def read_csv(self, content: bytes, most: int) -> ModelRows:
        """Rows of a CSV file."""
        if self.texts_only:
            raise BadInput("the model takes texts, not a table: send JSON", status=415)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "rows.csv")
            path.write_bytes(content)
            try:
                return self._checked_size(self._named(self.model.read(path)), most)
            except io.FileFormatError as error:
                where = "" if error.line is None else f"line {error.line}: "
                raise BadInput(where + error.problem, row=None) from None
            except BadInput:
                raise
            except ValueError as error:
                raise BadInput(str(error).replace(str(path), "the table")) from None

    def read_arrow(self, content: bytes, most: int) -> ModelRows:
        """Rows of an Arrow stream or file."""
        import pyarrow as pa

        if self.texts_only:
            raise BadInput("the model takes texts, not a table: send JSON", status=415)
        try:
            opened: Any = pa.ipc.open_file if content[:6] == b"ARROW1" else pa.ipc.open_stream
            table = opened(pa.BufferReader(content)).read_all()
            table.validate(full=True)
            if table.num_rows > most:
                raise BadInput(
                    f"at most {most:,} rows at a time, got {table.num_rows:,}", status=413
                )
            frame = table.to_pandas(ignore_metadata=True)
        except BadInput:
            raise
        # pyarrow has errors of all kinds for bytes that are not what they should be
        except Exception as error:
            words = shortened(" ".join(str(error).split()), 200)
            raise BadInput(f"the body is not an Arrow table: {words}", status=400) from None
        if not len(frame):
            raise BadInput("the table must hold at least one row, got none")
        self._check_columns(frame)
        return self._read(frame)

    def _check_columns(self, frame: Any) -> None:
        """Refuse cells that pandas and NumPy would refuse without saying where they are."""
        for name, kind in self.kinds.items():
            places = np.flatnonzero(frame.columns == name)
            if len(places) > 1:
                raise BadInput(f"the table has the column {len(places)} times", column=name)
            if not len(places) or (dtype := frame.dtypes.iloc[places[0]]).kind in "biuf":
                continue
            numbers = self.plain and kind == "numbers"
            for i, value in enumerate(frame.iloc[:, places[0]]):
                if not (_is_number(value) if numbers else _is_scalar(value)):
                    wanted = _WANTED.get(kind, "a text or a number")
                    raise BadInput(f"expected {wanted}, got {_kind(value)}", row=i, column=name)
            if numbers and dtype.kind in "mM":  # all of them missing
                raise BadInput("expected numbers, got dates or durations", column=name)

    def _checked_size(self, rows: ModelRows, most: int) -> ModelRows:
        _check_number(rows.X.shape[0], most)
        return rows

    def _named(self, rows: ModelRows) -> ModelRows:
        """Numbers under their names, for an estimator that was fitted on a data frame."""
        names = getattr(self.model.estimator, "feature_names_in_", None)
        if names is None or not isinstance(rows.X, np.ndarray):
            return rows
        import pandas as pd

        return rows._replace(X=pd.DataFrame(rows.X, columns=names))

    def _read(self, source: Any) -> ModelRows:
        try:
            return self._named(self.model.read(source))
        except BadInput:
            raise
        except (ValueError, TypeError, OverflowError) as error:
            raise BadInput(" ".join(str(error).split())) from None

    # errors -------------------------------------------------------------------------------------

    def blamed(self, error: Exception, rows: ModelRows) -> BadInput | None:
        """An error of a learner with the cell that is to blame; None if that cannot be told."""
        problem = " ".join(str(error).split())[:500]
        named = None if "NaN" in problem else self.huge(problem, rows.X)
        return self.missing(rows) if named is None else named

    def huge(self, problem: str, X: Any) -> BadInput | None:
        """A problem with the largest number; None if all are of a usual size."""
        names = self.names
        if self.texts_only:
            return None
        if sparse.issparse(X):
            cells = sparse.coo_array(X)
            values, i, j = cells.data, cells.row, cells.col
        else:
            if hasattr(X, "iloc"):
                X = X.select_dtypes("number")
                names = [str(name) for name in X.columns]
                X = X.to_numpy(np.float64, na_value=np.nan)
            X = np.asarray(X)
            if X.dtype.kind != "f" or X.ndim != 2:
                return None
            i, j = np.nonzero(abs(X) > _HUGE)
            values = X[i, j]
        if not len(values):
            return None
        at = int(abs(values).argmax())
        value, row, column = float(values[at]), int(i[at]), names[j[at]]
        if math.isinf(value):
            return BadInput("the number is infinite or too large", row=row, column=column)
        return BadInput(problem, row=row, column=column) if abs(value) > _HUGE else None

    def missing(self, rows: ModelRows) -> BadInput | None:
        """An error for the first missing number, for a model that takes none."""
        X = rows.X
        if sparse.issparse(X):
            return None
        if hasattr(X, "iloc"):
            gaps = X.isna().to_numpy()
            names = [str(name) for name in X.columns]
        else:
            X = np.asarray(X)
            if X.dtype.kind != "f" or X.ndim != 2:
                return None
            gaps, names = np.isnan(X), self.names
        if not gaps.any():
            return None
        i, j = (int(place[0]) for place in np.nonzero(gaps))
        return BadInput("a value is missing, and the model takes none", row=i, column=names[j])

    def json_rows(self, rows: ModelRows) -> list[Any]:
        """Rows that were read from a table, as JSON would have had them."""
        if self.texts_only:
            return list(rows.X)
        if rows.frame is not None:
            frame = rows.frame[[name for name in self.kinds if name in rows.frame.columns]]
            return [
                {str(name): plain_value(value) for name, value in zip(frame.columns, row)}
                for row in frame.itertuples(index=False, name=None)
            ]
        X = rows.X.toarray() if sparse.issparse(rows.X) else np.asarray(rows.X)
        return [dict(zip(self.names, map(plain_value, row))) for row in X.tolist()]


def _check_number(rows: int, most: int) -> None:
    if rows > most:
        raise BadInput(f"at most {most:,} rows at a time, got {rows:,}", status=413)


def _is_scalar(value: Any) -> bool:
    return not isinstance(value, np.ndarray | list | tuple | dict)


def _is_number(value: Any) -> bool:
    """Whether a cell of a table can be used as a number; an empty one can."""
    if value is None or (_is_scalar(value) and value != value):  # NaT, too
        return True
    if not isinstance(value, str | bytes | int | float | Decimal | np.number | np.bool_):
        return False
    try:
        float(value)
    except (ValueError, OverflowError):
        return False
    return True


def _is_plain_date(value: Any) -> bool:
    return value is None or (isinstance(value, str) and _PLAIN_DATE.fullmatch(value) is not None)


def row_key(record: Any) -> str:
    """What two rows of JSON have in common if they are the same; 1.0 is 1, as in a browser."""
    if isinstance(record, Mapping):
        record = {
            name: int(value) if isinstance(value, float) and value.is_integer() else value
            for name, value in record.items()
        }
    return json.dumps(record, sort_keys=True)


def plain_value(value: Any) -> Any:
    """A cell as JSON has it."""
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float | np.floating):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, np.integer):
        return int(value)
    if isinstance(value, np.bool_):
        return bool(value)
    if value != value:  # NaT and NA
        return None
    return value.isoformat() if hasattr(value, "isoformat") else str(value)


def check_text(value: str, row: int, column: str | None, what: str = "the text") -> None:
    """Refuse a text that cannot be written down."""
    try:
        value.encode()
    except UnicodeEncodeError:  # half of a surrogate pair
        raise BadInput(f"{what} is not valid Unicode", row=row, column=column) from None


def _kind(value: Any) -> str:
    """What a value of JSON or of a table is, in words."""
    if value is None:
        return "null"
    kinds = {dict: "an object", list: "a list", bool: "a truth value", bytes: "bytes"}
    kinds[np.ndarray] = "a list"
    if isinstance(value, str):
        return f"the text {shortened(value, 40)!r}"
    if isinstance(value, timedelta):  # that of pandas, too
        return "a duration"
    if hasattr(value, "isoformat"):
        return f"the date {value.isoformat()}"
    return kinds.get(type(value), f"the number {value!r}"[:60])


def checked_labels(labels: Any, names: Mapping[str, int], row: int | None = None) -> list[str]:
    """Names of labels that the model knows, in its order, each once."""
    if not isinstance(labels, list) or not all(isinstance(name, str) for name in labels):
        raise BadInput("labels must be a list of names", row=row)
    if strange := [name for name in labels if name not in names]:
        known = listed([repr(name) for name in names], 5)
        raise BadInput(
            f"the model has no label {shortened(strange[0], 60)!r}; there are {known}", row=row
        )
    return sorted(set(labels), key=names.__getitem__)
