"""Strategies with a cut, against brute force over every cut, written from the definitions."""

from collections import namedtuple
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from plurilabel import metrics
from plurilabel.thresholds import (
    CardinalityCut,
    ConstantCut,
    GlobalCut,
    LinearCut,
    SCut,
    apply_cut,
    cardinality_cut,
    global_cut,
    instance_cuts,
    label_cuts,
)
from plurilabel.thresholds import _global as global_module
from plurilabel.thresholds._sweep import best_size, cut_between, cut_keeping


@st.composite
def problems(draw, max_n=8, max_q=5):
    """Scores with many ties, or none, and labels; never-present labels and empty rows occur."""
    n, q = draw(st.integers(1, max_n)), draw(st.integers(1, max_q))
    entry = draw(
        st.sampled_from(
            [
                st.integers(0, 4).map(lambda i: i / 4),
                st.integers(-3, 3).map(float),
                st.floats(-1e3, 1e3, width=32),
                st.floats(-1.7e308, 1.7e308),
            ]
        )
    )
    scores = draw(hnp.arrays(np.float64, (n, q), elements=entry))
    Y = draw(hnp.arrays(np.int8, (n, q), elements=st.integers(0, 1)))
    return scores, Y


def every_cut(scores):
    """One cut for each prediction that a constant cut can make."""
    values = sorted(set(np.ravel(scores).tolist()))
    return [-np.inf, *values]


Counts = namedtuple("Counts", "tp fp fn tn")


def counts(y, predicted):
    pairs = list(zip(np.ravel(y).tolist(), np.ravel(predicted).tolist()))
    return Counts(*(pairs.count(pair) for pair in ((1, True), (0, True), (1, False), (0, False))))


def div(a, b):
    return a / b if b else 0.0


MEASURES = {
    "accuracy": lambda c: div(c.tp + c.tn, sum(c)),
    "balanced_accuracy": lambda c: (div(c.tp, c.tp + c.fn) + div(c.tn, c.tn + c.fp)) / 2,
    "precision": lambda c: div(c.tp, c.tp + c.fp),
    "recall": lambda c: div(c.tp, c.tp + c.fn),
    "f1": lambda c: div(2 * c.tp, 2 * c.tp + c.fp + c.fn),
    "f2": lambda c: div(5 * c.tp, 5 * c.tp + c.fp + 4 * c.fn),
    "f0.5": lambda c: div(1.25 * c.tp, 1.25 * c.tp + c.fp + 0.25 * c.fn),
    "jaccard": lambda c: div(c.tp, c.tp + c.fp + c.fn),
}


def matrix_measure(name, Y, predicted):
    """A measure of a label matrix by its name, as plurilabel.metrics names them."""
    kind, _, base = name.partition("_")
    if kind == "micro":
        return MEASURES[base](counts(Y, predicted))
    if kind == "macro":
        return np.mean([MEASURES[base](counts(y, p)) for y, p in zip(Y.T, predicted.T)])
    if name == "subset_accuracy":
        return np.mean([bool((y == p).all()) for y, p in zip(Y, predicted)])
    base = "jaccard" if name == "accuracy" else name
    defined = [y.any() or (name != "recall" and p.any()) for y, p in zip(Y, predicted)]
    if not any(defined):
        return np.nan
    values = [MEASURES[base](counts(y, p)) for y, p in zip(Y, predicted)]
    return np.mean([value for value, good in zip(values, defined) if good])


# constant -------------------------------------------------------------------------------------


def test_constant_is_strict():
    scores, Y = np.array([[0.5, 0.6], [0.4, 0.5]]), np.array([[1, 0], [0, 1]])
    assert ConstantCut(0.5).fit(None, Y).predict(scores).tolist() == [[0, 1], [0, 0]]


def test_float32_scores_are_compared_in_float64():
    scores = np.array([[0.1]], dtype=np.float32)  # a little above the float64 number 0.1
    assert apply_cut(scores, 0.1).tolist() == [[1]]
    assert apply_cut(scores, float(scores[0, 0])).tolist() == [[0]]


def test_apply_cut_by_label_and_by_instance():
    scores = [[0.2, 0.4], [0.6, 0.8]]
    assert apply_cut(scores, [0.3, 0.3]).tolist() == [[0, 1], [1, 1]]
    assert apply_cut(scores, [[0.3], [0.7]]).tolist() == [[0, 1], [0, 1]]
    with pytest.raises(ValueError, match=r"cut must be .* \(2,\).* \(2, 1\).* got \(3,\)"):
        apply_cut(scores, [1, 2, 3])
    with pytest.raises(ValueError, match="cut must be a number, got NaN"):
        apply_cut(scores, np.nan)


