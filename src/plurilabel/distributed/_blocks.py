"""Dask collections as blocks of rows."""

from __future__ import annotations

import io
import os
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse

from plurilabel._core.blocks import stack_rows
from plurilabel._core.compat import import_extra

# default limits of a block; tasks of fewer rows are not worth their overhead
MOST_ROWS, MOST_NUMBERS, FEWEST_ROWS = 65_536, 1 << 23, 4096
AT_ONCE = 8  # results merged by one task
LARGEST_RECIPE = 1 << 16  # bytes; a larger graph contains data


def import_dask(who: str) -> Any:
    """Import dask with its arrays."""
    import_extra("dask.array", who, "dask")
    return import_module("dask")


def is_collection(X: Any) -> bool:
    """Whether X is a Dask collection; does not import Dask."""
    return hasattr(X, "__dask_graph__")


def is_frame(X: Any) -> bool:
    return is_collection(X) and hasattr(type(X), "to_dask_array")


def in_a_tree(merge: Callable[[list[Any]], Any], parts: list[Any]) -> Any:
    """Merge delayed parts, a few at a time."""
    while len(parts) > AT_ONCE:
        parts = [merge(parts[i : i + AT_ONCE]) for i in range(0, len(parts), AT_ONCE)]
    return merge(parts)


Span: TypeAlias = tuple[Any, int, int]  # a block or its recipe, and its rows from start to stop


@dataclass(frozen=True)
class RowBlocks:
    """Consecutive blocks of rows."""

    parts: list[Any]  # delayed, each an ndarray or a CSR matrix
    sizes: list[int]  # rows of each
    width: int

    @property
    def shape(self) -> tuple[int, int]:
        return sum(self.sizes), self.width

    @property
    def starts(self) -> list[int]:
        return [int(end - size) for end, size in zip(np.cumsum(self.sizes), self.sizes)]

    def spans(self, sources: list[Any] | None = None) -> list[Span]:
        """The blocks, or other sources of them, with their row ranges."""
        parts = self.parts if sources is None else sources
        return [(part, a, a + size) for part, a, size in zip(parts, self.starts, self.sizes)]


def array_of(parts: Sequence[Any], sizes: list[int], meta: Any) -> Any:
    """Concatenate delayed matrices to a Dask array."""
    array, width = import_dask("a Dask array").array, meta.shape[1]
    return array.concatenate(
        [array.from_delayed(part, (size, width), meta=meta) for part, size in zip(parts, sizes)]
    )


class Recipe:
    """The part of a Dask graph that reads a block, run by the task that needs it.

    Dask keeps a block in memory until the last task that needs it finishes. With a recipe instead,
    each task reads the block again and drops it.
    """

    def __init__(self, graph: dict[Any, Any], key: Any):
        self.graph, self.key = graph, key

    def __call__(self) -> Any:
        return import_dask("a block of rows").get(self.graph, self.key)


def recipes_of(parts: list[Any]) -> list[Recipe] | None:
    """Recipes of delayed blocks; None if their graph contains data or results on a cluster.

    Examples
    --------
    >>> import dask.array as da
    >>> blocks = blocks_of(da.ones((10, 2), chunks=(5, 2)), rows=5)
    >>> recipes_of(blocks.parts)[1]().shape
    (5, 2)
    >>> recipes_of(blocks_of(np.ones((1_000_000, 2))).parts) is None
    True
    """
    from dask.highlevelgraph import HighLevelGraph
    from dask.optimization import cull

    graph = dict(HighLevelGraph.merge(*(part.__dask_graph__() for part in parts)))
    recipes = [Recipe(cull(graph, [part.key])[0], part.key) for part in parts]
    return recipes if all(map(_is_small, recipes)) else None


def _is_small(recipe: Recipe) -> bool:
    """Whether a recipe is small enough to be sent with each task."""
    import cloudpickle  # type: ignore[import-untyped]

    graph = recipe.graph
    # results on a cluster have no task that computes them
    if any(set(getattr(node, "dependencies", ())) - set(graph) for node in graph.values()):
        return False
    left = LARGEST_RECIPE

    class Measuring(cloudpickle.Pickler):
        def persistent_id(self, thing: Any) -> None:
            if type(thing).__module__.startswith("distributed."):
                raise ValueError("it refers to results on a cluster")

    class Nowhere(io.RawIOBase):
        def write(self, data: Any) -> int:
            nonlocal left
            size = memoryview(data).nbytes
            left -= size
            if left < 0:
                raise ValueError("it contains data")
            return size

    def apart(buffer: Any) -> bool:  # arrays are measured without a copy
        Nowhere().write(buffer.raw())
        return False

    try:
        Measuring(Nowhere(), protocol=5, buffer_callback=apart).dump(graph)
    except Exception:  # pickling may raise anything: a block that cannot be sent is kept
        return False
    return True


def current_client() -> Any:
    """The client of the cluster on which Dask computes, None without one."""
    return getattr(import_dask("a cluster").base.get_scheduler(), "__self__", None)


