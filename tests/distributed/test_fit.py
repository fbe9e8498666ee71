"""Learners fitted to blocks of rows: those of one machine, on the joined rows."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LogisticRegression, Perceptron, RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler
from sklearn.svm import LinearSVC

import plurilabel
from plurilabel import BinaryRelevance, MLkNN, distributed

da = pytest.importorskip("dask.array", reason="the extra 'dask' is not installed")
dd = pytest.importorskip("dask.dataframe", reason="the extra 'dask' is not installed")

rng = np.random.default_rng(0)
X = rng.normal(size=(900, 6)) * np.exp(rng.normal(size=6)) + 1
Y = ((X - 1) / X.std(axis=0) @ rng.normal(size=(6, 5)) + rng.normal(size=(900, 5)) > 1.5) * 1
Y[:, 2], Y[:, 3] = 0, 1  # everywhere
Y[:300, 4] = 0  # in the first blocks
ODD = (0, 1, 333, 566, 0)  # empty chunks, and one row
TIGHT = {"tol": 1e-9, "max_iter": 5000}
LOGISTIC = LogisticRegression(solver="newton-cholesky", **TIGHT)


def collection(M, form=np.asarray, chunks=ODD):
    return da.from_array(M, chunks=(chunks, -1)).map_blocks(form)


def scores(learner, M):
    method = getattr(learner, "predict_proba", None) or learner.decision_function
    return method(M)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize(
    "learner",
    [
        BinaryRelevance(LOGISTIC),
        BinaryRelevance(clone(LOGISTIC).set_params(fit_intercept=False, C=0.01)),
        BinaryRelevance(LogisticRegression(C=np.inf, **TIGHT)),
        BinaryRelevance(clone(LOGISTIC).set_params(class_weight="balanced"), nonempty=True),
        BinaryRelevance(LOGISTIC, label_weight="balanced"),
        BinaryRelevance(LinearSVC(**TIGHT)),
        BinaryRelevance(RidgeClassifier(alpha=3.0, tol=1e-9)),
        BinaryRelevance(RidgeClassifier(fit_intercept=False, class_weight="balanced", tol=1e-9)),
        make_pipeline(StandardScaler(with_mean=False), BinaryRelevance(LOGISTIC)),
        make_pipeline(MaxAbsScaler(), BinaryRelevance(LOGISTIC)),
    ],
)
def test_linear_models(learner, form):
    expected = clone(learner).fit(form(X), form(Y))
    found = distributed.fit(learner, collection(X, form), collection(Y, form), rows=150)
    np.testing.assert_allclose(scores(found, X), scores(expected, X), rtol=0, atol=1e-5)
    answers = [sparse.csr_array(one.predict(form(X))).toarray() for one in (found, expected)]
    np.testing.assert_array_equal(*answers)
    assert set(vars(found)) == set(vars(expected))
    models = [one[-1] if hasattr(one, "steps") else one for one in (found, expected)]
    assert set(vars(models[0])) == set(vars(models[1]))
    for a, b in zip(*(model.estimators_ for model in models)):
        assert type(a) is type(b) and set(vars(a)) == set(vars(b))


def test_the_stopping_rule():
    """No derivative, divided by C and the rows, is above tol; far below it, results are equal."""
    for tol in (1e-2, 1e-4):
        learner = BinaryRelevance(LogisticRegression(tol=tol, C=2.0))
        found = distributed.fit(learner, collection(X), collection(Y), rows=200)
        for model, y in [(found.estimators_[l], Y[:, l]) for l in (0, 1, 4)]:
            p = 1 / (1 + np.exp(-(X @ model.coef_[0] + model.intercept_)))
            slopes = 2.0 * X.T @ (p - y) + model.coef_[0], 2.0 * np.sum(p - y)
            assert max(abs(slopes[0]).max(), abs(slopes[1])) <= 2.0 * len(X) * tol * (1 + 1e-9)


def test_chunks_do_not_matter():
    learner = BinaryRelevance(LogisticRegression())
    all_chunks = (900, 7, (450, 450), ODD)
    found = [
        distributed.fit(
            learner, da.from_array(X, chunks=(a, 2)), collection(Y, chunks=b), rows=100
        )
        for a, b in zip(all_chunks, reversed(all_chunks))
    ]
    for other in found[1:]:
        np.testing.assert_array_equal(scores(other, X), scores(found[0], X))


def test_blocks_that_are_read_again(monkeypatch):
    learner, reads = BinaryRelevance(LogisticRegression()), []
    expected = distributed.fit(learner, collection(X), collection(Y), rows=300)
    monkeypatch.setattr("plurilabel.distributed._fit.KEPT", 0.0)

    def load(block):
        reads.append(len(block))
        return block

    again = da.from_array(X, chunks=(300, -1)).map_blocks(load, meta=np.empty((0, 6)))
    found = distributed.fit(learner, again, collection(Y), rows=300)
    np.testing.assert_array_equal(scores(found, X), scores(expected, X))
    assert len(reads) > 3 * 3


def test_unknown_labels():
    given = np.where(rng.random(Y.shape) < 0.2, np.nan, Y)
    given[:, 1] = np.where(Y[:, 1], np.nan, 0)  # only the absences are known
    expected = BinaryRelevance(LOGISTIC).fit(X, given)
    found = distributed.fit(BinaryRelevance(LOGISTIC), collection(X), collection(given), rows=100)
    np.testing.assert_allclose(scores(found, X), scores(expected, X), atol=1e-6)
    balanced = BinaryRelevance(LOGISTIC, label_weight="balanced")
    expected = clone(balanced).fit(X, given)
    found = distributed.fit(balanced, collection(X), collection(given), rows=100)
    np.testing.assert_allclose(scores(found, X), scores(expected, X), atol=1e-6)


def test_many_sparse_features(monkeypatch):
    """With more features than can be multiplied with each other."""
    monkeypatch.setattr("plurilabel.distributed._linear.WIDEST", 5)
    counts = sparse.csr_array(rng.poisson(0.3, size=(400, 60)))
    labels = (counts[:, :3].toarray() + rng.random((400, 3)) > 1.3) * 1
    expected = BinaryRelevance(LOGISTIC).fit(counts, labels)
    blocks = da.from_array(counts.toarray(), chunks=(90, -1)).map_blocks(sparse.csr_array)
    found = distributed.fit(BinaryRelevance(LOGISTIC), blocks, labels, rows=90)
    np.testing.assert_allclose(scores(found, counts), scores(expected, counts), atol=1e-6)


def test_data_frames_keep_their_names():
    frame = pd.DataFrame(X, columns=list("abcdef"))
    labels = pd.DataFrame(Y, columns=["sun", "sea", "no", "yes", "late"])
    given = dd.from_pandas(frame, npartitions=3), dd.from_pandas(labels, npartitions=2)
    with pytest.warns(UserWarning, match="read once to count"):
        found = distributed.fit("StandardScaler | BinaryRelevance(LogisticRegression)", *given)
    expected = make_pipeline(StandardScaler(), BinaryRelevance(LogisticRegression()))
    expected.fit(frame, labels)
    assert found.feature_names_in_.tolist() == list("abcdef")
    assert found[-1].label_names_.tolist() == list(labels)
    np.testing.assert_allclose(scores(found, frame), scores(expected, frame), atol=5e-3)


def test_the_model_is_an_ordinary_one(tmp_path):
    pytest.importorskip("skops")
    found = distributed.fit(BinaryRelevance(LOGISTIC), collection(X), collection(Y))
    plurilabel.save(found, tmp_path / "model.skops")
    again = plurilabel.load(tmp_path / "model.skops")
    np.testing.assert_array_equal(scores(again, X), scores(found, X))
    assert len(found.explain(X[:2])) == 2


@pytest.mark.parametrize(
    ("learner", "words"),
    [
        (MLkNN(), "only BinaryRelevance .* got MLkNN: see DaskLazyClassifier"),
        (BinaryRelevance(Perceptron()), "around LogisticRegression, .* got Perceptron"),
        (BinaryRelevance(LogisticRegression(solver="liblinear")), "solver='liblinear' is not"),
        (BinaryRelevance(LinearSVC(loss="hinge")), "loss='hinge' is not supported"),
        (make_pipeline(TfidfTransformer(), BinaryRelevance(LOGISTIC)), "no partial_fit"),
    ],
)
def test_what_is_refused(learner, words):
    with pytest.raises(ValueError, match=words):
        distributed.fit(learner, collection(X), collection(Y))


def test_errors_name_the_rows():
    broken, wrong = X.copy(), Y.copy()
    broken[450, 2], wrong[777, 1] = np.nan, 2
    learner = BinaryRelevance(LogisticRegression())
    for before in (learner, make_pipeline(StandardScaler(), learner)):
        with pytest.raises(ValueError, match=r"in rows 400 to 499: Input X contains NaN"):
            distributed.fit(before, collection(broken), collection(Y), rows=100)
    with pytest.raises(ValueError, match=r"in rows 700 to 799: y must hold only 0 and 1"):
        distributed.fit(learner, collection(X), collection(wrong), rows=100)
    with pytest.raises(ValueError, match="X has 900 rows, but Y has 899"):
        distributed.fit(learner, collection(X), Y[1:])
    with pytest.warns(ConvergenceWarning, match="3 of 5 labels did not converge in 2 passes"):
        distributed.fit(
            BinaryRelevance(LogisticRegression(max_iter=2)), collection(X), collection(Y)
        )