# cardinality ----------------------------------------------------------------------------------


@given(problems())
@settings(deadline=None)
def test_cardinality_is_as_close_as_any_cut(problem):
    scores, Y = problem
    strategy = CardinalityCut().fit(scores, Y)
    differences = {cut: abs(int((scores > cut).sum()) - int(Y.sum())) for cut in every_cut(scores)}
    predicted = strategy.predict(scores)
    assert abs(int(predicted.sum()) - int(Y.sum())) == min(differences.values())
    # of equally close cuts the higher
    highest = max(cut for cut, d in differences.items() if d == min(differences.values()))
    np.testing.assert_array_equal(predicted, scores > highest)
    assert strategy.cardinality_ == Y.sum() / len(Y)


@given(problems(), st.floats(0, 1))
@settings(deadline=None)
def test_cardinality_cut_for_any_number(problem, share):
    scores, _ = problem
    n, q = scores.shape
    wanted = share * q
    got = (scores > cardinality_cut(scores, wanted)).sum() / n
    best = min(abs((scores > cut).sum() / n - wanted) for cut in every_cut(scores))
    assert abs(got - wanted) == pytest.approx(best, abs=1e-12)


def test_cardinality_cut_is_halfway():
    assert cardinality_cut([[4.0, 2.0, 1.0]], 1) == 3.0
    assert cardinality_cut([[4.0, 2.0, 1.0]], 0) == 4.0
    assert cardinality_cut([[4.0, 2.0, 1.0]], 3) == np.nextafter(1.0, 0)
    with pytest.raises(ValueError, match="cardinality must be between 0 and 3"):
        cardinality_cut([[4.0, 2.0, 1.0]], 3.5)


# linear ---------------------------------------------------------------------------------------


def mistakes(f, y, a):
    """|{l in Y: f_l <= a}| + |{l not in Y: f_l >= a}|, as in the review."""
    return sum((fl <= a) if yl else (fl >= a) for fl, yl in zip(f, y))


@given(problems())
@settings(deadline=None)
def test_instance_cuts_make_fewest_mistakes(problem):
    scores, Y = problem
    for f, y, s in zip(scores, Y, instance_cuts(scores, Y)):
        distinct = sorted(set(f.tolist()))
        inside = [a / 2 + b / 2 for a, b in pairwise(distinct) if a < a / 2 + b / 2 < b]
        candidates = [-np.inf, *distinct, *inside, np.inf]
        fewest = min(mistakes(f, y, a) for a in candidates)
        room = all(b > np.nextafter(a, b) for a, b in pairwise(distinct))
        if room:  # else no number lies between two scores, and no cut is inside the interval
            assert mistakes(f, y, s) == fewest


def test_instance_cuts_ends_midpoints_and_ties():
    f = [[0.8, 0.5, 0.2]]
    cut = lambda y, **kw: float(instance_cuts(f, [y], **kw)[0])  # noqa: E731
    assert cut([1, 0, 0]) == pytest.approx(0.65)
    assert cut([1, 1, 0]) == pytest.approx(0.35)
    assert cut([1, 1, 1]) == pytest.approx(0.1)
    assert cut([0, 0, 0]) == pytest.approx(0.9)
    assert cut([0, 0, 0], margin=0.5) == pytest.approx(1.3)
    # above all: 1 mistake; between 0.5 and 0.2: 1 mistake. The lower cut is taken.
    assert cut([0, 1, 0]) == pytest.approx(0.35)
    with pytest.raises(ValueError, match="margin must not be negative, got -1"):
        cut([0, 1, 0], margin=-1)


@given(problems(max_n=12, max_q=3))
@settings(max_examples=50, deadline=None)
def test_linear_is_the_least_squares_fit(problem):
    scores, Y = problem
    if np.abs(scores).max() > 1e4:
        return
    strategy = LinearCut().fit(scores, Y)
    A = np.c_[scores, np.ones(len(scores))]
    s = instance_cuts(scores, Y)
    w = np.linalg.lstsq(A, s, rcond=None)[0]
    scale = 1 + np.abs(s).max()
    t = scores @ strategy.coef_ + strategy.intercept_
    np.testing.assert_allclose(t, A @ w, atol=1e-6 * scale)
    clear = np.abs(scores - t[:, None]) > 1e-6 * scale  # of rounding
    np.testing.assert_array_equal(
        (strategy.predict(scores) == 1)[clear], (scores > t[:, None])[clear]
    )


