"""Predictions as tables, written block by block: from memory, from files, or on a cluster."""

from __future__ import annotations

import hashlib
import os
import pickle
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from plurilabel import io, metrics
from plurilabel._core.blocks import row_blocks
from plurilabel._core.compat import safe_indexing
from plurilabel._core.records import write_atomic
from plurilabel._core.scores import score_method
from plurilabel._core.words import listed
from plurilabel.distributed.shared import TableBlock, in_order, table_blocks, with_types
from plurilabel.io.shared import formats, open_frame, table_module
from plurilabel.models._file import load_model
from plurilabel.models._model import Model, scores_or_none
from plurilabel.models._model_rows import ModelRows, Strange

MOST_COLUMNS = 10_000
SEPARATORS = (";", "|", ",")
DIGITS = 6  # of scores in CSV
SMALL = 10**8  # bytes of a file that can also be read as a whole


class Written(NamedTuple):
    """The number of rows, and remarks such as values that were not seen in training."""

    rows: int
    remarks: list[str]


def write_predictions(
    model: Model | str | os.PathLike[str] | Any,
    source: Any,
    out: str | os.PathLike[str] | BinaryIO,
    *,
    scores: bool = False,
    top: int | None = None,
    keep: Sequence[str] = (),
    digits: int | None = None,
    format: str | None = None,
    escape_formulas: bool = True,
    scheduler: Any = None,
    **reading: Any,
) -> Written:
    """Predict rows and write the labels to a file, a block of rows at a time.

    CSV and Parquet files may be larger than memory, which holds the model, one block of at most
    10,000 rows and 5 million cells (labels or columns), and its predictions. The predictions are
    those of :meth:`Model.predict` and :meth:`Model.predict_proba` in memory, bit for bit, since
    all of them predict the same blocks of rows together.

    Parameters
    ----------
    model : Model, path or fitted estimator
        A path is loaded by each worker, which must see the file; a model is sent to them.
    source : path, list of paths, or rows as for :meth:`Model.read`
        A table in several files is predicted as one.
    out : path or binary stream
        A ``.csv``, ``.tsv``, ``.jsonl`` (also with ``.gz``) or ``.parquet`` file, which is
        replaced when all rows are written.
    scores : bool, default=False
        Whether to add a column with the score of each label, or with ``top`` one of lists.
    top : int, default=None
        Number of labels with the highest scores to write instead of the predicted ones.
    keep : sequence of str, default=()
        Columns of the table to include.
    digits : int, default=None
        Significant digits of scores; by default 6 in CSV, else all.
    format : {"csv", "tsv", "jsonl", "parquet"}, default=None
        By default that of the name of ``out``.
    escape_formulas : bool, default=True
        Whether to escape text in CSV that spreadsheets would run as a formula.
    scheduler : str or distributed.Client, default=None
        Address of a Dask cluster, or "threads" for those of this process, for CSV and Parquet.
        This process writes the file.
    **reading
        Further options of :meth:`Model.read`, such as ``sep``.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import pandas as pd
    >>> from plurilabel.models import train, write_predictions
    >>> films = pd.DataFrame({"length": [70.0, 80, 150, 160], "tags": ["s", "s", "l", "l"]})
    >>> model = train(films, "tags", learner="MLkNN(n_neighbors=1)", holdout=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     films.to_parquet(f"{folder}/films.parquet")
    ...     done = write_predictions(
    ...         model, f"{folder}/films.parquet", f"{folder}/out.csv", keep=["length"])
    ...     print(done.rows, pathlib.Path(folder, "out.csv").read_text().split())
    4 ['length,tags', '70.0,s', '80.0,s', '150.0,l', '160.0,l']
    """
    shared = shared_model(model)
    loaded = shared.model
    is_path = isinstance(out, str | os.PathLike)
    kind = format or (str(io.file_format(out)) if is_path else "csv")  # type: ignore[arg-type]
    answers = Answers(loaded, scores=scores, top=top, kind=kind, digits=digits)
    keep = tuple(keep)
    blocks = blocks_for(loaded, source, scheduler, keep, **reading)
    found = [Strange()]  # of the blocks so far
    if blocks is None:
        rows = loaded.read(whole(source), **reading)
        kept = _kept(rows, keep, source)
        remarks, results = rows.remarks, answers.of_rows(rows, kept)
    else:
        kept = table_module("pandas").DataFrame(columns=[])
        if keep:
            _check_kept(blocks[0].open_table().frame, keep, source)
            blocks, kept = with_types(blocks, keep)
        results = _frames(shared, (answers.options, keep), blocks, scheduler, found)
    n = 0
    target: Any = write_atomic(out) if is_path else nullcontext(out)  # type: ignore[arg-type]
    names, writer = [*answers.renamed(keep), *answers.types], formats()[kind].writer
    columns = partial(_schema, answers, kept)
    with target as stream, writer(stream, names, columns, escape_formulas) as write:  # type: ignore[misc]
        for frame in results:
            write(frame)
            n += len(frame)
        stream.flush()
    return Written(n, remarks if blocks is None else found[0].remarks(loaded.kinds))


