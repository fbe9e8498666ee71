"""Verdicts."""

from hypothesis import given
from hypothesis import strategies as st

from benchmarks.papers.paper import Known
from benchmarks.papers.reproduction import judge, judge_recorded

value = st.integers(0, 40).map(lambda i: i / 40)


@given(
    ours=value,
    published=value,
    tolerance=st.integers(0, 8).map(lambda i: i / 40),
    no_worse=st.booleans(),
    greater=st.booleans(),
    known=st.none() | value,
)
def test_verdicts(ours, published, tolerance, no_worse, greater, known):
    found = judge(
        ours,
        published,
        tolerance,
        claim="no worse" if no_worse else "same",
        greater_is_better=greater,
        known=None if known is None else Known(known, "because"),
    )
    near = round(40 * abs(ours - published)) <= round(40 * tolerance)
    good = ours > published if greater else ours < published
    if near:
        assert found.verdict == "holds" and found.passed
    elif good and no_worse:
        assert found.verdict == "better" and found.passed
    else:
        assert found.verdict == "differs"
        # a difference passes only with evidence, and only if that speaks of this value
        as_said = known is not None and round(40 * abs(ours - known)) <= round(40 * tolerance)
        assert found.passed == as_said
        assert ("because" in found.reason) == (known is not None)


def test_a_recorded_value_must_stay():
    assert judge_recorded(0.5, 0.501, 0.002).passed
    changed = judge_recorded(0.5, 0.51, 0.002)
    assert changed.verdict == "changed" and not changed.passed and "0.51" in changed.reason


def test_nothing_passes_without_a_value():
    nan = float("nan")
    assert not judge(nan, 0.5, 0.1, claim="no worse", greater_is_better=True).passed
    assert not judge_recorded(nan, 0.5, 0.1).passed


def test_verdicts_of_close_and_distant_values():
    found = [
        judge(0.1968, 0.197, 0.003, claim="same", greater_is_better=False),
        judge(0.159, 0.179, 0.01, claim="no worse", greater_is_better=False),
        judge(0.159, 0.179, 0.01, claim="same", greater_is_better=False),
    ]
    assert [one.verdict for one in found] == ["holds", "better", "differs"]
    assert (found[2].passed, found[2].reason) == (False, "")
