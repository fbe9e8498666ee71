"""Ensembles of chains: the mean of their members, which are chains on samples."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from plurilabel import ClassifierChain, EnsembleOfChains
from tests.learners.transformation.data import BASE, made


@pytest.mark.parametrize(("voting", "ask"), [("soft", "predict_proba"), ("hard", "predict")])
def test_the_mean_of_its_members(voting, ask):
    X, Y = made(90, 3, 4)
    learner = EnsembleOfChains(BASE, n_estimators=4, voting=voting, random_state=0).fit(X, Y)
    mean = np.mean([getattr(chain, ask)(X) for chain in learner.estimators_], axis=0)
    assert_allclose(learner.predict_proba(X), mean)
    assert len({tuple(chain.order_) for chain in learner.estimators_}) > 1


def test_the_samples():
    X, Y = made(90, 3, 4)

    def seen(**params):
        learner = EnsembleOfChains(BASE, n_estimators=2, random_state=0, **params).fit(X, Y)
        return [chain.estimators_[0].class_count_.sum() for chain in learner.estimators_]

    assert seen() == [60.0, 60.0]  # 67% of 90
    assert seen(max_samples=1.0, bootstrap=True) == [90.0, 90.0]
    assert seen(max_samples=0.1, bootstrap=True) == [9.0, 9.0]


def test_all_instances_and_one_order_are_a_chain():
    X, Y = made(90, 3, 4)
    for params in ({}, {"chain_method": "predict_proba"}, {"cv": 3}):
        whole = EnsembleOfChains(BASE, n_estimators=1, max_samples=1.0, random_state=0, **params)
        whole.fit(X, Y)
        chain = ClassifierChain(BASE, order=whole.estimators_[0].order_, **params).fit(X, Y)
        assert_array_equal(whole.predict_proba(X), chain.predict_proba(X))


def test_members_know_the_names():
    pd = pytest.importorskip("pandas")
    X, Y = made(90, 3, 4)
    frame = pd.DataFrame(Y, columns=["sea", "sun", "sky", "sand"])
    learner = EnsembleOfChains(BASE, n_estimators=1, random_state=0).fit(X, frame)
    assert learner.estimators_[0].label_names_.tolist() == ["sea", "sun", "sky", "sand"]
