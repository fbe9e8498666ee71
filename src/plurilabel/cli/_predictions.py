"""Predictions as a table, a block of rows at a time, and where they are written."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from plurilabel import metrics
from plurilabel.io import write_atomic
from plurilabel.io._table._files import appender, csv_head, csv_rows, json_lines
from plurilabel.metrics import score_method
from plurilabel.persistence import Model

SEPARATORS = (";", "|", ",")
_SCORES_AT_ONCE = 5_000_000  # rows times labels


class Predictor:
    """The answers of a model as columns: tags, and scores if they are wanted."""

    def __init__(self, model: Model, *, scores: bool, top: int | None, lists: bool) -> None:
        self.model, self.scores, self.lists = model, scores, lists
        self.q = len(model.label_names)
        self.top = None if top is None else min(top, self.q)
        self.names = np.array(model.label_names, dtype=object)
        self.column = model.labels if isinstance(model.labels, str) else "labels"
        self.sep = "" if lists else self._separator()
        self._needs_scores = scores or top is not None
        if self._needs_scores:
            score_method(model.estimator)

    def _separator(self) -> str:
        """The model's own separator, or the first that no label name holds."""
        for sep in (self.model.tag_sep, *SEPARATORS):
            if sep is not None and not any(sep in name for name in self.names):
                return sep
        raise ValueError(
            f"the label names hold {' and '.join(SEPARATORS)}, so that tags cannot be joined in "
            "CSV; use --json, or -o with a .jsonl or .parquet file"
        )

    def blocks(self, X: Any) -> Iterator[tuple[slice, dict[str, list[Any]]]]:
        """Rows and their columns, a block at a time."""
        step = max(1, _SCORES_AT_ONCE // self.q)
        for start in range(0, X.shape[0], step):
            rows = slice(start, min(start + step, X.shape[0]))
            yield rows, self._columns(X[rows])

    def _columns(self, X: Any) -> dict[str, list[Any]]:
        S = None
        if self._needs_scores:
            S = _dense(metrics.label_scores(self.model.estimator, X, n_labels=self.q))
        if self.top is not None:
            assert S is not None
            # of equal scores the label that comes first
            best = np.argsort(-S, axis=1, kind="stable")[:, : self.top]
            columns = {self.column: [self._cell(self.names[row]) for row in best]}
            if self.scores:
                ordered = np.take_along_axis(S, best, axis=1)
                columns["scores"] = [self._cell(row) for row in ordered]
            return columns
        Z = sparse.csr_array(self.model.estimator.predict(X))
        Z.eliminate_zeros()
        Z.sort_indices()
        pairs = zip(Z.indptr[:-1], Z.indptr[1:])
        columns = {self.column: [self._cell(self.names[Z.indices[i:j]]) for i, j in pairs]}
        if S is not None:
            columns |= {f"score_{name}": S[:, j].tolist() for j, name in enumerate(self.names)}
        return columns

    def _cell(self, values: Any) -> Any:
        """Several tags or scores in one cell: a list, or text with separators."""
        if self.lists:
            return values.tolist()
        return self.sep.join(
            value if isinstance(value, str) else repr(float(value)) for value in values
        )

    def schema(self) -> dict[str, str]:
        """Kind of each column."""
        kinds = {self.column: "tags"}
        if self.scores and self.top is not None:
            return {**kinds, "scores": "numbers"}
        if self.scores:
            kinds |= {f"score_{name}": "number" for name in self.names}
        return kinds


def _dense(scores: Any) -> Any:
    return scores.toarray() if sparse.issparse(scores) else np.asarray(scores)


@contextmanager
def prediction_writer(
    path: Path | None, kind: str, kept: Any, kinds: dict[str, str]
) -> Iterator[Any]:
    """Function that appends a frame: to a file that appears whole, or to stdout."""
    names = [*kept.columns, *kinds]
    if path is None:
        if kind == "jsonl":
            yield lambda frame: sys.stdout.writelines(map(bytes.decode, json_lines(frame)))
        else:
            sys.stdout.write(csv_head(names, ","))
            yield lambda frame: sys.stdout.write(csv_rows(frame, ","))
        sys.stdout.flush()
        return

    def schema(arrow: Any) -> Any:
        types = {
            "tags": arrow.list_(arrow.string()),
            "numbers": arrow.list_(arrow.float64()),
            "number": arrow.float64(),
        }
        columns = arrow.Schema.from_pandas(kept, preserve_index=False)
        for name, what in kinds.items():
            columns = columns.append(arrow.field(name, types[what]))
        return columns.remove_metadata()

    with write_atomic(path) as stream, appender(stream, kind, names, schema) as append:
        yield append