def evaluate_files(
    model: Model | str | os.PathLike[str] | Any, source: Any, *, scheduler: Any = None,
    **reading: Any,
) -> tuple[metrics.Evaluation, Written]:  # fmt: skip
    """Evaluate a model on CSV or Parquet files that may be larger than memory.

    Each block of rows is read and predicted once. Measures based on counts equal those of
    :meth:`Model.evaluate`, means are equal up to rounding, and areas under curves, which compare
    all rows, are left out.

    Parameters
    ----------
    model, source, scheduler, **reading
        As for :func:`write_predictions`; source is a path or a list of paths.
    """
    shared = shared_model(model)
    blocks = blocks_for(shared.model, source, True, with_labels=True, **reading)
    total, found, n = None, Strange(), 0
    options = {name: value for name, value in reading.items() if name in ("empty_labels", "soft")}
    jobs = ((block, options) for block in _in_turn(blocks or [], scheduler))
    for sums, strange, start, size in in_order(_evaluated, shared, jobs, scheduler, "evaluate"):
        total, n = sums if total is None else total + sums, n + size
        found = found.and_then(strange, start)
    if total is None:
        raise ValueError(f"{_named(source)} has no rows")
    return total.evaluation(), Written(n, found.remarks(shared.model.kinds))


def _evaluated(shared: Shared, job: Any) -> Any:
    (block, options), model = job, shared.model
    rows = model.read(block, with_labels=True, **options)
    scores, truth = scores_or_none(model.estimator, rows.X, len(model.label_names)), rows.Y
    sums = metrics.MeasureSums.of(truth, scores, model.estimator.predict(rows.X))  # type: ignore[arg-type]
    return sums, rows.strange, block.start, block.n_rows


@dataclass(frozen=True)
class Shared:
    """A model for workers: itself, or a file that each of them loads once."""

    held: Model | None
    path: str = ""
    digest: str = ""

    @property
    def model(self) -> Model:
        return _loaded(self.path, self.digest) if self.held is None else self.held

    def __reduce__(self) -> Any:  # in one piece: Dask may not align what it sends apart
        return _unpacked, (pickle.dumps((self.held, self.path, self.digest)),)


def _unpacked(content: bytes) -> Shared:
    return Shared(*pickle.loads(content))


def shared_model(model: Any) -> Shared:
    """A model, the path of one, or a fitted estimator, for workers."""
    if isinstance(model, str | os.PathLike):
        path = os.path.abspath(model)
        return Shared(None, path, _digest(path))
    return Shared(model if isinstance(model, Model) else Model.of(model))


@lru_cache(maxsize=2)
def _loaded(path: str, digest: str) -> Model:
    if (found := _digest(path)) != digest:
        raise ValueError(f"{path} is another model on this worker: its digest is {found}")
    return load_model(path)


def _digest(path: str) -> str:
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()[:16]


class _Whole(NamedTuple):
    """Tables that are read as a whole."""

    paths: tuple[str, ...]

    def open_table(self, as_text: Any) -> Any:
        return open_frame(list(self.paths), as_text=as_text)


def whole(source: Any) -> Any:
    """A source for :meth:`Model.read`, which would take several paths for texts."""
    several = source if isinstance(source, list | tuple) else ()
    if not several or not all(isinstance(one, str | os.PathLike) for one in several):
        return source
    return several[0] if len(several) == 1 else _Whole(tuple(map(os.fspath, several)))


def blocks_for(
    model: Model, source: Any, scheduler: Any = None, keep: Sequence[str] = (), *,
    with_labels: bool = False, sep: str | None = None, **others: Any,
) -> list[TableBlock] | None:  # fmt: skip
    """The blocks of CSV and Parquet files that a model predicts together.

    None for what is read as a whole: files of one block, unless there is a scheduler, other files
    and rows in memory.
    """
    source = whole(source)
    paths = source.paths if isinstance(source, _Whole) else (source,)
    usable = all(
        isinstance(one, str | os.PathLike)
        and (os.path.isdir(one) or io.file_format(one) in ("csv", "tsv", "parquet"))
        for one in paths
    )
    if usable and not others.get("embeddings"):
        wanted = {re.sub(r"\[[0-9]+\]$", "", name) for name in model.feature_names}
        wanted |= {*model.feature_names, *keep}
        if with_labels:
            wanted |= {model.labels} if isinstance(model.labels, str) else {*model.label_names}
        here = scheduler is None or scheduler == "threads"
        files = [os.fspath(one) if here else os.path.abspath(one) for one in paths]
        try:
            blocks = table_blocks(files, model.rows_at_once, sorted(wanted), sep or model.sep)
        except io.FileFormatError as error:  # unless the same is said of a whole file
            if scheduler is not None or os.path.getsize(error.path) > SMALL:
                raise
            return None
        if blocks == [] and scheduler is not None:
            raise ValueError(f"{_named(source)} has no rows")
        if blocks and (scheduler is not None or len(blocks) > 1):
            return blocks
    if scheduler is not None:
        problem = "must be CSV or Parquet files that are not gzipped, to be read in blocks"
        raise ValueError(f"{_named(source)} {problem}")
    return None


