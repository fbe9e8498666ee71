"""Label sets with a guarantee: risk control, coverage of labels, false discoveries."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from numbers import Real
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import rel_entr
from scipy.stats import binom

from plurilabel._core.base import LabelMatrix
from plurilabel._core.blocks import dense
from plurilabel._core.compat import Fraction, Interval, StrOptions
from plurilabel._core.fitted import Declared, number, numbers
from plurilabel._core.unknown import known_part
from plurilabel.thresholds._strategy import (
    Scores,
    Sets,
    ThresholdStrategy,
    above,
    complete_rows,
    just_below,
)

RISKS = ("recall", "subset", "misses")
_ROUNDING = 1e-9  # alpha (n + 1) need not be a whole number in binary


@dataclass(eq=False, repr=False)
class RiskControl(ThresholdStrategy):
    """Label sets whose expected loss is at most ``alpha``, on average or with a confidence.

    By default this is conformal risk control: the highest cut at which the mean loss of the n
    instances given to ``fit``, with one more instance of the worst loss, is at most ``alpha``
    (equation 4 of the paper); all cuts are considered. If the instances given to ``fit`` and a new
    one are exchangeable, the expected loss of the new one's set is at most ``alpha``, whatever the
    classifier, the distribution and n.

    That is a mean over all possible calibration sets. With ``delta``, the sets are
    risk-controlling (RCPS): with a probability of at least 1 - ``delta`` over the instances given
    to ``fit``, which must be independent draws, the expected loss at the resulting cut is at most
    ``alpha``. The cut is the highest with an upper confidence bound of the loss of at most
    ``alpha``, there and at all lower cuts.

    The scores must come from a classifier that was not trained on these instances:
    ``ThresholdClassifier(fitted, RiskControl(0.1), cv="prefit")``. With out-of-fold scores
    (another ``cv``) the guarantee is an approximation. Instances with unknown labels are ignored.

    Parameters
    ----------
    alpha : float, default=0.1
        The highest expected loss, between 0 and 1.
    risk : {"recall", "subset", "misses"} or callable, default="recall"
        The loss of a label set:

        ``"recall"``
            the share of the instance's labels that are missed. Instances without labels are left
            out, as in :func:`plurilabel.metrics.recall`; the guarantee is for instances with
            labels.
        ``"subset"``
            1 if any label is missed.
        ``"misses"``
            the number of labels that are missed, divided by the number of all labels.
        callable
            ``loss(Y_true, sets)`` gets two boolean arrays of shape (n, q) and returns n losses
            between 0 and 1. A loss must not grow with its set, and be at most ``alpha`` for all
            labels.
    delta : float, default=None
        The probability that the expected loss is above ``alpha``; None controls the mean only.
    bound : {"bentkus", "betting"}, default="bentkus"
        The upper confidence bound, with ``delta``. ``"bentkus"``: that of Hoeffding and Bentkus,
        or of Clopper and Pearson for ``risk="subset"``, whose losses are 0 and 1. ``"betting"``:
        that of Waudby-Smith and Ramdas, which is tighter where losses vary little; it depends on
        the order of the instances, and is not available for a callable risk.

    Attributes
    ----------
    cut_ : float
        Labels with scores above it are predicted. Minus infinity, for all labels, if there are too
        few instances: fewer than 1 / alpha - 1, or than about log(1 / delta) / alpha.
    risk_ : float
        Mean loss at this cut of the instances given to ``fit``.

    See Also
    --------
    LabelCoverage : The same for each label.
    FalseDiscoveryControl : For the share of wrong labels among those predicted.

    References
    ----------
    A. Angelopoulos, S. Bates, A. Fisch, L. Lei, T. Schuster. Conformal risk control. ICLR 2024.
    S. Bates, A. Angelopoulos, L. Lei, J. Malik, M. Jordan. Distribution-free, risk-controlling
    prediction sets. Journal of the ACM 68, 2021. I. Waudby-Smith, A. Ramdas. Estimating means of
    bounded random variables by betting. Journal of the Royal Statistical Society B 86, 2024.

    Examples
    --------
    Miss at most 30% of an instance's labels on average. Here one miss is allowed:

    >>> from plurilabel import RiskControl
    >>> scores = [[0.9, 0.8], [0.7, 0.1], [0.2, 0.6], [0.5, 0.4]]
    >>> Y = [[1, 1], [1, 0], [0, 1], [1, 1]]
    >>> control = RiskControl(0.3).fit(scores, Y)
    >>> control.predict(scores)
    array([[1, 1],
           [1, 0],
           [0, 1],
           [1, 0]])
    >>> control.risk_
    0.125
    """

    _learns_from_known = True
    _learns_from_soft = False
    _fitted: ClassVar[Declared] = {"cut_": number(finite=False), "risk_": number()}

    alpha: Fraction = 0.1
    _: KW_ONLY
    risk: Annotated[str | Callable[..., Any], StrOptions(set(RISKS)), callable] = "recall"
    delta: Fraction | None = None
    bound: Literal["bentkus", "betting"] = "bentkus"

    def _fit(self, scores: Scores, Y: LabelMatrix) -> None:
        scores, Y = complete_rows(scores, Y, "RiskControl")
        if callable(self.risk):
            if self.delta is not None and self.bound == "betting":
                raise ValueError("bound must be 'bentkus' if risk is a callable, got 'betting'")
            limits = float(self.alpha), self._budget(len(scores))
            self.cut_, self.risk_ = _search(self.risk, scores, dense(Y) == 1, *limits)
            return
        at, loss, rows, n = self._steps(scores, Y)
        order = np.argsort(at, kind="stable")
        at, total = at[order], np.cumsum(loss[order])
        if self.delta is not None and self.bound == "betting":
            self.cut_ = _by_betting(at, loss[order], rows[order], n, self.alpha, self.delta)
        else:
            self.cut_ = highest_cut(at, total, self._budget(n))
        missed = int(np.searchsorted(at, self.cut_, side="right"))
        self.risk_ = float(total[missed - 1] / n) if missed else 0.0

    def _budget(self, n: int) -> float:
        """The highest loss that n instances may have together; below 0 if they are too few."""
        if self.delta is None:  # with one more instance of loss 1, (total + 1) / (n + 1) = alpha
            return self.alpha * (n + 1) - 1
        if self.risk == "subset":
            k = int(binom.ppf(self.delta, n, self.alpha))
            return float(k if binom.cdf(k, n, self.alpha) <= self.delta else k - 1)
        enough = _p_value(0.0, n, self.alpha) <= self.delta
        return n * _highest_risk(n, self.alpha, self.delta) if enough else -1.0

    def _steps(
        self, scores: Scores, Y: LabelMatrix
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.intp], int]:
        """Scores where a loss grows as the cut reaches them, by how much, in which row, and n."""
        n, q = scores.shape
        rows, labels = Y.nonzero()  # row by row
        s, sizes = scores[rows, labels].astype(np.float64), np.bincount(rows, minlength=n)
        if self.risk == "misses":
            return s, np.full(len(s), 1 / q), rows, n
        if self.risk == "recall":
            place = np.cumsum(sizes > 0) - 1
            return s, 1 / sizes[rows], place[rows], int(np.count_nonzero(sizes))
        lowest = np.full(n, np.inf)
        np.minimum.at(lowest, rows, s)
        some = np.flatnonzero(sizes)
        return lowest[some], np.ones(len(some)), some, n


def highest_cut(at: NDArray[np.float64], total: NDArray[np.float64], budget: float) -> float:
    """The highest cut at which no more than ``budget`` is lost."""
    # ``total[k]`` is lost if the first k + 1 of the ascending scores ``at`` are not above the cut.
    if budget < -_ROUNDING:
        return -np.inf
    k = int(np.searchsorted(total, budget + _ROUNDING, side="right"))  # the first too many
    # the largest number below the score that must stay, and equal ones with it
    return float(just_below(at[k])) if k < len(at) else np.inf


def _by_betting(at: Any, loss: Any, rows: Any, n: int, alpha: float, delta: float) -> float:
    """The highest cut below which the upper bound of the mean loss is nowhere above alpha."""
    # ``loss`` is what the rows lose as the cut reaches the ascending scores ``at``.
    losses = np.zeros(n)
    if not n or not _is_below(losses[:, None], alpha, delta)[0]:
        return -np.inf
    group = np.unique(at, return_inverse=True)[1]  # equal scores are lost together
    for start in range(0, int(group.max(initial=-1)) + 1, 256):
        inside = (group >= start) & (group < start + 256)
        L = np.zeros((n, int(group[inside].max()) - start + 1))
        np.add.at(L, (rows[inside], group[inside] - start), loss[inside])
        L = losses[:, None] + np.cumsum(L, axis=1)
        allowed = _is_below(np.minimum(L, 1.0), alpha, delta)
        if not allowed.all():
            first = start + int(allowed.argmin())
            return float(np.nextafter(at[np.searchsorted(group, first)], -np.inf))
        losses = L[:, -1]
    return np.inf


def _is_below(losses: NDArray[np.float64], alpha: float, delta: float) -> NDArray[np.bool_]:
    """Whether the upper bound of each column's expected loss is at most alpha, by betting."""
    # That is where a bet that the loss is above alpha has once multiplied its capital by 1 /
    # delta; the stake before each row follows from the variance of those before it (proposition 5
    # of Bates et al.).
    i = np.arange(1, len(losses) + 1)[:, None]
    mean = (0.5 + np.cumsum(losses, axis=0)) / (i + 1)
    variance = (0.25 + np.cumsum((losses - mean) ** 2, axis=0)) / (i + 1)
    variance = np.vstack([np.full((1, losses.shape[1]), 0.25), variance[:-1]])
    stake = np.minimum(1, np.sqrt(2 * np.log(1 / delta) / (len(losses) * variance)))
    capital = np.cumsum(np.log1p(-stake * (losses - alpha)), axis=0)
    return capital.max(axis=0) >= np.log(1 / delta)


