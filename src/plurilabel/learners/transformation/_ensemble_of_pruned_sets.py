"""Ensembles of pruned sets."""

from __future__ import annotations

from typing import Any, ClassVar

from plurilabel.learners.transformation._base_models import seeded
from plurilabel.learners.transformation._ensemble import ENSEMBLE, EnsembleClassifier
from plurilabel.learners.transformation._pruned_sets import PRUNING, PrunedSets


class EnsembleOfPrunedSets(EnsembleClassifier):
    """Pruned sets, each trained on a sample of the instances; their votes can form new label sets.

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
    bootstrap : bool, default=False
        Whether to draw the instances with replacement.
    voting : {"hard", "soft"}, default="hard"
        "hard", as in the paper: the share of models whose label set has the label, a
        probability with a cut at 0.5. "soft": the mean of the models' scores.
    random_state : int, RandomState instance or None, default=None
        For samples and every ``random_state`` of the base estimator.
    n_jobs : int, default=None
        Number of models to train in parallel, in threads. The result does not depend on it.
    verbose : int, default=0
        Verbosity of joblib.

    Attributes
    ----------
    estimators_ : list of PrunedSets
    label_names_ : ndarray of shape (q,)

    References
    ----------
    J. Read, B. Pfahringer, G. Holmes. Multi-label classification using ensembles of pruned sets.
    ICDM 2008.

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

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {**ENSEMBLE, **PRUNING}

    def __init__(
        self,
        estimator: Any,
        *,
        n_estimators: int = 10,
        pruning_threshold: int = 1,
        reintroduce: str | None = "a",
        limit: int = 2,
        max_samples: float = 0.63,
        bootstrap: bool = False,
        voting: str = "hard",
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ):
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.pruning_threshold = pruning_threshold
        self.reintroduce = reintroduce
        self.limit = limit
        self.max_samples = max_samples
        self.bootstrap = bootstrap
        self.voting = voting
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _member(self, seed: int) -> PrunedSets:
        pruning = {name: getattr(self, name) for name in PRUNING}
        return seeded(PrunedSets(self.estimator, **pruning), seed)
