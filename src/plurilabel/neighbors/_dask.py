"""Exact neighbours of more points than one machine holds, on Dask.

The points stay in blocks of rows. Each pair of blocks is one task that finds the neighbours of
both in each other, from products that are computed once; what a block found in all others is
merged in a tree. Canonical distances depend on nothing but the two points, so that neither the
blocks nor the number of workers changes an answer: it is that of :class:`ExactIndex`, bit for bit.
"""

from __future__ import annotations

from itertools import combinations
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from plurilabel._compat import Interval, StrOptions, validate_parameter_constraints
from plurilabel._dask import AT_ONCE, RowBlocks, blocks_of, import_dask, in_a_tree
from plurilabel.base import AllOrNothing
from plurilabel.neighbors._exact import products
from plurilabel.neighbors._exact.blocks import Across, Blocks
from plurilabel.neighbors._exact.certify import threads
from plurilabel.neighbors._exact.distance import Floats, Neighbors, Points
from plurilabel.neighbors._index import ExactIndex, how_many

CERTIFIED = {"euclidean", "cosine", "manhattan", "chebyshev", "minkowski"}


class SearchCost(NamedTuple):
    """What a training graph takes, by formula: see :meth:`DaskIndex.cost`."""

    tasks: int
    products: float
    moved: float
    memory: float


