"""Learners of streams written as text, read without running it."""

from __future__ import annotations

import ast
import importlib
import inspect
from typing import Any

from plurilabel._core.compat import import_extra
from plurilabel._core.names import parsed, separated
from plurilabel.learners import make_learner


def make_stream_learners(text: str) -> dict[str, Any]:
    """Make learners from text such as ``"NoChange, shares=LabelShares(fading=0.99)"``.

    The text looks like Python but is not executed: it may only contain names and values.

    - Names are those of this package; names of river with their module, such as
      ``river.multioutput.ClassifierChain(river.linear_model.LogisticRegression())``; and whatever
      :func:`~plurilabel.learners.make_learner` takes, if it has ``partial_fit``.
    - Values are numbers, strings, True, False, None, tuples, lists, dicts and learners.
    - ``river.preprocessing.StandardScaler() | ...`` is a pipeline of river.

    Parameters
    ----------
    text : str
        Comma-separated learners; ``name=LEARNER`` gives a name.

    Returns
    -------
    dict
        Learners by name.

    Examples
    --------
    >>> from plurilabel.streams import make_stream_learners
    >>> make_stream_learners("NoChange, shares=LabelShares(fading=0.99)")
    {'NoChange': NoChange(), 'shares': LabelShares(fading=0.99)}
    """
    table: dict[str, Any] = {}
    for name, part in separated(text):
        node = parsed(part)
        if (name := name or ast.unparse(node)) in table:
            raise ValueError(f"the learner {name} is named twice")
        table[name] = _made(node)
    if not table:
        raise ValueError(f"expected at least one learner, got {text!r}")
    return table


def _made(node: ast.expr) -> Any:
    """The learner that a name, a call or a pipeline stands for."""
    is_pipeline = isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr)
    if is_pipeline and "river." in ast.unparse(node):
        return _made(node.left) | _made(node.right)  # type: ignore[attr-defined]
    call = node if isinstance(node, ast.Call) else ast.Call(node, [], [])
    found = _class(call.func)
    if found is None:
        return make_learner(ast.unparse(node))
    parameters = inspect.signature(found).parameters
    takes_any = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    for word in call.keywords:
        if word.arg is None or (word.arg not in parameters and not takes_any):
            there = ", ".join(parameters) or "none"
            raise ValueError(f"{found.__name__} has no parameter {word.arg!r}; it has {there}")
    words = {str(word.arg): _value(word.value) for word in call.keywords}
    try:
        return found(*map(_value, call.args), **words)
    except TypeError as error:
        raise ValueError(f"{ast.unparse(node)} cannot be made: {error}") from None


def _class(node: ast.expr) -> type | None:
    """The class that a name of this package or of river stands for, None for other names."""
    name = ast.unparse(node)
    if isinstance(node, ast.Name):
        found = getattr(importlib.import_module("plurilabel.streams"), name, None)
        return found if isinstance(found, type) and hasattr(found, "learn_one") else None
    if not isinstance(node, ast.Attribute) or not name.startswith("river."):
        return None
    river = import_extra("river.base", name, "streams")
    module, _, last = name.rpartition(".")
    try:
        found = getattr(importlib.import_module(module), last, None)
    except ImportError:
        found = None
    if not (isinstance(found, type) and issubclass(found, river.Base)):
        raise ValueError(f"there is no {name}")
    return found


def _value(node: ast.expr) -> Any:
    if isinstance(node, ast.List | ast.Tuple):
        values = [_value(entry) for entry in node.elts]
        return values if isinstance(node, ast.List) else tuple(values)
    if isinstance(node, ast.Name | ast.Attribute | ast.Call | ast.BinOp):
        return _made(node)
    try:
        return ast.literal_eval(node)
    except ValueError:
        raise ValueError(f"{ast.unparse(node)!r} is not allowed here") from None
