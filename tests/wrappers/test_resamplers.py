"""The resamplers, against twins written by loops from the papers."""

from collections import Counter

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone

from plurilabel import LPROS, LPRUS, MLROS, MLRUS, MLSMOTE, MLTL, REMEDIAL, MLeNN
from plurilabel.datasets import describe
from plurilabel.wrappers._label_resampling import _shared_out

ALL = [LPROS(), LPRUS(), MLROS(), MLRUS(), MLSMOTE(), MLTL(), REMEDIAL(), MLeNN()]
NAMES = [type(resampler).__name__ for resampler in ALL]


def seeded(resampler):
    resampler = clone(resampler)
    return resampler.set_params(random_state=0) if "random_state" in vars(resampler) else resampler


def problem(n=80, q=5, seed=0):
    rng = np.random.default_rng(seed)
    Y = (rng.random((n, q)) < np.linspace(0.6, 0.06, q)).astype(int)
    return rng.normal(size=(n, 3)), Y


def imbalance(Y):
    """IRLbl and MeanIR by loops; absent labels have none."""
    counts = [int(Y[:, l].sum()) for l in range(Y.shape[1])]
    ir = [max(counts) / c if c else None for c in counts]
    present = [value for value in ir if value is not None]
    return ir, (sum(present) / len(present) if present else np.nan)


def rare(Y):
    ir, mean = imbalance(Y)
    return [value is not None and value > mean for value in ir]


def has_rare(Y, i):
    return any(Y[i, l] and is_rare for l, is_rare in enumerate(rare(Y)))


def difference(a, b):
    A, B = set(np.flatnonzero(a)), set(np.flatnonzero(b))
    return len(A ^ B) / (len(A) + len(B)) if A or B else 0


def nearest(X, i, k):
    far = [np.inf if j == i else np.sqrt(((X[i] - X[j]) ** 2).sum()) for j in range(len(X))]
    return np.argsort(far, kind="stable")[:k]


def numbered(resampler, Y):
    """The numbers of the rows that remain, through X."""
    X, _ = resampler.fit_resample(list(range(len(Y))), Y)
    return X


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 1000), st.floats(0, 1.5))
def test_lpros(seed, share):
    _, Y = problem(60, 4, seed)
    rows = numbered(LPROS(share, random_state=seed), Y)
    assert rows[:60] == list(range(60))
    before, after = Counter(map(tuple, Y)), Counter(map(tuple, Y[rows]))
    mean = 60 / len(before)
    grown = 0
    for label_set, count in before.items():
        if count >= mean:
            assert after[label_set] == count
        else:
            assert count <= after[label_set] <= mean
            grown += int(mean - count)
    assert len(rows) - 60 == min(int(60 * share), grown)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 1000), st.floats(0, 0.99))
def test_lprus(seed, share):
    _, Y = problem(60, 4, seed)
    rows = numbered(LPRUS(share, random_state=seed), Y)
    assert len(set(rows)) == len(rows)
    before, after = Counter(map(tuple, Y)), Counter(map(tuple, Y[rows]))
    mean = 60 / len(before)
    room = 0
    for label_set, count in before.items():
        assert after[label_set] >= min(count, mean)
        room += int(max(count - mean, 0))
    assert 60 - len(rows) == min(int(60 * share), room)


def test_a_budget_is_shared_out_equally_and_the_rest_goes_on():
    assert _shared_out(9, [9, 9, 9]) == [3, 3, 3]
    assert _shared_out(9, [1, 9, 9]) == [1, 4, 4]
    assert _shared_out(9, [1, 2, 3]) == [1, 2, 3]
    assert _shared_out(0, [5]) == [0] and _shared_out(5, []) == []


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 1000), st.floats(0, 1.5))
def test_mlros(seed, share):
    """Replays the added rows: each has the label in turn; labels leave once they reach MeanIR."""
    _, Y = problem(60, 5, seed)
    rows = numbered(MLROS(share, random_state=seed), Y)
    assert rows[:60] == list(range(60))
    _, mean = imbalance(Y)
    turn, added = [l for l, is_rare in enumerate(rare(Y)) if is_rare], list(rows[60:])
    so_far, budget = Y, int(60 * share)
    while turn and budget:
        still = []
        for l in turn:
            if not budget:
                break
            i = added.pop(0)
            budget -= 1
            assert Y[i, l] == 1
            so_far = np.vstack([so_far, Y[i]])
            if imbalance(so_far)[0][l] > mean:
                still.append(l)
        turn = still
    assert not added


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 1000), st.floats(0, 0.99))
def test_mlrus(seed, share):
    _, Y = problem(60, 5, seed)
    rows = numbered(MLRUS(share, random_state=seed), Y)
    protected = [i for i in range(60) if has_rare(Y, i)]
    assert set(protected) <= set(rows) and len(set(rows)) == len(rows)
    assert 60 - len(rows) == min(int(60 * share), 60 - len(protected))


