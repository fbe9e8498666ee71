"""The data files: every cell has a value, a tolerance with a reason, a protocol and a source."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks.papers import load_paper, paper_names, reproduce
from benchmarks.papers.paper import read_paper
from benchmarks.papers.reproduction import facts
from plurilabel import datasets
from plurilabel.learners import make_learner
from plurilabel.metrics import get_measure

PAPERS = [load_paper(name) for name in paper_names()]
TOY = datasets.make_multilabel(20, random_state=0)
FACTS = facts(replace(TOY, train=np.arange(10), test=np.arange(10, 20)))
ROWS = [
    pytest.param(paper, table, row, id=f"{paper.key}-{table.name}-{row.name}")
    for paper in PAPERS
    for table in paper.tables
    for row in table.rows
]


@pytest.mark.parametrize("paper", PAPERS, ids=lambda paper: paper.key)
def test_papers_are_complete(paper):
    assert len(paper.citation) > 40 and paper.about.endswith(".")
    assert paper.parts and len(paper.parts) == len(paper.tables) + len(paper.figures)
    for table in paper.tables:
        names = [row.name for row in table.rows]
        assert names and len(names) == len(set(names))


@pytest.mark.parametrize(("paper", "table", "row"), ROWS)
def test_rows_are_complete(paper, table, row):
    # a sentence for the protocol, a sentence for the tolerance
    assert len(row.protocol.text) > 40 and row.protocol.text.endswith(".")
    assert row.tolerance.reason.endswith(".")
    assert row.published or row.recorded
    for measure in table.measures:
        assert measure in FACTS if row.learner is None else get_measure(measure)
    for measure in (*row.published, *row.recorded):
        assert row.tolerance.of(measure, 0.01) >= 0
    for text in row.learners():
        assert "{" not in text
        make_learner(text)


@pytest.mark.parametrize(("paper", "table", "row"), ROWS)
def test_known_differences_are_differences(paper, table, row):
    for measure, known in row.differs.items():
        assert known.why.endswith(".")
        distance = abs(known.ours - row.published[measure])
        # fold deviations are not known here; none of ours is below 0.005
        assert distance > row.tolerance.of(measure, 0.005)


@pytest.mark.parametrize(
    "figure", [f for paper in PAPERS for f in paper.figures], ids=lambda f: f.name
)
def test_figures_are_complete(figure):
    assert figure.statements and len(figure.over) > 2
    for statement in figure.statements:
        named = {statement.winner, statement.loser, statement.rising} - {None}
        assert named and named <= set(figure.curves)
        assert (statement.rising is None) == (statement.winner is not None)
        assert statement.measure in figure.measures


def test_the_published_tables_are_there():
    parts = {paper.key: set(paper.parts) for paper in PAPERS}
    assert {"table I", "table II"} <= parts["ml-knn"]
    assert {"table 1", "table 3", "figure 2", "figure 3", "figure 4"} <= parts["dw-ml-knn"]
    assert {f"table {i}" for i in range(1, 8)} <= parts["ml-wknn"]
    cells = {
        (paper.key, table.name): sum(len(row.published) for row in table.rows)
        for paper in PAPERS
        for table in paper.tables
    }
    assert cells["ml-knn", "table I"] == 20 and cells["ml-knn", "table II"] == 13
    assert cells["dw-ml-knn", "table 3"] == 36
    assert cells["ml-wknn", "table 1"] == cells["ml-wknn", "table 6"] == 25
    assert cells["ml-wknn", "table 3"] == cells["ml-wknn", "table 7"] == 24
    assert cells["bp-mll", "yeast"] == 5


def test_the_page_of_the_documentation_is_of_these_data():
    """``make reproduce`` was run since a published value was changed."""
    page = (Path(__file__).parents[2] / "docs/reproduction.md").read_text()
    for paper in PAPERS:
        assert f"(reproduction-{paper.key})=" in page
        for table in paper.tables:
            for row in table.rows:
                for measure, value in row.published.items():
                    shown = {f"{value:.{table.decimals}f}", f"{value:g}"}
                    title = measure.replace("_", " ")
                    if row.learner is not None:
                        title = get_measure(measure).title
                    assert any(f"| {title} | {text} |" in page for text in shown), (row, measure)
        for figure in paper.figures:
            assert f"{paper.key}-{figure.name.replace(' ', '-')}.svg" in page


# the reader ----------------------------------------------------------------------------------

GOOD = """
name = "P"
citation = "C"
about = "A."
[protocols.p]
dataset = "digits"
split = 3
text = "T."
[[table]]
name = "table 1"
title = "T"
protocol = "p"
measures = ["f1"]
decimals = 3
tolerance = { f1 = 0.1, reason = "R." }
[[table.row]]
name = "r"
learner = "MLkNN()"
published = { f1 = 0.5 }
"""


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("about = ", "abuot = ", "p: about is missing"),
        ("about = ", 'colour = "red"\nabout = ', "p: unknown entries colour"),
        ('protocol = "p"', 'protocol = "q"', "protocol must be one of p, got 'q'"),
        ("split = 3", 'split = "half"', "split must be"),
        (', reason = "R."', "", "table 1, r, tolerance: reason is missing"),
        ("published = { f1", "published = { f2", "r: 'f2' is not a measure of the table"),
        ('learner = "MLkNN()"', 'learner = "MLkNN()"\nclaim = "nice"', "claim must be one of"),
    ],
)
def test_a_wrong_file_says_what_is_wrong(tmp_path, old, new, message):
    file = tmp_path / "p.toml"
    file.write_text(GOOD)
    assert read_paper(file).tables[0].rows[0].published == {"f1": 0.5}
    assert old in GOOD
    file.write_text(GOOD.replace(old, new))
    with pytest.raises(ValueError, match=message):
        read_paper(file)


def test_names_and_unknown_papers():
    assert paper_names()[0] == "ml-knn"
    with pytest.raises(ValueError, match="unknown paper 'seed'; there are ml-knn, dw-ml-knn"):
        reproduce("seed")
