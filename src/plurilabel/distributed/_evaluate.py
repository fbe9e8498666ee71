"""All measures of predictions in blocks, in one pass."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial, reduce
from operator import add
from typing import Any

from numpy.typing import ArrayLike

from plurilabel._core.blocks import stack_rows
from plurilabel.distributed._blocks import RowBlocks, blocks_of, import_dask, in_a_tree
from plurilabel.metrics import MEASURES, Evaluation, MeasureSums


def evaluate(
    Y_true: Any,
    scores: Any = None,
    labels: Any = None,
    *,
    top: Sequence[int] = (1, 3, 5),
    propensities: ArrayLike | None = None,
    auc: bool = False,
    rows: int | None = None,
) -> Evaluation:
    """Compute the measures of :func:`plurilabel.metrics.evaluate` on Dask collections.

    Each block of rows is read once. Measures based on counts equal those of ``metrics.evaluate``
    exactly; means are equal up to rounding.

    Parameters
    ----------
    Y_true : Dask array or data frame of shape (n, q), or any 0/1 matrix
        With dense or CSR chunks; the chunks of the three collections may differ.
    scores : Dask array or data frame of shape (n, q), or any matrix, optional
    labels : Dask array or data frame of shape (n, q), or any 0/1 matrix, optional
    top : sequence of int, default=(1, 3, 5)
    propensities : array-like of shape (q,), optional
        Both as in ``metrics.evaluate``.
    auc : bool, default=False
        Whether to add the areas under curves, ``macro_auc``, ``micro_average_precision`` and so
        on, for which one worker needs all of Y_true and scores in memory.
    rows : int, optional
        Maximum number of rows of a block; None for some megabytes.

    Examples
    --------
    >>> import dask.array as da
    >>> from plurilabel.distributed import evaluate
    >>> Y_true = da.from_array([[1, 0, 1], [0, 1, 0], [1, 0, 0]], chunks=(2, 3))
    >>> scores = da.from_array([[0.9, 0.5, 0.6], [0.4, 0.3, 0.2], [0.8, 0.1, 0.3]], chunks=(1, 3))
    >>> result = evaluate(Y_true, scores, scores > 0.5, top=(1,))
    >>> result["micro_f1"], result["precision@1"]
    (0.857..., 0.666...)
    """
    if scores is None and labels is None:
        raise ValueError("evaluate needs scores, labels or both, got neither")
    if auc and scores is None:
        raise ValueError("auc=True needs scores, got none")
    dask = import_dask("evaluate")
    given = {"Y_true": Y_true, "scores": scores, "labels": labels}
    blocks = {name: blocks_of(M, rows, name=name) for name, M in given.items() if M is not None}
    _check_same(given, blocks)
    Y, options = blocks["Y_true"], {"top": top, "propensities": propensities}
    others = {name: of.parts for name, of in blocks.items() if name != "Y_true"}
    sums = dask.delayed(_sums)
    parts = [
        sums(part, {name: of[i] for name, of in others.items()}, start, options)
        for i, (part, start) in enumerate(zip(Y.parts, Y.starts))
    ]
    wanted = [in_a_tree(dask.delayed(partial(reduce, add)), parts)]
    if auc:
        wanted.append(dask.delayed(_areas)(Y.parts, others["scores"]))
    total, *areas = dask.compute(*wanted)
    return total.evaluation(*areas)


def _check_same(given: dict[str, Any], blocks: dict[str, RowBlocks]) -> None:
    """Check that all matrices have the same shape, and labels in the same order."""
    framed = {name: M for name, M in given.items() if hasattr(M, "columns")}
    names = {name: list(map(str, M.columns)) for name, M in framed.items()}
    expected = blocks["Y_true"].shape
    for name, of in blocks.items():
        if of.shape != expected:
            raise ValueError(f"{name} must have the shape of Y_true, {expected}, got {of.shape}")
        first, own = names.get("Y_true"), names.get(name)
        if first and own and first != own and sorted(first) == sorted(own):
            raise ValueError(
                f"{name} must have its columns in the order of Y_true, {first[:5]}..., "
                f"got {own[:5]}..."
            )


def _sums(Y: Any, others: dict[str, Any], start: int, options: dict[str, Any]) -> MeasureSums:
    try:
        return MeasureSums.of(Y, **others, **options)
    except (TypeError, ValueError) as error:
        raise ValueError(f"in rows {start} to {start + Y.shape[0] - 1}: {error}") from None


def _areas(Y: list[Any], scores: list[Any]) -> dict[str, float]:
    truth, together = stack_rows(Y), stack_rows(scores)
    areas = [one for one in MEASURES.values() if one.terms is None]
    return {one.name: one.function(truth, together) for one in areas}
