"""Read the rows of a request; errors name the row and column at fault."""

from __future__ import annotations

import json
import math
import re
import tempfile
from array import array
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from plurilabel import io
from plurilabel._core.blocks import dense
from plurilabel._core.words import counted, is_unicode, listed, shortened
from plurilabel.io.shared import unseen_categories, without_known_words
from plurilabel.models import Model, ModelRows

_WANTED = {"numbers": "a number", "dates": "a date as text", "text": "a text"}
_HUGE = 1e100  # larger numbers are blamed if a learner fails
MISSING = "a value is missing, and the model does not support missing values"
_READ_ERRORS = (ValueError, TypeError, OverflowError)
_KINDS: dict[type, str] = {
    type(None): "null", dict: "an object", list: "a list", np.ndarray: "a list",
    bool: "a boolean", bytes: "bytes",
}  # fmt: skip
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_FIXED_FORMAT: dict[str, Callable[[Any], bool]] = {
    "numbers": lambda value: not isinstance(value, str),
    "dates": lambda value: value is None or bool(_DATE.fullmatch(str(value))),
}


class BadInput(ValueError):
    """An invalid request.

    Attributes
    ----------
    problem : str
        What is wrong.
    row : int or None
        Index of the row at fault.
    column : str or None
        Name of the column at fault.
    status : int
        HTTP status code.
    """

    def __init__(
        self, problem: str, *, row: int | None = None, column: str | None = None, status: int = 422
    ) -> None:
        self.problem, self.row, self.column, self.status = problem, row, column, status
        where = [] if row is None else [f"row {row}"]
        where += [] if column is None else [f"column {column!r}"]
        super().__init__(f"{', '.join(where)}: {problem}" if where else problem)

    def at(self, row: int) -> BadInput:
        """The same error for another row."""
        return BadInput(self.problem, row=row, column=self.column, status=self.status)