class DaskIndex(AllOrNothing, BaseEstimator):
    """Nearest neighbours on Dask: the answer of :class:`ExactIndex` on all points, bit for bit.

    Works on threads or processes of one machine, and on a cluster if there is a client of
    ``dask.distributed``. Needs the extra ``dask``.

    Parameters
    ----------
    metric : {"euclidean", "cosine", "manhattan", "chebyshev", "minkowski"}
        The metrics that :class:`ExactIndex` certifies.
    p : float, default=2
        Power for "minkowski", at least 1.
    rows : int, optional
        Points in a block; None for at most 65,536 or 8 million numbers. The answer does not
        depend on it. A task holds two blocks and about as much again.
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
    >>> from plurilabel.neighbors import DaskIndex
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
        n_jobs: int | None = 1,
        device: str = "auto",
    ):
        self.metric = metric
        self.p = p
        self.rows = rows
        self.n_jobs = n_jobs
        self.device = device

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Take the training points; nothing is computed yet.

        Parameters
        ----------
        X : Dask array or data frame of shape (n, d), or whatever :class:`ExactIndex` takes
            Chunks are dense, or CSR. If it is not known how many rows they have, they are
            counted, with a warning: for that X is read once.
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
            How many; None for 5.
        return_distance : bool, default=True
        compute : bool, default=True
            Whether to compute the answer. If not, Dask arrays are returned, with a chunk for each
            block: they can be written to disk, or used further on the cluster.

        Returns
        -------
        distances : array of float64, shape (m, n_neighbors)
            Only with ``return_distance``.
        indices : array of int64, shape (m, n_neighbors)
        """
        check_is_fitted(self)
        k = how_many(n_neighbors, self.n_samples_fit_, own=X is None)
        asked = self.blocks_ if X is None else blocks_of(X, self.rows)
        if asked.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X has {asked.shape[1]} features, but DaskIndex was fitted on "
                f"{self.n_features_in_}"
            )
        found = self._among_themselves(k) if X is None else self._queries(asked, k)
        dask = import_dask("DaskIndex")
        if compute:
            parts = dask.compute(*found)
            distances, indices = (np.concatenate(list(arrays)) for arrays in zip(*parts))
            return (distances, indices) if return_distance else indices
        arrays = [
            dask.array.concatenate(
                [
                    dask.array.from_delayed(part[i], (size, k), dtype=kind)
                    for part, size in zip(found, asked.sizes)
                ]
            )
            for i, kind in ((0, np.float64), (1, np.int64))
        ]
        return tuple(arrays) if return_distance else arrays[1]

    def cost(self, n_neighbors: int = 5, *, n_workers: int = 1) -> SearchCost:
        """What the training graph of dense points in float64 takes, without computing it.

        Parameters
        ----------
        n_neighbors : int, default=5
        n_workers : int, default=1
            With one thread each.

        Returns
        -------
        SearchCost
            ``tasks``: of the graph of tasks, to be multiplied by a millisecond or less of the
            scheduler; ``products``: pairs of points that are multiplied, of d + 2 multiplications
            each; ``moved``: bytes between workers, if the scheduler gives a worker pairs that
            share blocks, and each worker fetches a block once (measured with two workers: 0.7 to
            1.5 times that); ``memory``: bytes of the arrays of the largest task,
            its blocks included. Beside it a worker holds Python and its libraries (150 to 250 MB),
            and the blocks and lists that wait, which Dask writes to disk when memory gets short.

        Notes
        -----
        With n points in m blocks of r rows, d features, k neighbours and w workers:
        products n² / 2 + 1024 n; moved 8 r d (w min(m, p + 1) - m) + 16 n k (m - 1) (w - 1) / w,
        where p = m (m - 1) / (2 w) are the pairs of a worker; memory r (72 d + 60 k + 700) and 4
        MB, for products in float32.

        Examples
        --------
        >>> import dask.array as da
        >>> from plurilabel.neighbors import DaskIndex
        >>> index = DaskIndex().fit(da.zeros((1_000_000, 64), chunks=(50_000, -1)))
        >>> cost = index.cost(10, n_workers=4)
        >>> f"{cost.products:.2g} products, {cost.moved / 2**30:.1f} GB"
        '5e+11 products, 3.1 GB'
        """
        check_is_fitted(self)
        sizes, d, k, w = self.blocks_.sizes, self.n_features_in_, n_neighbors, n_workers
        n, m, r = sum(sizes), len(sizes), max(sizes)
        pairs = m * (m - 1) // 2
        within = sum(
            size**2 if size <= products.DIRECT_BELOW else size * (size / 2 + products.SAMPLE)
            for size in sizes
        )
        across = (n**2 - sum(size**2 for size in sizes)) / 2
        lists, merges = m, 0
        while lists > 1:
            lists = -(-lists // AT_ONCE)
            merges += lists
        # p pairs of a worker have p + 1 different blocks, at best
        fetched = min(w * min(m, pairs / w + 1) - m, 2 * pairs)
        return SearchCost(
            tasks=3 * m + 3 * pairs + m * max(merges, 1),
            products=within + across,
            moved=8 * n / m * d * max(fetched, 0) + 16 * n * k * (m - 1) * (w - 1) / w,
            memory=r * (72 * d + 60 * k + 700) + (4 << 20),
        )

    def gather(self) -> ExactIndex:
        """An :class:`ExactIndex` with all training points, in this process."""
        check_is_fitted(self)
        dask = import_dask("DaskIndex")
        parts = dask.compute(*self.blocks_.parts)
        points = sparse.vstack(parts, "csr") if sparse.issparse(parts[0]) else np.vstack(parts)
        return self._index().fit(points)

    def _index(self) -> ExactIndex:
        return ExactIndex(self.metric, p=self.p, n_jobs=self.n_jobs, device=self.device)

    def _among_themselves(self, k: int) -> list[Any]:
        """For each block the lists of its points, without themselves, as delayed tasks."""
        delayed = import_dask("DaskIndex").delayed
        parts, starts, index = self.blocks_.parts, self.blocks_.starts, self._index()
        lists = [[delayed(_within)(index, part, start, k)] for part, start in zip(parts, starts)]
        # how far the k-th neighbour is at most: other blocks need not look beyond
        limits = [delayed(_limits)(of_block[0], k) for of_block in lists]
        pair = delayed(_pair, nout=2)
        for i, j in combinations(range(len(parts)), 2):
            both = (parts[i], parts[j]), (starts[i], starts[j]), (limits[i], limits[j])
            first, second = pair(index, *both, k)
            lists[i].append(first)
            lists[j].append(second)
        merge = delayed(_merged)
        return [in_a_tree(lambda some: merge(some, k), of_block) for of_block in lists]

    def _queries(self, asked: RowBlocks, k: int) -> list[Any]:
        delayed = import_dask("DaskIndex").delayed
        index = self._index()
        fitted = [
            (delayed(_fitted)(index, part, start), start)
            for part, start in zip(self.blocks_.parts, self.blocks_.starts)
        ]
        merge, ask = delayed(_merged), delayed(_asked)
        return [
            in_a_tree(
                lambda some: merge(some, k), [ask(of, part, start, k) for of, start in fitted]
            )
            for part in asked.parts
        ]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


# tasks ----------------------------------------------------------------------------------------


def _within(index: ExactIndex, points: Points, start: int, k: int) -> Neighbors:
    """Neighbours of the points of a block among themselves."""
    fitted = _fitted(index, points, start)
    if fitted.n_samples_fit_ == 1:
        return np.empty((1, 0)), np.empty((1, 0), dtype=np.int64)
    distances, indices = fitted.kneighbors(None, min(k, fitted.n_samples_fit_ - 1))
    return distances, indices + start


def _limits(found: Neighbors, k: int) -> Floats | None:
    """Distances of the k-th of some neighbours; None if there are fewer."""
    return found[0][:, -1].copy() if found[0].shape[1] == k else None


def _pair(
    index: ExactIndex,
    blocks: tuple[Points, Points],
    starts: tuple[int, int],
    limits: tuple[Floats | None, Floats | None],
    k: int,
) -> tuple[Neighbors, Neighbors]:
    """Neighbours of the points of two blocks in the other one, as far as the limits."""
    one, other = (_fitted(index, block, start) for block, start in zip(blocks, starts))
    # whole numbers, few features, GPUs: other engines, which search for one block at a time
    engines = one._engine, other._engine
    by_products = isinstance(engines[0], Blocks) and isinstance(engines[1], Blocks)
    if not by_products or k > min(one.n_samples_fit_, other.n_samples_fit_):
        return _asked(other, blocks[0], starts[1], k), _asked(one, blocks[1], starts[0], k)
    assert engines[0].formula is not None
    far: Floats | None = None
    if limits[0] is not None and limits[1] is not None:
        far = np.concatenate([limits[0], limits[1]])
    both = Across(engines[0].formula, engines[0].X, engines[1].X, far)
    with threads(index.n_jobs) as run:
        of_a, of_b = both.of_each(k, run)
    return (of_a[0], of_a[1] + starts[1]), (of_b[0], of_b[1] + starts[0])


def _fitted(index: ExactIndex, points: Points, start: int) -> ExactIndex:
    try:
        return ExactIndex(**index.get_params()).fit(points)
    except (TypeError, ValueError) as error:  # pandas' NA is a TypeError
        last = start + points.shape[0] - 1
        raise ValueError(f"in rows {start} to {last} of X: {error}") from None


def _asked(index: ExactIndex, Q: Points, start: int, k: int) -> Neighbors:
    distances, indices = index.kneighbors(Q, min(k, index.n_samples_fit_))
    return distances, indices + start


def _merged(lists: list[Neighbors], k: int) -> Neighbors:
    """The first k of several lists, by distance and number."""
    distances = np.hstack([found[0] for found in lists])
    indices = np.hstack([found[1] for found in lists])
    order = np.lexsort((indices, distances))[:, :k]
    return np.take_along_axis(distances, order, axis=1), np.take_along_axis(indices, order, axis=1)
