"""ADWIN against river's, and in model files."""

import numpy as np
import pytest

from plurilabel import NeighborSubspaceEnsemble, StreamBinaryRelevance
from plurilabel._core.fitted import check_fitted
from plurilabel.models import Model, load_model, save_model
from plurilabel.streams import ADWIN


def errors(seed):
    rng = np.random.default_rng(seed)
    shares = np.repeat(rng.random(4), rng.integers(50, 400))
    if seed % 2:
        return (rng.random(len(shares)) < shares).astype(float).tolist()
    return np.clip(shares + rng.normal(0, 0.2, len(shares)), 0, 1).tolist()


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(
    "settings", [{}, {"delta": 0.05, "clock": 7, "max_buckets": 3, "min_window_length": 3}]
)
def test_the_same_drifts_as_by_river(seed, settings):
    drift = pytest.importorskip("river.drift")
    ours, theirs = ADWIN(**settings), drift.ADWIN(**settings)
    drifts = 0
    for error in errors(seed):
        ours.update(error)
        theirs.update(error)
        assert (ours.drift_detected, ours.width) == (theirs.drift_detected, theirs.width)
        assert ours.variance == pytest.approx(theirs.variance, abs=1e-8)
        drifts += ours.drift_detected
    assert drifts


def test_values_that_become_constant():
    """What is left of the variance is rounded to less than 0."""
    drift = pytest.importorskip("river.drift")
    ours, theirs, lowest = ADWIN(), drift.ADWIN(), 0.0
    for value in [*np.random.default_rng(0).choice([0.6, 0.8, 2 / 3, 1.0], 21), *[0.0] * 299]:
        ours.update(value)
        theirs.update(value)
        assert (ours.drift_detected, ours.width) == (theirs.drift_detected, theirs.width)
        lowest = min(lowest, ours.variance)
    assert lowest < 0


def learner_of_a_stream():
    rng = np.random.default_rng(0)
    X = rng.random((300, 4))
    Y = np.column_stack([X[:, 0] > 0.5, X[:, 1] > 0.5]).astype(int)
    Y[150:] = 1 - Y[150:]
    learner = NeighborSubspaceEnsemble(3, window_size=100, random_state=0).partial_fit(X, Y)
    assert all(watch.width for watch in learner.core_.watches)
    return learner, X, Y


def test_a_learner_with_detectors_goes_on_where_it_was_saved(tmp_path):
    pytest.importorskip("skops.io", reason="model files need skops")
    learner, X, Y = learner_of_a_stream()
    save_model(Model(learner, list("ab"), list("vwxy")), tmp_path / "m.skops")
    back = load_model(tmp_path / "m.skops").estimator
    for part in (slice(0, 150), slice(150, 300)):
        np.testing.assert_array_equal(learner.predict_proba(X), back.predict_proba(X))
        learner.partial_fit(X[part], Y[part])
        back.partial_fit(X[part], Y[part])
        assert [vars(watch) for watch in learner.core_.watches] == [
            vars(watch) for watch in back.core_.watches
        ]


@pytest.mark.parametrize(
    "change",
    [
        {"clock": 0},
        {"total": float("nan")},
        {"buckets": np.array([[99.0, 1, 1]])},
        {"more": 1},
        {"buckets": np.full((1, 3), np.inf)},
    ],
)
def test_made_up_states_are_refused(change):
    with pytest.raises(ValueError, match="an ADWIN must"):
        ADWIN().__setstate__({**ADWIN().__getstate__(), **change})


def test_learners_around_river_say_what_to_do_instead(tmp_path):
    pytest.importorskip("river")
    learner = StreamBinaryRelevance().fit([[0.0], [1.0]] * 5, [[0, 1], [1, 0]] * 5)
    with pytest.raises(ValueError, match="cannot be saved: .*river.* take Nei"):
        save_model(Model(learner, list("ab"), ["x"]), tmp_path / "m.skops")


def test_more_neighbours_than_the_window_has_are_refused():
    """They are made room for, whether they are there or not."""
    learner, _, _ = learner_of_a_stream()
    check_fitted(learner.core_)
    learner.core_.ks[-1] = 2**31
    with pytest.raises(ValueError, match="ks of a Watched must be at least 0 and below 101"):
        check_fitted(learner.core_)