class RowReader:
    """Convert the rows of a request to the input of a model."""

    def __init__(self, model: Model) -> None:
        self.model, self.kinds = model, model.kinds
        self.names = [str(name) for name in model.feature_names]
        self.texts_only = not self.names
        self.plain = model.encoder is None  # numbers in the order of the features
        self._place = {name: j for j, name in enumerate(self.names)}

    def records(self, rows: Any) -> list[Any]:
        """Check JSON rows: objects by column name, lists of numbers, or texts."""
        if isinstance(rows, Mapping | str):
            rows = [rows]
        if not isinstance(rows, list):
            raise BadInput(f"rows must be a list of objects, got {_kind(rows)}")
        if not rows:
            raise BadInput("rows must have at least one row, got none")
        return [self._record(row, i) for i, row in enumerate(rows)]

    def quick_records(self, rows: Any) -> list[Any]:
        """Check JSON rows; rows of finite numbers, the common case, are packed as arrays."""
        packable = self.plain and self.names and not self.model.sparse_features
        if packable and type(rows) is list and rows:
            packed = [self._packed(row) for row in rows]
            if None not in packed:
                return packed
        return self.records(rows)

    def _packed(self, row: Any) -> array[float] | None:
        """Numbers of a row in feature order; None if the row needs the slow checks."""
        try:
            values = map(row.__getitem__, self.names) if type(row) is dict else iter(row)
            packed = array("d", values)
        except (KeyError, TypeError, OverflowError):  # a gap, a text, a number of 400 digits
            return None
        usual = len(packed) == len(self.names) and sum(map(abs, packed)) < 1e300
        return packed if usual else None

    def _record(self, row: Any, i: int) -> Any:
        if self.texts_only:
            text = row["text"] if isinstance(row, Mapping) and set(row) == {"text"} else row
            if not isinstance(text, str):
                raise BadInput(f"expected a text, got {_kind(text)}", row=i)
            check_text(text, i, None)
            return text
        if isinstance(row, list) and self.plain:
            if len(row) != len(self.names):
                size = counted(len(self.names), "number")
                raise BadInput(f"expected {size}, got {len(row)}", row=i)
            row = dict(zip(self.names, row))
        if not isinstance(row, Mapping):
            raise BadInput(f"expected an object with a value per column, got {_kind(row)}", row=i)
        wanted: Any = self.kinds
        if self.model.sparse_features:  # features that are left out are 0
            wanted = row
            if strange := [name for name in row if name not in self._place]:
                raise BadInput("the model has no such feature", row=i, column=str(strange[0]))
        if absent := [name for name in wanted if name not in row]:
            problem = "the value is missing; send null if there is none"
            raise BadInput(problem, row=i, column=absent[0])
        return {name: self._value(row[name], i, name) for name in wanted}

    def _value(self, value: Any, row: int, column: str) -> Any:
        kind = self.kinds[column]
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, int | float):
            # integers of JSON may have any number of digits
            fits = abs(value) <= 10**300 if isinstance(value, int) else math.isfinite(value)
            if fits:
                return value
            raise BadInput("the number is too large", row=row, column=column)
        if isinstance(value, str) and not (self.plain and kind == "numbers"):
            check_text(value, row, column)
            return value
        raise _unexpected(kind, value, row, column)

    def key(self, record: Any) -> str:
        """A key of a checked row: 1.0 equals 1, as in a browser, and so does true as a number."""
        if not isinstance(record, Mapping):
            return json.dumps(record)
        cells = {name: self._canonical(name, value) for name, value in record.items()}
        if self.model.sparse_features:
            cells = {name: value for name, value in cells.items() if value}
        return json.dumps(cells, sort_keys=True)

    def _canonical(self, name: str, value: Any) -> Any:
        if isinstance(value, bool):
            return int(value) if self.kinds.get(name) == "numbers" else value
        return int(value) if isinstance(value, float) and value.is_integer() else value

    def independent(self, records: Sequence[Any]) -> bool:
        """Whether rows can be read together with others without changing their values.

        The format of numbers and dates given as text is inferred from the whole column.
        """
        return self.plain or all(
            _FIXED_FORMAT[kind](row[name])
            for name, kind in self.kinds.items()
            if kind in _FIXED_FORMAT
            for row in records
        )

    def remarks(self, rows: ModelRows, sizes: Sequence[int]) -> list[list[str]]:
        """Remarks on rows that were read together, one list per group of `sizes` rows."""
        found: list[list[str]] = [[] for _ in sizes]
        if not rows.remarks or (encoder := self.model.encoder) is None:
            return found
        group = np.repeat(np.arange(len(sizes)), sizes)
        number = np.concatenate([np.arange(size) for size in sizes])
        for column, values in unseen_categories(encoder, rows.X).items():
            for i in np.flatnonzero(rows.X[column].isin(values)).tolist():
                value = shortened(str(rows.X[column].iloc[i]), 60)
                problem = f"column {column!r}: {value!r} was not seen in training"
                found[group[i]].append(f"row {number[i]}, {problem}")
        silent = without_known_words(encoder, rows.X)
        for i in [] if silent is None else np.flatnonzero(silent).tolist():
            found[group[i]].append(f"row {number[i]} has no known word")
        return found

    def read_records(self, records: Sequence[Any]) -> ModelRows:
        """Convert checked rows to the input of the model."""
        if self.texts_only:
            return self.model.read(list(records))
        if self.model.sparse_features:
            return self.model.read(self._sparse(records))
        if self.plain:
            return self.model.read(self._array(records))
        return self._read_table(list(records))

    def _array(self, records: Sequence[Any]) -> Any:
        def packed(record: Any) -> array[float]:
            if isinstance(record, array):
                return record
            values = (record[name] for name in self.names)
            return array("d", (math.nan if value is None else value for value in values))

        rows = bytearray().join(map(packed, records))
        return np.frombuffer(rows).reshape(len(records), len(self.names))

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

    def read_csv(self, content: bytes | bytearray, most: int) -> ModelRows:
        self._check_takes_tables()
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "rows.csv")
            path.write_bytes(content)
            try:
                rows = self.model.read(path)
            except io.FileFormatError as error:
                where = "" if error.line is None else f"line {error.line}: "
                raise BadInput(where + error.problem) from None
            except ValueError as error:
                raise BadInput(str(error).replace(str(path), "the table")) from None
        check_number_of_rows(rows.X.shape[0], most)
        return rows

    def read_arrow(self, content: bytes | bytearray, most: int, size: int = 1 << 26) -> ModelRows:
        """Read the rows of an Arrow stream or file that unpacks to at most `size` bytes."""
        from plurilabel.serve._arrow import read_table

        self._check_takes_tables()
        try:
            frame = read_table(content, self.kinds, rows=most, size=size)
        except BadInput:
            raise
        except Exception as error:  # pyarrow raises errors of many types for invalid bytes
            words = shortened(one_line(error), 200)
            raise BadInput(f"the body is not an Arrow table: {words}", status=400) from None
        if not len(frame):
            raise BadInput("the table must have at least one row, got none")
        self._check_columns(frame)
        return self._read_table(frame)

    def _check_takes_tables(self) -> None:
        if self.texts_only:
            raise BadInput("the model takes texts, not a table: send JSON", status=415)

    def _check_columns(self, frame: Any) -> None:
        """Reject cells that pandas and NumPy would reject without naming row and column."""
        for name, kind in self.kinds.items():
            places = np.flatnonzero(frame.columns == name)
            if not len(places) or (dtype := frame.dtypes.iloc[places[0]]).kind in "biuf":
                continue
            numbers = self.plain and kind == "numbers"
            fits = _is_number if numbers else _is_scalar
            for i, value in enumerate(frame.iloc[:, places[0]]):
                if not fits(value):
                    raise _unexpected(kind, value, i, name)
            if numbers and dtype.kind in "mM":  # a column of missing dates
                raise BadInput("expected numbers, got dates or durations", column=name)

    def _read_table(self, source: Any) -> ModelRows:
        try:
            return self.model.read(source)
        except _READ_ERRORS as error:
            raise BadInput(one_line(error)) from None

    def blamed(self, error: Exception, rows: ModelRows | Any) -> BadInput:
        """Convert an error of a learner to one that names the cell at fault, if possible."""
        problem = one_line(error)
        if not isinstance(rows, ModelRows):  # reading failed
            return BadInput(problem)
        named = None if "NaN" in problem else self.huge(problem, rows.X)
        return named or self.missing(rows) or BadInput(problem)

    def huge(self, problem: str, X: Any) -> BadInput | None:
        """An error for the largest number; None if no number is huge."""
        names = self.names
        if not _has_numbers(X):
            return None
        if hasattr(X, "iloc"):
            X = X.select_dtypes("number")
            names = [str(name) for name in X.columns]
            X = X.to_numpy(np.float64, na_value=np.nan)
        cells = sparse.coo_array(X)
        values = np.where(np.isnan(cells.data), 0, abs(cells.data))
        if not len(values) or values.max() <= _HUGE:
            return None
        at = int(values.argmax())
        if math.isinf(values[at]):
            problem = "the number is infinite or too large"
        return BadInput(problem, row=int(cells.row[at]), column=names[cells.col[at]])

    def missing(self, rows: ModelRows) -> BadInput | None:
        """An error for the first missing value; None if there is none."""
        X = rows.X
        if sparse.issparse(X) or not _has_numbers(X):
            return None
        gaps = np.argwhere(X.isna().to_numpy() if hasattr(X, "iloc") else np.isnan(X))
        if not len(gaps):
            return None
        i, j = gaps[0].tolist()
        column = str(getattr(X, "columns", self.names)[j])
        return BadInput(MISSING, row=i, column=column)

    def json_rows(self, X: Any, frame: Any = None) -> list[Any]:
        """Convert rows of the model, and their table if there is one, to JSON rows."""
        if self.texts_only:
            return [str(text) for text in X]
        if frame is not None:
            frame = frame[[name for name in self.kinds if name in frame.columns]]
            names, rows = list(frame.columns), frame.itertuples(index=False, name=None)
        else:
            names, rows = self.names, dense(np.asarray(X) if hasattr(X, "iloc") else X).tolist()
        keep_zeros = not self.model.sparse_features
        return [
            {name: v for name, v in zip(names, map(json_value, row)) if v or keep_zeros}
            for row in rows
        ]


