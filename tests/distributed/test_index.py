"""On Dask, the answer of one machine, bit for bit, whatever the chunks."""

import threading
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from plurilabel import DaskIndex, ExactIndex
from plurilabel.neighbors import _blocks as blocks
from plurilabel.neighbors import _products as products
from plurilabel.neighbors._blocks import Across
from plurilabel.neighbors._distance import WIDE, Formula
from plurilabel.neighbors._engines import threads

dask = pytest.importorskip("dask", reason="the extra 'dask' is not installed")
da = pytest.importorskip("dask.array", reason="the extra 'dask' is not installed")

rng = np.random.default_rng(0)
POINTS = {
    "normal": rng.normal(size=(120, 20)),
    "float32": rng.normal(size=(120, 20)).astype(np.float32),
    "whole": rng.integers(0, 3, (120, 6)).astype(float),
    "few features": rng.normal(size=(120, 2)),
    "duplicates": np.repeat(rng.normal(size=(20, 15)), 6, axis=0),
    "clusters": 1e-6 * rng.normal(size=(120, 8)) + rng.integers(0, 3, (120, 1)),
    "rows of zeros": np.where(rng.random((120, 1)) < 0.1, 0.0, rng.normal(size=(120, 9))),
}


def same(found, expected):
    for a, b in zip(found, expected):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "manhattan"])
@pytest.mark.parametrize("name", POINTS)
def test_the_answer_is_that_of_one_machine(name, metric):
    X = POINTS[name]
    expected = ExactIndex(metric).fit(X)
    for chunks, rows in (((50, -1), None), ((30, 7), 40), ((119, -1), 20)):
        index = DaskIndex(metric, rows=rows).fit(da.from_array(X, chunks=chunks))
        same(index.kneighbors(None, 5), expected.kneighbors(None, 5))
    same(index.kneighbors(X[::3] + 0.5, 5), expected.kneighbors(X[::3] + 0.5, 5))


@settings(max_examples=20)
@given(st.integers(0, 2**32), st.booleans(), st.booleans())
def test_two_sets_at_once(seed, direct, cosine):
    rng = np.random.default_rng(seed)
    a, b = rng.integers(1, 400, 2).tolist()
    d, k = int(rng.integers(1, 9)), int(min(rng.integers(1, 9), a, b))
    kind = rng.integers(0, 3)
    both = rng.normal(size=(a + b, d)) if kind else rng.integers(0, 3, (a + b, d)).astype(float)
    if kind == 2:
        both = sparse.csr_array(both * (rng.random(both.shape) < 0.4))
    A, B, metric = both[:a], both[a:], "cosine" if cosine else "euclidean"
    formula = Formula.of(metric)
    with pytest.MonkeyPatch.context() as patch, threads(2) as run:
        patch.setattr(products, "DIRECT_BELOW", 5000 if direct else 0)
        first, second = formula.prepare(A), formula.prepare(B)
        found = Across(formula, first).of_each(second, k, run)
    one, other = (ExactIndex(metric).fit(points) for points in (A, B))
    expected = other.kneighbors(A, k), one.kneighbors(B, k)
    same(found[0], expected[0])
    same(found[1], expected[1])
    # with limits, all that is not farther is found, and nothing else is wrong
    limits = tuple(D[0][:, rng.integers(0, k)] for D in expected)
    with pytest.MonkeyPatch.context() as patch, threads(2) as run:
        patch.setattr(products, "DIRECT_BELOW", 5000 if direct else 0)
        search = Across(formula, first, limits[0])
        search.of_each(second[:1], 1, run)  # the memory is used again
        limited = search.of_each(second, k, run, limits)
    for found, whole, limit in zip(limited, expected, limits):
        needed = whole[0] <= limit[:, None]
        np.testing.assert_array_equal(found[0][needed], whole[0][needed])
        np.testing.assert_array_equal(found[1][needed], whole[1][needed])
        assert (found[0][~needed] >= whole[0][~needed]).all()


def test_chunks_may_be_sparse_and_of_unknown_size():
    dense = POINTS["normal"] * (rng.random((120, 20)) < 0.3)
    expected = ExactIndex().fit(dense).kneighbors(None, 4)
    X = da.from_array(dense, chunks=(33, -1))
    same(DaskIndex(rows=25).fit(X.map_blocks(sparse.csr_array)).kneighbors(None, 4), expected)
    unknown = X[X[:, 0] < 99]
    with pytest.warns(UserWarning, match="X is read once to count its rows"):
        index = DaskIndex().fit(unknown)
    same(index.kneighbors(None, 4), expected)
    same(DaskIndex(rows=25).fit(dense).kneighbors(None, 4), expected)


