"""Sums of parts are those of the whole."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from plurilabel.metrics import MeasureSums, evaluate

MEANS = {"rtol": 1e-12, "atol": 1e-12}


def assert_same(found, expected):
    expected = {name: value for name, value in expected.items() if not name.endswith("_auc")}
    assert list(found) == list(expected)
    for name, value in expected.items():
        if name.startswith(("macro", "micro")):  # made of counts
            assert np.array_equal(found[name], value, equal_nan=True), name
        else:
            np.testing.assert_allclose(found[name], value, **MEANS, err_msg=name)


@settings(max_examples=25)
@given(st.integers(0, 2**32))
def test_sums_of_parts_are_those_of_the_whole(seed):
    rng = np.random.default_rng(seed)
    n, q = rng.integers(1, 40), rng.integers(1, 8)
    Y = (rng.random((n, q)) < rng.random()).astype(float)
    scores = np.round(rng.random((n, q)), 1)
    labels = (scores > rng.random()).astype(np.int8)
    if rng.random() < 0.3:
        Y[rng.random((n, q)) < 0.3] = np.nan
    elif rng.random() < 0.3:
        Y, labels = sparse.csr_array(Y), sparse.csr_array(labels)
        scores = sparse.csr_array(scores)
    cuts = [0, *sorted(set(rng.integers(1, n + 1, 3).tolist()) - {n}), n]
    parts = [slice(a, b) for a, b in pairwise(cuts)]
    options = {"top": (1, 3), "propensities": rng.uniform(0.1, 1, q)}
    for given_ in ({"scores": scores, "labels": labels}, {"scores": scores}, {"labels": labels}):
        sums = [
            MeasureSums.of(Y[part], **{k: M[part] for k, M in given_.items()}, **options)
            for part in parts
        ]
        total = sums[0]
        for more in sums[1:]:
            total = more + total
        found, expected = total.evaluation(), evaluate(Y, **given_, **options)
        assert_same(found, expected)
        assert (found.note, found.n_unknown) == (expected.note, expected.n_unknown)
        assert total.n == n


def test_whole_numbers_are_scores_if_some_block_has_more_than_0_and_1():
    Y, votes = np.eye(4, dtype=int), np.array([[1, 0, 0, 0], [0, 1, 1, 0], [3, 0, 2, 0], [0] * 4])
    sums = MeasureSums.of(Y[:2], votes[:2]) + MeasureSums.of(Y[2:], votes[2:])
    assert_same(sums.evaluation(), evaluate(Y, votes))
    with pytest.raises(ValueError, match="got predicted labels"):
        MeasureSums.of(Y[:2], votes[:2]).evaluation()


def test_errors():
    Y = np.eye(3, dtype=int)
    with pytest.raises(ValueError, match="scores, labels or both"):
        MeasureSums.of(Y)
    with pytest.raises(ValueError, match="same labels, got 3 and 2"):
        MeasureSums.of(Y, labels=Y) + MeasureSums.of(Y[:, :2], labels=Y[:, :2])
    with pytest.raises(ValueError, match="same measures"):
        MeasureSums.of(Y, labels=Y) + MeasureSums.of(Y, Y * 0.5)
    with pytest.raises(TypeError):
        MeasureSums.of(Y, labels=Y) + 1
