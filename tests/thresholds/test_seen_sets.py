"""SeenSets, against the likelihood of each set and the Hamming distance to it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plurilabel import SeenSets
from tests.thresholds.cases import labels_like, matrices


@given(matrices(max_n=5, max_q=4), st.data())
@settings(deadline=None)
def test_nearest_seen_set_by_log_loss(scores, data):
    Y = data.draw(labels_like(scores))
    got = SeenSets().fit(None, Y).predict(scores)
    p = np.clip(scores, 2**-52, 1 - 2**-52)
    for f, row in zip(p, got):
        log_p = [np.where(z == 1, np.log(f), np.log1p(-f)).sum() for z in Y]
        assert row.tolist() in Y.tolist()
        assert np.where(row == 1, np.log(f), np.log1p(-f)).sum() == pytest.approx(max(log_p))


@given(matrices(max_n=5, max_q=4), st.data())
@settings(deadline=None)
def test_nearest_seen_set_by_hamming(scores, data):
    Y = data.draw(labels_like(scores))
    got = SeenSets("hamming", cut=0.5).fit(None, Y).predict(scores)
    count = {tuple(z): Y.tolist().count(z) for z in Y.tolist()}
    first = {z: Y.tolist().index(list(z)) for z in count}
    for f, row in zip(scores, got):
        differ = {z: int((np.array(z) != (f > 0.5)).sum()) for z in count}
        ranked = sorted(
            count, key=lambda z: (differ[z], -float((f - 0.5) @ np.array(z)), -count[z], first[z])
        )
        assert tuple(row.tolist()) == ranked[0]


def test_seen_sets_prefer_frequent_ones():
    Y = [[1, 0], [0, 1], [0, 1]]
    strategy = SeenSets().fit(None, Y)
    assert strategy.sets_.toarray().tolist() == [[0, 1], [1, 0]]
    assert strategy.predict([[0.3, 0.3]]).tolist() == [[0, 1]]
    assert strategy.predict([[1.0, 0.0], [0.0, 0.0]]).tolist() == [[1, 0], [0, 1]]


def test_seen_sets_bad_input():
    with pytest.raises(ValueError, match=r"SeenSets\(distance=\"log_loss\"\), got 2"):
        SeenSets().fit([[2.0]], [[1]])
    with pytest.raises(ValueError, match="got 2"):
        SeenSets().fit(None, [[1]]).predict([[2.0]])
    with pytest.raises(ValueError, match="'distance' parameter of SeenSets must be .* Got 'l1'"):
        SeenSets("l1").fit(None, [[1]])


def test_lift_prefers_sets_that_occur_more_often_than_their_labels_tell():
    rng = np.random.default_rng(5)
    Y = (rng.random((40, 3)) < [0.5, 0.3, 0.2]).astype(int)
    Y[:10] = [1, 1, 1]
    scores = rng.uniform(0.05, 0.95, (30, 3))
    p = (Y.sum(axis=0) + 0.5) / 41
    sets, counts = np.unique(Y, axis=0, return_counts=True)
    for lift in (0.0, 0.5, 1.0):
        got = SeenSets(lift=lift).fit(None, Y).predict(scores)
        for f, z in zip(scores, got):
            fits = []
            for one, count in zip(sets, counts):
                likely = np.prod(np.where(one, f, 1 - f))
                alone = np.prod(np.where(one, p, 1 - p))
                fits.append(np.log(likely) + lift * (np.log(count / 40) - np.log(alone)))
            assert z.tolist() == sets[int(np.argmax(fits))].tolist()
