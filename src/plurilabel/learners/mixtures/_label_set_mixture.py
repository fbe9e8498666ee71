"""McCallum's mixture: shares of their own for each label set, and words of no label."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from plurilabel._core.fitted import Declared, number, numbers
from plurilabel.learners.mixtures._label_set_search import Members
from plurilabel.learners.mixtures._pooled_counts import Floats, Memberships
from plurilabel.learners.mixtures._word_mixture import WordMixture


@dataclass(eq=False, repr=False)
class LabelSetMixture(WordMixture):
    """McCallum's mixture per label set: its labels and a background, in shares of its own.

    A label l has a distribution theta_l over the words, and the background theta_0 has the words
    of any document. The words of a document with label set Y are drawn from::

        phi(Y) = w_0(Y) theta_0 + sum_{l in Y} w_l(Y) theta_l

    Which word comes from which label is not known: EM learns theta and the shares w together.
    ``predict`` returns the label set with the highest P(Y) P(words | Y).

    Parameters
    ----------
    alpha : float, default=0.1
        Occurrences of each word that are added for each component, as in
        :class:`sklearn.naive_bayes.MultinomialNB`. At least 1e-10.
    set_prior : {"sets", "labels", "uniform"}, default="sets"
        P(Y). ``"sets"`` is the frequency of the set among the training documents, where the
        product of the labels' frequencies counts as one further document; ``"labels"`` that
        product alone; ``"uniform"`` prefers no set.
    init_params : {"counts", "random"}, default="counts"
        Start of EM: words divided equally among a document's labels and the background, or random.
    search, max_labels, tol, max_iter, random_state :
        As in :class:`PMM1`, with its defaults.

    Attributes
    ----------
    shares_ : csr_array of shape (s, q + 1)
        w of each set of ``label_sets_``; the last column is the background.
    background_share_ : float
        The part of all training words that comes from the background.
    feature_count_, feature_log_prob_, label_sets_, set_counts_, objectives_, n_iter_, label_names_
        As in :class:`PMM1`; the last row of the first two is the background.

    See Also
    --------
    PMM1 : Equal shares and no background: fewer parameters, one optimum.

    Notes
    -----
    *What the paper leaves open.* One word is added to each share of a set (a Dirichlet prior). In
    a set that no training document has, the background has its mean share, and the labels divide
    the rest equally. Documents without labels have words of the background only; the empty set is
    predicted only if it occurs in training.

    *alpha.* With 1, as in naive Bayes, the prior of a rare label outweighs its few words, and the
    background takes over. The default has the highest mean F1 in 3-fold cross-validation on the
    training parts of four collections; tuning it is worthwhile.

    *Scores, costs.* As for :class:`PMM1`.

    References
    ----------
    A. McCallum. Multi-label text classification with a mixture model trained by EM. AAAI
    workshop on text learning, 1999.

    Examples
    --------
    >>> from sklearn.feature_extraction.text import CountVectorizer
    >>> from plurilabel import LabelSetMixture
    >>> texts = ["the goal the match goal", "the vote the party vote", "the match the team",
    ...          "the party the law", "the team vote the law goal", "the match the party"]
    >>> sport_politics = [[1, 0], [0, 1], [1, 0], [0, 1], [1, 1], [1, 1]]
    >>> words = CountVectorizer()
    >>> learner = LabelSetMixture().fit(words.fit_transform(texts), sport_politics)
    >>> new = words.transform(["the goal the team match", "the vote goal law team"])
    >>> learner.predict(new)
    array([[1, 0],
           [1, 1]])
    >>> print(learner.explain(new, feature_names=words.get_feature_names_out())[1])
    word  count  label0  label1  (no label)
    goal      1    0.87    0.04        0.08
    team      1    0.79    0.08        0.13
    vote      1    0.04    0.87        0.08
    law       1    0.08    0.79        0.13
    the       1    0.13    0.13        0.73
    all       5    0.38    0.38        0.23
    """

    _looks_up_sets = True
    _fitted: ClassVar[Declared] = {
        "shares_": numbers("s", "n_labels_+1"),
        "background_share_": number(),
    }

    _: KW_ONLY
    alpha: float = 0.1
    set_prior: Literal["uniform", "labels", "sets"] = "sets"

    def _members(self, sets: list[tuple[int, ...]]) -> Memberships:
        q = self.n_labels_
        ends = np.cumsum([0, *(len(present) + 1 for present in sets)])
        components = [l for present in sets for l in (*present, q)]
        return Memberships(ends, np.array(components, dtype=np.intp), q + 1)

    def _learn_shares(self, members: Memberships, expected: Floats | None) -> Floats:
        words = np.ones(len(members.components)) if expected is None else expected + 1.0
        total = np.add.reduceat(words, members.indptr[:-1])
        shares = words / np.repeat(total, np.diff(members.indptr))
        background = members.components == self.n_labels_
        self.shares_ = members.matrix(shares)
        self.background_share_ = float(words[background].sum() / words.sum())
        return shares

    def _log_prior(self) -> float:
        return float(np.log(self.shares_.data).sum())

    def _shares(self, members: Members, numbers: NDArray[np.intp]) -> Floats:
        c, k = members.shape
        shares = np.empty((c, k + 1))
        shares[:, -1] = self.background_share_ if k else 1.0
        shares[:, :-1] = (1 - self.background_share_) / max(k, 1)
        seen = numbers >= 0
        starts = self.shares_.indptr[numbers[seen]]
        shares[seen] = self.shares_.data[starts[:, None] + np.arange(k + 1)]
        return shares
