"""MMAC against loops, on real data, and with bad input."""

import time

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from plurilabel import MMAC, datasets, metrics
from plurilabel.learners import any_label, top_label
from tests.learners.rules import twins


@settings(max_examples=30)
@given(
    twins.problems(),
    st.sampled_from([1, 2, 5]),
    st.sampled_from([0.0, 0.4, 0.8, 1.0]),
    st.sampled_from(["first", "all"]),
    st.sampled_from([2, 4]),
)
def test_rules_and_answers_by_loops(problem, min_count, confidence, voting, max_bins):
    X, Y, X_new = problem
    options = {"min_confidence": confidence, "max_length": 2, "max_bins": max_bins}
    items, rules, default = twins.learn(X, Y, min_count=min_count, **options)
    learner = MMAC(min_support=min_count, voting=voting, **options).fit(X, Y)
    assert [rule.items for rule in learner.rules_] == [c for c, _ in rules]
    for rule, (_, figures) in zip(learner.rules_, rules):
        assert set(rule.labels) == figures.keys()
        assert list(rule.supports) == sorted(rule.supports, reverse=True)
        for l, support, sure in zip(rule.labels, rule.supports, rule.confidences):
            assert (support, sure) == (figures[l][0], pytest.approx(figures[l][1]))
    assert_array_equal(learner.default_, default)
    answers = [twins.predict(x, Y, items, rules, default, voting) for x in X_new]
    assert_array_equal(learner.predict(X_new), [labels for labels, _ in answers])
    assert_allclose(learner.label_weights(X_new), [weights for _, weights in answers])


@settings(max_examples=10)
@given(twins.problems())
def test_sparse_and_dense_are_the_same(problem):
    X, Y, X_new = problem
    plain = MMAC(min_support=2).fit(X, Y)
    for form in (sparse.csr_array, sparse.csc_matrix):
        learner = MMAC(min_support=2).fit(form(X), sparse.csr_array(Y))
        assert learner.rules_ == plain.rules_
        assert_array_equal(learner.decision_function(form(X_new)), plain.decision_function(X_new))


