"""Stratified splits: exact partitions, even labels, scikit-learn's splitter API."""

import re
import warnings
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    ShuffleSplit,
    StratifiedGroupKFold,
    cross_val_score,
    cross_validate,
    train_test_split,
)
from sklearn.neighbors import KNeighborsClassifier

from plurilabel.datasets._load import load
from plurilabel.model_selection._holdout import (
    IterativeStratifiedShuffleSplit,
    part_sizes,
    stratified_split,
)
from plurilabel.model_selection._kfold import (
    IterativeStratifiedGroupKFold,
    IterativeStratifiedKFold,
    RepeatedIterativeStratifiedKFold,
    label_sets,
)
from plurilabel.model_selection._stratification import (
    _deal_label_sets,
    _deal_one_by_one,
    _exchange,
    deal_groups,
    deal_rows,
)

# ---------------------------------------------------------------- what the paper says


def paper_folds(Y, k, seed):
    """Algorithm 1 of Sechidis, Tsoumakas and Vlahavas (2011), for k folds of equal size."""
    rng = np.random.default_rng(seed)
    n = len(Y)
    c = np.full(k, n / k)
    c_label = np.tile(Y.sum(axis=0) / k, (k, 1))
    fold = np.full(n, -1)
    while (fold < 0).any():
        left = Y[fold < 0].sum(axis=0)
        if not left.any():  # rows without labels: the fold that wants examples most
            for row in np.flatnonzero(fold < 0):
                j = rng.choice(np.flatnonzero(c == c.max()))
                fold[row] = j
                c[j] -= 1
            break
        label = rng.choice(np.flatnonzero(left == left[left > 0].min()))
        for row in np.flatnonzero((fold < 0) & (Y[:, label] == 1)):
            best = np.flatnonzero(c_label[:, label] == c_label[:, label].max())
            best = best[c[best] == c[best].max()]
            j = rng.choice(best)
            fold[row] = j
            c_label[j, Y[row] == 1] -= 1
            c[j] -= 1
    return fold


def label_distribution(Y, fold, k):
    """LD of the paper: mean difference of a label's odds in a fold and in the whole."""
    n, q = Y.shape
    per_label = []
    for label in range(q):
        positive = Y[:, label].sum()
        if positive in (0, n):
            continue
        per_fold = []
        for j in range(k):
            size, here = (fold == j).sum(), Y[fold == j, label].sum()
            per_fold.append(abs(here / (size - here) - positive / (n - positive)))
        per_label.append(np.mean(per_fold))
    return np.mean(per_label)


def examples_distribution(fold, k):
    """ED of the paper: mean difference between the size of a fold and n / k."""
    return np.mean([abs((fold == j).sum() - len(fold) / k) for j in range(k)])


def dependent_labels(n, q, seed):
    """Imbalanced labels that depend on each other through the row."""
    rng = np.random.default_rng(seed)
    p = 0.4 / np.arange(1, q + 1)
    return (rng.random((n, q)) < p * np.exp(0.8 * rng.normal(size=(n, 1)))).astype(int)


def folds(cv, Y, groups=None):
    """The fold of each row; every row is a test row once."""
    fold = np.full(Y.shape[0], -1)
    for j, (train, test) in enumerate(cv.split(np.zeros(Y.shape[0]), Y, groups)):
        assert (fold[test] == -1).all()
        assert np.array_equal(np.sort(np.concatenate([train, test])), np.arange(Y.shape[0]))
        fold[test] = j
    assert (fold >= 0).all()
    return fold


@st.composite
def label_matrices(draw, max_rows=30):
    n = draw(st.integers(2, max_rows))
    q = draw(st.integers(1, 5))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    return (rng.random((n, q)) < draw(st.floats(0, 1))).astype(int)


# ---------------------------------------------------------------- partition, sizes


@settings(max_examples=30, deadline=None)
@given(label_matrices(), st.data(), st.booleans())
def test_folds_partition_the_rows_and_differ_by_one_row(Y, data, shuffle):
    k = data.draw(st.integers(2, len(Y)))
    cv = IterativeStratifiedKFold(k, shuffle=shuffle, random_state=0 if shuffle else None)
    sizes = np.bincount(folds(cv, Y), minlength=k)
    assert sizes.max() - sizes.min() <= 1
    assert cv.get_n_splits() == k


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


