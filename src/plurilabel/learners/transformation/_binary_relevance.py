"""Binary relevance: a model for each label."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.metaestimators import available_if

from plurilabel._core.base import LabelMatrix
from plurilabel._core.explanation.contributions import Given, Parts
from plurilabel._core.fitted import Declared, parameter, values
from plurilabel._core.soft import needs_copies
from plurilabel.learners.transformation import _base_models as base
from plurilabel.learners.transformation._transformation_classifier import TransformationClassifier
from plurilabel.thresholds import never_empty


@dataclass(eq=False, repr=False)
class BinaryRelevance(TransformationClassifier):
    """One binary model for each label, independent of each other.

    The model g_j of label j is trained on all instances, those with the label being positive. The
    predicted set is {j : g_j(x) > cut}.

    Parameters
    ----------
    estimator : classifier
        With ``predict_proba`` (scores are probabilities, cut at 0.5) or ``decision_function``
        (cut at 0).
    nonempty : bool, default=False
        Whether to predict the label with the highest score where none is above the cut
        (T-criterion).
    label_weight : {"balanced"}, default=None
        "balanced" gives the instances with and without a label the same total weight, through the
        base estimator's ``sample_weight``. Rare labels are then predicted more often, and
        probabilities are those of labels that half of the instances have.
    n_jobs : int, default=None
        Number of labels to train in parallel, in threads. The result does not depend on it.
    verbose : int, default=0
        Verbosity of joblib.

    Attributes
    ----------
    estimators_ : list of q fitted clones of ``estimator``
        Labels may share one (see the notes). A label that all or no training instances have gets
        a ``DummyClassifier``, and its probability is 1 or 0.

    See Also
    --------
    plurilabel.ThresholdClassifier : Other cuts.
    sklearn.multiclass.OneVsRestClassifier : The same predictions, without label names or the
        T-criterion, and with warnings for constant labels.

    Notes
    -----
    Labels may be unknown: each is learned from the instances where it is known. A label that is
    never known has probability 0.

    ``partial_fit`` is available if the base estimator has it, as ``SGDClassifier`` does.

    ``KNeighborsClassifier``, ``RadiusNeighborsClassifier`` and ``RidgeClassifier`` (without class
    weights) are fitted once to all labels of a dense y: the scores are the same, with a single
    neighbour search or factorisation. With a kernel SVM, pass the kernel matrix as X.

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
    _fitted: ClassVar[Declared] = {"estimators_": values("n_labels_"), "nonempty_": parameter()}

    estimator: Any
    _: KW_ONLY
    nonempty: bool = False
    label_weight: Literal["balanced"] | None = None
    n_jobs: int | None = None
    verbose: int = 0

    def _fit(self, X: Any, Y: LabelMatrix, **params: Any) -> None:
        self.nonempty_ = self.nonempty
        balanced = self.label_weight is not None
        if balanced and base.weight_parameter(self.estimator) is None:
            raise ValueError(
                f'label_weight="balanced" needs a base estimator that takes sample_weight, got '
                f"{type(self.estimator).__name__}"
            )
        how: Any = {"balanced": balanced, "n_jobs": self.n_jobs, "verbose": self.verbose}
        self.estimators_ = base.fit_each(self.estimator, X, Y, params, **how)

    @available_if(lambda self: hasattr(self.estimator, "partial_fit"))
    def partial_fit(
        self, X: Any, y: Any, classes: ArrayLike | None = None, sample_weight: Any = None
    ) -> Self:
        """Learn from further instances with the base estimator's ``partial_fit``.

        A label that all or no instances of an earlier ``fit`` have starts with these instances.

        Parameters
        ----------
        X, y : as in ``fit``, soft labels included
        classes : array of shape (n_classes,), optional
            All classes that may occur; for the first call with a 1-D y.
        sample_weight : array-like of shape (n,) or (n, q), default=None
        """
        if self.label_weight is not None:
            raise ValueError(
                "label_weight must be None for partial_fit, which sees only some instances, got "
                f"{self.label_weight!r}"
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
        self.estimators_ = base.fit_more(self.estimator, models, X, Y, params, self.n_jobs)
        return self

    def _scores(self, X: Any) -> NDArray[np.floating]:
        return base.score_each(self.estimators_, X, self._score_method(), n_jobs=self.n_jobs)

    def _parts(self, x: Any, given: Given) -> Parts:
        return base.explain_each(self.estimators_, x, self._score_method(), given)

    def _predict(self, X: Any) -> NDArray[np.bool_]:
        scores = self._scores(X)
        sets = scores > self._cut
        return never_empty(sets, scores) == 1 if self.nonempty_ else sets
