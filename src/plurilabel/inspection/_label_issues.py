"""How credible each given label is, and which labels are probably wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from plurilabel._core.base import check_labels, check_scores, column_names, names_or_default
from plurilabel._core.blocks import csr_of_rows, dense, row_blocks
from plurilabel._core.scores import check_count
from plurilabel._core.unknown import known_part
from plurilabel.neighbors import ExactIndex, NeighborsIndex, training_neighbors

if TYPE_CHECKING:
    import pandas as pd

RIDGE = 0.01  # share of the mean residual variance that is added to each: a stable inverse
BLOCK = 2**18  # entries processed at a time
TIES = 1e-3  # weight of the score alone in the quality: breaks ties between doubtful labels

Unknown: TypeAlias = NDArray[np.bool_] | None
Floats: TypeAlias = NDArray[np.floating]


def label_quality(
    Y: Any,
    scores: Any,
    *,
    X: Any = None,
    n_neighbors: int = 15,
    index: NeighborsIndex | None = None,
    use_labels: bool = True,
    calibrate: bool = True,
) -> NDArray[np.float64]:
    """Estimate how credible each given label is, from 0 (certainly wrong) to 1.

    Three sources of evidence are combined for label l of instance i:

    - the score: the probability p predicted by a model that was not trained on the instance. With
      ``calibrate``, overconfident scores are shrunk towards the frequency of their label, by the
      slope of a regression of the given labels on the scores;
    - with ``X``, the neighbors: p is averaged with the share of the nearest instances that have
      the label, including one extra vote with the frequency of the label;
    - with ``use_labels``, the other labels: if labels depend on each other beyond the scores, the
      residuals ``Y - p`` are correlated. The residual of l predicted from those of the other
      labels by ridge regression is added to p, multiplied for each label by the share of it (0 to
      1) that generalizes between the two halves of the data.

    The quality is p for a given label, 1 - p for an absent one, and NaN for an unknown one.
    Unknown labels are not used as evidence; only neighbors with a known value are consulted.

    Parameters
    ----------
    Y : 0/1 matrix of shape (n, q), dense, sparse or a data frame
        Labels to check. NaN, None, NA or :class:`~plurilabel.datasets.UnknownLabels`: unknown.
    scores : array-like of shape (n, q)
        Out-of-fold probabilities, as returned by
        ``sklearn.model_selection.cross_val_predict(..., method="predict_proba")``.
    X : array-like or sparse matrix of shape (n, d), optional
        Features to find neighbors by, scaled as for a nearest neighbor learner.
    n_neighbors : int, default=15
        Number of neighbors; all other instances if there are fewer.
    index : index, optional
        By default a new :class:`~plurilabel.ExactIndex`.
    use_labels : bool, default=True
        Whether to use the other labels.
    calibrate : bool, default=True
        Whether to shrink overconfident scores towards the frequency of their label.

    Examples
    --------
    >>> from plurilabel.inspection import label_quality
    >>> scores = [[0.9, 0.2], [0.7, 0.6]]
    >>> label_quality([[1, 0], [0, 1]], scores, use_labels=False, calibrate=False)
    array([[0.9, 0.8],
           [0.3, 0.6]])
    """
    given, unknown, p = checked(Y, scores)
    p = calibrated(given, unknown, p) if calibrate else p
    if X is not None:
        p, _, _ = with_neighbors(given, unknown, p, X, n_neighbors, index)
    return quality_of(given, unknown, p, use_labels=use_labels)


def checked(Y: Any, scores: Any) -> tuple[NDArray[np.int8], Unknown, Floats]:
    """Dense labels, a mask of unknown ones (None if all are known), and probabilities."""
    if sparse.issparse(scores):
        raise TypeError("scores must be dense: every label of every instance needs a probability")
    filled, unknown = known_part(Y)
    given, p = check_labels(filled), check_scores(scores)
    if given.shape != p.shape:
        raise ValueError(f"scores must have the shape of Y, {given.shape}, got {p.shape}")
    names, other = column_names(Y), column_names(scores)
    if names and other and names != other and sorted(names) == sorted(other):
        raise ValueError(f"scores must have its columns in the order of Y, {names[:5]}...")
    low, high = p.min(), p.max()
    if low < 0 or high > 1:
        raise ValueError(
            f"scores must be probabilities from 0 to 1, got {low if low < 0 else high:g}; "
            "calibrate decision values first"
        )
    return dense(given), None if unknown is None else dense(unknown), p


def calibrated(given: NDArray[np.int8], unknown: Unknown, p: Floats) -> Floats:
    """Shrink each label's scores towards its frequency by the slope of Y on p, at most 1."""
    n, q = given.shape
    y_mean, p_mean = _means(given, unknown), _means(p, unknown)
    both, own = np.zeros(q), np.zeros(q)
    for rows in row_blocks(n, q, BLOCK):
        centered = p[rows] - p_mean
        if unknown is not None:
            centered[unknown[rows]] = 0
        both += np.einsum("ij,ij->j", centered, given[rows] - y_mean)
        own += np.einsum("ij,ij->j", centered, centered)
    slope = np.clip(both / np.maximum(own, np.finfo(np.float64).tiny), 0, 1)
    return np.clip(slope * p + (y_mean - slope * p_mean), 0, 1)