def test_train_and_test_are_what_the_other_folds_leave():
    Y = dependent_labels(53, 4, 0)
    for train, test in IterativeStratifiedKFold(4).split(Y, Y):
        assert np.array_equal(np.setdiff1d(np.arange(53), test), train)


# ---------------------------------------------------------------- evenness


def test_generated_data_are_at_least_as_even_as_by_the_papers_algorithm():
    ld, ed = [], []
    for seed in range(4):
        Y = dependent_labels(1503, 20, seed)
        ours = folds(IterativeStratifiedKFold(5, shuffle=True, random_state=seed), Y)
        paper = paper_folds(Y, 5, seed)
        ld.append([label_distribution(Y, fold, 5) for fold in (ours, paper)])
        ed.append([examples_distribution(fold, 5) for fold in (ours, paper)])
    ours, paper = np.mean(ld, axis=0)
    assert ours <= paper
    ours, paper = np.mean(ed, axis=0)
    assert ours <= paper


@pytest.mark.parametrize(("name", "at_most"), [("yeast", 0.3), ("medical", 1.0)])
def test_real_data_are_at_least_as_even_as_by_the_papers_algorithm(data_folder, name, at_most):
    Y = load(name).Y
    dense = Y.toarray() if sparse.issparse(Y) else Y
    ld = []
    for seed in range(2):
        ours = folds(IterativeStratifiedKFold(5, shuffle=True, random_state=seed), Y)
        paper = paper_folds(dense, 5, seed)
        assert examples_distribution(ours, 5) <= examples_distribution(paper, 5)
        ld.append([label_distribution(dense, fold, 5) for fold in (ours, paper)])
    ours, paper = np.mean(ld, axis=0)
    assert ours <= at_most * paper


