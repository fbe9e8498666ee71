import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plurilabel import PCut
from tests.thresholds.cases import labels_like, matrices


@given(matrices(), st.data())
@settings(deadline=None)
def test_pcut_meets_the_shares_of_the_batch(scores, data):
    Y = data.draw(labels_like(scores))
    n, q = scores.shape
    strategy = PCut().fit(None, Y)
    batch = np.vstack([scores, scores[::-1]])
    got = strategy.predict(batch)
    for l in range(q):
        wanted = int(np.floor(Y[:, l].sum() / n * (2 * n) + 0.5))
        ranked = sorted(range(2 * n), key=lambda i: (-batch[i, l], i))
        assert np.flatnonzero(got[:, l]).tolist() == sorted(ranked[:wanted])


def test_pcut_factor_and_batch():
    scores = np.arange(8.0).reshape(8, 1)
    Y = (scores >= 6).astype(int)  # a share of 1/4
    assert PCut(factor=2).fit(None, Y).predict(scores).sum() == 4
    assert PCut(factor=9).fit(None, Y).predict(scores).sum() == 8
    assert PCut().fit(None, Y).predict(scores[-1:]).sum() == 0  # a quarter of one instance
    single = PCut(batch=False).fit(scores, Y)
    assert single.cuts_.tolist() == [5.5]
    assert single.predict(scores[-1:]).sum() == 1
    assert PCut(factor=9, batch=False).fit(scores, Y).predict(scores).sum() == 8
    with pytest.raises(ValueError, match="scores must be given: PCut learns from them"):
        PCut(batch=False).fit(None, Y)
    with pytest.raises(ValueError, match="'factor' parameter of PCut must be .* Got -1"):
        PCut(factor=-1).fit(None, Y)