def test_a_data_frame():
    dd = pytest.importorskip("dask.dataframe", reason="dask.dataframe is not installed")
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    frame = dd.from_pandas(pd.DataFrame(POINTS["normal"]), npartitions=3)
    with pytest.warns(UserWarning, match="to count its rows"):
        index = DaskIndex().fit(frame)
    same(index.kneighbors(None, 3), ExactIndex().fit(POINTS["normal"]).kneighbors(None, 3))


def test_answers_may_stay_on_the_cluster_and_points_be_gathered():
    X = POINTS["normal"]
    index = DaskIndex(rows=50).fit(da.from_array(X, chunks=(40, -1)))
    distances, indices = index.kneighbors(None, 3, compute=False)
    assert distances.chunks == indices.chunks == ((40, 40, 40), (3,))
    expected = ExactIndex().fit(X).kneighbors(None, 3)
    same((distances.compute(), indices.compute()), expected)
    same(index.gather().kneighbors(None, 3), expected)
    np.testing.assert_array_equal(
        index.kneighbors(X[:4], 2, return_distance=False)[:, 0], range(4)
    )


def test_more_neighbours_than_a_block_has():
    X = POINTS["normal"][:30]
    index = DaskIndex(rows=4).fit(X)
    same(index.kneighbors(None, 29), ExactIndex().fit(X).kneighbors(None, 29))
    same(index.kneighbors(X[:3], 30), ExactIndex().fit(X).kneighbors(X[:3], 30))


def test_errors_name_what_is_wrong_and_where():
    X = POINTS["normal"].copy()
    index = DaskIndex(rows=40).fit(X)
    with pytest.raises(ValueError, match="smaller than the 120 training instances, got 120"):
        index.kneighbors(None, 120)
    with pytest.raises(ValueError, match="X has 3 features, but DaskIndex has 20"):
        index.kneighbors(X[:, :3])
    with pytest.raises(ValueError, match="'metric' parameter of DaskIndex"):
        DaskIndex("correlation").fit(X)
    X[50, 3] = np.nan
    with pytest.raises(ValueError, match="in rows 40 to 79 of X: .*NaN"):
        DaskIndex(rows=40).fit(X).kneighbors(None, 2)


def test_what_is_no_matrix_of_numbers_is_refused():
    with pytest.raises(TypeError, match="X must be a Dask array or data frame, got Delayed"):
        DaskIndex().fit(dask.delayed(POINTS["normal"]))
    for empty in (np.zeros((0, 3)), da.zeros((0, 3))):
        with pytest.raises(ValueError, match="X has no rows"):
            DaskIndex().fit(empty)
    with pytest.raises(ValueError, match="must not have masked entries"):
        DaskIndex().fit(da.ma.masked_less(da.from_array(POINTS["normal"]), 0)).kneighbors()
    words = np.array([[1.0, 2.0], [None, 3.0]], dtype=object)
    with pytest.raises(ValueError, match="in rows 0 to 1 of X"):
        DaskIndex().fit(da.from_array(words, chunks=2)).kneighbors(None, 1)


def test_empty_chunks_and_sparse_chunks_in_several_columns():
    X = POINTS["normal"] * (rng.random((120, 20)) < 0.3)
    expected = ExactIndex().fit(X).kneighbors(None, 4)
    nothing = da.from_array(X[:0], chunks=(1, 20))
    parts = [nothing, da.from_array(X[:50], chunks=(20, 7)), nothing, da.from_array(X[50:])]
    same(DaskIndex(rows=17).fit(da.concatenate([*parts, nothing])).kneighbors(None, 4), expected)
    for form in (sparse.csr_array, sparse.csr_matrix, sparse.coo_array):
        chunks = da.from_array(X, chunks=(33, 7)).map_blocks(form)
        same(DaskIndex(rows=25).fit(chunks).kneighbors(None, 4), expected)


LOCK = threading.Lock()


def _load(path):
    """Read an array; one thread at a time, since Python 3.11 cannot parse in several."""
    with LOCK:
        return np.load(path)


def on_disk(X, folder, rows):
    """Chunks of rows in files, which tasks can read again."""
    chunks = []
    for start in range(0, len(X), rows):
        part = X[start : start + rows]
        np.save(folder / f"{start}.npy", part)
        read = dask.delayed(_load)(folder / f"{start}.npy")
        chunks.append(da.from_delayed(read, part.shape, dtype=X.dtype))
    return da.concatenate(chunks)


