"""Files as Dask collections; only sizes and names are read at first."""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Iterable, Sequence
from numbers import Integral
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from plurilabel._core.compat import import_extra
from plurilabel._core.data.dataset import Dataset
from plurilabel._core.words import first_repeated, listed
from plurilabel.distributed._blocks import MOST_ROWS, array_of, import_dask
from plurilabel.distributed._csv_blocks import CsvBlock, csv_blocks
from plurilabel.io import FileFormatError, TableEncoder, file_format
from plurilabel.io.shared import (
    MISSING,
    CellError,
    check_same_columns,
    parquet_errors,
    table_module,
    tag_column,
    xmc_blocks,
)

FORMATS = {"parquet": ".parquet", "csv": ".csv", "xmc": ".txt", "zarr": ".zarr"}
LOOKED_AT = 1000  # rows of a CSV file, to detect columns of numbers

Paths = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]


def read(
    paths: Paths,
    *,
    labels: str | Sequence[str] | None = None,
    features: Sequence[str] | None = None,
    drop: Sequence[str] = (),
    tag_sep: str | None = None,
    label_names: Sequence[str] | None = None,
    encoder: TableEncoder | Literal["passthrough"] | None = None,
    rows: int = MOST_ROWS,
) -> Dataset:
    r"""Read files as Dask collections, for data that do not fit into memory.

    At first, only names and sizes are read: the footers of Parquet files, the lines of a text
    file, the tags of a column of tags. Workers read values block by block when needed, and so must
    see the files under the same path.

    Parameters
    ----------
    paths : str, path, or several of them
        Files of one kind, in this order; patterns with ``*`` and ``?`` are expanded and sorted.

        ``.parquet``, ``.csv``
            Tables. Needs pandas and pyarrow: ``pip install 'plurilabel[dask,table]'``.
        ``.txt``
            A file of the extreme-classification repository, not gzipped. X and Y have CSR chunks.
        ``.zarr``
            A group with the arrays ``X`` and ``Y``.
    labels : list of str, or str
        For tables: the 0/1 label columns, or the column of tags (text with a separator, or lists).
    features : list of str, optional
        For tables: columns of numbers, or any columns with an encoder. By default those of the
        encoder, or all but the labels.
    drop : sequence of str
        For tables: columns to leave out, such as identifiers.
    tag_sep : str, optional
        Tag separator; see :func:`plurilabel.io.read_table`.
    label_names : sequence of str, optional
        The tags in the desired order; by default all tags, sorted, for which the column is read.
    encoder : TableEncoder or "passthrough", optional
        For tables: a fitted :class:`~plurilabel.TableEncoder`. With "passthrough", X has the
        original cells, as objects unless all are numbers.
    rows : int
        Maximum number of rows of a block, but at least a row group of a Parquet file.

    Returns
    -------
    Dataset
        X and Y are Dask arrays; the chunks of Y are dense for label columns, otherwise CSR.

    See Also
    --------
    plurilabel.io.read : Read files that fit into memory.
    plurilabel.TableEncoder : Can be fitted on rows in memory, such as the first file.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from plurilabel.distributed import read
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name, "toy.txt")
    >>> _ = path.write_text("3 5 4\n0,3 1:0.5 4:2\n2\n 0:1.5\n")
    >>> data = read(path, rows=2)
    >>> data
    Dataset 'toy': 3 instances, 5 features, 4 labels
    >>> data.Y.chunks
    ((2, 1), (4,))
    >>> folder.cleanup()
    """
    import_dask("read")
    files = _files(paths)
    kind, *others = sorted({_kind(path) for path in files})
    if others:
        raise ValueError(f"paths must be files of one kind, got {listed([kind, *others])}")
    if not isinstance(rows, Integral) or rows < 1:
        raise ValueError(f"rows must be an integer of at least 1, got {rows!r}")
    if kind in ("parquet", "csv"):
        if labels is None:
            raise ValueError("labels must name the label columns, or the column of tags")
        table = (_parquet if kind == "parquet" else _csv)(files, rows)
        tags = (tag_sep, label_names)
        return _read_table(files[0], table, labels, features, drop, tags, _checked(encoder))
    if labels or features or drop or encoder is not None:
        what = "labels, features, drop and encoder"
        raise ValueError(f"{what} are for tables, not for {FORMATS[kind]}")
    if len(files) > 1:
        raise ValueError(f"paths must be one {FORMATS[kind]}, got {len(files)}")
    return (_read_xmc if kind == "xmc" else _read_zarr)(files[0], rows)


