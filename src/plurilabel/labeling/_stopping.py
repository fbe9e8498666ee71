"""When enough rows are labeled: lower bounds of recall from random audits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from plurilabel._core.blocks import dense
from plurilabel._core.scores import check_count

FINE = 100  # numbers of positive rows are tested one by one up to here
STEP = 1.01  # and are this far apart beyond
# with a model, alternatives to k missed rows, and to k rows that the model did not find
MISSED, OTHERS = (0.0, 0.5, 0.8), (0.9, 0.97, 0.99)

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]


@dataclass(frozen=True)
class RecallBound:
    """Lower bounds of recall that hold at a confidence; made by :func:`recall_bound`.

    Attributes
    ----------
    found, at_most : ndarrays of shape (q,)
        Number of rows of each label that are found at least, and how many there are at most if
        no more are found.
    recall, jointly : ndarrays of shape (q,)
        Lower bounds of the share of the rows of a label that are found: valid for one label, and
        for all labels together.
    overall : float
        Lower bound of the share of all pairs of a row and its label that are found.
    target, confidence : float
    n_audits : int
    """

    found: Counts
    at_most: Counts
    recall: Floats
    jointly: Floats
    overall: float
    target: float
    confidence: float
    n_audits: int

    @property
    def may_stop(self) -> bool:
        """Whether every label has reached the target, jointly at the confidence."""
        return bool((self.jointly >= self.target).all())


def recall_bound(
    Y: ArrayLike,
    audit: ArrayLike,
    n_rows: int,
    *,
    predicted: ArrayLike | None = None,
    since: int | ArrayLike = 0,
    target: float = 0.9,
    confidence: float = 0.95,
) -> RecallBound:
    """Bound the share of the rows with each label that are found, from random audits.

    A row is found once it has been answered. With ``predicted``, it is also found if a model
    predicts the label for it.

    Parameters
    ----------
    Y : array-like of shape (t, q)
        Labels of the answered rows in the order in which they were first shown, each row once.
        A skipped row counts as one without labels. NaN marks labels without an answer, such as
        those added later: these rows may all be positive, and audits of the label count after the
        last of them.
    audit : array-like of shape (t,)
        Whether a row was drawn uniformly at random from all rows without an answer at that time:
        the next one in a random permutation of the pool that nothing else depends on. When to
        audit may depend on everything seen before.
    n_rows : int
        Number of rows in the pool, answered or not.
    predicted : array-like of shape (t, q), default=None
        Labels that one model, fixed after the answer number ``since``, predicts for the answered
        rows.
    since : int or array-like of shape (q,), default=0
        Audits from here on count: of a label that was added later, those since then. Rows answered
        before are found whatever the model predicts.
    target : float, default=0.9
        Recall at which to stop. The bounds hold for any target, and are tightest near it.
    confidence : float, default=0.95

    Returns
    -------
    RecallBound

    Notes
    -----
    **Theorem.** Let a label have K positive rows among the N of the pool. Whichever way the other
    rows were chosen, with probability at least ``confidence`` the bound ``recall`` is valid at
    all times together: one may look after each answer and stop when one likes. So are the bounds
    ``jointly`` of all labels, and ``overall``. The probability is that of the draws of the audited
    rows; labels are fixed.

    *Proof* (in full in the guide). If a label has k positive rows, F of them found, and u rows
    have no answer, an audited row is positive with probability (k - F) / u. Likelihood ratios
    against fewer rows form a supermartingale for each k (beyond 100, of a grid in steps of 1%),
    which ever exceeds 1 / alpha with probability at most alpha (Ville). K is at most U if all
    k > U are rejected. For labels together, alpha is divided by their number.

    With ``predicted``, the positive rows that the model missed are bounded from above and those
    that it found from below, each with half of alpha. Another model after it needs audits of its
    own and a share of alpha.

    If the u remaining rows hold no positive one, about 27 u / F audits are needed for a recall of
    90% with F positive rows found. A label with fewer than ten positive rows needs all rows.

    References
    ----------
    I. Waudby-Smith, A. Ramdas. Confidence sequences for sampling without replacement. NeurIPS
    2020. J. Ville. Étude critique de la notion de collectif. Gauthier-Villars, 1939.

    Examples
    --------
    >>> import numpy as np
    >>> from plurilabel.labeling import recall_bound
    >>> Y = np.zeros((600, 1))
    >>> Y[:150] = 1  # 150 chosen rows have the label; 450 random ones after them do not
    >>> bound = recall_bound(Y, np.arange(600) >= 150, 2000)
    >>> bound.found, bound.at_most, bound.recall.round(2), bound.may_stop
    (array([150]), array([161]), array([0.93]), True)
    """
    answers, drawn = np.asarray(dense(Y), dtype=np.float64), np.asarray(audit)
    check_count(n_rows, "n_rows")
    if answers.ndim != 2 or not np.isin(answers[~np.isnan(answers)], (0, 1)).all():
        raise ValueError(f"Y must be a matrix (t, q) of 0, 1 and NaN, got shape {answers.shape}")
    t, q = answers.shape
    if drawn.shape != (t,) or not np.isin(drawn, (0, 1)).all():
        raise ValueError(f"audit must be {t} truth values, one for each row of Y, got {audit!r}")
    if t > n_rows:
        raise ValueError(f"n_rows must be at least the {t} answered rows, got {n_rows}")
    for name, value in (("target", target), ("confidence", confidence)):
        if not 0 < value < 1:
            raise ValueError(f"{name} must lie strictly between 0 and 1, got {value!r}")
    first = np.asarray(since)
    if first.shape not in ((), (q,)) or not np.isin(first, np.arange(t + 1)).all():
        raise ValueError(f"since must be from 0 to the {t} answered rows, got {since!r}")
    drawn = drawn.astype(bool)
    guess = None if predicted is None else dense(predicted) == 1
    if guess is not None and guess.shape != (t, q):
        raise ValueError(f"predicted must have the shape {(t, q)} of Y, got {guess.shape}")
    levels = (1 - confidence) / np.array([1, max(q, 1)])
    counts = np.empty((q, 2, 2), dtype=np.int64)  # of each label and level: found, at most
    for j, (y, start) in enumerate(zip(answers.T, np.broadcast_to(first, q).tolist())):
        known = ~np.isnan(y)
        of = None if guess is None else guess[known, j]
        unknown = t - int(known.sum())
        # audits before the last unknown row say nothing: those among them may be the positive ones
        start = max(start, int(np.flatnonzero(~known).max(initial=-1)) + 1)
        start = int(known[:start].sum())
        counts[j] = _counts(y[known], drawn[known], n_rows - unknown, levels, target, of, start)
        counts[j, :, 1] += unknown
    found, most = counts[:, :, 0].T, counts[:, :, 1].T  # (2, q)
    share = np.where(most > 0, found / np.maximum(most, 1), 1.0)
    overall = float(found[1].sum() / max(most[1].sum(), 1)) if most[1].any() else 1.0
    return RecallBound(
        found[0], most[0], share[0], share[1], overall, target, confidence, int(drawn.sum())
    )


def _counts(
    y: Floats, audit: Any, n_rows: int, levels: Floats, target: float, guess: Any, since: int
) -> list[list[int]]:
    """Rows of a label that are found, and at most how many there are, at each level."""
    audit[:since] = False
    if guess is None:
        bounds = _most(y, audit, n_rows, levels, (target, (1 + target) / 2))
        return [[int(y.sum()), U] for U in bounds]
    missed, hit = np.where(guess, 0, y), np.where(guess, y, 0)
    missed[:since] = hit[:since] = 0  # the model was fixed later
    early = int(y[:since].sum())
    more = _most(missed[since:], audit[since:], n_rows - since, levels / 2, MISSED)
    others = _most(1 - hit[since:], audit[since:], n_rows - since, levels / 2, OTHERS)
    found = [early + int(missed.sum()) + n_rows - since - U for U in others]
    return [[F, F - int(missed.sum()) + U] for F, U in zip(found, more)]


def _most(
    y: Floats, audit: Any, n_rows: int, levels: Floats, alternatives: tuple[float, ...]
) -> list[int]:
    """Upper bound of the number of positive rows at each level: see :func:`recall_bound`."""
    found, n_left = int(y.sum()), n_rows - len(y)
    k = np.arange(1, min(FINE, n_rows) + 1, dtype=np.float64)
    if n_rows > FINE:
        steps = int(np.log(n_rows / FINE) / np.log(STEP))
        k = np.append(k, np.unique(np.ceil(FINE * STEP ** np.arange(1, steps + 1))))
    k = k[(k > found) & (k <= found + n_left)]  # (g,)
    if not len(k):
        return [found + n_left] * len(levels)
    others = np.vstack([*(share * k for share in alternatives), k - 1])
    weights = [0.6, 0.3, 0.1] if len(others) == 3 else [0.3, 0.3, 0.3, 0.1]
    log_e = np.log(weights)[:, np.newaxis] + np.zeros(others.shape)
    highest = np.zeros(len(k))
    before = np.cumsum(y) - y
    with np.errstate(divide="ignore"):  # log(0) is -inf: an alternative that is ruled out
        for i in np.flatnonzero(audit):
            u = n_rows - i
            p, q = (k - before[i]) / u, np.maximum(others - before[i], 0) / u
            log_e += np.log(q) - np.log(p) if y[i] else np.log1p(-q) - np.log1p(-p)
            np.maximum(highest, np.logaddexp.reduce(log_e, axis=0), out=highest)
    bounds = []
    for level in levels:
        kept = np.flatnonzero(highest < -np.log(level))
        above = kept[-1] + 1 if len(kept) else 0
        bounds.append(int(k[above]) - 1 if above < len(k) else found + n_left)
    return bounds
