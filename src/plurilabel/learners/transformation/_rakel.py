"""RAkEL: label powersets over random sets of k labels."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from itertools import combinations
from math import comb
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from plurilabel._core.base import LabelMatrix
from plurilabel._core.blocks import dense
from plurilabel._core.compat import AtLeastOne, Natural
from plurilabel._core.explanation.contributions import Given, Parts
from plurilabel._core.fitted import Declared, lists_of_places, values
from plurilabel._core.limits import check_size
from plurilabel.learners.transformation import _base_models as base
from plurilabel.learners.transformation._ensemble import VotingClassifier
from plurilabel.learners.transformation._label_powerset import distinct_sets
from plurilabel.learners.transformation._partition import partition_labels
from plurilabel.learners.transformation._pruned_sets import PrunedSets


@dataclass(eq=False, repr=False)
class RAkEL(VotingClassifier):
    """Random k-labelsets: many small label powersets vote.

    Each model is a label powerset over k of the q labels. A label is predicted if mu / tau > 0.5,
    where tau is the number of models whose k labels include it, and mu the number of those that
    predict it.

    Parameters
    ----------
    estimator : classifier
        Multi-class, with ``predict_proba`` or ``decision_function``.
    labelset_size : int, default=3
        Number of labels in a labelset (k); all labels if there are fewer.
    n_estimators : int, default=None
        Number of labelsets; None for 2 q. Labelsets are added for labels that none includes. Not
        used for disjoint labelsets, of which there are q / k, rounded up.
    overlapping : bool, default=True
        Whether labelsets may share labels. If not, each label has one model.
    label_sets : {"random", "co-occurrence"}, default="random"
        How to form disjoint labelsets: at random, or by :func:`partition_labels`, which keeps
        labels that occur together. Overlapping labelsets are random.
    voting : {"hard", "soft"}, default="hard"
        "hard", as in the paper: a model votes with the label set that it predicts. "soft": with
        its scores, probabilities or decision values.
    pruning_threshold : int, default=0
        Prune sets of the k labels seen at most this often, as :class:`PrunedSets` does.
    random_state : int, RandomState instance or None, default=None
        For the labelsets and every ``random_state`` of the base estimator.
    n_jobs, verbose :
        As in :class:`BinaryRelevance`, for models.

    Attributes
    ----------
    labelsets_ : list of ndarray
        The labels of each model.
    estimators_ : list of PrunedSets

    Notes
    -----
    Few models leave many ties, which count against a ranking: on the yeast hold-out with logistic
    regression the ranking loss is 0.320 with "hard" and 0.185 with "soft" votes.

    Linear models need 8 d bytes for each class of each labelset; a fit that needs more than 4 GB
    is refused (see :doc:`/guides/large-label-spaces`).

    In the paper, labels in no labelset have no votes: with 2 q sets of 3 labels about one label in
    400. Here labelsets are added for them.

    References
    ----------
    G. Tsoumakas, I. Katakis, I. Vlahavas. Random k-labelsets for multilabel classification.
    IEEE TKDE 23(7), 2011.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from plurilabel import RAkEL, datasets, model_selection
    >>> data = datasets.load("digits")
    >>> X_train, X_test, Y_train, Y_test = model_selection.stratified_split(
    ...     data.X / 16, data.Y, sizes=(0.7, 0.3), random_state=0)
    >>> learner = RAkEL(LogisticRegression(max_iter=500), random_state=0).fit(X_train, Y_train)
    >>> len(learner.estimators_)
    14
    >>> round(learner.score(X_test, Y_test), 1)
    0.9
    """

    _fitted: ClassVar[Declared] = {
        "estimators_": values("n_models"),
        "labelsets_": lists_of_places("n_models", below="n_labels_"),
    }

    estimator: Any
    _: KW_ONLY
    labelset_size: AtLeastOne = 3
    n_estimators: AtLeastOne | None = None
    overlapping: bool = True
    label_sets: Literal["random", "co-occurrence"] = "random"
    voting: Literal["hard", "soft"] = "hard"
    pruning_threshold: Natural = 0
    random_state: Any = None
    n_jobs: int | None = None
    verbose: int = 0

    def _fit(self, X: Any, Y: LabelMatrix, **params: Any) -> None:
        self.voting_ = self.voting

        def fit(labels: NDArray[np.intp], seed: int) -> PrunedSets:
            one = base.seeded(self.estimator, seed)
            member = PrunedSets(one, pruning_threshold=self.pruning_threshold)
            return member._fit_inside(X, dense(Y[:, labels]), **params)

        rng = check_random_state(self.random_state)
        self.labelsets_ = self._draw_labelsets(Y, rng, params.get("sample_weight"))
        # the size of linear models, from the label sets of the first labelsets
        m, some = len(self.labelsets_), self.labelsets_[:20]
        classes = np.mean([distinct_sets(Y[:, labels])[0].shape[0] for labels in some])
        memory = 8.0 * m * classes * X.shape[1] if isinstance(self.estimator, base.LINEAR) else 0.0
        instead = "overlapping=False, a smaller n_estimators, or BinaryRelevance"
        check_size(self, f"{m:,} labelsets", models=m, memory=memory, instead=instead)
        jobs = zip(self.labelsets_, base.draw_seeds(rng, len(self.labelsets_)))
        self.estimators_ = base.in_parallel(fit, jobs, n_jobs=self.n_jobs, verbose=self.verbose)

    def _draw_labelsets(self, Y: LabelMatrix, rng: Any, weights: Any) -> list[NDArray[np.intp]]:
        q = Y.shape[1]
        k = min(self.labelset_size, q)
        if self.overlapping:
            m = 2 * q if self.n_estimators is None else self.n_estimators
            return draw_labelsets(q, k, m, rng)
        if self.label_sets == "random":
            return [np.sort(part) for part in np.array_split(rng.permutation(q), -(-q // k))]
        return partition_labels(Y, -(-q // k), random_state=rng, sample_weight=weights)

    def _scores(self, X: Any) -> NDArray[np.floating]:
        mu, tau = np.zeros((X.shape[0], self.n_labels_)), np.zeros(self.n_labels_)
        for labels, vote in zip(self.labelsets_, self._votes(X)):
            mu[:, labels] += vote
            tau[labels] += 1
        return mu / tau

    def _parts(self, x: Any, given: Given) -> Parts:
        return self._mean_parts(x, given, self.labelsets_)


def draw_labelsets(q: int, k: int, m: int, rng: np.random.RandomState) -> list[NDArray[np.intp]]:
    """Draw m different sets of k of q labels, and further ones for labels in none of them."""
    possible = comb(q, k)
    chosen: dict[tuple[int, ...], None] = {}
    if possible <= 10_000:  # list all; otherwise a set is hardly ever drawn twice
        every = list(combinations(range(q), k))
        drawn = rng.permutation(possible)[:m]
        chosen = dict.fromkeys(every[i] for i in drawn)
    while len(chosen) < min(m, possible):
        chosen[tuple(sorted(rng.permutation(q)[:k].tolist()))] = None
    left = set(range(q)).difference(*chosen)
    while left:
        others = [l for l in rng.permutation(q).tolist() if l != min(left)]
        added = tuple(sorted([min(left), *others[: k - 1]]))
        chosen[added] = None
        left -= set(added)
    return [np.array(labels, dtype=np.intp) for labels in chosen]
