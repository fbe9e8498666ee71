"""Reading a file in any format."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from plurilabel._core.data.dataset import Dataset
from plurilabel.io._files import AnyPath, file_format, formats, part_files
from plurilabel.io._table._table import read_table


def read(
    path: AnyPath | Sequence[AnyPath],
    *,
    labels: str | Sequence[str] | int | None = None,
    **options: Any,
) -> Dataset:
    """Read a file; its suffix gives the format.

    Parameters
    ----------
    path : str, path or sequence of them
        ``.arff``, ``.csv``, ``.tsv``, ``.parquet``, ``.jsonl``, ``.json``, ``.xlsx``, ``.svm``,
        ``.libsvm``, ``.txt`` or ``.xmc`` (extreme classification); all but Excel files may be
        gzipped. A table may consist of several files: a list, a folder or a pattern such as
        ``rows/*.parquet``.
    labels : optional
        The label columns, as in :func:`read_arff` and :func:`read_table`; not for other formats.
    **options
        Passed to :func:`read_arff`, :func:`read_table`, :func:`read_libsvm` or :func:`read_xmc`.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from plurilabel import io
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "films.csv")
    ...     _ = path.write_text("length,year,tags" + chr(10) + "90,1998,comedy;love")
    ...     io.read(path, labels="tags")
    Dataset 'films': 1 instance, 2 features, 2 labels
    """
    first = part_files(path)[0]
    name, found = Path(first).name, file_format(first)
    if found is None and Path(first).suffix.lower() in (".xls", ".xlsb", ".ods", ".numbers"):
        raise ValueError(f"{name} is not supported; save it as .xlsx or .csv")
    if found is None:
        suffixes = sorted(suffix for form in formats().values() for suffix in form.suffixes)
        raise ValueError(f"{name} must end in one of {', '.join(suffixes)} (and .gz)")
    format = formats()[found]
    if format.has_labels and labels is not None:
        raise ValueError(f"labels is for ARFF files and tables, but {name} defines its own")
    if format.read is not None:
        return format.read(path, **({} if format.has_labels else {"labels": labels}), **options)
    if labels is None:
        raise ValueError(f"labels must name the label columns of {name} or its tag column")
    if isinstance(labels, int):
        raise ValueError(f"labels must name columns of {name}, got the number {labels}")
    return read_table(path, labels=labels, **options)
