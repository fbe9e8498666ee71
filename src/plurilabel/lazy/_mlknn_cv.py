"""ML-kNN that chooses its own parameters by leave-one-out."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from plurilabel._compat import HasMethods, StrOptions
from plurilabel.base import LabelMatrix, ProbabilisticClassifier
from plurilabel.lazy._explain import Explanation
from plurilabel.lazy._leave_one_out import leave_one_out
from plurilabel.lazy._mlknn import MLkNN
from plurilabel.metrics import get_measure


class MLkNNCV(ProbabilisticClassifier):
    """ML-kNN with the number of neighbours and the smoothing chosen by leave-one-out.

    The neighbour graph is searched once, for the largest k; all smaller k read its first columns.

    Parameters
    ----------
    n_neighbors : sequence of int, default=1 to 30
        Values of k to try.
    smoothing : sequence of float, default=(1.0,)
        Values of s to try.
    scoring : str, default="hamming_loss"
        A measure of :mod:`plurilabel.metrics`. Between equal values the smaller k wins, then the
        smoothing that comes first.
    leave_out : {"entry", "instance"}, default="entry"
        What is taken out for the prediction of a training instance. "entry": its own entry in the
        prior and in the frequency arrays. "instance": its role as a neighbour of others, too, so
        that the scores are those of as many separate fits as there are instances, exactly. That
        costs more, and the choice may be another one: on the training parts of Yeast, Scene and
        Emotions, k from 1 to 30, "entry" and "instance" chose 11 and 11, 14 and 14, 27 and 6 by
        Hamming loss, and 12 and 26, 14 and 14, 7 and 12 by average precision.
    metric, index, n_jobs :
        As in :class:`MLkNN`.

    Attributes
    ----------
    n_neighbors_, smoothing_ : int, float
        The chosen values.
    cv_values_ : ndarray of shape (len(n_neighbors), len(smoothing))
        The measure for each pair of values.
    estimator_ : MLkNN
        Fitted with the chosen values on all instances.

    Notes
    -----
    Leave-one-out scores are a dense matrix (n, q), also for sparse labels.

    Examples
    --------
    >>> from plurilabel import MLkNNCV, datasets
    >>> data = datasets.load("digits")
    >>> learner = MLkNNCV(n_neighbors=range(1, 11)).fit(data.X, data.Y)
    >>> learner.n_neighbors_
    2
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_neighbors": ["array-like"],
        "smoothing": ["array-like"],
        "scoring": [str],
        "leave_out": [StrOptions({"entry", "instance"})],
        "metric": [str, callable],
        "index": [None, HasMethods(["fit", "kneighbors"])],
        "n_jobs": [None, Integral],
    }

    def __init__(
        self,
        n_neighbors: Sequence[int] = tuple(range(1, 31)),
        *,
        smoothing: Sequence[float] = (1.0,),
        scoring: str = "hamming_loss",
        leave_out: str = "entry",
        metric: Any = "euclidean",
        index: Any = None,
        n_jobs: int | None = None,
    ):
        self.n_neighbors = n_neighbors
        self.smoothing = smoothing
        self.scoring = scoring
        self.leave_out = leave_out
        self.metric = metric
        self.index = index
        self.n_jobs = n_jobs

    def _fit(self, X: Any, Y: LabelMatrix) -> None:
        ks, smoothings = list(self.n_neighbors), list(self.smoothing)
        replace = self.leave_out == "instance"
        _check_values("n_neighbors", ks, Integral, 1)
        _check_values("smoothing", smoothings, Real, 0)
        graph = self._search(X, max(ks) + replace)
        measure = get_measure(self.scoring)
        dense = Y.toarray() if sparse.issparse(Y) else Y
        self.cv_values_ = np.empty((len(ks), len(smoothings)))
        for k, left_out in leave_one_out(graph[1], dense, set(ks), replace=replace):
            for column, s in enumerate(smoothings):
                if self.scoring == "hamming_loss":
                    value = left_out.hamming_loss(s, self._cut)
                else:
                    cut = None if measure.kind == "scores" else self._cut
                    value = measure.function(dense, left_out.scores(s, cut))
                self.cv_values_[np.array(ks) == k, column] = value
        loss = -self.cv_values_ if measure.greater_is_better else self.cv_values_
        order = np.lexsort(
            (
                np.tile(np.arange(len(smoothings)), len(ks)),
                np.repeat(ks, len(smoothings)),
                loss.ravel(),
            )
        )
        row, column = np.divmod(order[0], len(smoothings))
        self.n_neighbors_, self.smoothing_ = int(ks[row]), float(smoothings[column])
        self._adopt(X, Y, graph)

    def _search(self, X: Any, k: int) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
        self.estimator_ = MLkNN(
            n_neighbors=k, metric=self.metric, index=self.index, n_jobs=self.n_jobs
        )
        self.estimator_._check_size(X.shape[0])
        self.estimator_.index_ = self.estimator_._new_index().fit(X)
        return self.estimator_.index_.kneighbors(None, n_neighbors=k)

    def _adopt(self, X: Any, Y: LabelMatrix, graph: Any) -> None:
        """Make the inner learner what ``fit`` with the chosen values would, without a search."""
        inner, k = self.estimator_, self.n_neighbors_
        inner.set_params(n_neighbors=k, smoothing=self.smoothing_)
        for name in ("n_features_in_", "feature_names_in_", "classes_", "label_names_",
                     "n_labels_", "single_output_", "sparse_output_"):  # fmt: skip
            if hasattr(self, name):
                setattr(inner, name, getattr(self, name))
        inner.X_, inner.Y_ = X, Y
        inner.graph_ = tuple(np.ascontiguousarray(part[:, :k]) for part in graph)
        inner._learn(*inner.graph_)

    def _scores(self, X: Any) -> NDArray[np.float64]:
        return self.estimator_._scores(X)

    def predict(self, X: ArrayLike) -> NDArray[Any] | sparse.csr_array:
        """Predict label sets, as :meth:`MLkNN.predict` does."""
        check_is_fitted(self)
        return self.estimator_.predict(X)

    def predict_top(self, X: ArrayLike, k: int = 5) -> sparse.csr_array:
        """The k labels with the highest scores, as :meth:`MLkNN.predict_top` gives them."""
        check_is_fitted(self)
        return self.estimator_.predict_top(X, k)

    def explain(self, X: ArrayLike) -> list[Explanation]:
        """Neighbours for and against each label, as :meth:`MLkNN.explain` gives them."""
        check_is_fitted(self)
        return self.estimator_.explain(X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.index is None and self.metric == "precomputed"
        return tags


def _check_values(name: str, values: list[Any], kind: Any, least: float) -> None:
    if not values or not all(isinstance(v, kind) and v >= least for v in values):
        raise ValueError(f"{name} must be a sequence of numbers from {least} on, got {values}")
