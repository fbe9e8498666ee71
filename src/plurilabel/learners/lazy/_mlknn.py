"""ML-kNN: maximum a posteriori inference over the labels of the neighbours."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

from plurilabel._core.fitted import Declared, numbers
from plurilabel.learners.lazy._lazy_classifier import CountingClassifier
from plurilabel.learners.lazy._neighbor_labels import Floats, Graph, Rows, likelihoods, posterior


@dataclass(eq=False, repr=False)
class MLkNN(CountingClassifier):
    """ML-kNN, the multi-label k-nearest-neighbour learner.

    For each label l, H1 is the event that an instance has l, and E_j that exactly j of its k
    nearest neighbours have it. Priors P(H) and likelihoods P(E_j | H) are counted on the training
    set, where no instance is its own neighbour; the score is the posterior P(H1 | E_j), and l is
    predicted if this is strictly above that of H0.

    Parameters
    ----------
    n_neighbors : int, default=10
        Number of neighbours (k).
    smoothing : float, default=1.0
        Strength of the uniform prior (s); 1 is Laplace smoothing.
    metric : str or callable, default="euclidean"
        Distance, as in :class:`~plurilabel.ExactIndex`.
    index : object with ``fit(X)`` and ``kneighbors(X, n_neighbors)``, default=None
        Finds the neighbours in place of an exact search with ``metric``; its results are
        validated. See :class:`~plurilabel.neighbors.NeighborsIndex`.
    n_jobs : int, default=None
        Number of threads of the search. The result does not depend on it.
    device : str, default="auto"
        Where an exact search runs: "cpu", "cuda", "cuda:1", or "auto" for a GPU if there is one
        and it is faster, as in :class:`~plurilabel.ExactIndex`. The result does not depend on it.

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

    Notes
    -----
    Labels may be unknown. A label is then counted among the k nearest neighbours that know it, on
    the training instances that know it. More than k neighbours are searched for this; where fewer
    than k of them know the label, the count is scaled to k and rounded. Training instances none of
    whose neighbours knows the label are left out, also of the prior. ``partial_fit`` and
    ``forget`` then search all neighbours again, since the unknown labels decide how many.

    Soft labels are counted as fractions, rounded to multiples of 2**-14 so that sums are exact. An
    instance whose neighbours have a label j + f times counts as 1 - f instances with j and f with
    j + 1, and its posterior is interpolated between the two; a training instance that has the
    label with probability p counts as p instances with it and 1 - p without.

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
    _fitted: ClassVar[Declared] = {
        "prior_": numbers("n_labels_"),
        "likelihood_": numbers(2, "n_labels_", "n_neighbors_+1"),
        "counts_": numbers(2, "n_labels_", "n_neighbors_+1"),
    }

    _: KW_ONLY
    smoothing: float = 1.0

    def _learn(self, distances: Floats, neighbors: Rows) -> None:
        self.counts_ = self._labels.tally(distances, neighbors)  # c' and c, steps 9 to 11
        self._estimate(self.fitted_params_["smoothing"])

    def _relearn(self, before: Graph, changed: Rows, added: int) -> None:
        self.counts_ = self._labels.tally_grown(self.counts_, before, self.graph_, changed, added)
        self._estimate(self.fitted_params_["smoothing"])

    def _estimate(self, s: float) -> None:
        m, have = self.counts_.sum(axis=(0, 2)), self.counts_[1].sum(axis=1)
        self.prior_ = (s + have) / (2 * s + m)  # step 2
        self.likelihood_ = likelihoods(self.counts_, s)  # steps 13 and 14
        self.table_ = posterior(self.prior_[:, None], *self.likelihood_)  # step 19
