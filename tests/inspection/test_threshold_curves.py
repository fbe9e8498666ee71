"""The plot shows what SCut finds."""

import sys

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from plurilabel import SCut
from plurilabel.inspection import plot_threshold_curves

mpl.use("Agg")
from matplotlib import pyplot as plt


@pytest.fixture
def problem():
    rng = np.random.default_rng(0)
    Y = (rng.random((200, 3)) < [0.5, 0.3, 0.1]).astype(int)
    return Y, rng.random((200, 3)) * 0.6 + 0.3 * Y


def test_marks_the_optima_of_scut(problem):
    Y, scores = problem
    strategy = SCut("f1", shrink=0).fit(scores, Y)
    ax = plot_threshold_curves(pd.DataFrame(Y, columns=["a", "b", "c"]), scores)
    marks = [line.get_xydata()[0] for line in ax.lines]
    np.testing.assert_allclose(marks, np.c_[strategy.cuts_, strategy.values_])
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    assert [name[:2] for name in names] == ["a:", "b:", "c:"]
    plt.close(ax.figure)


def test_curve_is_the_measure_at_each_cut(problem):
    Y, scores = problem
    _, ax = plt.subplots()
    assert plot_threshold_curves(sparse.csr_array(Y), scores, "recall", ax=ax) is ax
    for j, stairs in enumerate(ax.patches):
        values, edges, _ = stairs.get_data()
        for value, cut in zip(values, edges[:-1]):
            predicted = scores[:, j] > cut
            assert value == pytest.approx((predicted & (Y[:, j] == 1)).sum() / Y[:, j].sum())
    plt.close(ax.figure)


def test_many_labels_get_their_mean():
    rng = np.random.default_rng(0)
    Y, scores = rng.integers(0, 2, (50, 12)), rng.random((50, 12))
    ax = plot_threshold_curves(Y, scores, "accuracy")
    mean = ax.lines[12].get_ydata()  # after the best cuts of the labels
    assert mean[0] == pytest.approx(Y.mean())  # everything predicted
    assert mean[-1] == pytest.approx(1 - Y.mean())
    assert ax.get_legend().get_texts()[0].get_text() == "mean of 12 labels"
    plt.close(ax.figure)


def test_invalid_names(problem):
    with pytest.raises(ValueError, match="label_names must have 3 entries"):
        plot_threshold_curves(*problem, label_names=["a"])


def test_unknown_measure(problem):
    with pytest.raises(ValueError, match=r"measure must be a callable .* got 'f3'"):
        plot_threshold_curves(*problem, "f3")


def test_without_matplotlib(problem, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"needs matplotlib: pip install 'plurilabel\[cli\]'"):
        plot_threshold_curves(*problem)