def _search(
    loss: Callable[..., Any], scores: Scores, Y: NDArray[np.bool_], alpha: float, budget: float
) -> tuple[float, float]:
    """Cut and mean loss, by bisection: any monotone loss, about log2(n q) times."""
    n = len(Y)

    def mean_loss(cut: float) -> float:
        losses = np.asarray(loss(Y, above(scores, cut)), dtype=np.float64)
        if losses.shape != (n,) or not ((losses >= 0) & (losses <= 1)).all():
            raise ValueError(
                f"risk must return {n} losses between 0 and 1, one per instance, got "
                f"shape {losses.shape}"
                + (f", {losses.min():g} to {losses.max():g}" if losses.size else "")
            )
        return float(losses.mean())

    lowest = mean_loss(-np.inf)
    if lowest > alpha:
        raise ValueError(
            f"risk must be at most alpha={alpha:g} for sets of all labels, got {lowest:g}"
        )
    at = np.unique(scores).astype(np.float64)
    cuts = np.concatenate([[-np.inf], just_below(at)[1:], [np.inf]])
    low, high = 0, len(cuts)  # the cut at low is allowed, that at high is not
    while high - low > 1:
        middle = (low + high) // 2
        allowed = n * mean_loss(cuts[middle]) <= budget + _ROUNDING
        low, high = (middle, high) if allowed else (low, middle)
    return float(cuts[low]), mean_loss(cuts[low])


