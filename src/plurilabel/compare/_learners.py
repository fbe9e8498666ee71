"""Learners as they are given: their names, what they are in words, the seeds inside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sklearn.base import clone
from sklearn.pipeline import Pipeline

from plurilabel.compare._spec import make_learner, make_learners


def named_learners(learners: Any) -> dict[str, Any]:
    """Learners by name, fresh and unfitted, from whatever way they were given.

    Examples
    --------
    >>> from plurilabel import BRkNN, MLkNN
    >>> list(named_learners([MLkNN(7), MLkNN(9), BRkNN()]))
    ['MLkNN(n_neighbors=7)', 'MLkNN(n_neighbors=9)', 'BRkNN']
    """
    if isinstance(learners, Mapping):
        table = {str(name): _learner(one) for name, one in learners.items()}
    elif isinstance(learners, str):
        table = make_learners(learners)
    else:
        table = _with_names(learners if isinstance(learners, Sequence) else [learners])
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


def unique_name(name: str, taken: Mapping[str, Any], form: str) -> str:
    """The name itself or, if it is taken, the first free one with a number.

    Examples
    --------
    >>> unique_name("data", {"data": 0, "data-2": 0}, "{}-{}")
    'data-3'
    """
    unique, number = name, 2
    while unique in taken:
        unique, number = form.format(name, number), number + 1
    return unique


def _learner(given: Any) -> Any:
    return make_learner(given) if isinstance(given, str) else given


def _with_names(several: Sequence[Any]) -> dict[str, Any]:
    """Learners by class, by their parameters where that is not enough, or numbered."""
    made = [_learner(one) for one in several]
    short = [short_name(one) for one in made]
    table: dict[str, Any] = {}
    for given, one, name in zip(several, made, short):
        text = given if isinstance(given, str) else learner_text(one)
        if short.count(name) > 1 and len(text) <= 60:
            name = text
        table[unique_name(name, table, "{} ({})")] = one
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
    if hasattr(learner, "estimator") and (
        hasattr(learner, "param_grid") or hasattr(learner, "param_distributions")
    ):
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
