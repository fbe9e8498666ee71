"""Reductions of grades to multi-label problems: vertical, horizontal, and both together."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn import get_config
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import process_routing
from sklearn.utils.parallel import Parallel, delayed

from plurilabel._core.base import AroundEstimator, MultiLabelClassifier
from plurilabel._core.blocks import dense
from plurilabel._core.compat import HasMethods
from plurilabel._core.fitted import Declared, values
from plurilabel.graded._graded_classifier import GradedClassifier
from plurilabel.learners.shared import only_weights
from plurilabel.learners.transformation import (
    BinaryRelevance,
    StackedRelevance,
    TransformationClassifier,
)


@dataclass(eq=False, repr=False)
class Reduction(AroundEstimator, GradedClassifier):
    """Base class of reductions of grades to multi-label problems.

    The cut sets of q labels with m grades are q times m - 1 questions for each instance, "does it
    have label l to at least grade g?". A reduction groups them into multi-label problems:

    ``_split(cuts)``
        returns a list of 0/1 matrices (n, questions).
    ``_join(parts)``
        is its inverse: from probabilities (n, questions) of each problem to (n, q, m - 1).
    ``_around(classifier)``
        wraps a classifier of one label into a multi-label learner: by default one model per
        label, and a second layer that sees their scores for all labels.
    """

    # none are needed for a single grade
    _fitted: ClassVar[Declared] = {"estimators_": values(None, optional=True)}

    estimator: Annotated[Any, HasMethods(["fit", "predict"])]
    _: KW_ONLY
    grades: Any = None
    decision: Literal["median", "mode"] = "median"
    n_jobs: int | None = None

    def fit(self, X: ArrayLike, y: ArrayLike, **params: Any) -> Self:
        """Learn from instances and the grades of their labels.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d), or data frame
        y : grades of shape (n, q)
            Integers, ordered categories (the columns of a data frame), or whatever is in the
            parameter ``grades``. 1-D for a single label.
        **params : dict
            ``sample_weight`` for the estimator's ``fit``. Under
            ``sklearn.set_config(enable_metadata_routing=True)`` whatever ``estimator`` requests.
        """
        X, cuts = self._validate_fit(X, y)
        self.allow_nan_ = bool(get_tags(self.estimator).input_tags.allow_nan)
        if cuts.shape[2]:
            self._fit(X, cuts, **self._routed(params))
        return self

    def _fit(self, X: Any, cuts: NDArray[np.int8], **params: Any) -> None:
        learner = self._learner()
        self.estimators_ = Parallel(n_jobs=self.n_jobs, prefer="threads")(
            delayed(clone(learner).fit)(X, Y, **params) for Y in self._split(cuts)
        )

    def _learner(self) -> Any:
        last = self.estimator
        while isinstance(last, Pipeline):
            last = last.steps[-1][1]
        ours = isinstance(last, MultiLabelClassifier)
        return self.estimator if ours else self._around(self.estimator)

    def _routed(self, params: dict[str, Any]) -> dict[str, Any]:
        """Parameters for the learner's ``fit`` beside X and y."""
        if get_config()["enable_metadata_routing"]:
            return dict(process_routing(self, "fit", **params).estimator.fit)
        taken = isinstance(self._learner(), TransformationClassifier)
        return only_weights(params, self.estimator, taken=taken)

    def _cumulative(self, X: Any) -> NDArray[np.floating]:
        parts = Parallel(n_jobs=self.n_jobs, prefer="threads")(
            delayed(_probabilities)(model, X) for model in self.estimators_
        )
        return self._join(parts)

    @abstractmethod
    def _split(self, cuts: NDArray[np.int8]) -> list[NDArray[np.int8]]: ...

    @abstractmethod
    def _join(self, parts: list[NDArray[np.floating]]) -> NDArray[np.floating]: ...

    def _around(self, classifier: Any) -> MultiLabelClassifier:
        final = LogisticRegression(max_iter=1000)
        return StackedRelevance(classifier, final_estimator=final, passthrough=False)


class VerticalReduction(Reduction):
    """Vertical reduction: an ordinal problem for each label, by the method of Frank and Hall.

    For label l and each grade g but the lowest, a binary model learns whether an instance has l
    to at least g. Its probabilities, made :func:`~plurilabel.graded.consistent`, give the
    distribution of the grade: P(grade = g) = P(at least g) - P(at least the next).

    Parameters
    ----------
    estimator : classifier
        Learns one cut at a time. A multi-label learner of the library learns all cuts of a label
        together instead. Where it has no ``predict_proba``, its 0/1 predictions are used.
    grades : sequence, default=None
        The scale, the lowest grade first. None: the ordered categories or the integers of ``y``.
    decision : {"median", "mode"}, default="median"
        Which grade of the predicted distribution ``predict`` returns: the median minimises the
        mean absolute error, the mode the share of wrong grades.
    n_jobs : int, default=None
        Number of problems solved in parallel, in threads. The result does not depend on it.

    Attributes
    ----------
    estimators_ : list of q fitted learners
        One for each label, of its m - 1 cuts.
    grades_, classes_ : ndarray of shape (m,)
        The scale.

    Notes
    -----
    In the method of Frank and Hall, differences of the probabilities may be negative; here the
    cumulative probabilities are made consistent first.

    References
    ----------
    E. Frank, M. Hall. A simple approach to ordinal classification. ECML 2001.

    W. Cheng, K. Dembczynski, E. Huellermeier. Graded multilabel classification: the ordinal case.
    ICML 2010.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from plurilabel import VerticalReduction
    >>> X = [[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]]
    >>> Y = [[0, 5], [0, 3], [1, 3], [1, 1], [3, 0], [3, 0]]
    >>> learner = VerticalReduction(LogisticRegression(C=100)).fit(X, Y)
    >>> learner.predict([[1.2], [4.8]])
    array([[0, 3],
           [3, 0]])
    """

    def _split(self, cuts: NDArray[np.int8]) -> list[NDArray[np.int8]]:
        return [cuts[:, l] for l in range(cuts.shape[1])]

    def _join(self, parts: list[NDArray[np.floating]]) -> NDArray[np.floating]:
        return np.stack(parts, axis=1)

    def _around(self, classifier: Any) -> MultiLabelClassifier:
        return BinaryRelevance(classifier)


