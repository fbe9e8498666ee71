"""Learners written as text, read without running it."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from types import EllipsisType
from typing import Any

from sklearn.base import clone, is_classifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MaxAbsScaler

from plurilabel._core.names import (
    SKLEARN,
    check_labels_learned,
    no_learner,
    parsed,
    separated,
)
from plurilabel._core.roster import estimators, find_estimator
from plurilabel._core.roster import learners as roster
from plurilabel._core.words import similar
from plurilabel.learners.transformation import TransformationClassifier
from plurilabel.metrics import get_scorer
from plurilabel.model_selection import IterativeStratifiedKFold


def learner_names() -> list[str]:
    """Names of plurilabel's learners, as :func:`make_learner` takes them.

    Examples
    --------
    >>> from plurilabel.learners import learner_names
    >>> "MLkNN" in learner_names() and "RAkEL" in learner_names()
    True
    """
    return sorted([*roster(), "ThresholdClassifier"], key=str.lower)


def find_class(name: str) -> type:
    """Return the class with this name, or raise an error that suggests a similar one."""
    known = _modules()
    if name in known:
        module = known[name]
        found: type = getattr(import_module(module), name) if module else find_estimator(name)
        return found
    raise ValueError(no_learner(name))


@cache
def _modules() -> dict[str, str]:
    """Modules of scikit-learn by estimator name; empty for our own, which take precedence."""
    theirs = {name: f"sklearn.{key}" for key, names in SKLEARN.items() for name in names.split()}
    packages = "bags", "neighbors", "thresholds", "wrappers"  # of parts of learners
    parts = [name for name, package in estimators().items() if package in packages]
    made = [name for name in parts if not inspect.isabstract(find_estimator(name))]
    return theirs | dict.fromkeys([*made, "DaskIndex", *roster()], "")


def make_learner(text: str, *, measure: str = "f1", cv: int = 3) -> Any:
    """Make a learner from text such as ``"MLkNN(n_neighbors=7)"``.

    The text looks like Python and is not run: it may hold names of learners, values and nothing
    else.

    - Names are those of plurilabel's learners, threshold strategies and indexes, and of the usual
      classifiers and transformers of scikit-learn. ``MLkNN`` alone is ``MLkNN()``.
    - Values are numbers, strings, True, False, None, tuples, dicts, ``range(...)`` and learners.
    - ``StandardScaler() | MLkNN()`` is a pipeline.
    - A list holds candidates: ``MLkNN(n_neighbors=[5, 10])`` is a grid search over them, inside
      whatever it is trained on. Several lists are searched together. A parameter that is a
      sequence by itself (``MLkNNCV(n_neighbors=[5, 10])``) takes the list as its value.
    - A transformation without ``estimator``, such as ``RAkEL(labelset_size=3)``, gets
      ``MaxAbsScaler() | LogisticRegression(max_iter=1000)``.

    Parameters
    ----------
    text : str
    measure : str, default="f1"
        The measure that a grid search goes by.
    cv : int, default=3
        Its stratified folds. They are shuffled; :func:`compare` seeds them.

    Returns
    -------
    estimator
        A learner, a Pipeline or a GridSearchCV.

    Examples
    --------
    >>> from plurilabel.learners import make_learner
    >>> make_learner("MLkNN(n_neighbors=7)")
    MLkNN(n_neighbors=7)
    >>> search = make_learner("StandardScaler | MLkNN(n_neighbors=[5, 10])")
    >>> search.param_grid
    {'mlknn__n_neighbors': [5, 10]}
    >>> make_learner("MLkNN(k=7)")
    Traceback (most recent call last):
    ...
    ValueError: MLkNN has no parameter 'k'; it has n_neighbors, smoothing, metric, index, ...
    """
    return _made(parsed(text), text, measure, cv)


def make_learners(text: str, *, measure: str = "f1", cv: int = 3) -> dict[str, Any]:
    """Make several learners from text, with commas between them.

    A learner may be given a name: ``"seven=MLkNN(n_neighbors=7), RAkEL"``. The others are called
    as they are written.

    Parameters
    ----------
    text, measure, cv :
        As in :func:`make_learner`.

    Returns
    -------
    dict
        Learners by name.

    Examples
    --------
    >>> from plurilabel.learners import make_learners
    >>> make_learners("forest=MLRandomForest(n_estimators=50), MLkNN(7)")
    {'forest': MLRandomForest(n_estimators=50), 'MLkNN(7)': MLkNN(n_neighbors=7)}
    """
    table: dict[str, Any] = {}
    for name, part in separated(text):
        node = parsed(part)
        name = name or ast.unparse(node)
        if name in table:
            raise ValueError(f"the learner {name} is named twice")
        table[name] = _made(node, ast.unparse(node), measure, cv)
    if not table:
        raise ValueError("expected at least one learner, got none")
    return table


class _Candidates(list[Any]):
    """Values to choose from; a parameter that holds them is searched."""


def _made(node: ast.expr, text: str, measure: str, cv: int) -> Any:
    check_labels_learned(node)
    learner = _estimator(node)
    grid = _grid(learner)
    learner.set_params(**{name: values[0] for name, values in grid.items()})
    if not is_classifier(learner):
        if hasattr(learner, "transform"):
            raise ValueError(f"{text} predicts nothing; end it in a learner: {text} | MLkNN()")
        raise ValueError(f"{text} is not a learner, only part of one")
    if not grid:
        return learner
    folds = IterativeStratifiedKFold(cv, shuffle=True)
    return GridSearchCV(learner, grid, scoring=get_scorer(measure), cv=folds)


def _grid(value: Any) -> dict[str, list[Any]]:
    """The candidates inside a learner, by the names that its ``set_params`` takes."""
    parameters = value.get_params() if hasattr(value, "get_params") else {}
    return {name: list(v) for name, v in parameters.items() if isinstance(v, _Candidates)}


def _estimator(node: ast.expr) -> Any:
    """Build the estimator that a call, a name or a pipeline describes."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return _pipeline(node)
    if isinstance(node, ast.Name):
        return _call(node.id, [], [])
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return _call(node.func.id, node.args, node.keywords)
    raise _refused(node)


