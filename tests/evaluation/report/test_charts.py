"""The charts of the report."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from plurilabel.evaluation._report._charts import (
    frequency_against_recall,
    label_f1,
    log_ticks,
    shown_labels,
    text_width,
    ticks,
    time_against_quality,
)
from plurilabel.evaluation._report._findings import Findings
from tests.evaluation.report.example_results import LEARNERS, example_results


def test_front_of_time_and_quality():
    results = example_results(1, 4, 1, measures=["f1"])
    wanted = {LEARNERS[0]: (0.5, 1.0), LEARNERS[1]: (0.6, 2.0), LEARNERS[2]: (0.55, 3.0),
              LEARNERS[3]: (0.9, 4.0)}  # fmt: skip
    for cell in results.cells:
        value, seconds = wanted[cell["learner"]]
        cell.update(scores={"f1": value}, fit_seconds=seconds, predict_seconds=0.0)
    (figure,) = time_against_quality(Findings(results), "data0")
    assert figure.caption.endswith(
        "those joined: MLkNN(n_neighbors=5), MLkNN(n_neighbors=10) and RAkEL."
    )
    dots = [mark.text for mark in figure.marks if mark.style.startswith("dot")]
    assert len(dots) == 4
    assert f"{LEARNERS[2]}: 0.5500 in 3 s" in dots


def test_recall_and_f1_come_from_summed_counts():
    results = example_results(1, 2, 2, 3)
    for cell in results.cells:
        fold = cell["fold"]
        cell["per_label"] = {
            "tp": [3 + fold, 0, 0], "fn": [1, 0, 2], "fp": [2, 0, 1], "tn": [0, 0, 0],
        }  # fmt: skip
    pooled = Findings(results).pooled["data0", LEARNERS[0]]
    np.testing.assert_array_equal(pooled["tp"], [7, 0, 0])
    np.testing.assert_allclose(label_f1(pooled), [14 / (14 + 4 + 2), np.nan, 0])
    assert len(frequency_against_recall(Findings(results), "data0")) == 1


def test_many_labels_are_thinned_from_frequent_to_rare():
    counts = np.random.default_rng(0).permutation(1000).astype(float)
    shown = shown_labels(counts, 30)
    assert len(shown) == 30
    kept = counts[shown]
    assert (np.diff(kept) < 0).all()
    assert (kept[0], kept[-1]) == (999, 0)
    assert shown_labels(counts[:5]).tolist() == np.argsort(-counts[:5]).tolist()


@given(st.floats(-1e6, 1e6), st.floats(1e-6, 1e6))
def test_ticks_are_round_and_inside(low, wide):
    high = low + wide
    assume(high - low >= 1e-9 * max(abs(low), abs(high)))
    found = ticks(low, high)
    values = [tick for tick, _ in found]
    slack = 1e-6 * (high - low)
    assert all(low - slack <= tick <= high + slack for tick in values)
    assert 2 <= len(found) <= 8
    assert len({text for _, text in found}) == len(found)
    for tick, text in found:
        assert float(text) == pytest.approx(tick, abs=slack)


@given(st.floats(-4, 4), st.floats(0.05, 8))
def test_log_ticks(low, wide):
    found = log_ticks(low, low + wide)
    assert len(found) <= 10
    for exponent, text in found:
        assert low - 1e-6 <= exponent <= low + wide + 1e-6
        assert float(text) == pytest.approx(10**exponent, rel=1e-6)


def test_widths_and_ticks():
    assert [round(text_width(text)) for text in ("iii", "MMM", "海海海")] == [14, 36, 42]
    assert [text for _, text in ticks(0.13, 0.58)] == ["0.2", "0.3", "0.4", "0.5"]
    assert [text for _, text in log_ticks(-2, 2)] == ["0.01", "0.1", "1", "10", "100"]
