"""Parts of the labels."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from plurilabel.learners import partition_labels
from plurilabel.learners.transformation._partition import _assign


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 12), st.integers(1, 5), st.integers(0, 2**32 - 1))
def test_no_label_and_part_prefer_each_other(q, k, seed):
    k = min(k, q)
    distances = np.random.default_rng(seed).integers(0, 6, size=(q, k)).astype(float)
    room = -(-q // k)
    part = _assign(distances, room)
    sizes = np.bincount(part, minlength=k)
    assert sizes.sum() == q and sizes.max() <= room
    for l in range(q):
        for c in range(k):
            if distances[l, c] < distances[l, part[l]]:  # l would rather be in c
                assert sizes[c] == room
                assert distances[part == c, c].max() <= distances[l, c]


def test_labels_that_occur_together_are_together():
    rng = np.random.default_rng(0)
    group = rng.permutation(np.repeat(np.arange(3), 4))
    theme = rng.integers(0, 3, size=300)
    Y = ((theme[:, None] == group) & (rng.random((300, 12)) < 0.7)).astype(int)
    wanted = sorted(np.flatnonzero(group == g).tolist() for g in range(3))
    hits = 0
    for seed in range(10):
        dense = [p.tolist() for p in partition_labels(Y, 3, random_state=seed)]
        assert dense == [
            p.tolist() for p in partition_labels(sparse.csr_array(Y), 3, random_state=seed)
        ]
        hits += dense == wanted
    assert hits >= 5
    with pytest.raises(ValueError, match="n_clusters must be between 1 and the 12 labels, got 13"):
        partition_labels(Y, 13)
