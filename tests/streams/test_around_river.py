"""Binary relevance, chains and pruned sets around river's classifiers, and the ensemble."""

import numpy as np
import pytest

from plurilabel import (
    NeighborSubspaceEnsemble,
    StreamBinaryRelevance,
    StreamClassifierChain,
    StreamPrunedSets,
)
from plurilabel.streams._learners._pruned_sets import SetCounts

pytestmark = pytest.mark.usefixtures("river")


def rows(n, seed=0):
    rng = np.random.default_rng(seed)
    for x in rng.normal(size=(n, 3)).tolist():
        yield dict(zip("abc", x)), {"p": x[0] > 0, "q": x[1] > 0, "r": x[0] > 0 and x[1] > 0}


def test_relevance_is_a_classifier_for_each_label(river):
    from river import drift, linear_model

    learner = StreamBinaryRelevance(
        linear_model.LogisticRegression(), drift_detector=drift.NoDrift()
    )
    alone = {label: linear_model.LogisticRegression() for label in "pqr"}
    for x, y in rows(80):
        learner.learn_one(x, y)
        for label, model in alone.items():
            model.learn_one(x, y[label])
    x, _ = next(rows(1, seed=1))
    for label, model in alone.items():
        assert learner.predict_proba_one(x)[label][True] == model.predict_proba_one(x)[True]


def test_chain_passes_labels_on(river):
    from river import drift, linear_model

    no_drift = drift.NoDrift()
    learner = StreamClassifierChain(linear_model.LogisticRegression(), drift_detector=no_drift)
    alone = [linear_model.LogisticRegression() for _ in range(3)]
    for x, y in rows(80):
        learner.learn_one(x, y)
        for l, (label, model) in enumerate(zip("pqr", alone)):
            model.learn_one({**x, **{f"[label {j}]": y["pqr"[j]] for j in range(l)}}, y[label])
    x, _ = next(rows(1, seed=1))
    found = learner.predict_proba_one(x)
    for l, (label, model) in enumerate(zip("pqr", alone)):
        assert found[label][True] == model.predict_proba_one(x)[True]
        x[f"[label {l}]"] = float(found[label][True] > 0.5)


def test_classifiers_without_probabilities(river):
    from river import linear_model

    class Decided(linear_model.PAClassifier):
        def predict_proba_one(self, x):
            raise NotImplementedError

        def predict_one(self, x):
            return linear_model.PAClassifier.predict_proba_one(self, x)[True] > 0.5

    learner = StreamBinaryRelevance(Decided())
    for x, y in rows(60):
        learner.learn_one(x, y)
    found = learner.predict_proba_one({"a": 2.0, "b": -2.0, "c": 0.0})
    assert found["p"] == {False: 0.0, True: 1.0} and found["q"] == {False: 1.0, True: 0.0}


def test_a_drift_renews_one_label_only(river):
    learner = StreamBinaryRelevance()
    for i, (x, y) in enumerate(rows(1200)):
        learner.learn_one(x, {**y, "q": y["q"] == (i < 600)})
    drifts = [model.n_drifts for model in learner.core_.models]
    assert drifts[1] >= 1 and drifts[0] == drifts[2] == 0


def test_rare_sets_are_learned_as_what_is_in_them():
    counts = SetCounts(min_count=2, max_sets=4)
    assert counts.add((0,)) == [(0,)] and counts.add((1,)) == [(1,)]
    assert counts.add((0, 1)) == [(0,)]  # rare: the first of the largest classes in it
    assert counts.add((0, 1)) == [(0, 1)]  # not any more
    assert counts.add((0, 1, 2)) == [(0, 1)]
    assert counts.add(()) == [()]
    assert counts.add((3,)) == []  # there is no room for more classes
    for l in range(4, 500):
        counts.add((l,))
    assert len(counts.counts) <= 40 and len(counts.classes) == 4
    assert counts.classes <= counts.counts.keys()


def test_sets_add_up(river):
    from river import drift, naive_bayes

    learner = StreamPrunedSets(naive_bayes.GaussianNB(), drift_detector=drift.NoDrift())
    for x, y in rows(200):
        learner.learn_one(x, y)
    x, _ = next(rows(1, seed=1))
    sets = learner.core_.model.model.predict_proba_one(x)
    found = learner.predict_proba_one(x)
    for l, label in enumerate("pqr"):
        expected = sum(p for labels, p in sets.items() if l in labels)
        assert found[label][True] == pytest.approx(expected)


def test_rows_with_unknown_labels_have_no_set(river):
    learner = StreamPrunedSets()
    for x, y in rows(20):
        learner.learn_one(x, {**y, "r": None})
    assert not learner.core_.sets.classes
    assert learner.predict_one({"a": 1.0}) == {"p": False, "q": False, "r": False}


def test_members_see_different_features_and_rows(river):
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(200, 30)), (rng.random((200, 2)) < 0.5).astype(int)
    learner = NeighborSubspaceEnsemble(6, penalty=0, random_state=0).fit(X, Y)
    core = learner.core_
    shares, kept = core.masks.mean(axis=1), core.alive[:, :200].mean(axis=1)
    assert 0.3 < shares.min() < shares.max() <= 1 and len(np.unique(core.masks, axis=0)) == 6
    assert kept.min() > 0.4 and kept.max() < 0.8
    again = NeighborSubspaceEnsemble(6, penalty=0, random_state=0).fit(X, Y)
    assert (again.predict_proba(X) == learner.predict_proba(X)).all()


def test_a_renewed_member_keeps_its_last_rows(river):
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(300, 20)), (rng.random((300, 2)) < 0.5).astype(int)
    core = NeighborSubspaceEnsemble(3, random_state=0, window_size=200).fit(X, Y).core_
    before, mask = core.alive.copy(), core.masks[1].copy()
    core._renew(1)
    assert (core.masks[1] != mask).any() and core.alive[1].sum() <= core.sizes[-1]
    assert (core.alive[[0, 2]] == before[[0, 2]]).all()
    point = core.points[core.born.argmax()]
    expected = ((core.points - point) ** 2 * core.masks[1]).sum(axis=1)
    found = core._dissimilarities(point)[1]
    np.testing.assert_allclose(found[core.alive[1]], expected[core.alive[1]], atol=1e-9)


def test_values_too_large_for_the_classifier_are_an_error():
    X = np.abs(np.random.default_rng(0).normal(size=(20, 2))) * 1e300
    Y = np.tile([[1, 0], [0, 1]], (10, 1))
    with pytest.raises(ValueError, match=r"too large for LogisticRegression, got up to"):
        StreamBinaryRelevance().fit(X, Y)
