"""Bootstrap intervals, against evaluating every sample."""

import numpy as np
import pytest
from scipy import sparse

from plurilabel import metrics
from plurilabel.metrics import evaluate
from tests.metrics.cases import random_problem


@pytest.mark.parametrize("decimals", [None, 1])
@pytest.mark.parametrize("form", ["dense", "sparse", "sparse labels"])
def test_intervals_are_those_of_evaluating_every_sample(decimals, form):
    Y, F, Z = random_problem(n=40, q=4, decimals=decimals)
    F = np.where(F > 0.4, F, 0)
    p = metrics.propensities(Y)
    if form == "sparse":
        F = sparse.csr_array(F)
    if form != "dense":
        Y, Z = sparse.csr_array(Y), sparse.csr_array(Z)
    options = {"propensities": p, "top": (1, 2)}
    got = evaluate(Y, F, Z, bootstrap=25, confidence=0.8, random_state=3, **options)
    rng = np.random.RandomState(3)
    samples = [evaluate(Y[i], F[i], Z[i], **options) for i in rng.randint(0, 40, (25, 40))]
    assert set(got.intervals) == set(got)
    for name, interval in got.intervals.items():
        expected = np.nanquantile([s[name] for s in samples], [0.1, 0.9])
        assert interval == pytest.approx(tuple(expected)), name


def test_intervals_of_labels_that_are_not_known():
    Y, F, Z = random_problem(n=40, q=4)
    hidden = np.random.default_rng(0).random(Y.shape) < 0.5
    hidden[:, 3] = True
    hidden[3:, 2] = True  # known of no instance in some samples
    hidden[:3, 2] = False
    Y = np.where(hidden, np.nan, Y)
    got = evaluate(Y, F, Z, bootstrap=25, confidence=0.8, random_state=3)
    assert got.n_unknown == hidden.sum()
    rng = np.random.RandomState(3)
    samples = [evaluate(Y[i], F[i], Z[i]) for i in rng.randint(0, 40, (25, 40))]
    for name, interval in got.intervals.items():
        values = np.array([s[name] for s in samples])
        expected = (np.nan, np.nan)
        if not np.isnan(values).all():
            expected = tuple(np.nanquantile(values, [0.1, 0.9]))
        assert interval == pytest.approx(expected, nan_ok=True), name


def test_bootstrap_is_reproducible_and_leaves_the_values_alone(monkeypatch):
    Y, F, Z = random_problem(n=60)
    plain = evaluate(Y, F, Z)
    one = evaluate(Y, F, Z, bootstrap=30, random_state=1)
    assert one == plain
    monkeypatch.setattr("plurilabel.metrics._bootstrap._WEIGHTS", 200)
    two = evaluate(Y, F, Z, bootstrap=30, random_state=1)
    for name in plain:
        assert one.intervals[name] == pytest.approx(two.intervals[name])
        low, high = one.intervals[name]
        assert low <= high


def test_an_interval_covers_what_it_should():
    """Of 100 intervals at 90%, about 90 hold the truth: P(X < 80) is below 0.002."""
    covered = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        Y = (rng.random((150, 3)) < 0.4).astype(int)
        Z = np.where(rng.random((150, 3)) < 0.2, 1 - Y, Y)
        interval = evaluate(Y, labels=Z, bootstrap=200, confidence=0.9, random_state=seed)
        low, high = interval.intervals["hamming_loss"]
        covered += low <= 0.2 <= high
    assert covered >= 80


def test_a_measure_that_is_never_defined_has_no_interval():
    result = evaluate([[1, 1], [1, 1]], [[0.1, 0.2], [0.3, 0.4]], bootstrap=5, random_state=0)
    assert np.isnan(result["ranking_loss"])
    assert np.isnan(result.intervals["ranking_loss"]).all()
