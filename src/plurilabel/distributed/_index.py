"""Exact neighbours of more points than one machine holds, on Dask.

The points stay in blocks of rows, and blocks in groups. Each pair of groups is one task that finds
the neighbours of both in each other, from products that are computed once. The tasks come in
waves: the merged results of a wave limit how far a later one searches. Canonical distances depend
only on the two points, so the result is that of :class:`ExactIndex`, bit for bit, whatever the
blocks and the number of workers.
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
from plurilabel.distributed._tiles import (
    across,
    among_themselves,
    asked,
    asked_fitted,
    fitted,
    merged,
)
from plurilabel.neighbors import ExactIndex
from plurilabel.neighbors.shared import WIDE, how_many, products

CERTIFIED = {"euclidean", "cosine", "manhattan", "chebyshev", "minkowski"}
KEPT = 0.25
"""Share of a worker's memory above which points are read again instead of kept."""
MOST_IN_A_GROUP = 16
TILES_EACH = 16
"""Tasks for each worker, at least, so that no worker waits long for the last."""
TILES_IN_A_WAVE = 2
"""Tasks for each worker in a wave; they limit how far the wave after the next searches."""
LAG = 2


class SearchCost(NamedTuple):
    """Cost of a training graph, by formula: see :meth:`DaskIndex.cost`."""

    tasks: int
    products: float
    read: float
    moved: tuple[float, float]
    memory: float


