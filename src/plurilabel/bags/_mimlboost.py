"""MIMLBoost: the label becomes part of the instance, and bags are boosted."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from scipy.optimize import brentq
from sklearn.base import clone
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import check_random_state

from plurilabel._core.base import LabelMatrix, ScoringClassifier
from plurilabel._core.blocks import dense
from plurilabel._core.compat import HasMethods
from plurilabel._core.data.bags import Bags
from plurilabel._core.explanation.contributions import SCORE, Given
from plurilabel._core.fitted import Declared, numbers, values
from plurilabel.bags._bag_classifier import BagClassifier, BagExplanation, explanations

_LARGEST_C = 50.0  # of unbounded weights: exp(-50) is 0 for all purposes


@dataclass(eq=False, repr=False)
class MIMLBoost(BagClassifier, ScoringClassifier):
    """Boosting of bags, with labels as part of the instances.

    A bag with its label set becomes q bags, one for each label y: its instances x are completed to
    [x, y], and it is positive if the bag has the label. These are learned by MIBoosting: in
    each round, a classifier h of instances is trained with the sign of its bag for each instance,
    and a bag is wrong to the share e of its instances that h gets wrong. The weight c of h
    minimises the sum of w exp((2e - 1) c) over the bags, which are weighted anew by that factor.
    The score of a label is the mean over the instances of the weighted votes.

    Parameters
    ----------
    estimator : classifier that takes sample_weight, default=None
        Trained on instances. None: a decision tree of depth 8.
    n_estimators : int, default=25
        Number of rounds; fewer if a round is no better than chance, or right for most of each bag.
    random_state : int, RandomState instance or None, default=None
        For estimators that have a ``random_state``.
    n_jobs : int, default=None
        Number of labels to train in parallel, in threads. The result does not depend on it.

    Attributes
    ----------
    estimators_ : list of lists of estimators
        In each round one for each label; None for labels that all or no bags have.
    estimator_weights_ : ndarray of shape (rounds,)
        c, divided by their sum: scores lie between -1 and 1.

    Notes
    -----
    The label is a nominal attribute on which every hypothesis splits first: h consists of one
    classifier per label, of x alone. The authors append the number of the label to x instead and
    train a support vector machine on a weighted resample of the q N instances [x, y]; on the
    2,000 image bags these are 90,000. With depth 8 and 25 rounds, trees on x with the label as
    binary features gave average precision .797, one tree for each label .818 (a random
    hold-out of a third of the image bags).

    If the first round already gets more than half of the instances of every bag right, it is kept
    and alone decides; the paper's step 3 would leave nothing.

    References
    ----------
    Z.-H. Zhou, M.-L. Zhang. Multi-instance multi-label learning with application to scene
    classification. NIPS 19, 2006.

    X. Xu, E. Frank. Logistic regression and boosting for labeled bags of instances. PAKDD 2004
    (MIBoosting).

    Examples
    --------
    >>> from plurilabel.bags import Bags
    >>> from plurilabel import MIMLBoost
    >>> bags = Bags([[[0.0], [0.1]], [[0.2]], [[5.0], [0.1]], [[5.1]], [[4.9], [5.2]], [[0.0]]])
    >>> Y = [[1, 0], [1, 0], [1, 1], [0, 1], [0, 1], [1, 0]]
    >>> learner = MIMLBoost(random_state=0).fit(bags, Y)
    >>> learner.predict([[[0.2], [0.0]], [[5.0], [5.1]]])
    array([[1, 0],
           [0, 1]])
    """

    _fitted: ClassVar[Declared] = {
        "estimators_": values("m"),
        "estimator_weights_": numbers("m"),
        "constant_": numbers("n_labels_"),
    }

    estimator: Annotated[Any, HasMethods(["fit", "predict"])] | None = None
    _: KW_ONLY
    n_estimators: int = 25
    random_state: Any = None
    n_jobs: int | None = None

    def _fit(self, X: Bags, Y: LabelMatrix) -> None:
        Y = dense(Y)
        n, q = Y.shape
        random = check_random_state(self.random_state)
        n_l = Y.sum(axis=0, dtype=np.int64)
        self.constant_ = np.where(n_l == 0, -1.0, 1.0)  # where there is no estimator
        learned = (n_l > 0) & (n_l < n)
        W = np.full((n, q), 1 / (n * q))
        self.estimators_: list[list[Any]] = []
        weights: list[float] = []
        for _ in range(self.n_estimators):
            h = [self._new(random) if use else None for use in learned]
            errors = Parallel(n_jobs=self.n_jobs, require="sharedmem")(
                delayed(_train)(h[l], X, Y[:, l], W[:, l]) for l in range(q)
            )
            e = np.column_stack(errors)  # (n, q)
            separated = (e < 0.5).all()
            if separated and weights:
                break
            c = 1.0 if separated else _best_weight(W, 2 * e - 1)
            if c <= 0:
                break
            self.estimators_.append(h)
            weights.append(c)
            if separated:
                break
            W *= np.exp((2 * e - 1) * c)
            W /= W.sum()
        self.estimator_weights_ = np.array(weights) / (sum(weights) or 1.0)

    def _new(self, random: np.random.RandomState) -> Any:
        tree = DecisionTreeClassifier(max_depth=8)
        new = tree if self.estimator is None else clone(self.estimator)
        seeds = {
            key: random.randint(np.iinfo(np.int32).max)
            for key in sorted(new.get_params())
            if key == "random_state" or key.endswith("__random_state")
        }
        return new.set_params(**seeds)

    def _votes(self, X: Bags) -> NDArray[np.float64]:
        """The weighted votes of each instance (N, q)."""
        votes = np.zeros((X.instances.shape[0], self.n_labels_))
        for h, c in zip(self.estimators_, self.estimator_weights_):
            for l, one in enumerate(h):
                vote = self.constant_[l] if one is None else 2.0 * one.predict(X.instances) - 1
                votes[:, l] += c * vote
        return votes

    def _scores(self, X: Bags) -> NDArray[np.float64]:
        return _bag_means(self._votes(X), X)

    def _explain(self, X: Bags, _: Given) -> list[BagExplanation]:
        """The shares of a bag's instances, which add up to its score."""
        alone = self._votes(X)
        shares = alone / np.repeat(X.sizes, X.sizes)[:, None]
        return explanations(X, _bag_means(alone, X), shares, alone, self, SCORE)


