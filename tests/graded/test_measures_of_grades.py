"""Losses of grades against twins written from their definitions."""

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plurilabel import metrics
from plurilabel.graded import (
    c_index_loss,
    evaluate_grades,
    horizontal_loss,
    mean_absolute_error,
    vertical_loss,
)

SCALE = [0, 1, 3, 5]


def twins(true, predicted, scores):
    place = {g: r for r, g in enumerate(SCALE)}
    n, q = true.shape
    absolute = wrong = sets = 0
    shares = []
    for i in range(n):
        for l in range(q):
            absolute += abs(place[true[i, l]] - place[predicted[i, l]])
            wrong += true[i, l] != predicted[i, l]
        for g in SCALE[1:]:
            a = {l for l in range(q) if true[i, l] >= g}
            b = {l for l in range(q) if predicted[i, l] >= g}
            sets += a != b
        bad = pairs = 0
        for l, k in itertools.permutations(range(q), 2):
            if true[i, l] < true[i, k]:
                pairs += 1
                bad += (scores[i, l] > scores[i, k]) + 0.5 * (scores[i, l] == scores[i, k])
        if pairs:
            shares.append(bad / pairs)
    return {
        "mean_absolute_error": absolute / (n * q),
        "vertical_loss": wrong / (n * q),
        "horizontal_loss": sets / (n * (len(SCALE) - 1)),
        "c_index_loss": np.mean(shares) if shares else np.nan,
    }


@settings(max_examples=30)
@given(st.integers(0, 10**6), st.integers(1, 5), st.integers(1, 5))
def test_twins(seed, n, q):
    rng = np.random.default_rng(seed)
    true, predicted = rng.choice(SCALE, (2, n, q))
    scores = rng.integers(0, 4, (n, q)).astype(float)
    found = evaluate_grades(true, predicted, scores, grades=SCALE)
    assert found == pytest.approx(twins(true, predicted, scores), nan_ok=True)


def test_two_grades_are_labels():
    rng = np.random.default_rng(0)
    true, predicted = rng.integers(0, 2, (2, 20, 6))
    scores = rng.normal(size=(20, 6))
    assert mean_absolute_error(true, predicted) == metrics.hamming_loss(true, predicted)
    assert vertical_loss(true, predicted) == metrics.hamming_loss(true, predicted)
    subset = metrics.subset_accuracy(true, predicted)
    assert horizontal_loss(true, predicted) == pytest.approx(1 - subset)
    assert c_index_loss(true, scores) == pytest.approx(metrics.ranking_loss(true, scores))


def test_forms():
    assert mean_absolute_error([0, 5], [1, 5], grades=SCALE) == 0.5
    assert mean_absolute_error([0, 5], [3, 5]) == 0.5  # 1 is not known to be between
    kind = pd.CategoricalDtype(["no", "maybe", "yes"], ordered=True)
    true = pd.DataFrame({"a": ["no", "yes"], "b": ["yes", "yes"]}).astype(kind)
    predicted = np.array([["maybe", "yes"], ["no", "yes"]], dtype=object)
    assert mean_absolute_error(true, predicted) == 0.75
    assert horizontal_loss([[2, 2]], [[2, 2]]) == 0.0
    assert np.isnan(c_index_loss([[1, 1]], [[0.0, 1.0]]))
    assert np.isnan(c_index_loss([0, 1], [0.0, 1.0]))  # one label has no pairs
    assert "c_index_loss" not in evaluate_grades([[0, 1]], [[0, 1]])


def test_bad_input():
    with pytest.raises(ValueError, match=r"Y_pred must have the shape of Y_true, \(1, 2\)"):
        vertical_loss([[0, 1]], [[0]])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        vertical_loss([[0, 1]], [[0, 1], [0, 1]])
    with pytest.raises(ValueError, match=r"scores must have the shape of Y_true, \(1, 2\)"):
        c_index_loss([[0, 1]], [[0.0]])
    with pytest.raises(ValueError, match="Y_pred must hold only the grades 0, 1, got 2"):
        vertical_loss([[0, 1]], [[0, 2]], grades=[0, 1])
    with pytest.raises(ValueError, match="scores contains NaN"):
        c_index_loss([[0, 1]], [[0.0, np.nan]])
