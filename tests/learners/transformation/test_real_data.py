"""On real data: equal to scikit-learn's own, and the known order of methods."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import ClassifierChain as ScikitChain
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from plurilabel import BinaryRelevance, ClassifierChain, EnsembleOfChains, RAkEL, datasets
from plurilabel.metrics import evaluate

BASES = [
    LogisticRegression(max_iter=2000),
    DecisionTreeClassifier(max_depth=3, max_features=0.1, random_state=0),
]


@pytest.mark.usefixtures("data_folder")
@pytest.mark.parametrize("base", BASES, ids=lambda base: type(base).__name__)
@pytest.mark.parametrize("name", ["scene", "yeast"])
def test_prediction_for_prediction(name, base):
    X, X_test, Y, Y_test = datasets.load(name).holdout()
    order = np.random.default_rng(0).permutation(Y.shape[1])
    for ours, theirs in (
        (BinaryRelevance(base), OneVsRestClassifier(base)),
        (ClassifierChain(base, order=order), ScikitChain(base, order=order)),
    ):
        ours.fit(X, Y)
        theirs.fit(X, Y)
        assert_array_equal(ours.predict(X_test), theirs.predict(X_test))
        assert_allclose(ours.predict_proba(X_test), theirs.predict_proba(X_test), rtol=1e-7)
        assert 0.02 < (ours.predict(X_test) == Y_test).all(axis=1).mean() < 1


@pytest.mark.usefixtures("data_folder")
@pytest.mark.parametrize("name", ["emotions", "scene", "yeast", "medical"])
def test_the_known_order_of_methods(name):
    X, X_test, Y, Y_test = datasets.load(name).holdout()
    if not sparse.issparse(X):
        scaler = StandardScaler().fit(X)
        X, X_test = scaler.transform(X), scaler.transform(X_test)
    # With logistic regression on medical the ensemble of samples of 67% ranks worse than one chain
    # (ranking loss 0.0317, 0.0295), and with the SVM its coverage is worse (2.42, 2.38): the order
    # is not universal, and this test holds what does hold.
    base = LinearSVC(random_state=0) if name == "medical" else LogisticRegression(tol=1e-3)

    def measures(learner):
        learner.fit(X, Y)
        ask = "predict_proba" if hasattr(learner, "predict_proba") else "decision_function"
        return evaluate(Y_test, getattr(learner, ask)(X_test), learner.predict(X_test))

    relevance, chain = measures(BinaryRelevance(base)), measures(ClassifierChain(base))
    labelsets = measures(RAkEL(base, random_state=0))
    assert chain["subset_accuracy"] > relevance["subset_accuracy"]
    assert labelsets["subset_accuracy"] > relevance["subset_accuracy"]
    ensemble = measures(EnsembleOfChains(base, random_state=0))
    assert ensemble["ranking_loss"] < chain["ranking_loss"]
    assert ensemble["one_error"] < chain["one_error"]
    assert ensemble["average_precision"] > chain["average_precision"]
