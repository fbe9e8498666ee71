"""Generate data like a large text collection, with sparse features and labels."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Real
from typing import Annotated, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from plurilabel._core.base import NumberedNames
from plurilabel._core.blocks import csr_of_rows, row_blocks
from plurilabel._core.compat import (
    AtLeastOne,
    Interval,
    NotNegative,
    Positive,
    Share,
    check_arguments,
)
from plurilabel._core.data.dataset import Dataset
from plurilabel.datasets._generate import generator, label_groups, zipf

Ints: TypeAlias = NDArray[np.int64]
_OWN_WORDS = 12  # words that belong to a label
_BACKGROUND = 0.3  # share of the words that do not depend on labels
_DRAWS_AT_ONCE = 2**18  # bounds the working memory to some 20 MB


def make_sparse_multilabel(
    n_samples: AtLeastOne = 1000,
    n_features: AtLeastOne = 1000,
    n_labels: AtLeastOne = 100,
    *,
    cardinality: Positive = 3.0,
    dependence: Share = 0.5,
    imbalance: NotNegative = 1.0,
    noise: Share = 0.0,
    nnz_per_row: Annotated[float, Interval(Real, 1, None, closed="left")] = 30.0,
    allow_empty: bool = False,
    random_state: Any = None,
) -> Dataset:
    """Generate sparse, high-dimensional data like texts and their tags.

    Each instance has a topic, which is a group of labels. Its labels come from that group or from
    all labels. Of its words, 30 percent come from the whole vocabulary and the others from the
    words of its labels, 12 random words each.

    Parameters
    ----------
    n_samples, n_features, n_labels : int, default=1000, 1000, 100
        Sizes: instances, words, labels.
    cardinality : float, default=3.0
        Mean number of labels per instance.
    dependence : float in [0, 1], default=0.5
        Probability that a label comes from the topic instead of all labels. High values reduce
        the imbalance, because label sets from one small group also contain its rare labels.
    imbalance : float, default=1.0
        Zipf exponent: the r-th label is drawn r**-imbalance times as often as the first. With 0
        all labels are equally frequent.
    noise : float in [0, 1], default=0.0
        Probability that a label is replaced, after drawing the words, by a random one.
    nnz_per_row : float, default=30.0
        Mean number of distinct words per instance.
    allow_empty : bool, default=False
        Whether instances may have no labels; their words come from the whole vocabulary.
    random_state : int, RandomState instance or None, default=None
        Pass an int for the same data every time.

    Returns
    -------
    Dataset
        X holds word counts, Y the labels, both CSR.

    Notes
    -----
    Set sizes are binomial with the given mean: 1 + B(q - 1, .), or B(q, .) with
    ``allow_empty``. A label that is drawn twice is drawn again; if a small group runs out of
    labels, the rest come from all labels.

    Examples
    --------
    >>> from plurilabel.datasets import make_sparse_multilabel
    >>> data = make_sparse_multilabel(5000, 2000, 300, cardinality=4, random_state=0)
    >>> data
    Dataset 'sparse': 5000 instances, 2000 features, 300 labels
    >>> print(f"{data.Y.nnz / 5000:.1f} labels, {data.X.nnz / 5000:.0f} words")
    4.0 labels, 30 words
    """
    check_arguments(make_sparse_multilabel, locals())
    n, d, q = n_samples, n_features, n_labels
    least = 0 if allow_empty else 1
    bounds = (("cardinality", cardinality, least, q), ("nnz_per_row", nnz_per_row, 1, d))
    for name, mean, low, high in bounds:
        if not low <= mean <= high:
            raise ValueError(f"{name} must lie between {low} and {high}, got {mean}")
    rng = generator(random_state)
    labels = _Labels(q, cardinality, dependence, imbalance, rng)
    words = _Words(d, q, rng)

    # draw all sizes first, to allocate the result once and fill it in place
    Y = _empty_csr(_sizes(rng, n, q, cardinality, least), q, np.int64)
    X = _empty_csr(_sizes(rng, n, d, nnz_per_row, 1), d, np.float64)
    for rows in row_blocks(n, nnz_per_row + cardinality, _DRAWS_AT_ONCE):
        set_size, length = (np.diff(M.indptr[rows.start : rows.stop + 1]) for M in (Y, X))
        sets = labels.draw(set_size, rng)  # (row, label) pairs
        texts = words.draw(length, sets % q, set_size, rng)  # (row, word) pairs
        sets = labels.exchange(sets, noise, rng)
        for M, pairs in ((Y, sets), (X, texts)):
            M.indices[M.indptr[rows.start] : M.indptr[rows.stop]] = pairs % M.shape[1]
        X.data[X.indptr[rows.start] : X.indptr[rows.stop]] = rng.geometric(0.7, len(texts))
    Y.data[:] = 1
    return Dataset(X, Y, NumberedNames("word", d), name="sparse")


class _Labels:
    """Draws label sets, as sorted numbers ``row * q + label``."""

    def __init__(self, q: int, cardinality: float, dependence: float, imbalance: float, rng: Any):
        self.q, self.dependence = q, dependence
        group = label_groups(q, cardinality, rng)
        # labels sorted by group, each with a stretch of [0, 1): a uniform number selects any
        # label, a number from the stretch of a group one of its labels
        self.in_order = np.argsort(group, kind="stable")
        popularity = zipf(q, imbalance)
        self.end = np.cumsum(popularity[self.in_order])
        self.end[-1] = 1.0
        self.group_in_order = group[self.in_order]
        mass = np.bincount(group, weights=popularity)
        self.group_end = np.cumsum(mass)
        self.group_start = self.group_end - mass
        self.group_mass = mass

    def draw(self, sizes: Ints, rng: np.random.Generator) -> Ints:
        # groups are as frequent as their labels, so that the popularity of labels is kept
        topic = self.group_in_order[self._position(rng.random(len(sizes)))]

        def of_topic_or_any(rows: Ints) -> Ints:
            u = rng.random(len(rows))
            theirs = rng.random(len(rows)) < self.dependence
            g = topic[rows[theirs]]
            u[theirs] = self.group_start[g] + self.group_mass[g] * u[theirs]
            return self.in_order[self._position(u)]

        rows = np.repeat(np.arange(len(sizes)), sizes)
        return top_up(np.empty(0, np.int64), rows, self.q, of_topic_or_any, rng)

    def exchange(self, sets: Ints, noise: float, rng: np.random.Generator) -> Ints:
        def of_any(rows: Ints) -> Ints:
            return self.in_order[self._position(rng.random(len(rows)))]

        gone = rng.random(len(sets)) < noise
        return top_up(sets[~gone], sets[gone] // self.q, self.q, of_any, rng)

    def _position(self, u: NDArray[np.float64]) -> Ints:
        return np.minimum(np.searchsorted(self.end, u, side="right"), self.q - 1)


class _Words:
    """Draws distinct words for instances with given labels."""

    def __init__(self, d: int, q: int, rng: np.random.Generator) -> None:
        self.d = d
        self.of_label = rng.integers(d, size=(q, _OWN_WORDS))
        self.own_end = np.cumsum(zipf(_OWN_WORDS, 0.5))
        # all words by frequency, in random order
        self.by_frequency = rng.permutation(d)
        self.end = np.cumsum(zipf(d, 1.0))

    def draw(self, lengths: Ints, labels: Ints, set_sizes: Ints, rng: np.random.Generator) -> Ints:
        first = np.cumsum(set_sizes) - set_sizes

        def of_label_or_any(rows: Ints) -> Ints:
            any_word = (rng.random(len(rows)) < _BACKGROUND) | (set_sizes[rows] == 0)
            word = np.empty(len(rows), np.int64)
            rank = np.searchsorted(self.end, rng.random(int(any_word.sum())), side="right")
            word[any_word] = self.by_frequency[np.minimum(rank, self.d - 1)]
            theirs = rows[~any_word]
            which = (rng.random(len(theirs)) * set_sizes[theirs]).astype(np.int64)
            own = np.searchsorted(self.own_end, rng.random(len(theirs)), side="right")
            own = np.minimum(own, _OWN_WORDS - 1)
            word[~any_word] = self.of_label[labels[first[theirs] + which], own]
            return word

        rows = np.repeat(np.arange(len(lengths)), lengths)
        return top_up(np.empty(0, np.int64), rows, self.d, of_label_or_any, rng)


def top_up(
    pairs: Ints, rows: Ints, items: int, draw: Callable[[Ints], Ints], rng: Any, attempts: int = 16
) -> Ints:
    """Add one pair ``row * items + item`` for each entry of ``rows`` to sorted distinct pairs."""
    # Duplicates are drawn again: from ``draw``, after half of the attempts from all items, and
    # finally from the free items of the few rows that still lack some.
    complete = []
    for attempt in range(attempts):
        if attempt == attempts // 2:
            draw = lambda rows: rng.integers(items, size=len(rows))  # noqa: E731
        pairs = np.concatenate([pairs, rows * items + draw(rows)])
        pairs.sort()
        twice = pairs[1:] == pairs[:-1]
        rows = pairs[1:][twice] // items
        if len(rows) == 0:
            break
        pairs = pairs[np.concatenate([[True], ~twice])]
        row_of = pairs // items
        lacks = np.zeros(row_of[-1] + 1, dtype=bool)
        lacks[rows] = True
        still = lacks[row_of]
        complete.append(pairs[~still])
        pairs = pairs[still]
    else:
        pairs = _with_free_items(pairs, rows, items, rng)
    return np.sort(np.concatenate([*complete, pairs]))


def _with_free_items(pairs: Ints, rows: Ints, items: int, rng: np.random.Generator) -> Ints:
    added = [pairs]
    lacking, counts = np.unique(rows, return_counts=True)
    row_of = pairs // items
    for block in row_blocks(len(lacking), items, _DRAWS_AT_ONCE):
        these = lacking[block]
        order = rng.random((len(these), items))
        at = np.searchsorted(these, row_of).clip(max=len(these) - 1)
        taken = these[at] == row_of
        order[at[taken], pairs[taken] % items] = 2.0  # behind all free ones
        first = np.arange(items) < counts[block, None]
        added.append((np.argsort(order, axis=1) + these[:, None] * items)[first])
    return np.concatenate(added)


def _sizes(rng: np.random.Generator, n: int, most: int, mean: float, least: int) -> Ints:
    if most == least:
        return np.full(n, least)
    return least + rng.binomial(most - least, (mean - least) / (most - least), size=n)


def _empty_csr(sizes: Ints, columns: int, dtype: type) -> sparse.csr_array:
    """A CSR array whose rows have the given sizes, with indices and data to be filled."""
    nnz = int(sizes.sum())
    index = np.int32 if max(nnz, columns) < 2**31 else np.int64
    return csr_of_rows(np.empty(nnz, dtype), np.zeros(nnz, index), sizes, columns)
