"""The table of the documentation comes out again, as far as that takes little time."""

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[3] / "docs"


def test_measured_figures_come_out(monkeypatch, data_folder):
    from benchmarks.pages import mixtures as script

    few = ("naive Bayes per label", "PMM1", "LabelSetMixture, sets seen")
    monkeypatch.setattr(script, "LEARNERS", {title: script.LEARNERS[title] for title in few})
    found = script.markdown("medical", script.measure("medical", n_jobs=None))
    shown = (DOCS / "mixture_results.md").read_text("utf-8")
    shown = re.search(r"## medical.*?(?=\n## |\Z)", shown, re.DOTALL)[0]
    for title in few:
        row, published = (
            re.search(rf"^\| {title} \|.*", t, re.MULTILINE)[0] for t in (found, shown)
        )
        values, figures = (
            [float(x.strip("* ")) for x in r.split("|")[2:-3]] for r in (row, published)
        )
        assert values == pytest.approx(figures, abs=0.002), title