def _pipeline(node: ast.BinOp) -> Pipeline:
    links: list[ast.expr] = [node]
    while isinstance(links[0], ast.BinOp) and isinstance(links[0].op, ast.BitOr):
        links[0:1] = [links[0].left, links[0].right]
    steps = [_estimator(link) for link in links]
    for link, step in zip(links[:-1], steps):
        if not hasattr(step, "transform"):
            raise ValueError(f"{ast.unparse(link)} is not a transformer: nothing can follow it")
    return make_pipeline(*steps)


def _call(name: str, args: list[ast.expr], words: list[ast.keyword]) -> Any:
    found = find_class(name)
    parameters = inspect.signature(found).parameters
    values: dict[str, Any] = {}
    for word, node in _bound(found, args, words).items():
        sequence = isinstance(parameters[word].default, list | tuple | range)
        values[word] = _value(node)
        if isinstance(node, ast.List) and not sequence:
            if not node.elts:
                raise ValueError(f"{word} of {name} must list one or more candidates, got []")
            values[word] = _Candidates(values[word])
    if issubclass(found, TransformationClassifier):
        base = make_pipeline(MaxAbsScaler(), LogisticRegression(max_iter=1000))
        values.setdefault("estimator", base)
    return found(**values)


def _bound(found: type, args: list[ast.expr], words: list[ast.keyword]) -> dict[str, ast.expr]:
    """Arguments by the name of their parameter, or an error that names what there is."""
    name, signature = found.__name__, inspect.signature(found)
    parameters = signature.parameters
    for word in words:
        if word.arg not in parameters:
            close = similar(str(word.arg), list(parameters))
            hint = "" if close is None else f"; did you mean {close}?"
            # parameters that a class inherits come last
            own, last = inspect.get_annotations(found), inspect.Parameter.KEYWORD_ONLY
            order = sorted(parameters, key=lambda p: parameters[p].kind == last and p not in own)
            there = ", ".join(order) or "none"
            raise ValueError(f"{name} has no parameter {word.arg!r}; it has {there}{hint}")
    try:
        bound = signature.bind_partial(*args, **{str(word.arg): word.value for word in words})
    except TypeError as error:
        raise ValueError(f"{name} cannot be called like that: {error}") from None
    given = dict(bound.arguments)
    needed = [word for word, p in parameters.items() if p.default is p.empty and word not in given]
    if needed and not issubclass(found, TransformationClassifier):
        raise ValueError(f"{name} needs {', '.join(needed)}: {name}({needed[0]}=...)")
    return given


