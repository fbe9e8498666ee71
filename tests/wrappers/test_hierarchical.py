"""Any classifier, made consistent."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from plurilabel import (
    AutoClassifier,
    BinaryRelevance,
    HierarchicalClassifier,
    MLkNN,
    MLRandomForest,
    ThresholdClassifier,
)
from plurilabel.metrics import label_scores
from plurilabel.models import Model, load_model, save_model

rng = np.random.default_rng(0)
X = rng.normal(size=(120, 4))
NAMES = ["a", "a/b", "a/b/c", "d"]
Y = pd.DataFrame((X + 0.5 * rng.normal(size=X.shape) > 0.3).astype(int), columns=NAMES)

LEARNERS = [
    BinaryRelevance(LogisticRegression()),
    BinaryRelevance(RidgeClassifier()),
    MLkNN(5),
    MLRandomForest(5, random_state=0),
    make_pipeline(StandardScaler(), BinaryRelevance(LogisticRegression())),
    ThresholdClassifier(BinaryRelevance(LogisticRegression()), "scut", cv=3),
]


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda one: str(one)[:40])
@pytest.mark.parametrize("method", ["isotonic", "max", "min"])
def test_answers_are_consistent(learner, method):
    wrapped = HierarchicalClassifier(learner, method=method).fit(X, Y)
    scores, sets = label_scores(wrapped, X), wrapped.predict(X)
    for child, parent in ((1, 0), (2, 1)):
        assert (scores[:, child] <= scores[:, parent]).all()
        assert (sets[:, child] <= sets[:, parent]).all()
    plain = clone(learner).fit(X, pd.DataFrame(wrapped.hierarchy_.close(Y), columns=NAMES))
    if not hasattr(learner, "strategy"):
        assert_array_equal(scores[:, 3], label_scores(plain, X)[:, 3])  # it has no relatives
    assert list(wrapped.label_names_) == NAMES
    assert len(wrapped.explain(X[:2])) == 2


def test_training_sets_are_completed():
    wrapped = HierarchicalClassifier(MLkNN(5)).fit(X, Y)
    wrong = (Y["a/b"] > Y["a"]) | (Y["a/b/c"] > Y["a/b"])
    assert wrapped.n_completed_ == wrong.sum() > 0
    closed = wrapped.hierarchy_.close(Y)
    assert_array_equal(wrapped.estimator_.Y_, closed)
    again = HierarchicalClassifier(MLkNN(5)).fit(X, pd.DataFrame(closed, columns=NAMES))
    assert again.n_completed_ == 0


def test_tables_and_sparse_labels():
    table = {"label1": "label0", "label2": ["label1"]}
    names = HierarchicalClassifier(BinaryRelevance(LogisticRegression()), table)
    dense = names.fit(X, Y.to_numpy())
    csr = clone(names).fit(X, sparse.csr_array(Y.to_numpy()))
    assert_array_equal(csr.predict(X).toarray(), dense.predict(X))
    weights = np.arange(1.0, 121.0)
    assert (clone(names).fit(X, Y.to_numpy(), sample_weight=weights).predict_proba(X)
            != dense.predict_proba(X)).any()  # fmt: skip
    with pytest.raises(ValueError, match="sample_weight was passed"):
        HierarchicalClassifier(MLkNN(5)).fit(X, Y, sample_weight=weights)


def test_bad_requests():
    with pytest.raises(ValueError, match="cycle, got a -> d -> a"):
        HierarchicalClassifier(MLkNN(5), {"a": "d", "d": "a"}).fit(X, Y)
    with pytest.raises(ValueError, match="no label has a parent"):
        HierarchicalClassifier(MLkNN(5)).fit(X, Y.to_numpy())
    with pytest.raises(ValueError, match="y must be a label matrix"):
        HierarchicalClassifier(MLkNN(5)).fit(X, Y["a"])
    assert not hasattr(HierarchicalClassifier(BinaryRelevance(RidgeClassifier())), "predict_proba")


def test_a_model_file(tmp_path):
    wrapped = HierarchicalClassifier(BinaryRelevance(LogisticRegression())).fit(X, Y)
    file = tmp_path / "model.skops"
    save_model(Model(wrapped, NAMES, list("wxyz")), file)
    assert_array_equal(load_model(file).estimator.predict_proba(X), wrapped.predict_proba(X))


def test_a_cut_inside_a_pipeline_decides():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    Y = (X + rng.normal(size=X.shape) > 0).astype(int)
    cut = ThresholdClassifier(BinaryRelevance(LogisticRegression()), "rcut", cv=2)
    learner = HierarchicalClassifier(
        make_pipeline(StandardScaler(), cut), {"label1": "label0"}
    ).fit(X, Y)
    sets = learner.estimator_.predict(X)
    np.testing.assert_array_equal(learner.predict(X), learner.hierarchy_.close(sets))


def test_the_automatic_choice_keeps_its_cut_and_gets_groups():
    groups = np.repeat(np.arange(30), 4)
    auto = AutoClassifier("macro_f1", portfolio=[MLkNN(5)], cv=3, random_state=0)
    learner = HierarchicalClassifier(auto).fit(X, Y, groups=groups)
    own = auto.fit(X, learner.hierarchy_.close(Y.to_numpy()), groups=groups)
    assert_array_equal(learner.predict(X), learner.hierarchy_.close(own.predict(X)))
    assert_array_equal(learner.estimator_.predict_proba(X), own.predict_proba(X))
    at_half = learner.predict_proba(X) > 0.5
    assert (learner.predict(X) != at_half).any()
    with pytest.raises(ValueError, match="groups was passed, but fit of MLkNN does not accept"):
        HierarchicalClassifier(MLkNN(5)).fit(X, Y, groups=groups)


def test_sparse_frames_and_tags_and_the_names_in_explanations():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(40, 3)), sparse.csr_array((rng.random((40, 3)) < 0.4).astype(int))
    names = ["a", "a/b", "c"]
    frame = pd.DataFrame.sparse.from_spmatrix(Y, columns=names)
    learner = HierarchicalClassifier(BinaryRelevance(LogisticRegression()))
    wanted = learner.fit(X, pd.DataFrame(Y.toarray(), columns=names)).predict_proba(X)
    np.testing.assert_allclose(learner.fit(X, frame).predict_proba(X), wanted)
    tags = [[names[j] for j in np.flatnonzero(row)] for row in Y.toarray()]
    for inner in (BinaryRelevance(LogisticRegression()), MLkNN(3)):
        (why,) = HierarchicalClassifier(inner).fit(X, tags).explain(X[:1])
        assert list(why.label_names) == names
