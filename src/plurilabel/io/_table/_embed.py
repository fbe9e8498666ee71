"""Encode a column of text as vectors, in a file."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from plurilabel._core.names import no_column
from plurilabel._core.records import write_atomic
from plurilabel.io._table._frame import open_frame, table_module
from plurilabel.text import make_encoder
from plurilabel.text.shared import TextEncoder


def embed_table(
    data: str | os.PathLike[str] | Any,
    text: str,
    out: str | os.PathLike[str],
    *,
    encoder: str | TextEncoder = "static",
    name: str = "vector",
) -> tuple[int, int]:
    """Encode the texts of a table as vectors, and write the table as Parquet.

    The column of texts is replaced by lists of numbers, which :func:`read_table` and all commands
    read as features. The file is written atomically.

    Parameters
    ----------
    data : path or data frame
    text : str
        Column of text.
    out : path
        Parquet file to write.
    encoder : str or encoder of :mod:`plurilabel.text`, default="static"
        An encoder, which is fitted, or a name for :func:`plurilabel.text.make_encoder`.
    name : str, default="vector"
        Name of the new column.

    Returns
    -------
    (int, int)
        Numbers of rows and of dimensions.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import pandas as pd
    >>> from plurilabel import FunctionEncoder
    >>> from plurilabel.io import embed_table
    >>> mails = pd.DataFrame({"body": ["a red day", "night"], "tags": ["red", ""]})
    >>> sizes = FunctionEncoder(lambda texts: [[len(text), 1] for text in texts], normalize=False)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "mails.parquet")
    ...     print(embed_table(mails, "body", path, encoder=sizes))
    ...     pd.read_parquet(path)
    (2, 2)
      tags      vector
    0  red  [9.0, 1.0]
    1       [5.0, 1.0]
    """
    arrow, parquet = table_module("pyarrow"), table_module("pyarrow.parquet")
    frame = open_frame(data).frame
    if text not in frame.columns:
        raise ValueError(no_column("text", text, list(frame.columns)))
    others = frame.drop(columns=[text])
    if name in others.columns:
        raise ValueError(f"name must not be the name of another column, got {name!r}")
    found = make_encoder(encoder) if isinstance(encoder, str) else encoder
    vectors = np.asarray(found.fit_transform(frame[text]), dtype=np.float32)
    n, d = vectors.shape
    lists = arrow.FixedSizeListArray.from_arrays(arrow.array(vectors.ravel()), d)
    table = arrow.Table.from_pandas(others, preserve_index=False).append_column(name, lists)
    with write_atomic(out) as stream:
        parquet.write_table(table, stream)
    return n, d
