"""The only module that uses private parts of scikit-learn, and the versions of packages.

Learners declare ``_parameter_constraints`` as scikit-learn's own do: the wording of the errors,
and what its ``check_param_validation`` expects, come with it.
"""

import platform
import sys
from functools import cache
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from inspect import get_annotations
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeAlias, Union, get_args, get_origin

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics.pairwise import PAIRWISE_BOOLEAN_FUNCTIONS as BOOLEAN_METRICS
from sklearn.utils import _safe_indexing as safe_indexing
from sklearn.utils._param_validation import (
    HasMethods,
    Interval,
    StrOptions,
    validate_parameter_constraints,
)
from sklearn.utils.validation import _check_method_params as rows_of_params
from sklearn.utils.validation import _check_sample_weight

__all__ = [
    "BOOLEAN_METRICS", "AtLeastOne", "AtLeastTwo", "Finite", "Fraction", "HasMethods", "Interval",
    "Natural", "NotNegative", "Part", "Positive", "Share", "StrOptions", "all_constraints",
    "check_arguments", "check_params", "check_sample_weight", "class_numbers", "constraints_of",
    "fitted_gamma", "import_extra", "option_words", "rows_of_params", "safe_indexing",
    "validate_parameter_constraints", "versions",
]  # fmt: skip

# types of parameters, with the constraints that they stand for
AtLeastOne: TypeAlias = Annotated[int, Interval(Integral, 1, None, closed="left")]
AtLeastTwo: TypeAlias = Annotated[int, Interval(Integral, 2, None, closed="left")]
Natural: TypeAlias = Annotated[int, Interval(Integral, 0, None, closed="left")]
Positive: TypeAlias = Annotated[float, Interval(Real, 0, None, closed="neither")]
NotNegative: TypeAlias = Annotated[float, Interval(Real, 0, None, closed="left")]
Finite: TypeAlias = Annotated[float, Interval(Real, None, None, closed="neither")]
Fraction: TypeAlias = Annotated[float, Interval(Real, 0, 1, closed="neither")]
Part: TypeAlias = Annotated[float, Interval(Real, 0, 1, closed="right")]
Share: TypeAlias = Annotated[float, Interval(Real, 0, 1, closed="both")]
_COUNTS = ("max_iter", "n_estimators", "n_iter_no_change", "n_neighbors")
USUAL: dict[str, list[Any]] = {
    **{name: [Interval(Integral, 1, None, closed="left")] for name in _COUNTS},
    **{name: [Interval(Real, 0, None, closed="left")] for name in ("smoothing", "tol")},
    "C": [Interval(Real, 0, None, closed="neither")],
    "device": [str],
    "drift_detector": [None, HasMethods(["update", "clone"])],
    "index": [None, HasMethods(["fit", "kneighbors"])],
    "metric": [str, callable],
    "n_jobs": [None, Integral],
    "random_state": ["random_state"],
    "verbose": ["verbose"],
}
"""The constraints of parameters that mean the same in all learners."""


def import_extra(module: str, user: str, extra: str) -> Any:
    """Import an optional dependency; the error names what needs it and the extra to install."""
    package = module.partition(".")[0]
    try:
        import_module(package)
        return import_module(module)
    except ImportError:
        raise ImportError(f"{user} needs {package}: pip install 'plurilabel[{extra}]'") from None


def constraints_of(estimator: type[Any], *names: str) -> dict[str, list[Any]]:
    """Constraints of some parameters of a scikit-learn estimator."""
    return {name: estimator._parameter_constraints[name] for name in names}


def all_constraints(cls: type[Any]) -> dict[str, list[Any]]:
    """The constraints that a class declares, those of its bases and fields, and the usual ones."""
    found = dict(USUAL)
    for base in reversed(cls.__mro__):
        found |= _constraints_of_types(base, vars(sys.modules.get(base.__module__, sys)))
        found |= vars(base).get("_parameter_constraints", {})
    return found


def check_arguments(function: Any, given: dict[str, Any]) -> None:
    """Check the arguments of a function against the constraints that their types stand for."""
    constraints = USUAL | _constraints_of_types(function, function.__globals__)
    validate_parameter_constraints(constraints, given, function.__name__)


def _constraints_of_types(owner: Any, names: Any) -> dict[str, list[Any]]:
    """The constraints of fields, or arguments, whose types stand for some."""
    kinds = get_annotations(owner).items()
    found = {name: _constraints_of_type(kind, names) for name, kind in kinds}
    return {name: constraints for name, constraints in found.items() if constraints is not None}


def _constraints_of_type(kind: Any, names: Any) -> list[Any] | None:
    """The constraints that a type stands for; None if a part of it has none."""
    if isinstance(kind, str):
        try:
            kind = eval(kind, names)
        except NameError:  # imported for type checkers only
            return None
    found: list[Any] = []
    for part in get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,):
        if part is NoneType:
            found.append(None)
        elif part is bool:
            found.append("boolean")
        elif get_origin(part) is Literal:
            found.append(StrOptions({*get_args(part)}))
        elif get_origin(part) is Annotated:
            found += part.__metadata__
        else:
            return None
    return found


def option_words(constraints: Any) -> frozenset[str]:
    """The words among the constraints of a parameter."""
    every = constraints if isinstance(constraints, list | tuple) else ()
    lists = (getattr(getattr(each, "constraint", each), "options", ()) for each in every)
    return frozenset(word for words in lists for word in words if isinstance(word, str))


def check_params(estimator: Any) -> None:
    """Check the parameters of an estimator against its ``_parameter_constraints``."""
    name, given = type(estimator).__name__, estimator.get_params(deep=False)
    validate_parameter_constraints(estimator._parameter_constraints, given, name)


def check_sample_weight(weight: Any, X: Any, *, non_negative: bool = True) -> NDArray[np.float64]:
    """Weights of the rows of X, checked: not negative, not all zero; None is 1 for each."""
    if isinstance(weight, np.ma.MaskedArray) and np.ma.is_masked(weight):
        raise ValueError("sample_weight must not have masked values")
    weights = _check_sample_weight(weight, X, dtype=float, ensure_non_negative=non_negative)
    if non_negative and not weights.any():  # which older versions of scikit-learn accept
        raise ValueError("Sample weights must contain at least one non-zero number.")
    return weights


def fitted_gamma(model: Any) -> float:
    """The gamma that a fitted support vector machine uses."""
    return float(model._gamma)


def class_numbers(model: Any) -> NDArray[np.integer[Any]]:
    """The class of each training row of fitted neighbours, as a number; (n,) or (n, outputs)."""
    return np.asarray(model._y)


def versions(*more: str) -> dict[str, str]:
    """Versions of Python, of what results depend on, and of more packages, if installed."""
    packages = ("plurilabel", "numpy", "scipy", "scikit-learn", *more)
    found = {name: installed for name in packages if (installed := _version(name)) is not None}
    return {"python": platform.python_version(), **found}


@cache
def _version(name: str) -> str | None:
    try:
        return version(name)  # which reads a file each time
    except PackageNotFoundError:
        return None
