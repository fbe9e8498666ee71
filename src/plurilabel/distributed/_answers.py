"""Any fitted model on Dask collections and files, block by block."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from functools import partial
from importlib import import_module
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse

from plurilabel._core.blocks import dense, stack_rows
from plurilabel.distributed._blocks import array_of, chunks_of, import_dask, is_frame, pieces_of
from plurilabel.io.shared import table_module


def predict(model: Any, X: Any) -> Any:
    """Predict label sets of Dask collections or files with any fitted model.

    Parameters
    ----------
    model : Model, path of a model file, or fitted estimator
        Sent to each worker once, or loaded by each from a file that all of them see: better for
        models of more than 10 MB.
    X : Dask array or data frame of shape (n, d), path or list of paths
        CSV and Parquet files, as :func:`plurilabel.models.write_predictions` reads them.

    Returns
    -------
    Dask array of shape (n, q)
        0 and 1, in the order of the label names of the model; the chunks are CSR if the model was
        trained on sparse labels. Nothing is computed yet: ``to_zarr`` writes it block by block.
        The blocks are those in which :class:`plurilabel.models.Model` predicts rows in memory, so
        that all bits are equal.

    See Also
    --------
    plurilabel.models.write_predictions : Writes label names and scores to one file.
    evaluate : Takes what this and :func:`predict_proba` return, and true labels.

    Examples
    --------
    >>> import dask.array as da
    >>> from plurilabel import MLDecisionTree, distributed
    >>> tree = MLDecisionTree().fit([[0.0], [1.0]], [["sun"], ["sea", "sun"]])
    >>> X = da.from_array([[0.9], [0.2], [0.8]], chunks=(2, 1))
    >>> distributed.predict(tree, X).compute()
    array([[1, 1],
           [0, 1],
           [1, 1]])
    >>> distributed.predict_top(tree, X, k=1).compute().toarray()
    array([[1., 0.],
           [0., 1.],
           [1., 0.]])
    """
    asked = _Asked(model, X)
    kind = sparse.csr_array if asked.is_sparse else np.empty
    return asked.array(_labels, kind((0, asked.n_labels), dtype=np.int64))


def predict_proba(model: Any, X: Any) -> Any:
    """Scores (n, q) of Dask collections or files, as a Dask array; see :func:`predict`.

    Scores of a model without probabilities are those of its ``decision_function``.
    """
    asked = _Asked(model, X)
    return asked.array(_scores, np.empty((0, asked.n_labels)))


def predict_top(model: Any, X: Any, k: int = 5) -> Any:
    """The k highest scores of each row, as a Dask array (n, q) with CSR chunks.

    The first label wins ties. Rows without a known word have none. See :func:`predict`.
    """
    asked = _Asked(model, X)
    return asked.array(partial(_top, k=k), sparse.csr_array((0, asked.n_labels)))


def explain(model: Any, X: Any) -> Any:
    """Explanations of rows, as a Dask bag with one for each row; see :func:`predict`.

    They are those of :meth:`plurilabel.models.Model.explain`.
    """
    asked = _Asked(model, X)
    bag = import_module("dask.bag")
    return bag.from_delayed(asked.parts(lambda model, rows: list(model.explanations(rows.X))))


class _Asked:
    """A model for workers, and the blocks of rows that it is asked about."""

    def __init__(self, model: Any, X: Any):
        from plurilabel.models.shared import blocks_for, shared_model

        shared = shared_model(model)
        own = shared.model
        self.n_labels, self.is_sparse = len(own.label_names), _is_sparse(own)
        if isinstance(X, str | os.PathLike | list | tuple):
            self.blocks: list[Any] = blocks_for(own, X, True) or []
            self.sizes = [block.n_rows for block in self.blocks]
        else:
            self.blocks, self.sizes = _collection(X, own.rows_at_once)
        self.shared = import_dask("predict").delayed(shared, traverse=False)

    def parts(self, answer: Callable[..., Any]) -> list[Any]:
        task = import_dask("predict").delayed(_answered)
        return [task(self.shared, block, answer) for block in self.blocks]

    def array(self, answer: Callable[..., Any], meta: Any) -> Any:
        return array_of(self.parts(answer), self.sizes, meta)


def _collection(X: Any, rows: int) -> tuple[list[Any], list[int]]:
    """Blocks of a Dask array or data frame, of equal numbers of rows."""
    dask = import_dask("predict")
    if not is_frame(X) and not (isinstance(X, dask.array.Array) and X.ndim == 2):
        got = type(X).__name__
        raise TypeError(f"X must be a Dask array or data frame, or files, got {got}")
    if is_frame(X) or np.isnan(np.sum(X.shape)):
        warnings.warn("X was read once to count its rows", stacklevel=4)
    if is_frame(X):
        chunks = X.to_delayed()
        sizes = list(dask.compute(*(dask.delayed(len)(chunk) for chunk in chunks)))
    else:
        X = X.compute_chunk_sizes() if np.isnan(np.sum(X.shape)) else X
        chunks, sizes = chunks_of(X)
    ends = np.cumsum([0, *sizes])
    if (n := int(ends[-1])) == 0:
        raise ValueError("X has no rows")
    stack, cuts = dask.delayed(_stacked), [*range(0, n, rows), n]
    blocks = [stack(pieces_of(chunks, ends, a, b)) for a, b in pairwise(cuts)]
    return blocks, np.diff(cuts).tolist()


def _stacked(pieces: list[tuple[Any, int, int]]) -> Any:
    """Some rows of some chunks, below each other."""
    parts = []
    for chunk, start, stop in pieces:
        rows = chunk.iloc if hasattr(chunk, "iloc") else chunk
        rows = np.require(rows, requirements="A") if isinstance(rows, np.ndarray) else rows
        parts.append((sparse.csr_array(rows) if sparse.issparse(rows) else rows)[start:stop])
    if len(parts) == 1:
        return parts[0]
    if hasattr(parts[0], "iloc"):
        return table_module("pandas").concat(parts, ignore_index=True)
    return stack_rows(parts) if parts[0].dtype != object else np.concatenate(parts)


def _answered(shared: Any, block: Any, answer: Callable[..., Any]) -> Any:
    return answer(shared.model, shared.model.read(block))


def _is_sparse(model: Any) -> bool:
    """Whether a model was trained on sparse labels."""
    from plurilabel.models.shared import layers

    return any(getattr(part, "sparse_output_", False) for part in layers(model.estimator))


def _labels(model: Any, rows: Any) -> Any:
    Z = model.estimator.predict(rows.X)
    if Z.ndim == 1 and len(model.label_names) != 1:
        raise ValueError("the model predicts one class for each row, not 0 and 1 for labels")
    Z = Z.reshape(-1, 1) if Z.ndim == 1 else Z
    if rows.unknown is not None:
        Z = sparse.diags_array((~rows.unknown).astype(np.float64)) @ sparse.csr_array(Z)
    return sparse.csr_array(Z, dtype=np.int64) if _is_sparse(model) else dense(Z).astype(np.int64)


def _scores(model: Any, rows: Any) -> Any:
    S = model.scores(rows.X)
    return S if rows.unknown is None else np.where(rows.unknown[:, np.newaxis], np.nan, S)


def _top(model: Any, rows: Any, k: int) -> Any:
    S = model.scores(rows.X)
    n, q = S.shape
    known = np.arange(n) if rows.unknown is None else np.flatnonzero(~rows.unknown)
    best = np.sort(np.argsort(-S[known], axis=1, kind="stable")[:, :k], axis=1)
    row = np.repeat(known, best.shape[1])
    return sparse.csr_array((S[row, best.ravel()], (row, best.ravel())), shape=(n, q))