def _means(values: NDArray[Any], unknown: Unknown) -> NDArray[np.float64]:
    """Mean of each column over the rows where its label is known; 0 if there are none."""
    if unknown is None:
        return values.mean(axis=0, dtype=np.float64)
    known = len(unknown) - np.count_nonzero(unknown, axis=0)
    return values.sum(axis=0, dtype=np.float64, where=~unknown) / np.maximum(known, 1)


def with_neighbors(
    given: NDArray[np.int8], unknown: Unknown, p: Floats, X: Any, k: int, index: Any
) -> tuple[Floats, Floats, Any]:
    """Probabilities averaged with the votes of neighbors, the votes, and how many are known."""
    n = len(given)
    k = min(check_count(k, "n_neighbors"), n - 1)
    index = (ExactIndex() if index is None else index).fit(X)
    rows = X if hasattr(X, "shape") else np.asarray(X)
    if rows.shape[0] != n:
        raise ValueError(f"X must have {n} rows like Y, got {rows.shape[0]}")
    if k == 0:
        return p, np.zeros(p.shape), 0
    _, near = training_neighbors(index, rows, k)
    graph = csr_of_rows(np.ones(n * k, np.float32), near.ravel(), np.full(n, k), n)
    votes = graph @ given.astype(np.float32)  # (n, q)
    # one extra vote with the frequency of the label, so that few neighbors are never certain
    known = k if unknown is None else k - graph @ unknown.astype(np.float32)
    share = (votes + _means(given, unknown)) / (known + 1)
    return (p + share) / 2, votes, known


def quality_of(
    given: NDArray[np.int8], unknown: Unknown, p: Floats, *, use_labels: bool
) -> NDArray[np.float64]:
    """Quality from probabilities and the other labels; NaN for unknown labels."""
    n, q = given.shape
    W = _weights(given, unknown, p) if use_labels and q > 1 and n > 3 else np.zeros((q, q))
    quality = np.empty((n, q))
    for rows in row_blocks(n, q, BLOCK):
        y, own = given[rows], p[rows]
        told = own
        if W.any():
            hidden = None if unknown is None else unknown[rows]
            told = np.clip(own + _residuals(y, hidden, own) @ W, 0, 1)
        told = told + TIES * (own - told)
        quality[rows] = np.where(y, told, 1 - told)
    if unknown is not None:
        quality[unknown] = np.nan
    return quality


def _residuals(given: NDArray[np.int8], unknown: Unknown, p: Floats) -> Floats:
    """``Y - p``; 0 for unknown labels."""
    residuals = given - p
    if unknown is not None:
        residuals[unknown] = 0
    return residuals