@pytest.mark.parametrize("shares", [(0.75, 0.25), (0.9, 0.1), (0.6, 0.2, 0.2), (0.65, 0.35)])
def test_labels_of_uneven_parts_are_within_a_row_of_their_share(shares):
    n = 4000
    Y = dependent_labels(n, 15, 3)
    sizes = np.array([round(n * share) for share in shares])
    part = deal_rows(label_sets(Y), sizes, np.random.RandomState(0))
    got = np.array([Y[part == j].sum(axis=0) for j in range(len(sizes))])
    assert np.abs(got - np.outer(shares, Y.sum(axis=0))).max() <= 1


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(0, 6), min_size=2, max_size=60), st.integers(2, 6), st.booleans())
def test_classes_of_a_1d_y_differ_by_two_rows_at_most(y, k, shuffle):
    k = min(k, len(y))
    y = np.array(y)
    fold = folds(
        IterativeStratifiedKFold(k, shuffle=shuffle, random_state=1 if shuffle else None), y
    )
    for value in np.unique(y):
        count = np.bincount(fold[y == value], minlength=k)
        assert count.max() - count.min() <= 2
        if len(y) % k == 0:
            assert np.bincount(fold, minlength=k).tolist() == [len(y) // k] * k


def test_a_label_with_fewer_rows_than_folds_is_spread():
    Y = np.zeros((40, 2), dtype=int)
    Y[[3, 4, 5], 0] = 1
    Y[[10, 11, 12, 13, 14, 15], 1] = 1
    fold = folds(IterativeStratifiedKFold(8), Y)
    assert len(set(fold[[3, 4, 5]])) == 3
    assert len(set(fold[10:16])) == 6


def test_rows_without_labels_fill_up_the_folds():
    Y = np.zeros((23, 3), dtype=int)
    Y[:4, 0] = 1
    sizes = np.bincount(folds(IterativeStratifiedKFold(5), Y))
    assert sizes.tolist() == [5, 5, 5, 4, 4]


@pytest.mark.parametrize("Y", [np.zeros((7, 2)), np.ones((7, 2)), np.ones((7, 1)), np.eye(7)])
def test_labels_never_or_always_present(Y):
    sizes = np.bincount(folds(IterativeStratifiedKFold(3), Y.astype(int)))
    assert sizes.tolist() == [3, 2, 2]


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


# ---------------------------------------------------------------- determinism, seeds


def test_without_shuffle_nothing_depends_on_the_global_state():
    Y = dependent_labels(300, 6, 0)
    np.random.seed(1)  # noqa: NPY002
    first = folds(IterativeStratifiedKFold(5), Y)
    np.random.seed(2)  # noqa: NPY002
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    second = folds(IterativeStratifiedKFold(5), Y)
    assert np.array_equal(first, second)
    assert np.array_equal(np.random.get_state()[1], before)  # noqa: NPY002


@pytest.mark.parametrize("grouped", [False, True])
def test_seeds_decide_the_shuffle(grouped):
    Y = dependent_labels(200, 6, 0)
    groups = np.arange(200) // 2 if grouped else None
    kind = IterativeStratifiedGroupKFold if grouped else IterativeStratifiedKFold

    def shuffled(seed):
        return folds(kind(5, shuffle=True, random_state=seed), Y, groups)

    assert np.array_equal(shuffled(3), shuffled(3))
    assert not np.array_equal(shuffled(3), shuffled(4))
    advancing = kind(5, shuffle=True, random_state=np.random.RandomState(0))
    assert not np.array_equal(folds(advancing, Y, groups), folds(advancing, Y, groups))


def test_the_shuffle_favours_no_fold():
    Y = np.zeros((11, 1), dtype=int)
    Y[0] = 1
    found = {
        int(folds(IterativeStratifiedKFold(3, shuffle=True, random_state=s), Y)[0])
        for s in range(30)
    }
    assert found == {0, 1, 2}


def test_repeats_are_folds_that_differ():
    Y = dependent_labels(60, 4, 0)
    cv = RepeatedIterativeStratifiedKFold(n_splits=3, n_repeats=4, random_state=5)
    tests = [tuple(test) for _, test in cv.split(Y, Y)]
    assert len(tests) == cv.get_n_splits() == 12
    for first in range(0, 12, 3):
        assert sorted(sum(tests[first : first + 3], ())) == list(range(60))
    assert len(set(tests)) == 12
    assert tests == [tuple(test) for _, test in cv.split(Y, Y)]


# ---------------------------------------------------------------- forms of Y


@settings(max_examples=15, deadline=None)
@given(label_matrices())
def test_all_forms_of_the_labels_give_the_same_folds(Y):
    names = [f"l{j}" for j in range(Y.shape[1])]
    csr = sparse.csr_array(Y)
    forms = [Y.astype(bool), Y.astype(float), pd.DataFrame(Y, columns=names), csr]
    forms += [sparse.csr_matrix(Y), sparse.csc_array(Y), sparse.coo_array(Y)]
    expected = folds(IterativeStratifiedKFold(2), Y)
    before = csr.copy()
    for form in forms:
        assert np.array_equal(folds(IterativeStratifiedKFold(2), form), expected)
    lists = [test for _, test in IterativeStratifiedKFold(2).split(Y.tolist(), Y.tolist())]
    assert np.array_equal(lists[1], np.flatnonzero(expected == 1))
    assert (csr != before).nnz == 0


def test_label_sets_of_a_dense_matrix_are_its_csr_form():
    Y = dependent_labels(50, 7, 0)
    made = label_sets(Y)
    assert isinstance(made, sparse.csr_array) and made.has_canonical_format
    assert np.array_equal(made.toarray(), Y)
    assert label_sets(Y[:, :0]).shape == (50, 0)


def test_many_sparse_labels_are_not_densified():
    n, q = 3000, 2_000_000  # dense: 6 GB
    rng = np.random.default_rng(0)
    columns = rng.integers(0, 40, size=2 * n) * (q // 40)
    Y = sparse.csr_array((np.ones(2 * n), (np.arange(2 * n) // 2, columns)), shape=(n, q)).sign()
    fold = folds(IterativeStratifiedKFold(2), Y)
    counts = np.array([Y[fold == j].sum(axis=0) for j in range(2)])
    assert np.abs(counts[0] - counts[1]).max() <= 2


# ---------------------------------------------------------------- groups


@settings(max_examples=30, deadline=None)
@given(label_matrices(), st.data(), st.booleans())
def test_no_group_is_split_and_no_fold_is_empty(Y, data, shuffle):
    groups = np.array(data.draw(st.lists(st.integers(0, 9), min_size=len(Y), max_size=len(Y))))
    n_groups = len(set(groups))
    if n_groups < 2:
        groups[0], n_groups = 10, 2
    k = data.draw(st.integers(2, n_groups))
    cv = IterativeStratifiedGroupKFold(k, shuffle=shuffle, random_state=0 if shuffle else None)
    fold = folds(cv, Y, groups.astype(str))
    assert set(fold) == set(range(k))
    for group in set(groups):
        assert len(set(fold[groups == group])) == 1


def count_error(Y, fold, k):
    return np.mean([np.abs(Y[fold == j].sum(axis=0) - Y.sum(axis=0) / k) for j in range(k)])


def test_grouped_folds_are_more_even_than_those_of_group_k_fold():
    Y = dependent_labels(2000, 12, 0)
    groups = np.random.default_rng(0).integers(0, 150, size=2000)
    ours = folds(IterativeStratifiedGroupKFold(5), Y, groups)
    plain = folds(GroupKFold(5), Y, groups)
    assert count_error(Y, ours, 5) < 0.4 * count_error(Y, plain, 5)
    assert examples_distribution(ours, 5) <= 4  # one row in a hundred


def test_grouped_folds_of_classes_are_as_even_as_those_of_scikit_learn():
    errors = []
    for seed in range(2):
        rng = np.random.default_rng(seed)
        groups = rng.choice(200, 2000, p=rng.dirichlet(np.ones(200)))
        odds = rng.dirichlet(np.full(4, 0.5), size=200)
        y = np.array([rng.choice(4, p=odds[g]) for g in groups])
        one_hot = np.eye(4, dtype=int)[y]
        ours = folds(IterativeStratifiedGroupKFold(5), y, groups)
        theirs = folds(StratifiedGroupKFold(5), y, groups)
        errors.append(
            [(count_error(one_hot, f, 5), examples_distribution(f, 5)) for f in (ours, theirs)]
        )
    ours, theirs = np.mean(errors, axis=0)
    assert (ours <= theirs).all()


def test_groups_of_one_row_are_dealt_as_evenly_as_rows():
    Y = dependent_labels(400, 8, 1)
    fold = deal_groups(label_sets(Y), np.arange(400), np.full(4, 0.25))
    assert count_error(Y, fold, 4) <= 1.2 * count_error(
        Y, folds(IterativeStratifiedKFold(4), Y), 4
    )


# ---------------------------------------------------------------- hold-out parts


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


# ---------------------------------------------------------------- inside scikit-learn


@pytest.mark.parametrize(
    "cv",
    [
        IterativeStratifiedKFold(3),
        RepeatedIterativeStratifiedKFold(n_splits=3, n_repeats=2, random_state=0),
        IterativeStratifiedShuffleSplit(3, test_size=0.3, random_state=0),
    ],
)
def test_cross_validation_and_search_take_the_splitters(cv):
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(60, 3)), dependent_labels(60, 3, 0)
    by_hand = [
        KNeighborsClassifier().fit(X[train], Y[train]).score(X[test], Y[test])
        for train, test in cv.split(X, Y)
    ]
    assert np.allclose(cross_val_score(KNeighborsClassifier(), X, Y, cv=cv), by_hand)
    search = GridSearchCV(KNeighborsClassifier(), {"n_neighbors": [1, 5]}, cv=cv).fit(X, Y)
    assert search.n_splits_ == cv.get_n_splits()
    with sklearn.config_context(enable_metadata_routing=True):
        routed = cross_val_score(KNeighborsClassifier(), X, Y, cv=cv)
    assert np.allclose(routed, by_hand)


def test_groups_are_routed():
    rng = np.random.default_rng(0)
    X, Y, groups = rng.normal(size=(60, 3)), dependent_labels(60, 3, 0), np.arange(60) // 3
    cv = IterativeStratifiedGroupKFold(4)
    plain = cross_validate(KNeighborsClassifier(), X, Y, cv=cv, groups=groups, return_indices=True)
    with sklearn.config_context(enable_metadata_routing=True):
        routed = cross_validate(
            KNeighborsClassifier(), X, Y, cv=cv, params={"groups": groups}, return_indices=True
        )
    for a, b in zip(plain["indices"]["test"], routed["indices"]["test"]):
        assert np.array_equal(a, b)
        assert len(np.intersect1d(groups[a], np.delete(groups, a))) == 0


@pytest.mark.parametrize(
    ("cv", "text"),
    [
        (
            IterativeStratifiedKFold(3),
            "IterativeStratifiedKFold(n_splits=3, random_state=None, shuffle=False)",
        ),
        (
            IterativeStratifiedGroupKFold(),
            "IterativeStratifiedGroupKFold(n_splits=5, random_state=None, shuffle=False)",
        ),
        (
            RepeatedIterativeStratifiedKFold(n_splits=3, random_state=1),
            "RepeatedIterativeStratifiedKFold(n_repeats=10, n_splits=3, random_state=1)",
        ),
    ],
)
def test_repr(cv, text):
    assert repr(cv) == text


# ---------------------------------------------------------------- errors

TEN = np.eye(10, dtype=int)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: IterativeStratifiedKFold(1), "n_splits must be an integer of at least 2, got 1"),
        (
            lambda: IterativeStratifiedKFold(2.0),
            "n_splits must be an integer of at least 2, got 2.0",
        ),
        (lambda: IterativeStratifiedKFold(True), "n_splits must be an integer"),
        (lambda: IterativeStratifiedKFold(shuffle=1), "shuffle must be True or False, got 1"),
        (lambda: IterativeStratifiedKFold(random_state=0), "random_state has no effect"),
        (lambda: IterativeStratifiedGroupKFold(1), "n_splits must be an integer of at least 2"),
        (
            lambda: RepeatedIterativeStratifiedKFold(n_repeats=0),
            "n_repeats must be an integer of at least 1, got 0",
        ),
        (lambda: IterativeStratifiedShuffleSplit(0), "n_splits must be an integer of at least 1"),
        (
            lambda: folds(IterativeStratifiedKFold(11), TEN),
            "n_splits must be at most the number of rows, 10, got 11",
        ),
        (
            lambda: next(IterativeStratifiedKFold(2).split(TEN, None)),
            "y must be given",
        ),
        (lambda: next(IterativeStratifiedKFold(2).split(TEN, TEN[:9])), "inconsistent"),
        (
            lambda: next(IterativeStratifiedKFold(2).split(TEN, TEN * 2)),
            "y must hold only 0 and 1",
        ),
        (
            lambda: next(IterativeStratifiedKFold(2).split(TEN, np.full((10, 2), np.nan))),
            "y must hold only 0 and 1, got NaN",
        ),
        (
            lambda: next(IterativeStratifiedKFold(2).split(TEN, np.linspace(0, 1, 10))),
            "continuous",
        ),
        (
            lambda: next(IterativeStratifiedGroupKFold(2).split(TEN, TEN)),
            "groups must be given",
        ),
        (
            lambda: folds(IterativeStratifiedGroupKFold(4), TEN, np.arange(10) % 3),
            "n_splits must be at most the number of groups, 3, got 4",
        ),
        (
            lambda: folds(IterativeStratifiedGroupKFold(2), TEN, np.full(10, np.nan)),
            "groups contains NaN",
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
        (lambda: part_sizes(10, (0.5, 1.5)), "sizes[1] must be a fraction between 0 and 1 or a "),
        (lambda: part_sizes(10, (0.5, 10)), "a number of rows from 1 to 9, got 10"),
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
            "test_size must be a fraction between 0 and 1 or a number of rows from 1 to 9, got 11",
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


@pytest.mark.parametrize("cv", [IterativeStratifiedKFold(2), IterativeStratifiedShuffleSplit(2)])
def test_ignored_groups_are_warned_about(cv):
    with pytest.warns(UserWarning, match="The groups parameter is ignored by Iterative"):
        list(cv.split(TEN, TEN, groups=np.arange(10)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        list(cv.split(TEN, TEN))
