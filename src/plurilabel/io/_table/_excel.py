"""Excel files: a sheet of a workbook."""

from __future__ import annotations

import os
import zipfile
from typing import Any

from plurilabel._core.compat import import_extra
from plurilabel._core.words import listed
from plurilabel.io._files import AnyPath, FileFormatError, Format, most_unpacked
from plurilabel.io._table._frame import Frame, check_columns, column_names, table_module


def _read_excel(path: AnyPath, sheet: str | None, _: Any, as_text: set[str]) -> Frame:
    """A sheet as text, numbers and dates; an empty cell is missing."""
    pd = table_module("pandas")
    import_extra("openpyxl", f"reading {os.fspath(path)} (or save it as CSV)", "excel")
    try:
        with zipfile.ZipFile(path) as archive:  # packed XML
            unpacked = sum(part.file_size for part in archive.infolist())
        if unpacked > (limit := most_unpacked(os.path.getsize(path))):
            raise FileFormatError(path, None, f"it unpacks to more than {limit:,} bytes")
        with pd.ExcelFile(path, engine="openpyxl") as book:
            names = [str(name) for name in book.sheet_names]
            if sheet is not None and sheet not in names:
                there = listed([repr(name) for name in names], 10)
                raise FileFormatError(path, None, f"there is no sheet {sheet!r}, only {there}")
            if sheet is None and len(names) > 1:
                there = listed([repr(name) for name in names], 10)
                raise FileFormatError(path, None, f"it has the sheets {there}: choose with sheet=")
            options = {"sheet_name": sheet or 0, "keep_default_na": False, "na_values": [""]}
            # pandas renames duplicate and empty names: read the original ones
            first = pd.read_excel(book, header=None, nrows=1, dtype=object, **options)
            check_columns(path, 1, first.shape[1])
            cells = first.to_numpy().ravel().tolist()
            written = column_names(["" if pd.isna(cell) else cell for cell in cells], path, 1)
            head = pd.read_excel(book, nrows=0, **options).columns
            kinds = {key: str for key, name in zip(head, written) if name in as_text}
            frame = pd.read_excel(book, dtype=kinds, **options)
            written += [""] * (frame.shape[1] - len(written))  # rows may be longer than the first
            frame = frame.set_axis(written, axis=1)
    except FileFormatError:
        raise
    except Exception as error:  # damaged files lead openpyxl to all kinds of them
        words = " ".join(str(error).split())[:200]
        raise FileFormatError(path, None, f"expected an Excel file: {words}") from None
    return Frame(frame, path, lambda row: row + 2)


FORMATS = (Format("excel", (".xlsx", ".xlsm"), frame=_read_excel),)
