"""Measures and their intervals from a few audited rows and many machine-made labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import t as student
from sklearn.utils import check_random_state

from plurilabel._core.base import check_labels, column_names
from plurilabel._core.blocks import dense
from plurilabel._core.scores import check_count
from plurilabel._core.soft import soft_or_hard
from plurilabel._core.unknown import known_part
from plurilabel.metrics._evaluate import Evaluation, checked_inputs
from plurilabel.metrics._inputs import check_same

_SEEDS = np.iinfo(np.int32).max


def prediction_powered(
    Y_true: ArrayLike,
    Y_machine: ArrayLike,
    scores: ArrayLike | None = None,
    labels: ArrayLike | None = None,
    *,
    top: Sequence[int] = (1, 3, 5),
    bootstrap: int = 500,
    confidence: float = 0.95,
    random_state: int | np.random.RandomState | None = None,
) -> Evaluation:
    """Compute every measure from a small audited sample and many machine-made labels.

    Labels that a machine or a crowd made are cheap, and a measure computed from them alone is
    wrong by an amount nobody knows. Here the audited rows tell how wrong: the measure is

        m(audited, true) + w (m(others, machine) - m(audited, machine))

    with the weight w between 0 and 1 that gives the smallest variance. If the machine's labels
    are worthless, w is about 0 and the measure is that of the audited rows alone; the better they
    are, the shorter the interval. In both cases the interval holds, whatever the machine, if the
    audited rows are a random sample of all rows.

    Parameters
    ----------
    Y_true : array-like of shape (n, q)
        True labels of the audited rows; NaN in all other rows. Rows with some unknown labels are
        not audited.
    Y_machine : matrix of shape (n, q)
        Machine-made labels of all rows, 0 and 1 or probabilities, such as those of
        :func:`plurilabel.votes.fuse`. They must not have been made with the true labels of the
        audited rows.
    scores, labels, top
        The predictions to be judged, as in :func:`evaluate`.
    bootstrap : int, default=500
        Number of bootstrap samples for the variances.
    confidence : float, default=0.95
    random_state : int, RandomState or None, default=None
        Controls the bootstrap samples.

    Returns
    -------
    Evaluation
        With ``intervals`` for all measures: Student's. The bootstrap variance of m audited rows
        is multiplied by (m + 1) / (m - 2), for the weight w is estimated from the same rows; the
        degrees of freedom d follow from ``1 / d = 1 / (m - 2) + 1 / (bootstrap - 1)``.

    Notes
    -----
    The intervals are as good as the normal approximation of a measure's distribution: for means
    over instances from a few dozen audited rows on, for macro measures and AUC only if each label
    occurs in several of them.

    References
    ----------
    A. Angelopoulos, S. Bates, C. Fannjiang, M. Jordan, T. Zrnic. Prediction-powered inference.
    Science 382, 2023. A. Angelopoulos, J. Duchi, T. Zrnic. PPI++: efficient prediction-powered
    inference. arXiv 2311.01453, 2023. T. Zrnic. A note on the prediction-powered bootstrap. arXiv
    2405.18379, 2024.

    Examples
    --------
    >>> import numpy as np
    >>> from plurilabel.metrics import evaluate, prediction_powered
    >>> rng = np.random.default_rng(0)
    >>> Y = rng.integers(0, 2, size=(2000, 3))
    >>> machine = np.where(rng.random(Y.shape) < 0.05, 1 - Y, Y)
    >>> labels = np.where(rng.random(Y.shape) < 0.2, 1 - Y, Y)
    >>> audit = np.where(np.arange(2000)[:, None] < 100, Y, np.nan)
    >>> few = evaluate(Y[:100], labels=labels[:100], bootstrap=500, random_state=0)
    >>> many = prediction_powered(audit, machine, labels=labels, random_state=0)
    >>> width = lambda interval: interval[1] - interval[0]
    >>> bool(width(many.intervals["hamming_loss"]) < 0.7 * width(few.intervals["hamming_loss"]))
    True
    """
    check_count(bootstrap, "bootstrap")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must lie strictly between 0 and 1, got {confidence!r}")
    machine = dense(soft_or_hard(Y_machine, name="Y_machine"))
    filled, unknown = known_part(Y_true)
    truth = dense(check_labels(filled, name="Y_true"))
    check_same(Y_true, truth, Y_machine, machine, "Y_machine")
    named = Y_machine if column_names(Y_true) is None else Y_true
    S, Z = (
        None if M is None else M.tocsr() if hasattr(M, "tocsr") else np.asarray(M)
        for M in (scores, labels)
    )
    for name, given, M in (("scores", scores, S), ("labels", labels, Z)):
        if M is not None:
            check_same(named, truth, given, M, name)
    gone = np.zeros(len(truth), dtype=bool) if unknown is None else dense(unknown).any(axis=1)
    audited, others = np.flatnonzero(~gone), np.flatnonzero(gone)
    if len(audited) < 3 or len(others) < 2:
        raise ValueError(
            "Y_true must have at least three audited rows and two without labels (NaN), got "
            f"{len(audited)} and {len(others)}"
        )
    rng = check_random_state(random_state)
    seeds = [int(seed) for seed in rng.randint(_SEEDS, size=2)]
    # the same samples of the audited rows for both kinds of labels: their errors are paired
    parts = [
        _part(labelling, rows, S, Z, top, bootstrap, seed)
        for labelling, rows, seed in (
            (truth, audited, seeds[0]), (machine, audited, seeds[0]), (machine, others, seeds[1])
        )
    ]  # fmt: skip
    values, intervals = {}, {}
    n = len(audited)
    freedom = 1 / (1 / (n - 2) + 1 / max(bootstrap - 1, 1))
    half = student.ppf((1 + confidence) / 2, freedom)
    for name in parts[0][0]:
        values[name], error = _combined(n, *((value[name], drawn[name]) for value, drawn in parts))
        intervals[name] = values[name] - half * error, values[name] + half * error
    note = f"{len(audited):,} audited rows and {len(others):,} with machine-made labels"
    return Evaluation(values, intervals, confidence, note)


def _part(
    Y: Any, rows: Any, scores: Any, labels: Any, top: Any, bootstrap: int, seed: int
) -> tuple[dict[str, float], dict[str, Any]]:
    """Measures of some rows, and their values in bootstrap samples."""
    S, Z = (None if M is None else M[rows] for M in (scores, labels))
    given = checked_inputs("prediction_powered", Y[rows], S, Z, top, None)
    values = {measure.name: given.value(measure) for measure in given.measures}
    return values, given.samples(bootstrap, seed)


def _combined(n: int, true: Any, machine: Any, others: Any) -> tuple[float, float]:
    """The measure and its standard error, of n audited rows, by the weight of least variance."""
    A, B, C = (drawn for _, drawn in (true, machine, others))
    defined = ~(np.isnan(A) | np.isnan(B) | np.isnan(C))
    A, B, C = A[defined], B[defined], C[defined]
    if len(A) < 2:
        return float(true[0]), float("nan")
    spread = B.var() + C.var()
    w = float(np.clip(np.cov(A, B, bias=True)[0, 1] / spread, 0, 1)) if spread > 0 else 0.0
    value = true[0] + (w * (others[0] - machine[0]) if w else 0.0)
    return float(value), float(np.std(A - w * B + w * C, ddof=1) * np.sqrt((n + 1) / (n - 2)))
