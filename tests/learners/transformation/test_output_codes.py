"""Output codes against their twin."""

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from plurilabel import OutputCodes
from tests.learners.transformation import twins
from tests.learners.transformation.data import BASE, made


@pytest.mark.parametrize("decoding", ["soft", "hard"])
@pytest.mark.parametrize("sets", ["seen", "all"])
def test_output_codes_take_the_nearest_code_word(decoding, sets):
    X, Y = made(70, 3, 4)
    learner = OutputCodes(BASE, label_sets=sets, decoding=decoding, random_state=1).fit(X, Y)
    G = learner.code_
    assert_array_equal(G[:, :4], np.eye(4))
    assert_array_equal(G[:, 4:].sum(axis=0), [3] * 8)
    candidates = (
        {tuple(row) for row in Y.tolist()} if sets == "seen" else set(product((0, 1), repeat=4))
    )
    p = np.column_stack([m.predict_proba(X[:20])[:, 1] for m in learner.estimators_])
    bits = np.where(p > 0.5, 1.0, -1.0)
    if decoding == "soft":
        clipped = np.clip(p, 1 / 142, 141 / 142)
        bits = np.log(clipped / (1 - clipped))
    for row, found in zip(bits, learner.predict(X[:20])):
        fits = twins.decode(row, G, candidates)
        best = max(fits.values())
        tied = [s for s, fit in fits.items() if np.isclose(fit, best, rtol=1e-12)]
        assert set(np.flatnonzero(found)) == {l for l in range(4) if all(s[l] for s in tied)}


def test_each_bit_is_the_parity_of_its_labels():
    X, Y = made(70, 3, 4)
    learner = OutputCodes(BASE, n_bits=9, weight=2, random_state=3).fit(X, Y)
    seen = []
    for column, model in zip(learner.code_.T.tolist(), learner.estimators_):
        parity = [sum(bit * g for bit, g in zip(row, column)) % 2 for row in Y]
        same = np.allclose(model.theta_, clone(BASE).fit(X, parity).theta_)
        assert same != (column in seen)  # a bit that comes again has a sample of its own
        seen.append(column)
    assert len(seen) == 9


def test_repetition_is_a_vote_of_estimators_from_different_samples():
    X, Y = made(70, 3, 4)
    learner = OutputCodes(
        BASE, code="repetition", n_bits=10, label_sets="all", decoding="hard", random_state=0
    ).fit(X, Y)
    assert learner.code_.shape == (4, 12) and learner.sets_ is None
    p = np.column_stack([m.predict_proba(X)[:, 1] for m in learner.estimators_])
    votes = (p > 0.5).reshape(70, 3, 4).sum(axis=1)
    assert_array_equal(learner.predict(X), votes > 1.5)
    assert_allclose(p[:, 0], clone(BASE).fit(X, Y[:, 0]).predict_proba(X)[:, 1])
    assert (p[:, 0] != p[:, 4]).any()


def test_too_many_labels_for_all_sets():
    X, Y = made(40, 3, 16)
    with pytest.raises(ValueError, match="label_sets='all' tries all .* at most 15 labels"):
        OutputCodes(BASE, label_sets="all").fit(X, Y)
