"""The gallery's examples run without a warning and draw something."""

import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


@pytest.mark.parametrize("example", EXAMPLES, ids=[path.stem for path in EXAMPLES])
def test_example_draws(example, monkeypatch, tmp_path):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.close("all")
    pyplot.switch_backend("agg")
    drawn = []

    def show():
        for number in pyplot.get_fignums():
            figure = pyplot.figure(number)
            figure.canvas.draw()
            drawn.append(sum(ax.has_data() or bool(ax.texts) for ax in figure.axes))
        pyplot.close("all")

    monkeypatch.setattr(pyplot, "show", show)
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(example))
    assert drawn and all(drawn)


def test_the_gallery_takes_all_of_them():
    assert EXAMPLES and all(path.name.startswith("plot_") for path in EXAMPLES)


def test_measure_transformations(monkeypatch, data_folder):
    from benchmarks.pages import transformations as script

    few = ("BinaryRelevance", "ClassifierChain, beam", "HOMER")
    monkeypatch.setattr(script, "LEARNERS", {title: script.LEARNERS[title] for title in few})
    found = script.markdown("emotions", script.measure("emotions", n_jobs=None))
    shown = (ROOT / "docs" / "transformation_results.md").read_text("utf-8").split("## scene")[0]
    rows = [line for line in found.splitlines() if line.startswith("| ")]
    assert len(rows) == 1 + 1 + len(few)
    for title, row in zip(few, rows[2:]):
        (published,) = re.findall(rf"^\| {title} \|.*", shown, re.MULTILINE)
        values, figures = (
            [float(x.strip("* ")) for x in r.split("|")[2:-2]] for r in (row, published)
        )
        assert values == pytest.approx(figures, abs=0.005)
