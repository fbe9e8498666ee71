"""What scikit-learn promises of its ClassifierChain, asked of ours.

The behaviours are those that ``sklearn/tests/test_multioutput.py`` tests of chains; data and
sentences are our own. Where ours differs on purpose, a test at the end says how and why:

- Labels are 0 and 1. A chain over outputs of several classes is scikit-learn's.
- ``classes_`` are the labels, 0 to q - 1, as for every learner of this library; scikit-learn's is
  a list with the classes of each output, which would be [0, 1] for each label.
- A chain has ``predict_proba`` or ``decision_function``, never both: its scores are of one kind.
- Weights are passed on without metadata routing, which scikit-learn's chain needs for them.
- Lines of progress name the labels; scikit-learn's give their column numbers.
"""

import re

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import ClassifierMixin, clone
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.metrics import jaccard_score
from sklearn.multioutput import ClassifierChain as ScikitChain
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from plurilabel import BinaryRelevance, ClassifierChain

METHODS = ["predict", "predict_proba", "predict_log_proba", "decision_function"]


def bits():
    """Sixteen classes, written as four dependent labels."""
    X, y = make_classification(
        n_samples=800, n_features=40, n_informative=10, n_classes=16, random_state=0
    )
    return X, (y[:, None] >> np.arange(3, -1, -1)) & 1


def similarity(Y_true, Y_pred):
    return jaccard_score(Y_true, Y_pred, average="samples", zero_division=1.0)


X, Y = bits()
BASE = LogisticRegression(max_iter=1000)


@pytest.mark.parametrize("chain_method", METHODS)
def test_each_model_sees_one_more_column_and_predictions_are_its_scores_cut(chain_method):
    chain = ClassifierChain(BASE, chain_method=chain_method).fit(X, Y)
    predicted = chain.predict(X)
    assert predicted.shape == Y.shape
    assert [model.coef_.size for model in chain.estimators_] == [40, 41, 42, 43]
    assert chain.chain_method_ == chain_method
    assert_array_equal(chain.predict_proba(X) >= 0.5, predicted)
    assert_array_equal(np.exp(chain.predict_log_proba(X)) >= 0.5, predicted)
    assert isinstance(chain, ClassifierMixin)


@pytest.mark.parametrize("chain_method", METHODS)
@pytest.mark.parametrize("cv", [None, 3])
def test_the_same_probabilities(chain_method, cv):
    ours, theirs = (
        kind(BASE, order=[2, 0, 3, 1], chain_method=chain_method, cv=cv).fit(X, Y)
        for kind in (ClassifierChain, ScikitChain)
    )
    assert_array_equal(ours.predict(X), theirs.predict(X))
    assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), rtol=1e-6)
    assert_allclose(ours.predict_log_proba(X), theirs.predict_log_proba(X), rtol=1e-6)


@pytest.mark.parametrize("chain_method", ["predict", "decision_function"])
@pytest.mark.parametrize("cv", [None, 3])
def test_the_same_decision_values(chain_method, cv):
    base = LinearSVC(random_state=0)
    ours, theirs = (
        kind(base, chain_method=chain_method, cv=cv).fit(X, Y)
        for kind in (ClassifierChain, ScikitChain)
    )
    assert_array_equal(ours.decision_function(X) >= 0, ours.predict(X))
    assert_array_equal(ours.predict(X), theirs.predict(X))
    assert_allclose(ours.decision_function(X), theirs.decision_function(X), rtol=1e-6)
    assert not hasattr(ours, "predict_proba") and not hasattr(ours, "predict_log_proba")


def test_of_several_methods_the_first_that_there_is():
    wanted = ["decision_function", "predict_proba"]
    assert ClassifierChain(BASE, chain_method=wanted).fit(X, Y).chain_method_ == wanted[0]
    forest = RandomForestClassifier(n_estimators=2, random_state=0)
    assert ClassifierChain(forest, chain_method=wanted).fit(X, Y).chain_method_ == wanted[1]


@pytest.mark.parametrize("form", [sparse.csr_matrix, sparse.csr_array])
@pytest.mark.parametrize("cv", [None, 3])
def test_sparse_rows(form, cv):
    chain = ClassifierChain(BASE, cv=cv)
    dense = chain.fit(X, Y).predict(X)
    assert_array_equal(chain.fit(form(X), Y).predict(form(X)), dense)