@dataclass(eq=False, repr=False)
class LabelCoverage(ThresholdStrategy):
    """Find each label with a probability of at least 1 - alpha, where it is present.

    The cut of a label is the highest at which at most alpha (n + 1) - 1 of the n instances with
    the label are missed: conformal prediction, separately for each label (Vovk). The guarantee is
    that of :class:`RiskControl`, for the instances with the label. Unknown labels are
    ignored; then whether a label is known must not depend on its score.

    Parameters
    ----------
    alpha : float or array-like of shape (q,), default=0.1
        The highest probability of a miss, the same for all labels or one for each.

    Attributes
    ----------
    cuts_ : ndarray of shape (q,)
        A label is predicted where its score is above its cut. Minus infinity, for always, where
        too few instances have the label: fewer than 1 / alpha - 1.

    References
    ----------
    V. Vovk. Conditional validity of inductive conformal predictors. ACML 2012.

    Examples
    --------
    >>> from plurilabel import LabelCoverage
    >>> scores = [[0.9, 0.6], [0.7, 0.4], [0.5, 0.2], [0.3, 0.1]]
    >>> Y = [[1, 1], [1, 0], [0, 1], [1, 0]]
    >>> LabelCoverage(0.5).fit(scores, Y).predict(scores)   # one of three may be missed
    array([[1, 1],
           [1, 1],
           [0, 1],
           [0, 0]])
    """

    _learns_from_known = True
    _learns_from_soft = False
    _fitted: ClassVar[Declared] = {"cuts_": numbers("n_labels_", finite=False)}

    alpha: Annotated[ArrayLike, Interval(Real, 0, 1, closed="neither"), "array-like"] = 0.1

    def _fit(self, scores: Scores, Y: LabelMatrix) -> None:
        q = scores.shape[1]
        alpha = np.asarray(self.alpha, dtype=np.float64)
        if alpha.shape not in ((), (q,)) or not ((alpha > 0) & (alpha < 1)).all():
            raise ValueError(
                f"alpha must be between 0 and 1, one number or one for each of the {q} labels, "
                f"got {self.alpha!r}"
            )
        Y, _ = known_part(Y)  # instances that are known to have the label
        by_label = Y.tocsc() if hasattr(Y, "tocsc") else Y
        self.cuts_ = np.empty(q)
        for j, level in enumerate(np.broadcast_to(alpha, q)):
            at = np.sort(scores[dense(by_label[:, [j]])[:, 0] == 1, j]).astype(np.float64)
            budget = level * (len(at) + 1) - 1
            self.cuts_[j] = highest_cut(at, np.arange(1.0, len(at) + 1), budget)

    def _sets(self, scores: Scores) -> Sets:
        return above(scores, self.cuts_)


