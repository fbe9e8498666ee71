"""Measures of soft labels against the enumeration of all label sets."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from plurilabel._core.soft import possible_sets
from plurilabel.metrics import (
    MeasureSums,
    evaluate,
    expected_calibration_error,
    get_measure,
    hamming_loss,
    macro_auc,
    per_label,
    ranking_loss,
    subset_accuracy,
)

TOP = (1, 2)
PROPENSITIES = [0.5, 0.25, 0.8]


def problem(seed=0, n=4, q=3):
    rng = np.random.default_rng(seed)
    P = rng.choice([0, 0.2, 0.5, 0.9, 1], size=(n, q))
    S = rng.integers(0, 4, size=(n, q)) / 4  # with ties
    Z = rng.integers(0, 2, size=(n, q))
    Z[0] = 0
    return P, S, Z


def sets_of(p):
    """Every label set of a row, and its probability."""
    for y in product((0, 1), repeat=len(p)):
        yield np.array([y]), np.prod(np.where(np.array(y) == 1, p, 1 - p))


def twin(name, P, S, Z):
    """The expected value of a measure, by enumeration."""
    measure = get_measure(name)
    given = S if measure.kind == "scores" else Z
    if measure.average == "instances":
        total = weight = 0.0
        for p, f in zip(P, given):
            for y, probability in sets_of(p):
                value = measure.function(y, f[None])
                if not np.isnan(value):
                    total, weight = total + probability * value, weight + probability
        return total / weight
    if measure.kind == "labels":
        tp, fp, fn, tn = P * Z, (1 - P) * Z, P * (1 - Z), (1 - P) * (1 - Z)
        counts = [np.asarray(c).sum(axis=0) for c in (tp, fp, fn, tn)]
        if measure.average == "micro":
            return measure.terms(*(c.sum() for c in counts))
        return measure.terms(*counts).mean()
    columns = [(P.ravel(), S.ravel())] if measure.average == "micro" else zip(P.T, S.T)
    area = auc if name.endswith("_auc") else area_of_precision
    sums = np.array([area(p, s) for p, s in columns if area(p, s)[1]])
    weights = sums[:, 1] if measure.average == "weighted" else None
    return np.average(sums[:, 0] / sums[:, 1], weights=weights)


def auc(p, s):
    """Expected wins and pairs of a column."""
    wins = pairs = 0.0
    for i, j in product(range(len(p)), repeat=2):
        if i != j:
            pair = p[i] * (1 - p[j])
            wins, pairs = wins + pair * ((s[i] > s[j]) + (s[i] == s[j]) / 2), pairs + pair
    return wins, pairs


def area_of_precision(p, s):
    """Expected sum of the precisions at the positives of a column, and number of positives."""
    not_below = s >= s[:, None]
    total = positives = 0.0
    for y, probability in sets_of(p):
        if probability:
            total += probability * (y[0] * (not_below @ y[0]) / not_below.sum(axis=1)).sum()
            positives += probability * y.sum()
    return total, positives


@pytest.mark.parametrize("seed", range(4))
def test_every_measure_is_the_mean_over_all_label_sets(seed):
    P, S, Z = problem(seed)
    found = evaluate(P, S, Z, top=TOP)
    for name, value in found.items():
        assert value == pytest.approx(twin(name, P, S, Z), nan_ok=True), name
    assert "expected values" in found.note
    sums = MeasureSums.of(P[:2], S[:2], Z[:2], top=TOP) + MeasureSums.of(
        P[2:], S[2:], Z[2:], top=TOP
    )
    for name, value in sums.evaluation().items():
        assert value == pytest.approx(found[name]), name


def test_weights_of_hits_and_unknown_labels():
    P, S, Z = problem(1)
    hits = most = 0.0
    worth = 1 / np.array(PROPENSITIES)
    for p, s in zip(P, S):
        first = np.argsort(-s, kind="stable")[0]
        for y, probability in sets_of(p):
            tied = np.flatnonzero(s == s[first])
            hits += probability * (y[0] * worth)[tied].min()
            most += probability * (y[0] * worth).max()
    found = evaluate(P, S, top=(1,), propensities=PROPENSITIES)
    assert found["psp@1"] == pytest.approx(hits / most)
    # an unknown label is as good as a row without it
    P = P.astype(float)
    P[:, 1] = np.nan
    kept = [0, 2]
    found, without = (
        evaluate(P, S, Z, top=(1,)),
        evaluate(P[:, kept], S[:, kept], Z[:, kept], top=(1,)),
    )
    assert found == pytest.approx(without, nan_ok=True)
    assert found.n_unknown == len(P)


def test_labels_of_0_and_1_are_as_before():
    _, S, Z = problem(2)
    Y = (S > 0.4).astype(int)
    one, two = evaluate(Y, S, Z, top=TOP), evaluate(Y.astype(float), S, Z, top=TOP)
    assert one == two and one.note == two.note


def test_forms_of_soft_labels():
    P, S, Z = problem(3)
    for form in (pd.DataFrame(P), sparse.csr_array(P), P.tolist(), P.astype(object)):
        assert evaluate(form, S, Z, top=TOP) == pytest.approx(evaluate(P, S, Z, top=TOP))
    table = per_label(P, S, Z)
    assert_allclose(table["positives"], P.sum(axis=0))
    assert_allclose(table["tp"], (P * Z).sum(axis=0))
    assert evaluate([[0.5]], labels=[[1]])["hamming_loss"] == 0.5
    assert expected_calibration_error([[0.5], [0.5]], [[0.4], [0.6]]) == pytest.approx(0.1)
    assert macro_auc(np.full((3, 2), 0.5), np.arange(6.0).reshape(3, 2)) == 0.5
    with pytest.raises(ValueError, match="scores must be dense"):
        ranking_loss(P, sparse.csr_array(S))
    with pytest.raises(ValueError, match="Y_true must hold only 0 and 1, got"):
        hamming_loss(P * 2, Z)


def test_bootstrap_of_soft_labels():
    rng = np.random.default_rng(0)
    S = rng.random((400, 3))
    soft = evaluate(np.round(S, 1), S, S > 0.5, top=(1,), bootstrap=200, random_state=0)
    for name, (low, high) in soft.intervals.items():
        assert low <= soft[name] <= high, name
    # the same samples: where few labels are soft, intervals are near those of hard ones
    Y = (rng.random(S.shape) < S).astype(float)
    hard = evaluate(Y, S, bootstrap=100, random_state=0).intervals["macro_auc"]
    Y[0, 0] = 0.5
    near = evaluate(Y, S, bootstrap=100, random_state=0).intervals["macro_auc"]
    assert_allclose(hard, near, atol=0.003)


def test_possible_sets():
    P = np.array([[0.5, 1, 0.25], [0, 1, 0]])
    rows, Y, weights = possible_sets(P)
    assert rows.tolist() == [0, 0, 0, 0, 1] and weights.tolist() == [0.375, 0.375, 0.125, 0.125, 1]
    assert_array_equal(Y, [[0, 1, 0], [1, 1, 0], [0, 1, 1], [1, 1, 1], [0, 1, 0]])
    # more than 256 sets: stratified draws
    p = np.random.default_rng(0).random((1, 12))
    rows, Y, weights = possible_sets(p)
    assert len(rows) == 256 and weights.sum() == pytest.approx(1)
    assert_allclose(weights @ Y, p[0], atol=1 / 256)
    S = np.random.default_rng(1).random((60, 12))
    P = np.tile(p, (60, 1))
    exact = np.mean([np.prod(np.where(z, p, 1 - p)) for z in S > 0.5])
    assert subset_accuracy(P, S > 0.5) == pytest.approx(exact, abs=0.002)