def _weights(given: NDArray[np.int8], unknown: Unknown, p: Floats) -> NDArray[np.float64]:
    """Weights of the residuals that predict the residual of label l, in column l, (q, q)."""
    # Weights from the even rows are tested on the odd rows and vice versa. The slope of the
    # residuals on their predictions tells how much of them generalizes.
    halves = [(given[h::2], None if unknown is None else unknown[h::2], p[h::2]) for h in (0, 1)]
    R = [_residuals(*half) for half in halves]
    C = [(part.T @ part).astype(np.float64) for part in R]
    both, own = np.zeros(given.shape[1]), np.zeros(given.shape[1])
    for here, there in ((0, 1), (1, 0)):
        W = _regressions(C[there], len(R[there]))
        # sums over rows of R E and E E, where E = R W is never formed
        both += np.einsum("kl,kl->l", C[here], W)
        own += np.einsum("kl,kl->l", W, C[here] @ W)
    factor = np.clip(both / np.maximum(own, np.finfo(np.float64).tiny), 0, 1)
    return factor * _regressions(C[0] + C[1], len(given))


def _regressions(C: NDArray[np.float64], n: int) -> NDArray[np.float64]:
    """Ridge regressions of each label's residual on the others, from the products of n rows."""
    # The weights are -T_kl / T_ll, T the inverse of C with the ridge: no q regressions.
    q = len(C)
    # few rows determine q - 1 weights poorly, and each row contributes to its own prediction
    ridge = (RIDGE + q / n) * np.trace(C) / q
    if not ridge > np.finfo(np.float64).tiny:
        return np.zeros((q, q))  # the scores equal the labels
    T = np.linalg.inv(C + ridge * np.eye(q))
    W = -T / np.diag(T)
    np.fill_diagonal(W, 0)
    return W


@dataclass(frozen=True, eq=False, repr=False)
class LabelIssues:
    """Result of :func:`find_label_issues`: labels that are probably wrong, worst first.

    The arrays have one entry per issue.

    Attributes
    ----------
    rows, labels : ndarrays of int
        Row and column of Y.
    given : ndarray of bool
        True for a given label that seems wrong, False for one that seems to be missing.
    quality : ndarray of float
        How credible the given label is; ascending.
    scores : ndarray of float
        The probability of the label, as passed in.
    agreeing : ndarray of int, or None
        Number of the ``n_neighbors`` nearest known to have the same value; None without X.
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
        """One row per issue, as a pandas data frame."""
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
    """Find labels that are probably wrong: given ones to remove, and missing ones to add.

    Parameters
    ----------
    Y : 0/1 matrix of shape (n, q), dense, sparse or a data frame
        The labels to check. Unknown labels (NaN, None, NA, or
        :class:`~plurilabel.datasets.UnknownLabels`) are never reported.
    scores : array-like of shape (n, q)
        Out-of-fold probabilities: a model that was trained on a wrong label would confirm it.
    X, n_neighbors, index, use_labels, calibrate
        Further evidence, as for :func:`label_quality`.
    threshold : float, default=0.5
        Report labels with a quality below this.
    label_names : sequence of str, optional
        By default those of a data frame Y, or ``label0, label1, ...``.

    Returns
    -------
    LabelIssues
        Lowest quality first; ties in the order of rows and labels.

    See Also
    --------
    plurilabel.evaluation.write_issues_report : A page for reviewing them.

    Examples
    --------
    In the digits, make one label wrong and remove another:

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
    named = column_names(Y) if label_names is None else label_names
    names = names_or_default(named, given.shape[1])
    seen, votes, known = calibrated(given, unknown, p) if calibrate else p, None, 0
    if X is not None:
        seen, votes, known = with_neighbors(given, unknown, seen, X, n_neighbors, index)
    quality = quality_of(given, unknown, seen, use_labels=use_labels)
    rows, labels = np.nonzero(quality < threshold)
    order = np.argsort(quality[rows, labels], kind="stable")
    rows, labels = rows[order], labels[order]
    k = min(int(n_neighbors), len(given) - 1)
    y, agreeing = given[rows, labels].astype(bool), None
    if votes is not None:
        has = votes[rows, labels].astype(np.intp)
        told = np.broadcast_to(known, votes.shape)[rows, labels].astype(np.intp)
        agreeing = np.where(y, has, told - has)
    found = rows, labels, y, quality[rows, labels], p[rows, labels], agreeing
    return LabelIssues(*found, n_neighbors=k, label_names=names, shape=given.shape)
