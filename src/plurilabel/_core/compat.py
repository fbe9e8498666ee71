"""The only module that uses private parts of scikit-learn, and the versions of packages.

Learners declare ``_parameter_constraints`` as scikit-learn's own do: the wording of the errors,
and what its ``check_param_validation`` expects, come with it.
"""

import platform
from functools import cache
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import Any

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
    "BOOLEAN_METRICS", "HasMethods", "Interval", "StrOptions", "check_params",
    "check_sample_weight", "class_numbers", "constraints_of", "fitted_gamma", "import_extra",
    "option_words", "rows_of_params", "safe_indexing", "validate_parameter_constraints",
    "versions",
]  # fmt: skip


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
