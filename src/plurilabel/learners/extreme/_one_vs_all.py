"""OneVsAllLinear: a sparse linear model for each of very many labels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from joblib import Parallel, delayed
from scipy import sparse
from scipy.special import expit

from plurilabel._core.base import LabelMatrix, WeightedFit
from plurilabel._core.blocks import csr_of_rows, row_blocks
from plurilabel._core.compat import NotNegative, Positive, StrOptions
from plurilabel._core.explanation.contributions import LOG_ODDS, SCORE, Given, Parts, linear_parts
from plurilabel._core.fitted import Declared, count, numbers, parameter
from plurilabel._core.limits import check_size
from plurilabel._core.unknown import known_part
from plurilabel.learners.extreme._linear import CELLS, RowSpace, Settings, prepared, train
from plurilabel.learners.extreme._sparse_scores_classifier import (
    SparseScoresClassifier,
    worth_of_labels,
)


@dataclass(eq=False, repr=False)
class OneVsAllLinear(WeightedFit, SparseScoresClassifier):
    """One linear model for each label, with small weights dropped: the accuracy reference.

    Blocks of labels are trained together, in parallel, and weights up to ``prune`` are dropped
    as soon as a block is done, so that the weights of all labels are never in memory at once.
    Training and predictions take time in proportion to the number of labels;
    :class:`LabelTree` does with its logarithm.

    Parameters
    ----------
    loss : {"squared_hinge", "logistic"}, default="squared_hinge"
        Scores are decision values with the squared hinge loss, probabilities with the logistic.
    C : float, default=1.0
        Weight of the losses against the penalty ½|w|², as in scikit-learn.
    prune : float, default=0.01
        Weights up to this size are dropped.
    propensities, normalize, tol, max_iter :
        As in :class:`LabelTree`, with its defaults.
    warm_start : bool, default=False
        Whether ``fit`` begins at the weights of the last ``fit``, if it had as many features and
        labels: for one value of C after the other, it then takes fewer steps.
    n_jobs : int, default=None
        Threads, over labels in ``fit`` and rows in predictions. The results do not depend on it.

    Attributes
    ----------
    coef_ : csr_array of shape (d, q)
        Weights.
    intercept_ : ndarray of shape (q,)
    n_iter_ : int
        The most Newton steps that a model took.

    Notes
    -----
    The objective is that of scikit-learn's ``LinearSVC`` and ``LogisticRegression`` with
    ``solver="liblinear"``: the intercept is a weight of a feature that is 1, and is penalised.
    A label that all or none of the instances have gets no model, but a score of ±30. Unknown
    labels (NaN, None, NA or :class:`~plurilabel.datasets.UnknownLabels`) are left out of the
    losses.

    References
    ----------
    R. Babbar, B. Schölkopf. DiSMEC: distributed sparse machines for extreme multi-label
    classification. WSDM 2017.

    Examples
    --------
    >>> from plurilabel import OneVsAllLinear, datasets, metrics
    >>> data = datasets.make_sparse_multilabel(1000, 500, 200, random_state=0)
    >>> learner = OneVsAllLinear().fit(data.X[:800], data.Y[:800])
    >>> top = learner.predict_top(data.X[800:], k=5)
    >>> round(metrics.precision_at_k(data.Y[800:], top, 1), 2)
    0.98
    """

    _learns_from_known = True
    _fitted: ClassVar[Declared] = {
        "loss_": parameter(),
        "normalize_": parameter(),
        "n_iter_": count(),
        "coef_": numbers("n_features_in_", "n_labels_"),
        "intercept_": numbers("n_labels_"),
    }

    _: KW_ONLY
    loss: Annotated[str, StrOptions({"logistic", "squared_hinge"})] = "squared_hinge"
    C: float = 1.0
    prune: NotNegative = 0.01
    propensities: bool = False
    normalize: bool = True
    tol: Positive = 0.01
    max_iter: int = 20
    warm_start: bool = False
    n_jobs: int | None = None

    def _fit(self, X: Any, Y: LabelMatrix, weights: Any = None) -> None:
        self.loss_, self.normalize_ = self.loss, self.normalize
        n, q = Y.shape
        check_size(self, f"{q:,} labels", models=q, instead="LabelTree")
        Y, unknown = (None if part is None else sparse.csc_array(part) for part in known_part(Y))
        X = prepared(X, unit=self.normalize)
        worth = worth_of_labels(Y, self.propensities)
        settings = Settings(self.loss, self.C, self.tol, self.max_iter, self.prune)
        before = self._before((X.shape[1], q))
        space = RowSpace(X) if self.normalize and RowSpace.suits(X) else None

        def train_block(some: slice) -> tuple[Any, Any, int]:
            part = None if worth is None else worth[some]
            start = None if before is None else before[:, some].toarray()
            if space is not None and start is not None:
                start = space.inside(start)
            more = {"start": start, "unknown": None if unknown is None else unknown[:, some]}
            rows = X if space is None else space.X
            W, biases, _, n_iter = train(rows, Y[:, some], settings, weights, part, **more)
            W = W if space is None else space.outside(W)
            return sparse.csc_array(np.where(abs(W) > self.prune, W, 0)), biases, n_iter

        blocks = row_blocks(q, max(n, X.shape[1]), CELLS)
        found = Parallel(n_jobs=self.n_jobs, prefer="threads")(map(delayed(train_block), blocks))
        coefs, intercepts, n_iters = zip(*found)
        self.coef_ = sparse.csr_array(sparse.hstack(coefs, format="csr"))
        self.intercept_, self.n_iter_ = np.concatenate(intercepts), max(n_iters)

    def _before(self, shape: tuple[int, int]) -> sparse.csc_array | None:
        """Weights and biases (d + 1, q) of the last fit, to begin with; None if there are none."""
        if not self.warm_start or getattr(self, "coef_", np.empty(0)).shape != shape:
            return None
        return sparse.csc_array(sparse.vstack([self.coef_, self.intercept_[np.newaxis]]))

    def _by_blocks(self, X: Any, then: Callable[[sparse.csr_array], Any]) -> list[Any]:
        X = prepared(X, unit=self.normalize_)
        return Parallel(n_jobs=self.n_jobs, prefer="threads")(
            delayed(self._score_block)(X[rows], then)
            for rows in row_blocks(X.shape[0], self.n_labels_, CELLS)
        )

    def _score_block(self, X: Any, then: Callable[[sparse.csr_array], Any]) -> Any:
        n, q = X.shape[0], self.n_labels_
        scores = (X @ self.coef_).toarray() + self.intercept_
        if self.loss_ == "logistic":
            scores = expit(scores)
        columns = np.tile(np.arange(q, dtype=np.int32), n)
        return then(csr_of_rows(scores.ravel(), columns, np.full(n, q), q))

    def _parts(self, x: Any, given: Given) -> Parts:
        """The products of weights and features, exact unless there is a reference."""
        if given.reference is not None:
            return super()._parts(x, given)
        x = prepared(x, unit=self.normalize_)
        at = x.indices
        names = [given.names[j] for j in at]
        scale = LOG_ODDS if self.loss_ == "logistic" else SCORE
        coef = self.coef_[at].toarray().T
        return linear_parts(x.data[None, :], coef, self.intercept_, names, scale)
