"""Many labels with hardly a positive: no strategy or calibrator predicts them everywhere."""

from functools import cache

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import BaseEstimator

from plurilabel import (
    AutoClassifier,
    CalibratedClassifier,
    MLkNN,
    OneVsAllLinear,
    SCut,
    ThresholdClassifier,
)
from plurilabel.metrics import macro_f1, micro_f1
from plurilabel.model_selection import IterativeStratifiedKFold
from plurilabel.thresholds import strategy_names

LEARNERS = {"OneVsAllLinear": OneVsAllLinear(C=3), "MLkNN": MLkNN(5)}


@cache
def news(n=1200, q=60, d=500):
    """Topics by a law of Zipf and words by topic, weighted by rarity, in rows of norm 1."""
    rng = np.random.default_rng(0)
    share = np.clip(1.4 / np.arange(1, q + 1) ** 1.4, 2.5 / n, 0.4)
    Y = rng.random((n, q)) < share
    Y[np.arange(n), rng.choice(q, size=n, p=share / share.sum())] |= ~Y.any(axis=1)
    common, special = rng.dirichlet(np.full(d, 0.1)), rng.dirichlet(np.full(d, 0.01), size=q)
    mixed = 0.8 * common + 0.2 * (Y / Y.sum(axis=1, keepdims=True)) @ special
    X = np.vstack([rng.multinomial(60, row) for row in mixed])
    X = np.log1p(X) * np.log(n / (1 + (X > 0).sum(axis=0)))
    X = sparse.csr_array(X / np.linalg.norm(X, axis=1, keepdims=True))
    Y = Y.astype(int)
    return X[: n // 2], X[n // 2 :], Y[: n // 2], Y[n // 2 :]


@cache
def figures(name, strategy):
    """Micro and macro F1, and how many labels are predicted for each true one."""
    X, X_test, Y, Y_test = news()
    labels = ThresholdClassifier(LEARNERS[name], strategy, cv=3).fit(X, Y).predict(X_test)
    return micro_f1(Y_test, labels), macro_f1(Y_test, labels), labels.sum() / Y_test.sum()


def test_the_labels_are_rare():
    positives = news()[2].sum(axis=0)
    assert np.median(positives) < 10 and (positives == 1).any() and (positives == 0).any()


@pytest.mark.parametrize("strategy", strategy_names())
@pytest.mark.parametrize("name", LEARNERS)
def test_no_strategy_collapses(name, strategy):
    if strategy == "expected_f" and name == "OneVsAllLinear":
        pytest.skip("needs probabilities")
    micro, _, size = figures(name, strategy)
    assert micro > 0.88 * figures(name, "constant")[0] and size < 1.2


@pytest.mark.parametrize("name", LEARNERS)
def test_a_cut_for_each_label_is_safe_and_gains(name):
    micro, macro, _ = figures(name, "scut")
    plain, one = figures(name, "constant"), figures(name, "global")
    assert micro > max(plain[0], one[0]) - 0.02
    assert macro > one[1] - 0.005 and macro > plain[1] + 0.1
    assert figures(name, SCut(shrink=0))[0] < micro - 0.2  # as in the paper


@pytest.mark.parametrize("method", ["sigmoid", "beta", "isotonic", "temperature", "auto"])
def test_no_calibrator_collapses(method):
    X, X_test, Y, Y_test = news()
    labels = CalibratedClassifier(OneVsAllLinear(C=3), method, cv=3).fit(X, Y).predict(X_test)
    plain = figures("OneVsAllLinear", "constant")
    assert micro_f1(Y_test, labels) > plain[0] - 0.01
    assert macro_f1(Y_test, labels) > plain[1] - 0.01


def test_an_automatic_choice_for_macro_f1_does_not_collapse():
    X, X_test, Y, Y_test = news()
    learner = AutoClassifier("macro_f1", portfolio=(OneVsAllLinear(C=3),), cv=3, random_state=0)
    labels = learner.fit(X, Y).predict(X_test)
    plain = figures("OneVsAllLinear", "constant")
    assert micro_f1(Y_test, labels) > plain[0] - 0.06
    assert macro_f1(Y_test, labels) > plain[1] + 0.1


class Recorder(BaseEstimator):
    """A strategy that keeps what it learns from."""

    _learns_from_known = True

    def fit(self, scores, Y):
        self.scores_, self.Y_ = scores, Y
        return self

    def predict(self, scores):
        return (scores > 0).astype(int)


@pytest.mark.parametrize("rare", [1, 0], ids=["one has it", "one lacks it"])
def test_scores_of_models_that_have_not_seen_a_label_do_not_count(rare):
    X, _, Y, _ = news()
    X, Y = X[:90], Y[:90, :4].copy()
    Y[:, 1] = 1 - rare
    Y[40, 1] = rare
    Y[:, 2] = 0  # no model has seen it
    found = ThresholdClassifier(OneVsAllLinear(C=3), Recorder(), cv=3).fit(X, Y).strategy_
    scores = found.scores_[:, 1]
    splits = list(IterativeStratifiedKFold(3).split(X, Y))
    held_out = [40 in test for _, test in splits]
    hidden = np.repeat(held_out, [len(test) for _, test in splits])
    assert abs(scores).max() < 30
    assert_array_equal(scores[hidden], np.median(scores[~hidden]))
    assert np.unique(scores[~hidden]).size > 30
    assert_allclose(found.scores_[:, 2], -30)