@pytest.mark.parametrize("k", [1, 3, 4])
def test_mlenn(k):
    X, Y = problem()
    stay = [
        i
        for i in range(len(Y))
        if has_rare(Y, i) or sum(difference(Y[i], Y[j]) > 0.5 for j in nearest(X, i, k)) < k / 2
    ]
    new_X, new_Y = MLeNN(k, threshold=0.5).fit_resample(X, Y)
    assert 0 < len(stay) < len(Y)
    np.testing.assert_array_equal(new_X, X[stay])
    np.testing.assert_array_equal(new_Y, Y[stay])


@pytest.mark.parametrize("threshold", [None, 0.2, 0.7])
def test_mltl(threshold):
    """The program of the first author, by loops."""
    X, Y = problem()
    irlbl, mean = imbalance(Y)
    cut = threshold
    if threshold is None:
        even = 1 / np.sqrt(mean)
        cut = 0.5 if even > 0.5 or describe(Y).scumble > 0.3 else 0.3 if even > 0.3 else 0.15
    stay = []
    for i in range(len(Y)):
        (j,) = nearest(X, i, 1)
        either = (Y[i] | Y[j]).sum()
        linked = either > 0 and (Y[i] != Y[j]).sum() / either > cut
        if not (linked and any(Y[i, l] and irlbl[l] < mean for l in range(Y.shape[1]))):
            stay.append(i)
    assert 0 < len(stay) < len(Y)
    np.testing.assert_array_equal(MLTL(threshold).fit_resample(X, Y)[0], X[stay])


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_mlsmote(form):
    X, Y = problem()
    k = 3
    new_X, new_Y = MLSMOTE(k, random_state=0).fit_resample(form(X), form(Y))
    new_X, new_Y = (part.toarray() if sparse.issparse(part) else part for part in (new_X, new_Y))
    np.testing.assert_array_equal(new_X[: len(X)], X)
    np.testing.assert_array_equal(new_Y[: len(Y)], Y)
    at = len(X)
    for l, is_rare in enumerate(rare(Y)):
        bag = np.flatnonzero(Y[:, l]) if is_rare else []
        for i in range(len(bag)):
            near = bag[nearest(X[bag], i, min(k, len(bag) - 1))]
            votes = Y[bag[i]] + Y[near].sum(axis=0)
            np.testing.assert_array_equal(new_Y[at], votes > (len(near) + 1) / 2)
            between = [
                ((new_X[at] >= np.minimum(X[bag[i]], X[j]) - 1e-12)
                 & (new_X[at] <= np.maximum(X[bag[i]], X[j]) + 1e-12)).all()
                for j in near
            ]  # fmt: skip
            assert any(between)
            at += 1
    assert at == len(new_X) > len(X)


def test_remedial():
    X, Y = problem()
    ir, _ = imbalance(Y)
    scumble = []
    for y in Y:
        own = [ir[l] for l in np.flatnonzero(y)]
        scumble.append(1 - np.prod(own) ** (1 / len(own)) / np.mean(own) if len(own) > 1 else 0)
    assert np.mean(scumble) == pytest.approx(describe(Y).scumble)
    first, more, rows = [], [], []
    for i, y in enumerate(Y):
        split = scumble[i] > np.mean(scumble)
        first.append([v and not (split and rare(Y)[l]) for l, v in enumerate(y)])
        if split:
            more.append([v and rare(Y)[l] for l, v in enumerate(y)])
            rows.append(i)
    new_X, new_Y = REMEDIAL().fit_resample(X, Y)
    assert more
    np.testing.assert_array_equal(new_Y, np.array(first + more, dtype=int))
    np.testing.assert_array_equal(new_X, X[[*range(len(X)), *rows]])
    assert describe(new_Y).scumble < describe(Y).scumble


