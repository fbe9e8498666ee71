"""Reading a file in any format."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from plurilabel._core.data.dataset import Dataset
from plurilabel.io._arff._read import read_arff
from plurilabel.io._files import SUFFIXES, AnyPath, file_format
from plurilabel.io._sparse_text._libsvm import read_libsvm
from plurilabel.io._sparse_text._xmc import read_xmc
from plurilabel.io._table._read import read_table


def read(
    path: AnyPath, *, labels: str | Sequence[str] | int | None = None, **options: Any
) -> Dataset:
    """Read a file in the format given by its name.

    Parameters
    ----------
    path : str or path
        ``.arff``, ``.csv``, ``.tsv``, ``.parquet``, ``.jsonl``, ``.json``, ``.svm``, ``.libsvm``,
        ``.txt`` or ``.xmc`` (extreme classification); each also with ``.gz``.
    labels : optional
        Which columns are labels, as :func:`read_arff` and :func:`read_table` take it. The other
        formats have their own place for labels.
    **options
        Passed on to the reader.

    Returns
    -------
    Dataset

    See Also
    --------
    read_arff, read_table, read_libsvm, read_xmc : The readers of each format.

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
    name, format = Path(path).name, file_format(path)
    if format is None:
        raise ValueError(f"{name} must end in one of {', '.join(SUFFIXES)} (and .gz)")
    if format == "arff":
        return read_arff(path, labels, **options)
    if format in ("libsvm", "xmc"):
        if labels is not None:
            raise ValueError(
                f"labels is for ARFF files and tables; {name} has its own place for them"
            )
        return (read_libsvm if format == "libsvm" else read_xmc)(path, **options)
    if labels is None:
        raise ValueError(
            f"labels must name the label columns of {name}, or its one column of tags"
        )
    if isinstance(labels, int):
        raise ValueError(f"labels must name columns of {name}, got the number {labels}")
    return read_table(path, labels=labels, **{"format": format, **options})
