import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.datasets import make_multilabel_classification
from sklearn.preprocessing import MaxAbsScaler

from plurilabel import metrics
from plurilabel.compare import _suggest
from plurilabel.compare._suggest import suggest_learner
from plurilabel.io import table_encoder
from plurilabel.model_selection import IterativeStratifiedKFold

X, Y = make_multilabel_classification(90, 6, n_classes=4, random_state=1)
DENSE = ["ML-kNN", "logistic regression (C=0.1)", "random forest"]
SPARSE = ["ML-kNN", "logistic regression (C=1)", "logistic regression (C=10)"]


@pytest.fixture
def few_trees(monkeypatch):
    forest = _suggest.MLRandomForest
    monkeypatch.setattr(_suggest, "MLRandomForest", lambda **p: forest(n_estimators=5, **p))


@pytest.mark.parametrize("is_sparse", [False, True])
def test_the_best_of_a_cross_validation(few_trees, is_sparse):
    A, B = (sparse.csr_array(X), sparse.csr_array(Y)) if is_sparse else (X, Y)
    found = suggest_learner(A, B, random_state=3)
    assert list(found.compared) == (SPARSE if is_sparse else DENSE)
    assert found.compared[found.name] >= max(found.compared.values()) - 0.005
    assert f"best of 3 by average precision, in 3 folds of {len(X)} rows" in found.reason
    folds = IterativeStratifiedKFold(3, shuffle=True, random_state=3)
    values = []
    for train, test in folds.split(A, B):
        learner = clone(found.estimator).fit(A[train], B[train])
        values.append(metrics.average_precision(B[test], learner.predict_proba(A[test])))
    assert found.compared[found.name] == pytest.approx(np.mean(values), abs=1e-12)
    again = suggest_learner(A, B, random_state=3)
    assert again.compared == found.compared
    assert repr(again.estimator) == repr(found.estimator)


@pytest.mark.parametrize(
    ("values", "chosen", "reason"),
    [
        ((0.7, 0.8, 0.75), 1, "the best of 3"),
        ((0.7, 0.7, 0.7), 0, "the best of 3"),
        ((0.796, 0.7, 0.8), 0, "the quickest within 0.005 of the best of 3"),
        ((0.79, 0.798, 0.8), 1, "the quickest within 0.005 of the best of 3"),
        ((np.nan, np.nan, np.nan), 0, "the best of 3"),
        ((np.nan, 0.5, 0.5), 1, "the best of 3"),
    ],
)
def test_the_quickest_of_those_as_good(few_trees, monkeypatch, values, chosen, reason):
    made = iter(np.tile(values, 3))  # fold by fold
    monkeypatch.setattr(_suggest, "_quality", lambda *_: next(made))
    found = suggest_learner(X, Y)
    assert found.name == DENSE[chosen] and found.reason.startswith(reason)


def test_scales_do_not_matter(few_trees):
    found = suggest_learner(X, Y).compared
    other = suggest_learner(X * np.array([1e4, 1, 1, 1e-3, 1, 1]), Y).compared
    assert other == pytest.approx(found, abs=1e-3)


def test_what_would_take_long_is_not_tried(few_trees, monkeypatch):
    monkeypatch.setattr(_suggest, "MOST_FOR_FOREST", Y.size - 1)
    assert list(suggest_learner(X, Y).compared) == DENSE[:2]
    monkeypatch.setattr(_suggest, "MOST_FOR_LOGISTIC", X.size * 4 - 1)
    found = suggest_learner(X, Y)
    assert (found.name, found.compared) == ("ML-kNN", {})
    assert found.reason == "since others would take long with 90 rows and 4 labels"
    monkeypatch.setattr(_suggest, "MOST_FOR_NEIGHBOURS", len(X) - 1)
    found = suggest_learner(X, Y)
    assert (found.name, found.compared) == ("logistic regression (C=0.1)", {})
    assert "too many" in found.reason


