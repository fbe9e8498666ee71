"""How much each pair of an instance and a label counts: ``label_weight`` of the learners."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from plurilabel._blocks import dense


def cell_weights(
    label_weight: Any, Y: Any, unknown: Any = None, sample_weight: Any = None
) -> NDArray[np.float64]:
    """Weights (n, q) for "balanced", or (q,) as they were given, checked.

    Balanced, a label's instances with it count together as much as those without it, and all of
    them as much as before; one that no known instance has, or that all have, stays as it is.

    Parameters
    ----------
    label_weight : "balanced" or array-like of shape (q,)
    Y : 0/1 matrix of shape (n, q)
    unknown : 0/1 matrix of shape (n, q), optional
        Where labels are not known, which count for nothing here.
    sample_weight : ndarray of shape (n,), optional

    Examples
    --------
    >>> import numpy as np
    >>> cell_weights("balanced", np.array([[1], [0], [0], [0]])).ravel().round(2)
    array([2.  , 0.67, 0.67, 0.67])
    """
    has = dense(Y).astype(bool)
    if isinstance(label_weight, str):
        weight = np.ones(len(has)) if sample_weight is None else np.asarray(sample_weight)
        total = weight @ (np.ones(has.shape) if unknown is None else ~dense(unknown))
        present = weight @ has
        absent = total - present
        varies = (present > 0) & (absent > 0)
        each = [
            np.divide(total, 2 * part, out=np.ones(len(total)), where=varies)
            for part in (present, absent)
        ]
        return np.where(has, *each)
    given = np.asarray(label_weight, dtype=np.float64)
    if given.shape != has.shape[1:] or not np.isfinite(given).all() or (given < 0).any():
        raise ValueError(
            f"label_weight must be {has.shape[1]} finite numbers, one per label, and none "
            f"below 0; got shape {given.shape}"
        )
    return given
