"""PMM1: labels in equal shares."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from plurilabel.learners.mixtures._label_set_search import Members
from plurilabel.learners.mixtures._pooled_counts import Floats, Memberships
from plurilabel.learners.mixtures._word_mixture import WordMixture


class PMM1(WordMixture):
    """Parametric mixture model 1: each label of a document gives an equal share of its words.

    A label l has a distribution theta_l over the words. The words of a document with label set Y
    are drawn from::

        phi(Y) = sum_{l in Y} theta_l / |Y|

    theta maximises the likelihood of the training documents under a Dirichlet prior, by EM. That
    is a concave problem: there is one optimum, and EM reaches it from any start. ``predict``
    gives the label set with the highest probability given the words.

    Parameters
    ----------
    alpha : float, default=1.0
        Occurrences of each word that are added for each label, as in
        :class:`sklearn.naive_bayes.MultinomialNB`: the paper's zeta - 1. At least 1e-10.
    set_prior : {"uniform", "labels", "sets"}, default="uniform"
        P(Y). ``"uniform"`` is the paper's; ``"labels"`` the product of the labels' frequencies;
        ``"sets"`` the frequency of the set among the training documents, where the product counts
        as one further document. The latter is better on most collections.
    search : {"greedy", "exact", "seen"}, default="greedy"
        ``"greedy"`` starts with the best single label and adds the label that increases the
        probability most, until none does; labels are dropped if that increases it. ``"exact"``
        tries all sets of up to ``max_labels`` labels, ``"seen"`` those of the training documents.
    max_labels : int, default=None
        Most labels in a set for ``search="exact"``; None is that of the training documents.
    init_params : {"counts", "random"}, default="counts"
        Start of EM: words divided equally among a document's labels, or random numbers.
    tol : float, default=1e-5
        EM stops when a step gains at most this much log likelihood per word.
    max_iter : int, default=500
    random_state : int, RandomState instance or None, default=None
        For ``init_params="random"``.

    Attributes
    ----------
    feature_count_ : csr_array of shape (q + 1, d)
        Expected occurrences of each word that come from each label; the last row is "no label".
    feature_log_prob_ : ndarray of shape (q + 1, d)
        log theta, computed on access. It is dense: for hundreds of thousands of words and
        thousands of labels, read ``feature_count_`` instead.
    label_sets_ : csr_array of shape (s, q)
        The distinct label sets of the training documents.
    set_counts_ : ndarray of shape (s,)
        Number of documents with each set.
    objectives_ : ndarray
        Log likelihood plus log prior, at the start and after each step; never decreasing.
    n_iter_ : int

    See Also
    --------
    PMM2 : Shares that depend on which labels meet.
    LabelSetMixture : Shares of their own for each label set, and words of no label.

    Notes
    -----
    *Scores.* ``decision_function`` is the log probability of the predicted set with the label,
    less that without it. With ``search="exact"`` and ``"seen"`` it compares the best set with the
    label and the best without it.

    *Departures.* The paper never drops a label, and its sets are not empty. Here, training
    documents without labels have their own word distribution, and the empty set is predicted only
    if a training document has it. Constant labels are always or never predicted.

    *Cost.* Documents with the same labels are summed before EM; a step then costs the distinct
    words of each label set times its labels. Counts stay sparse, even with 300,000 words.

    References
    ----------
    N. Ueda, K. Saito. Parametric mixture models for multi-labeled text. NIPS 15, 2002.

    Examples
    --------
    >>> from sklearn.feature_extraction.text import CountVectorizer
    >>> from plurilabel import PMM1
    >>> texts = ["goal match goal", "vote party vote", "match team", "party law",
    ...          "team vote law goal", "match party"]
    >>> sport_politics = [[1, 0], [0, 1], [1, 0], [0, 1], [1, 1], [1, 1]]
    >>> words = CountVectorizer()
    >>> learner = PMM1().fit(words.fit_transform(texts), sport_politics)
    >>> new = words.transform(["goal team match", "vote goal law team"])
    >>> learner.predict(new)
    array([[1, 0],
           [1, 1]])
    >>> print(learner.explain(new, feature_names=words.get_feature_names_out())[1])
    word  count  label0  label1
    goal      1    0.75    0.25
    team      1    0.67    0.33
    vote      1    0.25    0.75
    law       1    0.33    0.67
    all       4    0.50    0.50
    """

    def _members(self, sets: list[tuple[int, ...]]) -> Memberships:
        q = self.n_labels_
        components = [present or (q,) for present in sets]
        ends = np.cumsum([0, *map(len, components)])
        return Memberships(ends, np.concatenate(components).astype(np.intp), q + 1)

    def _learn_shares(self, members: Memberships, expected: Floats | None) -> Floats:
        del expected
        return 1 / np.repeat(sizes := np.diff(members.indptr), sizes)

    def _shares(self, members: Members, numbers: NDArray[np.intp]) -> Floats:
        del numbers
        c, k = members.shape
        return np.column_stack([np.full((c, k), 1 / max(k, 1)), np.full(c, float(k == 0))])
