"""ThresholdClassifier: the scores of any classifier, cut by any strategy."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import clone

from plurilabel._core.base import LabelMatrix
from plurilabel._core.compat import HasMethods, StrOptions
from plurilabel._core.fitted import Declared, parameter
from plurilabel.thresholds import get_strategy, never_empty
from plurilabel.thresholds.shared import STRATEGIES, Scores
from plurilabel.wrappers._wrapper import DelegatedScores, HeldOut, OutOfFoldWrapper


@dataclass(eq=False, repr=False)
class ThresholdClassifier(DelegatedScores, OutOfFoldWrapper):
    """Turn the scores of any classifier into label sets by a strategy that is learned from data.

    The classifier is trained on all data, the strategy on out-of-fold scores: clones of the
    classifier, each trained on a part of the data, score the rest.

    Parameters
    ----------
    estimator : classifier
        With ``predict_proba`` or ``decision_function``: a learner of this library, or one of
        scikit-learn that accepts label matrices.
    strategy : str or object with ``fit(scores, Y)`` and ``predict(scores)``, default="cardinality"
        ``"constant"``, ``"cardinality"``, ``"linear"``, ``"scut"``, ``"global"``, ``"rcut"``,
        ``"pcut"``, ``"mcut"``, ``"expected_f"``, ``"metalabeler"``, ``"seen_sets"``, or an
        instance of one of these classes (:func:`get_strategy`) with other parameters.
    cv : int, cross-validation splitter, iterable of splits, or "prefit", default=5
        How the out-of-fold scores are computed. An int is a number of stratified folds
        (:class:`~plurilabel.model_selection.IterativeStratifiedKFold`); None stands for 5. With
        ``"prefit"``, ``estimator`` is already fitted and remains unchanged; ``fit`` only learns
        the strategy, and should get data that the classifier has not seen.
    response_method : {"auto", "predict_proba", "decision_function"}, default="auto"
        Where the scores come from; ``"auto"`` prefers ``predict_proba``.
    nonempty : bool, default=False
        Whether an empty prediction is replaced by the label with the highest score (T-criterion).
    n_jobs : int, default=None
        Number of folds processed in parallel.

    Attributes
    ----------
    estimator_ : classifier
        The classifier, fitted on all data.
    strategy_ : strategy
        The fitted strategy, with the learned cuts.

    Notes
    -----
    For a 1-D y, scores are cut class by class; ``predict`` returns the class with the highest
    score among those above their cut, or among all classes if there is none. Strategies that do
    not learn from scores need no folds: ``"constant"``, ``"rcut"``, ``"pcut"``, ``"mcut"``,
    ``"expected_f"`` and ``"seen_sets"``.

    See Also
    --------
    sklearn.model_selection.TunedThresholdClassifierCV : The same for a single label.

    Examples
    --------
    Neighbours seldom agree on a rare label; with a cut for each label, many more are found:

    >>> from sklearn.datasets import make_multilabel_classification
    >>> from sklearn.model_selection import train_test_split
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from plurilabel.metrics import macro_f1
    >>> from plurilabel import SCut, ThresholdClassifier
    >>> X, Y = make_multilabel_classification(
    ...     n_samples=600, n_classes=8, n_labels=2, random_state=0)
    >>> X_train, X_test, Y_train, Y_test = train_test_split(X, Y, random_state=0)
    >>> knn = KNeighborsClassifier(10, algorithm="kd_tree")
    >>> tuned = ThresholdClassifier(knn, SCut("f1")).fit(X_train, Y_train)
    >>> round(macro_f1(Y_test, knn.fit(X_train, Y_train).predict(X_test)), 2)
    0.35
    >>> round(macro_f1(Y_test, tuned.predict(X_test)), 2)
    0.55
    """

    _fitted: ClassVar[Declared] = {"nonempty_": parameter()}

    strategy: Annotated[Any, StrOptions(set(STRATEGIES)), HasMethods(["fit", "predict"])] = (
        "cardinality"
    )
    _: KW_ONLY
    nonempty: bool = False

    @property
    def accepts_unknown_labels(self) -> bool:
        """Whether ``fit`` takes unknown labels: if classifier and strategy do."""
        named = isinstance(self.strategy, str)
        able = named or getattr(self.strategy, "_learns_from_known", False)
        return bool(able) and super().accepts_unknown_labels

    def _learn(self, X: Any, Y: LabelMatrix, held_out: HeldOut) -> None:  # noqa: ARG002
        self.nonempty_ = self.nonempty
        if isinstance(self.strategy, str):
            probabilities = self.response_method_ == "predict_proba"
            strategy: Any = get_strategy(self.strategy, probabilities=probabilities)
        else:
            strategy = clone(self.strategy)
        learns = getattr(strategy, "learns_from_scores", lambda: True)()
        self.strategy_ = strategy.fit(*(held_out()[:2] if learns else (None, Y)))

    def _score_method(self) -> str:
        return self.response_method_

    def _scores(self, X: Any) -> Scores:
        return self._estimator_scores(X)

    def predict(self, X: ArrayLike) -> NDArray[Any] | sparse.csr_array:
        """Predict label sets (n, q) by the strategy; classes (n,) if y was 1-D."""
        scores = self._validated_scores(X)
        labels = self.strategy_.predict(scores)
        if self.single_output_:
            chosen = np.where(never_empty(labels, scores) == 1, scores, -np.inf)
            return self.classes_[chosen.argmax(axis=1)]
        return never_empty(labels, scores) if self.nonempty_ else labels
