"""Measures of label distributions against loops over instances and labels."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plurilabel.graded import evaluate_distributions, kullback_leibler_divergence


def twins(true, predicted):
    rows = []
    for d, p in zip(true.tolist(), predicted.tolist()):
        pairs = list(zip(d, p))
        parts = [(abs(a - b) / (a + b) if a + b > 0 else 0.0) for a, b in pairs]
        kl = 0.0
        for a, b in pairs:
            kl += 0.0 if a == 0 else math.inf if b == 0 else a * math.log(a / b)
        dot = sum(a * b for a, b in pairs)
        lengths = math.sqrt(sum(a * a for a in d)) * math.sqrt(sum(b * b for b in p))
        rows.append(
            [
                max(abs(a - b) for a, b in pairs),
                math.sqrt(sum(r * r for r in parts)),
                sum(parts),
                kl,
                dot / lengths,
                sum(min(a, b) for a, b in pairs),
            ]
        )
    return [sum(column) / len(rows) for column in zip(*rows)]


@settings(max_examples=30)
@given(st.integers(0, 10**6), st.integers(1, 4), st.integers(1, 5))
def test_twins(seed, n, q):
    rng = np.random.default_rng(seed)
    true, predicted = rng.integers(0, 5, (2, n, q)).astype(float)
    true[:, 0] += 1
    predicted[:, -1] += 1
    true /= true.sum(axis=1, keepdims=True)
    predicted /= predicted.sum(axis=1, keepdims=True)
    found = evaluate_distributions(true, predicted)
    assert list(found.values()) == pytest.approx(twins(true, predicted))


def test_infinite_divergence_and_bad_input():
    assert kullback_leibler_divergence([[0.5, 0.5]], [[1.0, 0.0]]) == math.inf
    with pytest.raises(ValueError, match="D_pred must have rows that sum to one, got 0.5"):
        evaluate_distributions([[0.5, 0.5]], [[0.5, 0.0]])
    with pytest.raises(ValueError, match=r"shape of D_true, \(1, 2\), got \(1, 1\)"):
        evaluate_distributions([[0.5, 0.5]], [[1.0]])
