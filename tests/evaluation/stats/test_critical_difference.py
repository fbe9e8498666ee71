"""The critical-difference diagram."""

import itertools
import sys

import matplotlib as mpl
import numpy as np
import pytest

from plurilabel.evaluation import critical_difference_diagram, nemenyi, plot_critical_difference
from tests.evaluation.stats.demsar import NAMES

mpl.use("Agg")
from matplotlib import pyplot as plt


@pytest.mark.parametrize("k", [2, 5, 15])
def test_texts_of_the_diagram_do_not_overlap(k, tmp_path):
    rng = np.random.default_rng(k)
    values = rng.random((14, k)) + np.linspace(0, 1.5, k)
    names = [f"Learner{'Long' * (j % 4)}({j}) $x" for j in range(k)]
    found = nemenyi(values, greater_is_better=True)
    path = tmp_path / "cd.png"
    ax = plot_critical_difference(found.average_ranks, names, found.critical_difference, path)
    ax.figure.canvas.draw()
    boxes = [text.get_window_extent() for text in ax.texts]
    for a, b in itertools.combinations(boxes, 2):
        assert not a.padded(-1).overlaps(b.padded(-1))
    shown = [t.get_text().replace(r"\$", "$") for t in ax.texts if t.get_text().startswith("L")]
    assert sorted(shown) == sorted(names)
    best = int(np.argmin(found.average_ranks))
    assert shown[0] == names[best]
    assert path.read_bytes().startswith(b"\x89PNG")
    plt.close(ax.figure)


def test_bars_of_the_diagram_join_the_groups():
    _, ax = plt.subplots()
    assert plot_critical_difference([3.143, 2.0, 2.893, 1.964], NAMES, 1.12, ax=ax) is ax
    bars = [line.get_xdata() for line in ax.lines if line.get_linewidth() > 3]
    np.testing.assert_allclose(bars, [[1.964, 2.893], [2.893, 3.143]], atol=0.05)
    plt.close(ax.figure)
    diagram = critical_difference_diagram([1.0, 2.0, 5.0, 6.0], list("abcd"), 1.0)
    levels = {y for style, line in diagram.lines if style == "clique" for _, y in line}
    assert len(levels) == 1  # bars that do not touch share a level
    assert [text for style, *_, text in diagram.texts if style == "name"] == list("abdc")


def test_a_long_difference_is_cut():
    short, long = (critical_difference_diagram([1.0, 1.5], ["a", "b"], cd) for cd in (1, 100))
    for diagram, word in ((short, "CD = 1.00"), (long, "CD = 100.00 (longer than the axis)")):
        assert word in [text for *_, text in diagram.texts]
        xs = [x for _, line in diagram.lines for x, _ in line]
        assert diagram.left < min(xs) and max(xs) < diagram.right


def test_the_diagram_needs_matplotlib(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"pip install 'plurilabel\[cli\]'"):
        plot_critical_difference([1.0, 2.0], ["a", "b"], 1.0)


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda: plot_critical_difference([1.0], ["a"], 1), "at least two finite"),
        (lambda: plot_critical_difference([1.0, 2.0], ["a"], 1), "names must have 2"),
        (lambda: plot_critical_difference([1.0, 2.0], ["a", "b"], -1), "cd must be"),
    ],
)
def test_invalid_input(call, match):
    with pytest.raises(ValueError, match=match):
        call()