@dataclass(eq=False, repr=False)
class FalseDiscoveryControl(ThresholdStrategy):
    """Label sets with at most a share ``alpha`` of wrong labels: learn then test.

    The false discovery rate is the mean over instances of the share of wrong labels in the
    predicted set, 0 for an empty set. It need not fall as the cut rises, so conformal risk control
    does not apply. Instead, cuts are tested from the highest down, until the hypothesis that the
    rate is above ``alpha`` is not rejected at level ``delta``; the last cut before is used. With a
    probability of at least 1 - ``delta`` over the instances given to ``fit``, the rate of new
    instances from the same distribution is at most ``alpha``.

    Parameters
    ----------
    alpha : float, default=0.1
        The highest false discovery rate.
    delta : float, default=0.1
        The probability that the rate is higher.

    Attributes
    ----------
    cut_ : float
        Labels with scores above it are predicted; infinity, for none, if there are too few
        instances.
    risk_ : float
        False discovery rate at this cut of the instances given to ``fit``.
    highest_risk_ : float
        The highest rate of these instances that is enough for the guarantee.

    Notes
    -----
    The p-value is that of Hoeffding and Bentkus (equation 5 of Bates et al.). It grows with the
    observed rate, so each test is a comparison with ``highest_risk_``. The order of the tests does
    not depend on the data, and the rate changes only at the scores of the instances:
    fixed-sequence testing (Bauer) controls the error for every cut, without a grid.

    The scores must come from a classifier that was not trained on these instances; instances with
    unknown labels are ignored: see :class:`RiskControl`.

    References
    ----------
    A. Angelopoulos, S. Bates, E. Candès, M. Jordan, L. Lei. Learn then test: calibrating
    predictive algorithms to achieve risk control. arXiv 2110.01052, 2021. S. Bates, A.
    Angelopoulos, L. Lei, J. Malik, M. Jordan. Distribution-free, risk-controlling prediction sets.
    Journal of the ACM 68, 2021.

    Examples
    --------
    >>> import numpy as np
    >>> from plurilabel import FalseDiscoveryControl
    >>> rng = np.random.default_rng(0)
    >>> p = rng.uniform(size=(500, 4))
    >>> control = FalseDiscoveryControl(0.2).fit(p, rng.uniform(size=p.shape) < p)
    >>> bool(control.risk_ <= control.highest_risk_ < 0.2)
    True
    """

    _learns_from_known = True
    _learns_from_soft = False
    _fitted: ClassVar[Declared] = {**RiskControl._fitted, "highest_risk_": number()}

    alpha: Fraction = 0.1
    _: KW_ONLY
    delta: Fraction = 0.1

    def _fit(self, scores: Scores, Y: LabelMatrix) -> None:
        scores, Y = complete_rows(scores, Y, "FalseDiscoveryControl")
        n, q = scores.shape
        order = np.argsort(-scores, axis=1, kind="stable")
        wrong = 1 - np.take_along_axis(dense(Y), order, axis=1)
        rate = np.cumsum(wrong, axis=1) / np.arange(1, q + 1)  # of the k highest of each row
        growth = np.diff(rate, axis=1, prepend=0.0).ravel()
        at = np.take_along_axis(scores, order, axis=1).ravel().astype(np.float64)
        from_top = np.argsort(-at, kind="stable")
        at = at[from_top]
        risk = np.cumsum(growth[from_top]) / n
        last = np.flatnonzero(np.append(at[1:] != at[:-1], True))  # equal scores enter together
        at, risk = at[last], risk[last]

        self.highest_risk_ = max(_highest_risk(n, self.alpha, self.delta), 0.0)
        enough = _p_value(0.0, n, self.alpha) <= self.delta
        failed = np.append(risk > self.highest_risk_ + 1e-12, True) if enough else np.array([True])
        k = int(failed.argmax())  # tests passed
        if k == 0:
            self.cut_, self.risk_ = np.inf, 0.0
        else:
            self.cut_ = float(just_below(at[k - 1]))
            self.risk_ = float(max(risk[k - 1], 0.0))


def _p_value(risk: float, n: int, alpha: float) -> float:
    """Hoeffding-Bentkus p-value of the hypothesis that the expected loss is above alpha."""
    r = min(risk, alpha)
    hoeffding = np.exp(-n * (rel_entr(r, alpha) + rel_entr(1 - r, 1 - alpha)))
    # ceil of n r, unless n r is a whole number but for rounding
    bentkus = np.e * binom.cdf(np.ceil(n * risk - 1e-9), n, alpha)
    return float(min(hoeffding, bentkus, 1.0))


def _highest_risk(n: int, alpha: float, delta: float) -> float:
    """The highest mean loss of n instances whose p-value is at most delta."""
    low, high = 0.0, alpha  # the p-value at alpha is 1
    while high - low > 1e-12:
        middle = (low + high) / 2
        low, high = (middle, high) if _p_value(middle, n, alpha) <= delta else (low, middle)
    return low
