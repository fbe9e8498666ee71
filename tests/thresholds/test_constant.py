import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from plurilabel import CardinalityThreshold, ConstantThreshold
from plurilabel.thresholds._constant import cut_for_total
from tests.thresholds.cases import every_cut, problems


def test_constant_is_strict():
    scores, Y = np.array([[0.5, 0.6], [0.4, 0.5]]), np.array([[1, 0], [0, 1]])
    assert ConstantThreshold(0.5).fit(None, Y).predict(scores).tolist() == [[0, 1], [0, 0]]


def test_float32_scores_are_compared_in_float64():
    scores = np.array([[0.1]], dtype=np.float32)  # a little above the float64 number 0.1
    assert ConstantThreshold(0.1).fit(None, [[1]]).predict(scores).tolist() == [[1]]
    assert ConstantThreshold(float(scores[0, 0])).fit(None, [[1]]).predict(scores).tolist() == [
        [0]
    ]


@given(problems())
def test_as_close_as_any_cut(problem):
    scores, Y = problem
    strategy = CardinalityThreshold().fit(scores, Y)
    differences = {cut: abs(int((scores > cut).sum()) - int(Y.sum())) for cut in every_cut(scores)}
    predicted = strategy.predict(scores)
    assert abs(int(predicted.sum()) - int(Y.sum())) == min(differences.values())
    # of equally close cuts the higher
    highest = max(cut for cut, d in differences.items() if d == min(differences.values()))
    np.testing.assert_array_equal(predicted, scores > highest)
    assert strategy.cardinality_ == Y.sum() / len(Y)


@given(problems(), st.floats(0, 1))
def test_for_any_number(problem, share):
    scores, _ = problem
    wanted = share * scores.size
    got = (scores > cut_for_total(scores, wanted)).sum()
    best = min(abs((scores > cut).sum() - wanted) for cut in every_cut(scores))
    assert abs(got - wanted) == pytest.approx(best, abs=1e-12)


@st.composite
def batches(draw):
    scores, Y = draw(problems())
    return scores, Y, draw(st.lists(st.integers(0, len(Y) - 1), min_size=1, max_size=5))


# the sum of this batch overflows to both infinities on the way
HUGE = np.ldexp([[-4.0, 1, 1, 1], [1, 1, 1, 1]], 1021)


@given(batches())
@example((HUGE, np.zeros((2, 4), dtype=int), [0, 1, 0, 1]))
def test_batches_are_cut_by_themselves(problem):
    scores, Y, rows = problem
    strategy = CardinalityThreshold(batch=True).fit(None, Y)
    wanted = Y.sum() / len(Y) * len(rows)
    differences = {
        cut: abs((scores[rows] > cut).sum() - wanted) for cut in every_cut(scores[rows])
    }
    got = abs(strategy.predict(scores[rows]).sum() - wanted)
    assert got == pytest.approx(min(differences.values()), abs=1e-12)
    assert strategy.cut_ is None
    np.testing.assert_array_equal(
        strategy.fit(scores, Y).predict(scores),
        CardinalityThreshold().fit(scores, Y).predict(scores),
    )


def test_cut_is_halfway():
    def cut(y):
        return CardinalityThreshold().fit([[4.0, 2.0, 1.0]], [y]).cut_

    assert cut([1, 0, 0]) == 3.0
    assert cut([0, 0, 0]) == 4.0
    assert cut([1, 1, 1]) == np.nextafter(1.0, 0)
    with pytest.raises(
        ValueError, match="scores must be given: CardinalityThreshold learns from them"
    ):
        CardinalityThreshold().fit(None, [[1, 0]])
