"""DW-ML-kNN: neighbours with and without a label, each weighted by distance."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from scipy import sparse

from plurilabel._core.blocks import dense, row_blocks
from plurilabel._core.compat import Share
from plurilabel._core.fitted import Declared, numbers
from plurilabel.learners.lazy._lazy_classifier import CountingClassifier
from plurilabel.learners.lazy._neighbor_labels import (
    CELLS,
    Floats,
    Rows,
    label_frequencies,
    likelihoods,
    posterior,
    ratio,
    tally,
    weighted_sums,
)
from plurilabel.learners.lazy._soft_labels import soft_tally

TINY = 1e-12  # the small constant in the denominator of equation 4


@dataclass(eq=False, repr=False)
class DWMLkNN(CountingClassifier):
    """Dual weighted ML-kNN.

    Like :class:`MLkNN`, but a training instance adds a weight instead of one to the frequency
    arrays of label l: ``w`` is the share of its neighbours that have l, each weighted by a
    Gaussian of its distance (equations 4 to 6), and ``v = 1 - w`` the share of those without l. A
    second pair of arrays counts the neighbours without l. The two likelihoods are blended
    (equation 8).

    Parameters
    ----------
    n_neighbors : int, default=10
        Number of neighbours (K).
    smoothing : float, default=1.0
        Strength of the uniform prior (s).
    blend : float, default=0.5
        Weight of the likelihood of the neighbours with the label (lambda); the likelihood of the
        neighbours without it has the rest.
    reading : {"table", "figure"}, default="table"
        The weight that an instance without the label adds to its first array, c'. Line 14 of
        figure 1 in the paper has ``w``, which does not give the published results: mean recall
        over K = 5..15 on Scene is .25 instead of .76. "table" adds ``v`` instead, which gives them
        on Yeast, Scene and Emotions; "figure" follows the figure literally.
    metric, index, n_jobs, device :
        As in :class:`MLkNN`.

    Attributes
    ----------
    prior_ : ndarray of shape (q,)
        P(H1) of each label.
    likelihood_ : ndarray of shape (2, q, K + 1)
        ``likelihood_[b, l, j]`` is P(E_j | H_b): j neighbours have l.
    likelihood_without_ : ndarray of shape (2, q, K + 1)
        The same for j neighbours that lack l.
    table_ : ndarray of shape (q, K + 1)
        The score of label l if j neighbours have it.

    Notes
    -----
    Labels may be unknown. A label is then learned from the training instances that know it, by
    their K nearest neighbours that do, as in :class:`MLkNN`; equation 4 takes the nearest and the
    farthest of these. Training instances none of whose neighbours knows the label are left out,
    also of the prior.

    References
    ----------
    D. Miao, Z. Zhang, Z. Wei, C. Wang. DW-ML-kNN: a dual weighted multi-label kNN algorithm.

    Examples
    --------
    >>> from plurilabel import DWMLkNN
    >>> X = [[0.0], [0.1], [0.2], [0.3], [1.0], [1.1], [1.2], [1.3]]
    >>> Y = [[1, 0]] * 4 + [[0, 1]] * 4
    >>> DWMLkNN(n_neighbors=2).fit(X, Y).predict([[0.0], [1.4]])
    array([[1, 0],
           [0, 1]])
    """

    _learns_from_known = True
    _fitted: ClassVar[Declared] = {
        "prior_": numbers("n_labels_"),
        "likelihood_": numbers(2, "n_labels_", "n_neighbors_+1"),
        "likelihood_without_": numbers(2, "n_labels_", "n_neighbors_+1"),
    }

    _: KW_ONLY
    smoothing: float = 1.0
    blend: Share = 0.5
    reading: Literal["table", "figure"] = "table"

    def _learn(self, distances: Floats, neighbors: Rows) -> None:
        params, K = self.fitted_params_, self.n_neighbors_
        s, blend = params["smoothing"], params["blend"]
        m: Any = self.Y_.shape[0]
        have = label_frequencies(self.Y_)
        c, c_without = np.zeros((2, 2, self.n_labels_, K + 1))
        for rows in self._blocks(neighbors):
            w, v, counted = self._weights(distances[rows], neighbors[rows], rows)
            delta, y = self._labels.events(distances[rows], neighbors[rows]).count, self.Y_[rows]
            if counted is not None:
                delta, y = dense(delta), dense(y)
                have, m = have - (~counted * y).sum(axis=0), m - (~counted).sum(axis=0)
            lacking, unseen = (v, 1.0) if params["reading"] == "table" else (w, 0.0)
            # K - delta neighbours lack the label: the same arrays, read from the other end.
            if y.dtype.kind == "f":
                c += soft_tally(delta, dense(y), K + 1, w, lacking)
                c_without += soft_tally(delta, dense(y), K + 1, v)[:, :, ::-1]
            else:
                c += tally(delta, y, K + 1, weights=(lacking, w), background=(unseen, 0.0))
                c_without += tally(delta, y, K + 1, weights=(v, v))[:, :, ::-1]
        self.prior_ = ratio(s + have, 2 * s + m)
        self.likelihood_ = likelihoods(c, s)
        self.likelihood_without_ = likelihoods(c_without, s)
        blended = blend * self.likelihood_ + (1 - blend) * self.likelihood_without_[:, :, ::-1]
        self.table_ = posterior(self.prior_[:, None], *blended)  # equation 8

    def _blocks(self, neighbors: Rows) -> list[slice]:
        if self.unknown_ is None:
            return self._labels.blocks(neighbors)
        return row_blocks(len(neighbors), self.n_labels_, CELLS)  # all are dense

    def _weights(self, distances: Floats, neighbors: Rows, rows: slice) -> tuple[Any, Any, Any]:
        """The shares w and v of equations 4 to 6, and which labels count (None for all)."""
        if self.unknown_ is None:
            near, far = distances.min(axis=1, keepdims=True), distances.max(axis=1, keepdims=True)
            p = np.exp(-(((distances - near) / (far - near + TINY)) ** 2) / 2)
            w = weighted_sums(p / p.sum(axis=1, keepdims=True), neighbors, self.Y_)
            w = dense(w) if self.Y_.dtype.kind == "f" else w
            return w, _complement(w), None
        w, silent = self._known_shares(distances, neighbors)
        counted = ~(silent | dense(self.unknown_[rows]))
        return counted * w, counted * (1 - w), counted

    def _known_shares(self, distances: Floats, neighbors: Rows) -> tuple[Floats, Any]:
        """Equations 4 to 6 for the K nearest neighbours that know each label."""
        shape = len(neighbors), self.n_labels_
        asked = np.zeros(shape, dtype=np.int64)
        knows = []  # by neighbour, from near to far
        near, far = np.zeros(shape), np.zeros(shape)
        for d, column in zip(distances.T[:, :, None], neighbors.T):
            says = ~dense(self.unknown_[column]) & (asked < self.n_neighbors_)
            near = np.where(says & (asked == 0), d, near)
            far = np.where(says, d, far)
            asked += says
            knows.append(says)
        part, total = np.zeros(shape), np.zeros(shape)
        for d, column, says in zip(distances.T[:, :, None], neighbors.T, knows):
            away = np.where(says, d - near, 0.0)
            p = says * np.exp(-((away / (far - near + TINY)) ** 2) / 2)
            part += p * dense(self.Y_[column])
            total += p
        return ratio(part, total), asked == 0


def _complement(w: Any) -> Any:
    """1 - w; for sparse w at its stored places, the others being 1."""
    if sparse.issparse(w):
        return sparse.csr_array((1 - w.data, w.indices, w.indptr), w.shape)
    return 1 - w