def test_few_rows_with_very_many_labels(few_trees, monkeypatch):
    monkeypatch.setattr(_suggest, "MOST_FOR_LOGISTIC", 0)
    monkeypatch.setattr(_suggest, "MOST_FOR_FOREST", 0)
    for few in (X[:20], sparse.csr_array(X[:20])):
        assert "too few to compare" in suggest_learner(few, Y[:20]).reason


def test_a_sample_of_many_rows(few_trees, monkeypatch):
    monkeypatch.setattr(_suggest, "MOST_COMPARED", 60)
    assert suggest_learner(X, Y).reason.endswith("3 folds of 60 rows")


def test_few_rows(few_trees):
    for n in (1, 2, 29):
        found = suggest_learner(X[:n], Y[:n])
        assert (found.name, found.compared) == ("random forest", {})
        rows = "1 row is" if n == 1 else f"{n} rows are"
        assert found.reason == f"since {rows} too few to compare learners"
        assert found.estimator.fit(X[:n], Y[:n]).predict(X).shape == Y.shape
        found = suggest_learner(sparse.csr_array(X[:n]), Y[:n])
        assert found.name == "logistic regression (C=1)"
        assert found.estimator.fit(X[:n], Y[:n]).predict(X).shape == Y.shape


@pytest.mark.parametrize("is_sparse", [False, True])
def test_missing_values(few_trees, is_sparse):
    A = X.copy()
    A[::7, 2] = np.nan
    A[:, 4] = np.nan
    A = sparse.csr_array(A) if is_sparse else A
    found = suggest_learner(A, Y)
    assert found.compared[found.name] > 0.5
    assert found.estimator.fit(A, Y).predict(A).shape == Y.shape


def test_numbers_beside_words(few_trees):
    """A number of any size beside words counts as much as they do."""
    rng = np.random.default_rng(0)
    words = rng.random((90, 6)) * Y[:, [0, 1, 2, 3, 0, 1]]
    numbers = rng.normal(size=(90, 1)) * 1e6
    A = sparse.csr_array(np.hstack([numbers, words]))
    plain = suggest_learner(A, Y).compared["ML-kNN"]
    encoder = ColumnTransformer(
        [("numbers", MaxAbsScaler(), [0])], remainder="passthrough", sparse_threshold=1.0
    )
    scaled = suggest_learner(A, Y, encoder=encoder)
    assert scaled.compared["ML-kNN"] > plain + 0.05
    assert sparse.issparse(scaled.estimator[:-1].fit_transform(A))


def test_a_table_is_encoded_in_each_fold(few_trees):
    """Twin: the folds by hand, each with categories and words of its training rows only."""
    words = np.array(["red", "green", "blue", "grey"])
    frame = pd.DataFrame(
        {
            "text": [" ".join([*words[row == 1], f"word{i}"]) for i, row in enumerate(Y)],
            "kind": [f"k{i % 7}" for i in range(90)],
        }
    )
    encoder = table_encoder(frame, text="text")
    found = suggest_learner(frame, Y, encoder=encoder, random_state=3)
    assert list(found.compared) == SPARSE and found.estimator.steps[0][1] is encoder
    values = []
    for train, test in IterativeStratifiedKFold(3, shuffle=True, random_state=3).split(X, Y):
        first = clone(encoder).fit(frame.iloc[train])
        A, B = (first.transform(frame.iloc[rows]) for rows in (train, test))
        assert A.shape[1] < clone(encoder).fit_transform(frame).shape[1]
        learner = clone(found.estimator[-1]).fit(A, Y[train])
        values.append(metrics.average_precision(Y[test], learner.predict_proba(B)))
    assert found.compared[found.name] == pytest.approx(np.mean(values), abs=1e-12)


def test_labels_that_never_or_always_occur(few_trees):
    for B in (np.zeros_like(Y), np.ones_like(Y)):
        found = suggest_learner(X, B)  # nothing to rank: every learner is as good
        np.testing.assert_array_equal(found.estimator.fit(X, B).predict(X), B)
