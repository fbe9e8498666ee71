"""HierarchicalNetwork: its loss against the paper's, written out, and consistent answers."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from plurilabel import HierarchicalClassifier, HierarchicalNetwork, MLkNN
from plurilabel.datasets import Hierarchy
from plurilabel.models import Model, load_model, save_model

torch = pytest.importorskip("torch", reason="HierarchicalNetwork needs torch")

DAG = Hierarchy(list("abcdef"), {"c": ["a", "b"], "d": "c", "e": ["b", "d"]})  # f is alone
SMALL = {"hidden_layer_sizes": (10,), "dropout": 0.2, "learning_rate_init": 0.02, "max_iter": 15}


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 6))
    return X, DAG.close((X + 0.3 * rng.normal(size=X.shape) > 0.8).astype(int))


@pytest.fixture(scope="module")
def fitted(problem):
    X, Y = problem
    return HierarchicalNetwork(DAG, **SMALL, random_state=0).fit(X, Y)


def twin(H, Y, hierarchy):
    """MCLoss of the paper (section 3.2), by loops over probabilities; the mean over instances."""
    below = hierarchy.closure.toarray().T  # row l: the labels below l, and l
    total = 0.0
    for h, y in zip(1 / (1 + np.exp(-H)), Y):
        for l in range(len(y)):
            those = [d for d in range(len(y)) if below[l, d]]
            if y[l]:
                total -= np.log(max(y[d] * h[d] for d in those))
            else:
                total -= np.log(1 - max(h[d] for d in those))
    return total / len(H)


def test_the_loss_and_its_gradient_are_those_of_the_paper(problem):
    _, Y = problem
    H = np.random.default_rng(1).normal(size=Y.shape)
    network = HierarchicalNetwork(DAG)
    network._levels = [[torch.from_numpy(e.copy()) for e in level.T] for level in DAG.levels[::-1]]
    outputs = torch.tensor(H, requires_grad=True)
    error = network._loss(outputs, torch.tensor(Y))
    assert float(error.detach()) == pytest.approx(twin(H, Y, DAG))
    error.backward()
    for i, l in [(0, 0), (3, 4), (5, 2), (7, 5), (9, 3)]:
        step = np.zeros_like(H)
        step[i, l] = 1e-6
        slope = (twin(H + step, Y, DAG) - twin(H - step, Y, DAG)) / 2e-6
        assert float(outputs.grad[i, l]) == pytest.approx(slope, abs=1e-7)


def test_answers_are_consistent(problem, fitted):
    X, Y = problem
    P, labels = fitted.predict_proba(X), fitted.predict(X)
    for child, parent in DAG.edges:
        assert (P[:, child] <= P[:, parent]).all()
    assert DAG.is_closed(labels) and (labels == Y).mean() > 0.85
    # the highest output among a label and those below it
    outputs = super(HierarchicalNetwork, fitted)._outputs(X)
    below = DAG.closure.toarray().T.astype(bool)
    expected = np.stack([outputs[:, those].max(axis=1) for those in below], axis=1)
    assert_allclose(fitted.ranking_function(X), expected)
    assert_array_equal(fitted.edges_, DAG.edges)


def test_label_sets_are_completed(problem, fitted):
    X, Y = problem
    # what is left of a set if the labels above others are removed
    bare = np.where((Y @ (DAG.closure.toarray() - np.eye(6, dtype=int))) > 0, 0, Y)
    assert (bare != Y).any()
    for form in (bare, sparse.csr_array(bare)):
        again = HierarchicalNetwork(DAG, **SMALL, random_state=0).fit(X, form)
        assert_array_equal(again.predict_proba(X), fitted.predict_proba(X))
    more = HierarchicalNetwork(DAG, **SMALL, random_state=0).partial_fit(X, bare)
    assert_array_equal(more.label_counts_, Y.sum(axis=0))
    assert DAG.is_closed(more.partial_fit(X, bare).predict(X))


def test_hierarchies_of_names_and_of_nothing(problem):
    X, Y = problem
    frame = pd.DataFrame(Y, columns=["a", "a/b", "a/b/c", "d", "d/e", "f"])
    named = HierarchicalNetwork(**SMALL, random_state=0).fit(X, frame)
    assert named.hierarchy_.ancestors("a/b/c") == ["a/b", "a"]
    plain = HierarchicalNetwork(**SMALL, random_state=0).fit(X, Y)
    assert len(plain.edges_) == 0
    assert_array_equal(plain.hierarchy_.close(Y), Y)
    with pytest.raises(ValueError, match="y must have the 6 labels of the hierarchy, got 3"):
        HierarchicalNetwork(DAG, **SMALL).fit(X, Y[:, :3])
    with pytest.raises(ValueError, match="y must be a label matrix"):
        HierarchicalNetwork(DAG, **SMALL).fit(X, Y[:, 0])


def test_dropout_is_for_training_only(problem, fitted):
    X, Y = problem
    again = HierarchicalNetwork(DAG, **SMALL, random_state=0)
    state = torch.random.get_rng_state()
    assert_array_equal(again.fit(X, Y).predict_proba(X), fitted.predict_proba(X))
    assert torch.equal(torch.random.get_rng_state(), state)  # nobody else's numbers are drawn
    other = HierarchicalNetwork(DAG, **{**SMALL, "dropout": 0.0}, random_state=0).fit(X, Y)
    assert (other.predict_proba(X) != fitted.predict_proba(X)).any()
    network = fitted._make_network(torch)
    x = torch.zeros(4, 6) + 1
    with torch.no_grad():
        assert torch.equal(network(x), network(x))
    assert not torch.equal(network(x), network(x))
    stopped = HierarchicalNetwork(DAG, **SMALL, early_stopping=True, random_state=0).fit(X, Y)
    assert len(stopped.validation_curve_) == stopped.n_iter_


def test_model_files_and_explanations(tmp_path, problem, fitted):
    X, _ = problem
    save_model(Model(fitted, list("abcdef"), list("uvwxyz")), tmp_path / "model.skops")
    again = load_model(tmp_path / "model.skops").estimator
    assert_array_equal(again.predict_proba(X), fitted.predict_proba(X))
    (why,) = fitted.explain(X[:1])
    assert len(why.label_names) == 6
    wrapped = HierarchicalClassifier(MLkNN(5), DAG).fit(*problem)
    save_model(Model(wrapped, list("abcdef"), list("uvwxyz")), tmp_path / "model.skops")
    assert_array_equal(load_model(tmp_path / "model.skops").estimator.edges_, DAG.edges)