def workers() -> tuple[int, float]:
    """Number of threads of all workers, and bytes of memory of the smallest worker."""
    dask, client = import_dask("a cluster"), current_client()
    known = [] if client is None else list(client.scheduler_info()["workers"].values())
    if client is not None and known:
        limits = [worker.get("memory_limit") or _physical_memory() for worker in known]
        return sum(client.nthreads().values()), float(min(limits))
    if dask.base.get_scheduler() is dask.get:
        return 1, _physical_memory()
    threads = dask.config.get("num_workers", None) or os.cpu_count() or 1
    return int(threads), _physical_memory()


def _physical_memory() -> float:
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, OSError, ValueError):  # not on Windows
        return 8.0 * 2**30


def blocks_of(
    X: Any, rows: int | None = None, *, name: str = "X", like: RowBlocks | None = None
) -> RowBlocks:
    """Split a Dask collection or a matrix into blocks of about equal numbers of rows.

    Blocks have up to ``rows`` rows, None for some megabytes, or are ``like`` others; errors call
    X by its ``name``.
    """
    if is_collection(X):
        return _blocks_of_collection(X, rows, name, like)
    matrix = sparse.csr_array(X) if sparse.issparse(X) else np.asarray(X)
    cuts = _cuts(_matrix_shape(matrix, name), rows, name, like)
    delayed = import_dask("a block of rows").delayed
    parts = [delayed(matrix[a:b]) for a, b in pairwise(cuts)]
    return RowBlocks(parts, np.diff(cuts).tolist(), matrix.shape[1])


def _blocks_of_collection(
    X: Any, rows: int | None, name: str, like: RowBlocks | None
) -> RowBlocks:
    dask = import_dask("a block of rows")
    array = X.to_dask_array() if is_frame(X) else X
    if not isinstance(array, dask.array.Array):
        raise TypeError(f"{name} must be a Dask array or data frame, got {type(X).__name__}")
    if array.ndim == 2 and np.isnan(np.sum(array.shape)):
        warnings.warn(
            f"{name} is read once to count its rows, since its chunk sizes are unknown; avoid "
            "this with compute_chunk_sizes(), or to_dask_array(lengths=True) for a data frame",
            stacklevel=4,
        )
        array = array.compute_chunk_sizes()
    cuts = _cuts(_matrix_shape(array, name), rows, name, like)
    chunks, sizes = chunks_of(array)
    ends = np.cumsum([0, *sizes])
    parts = [dask.delayed(_rows)(pieces_of(chunks, ends, a, b)) for a, b in pairwise(cuts)]
    return RowBlocks(parts, np.diff(cuts).tolist(), int(array.shape[1]))


def chunks_of(array: Any) -> tuple[list[Any], list[int]]:
    """Delayed chunks of whole rows, and their numbers of rows."""
    array = array.rechunk({1: -1}) if len(array.chunks[1]) > 1 else array
    # optimized tasks of other collections could differ under the same names
    chunks = array.to_delayed(optimize_graph=False).ravel().tolist()
    return chunks, [int(size) for size in array.chunks[0]]


def pieces_of(chunks: list[Any], ends: Any, a: int, b: int) -> list[tuple[Any, int, int]]:
    """The chunks with rows a to b, and the row range of each."""
    first, last = np.searchsorted(ends, a, side="right") - 1, np.searchsorted(ends, b)
    return [
        (chunks[i], max(0, int(a - ends[i])), int(min(b, ends[i + 1]) - ends[i]))
        for i in range(first, last)
        if ends[i + 1] > ends[i]
    ]


def _matrix_shape(matrix: Any, name: str) -> tuple[int, int]:
    if matrix.ndim != 2:
        raise ValueError(f"{name} must be a matrix (n, d), got {matrix.ndim} dimension(s)")
    n, d = (int(size) for size in matrix.shape)
    if n == 0:
        raise ValueError(f"{name} has no rows")
    return n, d


def _cuts(shape: tuple[int, int], rows: int | None, name: str, like: RowBlocks | None) -> Any:
    """Boundaries of blocks: as few as allowed, of about equal size, or those of other blocks."""
    n, d = shape
    if like is not None:
        if n != like.shape[0]:
            raise ValueError(f"X has {like.shape[0]} rows, but {name} has {n}")
        return np.array([*like.starts, n])
    if rows is None:
        rows = max(FEWEST_ROWS, min(MOST_ROWS, MOST_NUMBERS // max(d, 1), -(-n // 4)))
    n_blocks = max(1, -(-n // rows))
    return np.linspace(0, n, n_blocks + 1).astype(int)


def _rows(pieces: list[tuple[Any, int, int]]) -> Any:
    """Concatenate rows of chunks; data frames become arrays."""
    parts = []
    for chunk, start, stop in pieces:
        if sparse.issparse(chunk):
            parts.append(sparse.csr_array(chunk)[start:stop])
        elif np.ma.is_masked(chunk):  # the mask would be lost silently
            raise ValueError("chunks must not have masked entries: fill them first")
        else:
            parts.append(np.asarray(chunk)[start:stop])
    return parts[0] if len(parts) == 1 else stack_rows(parts)
