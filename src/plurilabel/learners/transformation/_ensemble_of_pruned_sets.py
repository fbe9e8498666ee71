"""Ensembles of pruned sets."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Literal

from plurilabel._core.compat import Natural
from plurilabel.learners.transformation._base_models import seeded
from plurilabel.learners.transformation._ensemble import EnsembleClassifier
from plurilabel.learners.transformation._pruned_sets import PrunedSets


@dataclass(eq=False, repr=False)
class EnsembleOfPrunedSets(EnsembleClassifier):
    """Pruned sets, each trained on a sample of the instances; their votes can form new label sets.

    The paper is that of :class:`PrunedSets`.

    Parameters
    ----------
    estimator : classifier
        Multi-class, with ``predict_proba`` or ``decision_function``.
    n_estimators : int, default=10
        Number of models.
    pruning_threshold, reintroduce, limit :
        As in :class:`PrunedSets`, with its defaults.
    max_samples : float, default=0.63
        Fraction of the instances to train each model on.
    voting : {"hard", "soft"}, default="hard"
        "hard", as in the paper: the share of models whose label set has the label, a
        probability with a cut at 0.5. "soft": the mean of the models' scores.
    bootstrap, random_state, n_jobs, verbose :
        As in :class:`EnsembleOfChains`.

    Attributes
    ----------
    estimators_ : list of PrunedSets

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from plurilabel import EnsembleOfPrunedSets, datasets, model_selection
    >>> data = datasets.load("digits")
    >>> X_train, X_test, Y_train, Y_test = model_selection.stratified_split(
    ...     data.X / 16, data.Y, sizes=(0.7, 0.3), random_state=0)
    >>> learner = EnsembleOfPrunedSets(LogisticRegression(max_iter=500), random_state=0)
    >>> round(learner.fit(X_train, Y_train).score(X_test, Y_test), 2)
    0.97
    """

    _: KW_ONLY
    pruning_threshold: Natural = 1
    reintroduce: Literal["a", "b"] | None = "a"
    limit: Natural = 2
    max_samples: float = 0.63
    voting: Literal["hard", "soft"] = "hard"

    def _member(self, seed: int) -> PrunedSets:
        names = ("pruning_threshold", "reintroduce", "limit")
        pruning = {name: getattr(self, name) for name in names}
        return seeded(PrunedSets(self.estimator, **pruning), seed)
