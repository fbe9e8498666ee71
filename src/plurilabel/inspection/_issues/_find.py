"""The labels to look at first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from plurilabel._core.base import column_names, names_or_default
from plurilabel.inspection._issues._quality import calibrated, checked, quality_of, with_neighbours
from plurilabel.neighbors import NeighborsIndex

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, repr=False)
class LabelIssues:
    """The result of :func:`find_label_issues`: labels that are probably wrong, worst first.

    The arrays have one entry for each issue.

    Attributes
    ----------
    rows, labels : ndarrays of int
        Instance and label (column).
    given : ndarray of bool
        True where a label is given that seems wrong, False where one seems to be missing.
    quality : ndarray of float
        How credible the given label is; ascending.
    scores : ndarray of float
        The probability of the label that was passed in.
    agreeing : ndarray of int, or None
        How many of the nearest ``n_neighbors`` instances are labelled as given, those that do not
        know the label left out; None without X.
    n_neighbors : int
    label_names : sequence of str
    shape : tuple of int
        Shape of Y.

    Examples
    --------
    >>> from plurilabel.inspection import find_label_issues
    >>> scores = [[0.9, 0.2], [0.7, 0.6]]
    >>> find_label_issues([[1, 0], [0, 1]], scores, calibrate=False)
    LabelIssues: 1 of 4 labels, 0 wrong, 1 missing
    """

    rows: NDArray[np.intp]
    labels: NDArray[np.intp]
    given: NDArray[np.bool_]
    quality: NDArray[np.float64]
    scores: NDArray[np.floating]
    agreeing: NDArray[np.intp] | None
    n_neighbors: int
    label_names: Sequence[str]
    shape: tuple[int, int]

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        wrong = int(self.given.sum())
        return (
            f"LabelIssues: {len(self):,} of {self.shape[0] * self.shape[1]:,} labels, "
            f"{wrong:,} wrong, {len(self) - wrong:,} missing"
        )

    def to_frame(self) -> pd.DataFrame:
        """One row per issue, as a data frame of pandas."""
        import pandas as pd

        columns = {
            "row": self.rows,
            "label": [self.label_names[l] for l in self.labels.tolist()],
            "issue": np.where(self.given, "wrong", "missing"),
            "quality": self.quality,
            "score": self.scores,
        }
        if self.agreeing is not None:
            columns["agreeing"] = self.agreeing
        return pd.DataFrame(columns)


def find_label_issues(
    Y: Any,
    scores: Any,
    *,
    X: Any = None,
    n_neighbors: int = 15,
    index: NeighborsIndex | None = None,
    use_labels: bool = True,
    calibrate: bool = True,
    threshold: float = 0.5,
    label_names: Sequence[str] | None = None,
) -> LabelIssues:
    """Find labels that are probably wrong: tags that should not be there, and missing ones.

    Parameters
    ----------
    Y : 0/1 matrix of shape (n, q), dense, sparse or a data frame
        The labels in doubt. Those that are not known (NaN, None, NA, or
        :class:`~plurilabel.datasets.PartialLabels`) are no issues.
    scores : array-like of shape (n, q)
        Out-of-fold probabilities: a model that has seen a wrong label will defend it.
    X, n_neighbors, index, use_labels, calibrate
        What else is asked and how, as for :func:`label_quality`.
    threshold : float, default=0.5
        Labels with a quality below it are issues. With 1, nearly all labels are listed.
    label_names : sequence of str, optional
        By default those of a data frame Y, or ``label0, label1, ...``.

    Returns
    -------
    LabelIssues
        Those of lowest quality first; among equals, in the order of rows and labels.

    See Also
    --------
    plurilabel.evaluation.write_issues_report : A page to go through them.

    Examples
    --------
    One of the digits' labels is wrong, and one is missing:

    >>> from sklearn.model_selection import cross_val_predict
    >>> from plurilabel import MLkNN, datasets
    >>> from plurilabel.inspection import find_label_issues
    >>> data = datasets.load("digits")
    >>> Y = data.Y.copy()
    >>> Y[5, 0], Y[8, 2] = 1 - Y[5, 0], 1 - Y[8, 2]
    >>> scores = cross_val_predict(MLkNN(), data.X, Y, method="predict_proba")
    >>> issues = find_label_issues(Y, scores, X=data.X, label_names=data.label_names)
    >>> sorted(zip(issues.rows[:2].tolist(), issues.labels[:2].tolist()))
    [(5, 0), (8, 2)]
    """
    if not isinstance(threshold, Real) or not 0 <= threshold <= 1:
        raise ValueError(f"threshold must be a number from 0 to 1, got {threshold!r}")
    given, unknown, p = checked(Y, scores)
    names = names_or_default(
        column_names(Y) if label_names is None else label_names, given.shape[1]
    )
    seen, votes = calibrated(given, unknown, p) if calibrate else p, None
    asked: Any = 0
    if X is not None:
        seen, votes, asked = with_neighbours(given, unknown, seen, X, n_neighbors, index)
    quality = quality_of(given, unknown, seen, use_labels=use_labels)
    rows, labels = np.nonzero(quality < threshold)
    order = np.argsort(quality[rows, labels], kind="stable")
    rows, labels = rows[order], labels[order]
    k = min(int(n_neighbors), len(given) - 1)
    y, agreeing = given[rows, labels].astype(bool), None
    if votes is not None:
        has = votes[rows, labels].astype(np.intp)
        told = np.broadcast_to(asked, votes.shape)[rows, labels].astype(np.intp)
        agreeing = np.where(y, has, told - has)
    return LabelIssues(
        rows=rows,
        labels=labels,
        given=y,
        quality=quality[rows, labels],
        scores=p[rows, labels],
        agreeing=agreeing,
        n_neighbors=k,
        label_names=names,
        shape=given.shape,
    )
