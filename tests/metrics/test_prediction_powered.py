"""Prediction-powered measures: the formula, coverage by simulation, and shorter intervals."""

import numpy as np
import pandas as pd
import pytest

from plurilabel.metrics import evaluate, prediction_powered
from plurilabel.metrics._prediction_powered import _combined


def draw(rng, n, noise=0.1):
    Y = (rng.random((n, 4)) < (0.5, 0.3, 0.4, 0.2)).astype(int)
    machine = np.where(rng.random(Y.shape) < noise, 1 - Y, Y)
    labels = np.where(rng.random(Y.shape) < 0.2, 1 - Y, Y)
    return Y, machine, labels


def audit(Y, n):
    return np.where(np.arange(len(Y))[:, None] < n, Y, np.nan)


def test_intervals_hold_and_are_shorter():
    rng = np.random.default_rng(0)
    Y, _, labels = draw(rng, 200_000)
    truth, names = evaluate(Y, labels=labels), ("hamming_loss", "macro_f1", "recall", "micro_f1")
    held, widths = {name: [] for name in names}, {name: [] for name in names}
    for run in range(200):
        Y, machine, labels = draw(rng, 700)
        many = prediction_powered(
            audit(Y, 100), machine, labels=labels, bootstrap=100, random_state=run
        )
        few = evaluate(Y[:100], labels=labels[:100], bootstrap=100, random_state=run)
        for name in names:
            (low, high), (a, b) = many.intervals[name], few.intervals[name]
            held[name].append(low <= truth[name] <= high)
            widths[name].append((high - low, b - a))
    for name in names:
        assert 0.89 < np.mean(held[name]) < 0.99, name  # 200 runs: .95 with an error of .015
        assert np.subtract(*np.mean(widths[name], axis=0)) < 0, name


def test_a_worthless_or_biased_machine_does_no_harm():
    rng = np.random.default_rng(1)
    Y, _, labels = draw(rng, 1000)
    known = audit(Y, 200)
    few = evaluate(Y[:200], labels=labels[:200])
    worthless = prediction_powered(
        known, rng.integers(0, 2, Y.shape), labels=labels, random_state=0
    )
    assert worthless["hamming_loss"] == pytest.approx(few["hamming_loss"], abs=0.01)
    always = prediction_powered(known, np.ones_like(Y), labels=labels, random_state=0)
    low, high = always.intervals["hamming_loss"]
    assert low < 0.2 < high and "200 audited rows and 800" in repr(always)


def test_scores_and_rows_in_any_order():
    rng = np.random.default_rng(2)
    Y, machine, labels = draw(rng, 300)
    S, order = labels + rng.random(Y.shape), rng.permutation(300)
    one = prediction_powered(audit(Y, 100), machine, S, bootstrap=300, random_state=0)
    two = prediction_powered(
        audit(Y, 100)[order], machine[order], S[order], bootstrap=300, random_state=0
    )
    for name in ("ranking_loss", "macro_auc"):
        assert one[name] == pytest.approx(two[name], abs=0.01)


def test_the_formula():
    rng = np.random.default_rng(3)
    A, C = rng.normal(size=(2, 400))
    B = 0.5 * A + rng.normal(size=400)
    value, error = _combined(50, (0.3, A), (0.2, B), (0.25, C))
    w = ((A - A.mean()) * (B - B.mean())).mean() / (B.var() + C.var())
    assert value == pytest.approx(0.3 + w * 0.05)
    assert error == pytest.approx((A - w * B + w * C).std(ddof=1) * np.sqrt(51 / 48))
    Y, machine, labels = draw(rng, 300)
    found = prediction_powered(audit(Y, 50), machine, labels=labels, bootstrap=40, random_state=0)
    low, high = found.intervals["hamming_loss"]
    assert (low + high) / 2 == pytest.approx(found["hamming_loss"])


def test_probabilities_of_the_machine_say_more_than_its_labels():
    rng = np.random.default_rng(4)
    p = rng.beta(0.5, 0.5, size=(2000, 4))
    Y, labels = (rng.random(p.shape) < p).astype(int), (rng.random(p.shape) < p).astype(int)
    width = []
    for machine in (p, (p > 0.5).astype(int)):
        found = prediction_powered(audit(Y, 150), machine, labels=labels, random_state=0)
        low, high = found.intervals["hamming_loss"]
        width.append(high - low)
    assert width[0] < 0.95 * width[1]


@pytest.mark.parametrize(
    ("n", "machine", "params", "message"),
    [
        (1, np.ones((9, 4), int), {}, "at least three audited rows .* got 1 and 8"),
        (9, np.ones((9, 4), int), {}, "got 9 and 0"),
        (5, np.ones((9, 3), int), {}, r"Y_machine must have the shape of Y_true, \(9, 4\)"),
        (5, np.ones((9, 4), int), {"confidence": 1}, "confidence must lie strictly"),
        (5, np.full((9, 4), 1.5), {}, "Y_machine must hold only 0 and 1"),
    ],
)
def test_errors(n, machine, params, message):
    Y = np.eye(9, 4, dtype=int)
    with pytest.raises(ValueError, match=message):
        prediction_powered(audit(Y, n), machine, labels=Y, **params)


def test_columns_in_another_order():
    Y = np.eye(9, 2, dtype=int)
    frame = pd.DataFrame(Y, columns=["a", "b"])
    turned = frame[["b", "a"]]
    truth = pd.DataFrame(audit(Y, 5), columns=["a", "b"])
    for machine, params in (
        (turned, {"labels": frame}), (frame, {"labels": turned}), (frame, {"scores": turned * 0.5})
    ):  # fmt: skip
        with pytest.raises(ValueError, match="must have its columns in the order of Y_true"):
            prediction_powered(truth, machine, bootstrap=5, **params)
    with pytest.raises(ValueError, match="labels must have its columns in the order"):
        prediction_powered(audit(Y, 5), frame, labels=turned, bootstrap=5)
    with pytest.raises(ValueError, match=r"labels must have the shape of Y_true, \(9, 2\)"):
        prediction_powered(truth, frame, labels=Y[:4].tolist(), bootstrap=5)