def _files(paths: Paths) -> list[str]:
    given = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    found: list[str] = []
    for path in [os.fspath(one) for one in given]:
        some = [path] if os.path.exists(path) else sorted(glob.glob(path, recursive=True))
        if not some:
            raise FileNotFoundError(f"no file is named {path!r}")
        found += [os.path.abspath(one) for one in some]
    if not found:
        raise ValueError("paths must name at least one file, got none")
    return found


def _kind(path: str) -> str:
    kind = "zarr" if path.rstrip("/").endswith(".zarr") else file_format(path)
    if kind not in FORMATS:
        raise ValueError(
            f"{path} cannot be read in blocks: its name must end in {', '.join(FORMATS.values())}"
        )
    return str(kind)


def _read_xmc(path: str, rows: int) -> Dataset:
    dask = import_dask("read")
    blocks = xmc_blocks(path, rows)
    if not blocks:
        raise FileFormatError(path, None, "expected at least one row, got none")
    X, Y = zip(*(dask.delayed(type(block).read, nout=2)(block) for block in blocks))
    sizes = [block.n_rows for block in blocks]
    no_x = sparse.csr_array((0, blocks[0].n_features), dtype=np.float64)
    no_y = sparse.csr_array((0, blocks[0].n_labels), dtype=np.int64)
    return Dataset(array_of(X, sizes, no_x), array_of(Y, sizes, no_y), name=Path(path).stem)


def _read_zarr(path: str, _: int) -> Dataset:
    dask, zarr = import_dask("read"), import_extra("zarr", "a .zarr folder", "dask")
    group: Any = zarr.open(path, mode="r")
    arrays = []
    for name in ("X", "Y"):
        if not hasattr(group, "keys") or name not in group:
            raise ValueError(f"{path} must be a group with the arrays X and Y")
        array = dask.array.from_zarr(path, component=name)
        if array.ndim != 2:
            raise ValueError(f"{name} in {path} must be a matrix, got {array.ndim} dimension(s)")
        arrays.append(array)
    return Dataset(arrays[0], arrays[1], name=Path(path).stem)


class _Table(NamedTuple):
    """A table in blocks."""

    is_number: dict[str, bool]  # by column
    typed: bool  # False: all cells are text
    sizes: list[int]  # rows of each block
    blocks: Callable[[list[str]], list[Any]]  # delayed data frames of these columns


def _parquet(files: list[str], rows: int) -> _Table:
    load = import_dask("read").delayed(_load_groups)
    first: dict[str, bool] = {}
    pieces: list[tuple[str, list[int]]] = []
    sizes: list[int] = []
    for path in files:
        own, group_sizes = _parquet_footer(path)
        first = first or own
        if own != first:
            other = sorted(set(own.items()) ^ set(first.items()))[0][0]
            raise ValueError(f"{path} must have the columns of {files[0]}; {other!r} is different")
        groups: list[int] = []
        for group, size in enumerate(group_sizes):
            if groups and sizes[-1] + size <= rows:
                groups.append(group)
                sizes[-1] += size
            elif size:
                groups = [group]
                pieces.append((path, groups))
                sizes.append(size)
    return _Table(first, True, sizes, lambda names: [load(*piece, names) for piece in pieces])


def _parquet_footer(path: str) -> tuple[dict[str, bool], list[int]]:
    """Whether each column has numbers, and the sizes of the row groups."""
    types = table_module("pyarrow").types
    tests = types.is_integer, types.is_floating, types.is_boolean
    with parquet_errors(path), table_module("pyarrow.parquet").ParquetFile(path) as file:
        schema, about = file.schema_arrow, file.metadata
        columns = {field.name: any(test(field.type) for test in tests) for field in schema}
    return columns, [about.row_group(i).num_rows for i in range(about.num_row_groups)]


