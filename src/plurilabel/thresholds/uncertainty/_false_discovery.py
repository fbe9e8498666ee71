"""FalseDiscoveryControl: as many labels as possible, few of them wrong."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from scipy.special import rel_entr
from scipy.stats import binom

from plurilabel._core.base import LabelMatrix
from plurilabel._core.blocks import dense
from plurilabel._core.compat import Interval
from plurilabel._core.fitted import Declared, number
from plurilabel.thresholds._base import Scores, Sets, ThresholdStrategy, above, complete_rows


class FalseDiscoveryControl(ThresholdStrategy):
    """Label sets with at most a share ``alpha`` of wrong labels: learn then test.

    The false discovery rate is the mean over instances of the share of wrong labels in the
    predicted set, 0 for an empty set. It need not fall as the cut rises, so conformal risk control
    does not apply. Instead, cuts are tested one after another, from the highest down, until the
    hypothesis that the rate is above ``alpha`` is not rejected at level ``delta``; the last cut
    before is taken. With a probability of at least 1 - ``delta`` over the instances given to
    ``fit``, the rate of new instances from the same distribution is at most ``alpha``.

    Parameters
    ----------
    alpha : float, default=0.1
        The highest false discovery rate.
    delta : float, default=0.1
        The probability that the rate is higher nevertheless.

    Attributes
    ----------
    cut_ : float
        Labels with scores above it are predicted; infinity, for none, if there are too few
        instances.
    risk_ : float
        False discovery rate at this cut of the instances given to ``fit``.
    highest_risk_ : float
        The highest rate of the instances given to ``fit`` that is enough for the guarantee.

    Notes
    -----
    The p-value is that of Hoeffding and Bentkus (equation 5 of Bates et al.). It grows with
    the observed rate, so that each test is a comparison with ``highest_risk_``. The order of the
    tests does not depend on the data, and the observed rate changes only at the scores of the
    instances: to test all of these is to test every number, and fixed-sequence testing (Bauer)
    controls the error for all of them. No grid is needed.

    The scores have to come from a classifier that was not trained on these instances; instances
    with labels that are not known are left out: see :class:`RiskControl`.

    References
    ----------
    A. Angelopoulos, S. Bates, E. Candès, M. Jordan, L. Lei. Learn then test: calibrating
    predictive algorithms to achieve risk control. arXiv 2110.01052, 2021.
    S. Bates, A. Angelopoulos, L. Lei, J. Malik, M. Jordan. Distribution-free, risk-controlling
    prediction sets. Journal of the ACM 68, 2021.

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
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "alpha": [Interval(Real, 0, 1, closed="neither")],
        "delta": [Interval(Real, 0, 1, closed="neither")],
    }
    _fitted: ClassVar[Declared] = {
        "cut_": number(finite=False),
        "risk_": number(),
        "highest_risk_": number(),
    }

    def __init__(self, alpha: float = 0.1, *, delta: float = 0.1):
        self.alpha = alpha
        self.delta = delta

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
            self.cut_ = float(np.nextafter(at[k - 1], -np.inf))
            self.risk_ = float(max(risk[k - 1], 0.0))

    def _sets(self, scores: Scores) -> Sets:
        return above(scores, self.cut_)


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
