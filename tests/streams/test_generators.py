import numpy as np
import pytest

from plurilabel.streams import (
    Drift,
    LabelDependenceStream,
    MovingCentreStream,
    RandomTreeStream,
)

ALL = [RandomTreeStream, MovingCentreStream, LabelDependenceStream]


def arrays(stream):
    rows = list(stream)
    X = np.array([list(x.values()) for x, _ in rows])
    Y = np.array([list(y.values()) for _, y in rows])
    return X, Y


def agreement(X, Y, train, test):
    """Share of the labels of some rows that the nearest of other rows have too."""
    distance = ((X[test, None] - X[None, train]) ** 2).sum(axis=2)
    return (Y[test] == Y[train][distance.argmin(axis=1)]).mean()


@pytest.mark.parametrize("make", ALL)
@pytest.mark.parametrize("drift", ["none", "sudden", "gradual", "recurring", "labels"])
def test_rows_follow_from_the_seed(make, drift):
    stream = make(200, 4, 3, drift=drift, random_state=5)
    rows = list(stream)
    assert rows == list(stream) == list(make(200, 4, 3, drift=drift, random_state=5))
    assert rows != list(make(200, 4, 3, drift=drift, random_state=6))
    assert len(rows) == len(stream) == 200
    assert list(rows[0][0]) == ["x0", "x1", "x2", "x3"]
    assert list(rows[0][1]) == ["label0", "label1", "label2"]
    assert {type(v) for x, y in rows for v in (*x.values(), *y.values())} == {float, bool}
    assert [d.row for d in stream.drifts] == ([] if drift == "none" else [50, 100, 150])


@pytest.mark.parametrize(
    ("make", "options"), [(RandomTreeStream, {}), (MovingCentreStream, {"spread": 0.05})]
)
def test_a_sudden_drift_is_where_it_is_said_to_be(make, options):
    X, Y = arrays(make(1200, 3, 5, drift_at=[800], noise=0, random_state=1, **options))
    old = np.arange(400)
    before = agreement(X, Y, old, np.arange(600, 800))
    after = agreement(X, Y, old, np.arange(800, 1000))
    again = agreement(X, Y, np.arange(800, 1000), np.arange(1000, 1200))
    assert before > 0.85 and again > 0.8 and after < 0.7


@pytest.mark.parametrize("make", [RandomTreeStream, MovingCentreStream])
def test_concepts_are_alike_in_their_label_frequencies(make):
    Y = arrays(make(4000, 6, 5, noise=0, random_state=2))[1]
    shares = [part.mean(axis=0) for part in np.split(Y, 4)]
    assert np.min(shares) > 0.3 and np.max(shares) < 0.5


def test_a_gradual_drift_takes_its_width():
    plain = dict(n_features=3, n_labels=5, noise=0, random_state=1)
    stream = RandomTreeStream(1600, drift="gradual", drift_at=[800], width=400, **plain)
    assert stream.drifts == (Drift(800, 400, "gradual"),)
    X, Y = arrays(stream)
    old = np.arange(600)
    shares = [agreement(X, Y, old, np.arange(a, a + 200)) for a in (600, 800, 1000, 1200)]
    assert shares[0] > shares[1] > shares[2] > shares[3]


def test_recurring_concepts_come_back():
    X, Y = arrays(RandomTreeStream(1600, 3, 5, drift="recurring", noise=0, random_state=1))
    old = np.arange(400)
    turns = [agreement(X, Y, old, np.arange(a, a + 400)) for a in (400, 800, 1200)]
    assert turns[1] > 0.85 and max(turns[0], turns[2]) < 0.7


def test_label_drift_shifts_frequencies_only():
    stream = MovingCentreStream(2000, 3, 6, drift="labels", drift_at=[1000], noise=0, spread=0.05)
    X, Y = arrays(stream)
    shift = Y[1000:].mean(axis=0) - Y[:1000].mean(axis=0)
    assert (shift > 0.1).any() and (shift < -0.02).any()
    assert agreement(X, Y, np.arange(1000), np.arange(1000, 2000)) > 0.9


def test_moving_centres_move_all_the_time():
    stream = MovingCentreStream(3000, 3, 5, drift="moving", spread=0.03, speed=0.001, noise=0)
    X, Y = arrays(stream)
    assert X.min() > -0.2 and X.max() < 1.2
    near = agreement(X, Y, np.arange(2500, 2750), np.arange(2750, 3000))
    far = agreement(X, Y, np.arange(250), np.arange(2750, 3000))
    assert near > far + 0.1


def test_dependence_turns_and_each_label_stays():
    stream = LabelDependenceStream(8000, 4, 3, drift_at=[4000], noise=0)
    X, Y = arrays(stream)
    halves = Y[:4000].astype(float), Y[4000:].astype(float)
    for l in range(3):  # P(y | x) of one label: the same direction and the same share
        a, b = (np.linalg.lstsq(x, y[:, l])[0] for x, y in zip((X[:4000], X[4000:]), halves))
        np.testing.assert_allclose(a, b, atol=0.05)
        assert abs(halves[0][:, l].mean() - halves[1][:, l].mean()) < 0.04
    same = [(y[:, 0] == y[:, 1]).mean() for y in halves]
    assert same[0] - same[1] > 0.2


def test_new_labels_appear_at_drifts():
    stream = RandomTreeStream(400, n_labels=4, new_labels=2)
    sizes = [len(y) for _, y in stream]
    assert sizes == [2] * 100 + [3] * 100 + [4] * 200


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"drift": "slow"}, "drift"),
        ({"drift": "moving"}, "drift"),
        ({"n_rows": 0}, "n_rows"),
        ({"noise": 2}, "noise"),
        ({"drift_at": [500, 400]}, "drift_at must be ascending"),
        ({"drift_at": [0]}, "drift_at must be ascending"),
        ({"drift": "gradual", "drift_at": [100, 200], "width": 300}, "width must fit"),
        ({"new_labels": 4}, "new_labels must be at most the number of drifts, 3"),
        ({"depth": 0}, "'depth' parameter .* must be an int in the range"),
    ],
)
def test_bad_options(options, words):
    with pytest.raises(ValueError, match=words):
        RandomTreeStream(**{"n_rows": 1000, **options})


def test_one_row_one_feature_one_label():
    for make in ALL:
        assert len(list(make(1, 1, 1, drift="none"))) == 1