def _load_groups(path: str, groups: list[int], names: list[str]) -> Any:
    with parquet_errors(path), table_module("pyarrow.parquet").ParquetFile(path) as file:
        return file.read_row_groups(groups, columns=names).to_pandas()


def _csv(files: list[str], rows: int) -> _Table:
    load = import_dask("read").delayed(CsvBlock.read)
    found = [block for path in files for block in csv_blocks(path, rows)]
    check_same_columns({block.path: block.columns for block in found})
    is_number = {}
    if found:
        first = found[0].read(list(found[0].columns)).iloc[:LOOKED_AT]
        is_number = {name: not np.isnan(_as_numbers(first[name])).any() for name in first}
    sizes = [block.n_rows for block in found]
    return _Table(is_number, False, sizes, lambda names: [load(block, names) for block in found])


def _as_numbers(texts: Any) -> NDArray[np.float64]:
    """Numbers of a column of text; NaN for other cells, infinity for missing ones."""
    pandas = table_module("pandas")
    cells = texts.str.strip()
    values = pandas.to_numeric(cells, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
    missing = (cells == "") | cells.str.lower().isin(MISSING)
    return np.where(missing.to_numpy(dtype=bool), np.inf, values)


def _read_table(
    path: str, table: _Table, labels: str | Sequence[str], features: Sequence[str] | None,
    drop: Sequence[str], tags: tuple[str | None, Sequence[str] | None], encoder: Any,
) -> Dataset:  # fmt: skip
    if not table.sizes:
        raise FileFormatError(path, None, "expected at least one row, got none")
    own = [labels] if isinstance(labels, str) else list(labels)
    if features is None:
        known = table.is_number if encoder in (None, "passthrough") else encoder.feature_names_in_
        features = [name for name in known if name not in own and name not in drop]
    _check_columns(table, own, list(features), drop, words=encoder is not None)
    if encoder == "passthrough" and table.typed and all(map(table.is_number.get, features)):
        encoder = None
    starts = np.cumsum([0, *table.sizes[:-1]]).tolist()
    cells, zero_one = map(import_dask("read").delayed, (_cells, _zero_one))
    blocks = table.blocks(list(features))
    X = [cells(block, list(features), start, encoder) for block, start in zip(blocks, starts)]
    no_x, names = _no_rows(list(features), encoder)
    meta: Any = np.empty((0, len(own)), dtype=np.int8)
    tag_sep = None
    if isinstance(labels, str):
        Y, own, tag_sep = _tag_blocks(table, starts, labels, *tags)
        meta = sparse.csr_array((0, len(own)), dtype=np.int8)
    else:
        Y = [zero_one(block, own, start) for block, start in zip(table.blocks(own), starts)]
    x, y = array_of(X, table.sizes, no_x), array_of(Y, table.sizes, meta)
    return Dataset(x, y, names, tuple(own), name=Path(path).stem, tag_sep=tag_sep)


def _checked(encoder: Any) -> Any:
    if isinstance(encoder, TableEncoder):
        check_is_fitted(encoder)
    elif encoder not in (None, "passthrough"):
        got = type(encoder).__name__
        raise TypeError(f'encoder must be a fitted TableEncoder, "passthrough" or None, got {got}')
    return encoder


def _no_rows(features: list[str], encoder: Any) -> tuple[Any, tuple[str, ...]]:
    """An empty X, and the names of its columns."""
    if not isinstance(encoder, TableEncoder):
        return np.empty((0, len(features)), dtype=object if encoder else float), tuple(features)
    names = tuple(encoder.get_feature_names_out().tolist())
    empty = np.empty((0, len(names)))
    return sparse.csr_array(empty) if "text" in encoder.kinds_.values() else empty, names


def _cells(frame: Any, names: list[str], start: int, encoder: Any) -> Any:
    if encoder is None:
        return _numbers(frame, names, start)
    if encoder == "passthrough":
        return frame[names].to_numpy(dtype=object)
    try:
        return encoder.transform(frame[names])
    except ValueError as error:
        raise ValueError(f"rows {start} to {start + len(frame) - 1}: {error}") from None


def _check_columns(
    table: _Table, labels: list[str], features: list[str], drop: Sequence[str], *, words: bool
) -> None:
    for name in (*labels, *features, *drop):
        if name not in table.is_number:
            known = listed(list(table.is_number), 10)
            raise ValueError(f"there is no column {name!r}; there are {known}")
    if not features:
        raise ValueError("features must name at least one column, got none")
    if (twice := first_repeated([*labels, *features])) is not None:
        raise ValueError(f"labels and features must name each column once, got {twice!r} twice")
    others = [repr(name) for name in features if not table.is_number[name]]
    if others and not words:
        raise ValueError(
            f"features must be columns of numbers, but {listed(others, 5)} "
            f"{'is not one' if len(others) == 1 else 'are not'}; drop leaves columns out, and "
            "encoder=TableEncoder().fit(rows) encodes them"
        )


def _tag_blocks(
    table: _Table, starts: list[int], column: str, tag_sep: str | None,
    label_names: Sequence[str] | None,
) -> tuple[list[Any], list[str], str | None]:  # fmt: skip
    """Delayed blocks of Y, the labels and the separator, detected in one pass if necessary."""
    dask = import_dask("read")
    cells = table.blocks([column])
    if label_names is None or tag_sep is None:
        tags_of = dask.delayed(lambda *block: tag_matrix(*block)[1:])
        blocks = (tags_of(b, column, tag_sep, None, start) for b, start in zip(cells, starts))
        found = dask.compute(*blocks)
        separators = sorted({sep for _, sep in found if sep is not None})
        if len(separators) > 1:
            got = " and ".join(map(repr, separators))
            problem = f"column {column!r} must have one separator between tags, got {got}"
            raise ValueError(f"{problem}; choose one with tag_sep=")
        tag_sep = separators[0] if separators else None
        if label_names is None:
            label_names = sorted({tag for tags, _ in found for tag in tags})
        if not label_names:
            raise ValueError(f"column {column!r} must hold tags, got only empty cells")
    names = list(label_names)
    to_rows = dask.delayed(lambda *block: tag_matrix(*block)[0].astype(np.int8))
    Y = [to_rows(b, column, tag_sep, names, start) for b, start in zip(cells, starts)]
    return Y, names, tag_sep


def _numbers(frame: Any, names: list[str], start: int) -> NDArray[np.float64]:
    values = np.empty((len(frame), len(names)))
    for j, name in enumerate(names):
        column = frame[name]
        if column.dtype.kind in "iufb":
            values[:, j] = column.to_numpy(dtype=np.float64, na_value=np.nan)
            continue
        found = _as_numbers(column)  # of a CSV file
        if (wrong := np.isnan(found)).any():
            i = int(wrong.argmax())
            got = f"{column.iloc[i]!r} in row {start + i}"
            raise ValueError(f"column {name!r} must hold numbers, got {got}")
        values[:, j] = np.where(np.isinf(found), np.nan, found)
    return values


def _zero_one(frame: Any, names: list[str], start: int) -> NDArray[np.int8]:
    values = _numbers(frame, names, start)
    wrong = np.argwhere((values != 0) & (values != 1))
    if len(wrong):
        i, j = wrong[0]
        got = f"{values[i, j]:g} in row {start + i}"
        raise ValueError(f"label column {names[j]!r} must hold only 0 and 1, got {got}")
    return values.astype(np.int8)


def tag_matrix(
    frame: Any, name: str, tag_sep: str | None, names: list[str] | None, start: int
) -> tuple[Any, list[str], str | None]:
    """Y of a block of rows, its tags, if any, and their separator."""
    try:
        return tag_column(frame[name], name, tag_sep, names)
    except CellError as error:
        if "only empty cells" in error.problem:
            return None, [], None
        where = "" if error.row is None else f", row {start + error.row}"
        raise ValueError(f"column {name!r}{where}: {error.problem}") from None
