"""ML-kNN that chooses its own k: leave-one-out against as many fits."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from plurilabel import MLkNN, MLkNNCV
from plurilabel.datasets import load
from plurilabel.metrics import average_precision, get_measure
from tests.learners.lazy.problems import made, problems


@settings(max_examples=15)
@given(problems(spare=3), st.sampled_from(["ranking_loss", "hamming_loss", "micro_f1"]))
def test_leaving_instances_out_equals_as_many_fits(problem, scoring):
    X, Y, _, k = problem
    ks, smoothing = sorted({1, max(1, k - 1)}), (0.5, 1.0)
    learner = MLkNNCV(ks, smoothing=smoothing, scoring=scoring).fit(X, Y)
    measure = get_measure(scoring)
    for i, kk in enumerate(ks):
        for j, s in enumerate(smoothing):
            scores = np.vstack(
                [
                    MLkNN(kk, smoothing=s)
                    .fit(np.delete(X, r, 0), np.delete(Y, r, 0))
                    .predict_proba(X[r : r + 1])
                    for r in range(len(X))
                ]
            )
            answer = scores if measure.kind == "scores" else (scores > 0.5).astype(int)
            assert_allclose(learner.cv_values_[i, j], measure.function(Y, answer), rtol=1e-12)


def test_leaving_entries_out_takes_the_own_row_from_the_tables():
    X, Y, _ = made(40, 2, 3)
    k, s, m = 4, 1.0, 40
    _, near = MLkNN(k).fit(X, Y).graph_
    delta = Y[near].sum(axis=1)
    scores = np.empty((m, 3))
    for i in range(m):
        rest = np.delete(np.arange(m), i)
        for l in range(3):
            have, j = Y[rest, l], delta[i, l]
            prior = (s + have.sum()) / (2 * s + m - 1)
            like = [
                (s + np.sum((have == b) & (delta[rest, l] == j)))
                / (s * (k + 1) + np.sum(have == b))
                for b in (0, 1)
            ]
            yes, no = prior * like[1], (1 - prior) * like[0]
            scores[i, l] = yes / (yes + no)
    learner = MLkNNCV([k], smoothing=[s], scoring="hamming_loss", leave_out="entry").fit(X, Y)
    assert_allclose(learner.cv_values_[0, 0], np.mean((scores > 0.5) != Y), rtol=1e-12)


def test_the_chosen_learner_is_a_fresh_fit():
    X, Y, _ = made(60, 2, 3)
    for labels in (Y, sparse.csr_array(Y)):
        learner = MLkNNCV(range(1, 9), smoothing=(0.1, 1.0), scoring="average_precision")
        learner.fit(X, labels)
        best = np.unravel_index(learner.cv_values_.argmax(), learner.cv_values_.shape)
        assert learner.n_neighbors_ == range(1, 9)[best[0]]
        assert learner.smoothing_ == (0.1, 1.0)[best[1]]
        fresh = MLkNN(learner.n_neighbors_, smoothing=learner.smoothing_).fit(X, labels)
        assert_array_equal(learner.predict_proba(X), fresh.predict_proba(X))
        assert_array_equal(learner.graph_[1][:, : learner.n_neighbors_], fresh.graph_[1])
        assert_array_equal(learner.predict_top(X, 2).indices, fresh.predict_top(X, 2).indices)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"n_neighbors": []}, "n_neighbors must be a sequence of numbers from 1 on, got \\[\\]"),
        ({"n_neighbors": [0, 2]}, "n_neighbors must be a sequence of numbers from 1"),
        ({"smoothing": [-1.0]}, "smoothing must be a sequence of numbers from 0"),
        ({"scoring": "niceness"}, "niceness"),
        ({"n_neighbors": [9]}, "10 training instances less the one that is left out, got 9"),
        ({"n_neighbors": [10], "leave_out": "entry"}, "the 10 training instances, got 10"),
    ],
)
def test_bad_parameters_of_the_search(params, message):
    X, Y, _ = made(10, 2, 3)
    with pytest.raises(ValueError, match=message):
        MLkNNCV(**{"n_neighbors": [2], **params}).fit(X, Y)


def test_a_single_label_is_not_ranked():
    X, Y, _ = made(60, 2, 1)
    found, wanted = (MLkNNCV(range(1, 9), scoring=s).fit(X, Y) for s in (None, "hamming_loss"))
    assert_array_equal(found.cv_values_, wanted.cv_values_)
    assert np.ptp(found.cv_values_) > 0


def test_emotions_as_in_the_file(data_folder):
    """Leaving out entries alone chose 27 by Hamming loss, with .659; k = 10 has .694."""
    X, X_test, Y, Y_test = load("emotions").holdout()
    for scoring, k, value in (("hamming_loss", 6, 0.705), (None, 12, 0.703)):
        learner = MLkNNCV(scoring=scoring).fit(X, Y)
        assert learner.n_neighbors_ == k
        scores = learner.predict_proba(X_test)
        assert_allclose(average_precision(Y_test, scores), value, atol=5e-4)