@pytest.mark.parametrize("resampler", ALL, ids=NAMES)
class TestEach:
    def test_sparse_labels_give_the_same(self, resampler):
        X, Y = problem()
        X_dense, Y_dense = seeded(resampler).fit_resample(X, Y)
        X_sparse, Y_sparse = seeded(resampler).fit_resample(X, sparse.coo_array(Y))
        assert sparse.issparse(Y_sparse) and Y_sparse.format == "csr"
        np.testing.assert_array_equal(Y_sparse.toarray(), Y_dense)
        np.testing.assert_array_equal(X_sparse, X_dense)

    def test_sparse_features_give_the_same(self, resampler):
        rng = np.random.default_rng(0)
        X = rng.poisson(0.7, size=(60, 4)).astype(float)  # many ties
        Y = (rng.random((60, 4)) < [0.5, 0.4, 0.1, 0.05]).astype(int)
        wanted = seeded(resampler).fit_resample(X, Y)
        found = seeded(resampler).fit_resample(sparse.csr_array(X), Y)
        np.testing.assert_array_equal(found[0].toarray(), wanted[0])
        np.testing.assert_array_equal(found[1], wanted[1])

    def test_sparse_features_stay_sparse(self, resampler):
        X, Y = problem()
        new_X, new_Y = seeded(resampler).fit_resample(sparse.csr_array(X), Y)
        assert sparse.issparse(new_X) and new_X.shape[0] == new_Y.shape[0]

    def test_nothing_given_is_changed_or_shared(self, resampler):
        X, Y = problem()
        X.flags.writeable = Y.flags.writeable = False
        new_X, new_Y = seeded(resampler).fit_resample(X, Y)
        assert not np.shares_memory(new_X, X) and not np.shares_memory(new_Y, Y)

    def test_frames(self, resampler):
        X, Y = problem()
        names = pd.DataFrame(Y, columns=list("abcde"))
        new_X, new_Y = seeded(resampler).fit_resample(pd.DataFrame(X, columns=list("xyz")), names)
        want_X, want_Y = seeded(resampler).fit_resample(X, Y)
        np.testing.assert_array_equal(np.asarray(new_X), want_X)
        np.testing.assert_array_equal(new_Y, want_Y)

    @pytest.mark.parametrize(
        "Y", [[[1]], [[0]], [[1], [1]], [[0, 0], [0, 0]], [[1, 0], [0, 0]]], ids=str
    )
    def test_tiny(self, resampler, Y):
        X = np.arange(len(Y), dtype=float)[:, None]
        new_X, new_Y = seeded(resampler).fit_resample(X, np.array(Y))
        assert len(new_X) == len(new_Y) >= 1

    def test_bad_input(self, resampler):
        X, Y = problem()
        with pytest.raises(ValueError, match="Y must hold only 0 and 1"):
            resampler.fit_resample(X, Y * 2)
        with pytest.raises(ValueError, match="inconsistent numbers of samples"):
            resampler.fit_resample(X[:5], Y)
        with pytest.raises(ValueError, match="at least one row and one label"):
            resampler.fit_resample(X, Y[:, :0])


@pytest.mark.parametrize("bad", [LPROS(-1), LPRUS(1.0), MLRUS(2), MLSMOTE(0), MLTL(2), MLeNN(0)])
def test_bad_parameters(bad):
    with pytest.raises(ValueError, match="parameter of .* must be"):
        bad.fit_resample(*problem())


def test_nan_is_refused_where_neighbours_are_needed():
    X, Y = problem()
    X[3, 1] = np.nan
    with pytest.raises(ValueError, match="X contains NaN"):
        MLSMOTE().fit_resample(X, Y)
    assert len(MLROS(random_state=0).fit_resample(X, Y)[0]) > len(X)
