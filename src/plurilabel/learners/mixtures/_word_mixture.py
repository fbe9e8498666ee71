"""The base class of mixtures: EM over label sets, prediction of the best set, word shares."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY, dataclass
from math import comb
from numbers import Real
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, check_non_negative

from plurilabel._core.base import LabelMatrix, ScoringClassifier, WeightedFit
from plurilabel._core.blocks import only_used
from plurilabel._core.compat import AtLeastOne, Interval
from plurilabel._core.explanation.contributions import SCORE, Explained, Given
from plurilabel._core.fitted import Declared, labels, numbers, parameter
from plurilabel._core.html import html_table
from plurilabel._core.words import aligned
from plurilabel.learners.mixtures._label_set_search import (
    Members,
    SeenSets,
    SetPrior,
    SetSearch,
    all_sets,
    by_size,
)
from plurilabel.learners.mixtures._pooled_counts import (
    Expected,
    Floats,
    Memberships,
    PooledCounts,
    distinct_sets,
)

MOST_SETS = 2**20  # for ``search="exact"``
MOST = 1e290  # the largest count; the log likelihood of larger ones would be infinite
NO_LABEL = "(no label)"


@dataclass(eq=False, repr=False)
class WordMixture(WeightedFit, ScoringClassifier):
    """Base class of mixtures: the words of a document come from its labels.

    Each label l has a distribution theta_l over the words, and so has "no label". The words of
    a document with label set Y are drawn from phi(Y) = sum_z w_z(Y) theta_z. Subclasses define the
    shares w_z(Y):

    ``_members(sets)``
        the components of each training set;
    ``_learn_shares(members, expected)``
        a share for each membership, from the number of words that came from it (None at first);
    ``_log_prior()``
        the log density of the shares, up to a constant;
    ``_shares(members, numbers)``
        the shares of sets of one size.
    """

    _X_form: ClassVar[dict[str, Any]] = {"dtype": np.float64}
    _looks_up_sets: ClassVar[bool] = False  # whether shares depend on which sets were seen
    _fitted: ClassVar[Declared] = {
        "alpha_": parameter(), "set_prior_": parameter(), "search_": parameter(),
        "max_labels_": parameter(), "set_counts_": numbers("s"),
        "label_sets_": labels("s", "n_labels_"),
        "feature_count_": numbers("n_labels_+1", "n_features_in_"), "objectives_": numbers(None),
    }  # fmt: skip

    _: KW_ONLY
    alpha: Annotated[float, Interval(Real, 1e-10, None, closed="left")] = 1.0
    set_prior: Literal["uniform", "labels", "sets"] = "uniform"
    search: Literal["greedy", "exact", "seen"] = "greedy"
    max_labels: AtLeastOne | None = None
    init_params: Literal["counts", "random"] = "counts"
    tol: float = 1e-5
    max_iter: int = 500
    random_state: Any = None

    @abstractmethod
    def _members(self, sets: list[tuple[int, ...]]) -> Memberships: ...

    @abstractmethod
    def _learn_shares(self, members: Memberships, expected: Floats | None) -> Floats: ...

    def _log_prior(self) -> float:
        return 0.0

    @abstractmethod
    def _shares(self, members: Members, numbers: NDArray[np.intp]) -> Floats: ...

    def _validate_X(self, X: Any, *, reset: bool) -> Any:
        X = super()._validate_X(X, reset=reset)
        check_non_negative(X, f"{type(self).__name__} (input X)")
        if X.shape[0] and (most := X.max()) > MOST:
            raise ValueError(f"X must hold counts of at most {MOST:g}, got {most:g}")
        return X

    def _fit(self, X: Any, Y: LabelMatrix, weights: Any = None) -> None:
        X = sparse.csr_array(X)
        sets, number = distinct_sets(Y)
        n, S = X.shape[0], len(sets)
        self.alpha_, self.set_prior_ = self.alpha, self.set_prior
        self.search_, self.max_labels_ = self.search, self.max_labels
        self.set_counts_ = np.bincount(number, weights, minlength=S)
        first = np.unique(number, return_index=True)[1]
        self.label_sets_ = sparse.csr_array(Y, dtype=np.int8)[first].sorted_indices()
        once = np.ones(n) if weights is None else weights
        which = sparse.csr_array((once, (number, np.arange(n))), shape=(S, n))
        counts = sparse.csr_array(which @ X)
        counts.eliminate_zeros()
        members = self._members(sets)
        self._learn(PooledCounts(counts, members), members, float(counts.data.sum()))

    def _learn(self, pooled: PooledCounts, members: Memberships, n_words: float) -> None:
        shares = self._learn_shares(members, None)
        by_word = pooled.spread(shares)
        if self.init_params == "random":
            rng = check_random_state(self.random_state)
            mean = by_word.sum() / max(len(by_word), 1)
            by_word = rng.exponential(size=len(by_word)) * max(mean, 1.0)
        reached: list[float] = []
        while True:
            theta, log_prior = self._probabilities(pooled, by_word)
            expected: Expected = pooled.expect(theta, shares)
            reached.append(expected.log_likelihood + log_prior + self._log_prior())
            gain = np.inf if len(reached) == 1 else reached[-1] - reached[-2]
            if gain <= self.tol * n_words or n_words == 0 or len(reached) > self.max_iter:
                break
            by_word = expected.by_word
            shares = self._learn_shares(members, expected.by_set)
        self.n_iter_ = max(len(reached) - 1, 1)
        self.objectives_ = np.array(reached)
        self.feature_count_ = pooled.matrix(by_word)
        if gain > self.tol * n_words and n_words > 0:
            warnings.warn(
                f"{type(self).__name__} stopped after max_iter={self.max_iter} steps that still "
                f"gained {gain / n_words:.1e} a word, above tol={self.tol:g}. Increase max_iter "
                "or tol.",
                ConvergenceWarning,
                stacklevel=5,
            )

    def _probabilities(self, pooled: PooledCounts, by_word: Floats) -> tuple[Floats, float]:
        """Theta at the keys, and the log density of its prior."""
        K, V = pooled.shape
        a = self.alpha
        total = np.bincount(pooled.component, by_word, K) + a * V
        theta = (by_word + a) / total[pooled.component]
        rest = K * V - len(by_word)
        log_theta = np.log(by_word + a).sum() + rest * np.log(a) - V * np.log(total).sum()
        return theta, a * float(log_theta)

    @property
    def feature_log_prob_(self) -> Floats:
        """The log of theta, shape (q + 1, d); the last row is "no label"."""
        return np.log(self._theta()(np.arange(self.feature_count_.shape[1])))

    def _theta(self) -> Callable[[NDArray[np.intp]], Floats]:
        """A function that returns theta (q + 1, w) of words."""
        counts, a = self.feature_count_, self.alpha_
        total = np.asarray(counts.sum(axis=1)).ravel() + a * counts.shape[1]
        by_word = sparse.csr_array(counts.T)
        return lambda words: (by_word[words].toarray().T + a) / total[:, None]

    def _set_search(self) -> SetSearch:
        label_counts = np.asarray(self.set_counts_ @ self.label_sets_).ravel().astype(float)
        n = self.set_counts_.sum()
        free = np.flatnonzero((label_counts > 0) & (label_counts < n))
        look_up = self._looks_up_sets or self.set_prior_ == "sets"
        return SetSearch(
            theta=self._theta(),
            shares=self._shares,
            prior=SetPrior(self.set_prior_, self.set_counts_.astype(float), label_counts),
            seen=SeenSets(self._seen() if look_up else []),
            always=tuple(np.flatnonzero(label_counts == n).tolist()),
            free=free[np.argsort(-label_counts[free], kind="stable")],
            empty=not self.label_sets_[[0]].nnz,
            n_labels=self.n_labels_,
        )

    def _seen(self) -> list[tuple[int, ...]]:
        """The label sets of the training documents."""
        sets = self.label_sets_
        return [tuple(part.tolist()) for part in np.split(sets.indices, sets.indptr[1:-1])]

    def _listed(self, search: SetSearch) -> list[Members]:
        """The label sets that an exhaustive search tries."""
        if self.single_output_ or self.search_ == "seen":
            return by_size(self._seen())
        fixed, free = len(search.always), len(search.free)
        largest = max(map(len, self._seen()))
        most = min(self.max_labels_ or largest, fixed + free) - fixed
        if most < 0:
            raise ValueError(
                f"max_labels must be at least {fixed}, the number of labels that all training "
                f"instances have, got {self.max_labels_}"
            )
        fewest = 0 if search.empty or fixed else 1
        n_sets = sum(comb(free, k) for k in range(fewest, most + 1))
        if n_sets > MOST_SETS:
            raise ValueError(
                f"search='exact' is possible for up to {MOST_SETS:,} label sets, got "
                f"{n_sets:,} of up to {fixed + most} of {free} labels; set a smaller max_labels, "
                "or use search='greedy'"
            )
        return all_sets(search.always, search.free, fewest, most)

    def _scores(self, X: Any) -> Floats:
        X = sparse.csr_array(X)
        search = self._set_search()
        if self.search_ == "greedy" and not self.single_output_:
            scores = search.greedy(X)
        else:
            scores = search.among(X, self._listed(search))
        # constant labels are above or below all others
        always, label = list(search.always), np.arange(self.n_labels_)
        never = ~np.isin(label, [*always, *search.free])
        high, low = scores.max(axis=1, initial=0.0), scores.min(axis=1, initial=0.0)
        scores[:, always] = high[:, None] + 1.0
        scores[:, never] = low[:, None] - 1.0
        return scores

    def log_likelihood(self, X: ArrayLike, y: ArrayLike) -> Floats:
        """Log of P(words | label set) of each document, without the multinomial coefficient.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
        y : labels in the form that was passed to ``fit``

        Returns
        -------
        ndarray of shape (n,)
            The sum over the words of count times log phi(Y).
        """
        check_is_fitted(self)
        checked, Y = self._validate_more(X, y)
        found = np.empty(checked.shape[0])
        for rows, words, shares, theta in self._by_set(sparse.csr_array(checked), Y):
            found[rows] = words @ np.log(shares @ theta)
        return found

    def _explain(self, X: Any, given: Given) -> list[WordShares]:
        """The share of each predicted label in each word, and the log-odds of the words."""
        counts_of: Any = sparse.csr_array(X, copy=True)
        counts_of.sum_duplicates()
        counts_of.eliminate_zeros()
        n, names, search = counts_of.shape[0], given.names, self._set_search()
        scores = self._scores(counts_of)
        Y = scores > 0
        if self.single_output_:
            Y = scores == scores.max(axis=1, keepdims=True)
        answers: list[Any] = [None] * n
        sources = np.array([*self.label_names_, NO_LABEL], dtype=object)
        for rows, counts, shares, theta in self._by_set(counts_of, Y):
            used = shares > 0
            components = np.array([*np.flatnonzero(Y[rows[0]]), self.n_labels_])[used]
            parts = shares[used, None] * theta[used]
            of_word = (parts / parts.sum(axis=0)).T  # (w, s)
            for at, i in enumerate(rows):
                own = slice(counts.indptr[at], counts.indptr[at + 1])
                words = counts_of.indices[counts_of.indptr[i] : counts_of.indptr[i + 1]]
                base, parts = self._word_odds(counts_of[[i]], scores[i], search)
                answers[i] = WordShares(
                    words=tuple(str(names[w]) for w in words),
                    counts=counts.data[own],
                    sources=tuple(map(str, sources[components])),
                    shares=of_word[counts.indices[own]],
                    label_names=tuple(map(str, self.label_names_)),
                    scores=scores[i],
                    base=base,
                    parts=parts,
                    scales=(SCORE,) * self.n_labels_,
                )
        return answers

    def _word_odds(
        self, x: sparse.csr_array, scores: Floats, search: SetSearch
    ) -> tuple[Floats, Floats]:
        """Base (q,) and parts (w, q) of the scores of one document: the log-odds of its words."""
        # A score is log P(A, words) - log P(B, words) of a set A with the label and a set B
        # without it; each word adds its count times log(phi(A) / phi(B)).
        words, counts = only_used(x)
        theta = search.theta(words)
        base, parts = scores.astype(np.float64), np.zeros((len(words), self.n_labels_))
        greedy = self.search_ == "greedy" and not self.single_output_
        lists = [] if greedy else self._listed(search)
        for l, (a, b) in search.compared(counts, theta, scores > 0, lists).items():
            (log_a, prior_a), (log_b, prior_b) = (search.by_word(theta, one) for one in (a, b))
            parts[:, l] = counts.data * (log_a - log_b)
            base[l] = prior_a - prior_b
        return base, parts

    def _by_set(
        self, X: sparse.csr_array, Y: Any
    ) -> Iterator[tuple[NDArray[np.intp], sparse.csr_array, Floats, Floats]]:
        """For each label set: rows, their words, w (k + 1,) and theta (k + 1, w)."""
        sets, number = distinct_sets(Y)
        theta = self._theta()
        seen = SeenSets(self._seen() if self._looks_up_sets else [])
        for s, present in enumerate(sets):
            rows = np.flatnonzero(number == s)
            words, counts = only_used(X[rows])
            members = np.array([present], dtype=np.intp)
            shares = self._shares(members, seen.find(members))[0]
            yield rows, counts, shares, theta(words)[[*present, self.n_labels_]]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        tags.classifier_tags.poor_score = True
        return tags


@dataclass(frozen=True, eq=False)
class WordShares(Explained):
    """Where the words of one document come from, given its predicted labels.

    Attributes
    ----------
    words : tuple of str
        The words of the document, in the order of the features.
    counts : array of shape (w,)
        The count of each word.
    sources : tuple of str
        The predicted labels and, if words can come from it, ``"(no label)"``.
    shares : array of shape (w, s)
        The probability that a word comes from each source; rows sum to one.
    label_names, scores, base, parts, scales
        As in all explanations. The part of a word in a label is its log-odds: how much it raises
        the log probability of the document with the label over that without it.
    """

    words: tuple[str, ...]
    counts: NDArray[np.float64]
    sources: tuple[str, ...]
    shares: NDArray[np.float64]
    label_names: tuple[str, ...]
    scores: NDArray[np.float64]
    base: NDArray[np.float64]
    parts: NDArray[np.float64]
    scales: tuple[str, ...]

    @property
    def part_names(self) -> tuple[str, ...]:
        """The same as ``words``."""
        return self.words

    def __getitem__(self, source: str | int) -> dict[str, float]:
        """The share of one source in each word, largest first."""
        j = self.sources.index(source) if isinstance(source, str) else source
        order = np.lexsort((-self.counts, -self.shares[:, j]))
        return {self.words[i]: float(self.shares[i, j]) for i in order}

    def totals(self) -> dict[str, float]:
        """The fraction of the document's words that comes from each source."""
        weight = self.counts.sum()
        part = self.counts @ self.shares / (weight if weight > 0 else 1.0)
        return dict(zip(self.sources, part.tolist()))

    def __str__(self) -> str:
        if not self.words:
            return f"no known words: {', '.join(self.sources)}"
        least = (4, 5, *[5] * len(self.sources))
        return "\n".join(aligned(self._rows(), least=least))

    def _rows(self) -> list[list[str]]:
        """A head, then words, counts and shares as text, with a last row for all words."""
        # by most probable source, surest words first
        own = self.shares.argmax(axis=1)
        order = np.lexsort((-self.shares.max(axis=1), own))
        found = [(self.words[i], self.counts[i], self.shares[i]) for i in order]
        found.append(("all", self.counts.sum(), np.array([*self.totals().values()])))
        rows = [[word, f"{n:g}", *(f"{p:.2f}" for p in parts)] for word, n, parts in found]
        return [["word", "count", *self.sources], *rows]

    def _repr_html_(self) -> str:
        if not self.words:
            return html_table([], [[str(self)]])
        head, *rows = self._rows()
        return html_table(head, rows)
