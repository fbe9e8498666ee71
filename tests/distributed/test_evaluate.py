"""Measures on Dask are those of the whole."""

import numpy as np
import pytest
from scipy import sparse

from plurilabel import metrics
from plurilabel.distributed import evaluate

da = pytest.importorskip("dask.array", reason="the extra 'dask' is not installed")

rng = np.random.default_rng(0)
Y = (rng.random((90, 6)) < [0.1, 0.3, 0.5, 0.9, 0.0, 1.0]).astype(np.int8)
S = np.round(rng.random((90, 6)), 2)
Z = (S > 0.6).astype(np.int8)


def assert_same(found, expected):
    assert list(found) == list(expected)
    assert found.note == expected.note
    for name, value in expected.items():
        exact = name.startswith(("macro", "micro"))
        np.testing.assert_allclose(found[name], value, 0 if exact else 1e-12, err_msg=name)


@pytest.mark.parametrize("chunks", [(90, 6), (1, 6), (17, 2), ((0, 40, 0, 50), 6)])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_the_measures_are_those_of_the_whole(chunks, form):
    y, s, z = (da.from_array(M, chunks=chunks).map_blocks(form) for M in (Y, S, Z))
    given = [form(M) for M in (Y, S, Z)]
    for rows in (None, 7):
        assert_same(evaluate(y, s, z, auc=True, rows=rows), metrics.evaluate(*given))
    other = da.from_array(Z, chunks=(11, -1))
    assert_same(evaluate(y, labels=other, rows=9), metrics.evaluate(given[0], labels=given[2]))


def test_labels_that_are_not_known_and_frames():
    dd = pytest.importorskip("dask.dataframe", reason="dask.dataframe is not installed")
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    partial = np.where(rng.random(Y.shape) < 0.2, np.nan, Y)
    found = evaluate(da.from_array(partial, chunks=(20, 6)), S, rows=13, auc=True)
    assert_same(found, metrics.evaluate(partial, S))
    assert found.n_unknown == int(np.isnan(partial).sum())
    names = list("abcdef")
    frames = [dd.from_pandas(pd.DataFrame(M, columns=names), npartitions=3) for M in (Y, S, Z)]
    with pytest.warns(UserWarning, match="to count its rows"):
        assert_same(evaluate(*frames, auc=True), metrics.evaluate(Y, S, Z))
    with (
        pytest.raises(ValueError, match="columns in the order of Y_true"),
        pytest.warns(UserWarning, match="to count its rows"),
    ):
        evaluate(frames[0], labels=frames[2][names[::-1]])


def test_errors_name_what_is_wrong_and_where():
    with pytest.raises(ValueError, match="scores, labels or both"):
        evaluate(Y)
    with pytest.raises(ValueError, match="auc=True needs scores"):
        evaluate(Y, labels=Z, auc=True)
    with pytest.raises(ValueError, match=r"shape of Y_true, \(90, 6\), got \(89, 6\)"):
        evaluate(Y, da.from_array(S[:89], chunks=(20, 6)))
    broken = S.copy()
    broken[50, 2] = np.nan
    with pytest.raises(ValueError, match="in rows 45 to 59: .*NaN"):
        evaluate(Y, da.from_array(broken, chunks=(20, 6)), rows=15)
    with pytest.raises(ValueError, match="got predicted labels"):
        evaluate(Y, Z, rows=15)
