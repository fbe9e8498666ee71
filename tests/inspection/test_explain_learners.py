"""What single learners say, against their own definitions."""

from importlib.util import find_spec

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from plurilabel import (
    CML,
    HOMER,
    MMAC,
    AdaBoostMH,
    BinaryRelevance,
    ClassifierChain,
    MLkNN,
    MLRandomForest,
    RankSVM,
    StackedRelevance,
)
from plurilabel.evaluation._checks import _data
from plurilabel.metrics import label_scores

X, Y = _data(LogisticRegression())


def test_a_chain_has_the_labels_before():
    order = [2, 0, 3, 1]
    chain = ClassifierChain(LogisticRegression(), order=order).fit(X, Y)
    for x, why, labels in zip(X[:4], chain.explain(X[:4]), chain.predict(X[:4])):
        frame = why.to_frame()
        for j, l in enumerate(order):
            coef = chain.estimators_[j].coef_[0]
            for at, before in enumerate(order[:j]):
                name = f"label: label{before}"
                part = frame.loc[name, f"label{l}"] if name in frame.index else 0.0
                assert_allclose(part, coef[4 + at] * labels[before])
            assert_allclose(frame.loc["x1", f"label{l}"], coef[1] * x[1])


@pytest.mark.parametrize("base", [LogisticRegression(), DecisionTreeClassifier(max_depth=2)])
def test_a_search_is_explained_along_its_set(base):
    chain = ClassifierChain(base, inference="exact").fit(X, Y)
    (why,), (labels,) = chain.explain(X[:1]), chain.predict(X[:1])
    for j, model in enumerate(chain.estimators_):
        p = model.predict_proba([[*X[0], *labels[:j]]])[0, 1]
        assert_allclose(expit(why.total[j]) if base.__class__ is LogisticRegression
                        else why.total[j], p)  # fmt: skip
    assert not why.exact.any() and "given those predicted before" in str(why)


@pytest.mark.parametrize("inner", [AdaBoostMH(3), MLkNN(3), MLRandomForest(3, random_state=0)])
def test_learners_inside_learners_claim_no_more_than_is_true(inner):
    for learner in (HOMER(inner, branching_factor=2), BinaryRelevance(inner)):
        learner.fit(X, Y)
        for why, score in zip(learner.explain(X[:3]), label_scores(learner, X[:3])):
            assert_allclose(why.scores, score)
            assert why.exact.all() == isinstance(inner, MLRandomForest)
            assert_allclose(why.total[why.exact], score[why.exact], atol=1e-12)


def test_a_stack_has_the_first_layer():
    stack = StackedRelevance(LogisticRegression(), cv=3).fit(X, Y)
    (why,) = stack.explain(X[:1])
    assert {f"first layer: label{l}" for l in range(4)} <= set(why.part_names)


def test_cml_gives_log_odds_given_the_other_labels():
    learner = CML().fit(X, Y)
    (why,), (labels,) = learner.explain(X[:1]), learner.predict(X[:1])
    for l in range(4):
        both = np.tile(labels, (2, 1))
        both[:, l] = 0, 1
        without, having = learner.log_likelihood(X[[0, 0]], both)
        assert_allclose(why.total[l], having - without)


def test_support_vectors_by_their_similarity():
    learner = RankSVM(kernel="rbf", gamma=0.5, threshold=None, tol=1e-4).fit(X, Y)
    (why,) = learner.explain(X[:1])
    i = int(learner.support_[0])
    similarity = np.exp(-0.5 * ((X[0] - X[i]) ** 2).sum())
    at = why.part_names.index(f"like training row {i}")
    assert_allclose(why.parts[at], similarity * learner.dual_coef_[0])


def test_rules_say_which_one_decides():
    symptoms = [[1, 0, 0], [1, 1, 0], [0, 0, 1], [0, 1, 1], [1, 1, 0], [0, 0, 1]]
    names = ["cough", "fever", "rash"]
    sets = [[1, 0, 0], [1, 1, 0], [0, 0, 1], [0, 0, 1], [1, 1, 0], [0, 0, 1]]
    (why,) = MMAC(min_support=2).fit(symptoms, sets).explain([[1, 1, 0]], feature_names=names)
    assert why.top("label0")[0][0] == "cough is present"


@pytest.mark.skipif(find_spec("torch") is None, reason="needs torch")
@pytest.mark.parametrize("loss", ["bpmll", "cross-entropy", "asymmetric"])
@pytest.mark.parametrize("activation", ["tanh", "relu"])
def test_integrated_gradients_nearly_add_up(loss, activation):
    from plurilabel import BPMLL

    learner = BPMLL(
        (8, 5), max_iter=10, learning_rate_init=0.05, loss=loss, activation=activation,
        random_state=0,
    ).fit(X, Y)  # fmt: skip
    for reference in (None, X[7]):
        for why in learner.explain(X[:5], reference=reference):
            assert_allclose(why.total, why.scores, atol=0.02 * np.abs(why.scores).max())
    # where the network is linear, the parts are the slopes
    (why,) = learner.explain(X[:1], reference=X[0])
    assert why.part_names == () and np.allclose(why.base, why.scores)


def test_generated_words_add_up_and_point_the_right_way():
    from plurilabel import PMM1

    counts = np.array([[3, 0, 1], [2, 0, 0], [0, 3, 1], [0, 2, 0], [2, 2, 0]])
    tags = np.array([[1, 0], [1, 0], [0, 1], [0, 1], [1, 1]])
    for search in ("greedy", "exact", "seen"):
        learner = PMM1(search=search).fit(counts, tags)
        for why in learner.explain(counts, feature_names=["sea", "snow", "the"]):
            assert_allclose(why.total, why.scores, rtol=1e-9, atol=1e-12)
        (why,) = learner.explain([[4, 0, 0]], feature_names=["sea", "snow", "the"])
        assert why.top(0)[0][0] == "sea" and why.top(0)[0][1] > 0
