"""Dealing rows and groups: exact sizes, even labels, each step as the objective asks."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from plurilabel.model_selection import IterativeStratifiedKFold
from plurilabel.model_selection._holdout import part_sizes
from plurilabel.model_selection._stratification import (
    _deal_label_sets,
    _deal_one_by_one,
    _exchange,
    deal_block,
    deal_groups,
    deal_rows,
    label_sets,
)
from tests.model_selection.twin import count_error, dependent_labels, folds, label_matrices


@settings(max_examples=40, deadline=None)
@given(label_matrices(), st.data())
def test_parts_have_exactly_the_sizes_asked_for(Y, data):
    n = len(Y)
    cuts = data.draw(st.sets(st.integers(1, n - 1), max_size=4))
    sizes = np.diff([0, *sorted(cuts), n])
    for random_state in (None, np.random.RandomState(0)):
        part = deal_rows(label_sets(Y), sizes, random_state)
        assert np.array_equal(np.bincount(part, minlength=len(sizes)), sizes)


@pytest.mark.parametrize("sizes", [(99, 1), (98, 2), (67, 33), (50, 49, 1), (34, 33, 33)])
def test_whole_shares_never_overfill_a_part(sizes):
    Y = np.tile([[1, 1, 0], [1, 1, 1]], (50, 1))  # two large label sets, nothing kept back
    part = deal_rows(label_sets(Y), np.array(sizes))
    assert tuple(np.bincount(part)) == sizes
    share = np.array(sizes) / 100
    got = [Y[part == j, 2].sum() for j in range(len(sizes))]
    assert np.abs(got - 50 * share).max() <= 1


@pytest.mark.parametrize("shares", [(0.75, 0.25), (0.9, 0.1), (0.6, 0.2, 0.2), (0.65, 0.35)])
def test_labels_of_uneven_parts_are_within_a_row_of_their_share(shares):
    n = 4000
    Y = dependent_labels(n, 15, 3)
    sizes = np.array([round(n * share) for share in shares])
    part = deal_rows(label_sets(Y), sizes, np.random.RandomState(0))
    got = np.array([Y[part == j].sum(axis=0) for j in range(len(sizes))])
    assert np.abs(got - np.outer(shares, Y.sum(axis=0))).max() <= 1


def objective(Y, part, sizes):
    """Sum over parts and labels of (got - want)^2 / want, up to the factor of the label."""
    total = 0.0
    for label in range(Y.shape[1]):
        for j, size in enumerate(sizes):
            want = Y[:, label].sum() * size / len(Y)
            if want:
                total += (Y[part == j, label].sum() - want) ** 2 / want
    return total


@settings(max_examples=30, deadline=None)
@given(label_matrices(), st.data())
def test_exchanges_keep_sizes_and_never_make_a_label_less_even(Y, data):
    k = data.draw(st.integers(2, min(4, len(Y))))
    sizes = np.bincount(np.arange(len(Y)) % k)
    rows = label_sets(Y)
    number = np.array([1, 10, 100, 1000, 10000], dtype=np.uint64)[: Y.shape[1]]
    key = rows.astype(np.uint64) @ number
    before = data.draw(st.permutations(range(len(Y))))
    before = np.repeat(np.arange(k), sizes)[np.array(before)]
    part = before.copy()
    _exchange(rows, number, key, sizes, part)
    assert np.array_equal(np.bincount(part), sizes)
    for label in range(Y.shape[1]):
        one = Y[:, [label]]
        assert objective(one, part, sizes) <= objective(one, before, sizes) + 1e-9
    if (part != before).any():
        assert objective(Y, part, sizes) < objective(Y, before, sizes)


def test_an_exchange_that_helps_is_made():
    Y = np.array([[1, 1], [1, 1], [0, 1], [0, 1]])
    part = np.array([0, 0, 1, 1])
    number = np.array([1, 10], dtype=np.uint64)
    rows = label_sets(Y)
    _exchange(rows, number, rows.astype(np.uint64) @ number, np.array([2, 2]), part)
    assert Y[part == 0].sum(axis=0).tolist() == [1, 2]


@settings(max_examples=30, deadline=None)
@given(label_matrices(max_rows=15), st.data())
def test_each_row_goes_to_the_open_part_where_its_labels_want_it_most(Y, data):
    n, q = Y.shape
    k = data.draw(st.integers(2, min(4, n)))
    sizes = np.array(part_sizes(n, [None] + [1] * (k - 1)))
    frequency = Y.sum(axis=0)
    none = np.zeros((q, k), dtype=int)
    parts = _deal_one_by_one(
        label_sets(Y), np.ones(n, dtype=int), n / np.maximum(frequency, 1), none, sizes, none[0]
    )
    got, filled = none.copy(), [0] * k
    for row, chosen in zip(Y, parts):
        scores = {}
        for j in range(k):
            if filled[j] < sizes[j]:
                want = [Fraction(int(frequency[l] * sizes[j]), n) for l in range(q)]
                half = Fraction(1, 2)
                scores[j] = (filled[j] + half) / int(sizes[j]) + sum(
                    (int(got[l, j]) + half) / want[l] for l in range(q) if row[l]
                )
        assert scores[chosen] <= min(scores.values()) + Fraction(1, 10**9)
        got[:, chosen] += row
        filled[chosen] += 1


def test_alike_rows_are_dealt_as_they_divide():
    Y = np.repeat([[1, 1, 0], [0, 1, 1], [1, 1, 1]], [10, 15, 20], axis=0)
    rows = label_sets(Y)
    key = rows.astype(np.uint64) @ np.array([1, 10, 100], dtype=np.uint64)
    part = _deal_label_sets(rows, key, np.full(5, 9))
    for labels, each in (((1, 1, 0), 2), ((0, 1, 1), 3), ((1, 1, 1), 4)):
        assert np.bincount(part[(labels == Y).all(axis=1)]).tolist() == [each] * 5


def test_label_sets_of_a_dense_matrix_are_its_csr_form():
    Y = dependent_labels(50, 7, 0)
    made = label_sets(Y)
    assert isinstance(made, sparse.csr_array) and made.has_canonical_format
    assert np.array_equal(made.toarray(), Y)
    assert label_sets(Y[:, :0]).shape == (50, 0)


def test_groups_of_one_row_are_dealt_as_evenly_as_rows():
    Y = dependent_labels(400, 8, 1)
    fold = deal_groups(label_sets(Y), np.arange(400), np.full(4, 0.25))
    assert count_error(Y, fold, 4) <= 1.2 * count_error(
        Y, folds(IterativeStratifiedKFold(4), Y), 4
    )


def test_small_deals():
    Y = sparse.csr_array([[1, 0], [1, 0], [1, 1], [1, 1], [0, 0], [0, 0]])
    assert deal_rows(Y, np.array([3, 3])).tolist() == [0, 1, 0, 1, 0, 1]
    Y = sparse.csr_array([[1, 0], [0, 1], [0, 1], [1, 0]])
    assert deal_groups(Y, np.array([0, 0, 1, 2]), np.array([0.5, 0.5])).tolist() == [0, 0, 1, 1]
    Y, weight, got = sparse.csr_array([[1], [1], [0], [0]]), np.array([4.0]), np.zeros((2, 2), int)
    for _ in range(2):
        assert deal_block(Y, np.array([4, 4]), weight, got).tolist() == [0, 1, 0, 1]


@pytest.mark.parametrize("seed", range(3))
def test_soft_labels_are_split_by_their_expected_counts(seed):
    rng = np.random.default_rng(seed)
    P = np.round(rng.random((101, 6)) ** 4, 2)
    for cv in (
        IterativeStratifiedKFold(5),
        IterativeStratifiedKFold(5, shuffle=True, random_state=0),
    ):
        tests = [test for _, test in cv.split(P, P)]
        assert sorted(map(len, tests)) == [20, 20, 20, 20, 21]
        sums = np.array([P[test].sum(axis=0) for test in tests])
        assert np.abs(sums - P.sum(axis=0) / 5).max() < 0.6
    hard = (P > 0.3).astype(int)
    for one, two in zip(
        *(IterativeStratifiedKFold(5).split(hard, Y) for Y in (hard, hard.astype(float)))
    ):
        assert np.array_equal(one[1], two[1])
