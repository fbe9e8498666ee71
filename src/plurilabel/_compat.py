"""The one place that touches what scikit-learn does not promise to keep, and asks for versions.

Learners declare ``_parameter_constraints`` as scikit-learn's own do: the wording of the errors,
and what its ``check_param_validation`` expects, come with it.
"""

import platform
from importlib.metadata import PackageNotFoundError, version

from sklearn.utils import _safe_indexing as safe_indexing
from sklearn.utils._param_validation import (
    HasMethods,
    Interval,
    StrOptions,
    validate_parameter_constraints,
)
from sklearn.utils.validation import _check_method_params as rows_of_params
from sklearn.utils.validation import _check_sample_weight as check_sample_weight

__all__ = [
    "HasMethods",
    "Interval",
    "StrOptions",
    "check_sample_weight",
    "rows_of_params",
    "safe_indexing",
    "validate_parameter_constraints",
    "versions",
]


def versions(*more: str) -> dict[str, str]:
    """Versions of Python and of what results depend on, as far as it is installed.

    Parameters
    ----------
    *more : str
        Further packages to name.
    """
    found = {"python": platform.python_version()}
    for name in ("plurilabel", "numpy", "scipy", "scikit-learn", *more):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
