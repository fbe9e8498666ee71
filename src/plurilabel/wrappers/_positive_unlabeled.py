"""PositiveUnlabeled: recorded labels are right, others may have been overlooked."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from numbers import Integral
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from plurilabel._core.base import LabelMatrix, ProbabilisticClassifier
from plurilabel._core.blocks import dense
from plurilabel._core.compat import HasMethods, StrOptions
from plurilabel._core.fitted import Declared, numbers
from plurilabel.metrics import label_scores
from plurilabel.metrics import propensities as jain
from plurilabel.model_selection.shared import groups_for, splits_by
from plurilabel.wrappers._wrapper import Wrapper

LEAST = 0.01  # propensity, below which a few instances would decide everything


@dataclass(eq=False, repr=False)
class PositiveUnlabeled(Wrapper, ProbabilisticClassifier):
    r"""Probabilities of labels that are only recorded with some probability.

    A 1 in y is right; a 0 means that nobody recorded the label, whether it holds or not. If label
    l is recorded with probability :math:`p_l` where it holds, its propensity, whatever x is, then

    .. math:: P(y_l = 1 | x) = P(s_l = 1 | x) / p_l,

    where s is what is recorded. The estimator learns s; its probabilities are divided by the
    propensities, and are 1 where the quotient is larger. Within a label the order of the
    instances stays; the order of the labels of an instance does not.

    Parameters
    ----------
    estimator : classifier with ``predict_proba``
        Its probabilities should be calibrated, as those of logistic regression are.
    propensities : {"elkan-noto", "jain"} or array-like of shape (q,), default="elkan-noto"
        "elkan-noto": the mean out-of-fold probability of the instances that have the label
        recorded, their estimator e1; it assumes that somewhere a label is certain, and is
        too small where it never is. "jain": a formula of the label frequencies for large
        collections of tags, :func:`plurilabel.metrics.propensities`. Or numbers from 0 to 1.
    cv : int, cross-validation splitter, iterable of splits, or None, default=5
        Splits for "elkan-noto". An int is a number of stratified folds; None stands for 5.

    Attributes
    ----------
    estimator_ : fitted classifier
    propensities_ : ndarray of shape (q,)
        At least 0.01. 1 for labels that are recorded in fewer test instances than there are
        folds, and for the classes of a 1-D y.

    See Also
    --------
    plurilabel.metrics.psp_at_k, plurilabel.metrics.ps_ndcg_at_k : Measures for such labels.

    References
    ----------
    C. Elkan, K. Noto. Learning classifiers from only positive and unlabeled data. KDD 2008.
    H. Jain, Y. Prabhu, M. Varma. Extreme multi-label loss functions for recommendation, tagging,
    ranking and other missing label applications. KDD 2016.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from plurilabel import BinaryRelevance, PositiveUnlabeled
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 2))
    >>> truth = (X > 0).astype(int)
    >>> recorded = truth * (rng.random(truth.shape) < [0.6, 0.3])
    >>> base = BinaryRelevance(LogisticRegression())
    >>> learner = PositiveUnlabeled(base).fit(X, recorded)
    >>> learner.propensities_.round(1)
    array([0.5, 0.2])
    >>> [round(float((m.predict(X) == truth).mean()), 2) for m in (base.fit(X, recorded), learner)]
    [0.64, 0.94]
    """

    _fitted: ClassVar[Declared] = {"propensities_": numbers("n_labels_")}

    estimator: Annotated[Any, HasMethods(["fit", "predict_proba"])]
    propensities: Annotated[Any, StrOptions({"elkan-noto", "jain"}), "array-like"] = "elkan-noto"
    _: KW_ONLY
    cv: Annotated[Any, "cv_object"] = 5

    def fit(self, X: ArrayLike, y: ArrayLike, *, groups: Any = None) -> Self:
        """Learn from instances and their recorded labels.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d), or data frame
        y : 0/1 matrix of shape (n, q), dense, sparse or a data frame; or 1-D classes
        groups : array-like of shape (n,), default=None
            Rows of one group stay together in every split, here and in ``estimator``.
        """
        self._fit(*self._validate_fit(X, y), groups)
        return self

    def _fit(self, X: Any, Y: LabelMatrix, groups: Any = None) -> None:
        inner = groups_for(self.estimator, groups)
        self.estimator_ = clone(self.estimator).fit(X, self._targets(Y), **inner)
        if self.single_output_:  # every instance has its class: none was overlooked
            self.propensities_ = np.ones(self.n_labels_)
            return
        if isinstance(self.propensities, str):
            p = jain(Y) if self.propensities == "jain" else self._out_of_fold(X, Y, groups)
        else:
            p = np.asarray(self.propensities, dtype=np.float64)
            if p.shape != (self.n_labels_,) or not ((p > 0) & (p <= 1)).all():
                q = self.n_labels_
                raise ValueError(f"propensities must be {q} numbers above 0 and up to 1, got {p}")
        self.propensities_ = np.clip(p, LEAST, 1.0)

    def _out_of_fold(self, X: Any, Y: LabelMatrix, groups: Any) -> NDArray[np.float64]:
        """Mean probability of the instances that have a label, by models that did not see them."""
        n, q = Y.shape
        folds = self.cv if isinstance(self.cv, Integral) else 2
        if n < folds or not (np.asarray(Y.sum(axis=0)).ravel() >= folds).any():
            return np.ones(q)
        splits = splits_by(self.cv, X, Y, groups)
        total, recorded = np.zeros(q), np.zeros(q)
        for train, test in splits:
            part = None if groups is None else np.asarray(groups)[train]
            inner = groups_for(self.estimator, part)
            model = clone(self.estimator).fit(X[train], Y[train], **inner)
            s, y = dense(label_scores(model, X[test], n_labels=q)), dense(Y[test])
            total += (s * y).sum(axis=0)
            recorded += y.sum(axis=0)
        return np.where(recorded >= len(splits), total / np.maximum(recorded, 1), 1.0)

    def _scores(self, X: Any) -> NDArray[np.floating]:
        s = super()._scores(X)
        return s if self.single_output_ else np.minimum(s / self.propensities_, 1.0)