def _train(h: Any, X: Bags, y: NDArray[np.int8], w: NDArray[np.float64]) -> NDArray[np.float64]:
    """Train h on the instances of weighted bags; the share that is wrong in each bag (n,)."""
    if h is None:
        return np.zeros(len(X))
    signs = np.repeat(y, X.sizes)
    weights = np.repeat(w / X.sizes, X.sizes)
    total = weights.sum()
    # 0 if everything is right and exp underflows
    weights = weights * (len(weights) / total) if total > 0 else np.ones(len(weights))
    h.fit(X.instances, signs, sample_weight=weights)
    return _bag_means((h.predict(X.instances) != signs).astype(np.float64)[:, None], X)[:, 0]


def _best_weight(W: NDArray[np.float64], a: NDArray[np.float64]) -> float:
    """The c that minimises the sum of W exp(a c), which is convex: where its slope is 0."""

    def slope(c: float) -> float:
        return float((W * a * np.exp(a * c)).sum())

    if slope(0.0) >= 0:
        return 0.0
    if slope(_LARGEST_C) <= 0:
        return _LARGEST_C
    return float(brentq(slope, 0.0, _LARGEST_C))


def _bag_means(values: NDArray[np.float64], X: Bags) -> NDArray[np.float64]:
    """Means over the instances of each bag (n, ...)."""
    return np.add.reduceat(values, X.offsets[:-1], axis=0) / X.sizes[:, None]
