"""Ensembles of classifier chains."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any

from plurilabel.learners.transformation._base_models import seeded
from plurilabel.learners.transformation._chain import ChainMethod, ClassifierChain
from plurilabel.learners.transformation._ensemble import EnsembleClassifier


@dataclass(eq=False, repr=False)
class EnsembleOfChains(EnsembleClassifier):
    """Classifier chains in random orders, each trained on a sample of the instances.

    Parameters
    ----------
    estimator : classifier
        With ``predict_proba`` or ``decision_function``.
    n_estimators : int, default=10
        Number of chains.
    max_samples : float, default=0.67
        Fraction of the instances to train each chain on.
    bootstrap : bool, default=False
        Whether to draw the instances with replacement.
    voting : {"soft", "hard"}, default="soft"
        "soft": the score is the mean of the chains' scores, probabilities or decision values.
        "hard": the share of chains that predict the label, a probability with a cut at 0.5.
    cv, chain_method :
        As in :class:`ClassifierChain`, with its defaults.
    random_state : int, RandomState instance or None, default=None
        For orders, samples, and every ``random_state`` of the base estimator.
    n_jobs, verbose :
        As in :class:`BinaryRelevance`, for chains.

    Attributes
    ----------
    estimators_ : list of ClassifierChain

    Notes
    -----
    The paper adds up the chains' 0/1 predictions, which is ``voting="hard"``, and tunes the cut
    to the training set's label cardinality; for that, wrap the learner in
    ``ThresholdClassifier(..., "cardinality")``. The default is "soft" because ten votes leave many
    ties, and ties count against a ranking. With logistic regression on the hold-outs of emotions,
    scene and yeast the ranking loss is 0.167, 0.096 and 0.186 ("soft"), 0.245, 0.182 and 0.268
    ("hard"). If labels are rare, samples may miss some, and ``max_samples=1.0`` does better.

    References
    ----------
    J. Read, B. Pfahringer, G. Holmes, E. Frank. Classifier chains for multi-label
    classification. Machine Learning 85(3), 2011. Samples of 67% are from its first version,
    ECML PKDD 2009.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from plurilabel import EnsembleOfChains, datasets, model_selection
    >>> data = datasets.load("digits")
    >>> X_train, X_test, Y_train, Y_test = model_selection.stratified_split(
    ...     data.X / 16, data.Y, sizes=(0.7, 0.3), random_state=0)
    >>> learner = EnsembleOfChains(LogisticRegression(max_iter=500), random_state=0)
    >>> round(learner.fit(X_train, Y_train).score(X_test, Y_test), 1)
    0.8
    """

    _learns_from_known = True
    _: KW_ONLY
    cv: Annotated[Any, "cv_object"] = None
    chain_method: ChainMethod = "predict"

    def _member(self, seed: int) -> ClassifierChain:
        given = {"cv": self.cv, "chain_method": self.chain_method}
        return seeded(ClassifierChain(self.estimator, order="random", **given), seed)
