"""The picture of a description: what it shows, and how it is written."""

import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose

from plurilabel.datasets import Dataset, describe, make_sparse_multilabel, plot_description


@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
def test_plot_is_written_whole(tmp_path, ending):
    path = tmp_path / f"labels.{ending}"
    found = describe(make_sparse_multilabel(200, 50, 40, random_state=0))
    plot_description(found, path)
    start = path.read_bytes()[:400]
    assert {"png": b"\x89PNG", "svg": b"<svg", "pdf": b"%PDF"}[ending] in start
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


def test_plot_shows_frequencies_and_conditional_shares():
    Y = [[1, 0, 1, 0], [1, 0, 0, 0], [1, 1, 1, 0], [0, 0, 1, 0]]
    figure = plot_description(describe(Y, label_names=["$a$", "b" * 50, "c", "never"]))
    bars, cells = figure.axes[:2]
    assert [bar.get_width() for bar in bars.patches] == [0.75, 0.75, 0.25]
    assert [text.get_text() for text in bars.get_yticklabels()] == [
        r"\$a\$",
        "c",
        "b" * 27 + "…",
    ]
    assert_allclose(
        cells.images[0].get_array().filled(np.nan),
        [[np.nan, 2 / 3, 1 / 3], [2 / 3, np.nan, 1 / 3], [1, 1, np.nan]],
    )


def test_plot_takes_what_describe_takes():
    Y = [[1, 0, 1], [1, 0, 0]]
    data = Dataset(np.zeros((2, 1)), np.array(Y), label_names=["sun", "sea", "sand"], name="toy")
    for given_data, first in ((data, "sun"), (describe(data), "sun"), (Y, "label0")):
        figure = plot_description(given_data)
        assert figure.axes[0].get_yticklabels()[0].get_text() == first
    assert figure.texts[0].get_text().startswith("2 instances, 3 labels, 1.50 per instance")


def test_plot_of_the_smallest_data(tmp_path):
    for Y in ([[1]], [[0]], [[0, 0], [0, 0]], [[1, 1]]):
        plot_description(describe(Y), tmp_path / "small.png")
        assert (tmp_path / "small.png").read_bytes().startswith(b"\x89PNG")
        (tmp_path / "small.png").unlink()


def test_plot_shows_only_the_top():
    found = describe(make_sparse_multilabel(200, 50, 40, random_state=0), name="many")
    figure = plot_description(found, top=5)
    assert len(figure.axes[0].patches) == 5
    assert figure.texts[0].get_text().endswith("(the 5 most frequent shown)")


def test_plot_without_matplotlib_names_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.layout_engine", None)
    with pytest.raises(ImportError, match=r"pip install 'plurilabel\[cli\]'"):
        plot_description(describe([[1, 0]]))


def test_plot_errors(tmp_path):
    found = describe([[1, 0]])
    with pytest.raises(ValueError, match=r"path must end in \.png, \.svg or \.pdf, got"):
        plot_description(found, tmp_path / "labels.txt")
    with pytest.raises(ValueError, match="top must be at least 1, got 0"):
        plot_description(found, top=0)
    with pytest.raises(ValueError, match="Y must be a 0/1 matrix"):
        plot_description("labels")
    assert not list(tmp_path.iterdir())
