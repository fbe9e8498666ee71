"""Classifier chains: their twins, the searches, the real data."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.multioutput import ClassifierChain as ScikitChain
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC

from plurilabel import ClassifierChain, ThresholdClassifier, datasets
from plurilabel.learners.transformation import _chain
from plurilabel.thresholds import strategy_names
from tests.learners.transformation import twins
from tests.learners.transformation.data import BASE, made, positive, problems


@settings(max_examples=15, deadline=None)
@given(problems(), st.sampled_from(["predict", "predict_proba", "predict_log_proba"]))
def test_greedy_chain(problem, chain_method):
    X, Y, queries, order = problem
    learner = ClassifierChain(BASE, order=order, chain_method=chain_method).fit(X, Y)
    wanted = [twins.greedy_chain(BASE, X, Y, order, x, chain_method) for x in queries]
    assert_allclose(learner.predict_proba(queries), wanted, rtol=1e-7, atol=1e-12)


@settings(max_examples=15, deadline=None)
@given(problems())
def test_exact_search_finds_mode_and_marginals(problem):
    X, Y, queries, order = problem
    learner = ClassifierChain(BASE, order=order, inference="exact").fit(X, Y)
    for x, found, p in zip(queries, learner.predict(queries), learner.predict_proba(queries)):
        mode, marginals, joint = twins.joint_chain(BASE, X, Y, order, x)
        assert_allclose(p, marginals, rtol=1e-7, atol=1e-9)
        assert_allclose(joint[tuple(found.tolist())], joint[mode], rtol=1e-9)


def test_searches_agree_where_they_should():
    X, Y = made(80, 3, 5)
    chain = ClassifierChain(BASE).fit(X, Y)
    exact = ClassifierChain(BASE, inference="exact").fit(X, Y)
    wide = ClassifierChain(BASE, inference="beam", beam_width=32).fit(X, Y)
    narrow = ClassifierChain(BASE, inference="beam", beam_width=1).fit(X, Y)
    some = ClassifierChain(BASE, inference="beam", beam_width=4).fit(X, Y)
    assert_array_equal(wide.predict(X), exact.predict(X))
    assert_allclose(wide.predict_proba(X), exact.predict_proba(X))
    assert_array_equal(narrow.predict(X), chain.predict(X))
    differ = [(c.predict(X) != exact.predict(X)).any(axis=1).mean() for c in (some, narrow)]
    assert differ[0] <= differ[1] and differ[1] > 0  # else the data shows nothing

    p = exact.predict_proba(X)
    for n_samples, tolerance in ((20, 0.15), (500, 0.04)):
        drawn = ClassifierChain(
            BASE, inference="monte-carlo", n_samples=n_samples, decision="marginal", random_state=0
        ).fit(X, Y)
        assert np.abs(drawn.predict_proba(X) - p).mean() < tolerance
        assert_array_equal(drawn.predict(X), drawn.predict_proba(X) > 0.5)
    joint = ClassifierChain(BASE, inference="monte-carlo", n_samples=500, random_state=0)
    assert (joint.fit(X, Y).predict(X) == exact.predict(X)).all(axis=1).mean() > 0.95


@pytest.mark.parametrize("inference", ["exact", "beam", "monte-carlo"])
def test_marginals_are_probabilities_and_can_be_cut(inference):
    X = 3 * np.random.default_rng(0).normal(size=(200, 4))
    Y = np.column_stack([X[:, :2] > 0, X[:, 0] + X[:, 1] > 0, np.ones(200)]).astype(int)
    Y[0, 3] = 0  # nearly always there: the shares of the sets with it add up to more than one
    base = LogisticRegression(C=1e4, max_iter=1000)
    learner = ClassifierChain(base, inference=inference, random_state=0).fit(X, Y)
    p = learner.predict_proba(X)
    assert p.min() >= 0 and p.max() <= 1
    for strategy in strategy_names():
        wrapped = ThresholdClassifier(learner, strategy, cv="prefit").fit(X, Y)
        assert wrapped.predict(X).shape == Y.shape


@pytest.mark.parametrize("inference", ["exact", "monte-carlo"])
def test_blocks_of_rows_change_nothing(inference, monkeypatch):
    X, Y = made(40, 3, 4)
    learner = ClassifierChain(BASE, inference=inference, n_samples=9, random_state=0).fit(X, Y)
    whole = learner.predict_proba(X), learner.predict(X)
    monkeypatch.setattr(_chain, "AT_ONCE", 7 * 16 * 7)  # seven rows of four labels at a time
    assert_allclose(learner.predict_proba(X), whole[0])
    assert_array_equal(learner.predict(X), whole[1])


def test_cross_validated_chain_sees_predictions_of_other_folds():
    X, Y = made(60, 2, 3)
    folds = [(np.delete(np.arange(60), t), t) for t in np.array_split(np.arange(60), 4)]
    learner = ClassifierChain(BASE, cv=folds).fit(X, Y)
    seen = X
    for j, model in enumerate(learner.estimators_):
        assert_allclose(model.theta_, clone(BASE).fit(seen, Y[:, j]).theta_)
        column = np.empty(60)
        for train, test in folds:
            column[test] = clone(BASE).fit(seen[train], Y[train, j]).predict(seen[test])
        seen = np.column_stack([seen, column])


@pytest.mark.usefixtures("data_folder")
def test_sparse_chain_prediction_for_prediction():
    X, X_test, Y, _ = datasets.load("medical").holdout()
    counts = np.asarray(Y.sum(axis=0)).ravel()
    Y = Y[:, np.flatnonzero(counts >= 5)].toarray()  # scikit-learn's refuses constant labels
    order = np.random.default_rng(0).permutation(Y.shape[1])
    base = LinearSVC(random_state=0)
    ours = ClassifierChain(base, order=order).fit(X, Y)
    theirs = ScikitChain(base, order=order).fit(sparse.csr_matrix(X), Y)
    assert_array_equal(ours.predict(X_test), theirs.predict(sparse.csr_matrix(X_test)))
    crossed = ClassifierChain(base, order=order[:6].argsort(), cv=5)
    theirs = ScikitChain(base, order=order[:6].argsort(), cv=5).fit(X.toarray(), Y[:, :6])
    assert_array_equal(crossed.fit(X, Y[:, :6]).predict(X_test), theirs.predict(X_test.toarray()))


def test_progress(capsys):
    pd = pytest.importorskip("pandas")
    X, Y = positive()
    frame = pd.DataFrame(Y, columns=["sea", "sun", "sky", "sand"])
    ClassifierChain(GaussianNB(), order=[2, 0, 1, 3], verbose=1).fit(X, frame)
    lines = capsys.readouterr().out.splitlines()
    assert re.fullmatch(r"\[ClassifierChain\] \(1 of 4\) sky, total= +\d+\.\ds", lines[0])
    assert [line.split()[4] for line in lines] == ["sky,", "sea,", "sun,", "sand,"]


def test_too_many_labels_for_an_exact_search():
    X, _ = positive()
    Y = np.random.default_rng(0).integers(0, 2, size=(40, 16))
    with pytest.raises(ValueError, match="takes at most 15 labels, got 16; 'beam' and"):
        ClassifierChain(GaussianNB(), inference="exact").fit(X, Y)
