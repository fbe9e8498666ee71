"""Exact neighbors on Dask, for more points than fit into the memory of one machine.

The points stay in blocks of rows, and blocks form groups. Each pair of groups is a task that finds
the neighbors of both in each other, from products that are computed once. Tasks are scheduled in
waves: the merged results of a wave limit the search radius of later ones. Distances depend only on
the two points, so the result is that of :class:`ExactIndex`, bit for bit, for any blocks.
"""

from __future__ import annotations

import math
from itertools import pairwise
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple, Self
from uuid import uuid4

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from plurilabel._core.base import AllOrNothing
from plurilabel._core.blocks import stack_rows
from plurilabel._core.compat import Interval, StrOptions, validate_parameter_constraints
from plurilabel.distributed import _tiles
from plurilabel.distributed._blocks import (
    Recipe,
    RowBlocks,
    array_of,
    blocks_of,
    import_dask,
    in_a_tree,
    recipes_of,
    workers,
)
from plurilabel.neighbors import ExactIndex
from plurilabel.neighbors.shared import WIDE, how_many, products

CERTIFIED = {"euclidean", "cosine", "manhattan", "chebyshev", "minkowski"}
KEPT = 0.25  # share of a worker's memory above which points are read again instead of kept
MOST_IN_A_GROUP = 16
TILES_EACH = 16  # minimum number of tasks per worker, so that no worker waits long for the last
TILES_IN_A_WAVE = 2  # tasks per worker in a wave
LAG = 2  # waves until results limit the search radius


class SearchCost(NamedTuple):
    """Estimated cost of a training graph: see :meth:`DaskIndex.cost`."""

    tasks: int
    products: float
    read: float
    moved: tuple[float, float]
    memory: float


