"""Measures that give credit for the labels above: hierarchical precision, recall and F.

Both label sets are completed upwards; what they then have in common counts. A prediction of
``sports/tennis`` for ``sports/football`` is half right.
"""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike

from plurilabel._core.base import column_names
from plurilabel._core.data.hierarchy import Hierarchy
from plurilabel._core.labels import is_tags, tag_matrix
from plurilabel.metrics._by_instance import f_beta, precision, recall
from plurilabel.metrics._by_label import micro_f_beta, micro_precision, micro_recall
from plurilabel.metrics._inputs import check_predicted


def hierarchical_precision(
    Y_true: ArrayLike, Y_pred: ArrayLike, hierarchy: Any = None, *, average: str = "micro"
) -> float:
    """Share of the predicted labels, with those above them, that are true; 1 is best.

    Parameters
    ----------
    Y_true, Y_pred : 0/1 matrices of shape (n, q), dense, sparse or data frames
    hierarchy : Hierarchy, default=None
        None: that of the column names of a data frame, with ``/`` between their parts.
    average : {"micro", "instances"}, default="micro"
        "micro", as in the paper: over all pairs of instance and label. "instances": the mean over
        instances, those without labels left out.

    Returns
    -------
    float

    References
    ----------
    S. Kiritchenko, S. Matwin, A. F. Famili. Functional annotation of genes using hierarchical
    text categorization. BioLINK SIG 2005.

    Examples
    --------
    >>> from plurilabel.datasets import Hierarchy
    >>> from plurilabel.metrics import hierarchical_precision
    >>> tree = Hierarchy(["sports", "sports/football", "sports/tennis"])
    >>> hierarchical_precision([[0, 1, 0]], [[0, 0, 1]], tree)  # sports is right
    0.5
    """
    Y, Z = _closed(Y_true, Y_pred, hierarchy, average)
    return micro_precision(Y, Z) if average == "micro" else precision(Y, Z)


def hierarchical_recall(
    Y_true: ArrayLike, Y_pred: ArrayLike, hierarchy: Any = None, *, average: str = "micro"
) -> float:
    """Share of the true labels, with those above them, that are predicted; 1 is best.

    Parameters
    ----------
    Y_true, Y_pred, hierarchy, average : as in :func:`hierarchical_precision`

    Returns
    -------
    float

    Examples
    --------
    >>> from plurilabel.datasets import Hierarchy
    >>> from plurilabel.metrics import hierarchical_recall
    >>> tree = Hierarchy(["sports", "sports/football", "sports/football/women"])
    >>> hierarchical_recall([[0, 0, 1]], [[1, 0, 0]], tree)
    0.33...
    """
    Y, Z = _closed(Y_true, Y_pred, hierarchy, average)
    return micro_recall(Y, Z) if average == "micro" else recall(Y, Z)


def hierarchical_f_beta(
    Y_true: ArrayLike,
    Y_pred: ArrayLike,
    hierarchy: Any = None,
    *,
    beta: float = 1.0,
    average: str = "micro",
) -> float:
    """F-beta of hierarchical precision and recall; 1 is best.

    Parameters
    ----------
    Y_true, Y_pred, hierarchy, average : as in :func:`hierarchical_precision`
    beta : float, default=1.0
        Above 1 recall has more weight, below 1 precision.

    Returns
    -------
    float

    Examples
    --------
    >>> from plurilabel.datasets import Hierarchy
    >>> from plurilabel.metrics import hierarchical_f_beta
    >>> tree = Hierarchy(["sports", "sports/football", "sports/football/women"])
    >>> hierarchical_f_beta([[0, 0, 1]], [[1, 0, 0]], tree)
    0.5
    """
    Y, Z = _closed(Y_true, Y_pred, hierarchy, average)
    return micro_f_beta(Y, Z, beta) if average == "micro" else f_beta(Y, Z, beta)


def _closed(Y_true: Any, Y_pred: Any, hierarchy: Any, average: str) -> tuple[Any, Any]:
    if average not in ("micro", "instances"):
        raise ValueError(f"average must be 'micro' or 'instances', got {average!r}")
    if hierarchy is None:
        names = column_names(Y_true) or column_names(Y_pred)
        if names is None:
            raise ValueError("hierarchy must be given unless Y_true is a data frame with names")
        hierarchy = Hierarchy(names)
    elif not isinstance(hierarchy, Hierarchy):
        raise ValueError(
            f"hierarchy must be a Hierarchy(label_names, parents), got {type(hierarchy).__name__}"
        )
    if is_tags(Y_true):
        names = hierarchy.label_names
        Y_true, Y_pred = tag_matrix(Y_true, names)[0], tag_matrix(Y_pred, names)[0]
    Y, Z = check_predicted(Y_true, Y_pred)
    return hierarchy.close(Y), hierarchy.close(Z)