def test_linear_in_blocks(monkeypatch):
    rng = np.random.default_rng(0)
    scores, Y = rng.random((50, 4)), rng.integers(0, 2, (50, 4))
    whole = LinearCut().fit(scores, Y)
    monkeypatch.setattr(
        "plurilabel.thresholds._linear.blocks",
        lambda n, *_, **__: (slice(i, min(i + 7, n)) for i in range(0, n, 7)),
    )
    parts = LinearCut().fit(scores, Y)
    np.testing.assert_allclose(parts.coef_, whole.coef_, rtol=1e-9)
    assert parts.intercept_ == pytest.approx(whole.intercept_)


# per label ------------------------------------------------------------------------------------


@given(problems(), st.sampled_from(sorted(MEASURES)))
@settings(deadline=None)
def test_scut_is_the_best_of_all_cuts(problem, name):
    scores, Y = problem
    strategy = SCut(name).fit(scores, Y)
    predicted = strategy.predict(scores)
    for j in range(scores.shape[1]):
        f, y = scores[:, j], Y[:, j]
        values = {cut: MEASURES[name](counts(y, f > cut)) for cut in every_cut(f)}
        best = max(values.values())
        assert strategy.values_[j] == pytest.approx(best, abs=1e-15)
        assert MEASURES[name](counts(y, predicted[:, j] == 1)) == pytest.approx(best, abs=1e-15)
        highest = max(cut for cut, value in values.items() if value >= best - 1e-15)
        np.testing.assert_array_equal(predicted[:, j], f > highest)


@given(problems(max_n=12))
@settings(deadline=None)
def test_scut_takes_any_function_of_the_counts(problem):
    scores, Y = problem

    def odd(tp, fp, fn, tn):
        return np.sin(3.0 * tp - fp + 0.5 * fn) + 0.1 * np.cos(tn)

    predicted = apply_cut(scores, label_cuts(scores, Y, odd))
    for j in range(scores.shape[1]):
        f, y = scores[:, j], Y[:, j]
        best = max(float(odd(*counts(y, f > cut))) for cut in every_cut(f))
        assert float(odd(*counts(y, predicted[:, j] == 1))) == pytest.approx(best, abs=1e-12)


def test_scut_never_and_always_present():
    scores = np.array([[0.3, 0.3, 0.3], [0.6, 0.6, 0.6]])
    Y = np.array([[0, 1, 0], [0, 1, 1]])
    assert label_cuts(scores, Y).tolist() == [np.inf, -np.inf, (0.3 + 0.6) / 2]


def test_scut_fbr():
    scores = np.array([[0.9], [0.8], [0.7], [0.2]])
    Y = np.array([[0], [0], [0], [1]])
    assert label_cuts(scores, Y)[0] < 0.2  # F1 0.4 by predicting everything
    assert label_cuts(scores, Y, fbr=0.4)[0] < 0.2
    assert label_cuts(scores, Y, fbr=0.41)[0] == 0.9


def test_scut_tells_a_bad_measure():
    scores, Y = [[0.1], [0.2]], [[0], [1]]
    with pytest.raises(ValueError, match=r"measure must be a callable .* got 'f3'"):
        label_cuts(scores, Y, "f3")
    with pytest.raises(ValueError, match="measure must return one value for each entry of tp"):
        label_cuts(scores, Y, lambda *_: 1.0)
    with pytest.raises(ValueError, match="measure must return numbers, got NaN"):
        label_cuts(scores, Y, lambda *counts: counts[0] * np.nan)


@given(
    st.floats(allow_nan=False, allow_infinity=False),
    st.floats(allow_nan=False, allow_infinity=False),
)
@settings(deadline=None)
def test_cut_between_parts_neighbours(a, b):
    low, high = min(a, b), max(a, b)
    if low < high:
        assert low <= cut_between(low, high) < high


def test_neighbouring_floats_are_parted():
    high = np.nextafter(1.0, 2.0)
    assert cut_between(1.0, high) == 1.0
    assert cut_keeping(np.array([high, 1.0]), 1) == 1.0


@given(problems(max_n=30, max_q=1), st.integers(1, 7))
@settings(deadline=None)
def test_best_size_in_blocks(problem, block):
    scores, Y = problem
    ordered, chosen = np.sort(scores[:, 0])[::-1], scores[Y[:, 0] == 1, 0]
    measure = global_module.grouped_measure("micro_f1").of_counts
    assert best_size(ordered, chosen, measure, block=block) == best_size(ordered, chosen, measure)


# one for all ----------------------------------------------------------------------------------