def _value(node: ast.expr) -> Any:
    """The value of an argument."""
    return _READERS.get(type(node), _estimator)(node)


def _constant(node: ast.Constant) -> Any:
    if isinstance(node.value, bytes | complex | EllipsisType):
        raise _refused(node)
    return node.value


def _negative(node: ast.UnaryOp) -> Any:
    value = _value(node.operand) if isinstance(node.op, ast.USub) else None
    if not isinstance(value, int | float):
        raise _refused(node)
    return -value


def _dict(node: ast.Dict) -> dict[Any, Any]:
    if None in node.keys:  # **other
        raise _refused(node)
    return {_plain(key): _plain(value) for key, value in zip(node.keys, node.values) if key}


def _range_or_estimator(node: ast.Call) -> Any:
    if ast.unparse(node.func) != "range" or node.keywords:
        return _estimator(node)
    bounds = [_plain(entry) for entry in node.args]
    if not 1 <= len(bounds) <= 3 or not all(type(bound) is int for bound in bounds):
        raise ValueError(f"range takes one to three whole numbers, got {bounds}")
    return range(*bounds)


_READERS: dict[type, Callable[[Any], Any]] = {
    ast.Constant: _constant,
    ast.UnaryOp: _negative,
    ast.Tuple: lambda node: tuple(map(_plain, node.elts)),
    ast.List: lambda node: list(map(_plain, node.elts)),
    ast.Dict: _dict,
    ast.Call: _range_or_estimator,
}


def _plain(node: ast.expr) -> Any:
    """A value inside a list, tuple or dict, where no search would find candidates."""
    value = _value(node)
    if _grid(value):
        raise ValueError(f"{ast.unparse(node)} must not contain lists of candidates here")
    return value


def _refused(node: ast.expr) -> ValueError:
    return ValueError(
        f"{ast.unparse(node)!r} is not allowed here: only names of learners, numbers, strings, "
        "True, False, None, tuples, lists, dicts, range(...) and learner | learner"
    )


def learner_text(learner: Any) -> str:
    """A learner as one would write it, in one line.

    Examples
    --------
    >>> from plurilabel import MLkNN, ThresholdClassifier
    >>> from plurilabel.learners import learner_text
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
    >>> from plurilabel.learners import set_seeds
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
    """A learner and all inside it; with ``known_only``, only below classes of ours and sklearn."""
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


def wrapped(learner: Any, wrap: Callable[[Any], tuple[Any, str]]) -> tuple[Any, str]:
    """What ``wrap`` puts around a learner, and the prefix that its parameters then have.

    Around the learner of a grid search, so that everything is learned in each of its folds.
    """
    if not isinstance(learner, GridSearchCV):
        return wrap(learner)
    inner, prefix = wrapped(learner.estimator, wrap)
    grids = learner.param_grid
    grid = [
        {prefix + name: values for name, values in one.items()}
        for one in ([grids] if isinstance(grids, Mapping) else grids)
    ]
    return clone(learner).set_params(estimator=inner, param_grid=grid), prefix
