"""Checks of parameters in a model file: none may name a file, a command, code or a pattern.

scikit-learn trusts its parameters: a ``Pipeline`` unpickles the content of its ``memory``, a
vectorizer with ``input="filename"`` opens files, and a regular expression can run for hours. So
text is rejected unless it is an option that the class lists, the default, or the value of a
parameter that is known to take plain names (``_TEXT``). Functions are rejected except for ufuncs
as the ``func`` of a ``FunctionTransformer``.
"""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable, Iterator
from functools import cache
from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import all_estimators

from plurilabel._core.compat import option_words, validate_parameter_constraints
from plurilabel._core.roster import estimators, find_estimator
from plurilabel._core.words import shortened

# runs of one kind of character, which are matched in linear time
_ONE = r"(?:\\[wSd]|\[[\w-]+\])"
_TOKENS = (
    rf"(?:\(\?u\))?(?:\\b{_ONE}{{1,9}}(?:\+|\{{\d,\d?\}})?\\b|{_ONE}{{1,9}}(?:\+|\{{\d,\}})?)"
)
_NAME = r"[\w@.+-]{1,80}"


def _is(pattern: str) -> Callable[[str], bool]:
    return lambda text: re.fullmatch(pattern, text) is not None


def _is_any(_text: str) -> bool:
    return True


_TEXT: dict[str, Callable[[str], bool]] = {
    # names of steps, columns, categories and words, which are only compared and shown
    **dict.fromkeys(
        (
            "categorical", "categorical_features", "categories", "class_weight", "classes",
            "constant", "descriptions", "drop", "estimators", "fill_value", "grades",
            "interaction_cst", "kinds", "missing_values", "monotonic_cst", "outlier_label",
            "parents", "portfolio", "pos_label", "sep", "separator", "steps", "stop_words",
            "text", "transform_input", "transformer_list", "transformer_weights", "transformers",
            "vocabulary", "written",
        ),
        _is_any,
    ),
    # names of measures, metrics and methods, which are looked up in a table
    **dict.fromkeys(
        ("chain_method", "measure", "metric", "refit", "scoring"), _is(_NAME)
    ),
    "device": _is(r"auto|cpu|mps|cuda(?::\d{1,3})?"),
    "dtype": _is(r"float(?:16|32|64)|u?int(?:8|16|32|64)|bool|object"),
    # text encoders: found below the working directory or in the cache of models, not downloaded
    "model": _is(r"\w[\w.-]{0,95}(?:/\w[\w.-]{0,95})?"),
    "encoding": _is(r"utf-?8(?:-sig)?|ascii|latin-?1|cp125\d|iso-?8859-\d{1,2}"),
    "threshold": _is(r"(?:[\d.]{1,20}\s*\*\s*)?(?:mean|median)"),
    "token_pattern": _is(_TOKENS),
}  # fmt: skip
"""Parameters that take text other than options of the class, and which text."""

_NEVER = {"input": ("filename", "file")}
"""Options that open files."""

_RESET = {"cache": None, "memory": None}
"""Parameters that do not affect predictions, and their values in a loaded model."""

_GRIDS = ("param_grid", "param_distributions")
"""Parameters of searches that set other parameters."""


def make_safe(part: Any) -> None:
    """Set parameters that do not affect predictions to safe values.

    Caches would be unpickled or written. Jobs take memory: at most one per core is allowed.
    """
    if not isinstance(part, BaseEstimator):
        return
    held, most = vars(part), os.cpu_count() or 1
    owner: Any = type(part)
    for name in _RESET.keys() & held.keys() & _parameters(owner).keys():
        held[name] = _RESET[name]
    if isinstance(held.get("n_jobs"), Real) and held["n_jobs"] > most:
        held["n_jobs"] = most


def check_parameters(part: Any) -> None:
    """Raise a ValueError if a parameter has a value that a model file must not contain."""
    owner: Any = type(part)
    held = vars(part)
    given = {name: held[name] for name in _parameters(owner) if name in held}
    if constraints := getattr(owner, "_parameter_constraints", None):
        known = {name: value for name, value in given.items() if name in constraints}
        validate_parameter_constraints(constraints, known, owner.__name__)
    for name, value in given.items():
        for text in _refused(owner, name, value):
            raise ValueError(
                f"{name} of a {owner.__name__} cannot be {shortened(text)} in a model file, since "
                "it could name files, code or patterns; use another value, such as the default"
            )


