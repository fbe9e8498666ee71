"""Splits of collections are even, whatever the blocks."""

import numpy as np
import pytest
from scipy import sparse

from plurilabel.distributed import stratified_split

da = pytest.importorskip("dask.array", reason="the extra 'dask' is not installed")

rng = np.random.default_rng(0)
N, Q = 900, 12
X = np.arange(N)[:, None]
Y = (rng.random((N, Q)) < np.geomspace(0.012, 0.6, Q)).astype(np.int8)


def plain(array):
    answer = array.compute()
    assert answer.shape == array.shape
    return answer.toarray() if sparse.issparse(answer) else answer


@pytest.mark.parametrize("rows", [17, 100, None])
@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_parts_are_even_and_hold_each_row_once(rows, form):
    labels = da.from_array(Y, chunks=(130, -1))
    labels = labels.map_blocks(sparse.csr_array) if form == "sparse" else labels
    instances = da.from_array(X, chunks=(77, -1))
    found = stratified_split(instances, labels, sizes=(0.7, 0.1, 0.2), random_state=0, rows=rows)
    parts, own = [plain(part).ravel() for part in found[:3]], [plain(part) for part in found[3:]]
    assert [len(part) for part in parts] == [630, 90, 180]
    np.testing.assert_array_equal(np.sort(np.concatenate(parts)), np.arange(N))
    for rows_of, labels_of, share in zip(parts, own, (0.7, 0.1, 0.2)):
        np.testing.assert_array_equal(labels_of, Y[rows_of])
        assert (np.diff(rows_of) > 0).all()
        # as even as whole rows with several labels allow
        assert np.abs(labels_of.sum(axis=0) - share * Y.sum(axis=0)).max() <= 3


def test_rare_labels_reach_small_parts_across_blocks():
    rare = np.zeros((N, 1), dtype=int)
    rare[5::90] = 1  # one in each block
    _, test, _, labels = stratified_split(X, rare, sizes=(0.8, 0.2), random_state=0, rows=90)
    assert test.shape == (180, 1) and plain(labels).sum() == 2


def test_the_seed_decides():
    def rows(seed):
        return plain(stratified_split(X, Y, random_state=seed, rows=200)[1])

    np.testing.assert_array_equal(rows(3), rows(3))
    assert (rows(3) != rows(4)).any()


def test_some_rows_may_be_left_out():
    first, second, *_ = stratified_split(X, Y, sizes=(100, 50), rows=200)
    assert len(first) == 100 and len(second) == 50
    assert not set(plain(first).ravel()) & set(plain(second).ravel())


def test_errors():
    with pytest.raises(ValueError, match="X has 900 rows, but Y has 899"):
        stratified_split(X, Y[:-1])
    with pytest.raises(ValueError, match="add up to at most the 900 rows"):
        stratified_split(X, Y, sizes=(800, 200))
    with pytest.raises(ValueError, match="only 0 and 1"):
        stratified_split(X, 2 * Y)