def _named(source: Any) -> str:
    if isinstance(source, str | os.PathLike):
        return os.fspath(source)
    paths = whole(source).paths if isinstance(whole(source), _Whole) else ()
    return listed(list(paths), 3) if paths else getattr(source, "name", "") or "the source"


def _in_turn(blocks: list[TableBlock], scheduler: Any) -> Iterator[TableBlock]:
    """Blocks that leave a file open for the next, if one process reads them."""
    scans: dict[str, Any] = {}
    return (replace(block, scans=scans) if scheduler is None else block for block in blocks)


def _frames(
    shared: Shared, work: Any, blocks: list[TableBlock], scheduler: Any, found: list[Strange]
) -> Iterator[Any]:
    """Tables of kept columns and predictions, block by block."""
    jobs = ((block, *work) for block in _in_turn(blocks, scheduler))
    for frame, strange, start in in_order(_answered, shared, jobs, scheduler, "predict"):
        found[0] = found[0].and_then(strange, start)
        yield frame


def _answered(shared: Shared, job: Any) -> tuple[Any, Strange, int]:
    """The predictions for a block, and what is strange about it."""
    (block, options, keep), model = job, shared.model
    rows = model.read(block)
    (frame,) = Answers(model, **options).of_rows(rows, _kept(rows, keep, block))
    return frame, rows.strange, block.start


def _kept(rows: ModelRows, keep: Sequence[str], source: Any) -> Any:
    if not keep:
        n = rows.X.shape[0] if hasattr(rows.X, "shape") else len(rows.X)
        return table_module("pandas").DataFrame(index=range(n))
    _check_kept(rows.frame, keep, source)
    return rows.frame[list(keep)].reset_index(drop=True)


def _check_kept(frame: Any, keep: Sequence[str], source: Any) -> None:
    if frame is None:
        raise ValueError(f"keep needs a table, but {_named(source)} is not one")
    if missing := [name for name in keep if name not in frame.columns]:
        raise ValueError(f"keep names a column {missing[0]!r} that {_named(source)} does not have")


def _schema(answers: Answers, kept: Any, arrow: Any) -> Any:
    """The Arrow schema of what is written, of kept columns or their schema and predictions."""
    is_schema = isinstance(kept, arrow.Schema)
    own = kept if is_schema else arrow.Schema.from_pandas(kept, preserve_index=False)
    columns = [of.with_name(name) for name, of in zip(answers.renamed(own.names), own)]
    columns += [arrow.field(name, make(arrow)) for name, make in answers.types.items()]
    return arrow.schema(columns)


class Answers:
    """Predictions of a model as columns: tags, and optionally scores."""

    def __init__(
        self, model: Model, *, scores: bool, top: int | None, kind: str, digits: int | None = None
    ) -> None:
        if scores and top is None and len(model.label_names) > MOST_COLUMNS:
            raise ValueError(f"scores= adds {len(model.label_names):,} columns; set top= as well")
        self.options = {"scores": scores, "top": top, "kind": kind, "digits": digits}
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

    def renamed(self, names: Sequence[str]) -> list[str]:
        """The names of kept columns beside those of the predictions."""
        return [f"{name}_given" if name in self.types else name for name in names]

    def _separator(self, given: str | None) -> str:
        """The separator of the model, or the first that no label name contains."""
        for sep in (given, *SEPARATORS):
            if sep is not None and not any(sep in name for name in self.names):
                return sep
        raise ValueError(
            f"the label names contain {' and '.join(SEPARATORS)}, so that tags cannot be joined "
            "in CSV; use --json, or -o with a .jsonl or .parquet file"
        )

    def of_rows(self, rows: ModelRows, kept: Any) -> Iterator[Any]:
        """Tables of kept columns and predictions; unknown rows get no predictions."""
        X, n = rows.X, len(kept)
        kept = kept.set_axis(self.renamed(kept.columns), axis=1)
        unknown = np.zeros(n, dtype=bool) if rows.unknown is None else rows.unknown
        for some in row_blocks(n, 1, self.model.rows_at_once):
            columns = self._columns(safe_indexing(X, some))
            for row in np.flatnonzero(unknown[some]):
                for name, cells in columns.items():
                    is_score = name.startswith("score_") and name != self.column
                    cells[row] = None if is_score else self._cell(self.names[:0])
            frame = table_module("pandas").DataFrame(columns)
            yield kept.iloc[some].join(frame.set_axis(kept.index[some]))

    def _columns(self, X: Any) -> dict[str, list[Any]]:
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