@pytest.mark.parametrize("name", POINTS)
def test_blocks_that_are_read_again_give_the_same(name, tmp_path):
    X = POINTS[name]
    chunks = on_disk(X, tmp_path, 34)
    for rows, metric, k in ((17, "euclidean", 3), (30, "cosine", 2), (40, "manhattan", 50)):
        expected = ExactIndex(metric).fit(X)
        index = DaskIndex(metric, rows=rows, reload=True).fit(chunks)
        same(index.kneighbors(None, k), expected.kneighbors(None, k))
    for queries in (chunks[5:30], X[5:30]):
        same(index.kneighbors(queries, 5), expected.kneighbors(X[5:30], 5))
    distances, _ = index.kneighbors(None, 3, compute=False)
    same([distances.compute()], expected.kneighbors(None, 3)[:1])


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_few_wide_points_in_a_block(metric, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 4)) @ rng.normal(size=(4, WIDE + 10))
    X[40:] = X[:10]
    expected = ExactIndex(metric).fit(X).kneighbors(None, 5)
    chunks = on_disk(X, tmp_path, 20)
    for rows in (7, 17, 31):
        index = DaskIndex(metric, rows=rows, reload=True).fit(chunks)
        same(index.kneighbors(None, 5), expected)


def test_points_that_are_too_far_are_not_checked(monkeypatch, tmp_path):
    """Exact distances are for candidates within the limits, however few points a block has."""
    X = np.random.default_rng(0).normal(size=(300, 30))
    index = DaskIndex(rows=20, reload=True).fit(on_disk(X, tmp_path, 20))
    checked, ranked = [], blocks.ranked

    def counting(formula, A, rows, B, near, k):
        checked.append((near >= 0).sum())
        return ranked(formula, A, rows, B, near, k)

    monkeypatch.setattr(blocks, "ranked", counting)
    with dask.config.set(scheduler="synchronous"):
        same(index.kneighbors(None, 5), ExactIndex().fit(X).kneighbors(None, 5))
    # of all 8 of a block of 20, for each of the 15 blocks
    assert sum(checked) < 300 * 8 * 15 / 3


def test_points_in_memory_are_kept(tmp_path):
    X = np.random.default_rng(0).normal(size=(9000, 4))
    for held in (X, da.from_array(X), on_disk(X, tmp_path, 3000).persist()):
        with pytest.raises(ValueError, match="but these are in memory"):
            DaskIndex(reload=True).fit(held).kneighbors()


@pytest.mark.parametrize(("n", "d", "rows", "k"), [(6000, 40, 2000, 10), (6000, 8, 3000, 20)])
def test_the_cost_is_what_is_measured(monkeypatch, n, d, rows, k):
    X = np.random.default_rng(0).normal(size=(n, d))
    index = DaskIndex(rows=rows).fit(X)
    counted, product = [], products.product

    def counting(left, right, out=None):
        counted.append(left.shape[0] * right.shape[1])
        return product(left, right, out)

    monkeypatch.setattr(products, "product", counting)
    index.kneighbors(None, k)
    kept, again = (index.cost(k, n_workers=2, reload=reload) for reload in (False, True))
    assert kept.products == again.products == pytest.approx(sum(counted), rel=0.2)
    assert again.memory < kept.memory
    assert again.read > kept.read == X.nbytes
    assert index.cost(k).moved == (0, 0)
    assert 0 < again.moved[0] < again.moved[1] < kept.moved[1]


@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e200])
def test_values_that_are_none_are_found_in_blocks_that_are_read_again(tmp_path, bad):
    X = np.random.default_rng(0).normal(size=(320, 12))
    X[60, 0] = bad
    index = DaskIndex(rows=20, reload=True).fit(on_disk(X, tmp_path, 20))
    with pytest.raises(ValueError, match="X must hold" if bad == 1e200 else "in rows 60 to 79"):
        index.kneighbors(None, 3)


def test_chunks_of_both_kinds_are_refused():
    X = np.random.default_rng(0).normal(size=(40, 7))
    parts = [dask.delayed(X[:20]), dask.delayed(sparse.csr_array)(X[20:])]
    mixed = da.concatenate([da.from_delayed(part, (20, 7), dtype=float) for part in parts])
    with pytest.raises(ValueError, match="all dense or all sparse, got both: rows 0 to 19 and 20"):
        DaskIndex(rows=20).fit(mixed).kneighbors(None, 4)


def test_two_blocks_of_one_point_are_checked():
    with pytest.raises(ValueError, match=r"X must hold values up to 1e\+150"):
        DaskIndex(rows=1).fit([[0.5, 0.0], [1e160, 1.0]]).kneighbors(None, 1)


@pytest.mark.parametrize(("n", "d", "rows", "k"), [(3550, 1500, 200, 3), (400, 9000, 20, 5)])
def test_memory_stays_within_the_formula(tmp_path, n, d, rows, k):
    X = np.random.default_rng(0).normal(size=(n, d))
    chunks = on_disk(X, tmp_path, rows)
    index = DaskIndex(rows=rows, reload=True).fit(chunks)
    with dask.config.set(scheduler="synchronous"):
        index.kneighbors(chunks[:10], k)  # imports
        tracemalloc.start()
        index.kneighbors(None, k)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak < 1.2 * index.cost(k).memory < X.nbytes / 2
