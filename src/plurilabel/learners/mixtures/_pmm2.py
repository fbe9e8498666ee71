"""PMM2: shares that depend on which labels meet."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from plurilabel._core.fitted import Declared, numbers
from plurilabel.learners.mixtures._label_set_search import Members
from plurilabel.learners.mixtures._pmm1 import PMM1
from plurilabel.learners.mixtures._pooled_counts import Floats, Memberships


class PMM2(PMM1):
    """Parametric mixture model 2: of two labels that occur together, one may give more words.

    Like :class:`PMM1`, from the same paper, with a share gamma for each ordered pair of labels.
    The words of a document with label set Y are drawn from::

        phi(Y) = sum_{l in Y} sum_{m in Y} (gamma_lm theta_l + gamma_ml theta_m) / |Y|^2

    where gamma_lm + gamma_ml = 1. With gamma = 1/2 everywhere this is PMM1. theta and gamma
    maximise the likelihood under Dirichlet priors, by EM; the optimum may depend on the start.

    Parameters
    ----------
    alpha : float, default=1.0
        Occurrences of each word that are added for each label, and words that are added on each
        side of each pair: the paper's zeta - 1. At least 1e-10.
    set_prior, search, max_labels, init_params, tol, max_iter, random_state :
        As in :class:`PMM1`, with its defaults.

    Attributes
    ----------
    pair_shares_ : ndarray of shape (q, q)
        gamma: row l, column m is the share of l if l and m occur together. 1/2 if they never do.
    feature_count_, feature_log_prob_, label_sets_, set_counts_, objectives_, n_iter_, label_names_
        As in :class:`PMM1`.

    Notes
    -----
    The double sum is ``sum_l w_l theta_l`` with ``w_l = 2 sum_m gamma_lm / |Y|^2``, so that a set
    costs a term per label, not per pair. theta and gamma are updated together; the paper updates
    them in turn. Neither decreases the objective. Scores, departures and costs are those of
    :class:`PMM1`; the pairs take q x q numbers.

    Examples
    --------
    Where sport meets politics, most words are about politics.

    >>> from plurilabel import PMM2
    >>> goal_vote = [[9, 1], [1, 9], [3, 9], [2, 10], [3, 8]]
    >>> sport_politics = [[1, 0], [0, 1], [1, 1], [1, 1], [1, 1]]
    >>> learner = PMM2().fit(goal_vote, sport_politics)
    >>> learner.pair_shares_.round(2)
    array([[0.5 , 0.17],
           [0.83, 0.5 ]])
    >>> learner.predict([[6, 0], [1, 8], [3, 7]])
    array([[1, 0],
           [0, 1],
           [1, 1]])
    """

    _fitted: ClassVar[Declared] = {"pair_shares_": numbers("n_labels_", "n_labels_")}

    pair_shares_: Floats

    def _learn_shares(self, members: Memberships, expected: Floats | None) -> Floats:
        q = self.n_labels_
        gamma = np.full((q + 1, q + 1), 0.5)  # the component of no label, last, meets nobody
        has = members.matrix(np.ones(len(members.components)))  # (S, q + 1)
        row, label, k = members.rows(), members.components, np.diff(members.indptr)
        if expected is not None:
            gamma[:q, :q] = self.pair_shares_
            met = (has @ gamma.T)[row, label]  # sum_m gamma_lm, of each membership
            words = members.matrix(expected / met).T @ has
            words = gamma * words.toarray() + self.alpha  # (l, m): words of l where it met m
            gamma = words / (words + words.T)
        self.pair_shares_ = gamma[:q, :q].copy()
        return 2 * (has @ gamma.T)[row, label] / np.repeat(k, k) ** 2

    def _log_prior(self) -> float:
        off = ~np.eye(self.n_labels_, dtype=bool)
        return self.alpha * float(np.log(self.pair_shares_[off]).sum())

    def _shares(self, members: Members, numbers: NDArray[np.intp]) -> Floats:
        k = members.shape[1]
        if k == 0:
            return super()._shares(members, numbers)
        gamma = self.pair_shares_[members[:, :, None], members[:, None, :]]  # (c, k, k)
        return np.column_stack([2 * gamma.sum(axis=2) / k**2, np.zeros(len(members))])
