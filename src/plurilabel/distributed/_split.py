"""Stratified splits of Dask collections."""

from __future__ import annotations

from collections.abc import Sequence
from operator import getitem
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_random_state

from plurilabel.distributed._blocks import RowBlocks, array_of, blocks_of, import_dask
from plurilabel.model_selection.shared import deal_block, label_sets, part_sizes


def stratified_split(
    X: Any,
    Y: Any,
    *,
    sizes: Sequence[float | None] = (0.75, 0.25),
    random_state: int | np.random.RandomState | None = None,
    rows: int | None = None,
) -> list[Any]:
    """Split Dask collections into parts with every label distributed as evenly as possible.

    Like :func:`plurilabel.model_selection.stratified_split`, but the labels are read twice in
    blocks: to count them, and to assign the rows of each block to the parts. X is not read.

    Parameters
    ----------
    X : Dask array or data frame of shape (n, d), or any matrix
    Y : Dask array or data frame of shape (n, q), or any 0/1 matrix
        With dense or CSR chunks.
    sizes : sequence of float, int or None, default=(0.75, 0.25)
        As in ``model_selection.stratified_split``.
    random_state : int, RandomState instance or None, default=None
    rows : int, optional
        Maximum number of rows of a block, on which the split depends; None for some megabytes.

    Returns
    -------
    list of Dask arrays
        ``X_train, X_test, Y_train, Y_test``, or more parts, with rows in their order.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> from plurilabel.distributed import stratified_split
    >>> X = da.arange(40, chunks=10).reshape(40, 1)
    >>> Y = da.from_array(np.tile([[1, 0], [1, 1], [1, 1], [0, 0]], (10, 1)), chunks=(10, 2))
    >>> X_train, X_test, Y_train, Y_test = stratified_split(
    ...     X, Y, sizes=(0.8, 0.2), random_state=0, rows=7)
    >>> Y_train.mean(axis=0).compute(), Y_test.mean(axis=0).compute()
    (array([0.75, 0.5 ]), array([0.75, 0.5 ]))
    """
    dask = import_dask("stratified_split")
    instances, labels = blocks_of(X, rows), blocks_of(Y, rows, name="Y")
    (n, q), rng = labels.shape, check_random_state(random_state)
    if instances.shape[0] != n:
        raise ValueError(f"X has {instances.shape[0]} rows, but Y has {n}")
    wanted = part_sizes(n, sizes)
    all_sizes = np.array([*wanted, n - sum(wanted)] if sum(wanted) < n else wanted)
    total = label_counts(labels)
    weight = np.divide(n, total, out=np.zeros(q), where=total > 0)
    # shuffled parts too, or ties would always favour the first
    order = rng.permutation(len(all_sizes))
    got = np.zeros((q + 1, len(order)), dtype=np.intp)
    part = np.empty(n, dtype=np.int8 if len(order) < 128 else np.intp)
    for block, start, stop in labels.spans():
        rows_of = dask.delayed(label_sets)(block).compute()
        part[start:stop] = order[deal_block(rows_of, all_sizes[order], weight, got, rng)]
    parts = range(len(wanted))
    return [_rows_of_part(dask, of, part == j) for of in (instances, labels) for j in parts]


def label_counts(blocks: RowBlocks) -> NDArray[np.int64]:
    """Number of rows with each label, (q,)."""
    dask = import_dask("label_counts")
    counts = dask.delayed(_counts)
    return np.sum(dask.compute(*(counts(part) for part in blocks.parts)), axis=0)


def _rows_of_part(dask: Any, blocks: RowBlocks, chosen: NDArray[np.bool_]) -> Any:
    meta = dask.delayed(_no_rows)(blocks.parts[0]).compute()
    rows = [(block, np.flatnonzero(chosen[a:b])) for block, a, b in blocks.spans()]
    rows = [(block, some) for block, some in rows if len(some)]
    parts = [dask.delayed(getitem)(block, some) for block, some in rows]
    return array_of(parts, [len(some) for _, some in rows], meta)


def _counts(Y: Any) -> NDArray[np.int64]:
    return np.asarray(label_sets(Y).sum(axis=0, dtype=np.int64)).ravel()


def _no_rows(block: Any) -> Any:
    return sparse.csr_array(block)[:0] if sparse.issparse(block) else np.asarray(block)[:0]
