"""AdaBoost.MR: boosting the ranking loss."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from plurilabel._core.base import LabelMatrix
from plurilabel._core.explanation.contributions import Parts
from plurilabel.learners.boosting._adaboost import AdaBoost
from plurilabel.learners.boosting._best_condition import bools_of
from plurilabel.learners.boosting._boosted_classifier import Rounds
from plurilabel.learners.boosting._rules import Columns, Floats, Weights
from plurilabel.thresholds import LinearThreshold


class AdaBoostMR(AdaBoost):
    """AdaBoost.MR: boosting the ranking loss, with rules that score all labels at once.

    It is in figures 2 and 3 of BoosTexter, the paper of :class:`AdaBoostMH`.

    Every crucial pair has a weight D(i, l0, l1), where l1 is a label of instance i and l0 is not.
    Each round finds a rule h for which Z = sum of D exp((h(x_i, l0) - h(x_i, l1)) / 2) is small,
    and pairs that it ranks wrongly gain weight. Since D(i, l0, l1) = v(i, l0) v(i, l1), a round
    costs as much as in :class:`AdaBoostMH`: linear in the number of labels, not quadratic.

    The sum f of the rules ranks labels, but does not say how many to predict.
    ``decision_function`` is f(x, l) - t(x), where the threshold t is linear in the scores of the
    instance and fitted to the training set (:class:`~plurilabel.LinearThreshold`); rankings do not
    change. ``ranking_function`` is f itself.

    Parameters
    ----------
    smoothing : float, default=None
        Added to W+ and W- in the logarithms (eps) and, unlike in the paper, for
        ``algorithm="discrete"`` to the weights of right and wrong answers; None is 1 / (n q).
    scoring : str, default=None
        With ``validation_fraction``: the held-out measure, one of rankings, by its name in
        :func:`~plurilabel.metrics.get_measure`. None is "ranking_loss".
    calibration_folds : int, default=None
        Number of folds of a cross-fit that fits the slope of the probabilities and the threshold
        to held-out scores, at the cost of as many fits.
    n_estimators, weak, algorithm, max_depth, rules, max_bins, validation_fraction, \
n_iter_no_change, random_state :
        As in :class:`AdaBoostMH`, with its defaults.

    Attributes
    ----------
    threshold_ : LinearThreshold
        The threshold t(x).
    bound_ : ndarray of shape (rounds,)
        Product of the Z_t after each round: an upper bound of the training ranking loss.
    rules_, feature_importances_, n_estimators_, slope_, validation_scores_, label_names_
        As in :class:`AdaBoostMH`.

    See Also
    --------
    AdaBoostMH : Boosts the Hamming loss; the notes on features apply here too.

    Notes
    -----
    The weak learner sees d(i, l), half the weight of the pairs that contain l. The paper has
    ``algorithm="discrete"`` only: h is +1 or -1, r = sum of d(i, l) Y_i[l] h(x_i, l), and the rule
    gets the weight alpha = ln((1 + r) / (1 - r)) / 2. That is infinite for a rule without error,
    so ``smoothing`` is added here, too, to the weights (1 + r) / 2 of right and (1 - r) / 2 of
    wrong answers: alpha = ln((1 + r + 2 eps) / (1 - r + 2 eps)) / 2.

    With real scores the smallest Z has no closed form, but
    exp((a + b) / 2) <= (exp(a) + exp(b)) / 2 gives
    Z <= sum of d(i, l) exp(-Y_i[l] h(x_i, l)), which is minimised as in AdaBoost.MH: this is
    "real", the default, because it is better on text: average precision of 200 rounds on bibtex is
    0.529 instead of 0.373.

    Instances with all labels or none only fit the threshold. Where the loss is minimal, the
    difference of two scores is the log-odds of one label without the other; hence the slope 1 of
    the probabilities, unless it is fitted.

    Examples
    --------
    >>> from plurilabel import AdaBoostMR, datasets, model_selection
    >>> from plurilabel.metrics import ranking_loss
    >>> data = datasets.load("digits")
    >>> X_train, X_test, Y_train, Y_test = model_selection.stratified_split(
    ...     data.X, data.Y, sizes=(0.7, 0.3), random_state=0)
    >>> learner = AdaBoostMR(20, max_bins=16).fit(X_train, Y_train)
    >>> round(float(learner.bound_[-1]), 2), round(
    ...     ranking_loss(Y_train, learner.decision_function(X_train)), 2)
    (0.37, 0.07)
    >>> round(ranking_loss(Y_test, learner.decision_function(X_test)), 2)
    0.08
    """

    _measure: ClassVar[str] = "ranking_loss"
    _slope: ClassVar[float] = 1.0
    _cut_at_zero: ClassVar[bool] = False

    def _rounds(self, X: Any, Y: LabelMatrix, weights: Weights) -> Rounds:
        """Figure 3 of the paper; yields h_t and Z_1 ... Z_t."""
        has, unknown = bools_of(Y)  # Y_i[l] = +1
        sign = np.where(has, -0.5, 0.5)
        lacks = ~has if unknown is None else ~(has | unknown)
        pairs = has.sum(axis=1) * lacks.sum(axis=1)  # |Y_i| |Y - Y_i|
        # instances without pairs have no weight
        m = (pairs > 0).sum() if weights is None else weights[pairs > 0].sum()
        if m == 0:
            return
        # D_1(i, l0, l1): the same for all pairs of an instance
        D_1 = np.divide(1.0, m * pairs, where=pairs > 0, out=np.zeros(len(pairs)))
        if weights is not None:
            D_1 *= weights

        def factors(f: Floats) -> tuple[Floats, Floats, Floats, float]:
            """v, with D(i, l0, l1) = D_1 v(i, l0) v(i, l1) / Z; its sums over l1 and l0; and Z."""
            # shifting the scores of an instance changes no pair, but keeps v in range
            v = np.exp(sign * (f - f.mean(axis=1, keepdims=True)))
            v1, v0 = (v * has).sum(axis=1), (v * lacks).sum(axis=1)
            return v, v1, v0, float(np.sum(D_1 * v1 * v0))

        columns = Columns(X)
        weak = self._weak_learner(X, columns, has, weights, unknown)
        f = np.zeros(has.shape)  # h_1 + ... + h_t
        v, v1, v0, Z = factors(f)
        for t in range(self.n_estimators):
            # d(i, l): half the weight of the pairs that contain l
            half = 0.5 * D_1 / Z
            d = v * np.where(has, (half * v0)[:, np.newaxis], (half * v1)[:, np.newaxis])
            if unknown is not None:
                d[unknown] = 0.0
            h = weak.rule(t, d)
            h.add_to(f, columns)
            v, v1, v0, Z = factors(f)
            yield h, Z

    def ranking_function(self, X: ArrayLike) -> Floats:
        """The scores f(x, l) of shape (n, q), before the threshold is subtracted."""
        return self._final(self._validate_predict(X))

    def _fit_cut(self, f: Floats, Y: LabelMatrix, weights: Floats | None) -> None:
        self.threshold_ = LinearThreshold().fit(f, Y, sample_weight=weights)

    def _minus_cut(self, f: Floats) -> Floats:
        return f - self.threshold_.cuts(f)[:, np.newaxis]

    def _parts_minus_cut(self, parts: Parts) -> Parts:
        return parts.minus_cut(self.threshold_)
