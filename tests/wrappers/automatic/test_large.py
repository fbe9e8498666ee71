"""AutoClassifier with very many labels or rows."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

import plurilabel
from plurilabel import AutoClassifier, OneVsAllLinear, datasets, metrics
from plurilabel.wrappers.automatic import _auto, _large
from plurilabel.wrappers.automatic._ensemble import HeldOut
from plurilabel.wrappers.automatic._large import (
    affordable,
    has_many_labels,
    large_candidates,
    sampled,
    sparse_sets,
    top_scores,
)
from plurilabel.wrappers.automatic._portfolio import Candidate

DATA = datasets.make_sparse_multilabel(500, 200, 250, cardinality=3, random_state=0)
X, X_test, Y, Y_test = DATA.X[:400], DATA.X[400:], DATA.Y[:400], DATA.Y[400:]


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(_large, "MOST_DENSE", 5e4)


@pytest.fixture(scope="module")
def fitted():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_large, "MOST_DENSE", 5e4)
        return AutoClassifier("precision@3", random_state=0).fit(X, Y)


def test_the_mean_is_no_worse_than_each_learner(fitted):
    top = fitted.predict_top(X_test, k=3)
    assert isinstance(top, sparse.csr_array) and (np.diff(top.indptr) <= 3).all()
    value = metrics.precision_at_k(Y_test, top, 3)
    assert abs(value - fitted.estimate_) < 0.08
    alone = [one["value"] for one in fitted.report_["tried"]]
    assert len(alone) == 8 and fitted.estimate_ > max(alone) - 0.02
    assert value > 0.9 * metrics.precision_at_k(
        Y_test, OneVsAllLinear(C=0.3).fit(X, Y).predict_top(X_test, k=3), 3
    )


def test_scores_are_the_weighted_mean_of_the_best_labels(fitted):
    expected = np.zeros((100, 250))
    for member, weights, calibrator in zip(
        fitted.estimators_, fitted.weights_, fitted.calibrators_
    ):
        S = top_scores(member, X_test, 250, 50).toarray()
        forms = np.clip(S, 0, 1), calibrator.transform(S.reshape(-1, 1)).reshape(S.shape)
        for weight, form in zip(weights, forms):
            expected += np.where(S != 0, weight * form, 0.0)
    assert_allclose(fitted.predict_proba(X_test), expected, atol=1e-12)
    cut = fitted.cut_.cut_
    sets = fitted.predict(X_test)
    assert sparse.issparse(sets)
    expected_sets = expected > cut
    if fitted.nonempty_:
        expected_sets[np.arange(100), expected.argmax(axis=1)] = True
    assert_array_equal(sets.toarray(), expected_sets)


@pytest.mark.parametrize("name", ["micro_f1", "hamming_loss", "average_precision"])
def test_other_measures(name):
    members = [("linear", OneVsAllLinear(C=0.3)), ("other", OneVsAllLinear(loss="logistic"))]
    model = AutoClassifier(name, portfolio=members, random_state=0).fit(X, Y.toarray())
    answer = model.predict(X_test)
    assert isinstance(answer, np.ndarray) and model.top_ == 50
    if name == "average_precision":
        answer = model.predict_proba(X_test)
    assert abs(metrics.get_measure(name).function(Y_test, answer) - model.estimate_) < 0.1


def test_refit_files_and_errors(fitted, tmp_path):
    path = tmp_path / "model.skops"
    plurilabel.save(fitted, path)
    again = plurilabel.load(path).estimator
    assert (again.predict_top(X_test) != fitted.predict_top(X_test)).nnz == 0
    assert again.refit(DATA.X, DATA.Y).names_ == fitted.names_
    with pytest.raises(ValueError, match="threshold must be None or 'constant' with sparse"):
        AutoClassifier(threshold="rcut", portfolio="quick").fit(X, Y)
    with pytest.raises(ValueError, match="k must be an integer of at least 1, got 0"):
        fitted.predict_top(X_test, k=0)
    asked = [("linear", OneVsAllLinear())]
    model = AutoClassifier(portfolio=asked, threshold="constant", time_limit=1e-9).fit(X, Y)
    assert model.cut_.cut_ == 0.5 and model.report_["folds"] == 0


def test_many_rows_are_sampled_for_the_choice(monkeypatch):
    for module in (_auto, _large):
        monkeypatch.setattr(module, "MANY_ROWS", 200)
        monkeypatch.setattr(module, "TESTED", 30)
    monkeypatch.setattr(_large, "TRAINED", 90)
    data = datasets.make_multilabel(400, 6, 3, random_state=0)
    model = AutoClassifier(portfolio="quick", random_state=0).fit(data.X, data.Y)
    assert model.top_ is None and model.report_["sample"] == [90, 30]
    assert model.estimators_[0].n_features_in_ == 6 and model.report_["rows"] == 400
    neighbours = [one for one in model.estimators_ if hasattr(one[-1], "X_")]
    assert all(len(one[-1].X_) == 400 for one in neighbours)  # final fits have all rows


def test_helpers():
    assert has_many_labels(600, 250) and not has_many_labels(10**6, 100)
    rows = np.arange(50_000)
    ((train, test),) = sampled([(rows[:40_000], rows[40_000:])], 0)
    assert len(train) == 20_000 and len(test) == 5000 and test.min() >= 40_000
    some = affordable(large_candidates(X, Y, "full", 0), 0.5, None)
    assert len(some) == 8
    costly = [Candidate(str(i), None, cost) for i, cost in enumerate((300, 90, 20, 1000))]
    assert [one.name for one in affordable(costly, 1.0, None)] == ["2", "1"]  # together 110 s
    assert [one.name for one in affordable(costly[3:], 1.0, None)] == ["3"]  # one is tried
    assert len(affordable(costly, 1.0, 60.0)) == 4  # the clock decides
    assert _large._cut_for(sparse.csr_array((2, 3)), 4) == 0
    S = sparse.csr_array(np.array([[0.2, 0.9, 0], [0.3, 0.1, 0], [0, 0, 0]]))
    assert_array_equal(sparse_sets(S, 0.5, True).toarray(), [[0, 1, 0], [1, 0, 0], [0, 0, 0]])


def test_any_classifier_has_its_best_labels():
    dense = X.toarray()
    model = plurilabel.MLRandomForest(5, random_state=0).fit(dense, Y.toarray())
    found = top_scores(model, dense[:20], 250, 4)
    scores = model.predict_proba(dense[:20])
    kept = np.sort(scores, axis=1)[:, -4:]
    for i in range(20):
        assert_allclose(np.sort(found[[i]].data), kept[i][kept[i] > 0])
    assert isinstance(HeldOut(found, True)[:5].scores, sparse.csr_array)


def test_few_known_among_many_rows(monkeypatch):
    monkeypatch.setattr("plurilabel.wrappers.automatic._auto.MANY_ROWS", 50)
    X = np.random.default_rng(0).normal(size=(80, 3))
    Y = np.full((80, 2), np.nan)
    Y[:10] = X[:10, :2] > 0
    model = AutoClassifier(portfolio="quick", random_state=0).fit(X, Y)
    assert "10 rows are too few to compare learners" in model.summary()