class DaskIndex(AllOrNothing, BaseEstimator):
    """Nearest neighbours on Dask: the result of :class:`ExactIndex` on all points, bit for bit.

    Works on threads or processes of one machine, and on a cluster if there is a client of
    ``dask.distributed``. Needs the extra ``dask``.

    Parameters
    ----------
    metric : {"euclidean", "cosine", "manhattan", "chebyshev", "minkowski"}
        The metrics that :class:`ExactIndex` certifies.
    p : float, default=2
        Power for "minkowski", at least 1.
    rows : int, optional
        Points in a block; None for at most 65,536 or 8 million numbers. The result does not depend
        on it. A task holds two blocks and about as much again.
    reload : bool, optional
        Whether tasks read blocks again whenever they need them, with at most two of them in the
        memory of a worker for each of its threads, instead of keeping all blocks on the cluster.
        That is for points from files; write points that a slow function computes to files first.
        None: if the points can be read again, and would take more than a quarter of the memory of
        a worker in float64.
    n_jobs : int, default=1
        Threads of a task.
    device : str, default="auto"
        As in :class:`ExactIndex`: each worker uses its GPU if it has one.

    Attributes
    ----------
    n_features_in_ : int
    n_samples_fit_ : int
    blocks_ : RowBlocks
        The training points: delayed blocks, and how many rows each of them has.

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
        """Take the training points; nothing is computed yet.

        Parameters
        ----------
        X : Dask array or data frame of shape (n, d), or any X that :class:`ExactIndex` takes
            Chunks are dense or CSR. If their numbers of rows are unknown, X is read once to count
            them, with a warning.
        y : ignored

        Returns
        -------
        self
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
            Points to search for. None for the training points, each without itself.
        n_neighbors : int, optional
            Number of neighbours; None for 5.
        return_distance : bool, default=True
        compute : bool, default=True
            Whether to compute the result. If False, Dask arrays are returned, with a chunk for
            each block: they can be written to disk, or used further on the cluster.

        Returns
        -------
        distances : array of float64, shape (m, n_neighbors)
            Only with ``return_distance``.
        indices : array of int64, shape (m, n_neighbors)
        """
        check_is_fitted(self)
        k = how_many(n_neighbors, self.n_samples_fit_, own=X is None)
        queries = self.blocks_ if X is None else blocks_of(X, self.rows)
        if queries.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X has {queries.shape[1]} features, but DaskIndex was fitted on "
                f"{self.n_features_in_}"
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
        """Estimate the cost of the training graph of dense points in float64.

        Parameters
        ----------
        n_neighbors : int, default=5
        n_workers : int, default=1
            With one thread each.
        reload : bool, optional
            Whether blocks are read again; None for the parameter of the index, or True.

        Returns
        -------
        SearchCost
            ``tasks``: of the graph of tasks, to be multiplied by a millisecond or less of the
            scheduler; ``products``: pairs of points that are multiplied, of d + 2 multiplications
            each; ``read``: bytes from files; ``moved``: bytes between workers, the least and the
            most, since it is the scheduler that decides where tasks run; ``memory``: bytes of the
            arrays of a worker, beside Python and its libraries (150 to 250 MB).

        Notes
        -----
        With n points in m blocks of r rows, in g groups, d features, k neighbours, w workers, t
        pairs of groups, and lists L = 16 k n / g of a group:

        - products n² / 2 + 1024 n
        - read 4 d n (m + g), or 8 d n if blocks are kept
        - moved, of lists: at least t L (w - 1) / w, at most what merges need, less the share that
          some worker must have, and t L / k for limits. If blocks are kept, they move to each
          worker that meets them: at least w (p + 1) - m of them, if the p pairs of a worker share
          as many as possible, at most (w - 1) m
        - memory of a task 32 r d for two blocks and their copies, 8 d times 512 rows, or r if that
          is less, but no more than 32 MB, for one side of a product, then 2 L for lists and
          100 r k + 4 MB, or 3072 d with up to 8192 features, for candidates; blocks with many ties
          take 10 r d more. Lists that wait take 16 k n / w for each worker, and those of the
          last two waves. If blocks are kept, a worker may have all of them in the end: 8 n d

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
        # a merge has its state and two lists for each step of the wave; it runs where most are
        merged = [1 + 2 * len(wave) / g for wave in rounds]
        least = tiles * L * (w - 1) / w
        most = sum(g * L * max(0, inputs - math.ceil(inputs / w)) for inputs in merged)
        most += tiles * L / k * (w - 1) / w  # how far to look
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
        return SearchCost(
            tasks=g + 3 * tiles + 2 * g * (len(rounds) + 1),
            products=within + between,
            read=read,
            moved=(least, most),
            memory=memory,
        )

    def gather(self) -> ExactIndex:
        """An :class:`ExactIndex` with all training points, in this process."""
        check_is_fitted(self)
        dask = import_dask("DaskIndex")
        return self._index().fit(stack_rows(dask.compute(*self.blocks_.parts)))

    def _index(self) -> ExactIndex:
        return ExactIndex(self.metric, p=self.p, n_jobs=self.n_jobs, device=self.device)

    def _among_themselves(self, k: int) -> tuple[list[Any], list[int]]:
        """Neighbours of all points, without themselves: delayed lists, and the points of each."""
        delayed = import_dask("DaskIndex").delayed
        index, groups, sizes = self._index(), *self._groups()
        alone, limits, merge = (delayed(f) for f in (among_themselves, _tiles.limits, merged))
        tile = delayed(across, nout=2)
        found = [alone(index, group, k) for group in groups]
        # how far the k-th neighbour is at most: other groups need not look beyond
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
        of_group, of_block, merge = (delayed(f) for f in (asked, asked_fitted, merged))
        again = self._again(self.blocks_) is not None
        recipes = recipes_of(queries.parts) if again else None
        if again:
            search = [lambda Q, group=group: of_group(index, group, Q, k) for group in groups]
        else:  # each block is prepared once
            ready = [(delayed(fitted)(index, group[0]), group[0][1]) for group in groups]
            search = [lambda Q, of=of: of_block(*of, Q, k) for of in ready]
        return [
            in_a_tree(lambda some: merge(some, k), [find(Q) for find in search])
            for Q in queries.spans(recipes)
        ]

    def _groups(self) -> tuple[list[Any], list[int]]:
        """Groups of blocks as tasks take them, and the number of points of each."""
        dask, sizes = import_dask("DaskIndex"), self.blocks_.sizes
        recipes = self._again(self.blocks_)
        if recipes is None:  # tasks depend on blocks, which Dask keeps: two are enough
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
            problem = "reload=True needs points that can be read again, such as from files"
            raise ValueError(f"{problem}, but these are in memory")
        return recipes

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def group_cuts(n_blocks: int, n_workers: int) -> list[int]:
    """Where groups of blocks begin, and the end: enough of them to occupy all workers.

    Examples
    --------
    >>> group_cuts(20, 2)
    [0, 2, 4, 6, 8, 11, 13, 15, 17, 20]
    """
    enough = 1 + math.ceil(math.sqrt(2 * TILES_EACH * n_workers))
    n_groups = min(n_blocks, max(enough, -(-n_blocks // MOST_IN_A_GROUP)))
    return np.linspace(0, n_blocks, n_groups + 1).astype(int).tolist()


def waves(n_groups: int, at_least: int) -> list[list[tuple[int, int]]]:
    """All pairs of groups, in waves of so many pairs that each group has about as many.

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
