"""AdaBoost.MH: boosting the Hamming loss."""

from __future__ import annotations

from typing import Any

import numpy as np

from plurilabel._core.base import LabelMatrix
from plurilabel.learners.boosting._adaboost import AdaBoost
from plurilabel.learners.boosting._best_condition import PairWeights, bools_of
from plurilabel.learners.boosting._boosted_classifier import Rounds
from plurilabel.learners.boosting._rules import Columns, Weights


class AdaBoostMH(AdaBoost):
    """AdaBoost.MH: boosting the Hamming loss, with rules that score all labels at once.

    Every pair of an instance and a label has a weight, at first 1 / (n q). Each round finds the
    rule h(x, l) that minimises Z = sum of D(i, l) exp(-Y_i[l] h(x_i, l)), where Y is +1 or -1.
    Then the weights become D(i, l) exp(-Y_i[l] h(x_i, l)) / Z: pairs that the rule gets wrong gain
    weight. The score of a label is the sum of all h, and labels with positive scores are
    predicted. A rule divides the instances into blocks. In each block a label gets the score
    ln((W+ + eps) / (W- + eps)) / 2, where W+ and W- are the weights of the instances in the
    block that have and lack the label, which leaves Z = 2 sum of sqrt(W+ W-).

    Parameters
    ----------
    n_estimators : int, default=50
        Number of rounds; each adds one rule.
    weak : {"stump", "tree"}, default="stump"
        The rule of a round: one condition, or a tree of conditions.
    algorithm : {"real", "discrete", "abstain"}, default="real"
        How a rule predicts. "real": a score for each label on both sides of the condition.
        "discrete": +1 or -1 for each label, times one weight for the rule. "abstain": like
        "real", but on one side only; a word rule predicts where the word is present.
    max_depth : int, default=3
        Depth of the tree, for ``weak="tree"``.
    rules : {"auto", "threshold", "presence"}, default="auto"
        What a condition tests. "threshold": is the feature above a value? "presence": is it not
        zero? "auto" is "presence" if at least 90% of the training values are zero, as in texts,
        whether or not X is stored as a sparse matrix.
    max_bins : int or None, default=None
        Maximum number of bins per feature. None finds the best of all cuts; about 256 bins are
        twice as fast with many labels, and seldom worse.
    smoothing : float, default=None
        Added to W+ and W- in the logarithms (eps); None is 1 / (n q), as in the paper. For
        ``algorithm="discrete"``, which the paper does not smooth, it is added to the weights of
        all right and wrong answers of a rule.
    validation_fraction : float, default=None
        Fraction of the training set to hold out for early stopping; None disables it.
    n_iter_no_change : int, default=10
        With ``validation_fraction``: stop after this many rounds without a better measure.
    scoring : str, default=None
        With ``validation_fraction``: the held-out measure, by its name in
        :func:`~plurilabel.metrics.get_measure`. None is "hamming_loss".
    calibration_folds : int, default=None
        Folds of a cross-fit for the slope of the probabilities, which needs as many fits.
    random_state : int, RandomState instance or None, default=None
        For the held-out part and the folds.

    Attributes
    ----------
    rules_ : list of WeakRule
        The rules; ``to_text`` describes them.
    presence_ : bool
        Whether conditions test for presence instead of thresholds.
    bound_ : ndarray of shape (rounds,)
        Product of the Z_t after each round: an upper bound of the training Hamming loss.
    feature_importances_ : ndarray of shape (d,)
        Share of each feature in the decrease of the logarithm of the bound.
    n_estimators_ : int
        Number of rules kept; fewer than ``n_estimators`` after early stopping or if none helps.
    slope_ : float
        ``predict_proba`` is the logistic function of ``slope_`` times ``decision_function``.
    validation_scores_ : ndarray
        The held-out measure after each round; empty if nothing was held out.

    See Also
    --------
    AdaBoostMR : Boosts the ranking of the labels instead.
    ADTBoostMH : Arranges the rules in one tree.

    Notes
    -----
    **Features.** A round sums the weights in bins of the sorted values by one sparse product and
    searches only the bins that can hold the best cut. It costs about n d q operations, or the
    non-zeros of a sparse X times q; X is never made dense. The weights take 36 n q bytes (52 for
    trees), also for a sparse Y; a fit that needs more than 4 GB is refused. Rules abstain on
    missing values (NaN).

    **Probabilities.** The expected loss is minimal where P(label) = 1 / (1 + exp(-2 f)). After
    many rounds this is overconfident; ``calibration_folds``, or the part held out by
    ``validation_fraction``, replaces the 2 by the slope that makes held-out labels most likely,
    and changes neither rankings nor predictions. On medical after 200 rounds it lowers the log
    loss per pair from 0.120 to 0.046.

    **Departures.** Rules whose Z differ by less than 1e-9 are ties; the first feature and the
    lowest cut win, so that the order of the rows does not matter. With ``algorithm="abstain"`` the
    first rule scores all instances alike, so that every instance has scores. The paper abstains on
    words only; here a threshold rule may abstain on either side. Thresholds, missing values and
    trees, which are grown by the same Z, are not in the paper. Boosting ends before
    ``n_estimators`` if a round leaves Z at 1.

    References
    ----------
    R. E. Schapire, Y. Singer. BoosTexter: a boosting-based system for text categorization. Machine
    Learning 39(2/3), 2000.

    R. E. Schapire, Y. Singer. Improved boosting algorithms using confidence-rated predictions.
    Machine Learning 37(3), 1999.

    Examples
    --------
    >>> from sklearn.feature_extraction.text import CountVectorizer
    >>> from plurilabel import AdaBoostMH
    >>> texts = ["a late goal", "the goal of the vote", "vote for the bill", "rain and wind",
    ...          "a goal in the rain", "the vote is late"]
    >>> Y = [[1, 0], [1, 1], [0, 1], [0, 0], [1, 0], [0, 1]]
    >>> words = CountVectorizer()
    >>> X = words.fit_transform(texts)
    >>> learner = AdaBoostMH(2, rules="presence").fit(X, Y)
    >>> learner.predict(words.transform(["what a goal", "no vote"]))
    array([[1, 0],
           [0, 1]])
    >>> print(learner.to_text(feature_names=words.get_feature_names_out()))
    1. word 'goal' present: label0 +0.69, label1 -0.2
       word 'goal' absent: label0 -0.69, label1 +0.2
    2. word 'vote' present: label1 +0.8, label0 -0.17
       word 'vote' absent: label1 -0.8, label0 +0.17
    """

    def _bytes(self) -> float:
        return 36.0 if self.weak == "stump" else super()._bytes()

    def _rounds(self, X: Any, Y: LabelMatrix, weights: Weights) -> Rounds:
        """Figure 1 of the paper; yields h_t and Z_1 ... Z_t."""
        has, unknown = bools_of(Y)  # Y_i[l] = +1
        columns = Columns(X)
        weak = self._weak_learner(X, columns, has, weights, unknown)
        f = np.zeros(has.shape)  # h_1 + ... + h_t
        pairs = PairWeights(has, weights, unknown)
        for t in range(self.n_estimators):
            h = weak.rule(t, pairs.D)  # of smallest Z_t
            h.add_to(f, columns)
            yield h, pairs.update(f)
