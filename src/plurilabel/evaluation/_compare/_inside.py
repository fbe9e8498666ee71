"""What is inside a learner: the parts that take a seed, and those that search neighbours."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from plurilabel.evaluation._compare._shared_index import SearchCache, SharedIndex
from plurilabel.learners import parts_of
from plurilabel.learners.lazy import LazyClassifier, MLkNNCV


def is_searching(learner: Any) -> bool:
    """Whether there is a lazy learner inside whose searches can be shared."""
    return bool(_lazy_parts(learner))


def share_searches(learner: Any, cache: SearchCache) -> None:
    """Let the lazy learners inside search through the cache."""
    for part in _lazy_parts(learner):
        part.index = SharedIndex(cache, part.metric, part.n_jobs)


def most_neighbors(learner: Any) -> dict[Any, int]:
    """By metric: the largest number of neighbours that the lazy learners inside will ask for."""
    most: dict[Any, int] = {}
    candidates = [k for name, ks in _candidates(learner) if name == "n_neighbors" for k in ks]
    for part in _lazy_parts(learner):
        own = part.n_neighbors
        ks = list(own) if isinstance(own, Sequence) else [own]
        # to leave an instance out, its neighbours' next neighbour moves up
        more = isinstance(part, MLkNNCV) and part.leave_out == "instance"
        k = max([0, *(k for k in [*ks, *candidates] if isinstance(k, int))]) + more
        most[part.metric] = max(most.get(part.metric, 0), k)
    return most


def _lazy_parts(learner: Any) -> list[Any]:
    """The lazy learners inside whose search is certain to be the usual one.

    A learner inside a class that we do not know, or inside a search over metrics, is left alone:
    its metric may change after its index has been replaced.
    """
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
    """Parameters that a search inside will set: the last part of each name, and its values."""
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