def test_scores_rank_the_rules():
    """Predicted above those of later rules, these above labels that no rule gives."""
    X = np.repeat([[1, 1, 0, 0], [1, 0, 0, 0], [0, 1, 0, 1], [0, 0, 1, 1]], 5, axis=0)
    Y = np.repeat([[1, 1, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], 5, axis=0)
    Y[0] = [1, 0, 0]
    learner = MMAC(max_length=1).fit(X, Y)
    scores = learner.decision_function([[1, 1, 0, 0]])[0]
    assert scores[0] == 1.0  # label 0 in all 10 with the first item
    assert scores[1] == pytest.approx(0.9 - 1)  # 9 of 10 with the second
    assert scores[2] == pytest.approx(0.25 - 2)
    assert_array_equal(
        MMAC(max_length=1, voting="all").fit(X, Y).predict([[1, 1, 0, 0]]), [[1, 1, 0]]
    )


def test_sentences():
    frame = pd.DataFrame({"cough": [1, 1, 0, 0, 0, 1], "age": [3, 4, 50, 61, 72, 83]})
    labels = pd.DataFrame({"child": [1, 1, 0, 0, 0, 0], "chest": [1, 1, 0, 0, 0, 1]})
    learner = MMAC(min_support=2, max_bins=3, max_length=1).fit(frame, labels)
    assert learner.to_text().splitlines() == [
        "If cough is present, then chest (3 of 3) and child (2 of 3).",
        "Otherwise no label.",
    ]
    texts = MMAC(min_support=1, max_bins=3, max_length=2).fit(frame[["age"]], labels).to_text()
    assert "If age is at most 4, then child (2 of 2) and chest (2 of 2)." in texts
    assert "age is above 61" in texts
    assert "above 4 and at most 61" not in texts  # no label follows from it
    with pytest.raises(ValueError, match="feature_names must have 2 entries, got 1"):
        learner.to_text(feature_names=["a"])


def test_learned_again_on_what_is_left():
    """A condition that is unsure at first becomes sure when better rules have served others."""
    X = np.array([[1, 1]] * 6 + [[1, 0]] * 4 + [[0, 0]] * 12)
    Y = np.array([[1, 0]] * 6 + [[0, 1]] * 4 + [[0, 0]] * 12)
    learner = MMAC(min_support=2, min_confidence=0.7, max_length=1).fit(X, Y)
    assert learner.n_rounds_ == 3
    first, second = learner.rules_
    assert (first.labels, first.confidences) == ((0,), (1.0,))
    assert (second.labels, second.confidences) == ((1,), (0.4,))
    assert_array_equal(learner.predict([[1, 1], [1, 0], [0, 0]]), [[1, 0], [0, 1], [0, 0]])


@pytest.mark.parametrize("voting", ["first", "all"])
def test_small_and_strange_data(voting):
    learner = MMAC(voting=voting)
    one = learner.fit([[1.0, 2.0]], [[1, 0, 1]])
    assert_array_equal(one.predict([[0.0, 5.0]]), [[1, 0, 1]])
    assert learner.rules_ == []
    assert learner.to_text() == "Otherwise label0 and label2."
    flat = learner.fit(np.ones((4, 2)), [[1, 0], [1, 0], [0, 1], [1, 0]])  # nothing to tell by
    assert_array_equal(flat.predict([[9.0, 9.0]]), [[1, 0]])
    assert_allclose(flat.label_weights([[9.0, 9.0]]), [[1.0, 0.0]])
    assert_allclose(learner.fit([[0.0], [1.0]], [[0], [0]]).label_weights([[3.0]]), [[0.0]])
    for scale in (1e-300, 1e300, -1e308):
        X = np.array([[1.0], [0.5], [-1.0], [-0.5]]) * scale
        assert np.isfinite(learner.fit(X, np.eye(4)).decision_function(X)).all()


def test_bad_input():
    X, Y = np.eye(4), np.eye(4)
    for bad in (0.0, 1.5, 0):
        with pytest.raises(ValueError, match="'min_support' parameter of MMAC"):
            MMAC(min_support=bad).fit(X, Y)
    with pytest.raises(ValueError, match="'min_confidence' parameter of MMAC"):
        MMAC(min_confidence=1.1).fit(X, Y)
    with pytest.raises(ValueError, match="NaN"):
        MMAC().fit(X * np.nan, Y)


def test_real_data_in_seconds(data_folder):
    bars = {"medical": (0.69, 0.77), "emotions": (0.45, 0.58)}
    for name, (f1, top) in bars.items():
        X, X_test, Y, Y_test = datasets.load(name).holdout()
        start = time.process_time()
        learner = MMAC().fit(X, Y)
        predicted = learner.predict(X_test)
        assert time.process_time() - start < 5
        assert metrics.f1(Y_test, predicted) > f1
        weights = learner.label_weights(X_test)
        assert any_label(Y_test, weights) >= top_label(Y_test, weights) > top


@pytest.mark.parametrize("codes", [(1, 2, 3), (0, 1, 2), (0, 0, 0, 4, 8)])
def test_a_code_never_seen_has_no_rule(codes):
    """Neither one between two codes nor one beyond them."""
    X = np.repeat(codes, 6).astype(float)[:, None]
    Y = (np.unique(X) == X).astype(int)
    learner = MMAC(min_support=2).fit(X, Y)
    assert (learner.predict(X) == Y)[X[:, 0] != 0].all()
    assert f"x0 is {codes[-1]}" in learner.to_text()
    strange = np.array([[0.5], [1.5], [2.5], [6.0], [9.0], [-1.0], [np.nextafter(2.0, 0)]])
    assert_array_equal(learner.predict(strange), np.tile(learner.default_, (7, 1)))


def test_a_word_is_present_whatever_its_count():
    learner = MMAC(min_support=2).fit([[0], [0], [1], [1]], [[0], [0], [1], [1]])
    assert_array_equal(learner.predict([[1], [2], [-1], [0]]), [[1], [1], [1], [0]])