def test_better_than_labels_apart():
    train, test = slice(0, 500), slice(500, None)
    chain, apart = (
        similarity(Y[test], learner.fit(X[train], Y[train]).predict(X[test]))
        for learner in (ClassifierChain(BASE), BinaryRelevance(BASE))
    )
    assert chain > apart


@pytest.mark.parametrize("chain_method", METHODS)
def test_predicted_labels_in_training(chain_method):
    chain = ClassifierChain(BASE, chain_method=chain_method).fit(X, Y)
    crossed = clone(chain).set_params(cv=3).fit(X, Y)
    assert crossed.predict(X).shape == Y.shape
    assert (crossed.predict(X) != chain.predict(X)).any()
    assert similarity(Y, crossed.predict(X)) > 0.4


def test_a_random_order_is_an_order():
    drawn = ClassifierChain(BASE, order="random", random_state=42).fit(X, Y)
    assert sorted(drawn.order_) == [0, 1, 2, 3] and list(drawn.order_) != [0, 1, 2, 3]
    given = ClassifierChain(BASE, order=drawn.order_).fit(X, Y)
    assert_array_equal(given.order_, drawn.order_)
    for one, other in zip(drawn.estimators_, given.estimators_):
        assert_array_equal(one.coef_, other.coef_)
    theirs = ScikitChain(BASE, order="random", random_state=42).fit(X, Y)
    assert_array_equal(drawn.order_, theirs.order_)


@pytest.mark.parametrize("kind", [list, np.array, tuple])
def test_orders_of_any_kind(kind):
    tree = DecisionTreeClassifier(random_state=0)
    rows, labels = [[1, 2, 3], [4, 5, 6], [1.5, 2.5, 3.5]], [[1, 0], [0, 1], [1, 0]]
    chain = ClassifierChain(tree, order=kind([1, 0])).fit(rows, labels)
    assert_array_equal(chain.predict([[1.5, 2.5, 3.5]]), [[1, 0]])


@pytest.mark.parametrize("order", [(1, 2, 3, 4), (0, 1), (0, 0, 1, 2)])
def test_orders_that_are_none(order):
    with pytest.raises(ValueError, match="invalid order"):
        ClassifierChain(BASE, order=order).fit(X, Y)


def test_metadata_needs_routing():
    with pytest.raises(ValueError, match="is only supported if"):
        ClassifierChain(SGDClassifier()).fit(X, Y, test=1)


# where ours differs ------------------------------------------------------------------------


def test_labels_are_zero_and_one():
    with pytest.raises(ValueError, match="y must hold only 0 and 1, got 3 in row 0, column 0"):
        ClassifierChain(BASE).fit([[1.0], [2.0]], [[3, 2], [2, 3]])


def test_classes_are_the_labels():
    chain = ClassifierChain(BASE).fit(X, Y)
    assert_array_equal(chain.classes_, [0, 1, 2, 3])
    assert all(list(model.classes_) == [0, 1] for model in chain.estimators_)


def test_scores_of_one_kind():
    chain = ClassifierChain(BASE).fit(X, Y)  # which has both methods
    assert hasattr(chain, "predict_proba") and not hasattr(chain, "decision_function")


def test_weights_need_no_routing():
    weights = np.where(Y[:, 0] == 1, 5.0, 1.0)
    heavy = ClassifierChain(BASE).fit(X, Y, sample_weight=weights)
    assert heavy.predict(X)[:, 0].sum() > ClassifierChain(BASE).fit(X, Y).predict(X)[:, 0].sum()


def test_progress_names_the_labels(capsys):
    ClassifierChain(BASE, order=[3, 1, 0, 2], verbose=True).fit(X, Y)
    lines = capsys.readouterr().out.splitlines()
    for number, label, line in zip(range(1, 5), (3, 1, 0, 2), lines, strict=True):
        wanted = rf"\[ClassifierChain\] \({number} of 4\) label{label}, total= +\d+\.\ds"
        assert re.fullmatch(wanted, line)
