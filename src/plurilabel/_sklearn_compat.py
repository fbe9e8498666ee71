"""The one place that touches what scikit-learn does not promise to keep.

Learners declare ``_parameter_constraints`` as scikit-learn's own do: the wording of the errors,
and what its ``check_param_validation`` expects, come with it.
"""

from sklearn.utils._param_validation import (
    HasMethods,
    Interval,
    StrOptions,
    validate_parameter_constraints,
)

__all__ = ["HasMethods", "Interval", "StrOptions", "validate_parameter_constraints"]
