"""A learner for the data at hand, and why."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from time import monotonic
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from plurilabel._blocks import has_missing
from plurilabel._compat import safe_indexing
from plurilabel._dataset import Matrix
from plurilabel.adaptation import MLRandomForest
from plurilabel.lazy import MLkNN
from plurilabel.metrics import average_precision, label_scores
from plurilabel.model_selection import IterativeStratifiedKFold, IterativeStratifiedShuffleSplit
from plurilabel.transformation import BinaryRelevance

# Beyond these a learner is not tried: it would take minutes, or its model hundreds of megabytes.
MOST_FOR_LOGISTIC = 1e8  # stored values of X times labels
MOST_FOR_FOREST = 5e4  # rows times labels: what the leaves hold
MOST_FOR_NEIGHBOURS = 200_000  # rows: the exact search is quadratic
FEWEST = 30  # rows: with fewer, a comparison says nothing
MOST_COMPARED = 3_000  # rows that the comparison uses
FOLDS = 3
AS_GOOD = 0.005  # of average precision: too little to pay for with time and a larger model


@dataclass(frozen=True)
class Suggestion:
    """A learner, not yet fitted, and how it was chosen.

    Attributes
    ----------
    estimator : classifier
    name : str
        What it is, in words.
    reason : str
        Why this one, as a sentence.
    compared : dict of str to float
        Average precision of each learner that was tried, by its name in words.
    seconds_per_row : float or None
        How long a fit took in the comparison, divided by its rows; None if nothing was compared.
    """

    estimator: Any
    name: str
    reason: str
    compared: dict[str, float] = field(default_factory=dict)
    seconds_per_row: float | None = None


def suggest_learner(
    X: Any,
    Y: Matrix,
    *,
    encoder: Any = None,
    random_state: int = 0,
    quick: bool = False,
    time_limit: float | None = None,
    progress: Callable[[int, int, str, float], object] | None = None,
) -> Suggestion:
    """Choose a learner by size and kind of the data, and by a quick cross-validation.

    Up to three learners that suit the data are compared by average precision, over 3 folds of at
    most 3,000 rows; of those within 0.005 of the best the quickest is taken. The same data give
    the same choice.

    - Dense features: ML-kNN and logistic regression for each label, both on standardised
      features, and a forest.
    - Sparse features, as of texts: ML-kNN with cosine distance, and logistic regression for each
      label with two penalties.
    - Learners that would take minutes, or whose model would be huge, are left out. With fewer
      than 30 rows nothing is compared: dense features get a forest, sparse ones logistic
      regression.

    Parameters
    ----------
    X : ndarray or csr_array of shape (n, d), or data frame
        Missing values are filled with the median of their column.
    Y : ndarray or csr_array of shape (n, q)
    encoder : transformer, default=None
        What turns X into numbers, not fitted, such as :func:`plurilabel.io.table_encoder` makes;
        needed for a data frame. It is the first step of each learner that is compared, and so
        fitted in each fold.
    random_state : int, default=0
    quick : bool, default=False
        Whether nothing is compared: logistic regression is taken where it suits, else ML-kNN.
    time_limit : float, default=None
        Seconds after which no further fit of the comparison is begun. Then the choice rests on
        the folds that all learners have finished, or on the learners that have finished one.
    progress : callable, default=None
        Called before each fit with the number of fits that are done, the number of all, the name
        of the learner, and the seconds since the beginning.

    Returns
    -------
    Suggestion

    Examples
    --------
    >>> from plurilabel import datasets
    >>> from plurilabel.compare import suggest_learner
    >>> data = datasets.load("digits")
    >>> found = suggest_learner(data.X[:300], data.Y[:300])
    >>> list(found.compared)
    ['ML-kNN', 'logistic regression (C=0.1)', 'random forest']
    >>> found.reason
    '... best of 3 by average precision, in 3 folds of 300 rows'
    """
    first = [] if encoder is None else [encoder]
    encoded = X if encoder is None else clone(encoder).fit_transform(X)
    if has_missing(encoded):
        first.append(imputer())
    candidates = _candidates(encoded, Y, first, random_state)
    if quick and len(candidates) > 1:
        name = next((name for name in candidates if "logistic" in name), next(iter(candidates)))
        return Suggestion(candidates[name][0], name, "without a comparison, to be quick")
    if len(candidates) == 1:
        ((name, (estimator, reason)),) = candidates.items()
        return Suggestion(estimator, name, reason)
    rows = _sample(Y, random_state)
    folds = IterativeStratifiedKFold(FOLDS, shuffle=True, random_state=random_state)
    splits = [(rows[a], rows[b]) for a, b in folds.split(rows, Y[rows])]
    found: dict[str, list[float]] = {name: [] for name in candidates}
    seconds: dict[str, list[float]] = {name: [] for name in candidates}
    total, started = len(splits) * len(candidates), monotonic()
    # fold by fold, so that all learners have equally many where time runs out
    for done, ((a, b), name) in enumerate(
        (split, name) for split in splits for name in candidates
    ):
        now = monotonic()
        if done and time_limit is not None and now - started > time_limit:
            break
        if progress is not None:
            progress(done, total, name, now - started)
        found[name].append(_quality(candidates[name][0], X, Y, a, b))
        seconds[name].append((monotonic() - now) / len(a))
    finished = max(1, min(map(len, found.values())))
    compared = {
        name: float(np.mean(figures[:finished])) for name, figures in found.items() if figures
    }
    # NaN where no row has a label to rank: then none is better than the first
    values = {name: np.nan_to_num(value, nan=-1.0) for name, value in compared.items()}
    highest = max(values.values())
    chosen = next(name for name, value in values.items() if value >= highest - AS_GOOD)
    best = (
        "the best" if values[chosen] == highest else f"the quickest within {AS_GOOD} of the best"
    )
    of = f"{len(compared)}"
    if len(compared) < len(candidates):
        of += f" (of {len(candidates)}, since time was up)"
    folds_used = f"{FOLDS} folds" if finished == FOLDS else f"{finished} of {FOLDS} folds"
    reason = f"{best} of {of} by average precision, in {folds_used} of {len(rows):,} rows"
    return Suggestion(
        candidates[chosen][0], chosen, reason, compared, float(np.mean(seconds[chosen]))
    )


def imputer() -> SimpleImputer:
    """What fills missing values: the median; 0 where a column has no value at all.

    Examples
    --------
    >>> from plurilabel.compare import imputer
    >>> imputer().fit_transform([[1.0, None], [None, None], [5.0, None]])
    array([[1., 0.],
           [3., 0.],
           [5., 0.]])
    """
    return SimpleImputer(strategy="median", keep_empty_features=True)


def _candidates(X: Matrix, Y: Matrix, first: list[Any], seed: int) -> dict[str, tuple[Any, str]]:
    """By name: learners that suit the size of the data, and the reason if there is only one."""
    n, q = Y.shape
    is_sparse = sparse.issparse(X)
    stored = sparse.csr_array(X).nnz if is_sparse else X.size
    before = first if is_sparse else [*first, StandardScaler()]
    # standardised features want a stronger penalty; of sparse ones it depends on their size
    penalties = (1.0, 10.0) if is_sparse else (0.1,)
    enough, searchable = n >= FEWEST, n <= MOST_FOR_NEIGHBOURS
    rows = "1 row is" if n == 1 else f"{n:,} rows are"
    found: dict[str, tuple[Any, str]] = {}
    if enough and searchable:
        found["ML-kNN"] = (
            make_pipeline(*before, MLkNN(10, metric="cosine" if is_sparse else "euclidean")),
            f"since others would take long with {n:,} rows and {q:,} labels",
        )
    if stored * q <= MOST_FOR_LOGISTIC or not (enough and searchable):
        for C in penalties if enough and searchable else penalties[:1]:
            logistic = BinaryRelevance(LogisticRegression(C=C, max_iter=1000))
            reason = f"since {rows} too {'many' if enough else 'few'} to compare learners"
            found[f"logistic regression (C={C:g})"] = make_pipeline(*before, logistic), reason
    if not is_sparse and searchable and n * q <= MOST_FOR_FOREST:
        reason = f"since {rows} too few to compare learners"
        found["random forest"] = make_pipeline(*first, MLRandomForest(random_state=seed)), reason
    if not enough:
        return dict([found.popitem()])
    return found


def _sample(Y: Matrix, seed: int) -> Any:
    n = Y.shape[0]
    if n <= MOST_COMPARED:
        return np.arange(n)
    cv = IterativeStratifiedShuffleSplit(1, train_size=MOST_COMPARED, random_state=seed)
    return np.sort(next(cv.split(np.empty(n), Y))[0])


def _quality(estimator: Any, X: Any, Y: Matrix, train: Any, test: Any) -> float:
    fitted = clone(estimator).fit(safe_indexing(X, train), Y[train])
    scores = label_scores(fitted, safe_indexing(X, test), n_labels=Y.shape[1])
    return average_precision(Y[test], scores)
