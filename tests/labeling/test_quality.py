"""Figures by label."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.stats import binomtest, ks_2samp

from plurilabel.inspection import LabelConfusionDisplay
from plurilabel.labeling import confusions, drift, quality
from plurilabel.metrics import per_label

RNG = np.random.default_rng(0)
Y = (RNG.random((200, 4)) < [0.5, 0.3, 0.1, 0.02]).astype(int)
Z = np.where(RNG.random(Y.shape) < [0.02, 0.1, 0.2, 0.3], 1 - Y, Y)
NAMES = ["a", "b", "c", "d"]


def test_measures_and_wilsons_intervals():
    table, counted = quality(Y, Z, label_names=NAMES), per_label(Y, labels=Z)
    assert table.label_names == ["d", "c", "b", "a"]
    back = [table.label_names.index(name) for name in NAMES]
    for name in ("precision", "recall", "f1"):
        assert_allclose(table[name][back], counted[name])
    for j in range(4):
        tp, fp, fn = (int(counted[name][j]) for name in ("tp", "fp", "fn"))
        for name, of in (("precision", tp + fp), ("recall", tp + fn)):
            exact = binomtest(tp, of).proportion_ci(method="wilson")
            assert_allclose([table[f"{name}_low"][back[j]], table[f"{name}_high"][back[j]]], exact)
        low, high = binomtest(tp, tp + fp + fn).proportion_ci(method="wilson")
        assert_allclose(table["f1_low"][back[j]], 2 * low / (1 + low))
        assert_allclose(table["f1_high"][back[j]], 2 * high / (1 + high))


def test_the_interval_of_f1_covers_it():
    p_true, p_hit, p_false = 0.2, 0.7, 0.05
    expected = 2 * p_true * p_hit / (p_true + p_true * p_hit + 0.8 * p_false)
    rng, inside = np.random.default_rng(1), 0
    for _ in range(400):
        y = rng.random((150, 1)) < p_true
        z = np.where(y, rng.random((150, 1)) < p_hit, rng.random((150, 1)) < p_false)
        table = quality(y.astype(int), z.astype(int))
        inside += table["f1_low"][0] <= expected <= table["f1_high"][0]
    assert 0.92 <= inside / 400 <= 0.99


def test_labels_that_nothing_is_known_of():
    frame = pd.DataFrame({"sea": [0, 0], "sun": [1, 0]})
    table = quality(frame, [[0, 0], [0, 1]])
    assert table.label_names == ["sun", "sea"] and np.isnan(table["f1"][1])
    assert table["f1"][0] == 0 and 0 < table["f1_high"][0] < 1


def test_confusions_are_those_of_the_display():
    pytest.importorskip("matplotlib")
    counts = LabelConfusionDisplay.from_predictions(Y, Z).counts[:, :-1].astype(float)
    np.fill_diagonal(counts, 0)
    pairs = confusions(Y, Z, label_names=NAMES, n=99)
    assert sum(n for *_, n in pairs) == counts.sum()
    for missed, wrong, n in pairs:
        assert counts[NAMES.index(missed), NAMES.index(wrong)] == n
    assert [n for *_, n in pairs] == sorted((n for *_, n in pairs), reverse=True)
    assert confusions(Y, Y) == []


def test_drift():
    S = RNG.random((400, 3))
    later = RNG.random((150, 3)) ** [1, 3, 1]
    found = drift(S, later, label_names=["a", "b", "c"])
    assert found.label_names[0] == "b" and found["drifted"].tolist() == [True, False, False]
    assert_allclose(found["p_value"][0], 3 * ks_2samp(S[:, 1], later[:, 1], method="asymp").pvalue)
    assert_allclose(found["before"][0], S[:, 1].mean())
    same = drift(S, S)
    assert not same["drifted"].any() and (same["distance"] == 0).all()
    with pytest.raises(ValueError, match="the same labels, got shapes"):
        drift(S, S[:, :2])
    with pytest.raises(ValueError, match="the same labels, got shapes"):
        drift(S, S[:0])


def test_drift_of_single_rows_and_of_nan():
    assert drift([[1.0]], [[0.0]])["p_value"].tolist() == [1.0]
    with pytest.raises(ValueError, match="must be numbers, got NaN"):
        drift([[1.0], [np.nan]], [[0.0], [1.0]])
