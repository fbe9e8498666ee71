"""Measures of each label by itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from plurilabel.base import column_names, names_or_default
from plurilabel.metrics._auc import label_auc
from plurilabel.metrics._counts import (
    accuracy_from_counts,
    f_beta_from_counts,
    jaccard_from_counts,
    precision_from_counts,
    recall_from_counts,
)
from plurilabel.metrics._inputs import check_predicted, check_scored, is_sparse
from plurilabel.metrics._set_counts import count_sets
from plurilabel.metrics._table import aligned, data_frame

_SHOWN = 30


class PerLabel(dict[str, NDArray[Any]]):
    """Columns by name, one entry per label: a dict that prints as a table.

    Attributes
    ----------
    label_names : list of str
    """

    def __init__(
        self,
        columns: Mapping[str, NDArray[Any]] = {},
        label_names: Sequence[str] = (),
    ) -> None:
        super().__init__(columns)
        self.label_names = list(label_names)

    def to_frame(self) -> Any:
        """A pandas data frame with a row per label."""
        return data_frame(self, self.label_names, "label")

    def __repr__(self) -> str:
        rows = []
        for j, name in enumerate(self.label_names[:_SHOWN]):
            cells = [column[j] for column in self.values()]
            rows.append([name, *(f"{c:.4f}" if isinstance(c, float) else str(c) for c in cells)])
        text = aligned(["label", *self], rows)
        more = len(self.label_names) - _SHOWN
        return text if more <= 0 else f"{text}\n... and {more} more labels"


def per_label(
    Y_true: ArrayLike,
    scores: ArrayLike | None = None,
    labels: ArrayLike | None = None,
    label_names: Sequence[str] | None = None,
) -> PerLabel:
    """Compute counts and measures of each label.

    Parameters
    ----------
    Y_true : 0/1 matrix of shape (n, q), dense, sparse or a data frame
    scores : matrix of shape (n, q), dense or sparse, optional
        Gives the column ``auc``: NaN for a label without positives or without negatives.
    labels : 0/1 matrix of shape (n, q), dense, sparse or a data frame, optional
        Gives the counts and the measures of the counts; a ratio 0/0 is 0.
    label_names : sequence of str, optional
        By default the columns of Y_true, if it is a data frame.

    Returns
    -------
    PerLabel
        A dict of columns, with ``label_names`` and ``to_frame()``. Their means over labels are
        the ``macro_*`` measures.

    Examples
    --------
    >>> from plurilabel.metrics import per_label
    >>> Y_true = [[1, 0], [1, 1], [0, 1], [1, 0]]
    >>> scores = [[0.9, 0.2], [0.6, 0.7], [0.3, 0.4], [0.2, 0.1]]
    >>> labels = [[1, 0], [1, 1], [0, 0], [0, 0]]
    >>> table = per_label(Y_true, scores, labels, label_names=["red", "blue"])
    >>> table
    label  positives  predicted  tp  fp  fn  tn  accuracy  precision  recall      f1  jaccard     auc
    red            3          2   2   0   1   1    0.7500     1.0000  0.6667  0.8000   0.6667  0.6667
    blue           2          1   1   0   1   2    0.7500     1.0000  0.5000  0.6667   0.5000  1.0000
    >>> table["recall"]
    array([0.66666667, 0.5       ])
    """  # noqa: E501 - a table is a table
    if scores is None and labels is None:
        raise ValueError("per_label needs scores, labels or both, got neither")
    columns: dict[str, NDArray[Any]] = {}
    if labels is not None:
        Y, Z = check_predicted(Y_true, labels, name="labels")
        counts = count_sets(Y, Z)
        table = counts.per_label
        columns |= {"positives": counts.label_true, "predicted": counts.label_pred}
        columns |= dict(zip(("tp", "fp", "fn", "tn"), table))
        columns |= {
            "accuracy": accuracy_from_counts(*table),
            "precision": precision_from_counts(*table),
            "recall": recall_from_counts(*table),
            "f1": f_beta_from_counts(*table),
            "jaccard": jaccard_from_counts(*table),
        }
    if scores is not None:
        Y, S = check_scored(Y_true, scores)
        if labels is None:
            columns["positives"] = (
                np.bincount(Y.indices, minlength=Y.shape[1])
                if is_sparse(Y)
                else Y.sum(axis=0, dtype=np.int64)
            )
        columns["auc"] = label_auc(Y, S)
    names = label_names if label_names is not None else column_names(Y_true)
    return PerLabel(columns, names_or_default(names, Y.shape[1]))