class HorizontalReduction(Reduction):
    """Horizontal reduction: a multi-label problem for each grade, "which labels have at least g?".

    Paper: Cheng et al., see :class:`VerticalReduction`. The label sets of different grades are
    learned separately, so a label may be predicted for a high grade but not for a lower one;
    :func:`~plurilabel.graded.consistent` corrects this.

    Parameters
    ----------
    estimator : multi-label learner or classifier
        Any learner of the library, or a pipeline that ends in one; where it has no
        ``predict_proba``, its label sets are used. Another classifier is put into a
        :class:`~plurilabel.StackedRelevance`: it learns each label, and a second
        layer of logistic regressions sees its out-of-fold scores for all labels.
    grades, decision, n_jobs :
        As in :class:`VerticalReduction`.

    Attributes
    ----------
    estimators_ : list of m - 1 fitted learners
        One for each grade but the lowest, of all labels.
    grades_, classes_, label_names_ :
        As in :class:`VerticalReduction`.

    Notes
    -----
    With :class:`~plurilabel.BinaryRelevance` it solves the same binary problems as
    :class:`VerticalReduction`, and the results are equal.

    Examples
    --------
    >>> import numpy as np
    >>> from plurilabel import HorizontalReduction, MLkNN
    >>> x = np.arange(30)
    >>> Y = np.column_stack([x // 10, 2 - x // 10])
    >>> learner = HorizontalReduction(MLkNN(3)).fit(x[:, None], Y)
    >>> learner.predict([[0.4], [26.6]])
    array([[0, 2],
           [2, 0]])
    >>> learner.predict_at_least([[11.0]]).round(2)  # each label at least 1, at least 2
    array([[[0.95, 0.04],
            [0.96, 0.05]]])
    """

    def _split(self, cuts: NDArray[np.int8]) -> list[NDArray[np.int8]]:
        return [cuts[:, :, g] for g in range(cuts.shape[2])]

    def _join(self, parts: list[NDArray[np.floating]]) -> NDArray[np.floating]:
        return np.stack(parts, axis=2)


class CombinedReduction(Reduction):
    """Combined reduction: one multi-label problem of all grades of all labels.

    Paper: Cheng et al., see :class:`VerticalReduction`. Its q times m - 1 labels are the questions
    "label l to at least grade g?". A learner that uses dependence between labels finds that
    between grades of one label, as in the vertical reduction, between labels, as in the horizontal
    one, and between different grades of different labels.

    Parameters
    ----------
    estimator : multi-label learner or classifier
        As in :class:`HorizontalReduction`, for all questions together.
    grades, decision, n_jobs :
        As in :class:`VerticalReduction`.

    Attributes
    ----------
    estimators_ : list of one fitted learner
        The learner of all questions, those of the first label first, by rising grade.
    grades_, classes_, label_names_ :
        As in :class:`VerticalReduction`.

    Notes
    -----
    The paper reduces to one binary problem for each label and grade and leaves open how they are
    combined; here the given multi-label learner combines them. The second layer is logistic, and
    sees the scores only, because a second layer of the classifier's own kind that also sees X is
    worse for trees: it raises the mean absolute error on the water quality data from 0.492 to
    0.532.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from plurilabel import CombinedReduction
    >>> X = [[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]]
    >>> Y = [[0, 5], [0, 3], [1, 3], [1, 1], [3, 0], [3, 0]]
    >>> learner = CombinedReduction(LogisticRegression(C=100)).fit(X, Y)
    >>> learner.predict([[1.2], [4.8]])
    array([[0, 3],
           [3, 0]])
    """

    def _split(self, cuts: NDArray[np.int8]) -> list[NDArray[np.int8]]:
        return [cuts.reshape(len(cuts), -1)]

    def _join(self, parts: list[NDArray[np.floating]]) -> NDArray[np.floating]:
        return parts[0].reshape(len(parts[0]), self.n_labels_, -1)


def _probabilities(model: Any, X: Any) -> NDArray[np.floating]:
    """Probability of each question; 0/1 predictions if a learner has no probabilities."""
    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(X))
    return dense(model.predict(X)).astype(np.float64)
