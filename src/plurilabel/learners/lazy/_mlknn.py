"""ML-kNN: maximum a posteriori inference over the labels of the neighbours."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from plurilabel._core.base import LabelMatrix
from plurilabel._core.compat import Interval
from plurilabel._core.fitted import Declared, numbers
from plurilabel.learners.lazy._base import Floats, Graph, LazyClassifier, Rows, graph_blocks
from plurilabel.learners.lazy._counts import (
    CountingClassifier,
    cells_of,
    likelihoods,
    posterior,
    tally,
)


class MLkNN(CountingClassifier):
    """ML-kNN, the multi-label k-nearest-neighbour learner.

    For each label l, H1 is the event that an instance has l, and E_j that exactly j of its k
    nearest neighbours have it. Priors P(H) and likelihoods P(E_j | H) are counted on the training
    set, where no instance is its own neighbour; the score is the posterior P(H1 | E_j), and l is
    predicted if this is strictly above that of H0.

    Parameters
    ----------
    n_neighbors : int, default=10
        Neighbours that are counted (k).
    smoothing : float, default=1.0
        Strength of the uniform prior (s); 1 is Laplace smoothing.
    metric : str or callable, default="euclidean"
        Distance, as in :class:`~plurilabel.ExactIndex`.
    index : object with ``fit(X)`` and ``kneighbors(X, n_neighbors)``, default=None
        Where the neighbours come from, if not from an exact search with ``metric``; its answers
        are checked. See :class:`~plurilabel.neighbors.NeighborsIndex`.
    n_jobs : int, default=None
        Threads of the search. The result does not depend on it.
    device : str, default="auto"
        Where an exact search runs: "cpu", "cuda", "cuda:1", or "auto" for a GPU where there is one
        and it gains, as in :class:`~plurilabel.ExactIndex`; an ``index`` has its own.
        The result does not depend on it.

    Attributes
    ----------
    prior_ : ndarray of shape (q,)
        P(H1) of each label.
    likelihood_ : ndarray of shape (2, q, k + 1)
        ``likelihood_[b, l, j]`` is P(E_j | H_b) of label l.
    table_ : ndarray of shape (q, k + 1)
        The posterior P(H1 | E_j), which ``predict_proba`` looks up.
    graph_ : tuple of ndarrays of shape (n, k)
        Distances and row numbers of the training instances' neighbours.
    label_names_ : ndarray of shape (q,)

    Notes
    -----
    Labels may be missing. A label is then counted among the k nearest neighbours that know it, on
    the training instances that know it. For that more than k neighbours are searched; where fewer
    than k of them know the label, the count is scaled to k and rounded. Training instances of
    which no neighbour knows the label are left out, of the prior too. ``partial_fit`` and
    ``forget`` then search all neighbours again, since what is known decides how many.

    References
    ----------
    M.-L. Zhang, Z.-H. Zhou. ML-kNN: a lazy learning approach to multi-label learning. Pattern
    Recognition 40(7), 2007; first at GrC 2005, whose figure 1 is followed here step by step.

    Examples
    --------
    >>> from plurilabel import MLkNN, datasets, model_selection
    >>> data = datasets.load("digits")
    >>> X_train, X_test, Y_train, Y_test = model_selection.stratified_split(
    ...     data.X, data.Y, sizes=(0.7, 0.3), random_state=0)
    >>> learner = MLkNN(n_neighbors=7).fit(X_train, Y_train)
    >>> round(float((learner.predict(X_test) == Y_test).mean()), 2)
    0.99
    """

    _learns_from_known = True
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **LazyClassifier._parameter_constraints,
        "smoothing": [Interval(Real, 0, None, closed="left")],
    }
    _fitted: ClassVar[Declared] = {
        "prior_": numbers("n_labels_"),
        "likelihood_": numbers(2, "n_labels_", "n_neighbors_+1"),
        "counts_": numbers(2, "n_labels_", "n_neighbors_+1"),
    }

    smoothing: Any  # MLkNNCV has several

    def __init__(
        self,
        n_neighbors: int = 10,
        *,
        smoothing: float = 1.0,
        metric: Any = "euclidean",
        index: Any = None,
        n_jobs: int | None = None,
        device: str = "auto",
    ):
        self.n_neighbors = n_neighbors
        self.smoothing = smoothing
        self.metric = metric
        self.index = index
        self.n_jobs = n_jobs
        self.device = device

    def _learn(self, distances: Floats, neighbors: Rows) -> None:
        self.counts_ = self._count(distances, neighbors, self.Y_)
        self._estimate(self.fitted_params_["smoothing"])

    def _count(self, distances: Floats, neighbors: Rows, Y: LabelMatrix) -> NDArray[np.int64]:
        """The arrays c' and c, (2, q, k + 1), of instances with these neighbours and labels."""
        size = neighbors.shape[1] + 1
        if self.unknown_ is not None:
            return self._count_known(distances, neighbors)
        if (device := self._counting_device()) is not None:
            from plurilabel.learners.lazy import _device  # torch is there

            return _device.tally(neighbors, self.Y_, Y, device)
        c = np.zeros((2, self.n_labels_, size), dtype=np.int64)
        for rows in graph_blocks(neighbors, Y):
            delta = self._events(distances[rows], neighbors[rows])  # step 9
            c += tally(delta, Y[rows], size)  # steps 10 and 11
        return c

    def _count_known(self, distances: Floats, neighbors: Rows) -> NDArray[np.int64]:
        """The same of the instances whose label is known, as it is of some neighbour."""
        size = self.n_neighbors_ + 1
        c = np.zeros((2, self.n_labels_, size), dtype=np.int64)
        for rows in graph_blocks(neighbors, self.Y_):
            j, silent = self._known_events(distances[rows], neighbors[rows])
            Y = self.Y_[rows]
            c += tally(j, Y, size)
            at, label = (silent + self.unknown_[rows]).nonzero()  # + is "or" here
            np.subtract.at(c, (cells_of(Y, at, label), label, cells_of(j, at, label)), 1)
        return c

    def _estimate(self, s: float) -> None:
        m, have = self.counts_.sum(axis=(0, 2)), self.counts_[1].sum(axis=1)
        self.prior_ = (s + have) / (2 * s + m)  # step 2
        self.likelihood_ = likelihoods(self.counts_, s)  # steps 13 and 14
        self.table_ = posterior(self.prior_[:, None], *self.likelihood_)  # step 19

    def _relearn(self, before: Graph, changed: Rows, added: int) -> None:
        """Only the rows whose neighbours are new move to other cells of the arrays."""
        old, graph = changed[: len(changed) - added], self.graph_
        gone = self._count(before[0][old], before[1][old], self.Y_[old])
        come = self._count(graph[0][changed], graph[1][changed], self.Y_[changed])
        self.counts_ = self.counts_ - gone + come
        self._estimate(self.fitted_params_["smoothing"])
