"""What is inside a learner: the parts that take a seed, and those that search neighbours."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from plurilabel.compare._shared_index import SearchCache, SharedIndex
from plurilabel.lazy import LazyClassifier, MLkNNCV


def set_seeds(learner: Any, seed: int) -> None:
    """Set every ``random_state`` that is None, wherever it is inside a learner.

    Those that are set already stay: steps of pipelines, base estimators, candidates of a search
    and its splitter are all visited.

    Parameters
    ----------
    learner : estimator
        Changed in place.
    seed : int

    Examples
    --------
    >>> from plurilabel import MLRandomForest, RAkEL
    >>> from plurilabel.compare import set_seeds
    >>> learner = RAkEL(MLRandomForest(random_state=3))
    >>> set_seeds(learner, 7)
    >>> learner.random_state, learner.estimator.random_state
    (7, 3)
    """
    for part in parts_of(learner):
        if hasattr(part, "get_params"):
            if part.get_params(deep=False).get("random_state", seed) is None:
                part.set_params(random_state=seed)
        elif part.random_state is None:  # a splitter
            part.random_state = seed


def parts_of(value: Any, *, known_only: bool = False) -> list[Any]:
    """A learner and all that is inside it: steps, base estimators, candidates, splitters.

    With ``known_only``, nothing below a class that is neither ours nor scikit-learn's.
    """
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, list | tuple):
        return [part for entry in value for part in parts_of(entry, known_only=known_only)]
    if isinstance(value, type):
        return []
    if hasattr(value, "get_params"):
        origin = type(value).__module__.partition(".")[0]
        if known_only and origin not in ("plurilabel", "sklearn"):
            return []
        return [value, *parts_of(value.get_params(deep=False), known_only=known_only)]
    return [value] if hasattr(value, "split") and hasattr(value, "random_state") else []


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
