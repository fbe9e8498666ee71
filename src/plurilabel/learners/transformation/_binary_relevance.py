"""Binary relevance: a model for each label."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.metaestimators import available_if

from plurilabel._core.base import LabelMatrix
from plurilabel._core.compat import StrOptions
from plurilabel._core.explanation.contributions import Given, Parts
from plurilabel._core.fitted import Declared, parameter, values
from plurilabel._core.soft import needs_copies
from plurilabel.learners.transformation._base_models import (
    MANY_MODELS,
    explain_each,
    fit_each,
    fit_more,
    score_each,
    weight_parameter,
)
from plurilabel.learners.transformation._transformation_classifier import TransformationClassifier
from plurilabel.thresholds import never_empty


class BinaryRelevance(TransformationClassifier):
    """One binary model for each label, independent of each other.

    For label j the base estimator is trained on all instances, positive where they have j. The
    set predicted is {j : g_j(x) > cut}.

    Parameters
    ----------
    estimator : classifier
        With ``predict_proba`` (scores are probabilities, cut at 0.5) or ``decision_function``
        (cut at 0).
    nonempty : bool, default=False
        The T-criterion: where no label would be predicted, the one with the highest score is.
    label_weight : {"balanced"}, default=None
        "balanced": the instances that have a label weigh together as much as those that lack it,
        by the base estimator's ``sample_weight``. More rare labels are then predicted, and
        probabilities are of labels that half of the instances had.
    n_jobs : int, default=None
        Number of labels to train in parallel, in threads. The result does not depend on it.
    verbose : int, default=0
        Verbosity of joblib.

    Attributes
    ----------
    estimators_ : list of q fitted clones of ``estimator``
        Labels may share one (see the notes). A label that is in no training instance, or in all
        of them, is never given to ``estimator``: it has a ``DummyClassifier`` here, and its
        probability is 0 or 1.
    label_names_ : ndarray of shape (q,)

    See Also
    --------
    plurilabel.ThresholdClassifier : Other cuts.
    sklearn.multiclass.OneVsRestClassifier : The same predictions, without label names, constant
        labels without warnings, or the T-criterion.

    Notes
    -----
    Labels may be unknown: each is learned from the instances that have a known value of it. A
    label that is known of no instance has the probability 0.

    ``partial_fit`` exists if the base estimator has it, as ``SGDClassifier`` does.

    Besides X, memory holds the models and, during training, one dense label per worker.

    ``KNeighborsClassifier``, ``RadiusNeighborsClassifier`` and ``RidgeClassifier`` (without class
    weights) are fitted once to all labels if y is dense: one neighbour search, one factorised
    matrix, the same scores. With a kernel SVM, pass the kernel matrix as X.

    References
    ----------
    M. Boutell, J. Luo, X. Shen, C. Brown. Learning multi-label scene classification.
    Pattern Recognition 37, 2004. M.-L. Zhang, Z.-H. Zhou. A review on multi-label learning
    algorithms. IEEE TKDE 26(8), 2014, section 3.2.1.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from plurilabel import BinaryRelevance
    >>> X = [[0.0], [1.0], [2.0], [3.0]]
    >>> Y = [[1, 0], [1, 0], [0, 0], [0, 1]]
    >>> learner = BinaryRelevance(LogisticRegression()).fit(X, Y)
    >>> learner.predict([[-1.0], [1.8], [4.0]])
    array([[1, 0],
           [0, 0],
           [0, 1]])
    >>> learner.set_params(nonempty=True).fit(X, Y).predict([[1.8]])
    array([[1, 0]])
    """

    _learns_from_known = True
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **MANY_MODELS,
        "nonempty": ["boolean"],
        "label_weight": [StrOptions({"balanced"}), None],
    }
    _fitted: ClassVar[Declared] = {"estimators_": values("n_labels_"), "nonempty_": parameter()}

    def __init__(
        self,
        estimator: Any,
        *,
        nonempty: bool = False,
        label_weight: str | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ):
        self.estimator = estimator
        self.nonempty = nonempty
        self.label_weight = label_weight
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _fit(self, X: Any, Y: LabelMatrix, **params: Any) -> None:
        self.nonempty_ = self.nonempty
        balanced = self.label_weight is not None
        if balanced and weight_parameter(self.estimator) is None:
            raise ValueError(
                f'label_weight="balanced" needs a base estimator that takes sample_weight, got '
                f"{type(self.estimator).__name__}"
            )
        jobs, verbose = self.n_jobs, self.verbose
        self.estimators_ = fit_each(
            self.estimator, X, Y, params, balanced=balanced, n_jobs=jobs, verbose=verbose
        )

    @available_if(lambda self: hasattr(self.estimator, "partial_fit"))
    def partial_fit(
        self, X: Any, y: Any, classes: ArrayLike | None = None, sample_weight: Any = None
    ) -> Self:
        """Learn from further instances, by the base estimator's ``partial_fit``.

        All labels have a model from the first call on. A label that ``fit`` found in no instance,
        or in all, has none yet, and starts with these instances.

        Parameters
        ----------
        X, y : as in ``fit``, soft labels included
        classes : array of shape (n_classes,), optional
            All classes that may occur, for a 1-D y at the first call.
        sample_weight : array-like of shape (n,) or (n, q), default=None

        Returns
        -------
        self
        """
        if self.label_weight is not None:
            raise ValueError(
                "label_weight must be None for partial_fit, which does not see all instances, "
                f"got {self.label_weight!r}"
            )
        params = {"sample_weight": sample_weight}
        if needs_copies(y, sample_weight):
            X, y, params = self._copies(X, y, params)
        first = not hasattr(self, "estimators_")
        X, Y = self._validate_fit(X, y, classes) if first else self._validate_more(X, y)
        if first:
            self._look_at_estimator()
            self.nonempty_ = self.nonempty
        params = self._routed(X, params)
        models = [None] * self.n_labels_ if first else self.estimators_
        self.estimators_ = fit_more(self.estimator, models, X, Y, params, n_jobs=self.n_jobs)
        return self

    def _scores(self, X: Any) -> NDArray[np.floating]:
        return score_each(self.estimators_, X, self._score_method(), n_jobs=self.n_jobs)

    def _parts(self, x: Any, given: Given) -> Parts:
        return explain_each(self.estimators_, x, self._score_method(), given)

    def _predict(self, X: Any) -> NDArray[np.bool_]:
        scores = self._scores(X)
        sets = scores > self._cut
        return never_empty(sets, scores) == 1 if self.nonempty_ else sets
