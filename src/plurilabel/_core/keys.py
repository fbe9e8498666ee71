"""Keys that identify the learners and data that a stored result was made with."""

from __future__ import annotations

import copyreg
import inspect
import json
import random
import sys
from types import FunctionType
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator

from plurilabel._core.records import digest_of

# what scikit-learn's ``clone`` copies beside the parameters
COPIED = ("_metadata_request", "_sklearn_output_config")


class NoKey(TypeError):
    """An object that has no key, such as a lambda."""


def key_of(*values: Any, fitted: bool = False, versions: bool = True) -> str:
    """Key of learners, parameters and data, by their content.

    Unlike a ``repr``, it depends on every entry of a list or array, on types (``1`` is not
    ``1.0``, and NumPy's scalars are not Python's, since arithmetic differs), and on the module
    and version of classes and functions; if their package has no version, on their source. For
    learners it depends on what ``clone`` keeps: parameters, and the state of frozen estimators.

    With ``fitted``, it also depends on fitted attributes, but not on the state of random
    generators, which differs each time without a seed. Raises :class:`NoKey` for a function that
    cannot be imported, or an object that cannot be pickled.
    """
    form = _Form(fitted, versions)
    try:
        return digest_of([form.of(value) for value in values])
    except RecursionError:
        raise NoKey("it is nested too deeply") from None


def key_or_none(*values: Any, versions: bool = True) -> str | None:
    """Key of objects, or None if there is none."""
    try:
        return key_of(*values, versions=versions)
    except NoKey:
        return None


class _Form:
    """Objects as JSON: scalars as they are, all else as lists that begin with their kind."""

    def __init__(self, fitted: bool, versions: bool) -> None:
        self.fitted, self.versions = fitted, versions
        self.above: list[int] = []  # objects around the one at hand: one may hold itself

    def of(self, value: Any) -> Any:
        if value is None or type(value) in (bool, int, float, str):
            return value
        if id(value) in self.above:
            return ["above", self.above.index(id(value))]
        self.above.append(id(value))
        found = self._inside(value)
        self.above.pop()
        return found

    def _inside(self, value: Any) -> Any:
        for kinds, name in _KINDS:
            if type(value) in kinds:
                return [type(value).__name__, *getattr(self, name)(value)]
        if isinstance(value, type | FunctionType):
            return ["named", *self._named(value)]
        if isinstance(value, np.generic):
            return ["scalar", str(value.dtype), value.tobytes().hex()]
        if sparse.issparse(value):
            return ["sparse", type(value).__name__, digest_of(value)]
        if hasattr(value, "iloc"):
            return ["table", type(value).__name__, *self._table(value)]
        if not self.fitted and (hasattr(value, "get_params") or hasattr(value, "_get_params")):
            return ["learner", *self._learner(value)]  # of scikit-learn, or of river
        if self.fitted and isinstance(value, _RANDOM):
            return ["random"]
        return ["object", *self._reduced(value)]

    def _bytes(self, value: Any) -> list[Any]:
        return [bytes(value).hex()]

    def _sequence(self, value: Any) -> list[Any]:
        return [self.of(entry) for entry in value]

    def _set(self, value: Any) -> list[Any]:
        return sorted(self._sequence(value), key=json.dumps)

    def _dict(self, value: Any) -> list[Any]:
        return sorted(self._sequence(list(value.items())), key=lambda pair: json.dumps(pair[1]))

    def _array(self, value: Any) -> list[Any]:
        if not value.dtype.hasobject:
            return [digest_of(np.asarray(value))]
        return [str(value.dtype), list(value.shape), self.of(value.tolist())]

    def _table(self, value: Any) -> list[Any]:
        columns = [column for _, column in value.items()] if value.ndim == 2 else [value]
        parts = [(one.name, self._dtype(one.dtype), one.tolist()) for one in columns]
        return [self.of(value.index.tolist()), self.of(parts)]

    def _dtype(self, dtype: Any) -> Any:
        # a categorical column depends on the categories that no row has, too, and on their order
        levels = list(getattr(dtype, "categories", []))
        return [str(dtype), self.of(levels), getattr(dtype, "ordered", None)]

    def _learner(self, value: Any) -> list[Any]:
        held = getattr(value, "__dict__", {})
        kept = {name: held[name] for name in COPIED if name in held}
        own = getattr(type(value), "__sklearn_clone__", None)
        ours = hasattr(value, "get_params")
        given = self.of(value.get_params(deep=False) if ours else value._get_params())
        state: list[Any] = []
        if own not in (None, BaseEstimator.__sklearn_clone__):
            # a frozen estimator keeps its state when it is cloned
            self.fitted = True
            state = self._reduced(value)
            self.fitted = False
        return [self._named(type(value)), given, self.of(kept), state]

    def _reduced(self, value: Any) -> list[Any]:
        """What pickle would store: how an object is made, from what."""
        if value is np.random.mtrand._rand:  # the global generator, whatever its state
            return ["numpy.random"]
        made = copyreg.dispatch_table.get(type(value))
        try:
            parts = value.__reduce_ex__(4) if made is None else made(value)
        except Exception as error:  # whatever an object raises that cannot be pickled
            raise NoKey(f"{type(value).__name__} cannot be pickled: {error}") from error
        if isinstance(parts, str):
            return self._named(value, parts)
        made, given, *more = parts
        state, entries, items = (*more, None, None, None)[:3]
        listed = [None if some is None else list(some) for some in (entries, items)]
        return [self.of(part) for part in (made, given, state, *listed)]

    def _named(self, value: Any, name: str = "") -> list[str]:
        """Module, name and version of what can be imported: a class, a function, a constant."""
        name = name or value.__qualname__
        own = getattr(value, "__module__", None) or type(value).__module__
        homes = (own, "numpy", "scipy.special")  # a ufunc does not know its own
        module = next((home for home in homes if _at(home, name) is value), None)
        if module is None:
            raise NoKey(f"{name} cannot be imported by its name")
        return [module, name, *([_version(module, value)] if self.versions else [])]


_RANDOM = (random.Random, np.random.RandomState, np.random.Generator)
_KINDS: tuple[tuple[tuple[type, ...], str], ...] = (
    ((list, tuple), "_sequence"),
    ((set, frozenset), "_set"),
    ((dict,), "_dict"),
    ((bytes, bytearray), "_bytes"),
    ((np.ndarray, np.memmap), "_array"),
)


def _version(module: str, value: Any) -> str:
    """Version of the package of a class or function; its source, if there is none."""
    root = module.partition(".")[0]
    version = getattr(sys.modules.get(root), "__version__", None)
    if isinstance(version, str) or root in sys.stdlib_module_names:
        return str(version)
    try:
        return digest_of(inspect.getsource(value))
    except (OSError, TypeError):
        raise NoKey(f"{value!r} of {module} has neither a version nor a source") from None


def _at(module: str, name: str) -> Any:
    found = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    return found