def one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:500]


def check_number_of_rows(rows: int, most: int) -> None:
    if rows > most:
        raise BadInput(f"at most {most:,} rows at a time, got {rows:,}", status=413)


def _unexpected(kind: str, value: Any, row: int, column: str) -> BadInput:
    wanted = _WANTED.get(kind, "a text or a number")
    return BadInput(f"expected {wanted}, got {_kind(value)}", row=row, column=column)


def _has_numbers(X: Any) -> bool:
    return hasattr(X, "iloc") or getattr(X, "dtype", np.dtype(object)).kind in "fiub"


def _is_scalar(value: Any) -> bool:
    return not isinstance(value, np.ndarray | list | tuple | dict)


def _is_number(value: Any) -> bool:
    """Whether a cell of a table is a number or missing."""
    if value is None or (_is_scalar(value) and value != value):  # NaT, too
        return True
    if not isinstance(value, str | bytes | int | float | Decimal | np.number | np.bool_):
        return False
    with suppress(ValueError, OverflowError):
        float(value)
        return True
    return False


def json_value(value: Any) -> Any:
    """Convert a cell of a table, or notes, to a JSON value."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, Mapping):
        return {str(key): json_value(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [json_value(one) for one in value]
    if value != value or value in (math.inf, -math.inf):  # also NaT
        return None
    if isinstance(value, float):
        return value
    return value.isoformat() if hasattr(value, "isoformat") else str(value)


def check_text(value: str, row: int | None, column: str | None, what: str = "the text") -> None:
    """Reject a text that cannot be encoded as UTF-8."""
    if not is_unicode(value):
        raise BadInput(f"{what} is not valid Unicode", row=row, column=column)


def _kind(value: Any) -> str:
    """Describe a value in an error message."""
    if isinstance(value, str):
        return f"the text {shortened(value, 40)!r}"
    if isinstance(value, timedelta):  # also the base class of pandas' Timedelta
        return "a duration"
    if hasattr(value, "isoformat"):
        return f"the date {value.isoformat()}"
    return _KINDS.get(type(value), f"the number {value!r}"[:60])


def checked_labels(labels: Any, names: Mapping[str, int], row: int | None = None) -> list[str]:
    """Check label names; return them without duplicates, in the order of the model."""
    if not isinstance(labels, list) or not all(isinstance(name, str) for name in labels):
        raise BadInput("labels must be a list of names", row=row)
    if strange := [name for name in labels if name not in names]:
        problem = f"the model has no label {shortened(strange[0], 60)!r}"
        known = listed([repr(name) for name in names], 5)
        raise BadInput(f"{problem}; there are {known}", row=row)
    return sorted(set(labels), key=names.__getitem__)
