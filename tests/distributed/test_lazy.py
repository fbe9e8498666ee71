"""Lazy learners on Dask answer as on one machine, bit for bit."""

import numpy as np
import pytest
from scipy import sparse

from plurilabel import (
    IBLRML,
    BRkNN,
    DaskLazyClassifier,
    DMLkNN,
    DWMLkNN,
    ExactIndex,
    MLkNN,
    MLkNNCV,
    MLWkNN,
)

dask = pytest.importorskip("dask", reason="the extra 'dask' is not installed")
da = pytest.importorskip("dask.array", reason="the extra 'dask' is not installed")

rng = np.random.default_rng(0)
X = rng.normal(size=(150, 6))
Y = (rng.random((150, 5)) < [0.1, 0.3, 0.5, 0.9, 0.0]).astype(np.int8)
LEARNERS = [
    MLkNN(4), DWMLkNN(4), MLWkNN(4), BRkNN(4), DMLkNN(4), MLkNNCV((2, 4)),
    MLkNN(3, metric="cosine"),
]  # fmt: skip


def plain(answer):
    answer = answer.compute() if hasattr(answer, "compute") else answer
    return answer.toarray() if sparse.issparse(answer) else answer


@pytest.mark.parametrize("learner", LEARNERS, ids=str)
@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_answers_are_those_of_one_machine(learner, form):
    labels = Y if form == "dense" else sparse.csr_array(Y)
    expected = learner.fit(X[:120], labels[:120])
    chunks = da.from_array(Y[:120], chunks=(31, -1))
    if form == "sparse":
        chunks = chunks.map_blocks(sparse.csr_array)
    found = DaskLazyClassifier(learner, rows=37).fit(
        da.from_array(X[:120], chunks=(50, 2)), chunks
    )
    asked = da.from_array(X[120:], chunks=(8, -1))
    for method in ("predict", "predict_proba", "predict_top"):
        answer = plain(getattr(expected, method)(X[120:]))
        for given in (asked, X[120:]):
            np.testing.assert_array_equal(plain(getattr(found, method)(given)), answer)
    gathered = found.gather()
    assert isinstance(gathered.index_, ExactIndex)
    np.testing.assert_array_equal(gathered.predict_proba(X[120:]), expected.predict_proba(X[120:]))
    more = gathered.partial_fit(X[120:], labels[120:])
    np.testing.assert_array_equal(more.predict_proba(X), learner.fit(X, labels).predict_proba(X))


def test_errors():
    with pytest.raises(ValueError, match="such as MLkNN or BRkNN, got IBLRML"):
        DaskLazyClassifier(IBLRML(3)).fit(X, Y)
    with pytest.raises(ValueError, match="no index of its own"):
        DaskLazyClassifier(MLkNN(3, index=ExactIndex())).fit(X, Y)
    with pytest.raises(ValueError, match="X has 150 rows, but y has 149"):
        DaskLazyClassifier(MLkNN(3)).fit(X, Y[:149])
    with pytest.raises(ValueError, match="n_neighbors must be smaller than the 150"):
        DaskLazyClassifier(MLkNN(150)).fit(X, Y)
    frames = pytest.importorskip("dask.dataframe")
    frame = frames.from_dask_array(da.from_array(X, chunks=(50, -1)), columns=list("abcdef"))
    with pytest.warns(UserWarning, match="to count its rows"):
        named = DaskLazyClassifier(MLkNN(3)).fit(frame, Y)
    with pytest.raises(ValueError, match="X must have the columns"):
        named.predict(frame[list("bacdef")])
    learner = DaskLazyClassifier(MLkNN(3)).fit(X, Y)
    with pytest.raises(ValueError, match="3 features, but the learner has 6"):
        learner.predict(da.from_array(X[:, :3]))


def test_labels_and_graph_stay_on_the_workers():
    chunks = da.from_array(X, chunks=(40, -1)), da.from_array(Y, chunks=(70, 2))
    learner = DaskLazyClassifier(MLWkNN(4), rows=50).fit(*chunks)
    assert learner.estimator_.Y_.shape == (0, 5)
    assert not hasattr(learner.estimator_, "graph_")
    whole, expected = learner.without_instances(), MLWkNN(4).fit(X, Y)
    np.testing.assert_array_equal(whole.Y_, Y)
    for found, known in zip(whole.graph_, expected.graph_):
        np.testing.assert_array_equal(found, known)
    np.testing.assert_array_equal(learner.estimator_.table_, expected.table_)


def test_labels_that_are_not_known_and_wrong_ones():
    unknown = np.where(rng.random(Y.shape) < 0.2, np.nan, Y)
    expected = MLkNN(4).fit(X, unknown).predict_proba(X[:20] + 0.1)
    learner = DaskLazyClassifier(MLkNN(4), rows=50).fit(X, da.from_array(unknown, chunks=(40, 5)))
    np.testing.assert_array_equal(learner.predict_proba(X[:20] + 0.1), expected)
    wrong = Y.astype(float)
    wrong[60, 1] = 3
    with pytest.raises(ValueError, match="in rows 0 to 149 of y: .*3"):
        DaskLazyClassifier(MLkNN(4)).fit(X, da.from_array(wrong, chunks=(50, 5)))


def test_instances_and_labels_may_be_read_again(tmp_path):
    chunks = []
    for name, matrix in (("x", X), ("y", Y)):
        np.save(tmp_path / f"{name}.npy", matrix)
        read = dask.delayed(np.load)(tmp_path / f"{name}.npy")
        chunks.append(da.from_delayed(read, matrix.shape, dtype=matrix.dtype))
    learner = DaskLazyClassifier(MLkNN(4), rows=40, reload=True).fit(*chunks)
    expected = MLkNN(4).fit(X, Y).predict_proba(X[:9] + 0.1)
    np.testing.assert_array_equal(learner.predict_proba(X[:9] + 0.1), expected)
