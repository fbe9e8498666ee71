"""GlobalThreshold, against brute force over every cut."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plurilabel import GlobalThreshold, metrics
from plurilabel.thresholds import _global as global_module
from tests.thresholds.cases import MEASURES, every_cut, matrix_measure, problems

GLOBAL = [
    *(f"{mean}_{name}" for mean in ("micro", "macro") for name in MEASURES),
    *("accuracy", "precision", "recall", "f1", "f2", "f0.5", "subset_accuracy"),
]


def test_all_measures_are_tested():
    assert set(GLOBAL) == set(global_module.MEASURES)


@given(problems(), st.sampled_from(GLOBAL))
@settings(max_examples=200, deadline=None)
def test_best_of_all_cuts(problem, name):
    scores, Y = problem
    strategy = GlobalThreshold(name).fit(scores, Y)
    values = {cut: matrix_measure(name, Y, scores > cut) for cut in every_cut(scores)}
    # where nothing is defined, any prediction is as good as none
    best = max(value if value == value else 0.0 for value in values.values())
    predicted = strategy.predict(scores)
    reached = matrix_measure(name, Y, predicted == 1)
    assert strategy.value_ == pytest.approx(reached, abs=1e-11, nan_ok=True)
    assert np.nan_to_num(reached) == pytest.approx(best, abs=1e-11)
    highest = max(cut for cut, value in values.items() if not value < best - 1e-12)
    np.testing.assert_array_equal(predicted, scores > highest)


@pytest.mark.parametrize("name", sorted(set(metrics.MEASURES) & set(GLOBAL)))
def test_optimises_the_measure_of_that_name(name):
    rng = np.random.default_rng(0)
    Y = (rng.random((40, 4)) < [0.5, 0.3, 0.1, 0.02]).astype(int)
    assert (Y.sum(axis=1) == 0).any()
    scores = rng.random((40, 4)) * 0.6 + 0.2 * Y
    strategy = GlobalThreshold(name).fit(scores, Y)
    measure = getattr(metrics, name)
    every = [measure(Y, (scores > cut).astype(int)) for cut in every_cut(scores)]
    assert strategy.value_ == pytest.approx(np.nanmax(every))
    assert measure(Y, strategy.predict(scores)) == pytest.approx(np.nanmax(every))


def test_a_function_of_the_counts_is_a_micro_measure():
    rng = np.random.default_rng(0)
    scores, Y = rng.random((30, 4)), rng.integers(0, 2, (30, 4))
    function = GlobalThreshold(lambda tp, fp, fn, _tn: tp / (tp + fp + fn)).fit(scores, Y)
    assert function.cut_ == GlobalThreshold("micro_jaccard").fit(scores, Y).cut_


@pytest.mark.parametrize("name", ["f1", "macro_f1", "subset_accuracy"])
@pytest.mark.parametrize("bins", [1, 2, 7, 2**16])
def test_does_not_depend_on_bins_or_blocks(name, bins, monkeypatch):
    rng = np.random.default_rng(0)
    scores = np.round(rng.random((60, 5)) ** 3, 2)
    Y = (rng.random((60, 5)) < scores).astype(int)
    values = {cut: matrix_measure(name, Y, scores > cut) for cut in every_cut(scores)}
    best = max(cut for cut, value in values.items() if value >= max(values.values()) - 1e-12)
    search = global_module._best_prefix
    monkeypatch.setattr(global_module, "_best_prefix", lambda *given: search(*given, bins=bins))
    monkeypatch.setattr(global_module, "BLOCK", 1)  # row by row
    predicted = GlobalThreshold(name).fit(scores, Y).predict(scores)
    np.testing.assert_array_equal(predicted, scores > best)


def test_ends_are_finite():
    scores = [[0.5, 0.25]]
    assert GlobalThreshold("micro_accuracy").fit(scores, [[0, 0]]).cut_ == 0.5
    assert GlobalThreshold("accuracy").fit(scores, [[0, 0]]).cut_ == 0.5
    assert GlobalThreshold("micro_recall").fit(scores, [[1, 1]]).cut_ == np.nextafter(0.25, 0)
    assert GlobalThreshold("recall").fit(scores, [[1, 1]]).cut_ == np.nextafter(0.25, 0)
    with pytest.raises(
        ValueError, match="'measure' parameter of GlobalThreshold must be .* Got 'hamm'"
    ):
        GlobalThreshold("hamm").fit(scores, [[1, 1]])
