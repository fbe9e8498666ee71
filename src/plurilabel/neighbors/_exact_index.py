"""The default index: exact with every engine and on every device."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from functools import cache, cached_property, partial
from numbers import Integral, Real
from threading import Lock
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.metrics import pairwise_distances
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from plurilabel._core.base import AllOrNothing, validate_features
from plurilabel._core.blocks import on_host, own, rows_without, stack_rows
from plurilabel._core.compat import BOOLEAN_METRICS, Interval, check_params
from plurilabel._core.fitted import Declared, check_fitted, count, numbers
from plurilabel.neighbors._blocks import Blocks, Whole, WholeBlocks
from plurilabel.neighbors._distance import Formula, Neighbors, Points
from plurilabel.neighbors._engines import AllPairs, Brute, Engine, Run, Tree, threads

_ONE_BUILDS = Lock()
GAINS_ABOVE = 2e11  # n * n * d from which a GPU gains more than its start costs
DENSE_UP_TO = 65_536  # features up to which a GPU is faster for sparse points made dense


@cache
def has_driver() -> bool:
    """Whether a GPU driver is installed; importing torch to find out takes seconds."""
    try:
        ctypes.CDLL("nvcuda.dll" if os.name == "nt" else "libcuda.so.1")
    except OSError:
        return os.path.exists("/dev/kfd")  # the driver of AMD
    return True


def _has_features(index: ExactIndex) -> bool:
    if index.metric == "precomputed":
        raise AttributeError("partial_fit and remove need features, got metric='precomputed'")
    return True


@dataclass(eq=False, repr=False)
class ExactIndex(AllOrNothing, BaseEstimator):
    """Exact nearest neighbours, the same everywhere.

    Returns the true k nearest points by float64 distance, ties in the order of the index. The
    result does not depend on the algorithm, the device, the number of threads, or on whether the
    same values are stored as float32, float64 or sparse: distances equal those of a plain loop
    over the features, bit for bit. Faster, rounded arithmetic only proposes candidates, and rows
    that its error bound leaves uncertain are searched again.

    Parameters
    ----------
    metric : str or callable, default="euclidean"
        "euclidean", "cosine", "manhattan", "chebyshev" and "minkowski" are certified as above.
        Any other metric is computed by :func:`sklearn.metrics.pairwise_distances`, with ties in
        the order of the index; metrics of sets ("jaccard", "dice", ...) treat every value except 0
        as present. With "precomputed", X holds distances: (n, n) in ``fit``, (m, n) in
        ``kneighbors``.
    p : float, default=2
        Power for "minkowski", at least 1. Powers other than 1, 2 and infinity use ``numpy.power``,
        whose last bit depends on the processor.
    metric_params : dict, optional
        Further arguments of the metric; scikit-learn then computes the distances.
    n_jobs : int, optional
        Number of threads; None for as many as BLAS uses, -1 for one per processor.
    algorithm : {"auto", "blocks", "tree", "brute"}, default="auto"
        "blocks" multiplies matrices (Euclidean and cosine), "tree" is a k-d tree (dense X),
        "brute" compares all pairs directly, "auto" takes the fastest.
    device : str, default="auto"
        Where "blocks" multiplies: "cpu", "cuda" for all GPUs of this machine, or one GPU such as
        "cuda:1". "auto" uses a GPU if torch finds one and there are enough points. Sparse points
        are made dense there; those with more than 65,536 features, and other metrics, stay on the
        CPU.
    device_memory : int, optional
        Bytes of GPU memory to use, at least about half a GiB; None for 60% of the free memory.
        Points that do not fit are sent in blocks. Tensors that are already there do not count.

    Attributes
    ----------
    n_features_in_ : int
    n_samples_fit_ : int
        Number of training points.
    points_ : ndarray or csr_array of shape (n, d)
        A copy of the training points; for a tensor on a GPU, made on first access.
    device_ : str
        Where the search runs: "cpu", or the (first) GPU, such as "cuda:0".

    Notes
    -----
    Cosine distance is half the squared Euclidean distance of the rows scaled to length one. A row
    of zeros has distance 1 from every row.

    Undefined distances are NaN and farther than any other: "correlation" of a row whose values are
    all equal, "dice" of two rows of zeros, "nan_euclidean" of rows that share no known value.
    ``kneighbors`` raises an error for a row with fewer than ``n_neighbors`` defined distances.

    In addition to X, memory holds a copy of X and one in float32 (float64 if float32 cannot tell
    neighbours apart); ``kneighbors`` adds another one, some megabytes per thread, and about
    ``20 * m * k`` bytes for m rows. Nothing has the size (m, n).

    Examples
    --------
    >>> from plurilabel import ExactIndex
    >>> index = ExactIndex().fit([[0.0], [1.0], [1.0], [3.0]])
    >>> distances, indices = index.kneighbors(n_neighbors=2)  # the points among themselves
    >>> indices
    array([[1, 2],
           [2, 0],
           [1, 0],
           [1, 2]])
    >>> index.kneighbors([[2.0]], n_neighbors=3, return_distance=False)
    array([[1, 2, 3]])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "p": [Interval(Real, 1, None, closed="left")],
        "metric_params": [dict, None],
        "device_memory": [Interval(Integral, 1 << 20, None, closed="left"), None],
    }
    _fitted: ClassVar[Declared] = {
        "n_features_in_": count(),
        "n_samples_fit_": count(),
        "points_": numbers("n_samples_fit_", "n_features_in_", finite=False),
    }

    metric: str | Callable[..., float] = "euclidean"
    _: KW_ONLY
    p: float = 2
    metric_params: dict[str, Any] | None = None
    n_jobs: int | None = None
    algorithm: Literal["auto", "blocks", "tree", "brute"] = "auto"
    device: str = "auto"
    device_memory: int | None = None

    def fit(self, X: ArrayLike, y: Any = None) -> Self:  # noqa: ARG002
        """Store the training points and prepare the search.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d); (n, n) distances if precomputed
            A tensor on a GPU, of torch or any library with ``__dlpack__``, is searched there by
            Euclidean or cosine distance; other tensors are copied to main memory first.
        y : ignored
        """
        check_params(self)
        if (there := self._on_a_gpu(X, reset=True)) is not None:
            formula = Formula.of(self.metric, self.p)
            engine = None if formula is None else self._device_engine(formula, there)
            if engine is not None:
                self.__dict__.pop("points_", None)
                self._built, self._there, self.n_samples_fit_ = engine, there, len(there)
                return self
        points = validate_points(self, X, reset=True)
        if self.metric == "precomputed" and points.shape[0] != points.shape[1]:
            raise ValueError(
                "X must be a square matrix of distances for metric='precomputed', got shape "
                f"{points.shape}"
            )
        points = own(points, X)
        return self._take(points, self._new_engine(points))

    @available_if(_has_features)
    def partial_fit(self, X: ArrayLike, y: Any = None) -> Self:
        """Add training points after the existing ones; the first call is ``fit``.

        The result is that of ``fit`` on all points, without most of its work.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_new, d)
        y : ignored
        """
        if not hasattr(self, "points_"):
            return self.fit(X, y)
        new = validate_points(self, X, reset=False)
        points = stack_rows([self.points_, new])
        new = points[self.n_samples_fit_ :]  # dense or sparse, as the others are
        return self._take(points, self._engine.grown(points, new))

    @available_if(_has_features)
    def remove(self, indices: ArrayLike) -> Self:
        """Remove training points by index; the remaining points are renumbered.

        Parameters
        ----------
        indices : array-like of int
        """
        check_is_fitted(self)
        stay = rows_without(n := self.n_samples_fit_, indices)
        if not len(stay):
            raise ValueError(f"indices must leave at least one of the {n} training instances")
        points = self.points_[stay]
        return self._take(points, self._engine.reduced(points, stay))

    def _take(self, points: Points, engine: Engine | None = None) -> Self:
        self._built = engine or self._new_engine(points)
        self.points_, self.n_samples_fit_ = points, points.shape[0]
        self.__dict__.pop("_there", None)
        return self

    @cached_property
    def points_(self) -> Any:
        """The training points; those of a tensor on a GPU are copied on first access."""
        if "_there" not in self.__dict__:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute 'points_'")
        return on_host(self._there)

    @property
    def _engine(self) -> Engine:
        """The engine, built by ``fit`` or by the first search after loading."""
        if "_built" not in self.__dict__:
            check_is_fitted(self)
            with _ONE_BUILDS:  # ``kneighbors`` may be called from several threads
                if "_built" not in self.__dict__:
                    self._built = self._new_engine(self.points_)
        return self._built

    def _new_engine(self, points: Points) -> Engine:
        formula = None if self.metric_params else Formula.of(self.metric, self.p)
        if formula is not None:
            prepared = formula.prepare(points)
            on_device = self._device_engine(formula, prepared)
            return on_device or choose_engine(self.algorithm, formula, prepared)
        if self.metric == "precomputed":
            return AllPairs(None, points, lambda distances, _: distances)
        table = partial(pairwise_distances, metric=self.metric, **(self.metric_params or {}))
        if self.metric in BOOLEAN_METRICS:  # scikit-learn would convert as well, with a warning
            return AllPairs(None, points, lambda A, B: table(A != 0, B != 0))
        return AllPairs(None, points, table)

    @property
    def device_(self) -> str:
        """Where the search runs, the first if there are several."""
        return str(getattr(self._engine, "where", ["cpu"])[0])

    def _on_a_gpu(self, X: Any, *, reset: bool) -> Any:
        """X as a validated torch tensor if it is on a GPU and can be searched there, else None."""
        # Invalid X also gives None: validation in main memory then raises the error.
        if isinstance(X, np.ndarray) or not hasattr(X, "__dlpack_device__"):
            return None
        known = self.metric in ("euclidean", "cosine") and not self.metric_params
        if not known or self.device == "cpu" or self.algorithm not in ("auto", "blocks"):
            return None
        try:
            import torch
        except ImportError:
            return None
        from plurilabel.neighbors._gpu.engine import checked

        tensor = checked(X.detach() if isinstance(X, torch.Tensor) else torch.from_dlpack(X))
        if tensor is not None:
            validate_data(self, tensor, reset=reset, skip_check_array=True)
        return tensor

    def _takes_gpu(self, formula: Formula, points: Any) -> bool:
        if self.device == "cpu" or self.algorithm not in ("auto", "blocks"):
            return False
        n, d = points.shape
        if formula.p != 2 or (sparse.issparse(points) and d > DENSE_UP_TO):
            return False
        if self.device == "auto" and n * n * d < GAINS_ABOVE:
            return False
        if self.device == "auto" and "torch" not in sys.modules and not has_driver():
            return False
        try:
            import torch
        except ImportError:
            if self.device == "auto":
                return False
            message = f"device={self.device!r} needs torch: pip install 'plurilabel[torch]'"
            raise ImportError(message) from None
        return self.device != "auto" or torch.cuda.is_available()

    def _device_engine(self, formula: Formula, points: Any) -> Engine | None:
        """The engine on a GPU, if there is to be one."""
        if not self._takes_gpu(formula, points):
            return None
        import torch

        from plurilabel.neighbors._gpu.engine import GpuEngine, devices, unit_rows

        where = devices("cuda" if self.device == "auto" else self.device)
        if formula.cosine and isinstance(points, torch.Tensor):
            points = unit_rows(points)
        engine = GpuEngine(formula, points, where, self.device_memory)
        # sending blocks for each search would make single queries slow
        blocks = sparse.issparse(points) and engine.kept is None
        return None if self.device == "auto" and blocks else engine

    def __copy__(self) -> Self:
        # points and engine are replaced, never modified: a copy that grows leaves this index alone
        other = type(self)(**self.get_params(deep=False))
        other.__dict__.update(self.__dict__)
        return other

    def __getstate__(self) -> dict[str, Any]:
        # without the engine, which takes as much memory as the points and is rebuilt when needed
        state = super().__getstate__()
        if "_there" in state:
            state["points_"] = self.points_
        return {name: v for name, v in state.items() if name not in ("_built", "_there")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if hasattr(self, "points_"):
            check_fitted(self)  # engines run compiled code on what may be a malicious file

    def kneighbors(
        self,
        X: ArrayLike | None = None,
        n_neighbors: int | None = None,
        return_distance: bool = True,
        *,
        as_tensors: bool = False,
    ) -> Any:
        """Find the nearest training points.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (m, d), optional
            Query points. None for the training points, each of which is excluded from its own
            neighbours; duplicates of it are not.
        n_neighbors : int, optional
            Number of neighbours; None for 5.
        return_distance : bool, default=True
        as_tensors : bool, default=False
            Return torch tensors on the GPU instead of arrays.

        Returns
        -------
        distances : ndarray of float64, shape (m, n_neighbors)
            Ascending; only with ``return_distance``.
        indices : ndarray of int64, shape (m, n_neighbors)
        """
        on_device = getattr(self._engine, "on_device", None)
        k = how_many(n_neighbors, self.n_samples_fit_, own=X is None)
        if as_tensors and on_device is None:
            raise ValueError("as_tensors needs a search on a GPU, but device_ is 'cpu'")
        if on_device is not None:
            distances, indices = on_device(self._as_asked_there(X), k)
            if not as_tensors:
                distances, indices = distances.cpu().numpy(), indices.cpu().numpy()
            return (distances, indices) if return_distance else indices
        Q = None if X is None else validate_points(self, X, reset=False)
        with threads(self.n_jobs) as run:
            search = self._engine.neighbors if Q is None else self._search
            distances, indices = search(Q, k, run)
        if self._engine.formula is None and (bad := np.isnan(distances[:, -1])).any():
            row, whose = int(np.argmax(bad)), "X" if X is not None else "the training points"
            defined = int((~np.isnan(distances[row])).sum())
            metric, n = getattr(self.metric, "__name__", self.metric), self.n_samples_fit_
            raise ValueError(
                f"metric {metric!r} is NaN between row {row} of {whose} and all but {defined} of "
                f"the {n} training instances: too few are left for n_neighbors={k}"
            )
        return (distances, indices) if return_distance else indices

    def _search(self, Q: Points, k: int, run: Run) -> Neighbors:
        if not isinstance(self.points_, np.ndarray):
            Q = sparse.csr_array(Q)
        elif not isinstance(Q, np.ndarray):
            # make queries dense like the training points, some rows at a time
            parts = (Q[i : i + 1024].toarray() for i in range(0, Q.shape[0], 1024))
            found = [self._search(part, k, run) for part in parts]
            return np.vstack([d for d, _ in found]), np.vstack([i for _, i in found])
        return self._engine.neighbors(self._as_asked(Q), k, run)

    def _as_asked(self, Q: Points) -> Points:
        return Q if (formula := self._engine.formula) is None else formula.prepare(Q)

    def _as_asked_there(self, X: Any) -> Any:
        """Queries as the GPU engine needs them: a tensor, an array, or CSR."""
        if X is None:
            return None
        if (there := self._on_a_gpu(X, reset=False)) is None:
            return self._as_asked(validate_points(self, X, reset=False))
        if self.metric != "cosine":
            return there
        from plurilabel.neighbors._gpu.engine import unit_rows

        return unit_rows(there)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.metric != "precomputed"
        tags.input_tags.pairwise = self.metric == "precomputed"
        return tags


def choose_engine(algorithm: str, formula: Formula, X: Any) -> Engine:
    """The named engine for these (prepared) points, or the fastest for "auto"."""
    if algorithm == "tree" and not isinstance(X, np.ndarray):
        raise ValueError("algorithm='tree' needs dense X, got a sparse matrix")
    if algorithm == "blocks" and formula.p != 2:
        what = "algorithm='blocks' is for the Euclidean and cosine distance"
        raise ValueError(f"{what}, got p={formula.p:g}")
    chosen = _fastest(formula, X) if algorithm == "auto" else algorithm
    if chosen == "tree":
        return Tree(formula, X)
    if chosen == "blocks":
        whole = None if formula.cosine else Whole.for_points(X)
        return Blocks(formula, X) if whole is None else WholeBlocks(X, whole)
    direct = isinstance(X, np.ndarray) or formula.p == 1
    return Brute(formula, X) if direct else AllPairs(formula, X, formula.table)


def are_multiplied(formula: Formula, X: Points) -> bool:
    """Whether "auto" uses :class:`Blocks` for these (prepared) points."""
    return _fastest(formula, X) == "blocks" and (formula.cosine or Whole.for_points(X) is None)


def _fastest(formula: Formula, X: Points) -> str:
    """The fastest engine, measured on normal data."""
    # for a k-d tree, more features need more points, and many duplicates slow it down
    (n, d), squares = X.shape, formula.p == 2
    enough = np.log(n / 150) >= d * np.log(2.25) if squares else n >= 1000 and d <= 10
    if enough and isinstance(X, np.ndarray):
        some = X[np.linspace(0, n - 1, min(n, 1000)).astype(int)]
        if len(np.unique(some, axis=0)) > len(some) / 2:
            return "tree"
    return "blocks" if squares else "brute"


def how_many(n_neighbors: int | None, n: int, *, own: bool) -> int:
    """Validate the number of neighbours among n points, which are the queries if ``own``."""
    k = 5 if n_neighbors is None else n_neighbors
    if not isinstance(k, int | np.integer) or isinstance(k, bool):
        raise TypeError(f"n_neighbors must be an integer, got {k!r}")
    if k < 1:
        raise ValueError(f"n_neighbors must be at least 1, got {k}")
    if k > n - own:
        limit = "smaller than" if own else "at most"
        raise ValueError(f"n_neighbors must be {limit} the {n} training instances, got {k}")
    return int(k)


def validate_points(index: Any, X: Any, *, reset: bool) -> Points:
    """Validated points: floats in C order, or canonical CSR with 32-bit indices if possible."""
    form = {
        "accept_sparse": False if index.metric == "precomputed" else "csr",
        "ensure_all_finite": "allow-nan" if index.metric == "nan_euclidean" else True,
    }
    checked = validate_features(index, X, reset=reset, order="C", **form)
    return sparse.csr_array(checked) if sparse.issparse(checked) else checked
