"""One neighbor search for all learners that would make the same one."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from threading import RLock
from time import perf_counter
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from plurilabel._core.records import digest_of
from plurilabel.learners.lazy import LazyClassifier, MLkNNCV
from plurilabel.learners.shared import parts_of
from plurilabel.neighbors import ExactIndex

Neighbors = tuple[NDArray[np.float64], NDArray[np.int64]]


class SearchCache:
    """Neighbor searches, by the content of their data.

    :class:`ExactIndex` breaks ties by index. So the k nearest neighbors are exactly the first k of
    any longer list, and one search for the largest k serves all learners.

    At most ``most_bytes`` are kept; the least recently used searches are dropped first.
    ``n_neighbors`` holds the k to search for by metric; ``searches`` counts the searches made.
    """

    def __init__(self, most_bytes: int = 2**29, n_neighbors: dict[Any, int] | None = None) -> None:
        self.most_bytes, self.searches = most_bytes, 0
        self.n_neighbors: dict[Any, int] = n_neighbors or {}
        self._kept: OrderedDict[Any, tuple[Any, float, int]] = OrderedDict()
        self._paid: set[Any] = set()
        self._used: dict[Any, float] = {}
        self._lock = RLock()  # learners may search in threads

    def __reduce__(self) -> Any:
        # empty in another process: searching is cheaper than sending
        return SearchCache, (self.most_bytes, self.n_neighbors)

    def begin(self) -> None:
        """Start the account of a new learner."""
        self._paid, self._used = set(), {}

    def unpaid_seconds(self) -> float:
        """Seconds of the searches used since ``begin`` that were made before it."""
        return sum(self._used.values())

    def index(self, metric: Any, n_jobs: int | None, digest: str, X: Any) -> ExactIndex:
        size = X.data.nbytes + X.indices.nbytes if sparse.issparse(X) else X.nbytes
        make = ExactIndex(metric, n_jobs=n_jobs).fit
        with self._lock:
            return self._get((metric, digest), lambda: make(X), int(size))

    def neighbors(
        self, index: ExactIndex, n_jobs: int | None, key: Any, X: Any, k: int
    ) -> Neighbors:
        """The k nearest training points of X, or of the training points themselves."""
        most = index.n_samples_fit_ - (X is None)
        if k > most:
            return index.kneighbors(X, n_neighbors=k)  # raises an error
        wide = max(k, min(self.n_neighbors.get(index.metric, 0), most))
        rows = index.n_samples_fit_ if X is None else X.shape[0]

        def search() -> Any:
            self.searches += 1
            return index.set_params(n_jobs=n_jobs).kneighbors(X, n_neighbors=wide)

        with self._lock:
            kept = self._kept.get(key)
            if kept is not None and kept[0][1].shape[1] < k:
                del self._kept[key]
            distances, indices = self._get(key, search, 16 * rows * wide)
        return distances[:, :k].copy(), indices[:, :k].copy()

    def _get(self, key: Any, make: Callable[[], Any], size: int) -> Any:
        if key in self._kept:
            self._kept.move_to_end(key)
            made, seconds, _ = self._kept[key]
            if key not in self._paid:
                self._used[key] = seconds
            return made
        start = perf_counter()
        made = make()
        self._kept[key] = made, perf_counter() - start, size
        self._paid.add(key)
        while len(self._kept) > 1 and sum(k[2] for k in self._kept.values()) > self.most_bytes:
            self._kept.popitem(last=False)
        return made


@dataclass(eq=False, repr=False)
class SharedIndex(BaseEstimator):
    """An :class:`ExactIndex` that uses a cache, which its clones and copies share."""

    cache: SearchCache
    metric: Any
    n_jobs: int | None = None

    def __sklearn_clone__(self) -> Self:
        return type(self)(self.cache, self.metric, self.n_jobs)

    def __deepcopy__(self, memo: Any) -> Self:
        return self.__sklearn_clone__()

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        self.digest_ = digest_of(X)
        self.index_ = self.cache.index(self.metric, self.n_jobs, self.digest_, X)
        return self

    def kneighbors(self, X: Any = None, n_neighbors: int | None = None) -> Neighbors:
        """Find the nearest training points, as :meth:`ExactIndex.kneighbors` does."""
        check_is_fitted(self)
        k = 5 if n_neighbors is None else n_neighbors
        key = (self.metric, self.digest_, None if X is None else digest_of(X))
        return self.cache.neighbors(self.index_, self.n_jobs, key, X, k)


def is_searching(learner: Any) -> bool:
    """Whether the learner contains a lazy learner whose searches can be shared."""
    return bool(_lazy_parts(learner))


def share_searches(learner: Any, cache: SearchCache) -> None:
    """Let the lazy learners inside a learner search through the cache."""
    for part in _lazy_parts(learner):
        part.index = SharedIndex(cache, part.metric, part.n_jobs)


def most_neighbors(learner: Any) -> dict[Any, int]:
    """Largest number of neighbors that the lazy learners inside need, by metric."""
    most: dict[Any, int] = {}
    candidates = [k for name, ks in _candidates(learner) if name == "n_neighbors" for k in ks]
    for part in _lazy_parts(learner):
        own = part.n_neighbors
        ks = list(own) if isinstance(own, Sequence) else [own]
        # leaving an instance out, the next neighbor moves up
        more = isinstance(part, MLkNNCV) and part.leave_out == "instance"
        k = max([0, *(k for k in [*ks, *candidates] if isinstance(k, int))]) + more
        most[part.metric] = max(most.get(part.metric, 0), k)
    return most


def _lazy_parts(learner: Any) -> list[Any]:
    """The lazy learners inside that are certain to use the default search."""
    # Learners inside unknown classes, or inside a search over metrics, are excluded: their metric
    # may change after the index was replaced.
    if any(name in ("metric", "index") for name, _ in _candidates(learner)):
        return []
    return [
        part
        for part in parts_of(learner, known_only=True)
        if isinstance(part, LazyClassifier | MLkNNCV)
        and part.index is None
        and part.metric != "precomputed"
    ]


def _candidates(value: Any) -> Iterator[tuple[str, list[Any]]]:
    """Parameters set by a search inside: the last part of each name, and the values."""
    if isinstance(value, Mapping):
        for name, entries in value.items():
            listed = isinstance(entries, list | tuple | range)
            yield str(name).rpartition("__")[2], list(entries) if listed else []
    if isinstance(value, list | tuple):
        for entry in value:
            yield from _candidates(entry)
    elif hasattr(value, "get_params") and not isinstance(value, type):
        for inner in value.get_params(deep=False).values():
            yield from _candidates(inner)