def check_attributes(part: Any) -> None:
    """Raise a ValueError if an attribute replaces a method."""
    owner: Any = type(part)
    for name in getattr(part, "__dict__", {}):
        if name in _methods(owner):
            raise ValueError(f"{name} of a {owner.__name__} must be a method")


def check_callable(part: Any) -> None:
    """Raise a ValueError for classes and functions, but not for ufuncs and scalar types."""
    if isinstance(part, type) and issubclass(part, np.generic | int | float | str | bool):
        return
    if isinstance(part, type) or (inspect.isroutine(part) and not isinstance(part, np.ufunc)):
        raise ValueError(f"{part!r} is not allowed in a model file: it could be called")


@cache
def _methods(owner: Any) -> frozenset[str]:
    """Names of the methods of a class, including conditional ones."""
    found = {name: value for each in reversed(owner.__mro__) for name, value in vars(each).items()}
    return frozenset(
        name
        for name, value in found.items()
        if inspect.isfunction(value) or hasattr(value, "__wrapped__")
    )


@cache
def _parameters(owner: Any) -> dict[str, Any]:
    """Parameters of a class, and their defaults."""
    signature = inspect.signature(owner.__init__).parameters
    return {name: entry.default for name, entry in signature.items() if name != "self"}


def _refused(owner: Any, name: str, value: Any) -> Iterator[str]:
    """Describe the text and functions of a parameter that are rejected."""
    if name in _RESET:
        return
    default = _parameters(owner)[name]
    if name in _GRIDS:
        yield from _refused_in_grid(value)
        return
    constraints = getattr(owner, "_parameter_constraints", {}).get(name, ())
    words, is_right = option_words(constraints), _TEXT.get(name)
    for entry in _leaves(value):
        if isinstance(entry, str):
            known = entry in words or entry == default or (is_right and is_right(entry))
            if not known or entry in _NEVER.get(name, ()):
                yield repr(entry)
        elif not _is_function_here(owner, name, entry):
            yield f"the function {getattr(entry, '__name__', entry)!r}"


def _is_function_here(owner: Any, name: str, function: Any) -> bool:
    here = owner is FunctionTransformer and name in ("func", "inverse_func")
    return here and isinstance(function, np.ufunc)


def _leaves(value: Any) -> Iterator[Any]:
    """All text and functions in a value; keys of dicts are ignored."""
    todo, seen = [value], set()
    while todo:
        entry = todo.pop()
        if isinstance(entry, dict | list | tuple | set):
            if id(entry) not in seen:
                seen.add(id(entry))
                todo += entry.values() if isinstance(entry, dict) else entry
        elif isinstance(entry, np.ndarray):
            todo += entry.ravel().tolist() if entry.dtype.kind in "OUS" else []
        elif isinstance(entry, bytes | os.PathLike):
            yield os.fsdecode(entry)
        elif isinstance(entry, str) or inspect.isroutine(entry) or isinstance(entry, np.ufunc):
            yield entry


def _refused_in_grid(grids: Any) -> Iterator[str]:
    """Text in a grid that no class lists as an option of that parameter."""
    for grid in grids if isinstance(grids, list | tuple) else [grids]:
        for name, values in grid.items() if isinstance(grid, dict) else [("", grid)]:
            last = str(name).rpartition("__")[2]
            for entry in _leaves(values):
                fits = isinstance(entry, str) and entry in _options(last)
                if not fits or entry in _NEVER.get(last, ()):
                    yield f"{name}={entry!r}"


@cache
def _options(name: str) -> frozenset[str]:
    """Options that any estimator lists for a parameter."""
    classes = [found for _, found in all_estimators()]
    classes += [find_estimator(each) for each in estimators()]
    lists = (getattr(found, "_parameter_constraints", {}).get(name, ()) for found in classes)
    return frozenset(word for constraints in lists for word in option_words(constraints))
