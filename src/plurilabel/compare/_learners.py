"""Learners as they are given, and what is done to them before they run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sklearn.base import clone
from sklearn.pipeline import Pipeline

from plurilabel.compare._cell_files import class_name, plain
from plurilabel.compare._shared_index import SearchCache, SharedIndex
from plurilabel.compare._spec import make_learner, make_learners
from plurilabel.lazy import LazyClassifier, MLkNNCV

# names ---------------------------------------------------------------------------------------


def named_learners(learners: Any) -> dict[str, Any]:
    """Learners by name, fresh and unfitted, from whatever way they were given.

    Examples
    --------
    >>> from plurilabel import BRkNN, MLkNN
    >>> list(named_learners([MLkNN(7), MLkNN(9), BRkNN()]))
    ['MLkNN(n_neighbors=7)', 'MLkNN(n_neighbors=9)', 'BRkNN']
    """
    if isinstance(learners, Mapping):
        table = {
            str(name): make_learner(one) if isinstance(one, str) else one
            for name, one in learners.items()
        }
    elif isinstance(learners, str):
        table = make_learners(learners)
    else:
        several = learners if isinstance(learners, Sequence) else [learners]
        table = _by_made_up_name(several)
    if not table:
        raise ValueError("learners must hold at least one learner, got none")
    check_distinct("learners", list(table))
    for name, one in table.items():
        if isinstance(one, type):
            raise TypeError(f"learners must be made, like {one.__name__}(), got the class itself")
        if not (hasattr(one, "fit") and hasattr(one, "predict")):
            raise TypeError(f"learners[{name!r}] must have fit and predict, got {one!r}")
    return {name: clone(one, safe=False) for name, one in table.items()}


def check_distinct(what: str, names: list[str]) -> None:
    """Raise an error for names that a file system may not tell apart."""
    seen: dict[str, str] = {}
    for name in names:
        if not name:
            raise ValueError(f"{what} must have names that are not empty, got ''")
        other = seen.setdefault(name.casefold(), name)
        if other is not name:
            raise ValueError(f"{what} must have names that differ, got {other!r} and {name!r}")


def _by_made_up_name(several: Sequence[Any]) -> dict[str, Any]:
    """Learners by class, by what they are made with where that is not enough, or numbered."""
    made = [make_learner(one) if isinstance(one, str) else one for one in several]
    short = [short_name(one) for one in made]
    table: dict[str, Any] = {}
    for given, one, name in zip(several, made, short):
        if short.count(name) > 1:
            text = given if isinstance(given, str) else learner_text(one)
            name = text if len(text) <= 60 else name
        unique, number = name, 2
        while unique in table:
            unique, number = f"{name} ({number})", number + 1
        table[unique] = one
    return table


def short_name(learner: Any) -> str:
    """What to call a learner: its class; the steps of a pipeline; what a search is about.

    Examples
    --------
    >>> from plurilabel.compare import make_learner
    >>> short_name(make_learner("StandardScaler | MLkNN(n_neighbors=[5, 7])"))
    'StandardScaler | MLkNN (search)'
    """
    if isinstance(learner, Pipeline):
        return " | ".join(short_name(step) for _, step in learner.steps)
    if _is_search(learner):
        return f"{short_name(learner.estimator)} (search)"
    return type(learner).__name__


def learner_text(learner: Any) -> str:
    """A learner as one would write it, in one line.

    Examples
    --------
    >>> from plurilabel import MLkNN, ThresholdClassifier
    >>> from plurilabel.compare import learner_text
    >>> learner_text(ThresholdClassifier(MLkNN(7), strategy="scut"))
    "ThresholdClassifier(estimator=MLkNN(n_neighbors=7), strategy='scut')"
    """
    return " ".join(repr(learner).split())


def described(learner: Any) -> dict[str, Any]:
    """Class, text and parameters of a learner, as JSON takes them."""
    parameters = learner.get_params(deep=False) if hasattr(learner, "get_params") else {}
    return {
        "class": class_name(learner),
        "repr": learner_text(learner),
        "parameters": plain(parameters),
    }


def _is_search(learner: Any) -> bool:
    return hasattr(learner, "estimator") and any(
        hasattr(learner, grid) for grid in ("param_grid", "param_distributions")
    )


# before a run --------------------------------------------------------------------------------


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
    for part in _parts(learner):
        if hasattr(part, "get_params"):
            if part.get_params(deep=False).get("random_state", seed) is None:
                part.set_params(random_state=seed)
        elif getattr(part, "random_state", seed) is None:  # a splitter
            part.random_state = seed


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


def _lazy_parts(learner: Any) -> Iterator[Any]:
    """The lazy learners inside that search in the usual way, whatever happens to them.

    A learner below a class of unknown origin, or below a search over metrics, is left alone: its
    metric may be changed after its index has been replaced.
    """
    if any(name in ("metric", "index") for name, _ in _candidates(learner)):
        return
    for part in _parts(learner, known_only=True):
        lazy = isinstance(part, LazyClassifier | MLkNNCV)
        if lazy and part.index is None and part.metric != "precomputed":
            yield part


def _parts(value: Any, *, known_only: bool = False) -> Iterator[Any]:
    """A learner and all that is inside it: steps, base estimators, candidates, splitters."""
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, list | tuple):
        for entry in value:
            yield from _parts(entry, known_only=known_only)
    elif isinstance(value, type):
        return
    elif hasattr(value, "get_params"):
        origin = type(value).__module__.partition(".")[0]
        if known_only and origin not in ("plurilabel", "sklearn"):
            return
        yield value
        yield from _parts(value.get_params(deep=False), known_only=known_only)
    elif hasattr(value, "split") and hasattr(value, "random_state"):
        yield value


def _candidates(value: Any) -> Iterator[tuple[str, list[Any]]]:
    """Parameters that a search inside will set: the last part of each name, and its values."""
    if isinstance(value, Mapping):
        for name, entries in value.items():
            if isinstance(entries, list | tuple | range):
                yield str(name).rpartition("__")[2], list(entries)
            else:
                yield str(name).rpartition("__")[2], []
    if isinstance(value, list | tuple):
        for entry in value:
            yield from _candidates(entry)
    elif hasattr(value, "get_params") and not isinstance(value, type):
        for inner in value.get_params(deep=False).values():
            yield from _candidates(inner)
