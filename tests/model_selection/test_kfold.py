"""Folds: exact partitions, even labels, scikit-learn's splitter API."""

import re
import warnings

import numpy as np
import pandas as pd
import pytest
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    StratifiedGroupKFold,
    cross_val_score,
    cross_validate,
)
from sklearn.neighbors import KNeighborsClassifier

from plurilabel._core.blocks import dense
from plurilabel.datasets import load
from plurilabel.model_selection import (
    IterativeStratifiedGroupKFold,
    IterativeStratifiedKFold,
    IterativeStratifiedShuffleSplit,
    RepeatedIterativeStratifiedKFold,
)
from tests.model_selection.twin import (
    count_error,
    dependent_labels,
    examples_distribution,
    folds,
    label_distribution,
    label_matrices,
    paper_folds,
)

TEN = np.eye(10, dtype=int)

# ---------------------------------------------------------------- partition, sizes


@settings(max_examples=30, deadline=None)
@given(label_matrices(), st.data(), st.booleans())
def test_folds_partition_the_rows_and_differ_by_one_row(Y, data, shuffle):
    k = data.draw(st.integers(2, len(Y)))
    cv = IterativeStratifiedKFold(k, shuffle=shuffle, random_state=0 if shuffle else None)
    sizes = np.bincount(folds(cv, Y), minlength=k)
    assert sizes.max() - sizes.min() <= 1
    assert cv.get_n_splits() == k


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
    dense_Y = dense(Y)
    ld = []
    for seed in range(2):
        ours = folds(IterativeStratifiedKFold(5, shuffle=True, random_state=seed), Y)
        paper = paper_folds(dense_Y, 5, seed)
        assert examples_distribution(ours, 5) <= examples_distribution(paper, 5)
        ld.append([label_distribution(dense_Y, fold, 5) for fold in (ours, paper)])
    ours, paper = np.mean(ld, axis=0)
    assert ours <= at_most * paper


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


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: IterativeStratifiedKFold(1), "n_splits=2 or more, got n_splits=1"),
        (
            lambda: IterativeStratifiedKFold(2.0),
            "The number of folds must be of Integral type. 2.0 of type",
        ),
        (lambda: IterativeStratifiedKFold(True), "n_splits=2 or more, got n_splits=1"),
        (lambda: IterativeStratifiedKFold(shuffle=1), "shuffle must be True or False; got 1"),
        (lambda: IterativeStratifiedKFold(random_state=0), "random_state has no effect"),
        (lambda: IterativeStratifiedGroupKFold(1), "n_splits=2 or more, got n_splits=1"),
        (
            lambda: RepeatedIterativeStratifiedKFold(n_repeats=0),
            "Number of repetitions must be greater than 0",
        ),
        (
            lambda: folds(IterativeStratifiedKFold(11), TEN),
            "n_splits=11 greater than the number of samples: n_samples=10",
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
    ],
)
def test_errors_name_the_parameter_and_what_came(call, message):
    with pytest.raises((ValueError, TypeError), match=re.escape(message)):
        call()


@pytest.mark.parametrize("cv", [IterativeStratifiedKFold(2), IterativeStratifiedShuffleSplit(2)])
def test_ignored_groups_are_warned_about(cv):
    with pytest.warns(UserWarning, match="The groups parameter is ignored by Iterative"):
        list(cv.split(TEN, TEN, groups=np.arange(10)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        list(cv.split(TEN, TEN))
