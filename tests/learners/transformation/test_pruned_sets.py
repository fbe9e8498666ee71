"""Pruned sets against their twin."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from plurilabel import LabelPowerset, PrunedSets
from plurilabel.learners.transformation._label_powerset import distinct_sets
from plurilabel.learners.transformation._pruned_sets import prune
from tests.learners.transformation import twins
from tests.learners.transformation.bases import SureLine
from tests.learners.transformation.data import BASE, made, problems


@settings(max_examples=60, deadline=None)
@given(problems(), st.integers(1, 2), st.sampled_from(["a", "b", None]), st.integers(0, 2))
def test_pruned_training_set(problem, threshold, strategy, limit):
    _, Y, _, _ = problem
    wanted = twins.pruned(Y, threshold, strategy, limit)
    sets, classes = distinct_sets(Y.astype(np.int8))
    if not any(np.bincount(classes) > threshold):
        with pytest.raises(ValueError, match=f"none of the {sets.shape[0]} is seen more than"):
            prune(sets, classes, threshold, strategy, limit)
        return
    rows, kept, classes = prune(sets, classes, threshold, strategy, limit)
    found = [
        (int(i), frozenset(np.flatnonzero(kept[[c]].toarray()[0]).tolist()))
        for i, c in zip(rows, classes)
    ]
    assert sorted(found, key=repr) == sorted(wanted, key=repr)


@pytest.mark.parametrize("strategy", ["a", "b", None])
def test_a_weight_counts_as_so_many_instances(strategy):
    X, Y = made(60, 2, 4)
    times = np.random.default_rng(0).integers(0, 4, size=60)
    rows = np.repeat(np.arange(60), times)
    learner = PrunedSets(SureLine(), pruning_threshold=6, reintroduce=strategy, limit=1)
    weighed = clone(learner).fit(X, Y, sample_weight=times)
    copied = clone(learner).fit(X[rows], Y[rows])
    plain = clone(learner).fit(X, Y)
    assert plain.sets_.shape != weighed.sets_.shape  # else the data shows nothing
    assert_array_equal(weighed.sets_.toarray(), copied.sets_.toarray())
    assert_allclose(weighed.predict_proba(X), copied.predict_proba(X), rtol=1e-6)
    with pytest.raises(ValueError, match="n_samples=60, whose sample_weight sums to 6$"):
        clone(learner).fit(X, Y, sample_weight=np.full(60, 0.1))


def test_pruned_sets_learn_the_pruned_training_set():
    X, Y = made(60, 2, 4)
    learner = PrunedSets(BASE, pruning_threshold=3, limit=1).fit(X, Y)
    training = twins.pruned(Y, 3, "a", 1)
    names = sorted({s for _, s in training}, key=lambda s: [int(l in s) for l in range(4)])
    model = clone(BASE).fit(X[[i for i, _ in training]], [names.index(s) for _, s in training])
    assert_allclose(learner._set_scores(X), model.predict_proba(X))
    nothing = PrunedSets(BASE, pruning_threshold=0).fit(X, Y)
    assert_array_equal(nothing.predict_proba(X), LabelPowerset(BASE).fit(X, Y).predict_proba(X))