GLOBAL = [
    *(f"{mean}_{name}" for mean in ("micro", "macro") for name in MEASURES),
    *("accuracy", "precision", "recall", "f1", "f2", "f0.5", "subset_accuracy"),
]


@given(problems(), st.sampled_from(GLOBAL))
@settings(max_examples=200, deadline=None)
def test_global_is_the_best_of_all_cuts(problem, name):
    scores, Y = problem
    strategy = GlobalCut(name).fit(scores, Y)
    values = {cut: matrix_measure(name, Y, scores > cut) for cut in every_cut(scores)}
    # where nothing is defined, any prediction is as good as none
    best = max(value if value == value else 0.0 for value in values.values())
    predicted = strategy.predict(scores)
    reached = matrix_measure(name, Y, predicted == 1)
    assert strategy.value_ == pytest.approx(reached, abs=1e-11, nan_ok=True)
    assert np.nan_to_num(reached) == pytest.approx(best, abs=1e-11)
    highest = max(cut for cut, value in values.items() if not value < best - 1e-12)
    np.testing.assert_array_equal(predicted, scores > highest)


METRICS = sorted({*metrics.MEASURES, "f1"} & set(GLOBAL))


@pytest.mark.parametrize("name", METRICS)
def test_global_optimises_the_measure_of_that_name(name):
    rng = np.random.default_rng(0)
    Y = (rng.random((40, 4)) < [0.5, 0.3, 0.1, 0.02]).astype(int)
    assert (Y.sum(axis=1) == 0).any()
    scores = rng.random((40, 4)) * 0.6 + 0.2 * Y
    strategy = GlobalCut(name).fit(scores, Y)
    measure = getattr(metrics, name)
    with np.errstate(invalid="ignore"):
        every = [measure(Y, (scores > cut).astype(int)) for cut in every_cut(scores)]
    assert strategy.value_ == pytest.approx(np.nanmax(every))
    assert measure(Y, strategy.predict(scores)) == pytest.approx(np.nanmax(every))


@pytest.mark.parametrize("name", ["f1", "macro_f1", "subset_accuracy"])
@pytest.mark.parametrize("bins", [1, 2, 7, 2**16])
def test_global_does_not_depend_on_bins_or_blocks(name, bins, monkeypatch):
    rng = np.random.default_rng(0)
    scores = np.round(rng.random((60, 5)) ** 3, 2)
    Y = (rng.random((60, 5)) < scores).astype(int)
    values = {cut: matrix_measure(name, Y, scores > cut) for cut in every_cut(scores)}
    best = max(cut for cut, value in values.items() if value >= max(values.values()) - 1e-12)
    search = global_module._best_prefix
    monkeypatch.setattr(global_module, "_best_prefix", lambda *given: search(*given, bins=bins))
    monkeypatch.setattr(global_module, "blocks", lambda n, _: (slice(i, i + 1) for i in range(n)))
    np.testing.assert_array_equal(scores > global_cut(scores, Y, name), scores > best)


def test_global_ends_are_finite():
    scores = [[0.5, 0.25]]
    assert global_cut(scores, [[0, 0]], "micro_accuracy") == 0.5
    assert global_cut(scores, [[0, 0]], "accuracy") == 0.5
    assert global_cut(scores, [[1, 1]], "micro_recall") == np.nextafter(0.25, 0)
    assert global_cut(scores, [[1, 1]], "recall") == np.nextafter(0.25, 0)
    with pytest.raises(ValueError, match="measure must be a callable .* 'micro_f1'.* got 'hamm'"):
        global_cut(scores, [[1, 1]], "hamm")


# all of them ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "strategy", [CardinalityCut(), LinearCut(), SCut(), GlobalCut("f1"), GlobalCut("macro_f1")]
)
def test_sparse_labels_and_float32_scores_give_the_same(strategy):
    rng = np.random.default_rng(1)
    scores = rng.random((40, 6)).astype(np.float32)
    Y = (rng.random((40, 6)) < 0.3).astype(int)
    before = scores.copy()
    dense = strategy.fit(scores, Y).predict(scores)
    wide = strategy.fit(np.asfortranarray(scores, dtype=np.float64), Y).predict(scores)
    np.testing.assert_array_equal(dense, wide)
    for kind in (sparse.csr_array, sparse.csc_matrix):
        got = strategy.fit(scores, kind(Y)).predict(scores)
        assert isinstance(got, sparse.csr_array) and got.dtype == np.int64
        np.testing.assert_array_equal(got.toarray(), dense)
    np.testing.assert_array_equal(scores, before)
