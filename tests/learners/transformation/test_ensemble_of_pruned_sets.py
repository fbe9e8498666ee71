"""Ensembles of pruned sets: the mean of their members."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from plurilabel import EnsembleOfPrunedSets, PrunedSets
from tests.learners.transformation.data import BASE, made


@pytest.mark.parametrize(("voting", "ask"), [("soft", "predict_proba"), ("hard", "predict")])
def test_the_mean_of_its_members(voting, ask):
    X, Y = made(90, 3, 4)
    learner = EnsembleOfPrunedSets(
        BASE, n_estimators=4, pruning_threshold=2, voting=voting, random_state=0
    ).fit(X, Y)
    mean = np.mean([getattr(member, ask)(X) for member in learner.estimators_], axis=0)
    assert_allclose(learner.predict_proba(X), mean)
    assert [member.n_samples_fit_ for member in learner.estimators_] == [57] * 4  # 63% of 90
    assert {member.pruning_threshold for member in learner.estimators_} == {2}


def test_all_instances_are_pruned_sets():
    X, Y = made(90, 3, 4)
    whole = EnsembleOfPrunedSets(
        BASE, n_estimators=1, max_samples=1.0, voting="soft", random_state=0
    ).fit(X, Y)
    assert_allclose(whole.predict_proba(X), PrunedSets(BASE).fit(X, Y).predict_proba(X))