class DaskIndex(AllOrNothing, BaseEstimator):
    """Nearest neighbors on Dask, equal to those of :class:`ExactIndex` bit for bit.

    Runs on threads or processes of one machine, or on a cluster if there is a client of
    ``dask.distributed``. Needs the extra ``dask``.

    Parameters
    ----------
    metric : {"euclidean", "cosine", "manhattan", "chebyshev", "minkowski"}
        The metrics that :class:`ExactIndex` certifies.
    p : float, default=2
        Power for "minkowski", at least 1.
    rows : int, optional
        Maximum number of points in a block, which does not affect the result; None for at most
        65,536 points or 8 million numbers. A task needs the memory of about four blocks.
    reload : bool, optional
        Whether tasks read blocks again whenever they need them, with at most two blocks per thread
        in memory, instead of keeping all blocks on the cluster. Suitable for points from files,
        but not for points computed by a slow function. By default, if the points can be read
        again and would take more than a quarter of the memory of a worker in float64.
    n_jobs : int, default=1
        Number of threads of a task.
    device : str, default="auto"
        As in :class:`ExactIndex`; each worker uses its own GPU.

    Attributes
    ----------
    n_features_in_ : int
    n_samples_fit_ : int
    blocks_ : RowBlocks
        The training points: delayed blocks and their numbers of rows.

    Examples
    --------
    >>> import dask.array as da
    >>> from plurilabel import DaskIndex
    >>> X = da.from_array([[0.0], [1.0], [1.0], [3.0]], chunks=(3, 1))
    >>> distances, indices = DaskIndex().fit(X).kneighbors(n_neighbors=2)
    >>> indices
    array([[1, 2],
           [2, 0],
           [1, 0],
           [1, 2]])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "metric": [StrOptions(CERTIFIED)],
        "p": [Interval(Real, 1, None, closed="left")],
        "rows": [Interval(Integral, 1, None, closed="left"), None],
        "reload": ["boolean", None],
        "n_jobs": [Integral, None],
        "device": [str],
    }

    n_features_in_: int
    n_samples_fit_: int
    blocks_: RowBlocks

    def __init__(
        self,
        metric: str = "euclidean",
        *,
        p: float = 2,
        rows: int | None = None,
        reload: bool | None = None,
        n_jobs: int | None = 1,
        device: str = "auto",
    ):
        self.metric = metric
        self.p = p
        self.rows = rows
        self.reload = reload
        self.n_jobs = n_jobs
        self.device = device

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Store the training points; nothing is computed yet.

        Parameters
        ----------
        X : Dask array or data frame of shape (n, d), or any X that :class:`ExactIndex` accepts
            With dense or CSR chunks. If chunk sizes are unknown, X is read once to count the rows,
            with a warning.
        y : ignored
        """
        validate_parameter_constraints(
            self._parameter_constraints, self.get_params(deep=False), type(self).__name__
        )
        self.blocks_ = blocks_of(X, self.rows)
        self.n_samples_fit_, self.n_features_in_ = self.blocks_.shape
        return self

    def kneighbors(
        self,
        X: Any = None,
        n_neighbors: int | None = None,
        return_distance: bool = True,
        *,
        compute: bool = True,
    ) -> Any:
        """Find the nearest training points.

        Parameters
        ----------
        X : Dask collection, array or sparse matrix of shape (m, d), optional
            Query points; by default the training points, each without itself.
        n_neighbors : int, optional
            Number of neighbors; 5 by default.
        return_distance : bool, default=True
        compute : bool, default=True
            Whether to compute the result. If False, Dask arrays are returned, with a chunk per
            block, for example to write them to disk.

        Returns
        -------
        distances : array of float64, shape (m, n_neighbors)
            Only if ``return_distance`` is True.
        indices : array of int64, shape (m, n_neighbors)
        """
        check_is_fitted(self)
        k = how_many(n_neighbors, self.n_samples_fit_, own=X is None)
        queries = self.blocks_ if X is None else blocks_of(X, self.rows)
        if queries.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X has {queries.shape[1]} features, but DaskIndex has {self.n_features_in_}"
            )
        if X is None:
            found, sizes = self._among_themselves(k)
        else:
            found, sizes = self._queries(queries, k), queries.sizes
        dask = import_dask("DaskIndex")
        if compute:
            parts = dask.compute(*found)
            both = tuple(np.concatenate(arrays) for arrays in zip(*parts))
        else:
            metas = np.empty((0, k)), np.empty((0, k), dtype=np.int64)
            both = tuple(
                array_of([part[i] for part in found], sizes, meta) for i, meta in enumerate(metas)
            )
        return both if return_distance else both[1]

    def cost(
        self, n_neighbors: int = 5, *, n_workers: int = 1, reload: bool | None = None
    ) -> SearchCost:
        """Estimate the cost of the training graph for dense points in float64.

        Parameters
        ----------
        n_neighbors : int, default=5
        n_workers : int, default=1
            Each with one thread.
        reload : bool, optional
            Whether blocks are read again; by default the parameter of the index, or True.

        Returns
        -------
        SearchCost
            ``tasks``: number of tasks, each of which takes the scheduler up to a millisecond;
            ``products``: number of pairs of points, with d + 2 multiplications each; ``read``:
            bytes read from files; ``moved``: minimum and maximum number of bytes sent between
            workers, depending on the scheduler; ``memory``: bytes of the arrays of a worker,
            without Python and its libraries (150 to 250 MB).

        Notes
        -----
        With n points in m blocks of r rows and g groups, d features, k neighbors, w workers, t
        pairs of groups, and lists of L = 16 k n / g bytes per group:

        - products: n² / 2 + 1024 n
        - read: 4 d n (m + g), or 8 d n if blocks are kept
        - moved: lists, at least t L (w - 1) / w and at most what merges need, and t L / k for
          limits; if blocks are kept, also at least w (p + 1) - m blocks, where p is the number of
          pairs per worker, and at most (w - 1) m
        - memory: 32 r d for two blocks and their copies, 8 d min(r, 512) up to 32 MB for one side
          of a product, 2 L for lists, and 100 r k + 4 MB for candidates, or 3072 d with up to 8192
          features; 10 r d more for blocks with many ties. Waiting lists take 16 k n / w, plus
          those of the last two waves. If blocks are kept, up to 8 n d

        Examples
        --------
        >>> import dask.array as da
        >>> from plurilabel import DaskIndex
        >>> index = DaskIndex().fit(da.zeros((1_000_000, 64), chunks=(50_000, -1)))
        >>> cost = index.cost(10, n_workers=4)
        >>> f"{cost.products:.2g} products, {cost.memory / 2**20:.0f} MB"
        '5e+11 products, 400 MB'
        """
        check_is_fitted(self)
        sizes, d, k, w = self.blocks_.sizes, self.n_features_in_, n_neighbors, n_workers
        n, m, r = sum(sizes), len(sizes), max(sizes)
        again = self.reload is not False if reload is None else reload
        g = len(group_cuts(m, w)) - 1 if again else m
        rounds = waves(g, TILES_IN_A_WAVE * w)
        tiles, L = g * (g - 1) // 2, 16 * k * n / g
        within = sum(
            size**2 if size <= products.DIRECT_BELOW else size * (size / 2 + products.SAMPLE)
            for size in sizes
        )
        between = (n**2 - sum(size**2 for size in sizes)) / 2
        # a merge takes its state and two lists per step of the wave, and runs where most are
        merged = [1 + 2 * len(wave) / g for wave in rounds]
        least = tiles * L * (w - 1) / w
        most = sum(g * L * max(0, inputs - math.ceil(inputs / w)) for inputs in merged)
        most += tiles * L / k * (w - 1) / w  # search radii
        widest = max(map(len, rounds), default=0)
        memory = 2 * L + 32 * r * d
        memory += min(8 * d * min(r, products.BLOCK), products.COPIED)
        memory += max(100 * k * r + (4 << 20), 3072 * d if d <= WIDE else 0)
        memory += (16 * k * n + 2 * 2 * L * widest) / w
        read = 4 * d * n * (m + g)
        if not again:
            block = 8 * d * n / m
            least += block * max(0, w * min(m, tiles / w + 1) - m)
            most += block * min((w - 1) * m, 2 * tiles)
            memory += min(m, 2 * tiles / w) * block
            read = 8 * d * n
        tasks = g + 3 * tiles + 2 * g * (len(rounds) + 1)
        return SearchCost(tasks, within + between, read=read, moved=(least, most), memory=memory)

    def gather(self) -> ExactIndex:
        """An :class:`ExactIndex` with all training points, in this process."""
        check_is_fitted(self)
        dask = import_dask("DaskIndex")
        return self._index().fit(stack_rows(dask.compute(*self.blocks_.parts)))

    def _index(self) -> ExactIndex:
        return ExactIndex(self.metric, p=self.p, n_jobs=self.n_jobs, device=self.device)

    def _among_themselves(self, k: int) -> tuple[list[Any], list[int]]:
        """Neighbors of all points without themselves: delayed lists, and their sizes."""
        delayed = import_dask("DaskIndex").delayed
        index, groups, sizes = self._index(), *self._groups()
        tasks = (_tiles.among_themselves, _tiles.limits, _tiles.merged)
        alone, limits, merge = map(delayed, tasks)
        tile = delayed(_tiles.across, nout=2)
        found = [alone(index, group, k) for group in groups]
        # upper bounds for the distance of the k-th neighbor, which limit further searches
        far = [[limits(lists) for lists in found]]
        for wave in waves(len(groups), TILES_IN_A_WAVE * workers()[0]):
            known, lists = far[max(0, len(far) - LAG)], [[state] for state in found]
            for i, j in wave:
                first, second = tile(index, (groups[i], groups[j]), (known[i], known[j]), k)
                lists[i].append(first)
                lists[j].append(second)
            found = [in_a_tree(lambda some: merge(some, k), some) for some in lists]
            far.append([limits(state) for state in found])
        return found, sizes

    def _queries(self, queries: RowBlocks, k: int) -> list[Any]:
        delayed = import_dask("DaskIndex").delayed
        index, groups, _ = self._index(), *self._groups()
        of_group, of_block, merge = map(
            delayed, (_tiles.asked, _tiles.asked_fitted, _tiles.merged)
        )
        again = self._again(self.blocks_) is not None
        recipes = recipes_of(queries.parts) if again else None
        if again:
            search = [lambda Q, group=group: of_group(index, group, Q, k) for group in groups]
        else:  # each block is prepared once
            ready = [(delayed(_tiles.fitted)(index, group[0]), group[0][1]) for group in groups]
            search = [lambda Q, of=of: of_block(*of, Q, k) for of in ready]
        return [
            in_a_tree(lambda some: merge(some, k), [find(Q) for find in search])
            for Q in queries.spans(recipes)
        ]

    def _groups(self) -> tuple[list[Any], list[int]]:
        """Groups of blocks for the tasks, and their numbers of points."""
        dask, sizes = import_dask("DaskIndex"), self.blocks_.sizes
        recipes = self._again(self.blocks_)
        if recipes is None:  # Dask keeps the blocks: two per task are enough
            return [[block] for block in self.blocks_.spans()], sizes
        blocks, cuts = self.blocks_.spans(recipes), group_cuts(len(sizes), workers()[0])
        groups = [
            dask.delayed(blocks[a:b], name=f"blocks-{uuid4().hex}", traverse=False)
            for a, b in pairwise(cuts)
        ]
        return groups, [sum(sizes[a:b]) for a, b in pairwise(cuts)]

    def _again(self, blocks: RowBlocks) -> list[Recipe] | None:
        """How to read blocks again; None if they are kept."""
        n, d = blocks.shape
        if self.reload is False or (self.reload is None and 8 * n * d < KEPT * workers()[1]):
            return None
        recipes = recipes_of(blocks.parts)
        if recipes is None and self.reload:
            raise ValueError("reload=True is for points from files, but these are in memory")
        return recipes

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def group_cuts(n_blocks: int, n_workers: int) -> list[int]:
    """Boundaries of groups of blocks, enough to occupy all workers."""
    enough = 1 + math.ceil(math.sqrt(2 * TILES_EACH * n_workers))
    n_groups = min(n_blocks, max(enough, -(-n_blocks // MOST_IN_A_GROUP)))
    return np.linspace(0, n_blocks, n_groups + 1).astype(int).tolist()


def waves(n_groups: int, at_least: int) -> list[list[tuple[int, int]]]:
    """All pairs of groups in waves, in which each group has about equally many pairs.

    Examples
    --------
    >>> waves(4, 1)
    [[(0, 1), (1, 2), (2, 3), (3, 0)], [(0, 2), (1, 3)]]
    >>> len(waves(100, 1)), len(waves(100, 2000))
    (50, 3)
    """
    steps = [
        [(i, (i + step) % n_groups) for i in range(n_groups if 2 * step < n_groups else step)]
        for step in range(1, n_groups // 2 + 1)
    ]
    together = max(1, -(-at_least // n_groups))
    return [
        [pair for step in steps[i : i + together] for pair in step]
        for i in range(0, len(steps), together)
    ]
