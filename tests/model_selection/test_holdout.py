"""Parts of any size: exact, even, in the order of scikit-learn's."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.model_selection import ShuffleSplit, train_test_split

from plurilabel.model_selection import IterativeStratifiedShuffleSplit, stratified_split
from plurilabel.model_selection._holdout import part_sizes
from tests.model_selection.twin import dependent_labels

TEN = np.eye(10, dtype=int)


@pytest.mark.parametrize("n", [10, 37, 200])
@pytest.mark.parametrize(
    ("test_size", "train_size"),
    [(None, None), (0.25, None), (None, 0.7), (3, None), (None, 4), (0.2, 0.5), (2, 0.5)],
)
def test_shuffle_split_has_the_sizes_of_scikit_learn(n, test_size, train_size):
    Y = dependent_labels(n, 3, 0)
    sizes = {"test_size": test_size, "train_size": train_size, "random_state": 0}
    ours = list(IterativeStratifiedShuffleSplit(3, **sizes).split(Y, Y))
    theirs = list(ShuffleSplit(3, **sizes).split(Y, Y))
    assert [(len(a), len(b)) for a, b in ours] == [(len(a), len(b)) for a, b in theirs]
    for train, test in ours:
        assert len(np.intersect1d(train, test)) == 0
        assert len(set(train)) == len(train)
    assert len({tuple(test) for _, test in ours}) == 3


def test_shuffle_split_is_even_and_seeded():
    Y = dependent_labels(1000, 8, 0)
    cv = IterativeStratifiedShuffleSplit(4, test_size=0.3, random_state=7)
    for train, test in cv.split(Y, Y):
        assert np.abs(Y[test].sum(axis=0) - 0.3 * Y.sum(axis=0)).max() <= 1
        assert np.abs(Y[train].sum(axis=0) - 0.7 * Y.sum(axis=0)).max() <= 1
    first, second = list(cv.split(Y, Y)), list(cv.split(Y, Y))
    assert all(np.array_equal(a[1], b[1]) for a, b in zip(first, second))
    assert cv.get_n_splits() == 4


def test_rows_in_neither_part_are_left_out_evenly():
    Y = dependent_labels(1000, 8, 0)
    X = np.arange(1000)
    X_train, X_test, Y_train, Y_test = stratified_split(X, Y, sizes=(0.2, 0.1), random_state=0)
    assert (len(X_train), len(X_test)) == (200, 100)
    assert np.abs(Y_train.sum(axis=0) - 0.2 * Y.sum(axis=0)).max() <= 1
    assert np.abs(Y_test.sum(axis=0) - 0.1 * Y.sum(axis=0)).max() <= 1


def test_parts_come_in_the_order_of_train_test_split():
    Y = dependent_labels(101, 4, 0)
    X = np.arange(101)
    ours = stratified_split(X, Y, X.tolist(), sizes=(0.7, 0.3), random_state=0)
    theirs = train_test_split(X, Y, X.tolist(), test_size=0.3, random_state=0)
    assert [type(a) for a in ours] == [type(a) for a in theirs]
    assert [np.shape(a) for a in ours] == [np.shape(a) for a in theirs]
    X_train, X_test, Y_train, Y_test, list_train, list_test = ours
    assert np.array_equal(Y[X_train], Y_train)
    assert np.array_equal(Y[X_test], Y_test)
    assert list_train == X_train.tolist()
    assert sorted(list_train + list_test) == X.tolist()


def test_three_parts():
    Y = dependent_labels(500, 6, 0)
    parts = stratified_split(np.arange(500), Y, sizes=(0.6, 0.2, 0.2), random_state=1)
    assert [len(part) for part in parts] == [300, 100, 100] * 2
    for rows, labels, share in zip(parts[:3], parts[3:], (0.6, 0.2, 0.2)):
        assert np.array_equal(Y[rows], labels)
        assert np.abs(labels.sum(axis=0) - share * Y.sum(axis=0)).max() <= 1
    again = stratified_split(np.arange(500), Y, sizes=(0.6, 0.2, 0.2), random_state=1)
    assert np.array_equal(parts[0], again[0])
    other = stratified_split(np.arange(500), Y, sizes=(0.6, 0.2, 0.2), random_state=2)
    assert not np.array_equal(parts[0], other[0])


def test_frames_and_sparse_matrices_stay_what_they_are():
    Y = dependent_labels(40, 3, 0)
    X = pd.DataFrame({"a": np.arange(40), "b": list("wxyz") * 10}, index=np.arange(100, 140))
    names = pd.DataFrame(Y, columns=["x", "y", "z"])
    X_train, X_test, _, Y_test = stratified_split(X, names, random_state=0)
    assert X_train.dtypes.equals(X.dtypes) and list(Y_test.columns) == ["x", "y", "z"]
    assert np.array_equal(Y_test.to_numpy(), Y[X_test["a"]])
    assert np.array_equal(X_train.index, X_train["a"] + 100)
    polar, _, csr, _, coo, _ = stratified_split(
        pl.from_pandas(X), sparse.csr_array(Y), sparse.coo_array(Y), random_state=0
    )
    assert isinstance(polar, pl.DataFrame) and isinstance(csr, sparse.csr_array)
    assert np.array_equal(csr.toarray(), Y[polar["a"].to_numpy()])
    assert np.array_equal(coo.toarray(), csr.toarray())


def test_parts_keep_groups_together():
    Y = dependent_labels(600, 5, 0)
    groups = np.random.default_rng(0).integers(0, 80, size=600)
    rows = stratified_split(
        np.arange(600), Y, sizes=(0.6, 0.2, 0.2), groups=groups, random_state=0
    )[:3]
    assert not set(groups[rows[0]]) & set(groups[rows[1]])
    assert not set(groups[rows[0]]) & set(groups[rows[2]])
    assert not set(groups[rows[1]]) & set(groups[rows[2]])
    assert [abs(len(part) - want) <= 10 for part, want in zip(rows, (360, 120, 120))] == [True] * 3
    assert np.abs(Y[rows[1]].sum(axis=0) - 0.2 * Y.sum(axis=0)).max() <= 5


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 500), st.lists(st.integers(1, 98), min_size=2, max_size=5))
def test_fractions_of_one_use_every_row(n, weights):
    fractions = [weight / sum(weights) for weight in weights]
    n = max(n, len(weights) ** 2 * max(weights))  # enough for a row or more in the first part
    rows = part_sizes(n, fractions)
    assert sum(rows) == n
    for j, (found, fraction) in enumerate(zip(rows, fractions)):
        excess = found - fraction * n
        assert -len(rows) < excess <= 1e-6 if j == 0 else -1e-6 <= excess < 1


def test_rounding_errors_do_not_add_a_row():
    assert part_sizes(100, (0.93, 0.07)) == [93, 7]
    assert part_sizes(100, (None, 0.07)) == [93, 7]
    assert part_sizes(10, (0.7, 0.2, 0.1)) == [7, 2, 1]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: next(IterativeStratifiedShuffleSplit(0).split(TEN, TEN)),
            "n_splits must be at least 1, got 0",
        ),
        (lambda: stratified_split(TEN, TEN[:9]), "inconsistent"),
        (lambda: stratified_split(TEN, TEN, TEN[:9]), "inconsistent"),
        (lambda: stratified_split(TEN, TEN, groups=[1, 2]), "groups must have one entry for each"),
        (
            lambda: stratified_split(TEN, TEN, groups=[0] * 5 + [1] * 5, sizes=(0.9, 0.1)),
            "none of the 2 groups fits part 1",
        ),
        (lambda: part_sizes(10, 0.5), "sizes must have an entry for each of two or more parts"),
        (lambda: part_sizes(10, (0.5,)), "sizes must have an entry for each of two or more"),
        (lambda: part_sizes(10, (None, None)), "only one of sizes[0] and sizes[1] may be None"),
        (lambda: part_sizes(10, (0.5, 1.5)), "sizes[1] must be a fraction in (0, 1) or a "),
        (lambda: part_sizes(10, (0.5, 10)), "a number of rows up to 9, got 10"),
        (lambda: part_sizes(10, (0.5, 0)), "got 0"),
        (lambda: part_sizes(10, (0.5, True)), "got True"),
        (lambda: part_sizes(10, (0.5, "0.5")), "got '0.5'"),
        (lambda: part_sizes(10, (0.5, np.nan)), "got nan"),
        (lambda: part_sizes(10, (0.8, 0.3)), "must add up to at most the 10 rows, got (0.8, 0.3)"),
        (lambda: part_sizes(10, (8, 3)), "must add up to at most the 10 rows, got (8, 3)"),
        (lambda: part_sizes(3, (0.2, 0.4, 0.4)), "must give each part at least one of the 3 rows"),
        (lambda: part_sizes(10, (None, 5, 5)), "must give each part at least one"),
        (
            lambda: next(IterativeStratifiedShuffleSplit(test_size=11).split(TEN, TEN)),
            "test_size must be a fraction in (0, 1) or a number of rows up to 9, got 11",
        ),
        (
            lambda: next(
                IterativeStratifiedShuffleSplit(test_size=0.6, train_size=0.6).split(TEN, TEN)
            ),
            "train_size and test_size must add up to at most the 10 rows",
        ),
    ],
)
def test_errors_name_the_parameter_and_what_came(call, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        call()


def test_part_sizes():
    assert part_sizes(11, (0.8, 0.1, 0.1)) == [7, 2, 2]
    assert part_sizes(11, (None, 3)) == [8, 3]
    assert part_sizes(11, (0.5, 2)) == [5, 2]
