"""What a notebook shows: tables in which nothing is markup, and each figure once."""

import re
import subprocess
import sys
from html.parser import HTMLParser

import numpy as np
import pytest

from plurilabel import LabelSetMixture, MIMLkNN, MLkNN, metrics
from plurilabel._core.words import aligned, display_width, filled, shortened
from plurilabel.bags import Bags
from plurilabel.datasets import Dataset, describe
from plurilabel.evaluation import Results
from plurilabel.models import Model

EVIL = "<script>alert('x')</script> & \"more\""
X = np.arange(12.0).reshape(6, 2)
Y = np.array([[1, 0], [0, 1], [1, 1], [1, 0], [0, 1], [1, 1]])
NAMES = [EVIL, "海边的日落"]


def results(n_datasets):
    plan = {
        "protocol": {"measures": ["f1", "hamming_loss"]},
        "datasets": {f"{EVIL} {i}": {} for i in range(n_datasets)},
        "learners": {EVIL: {}, "BRkNN": {}},
    }
    cells = [
        {"dataset": d, "learner": l, "repeat": 0, "fold": 0, "status": "ok",
         "scores": {"f1": f1, "hamming_loss": 1 - f1}}
        for d in plan["datasets"]
        for l, f1 in zip(plan["learners"], (0.5, 0.4))
    ]  # fmt: skip
    return Results(plan, cells)


def bags():
    learner = MIMLkNN(1, n_citers=1).fit(Bags([X[:2], X[2:4], X[4:]]), [["a"], [EVIL], ["a"]])
    return learner.explain(Bags([X[:2]]))[0]


def words():
    learner = LabelSetMixture(random_state=0).fit(X, [[EVIL], ["a"], ["a"], [EVIL]] + [["a"]] * 2)
    return learner.explain(X[:1], feature_names=[EVIL, "word"])[0]


def learner():
    fitted = MLkNN(2).fit(X, Y)
    fitted.label_names_ = np.array(NAMES, dtype=object)
    return fitted


SHOWN = {
    "evaluation": lambda: metrics.evaluate(Y, labels=Y),
    "intervals": lambda: metrics.evaluate(Y, labels=Y, bootstrap=3, random_state=0),
    "per label": lambda: metrics.per_label(Y, scores=X, labels=Y, label_names=NAMES),
    "dataset": lambda: Dataset(X, Y, [EVIL, "b"], NAMES, name=EVIL, citation=EVIL),
    "split": lambda: Dataset(X, Y, train=np.arange(3), test=np.arange(3, 6)),
    "description": lambda: describe(Y, label_names=NAMES, name=EVIL),
    "explanation": lambda: learner().explain(X[:1])[0],
    "bags": bags,
    "words": words,
    "comparison": lambda: results(1),
    "comparison of several": lambda: results(5),
    "model": lambda: Model(learner(), NAMES, [EVIL, "b"], versions={"plurilabel": "0.1"}),
}


class Tags(HTMLParser):
    """Collects the tags and the text; fails where they do not nest."""

    def __init__(self):
        super().__init__()
        self.open, self.seen, self.text = [], set(), ""

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.seen.add(tag)
        style = dict(attrs).get("style", "")
        # colors that are given would be wrong on a dark page, or on a light one
        assert not re.search(r"(?<!-)color:(?!inherit)|background:(?!transparent)", style), style

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


@pytest.mark.parametrize("what", SHOWN)
def test_tables_of_notebooks(what):
    shown = SHOWN[what]()
    html = shown._repr_html_()
    page = Tags()
    page.feed(html)
    assert not page.open
    assert page.seen <= {"div", "table", "thead", "tbody", "tr", "th", "td"} and "td" in page.seen
    assert len(html) < 20_000
    if EVIL in repr(shown) + str(shown):
        assert EVIL in page.text and "<script" not in html


def test_a_comparison_shows_the_best_in_bold():
    html = results(1)._repr_html_()
    bold = re.findall(r"font-weight:700\">([^<]*)<", html)
    assert bold == ["0.5000", "0.5000"]  # the highest F1 and the lowest Hamming loss


def test_long_tables_say_what_is_left_out():
    Y = np.ones((2, 174), dtype=int)
    table = metrics.per_label(Y, labels=Y)
    assert "... and 144 more labels" in table._repr_html_() and "144 more" in repr(table)


# East Asian names ------------------------------------------------------------------------------


def columns_of(line, where):
    """The text of a line after so many columns of a terminal."""
    for i in range(len(line) + 1):
        if display_width(line[:i]) >= where:
            return line[i:]
    return ""


def test_east_asian_names_align_in_printed_tables():
    table = repr(metrics.per_label(Y, labels=Y, label_names=["sea", "海边的日落"]))
    assert len({display_width(line) for line in table.splitlines()}) == 1
    text = str(describe(Y, label_names=["sea", "海边的日落在很远很远的地方啊啊"], name="数据"))
    lines = text.splitlines()
    assert lines[1] == "===="
    first = next(i for i, line in enumerate(lines) if line.startswith("most frequent labels"))
    assert len({display_width(line) for line in lines[first : first + 3]}) == 1
    fitted = learner()
    fitted.label_names_ = np.array(["sea", "海边的日落"], dtype=object)
    why = str(fitted.explain(X[:1])[0]).splitlines()
    at = why[0].index("score")
    assert all(re.match(r"[\d.]+  ", columns_of(line, at)) for line in why[1:])


def test_widths():
    widths = {"": 0, "ab": 2, "한국": 4, "ｆｕｌｌ": 8, "e\u0301": 1, "a\u200bb": 2}
    assert {text: display_width(text) for text in widths} == widths
    assert filled("海", 4, right=True) == "  海" and filled("toolong", 2) == "toolong"
    assert (
        shortened("海边的日落", 10) == "海边的日落" and display_width(shortened("海" * 40, 9)) <= 9
    )
    assert aligned([["a", "b"], ["海", "10"]]) == ["a    b", "海  10"]


# figures ---------------------------------------------------------------------------------------


def test_a_figure_of_its_own_shows_itself_and_pyplot_does_not_know_it():
    pyplot = pytest.importorskip("matplotlib.pyplot")
    from plurilabel.datasets import plot_description

    pyplot.close("all")
    figure = plot_description(Y)
    assert pyplot.get_fignums() == []  # %matplotlib inline would show it a second time
    assert figure._repr_png_().startswith(b"\x89PNG")


def test_it_shows_itself_without_pyplot():
    code = (
        "import sys, numpy as np\n"
        "from plurilabel.datasets import plot_description\n"
        "figure = plot_description(np.eye(3, dtype=int))\n"
        "assert figure._repr_png_()[1:4] == b'PNG'\n"
        "assert 'matplotlib.pyplot' not in sys.modules\n"
    )
    pytest.importorskip("matplotlib")
    subprocess.run([sys.executable, "-c", code], check=True)
