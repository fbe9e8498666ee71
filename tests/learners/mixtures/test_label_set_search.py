"""Label sets and what can be made of them."""

import numpy as np
from scipy import sparse

from plurilabel.learners.mixtures._label_set_search import (
    all_sets,
    by_size,
    only_used,
    with_labels,
    without_labels,
)
from plurilabel.learners.mixtures._pooled_counts import distinct_sets


def test_sets():
    assert with_labels((2, 5), np.array([0, 7])).tolist() == [[0, 2, 5], [2, 5, 7]]
    assert without_labels((2, 5, 7), [2, 7]).tolist() == [[5, 7], [2, 5]]
    found = all_sets((1,), np.array([0, 2]), 0, 1)
    assert [sets.tolist() for sets in found] == [[[1]], [[0, 1], [1, 2]]]
    found = by_size([(0,), (0, 2), (2,)])
    assert [sets.tolist() for sets in found] == [[[0], [2]], [[0, 2]]]
    sets, rows = distinct_sets([[0, 1], [1, 0], [0, 1]])
    assert (sets, rows.tolist()) == ([(0,), (1,)], [1, 0, 1])


def test_only_used_words():
    words, X = only_used(sparse.csr_array([[0, 2, 0, 1], [0, 0, 0, 3]]))
    assert (words.tolist(), X.toarray().tolist()) == ([1, 3], [[2, 1], [0, 3]])
