"""The report shows the content of the cells in every format, for any names."""

import csv
import re
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sklearn.datasets import make_multilabel_classification

from plurilabel import MLkNN
from plurilabel.evaluation import Results, compare, write_report
from plurilabel.evaluation._report import _report
from plurilabel.evaluation._report._findings import Findings
from plurilabel.evaluation._report._report import FILTERS
from tests.evaluation.report.example_results import LEARNERS, example_results
from tests.evaluation.report.page import Page, best_of, html_of

NASTY = [
    "<script>alert(1)</script>",
    'a"b & <i>c',
    "50%_of|$x$ {y} \\z ~^ #1",
    "*bold* [l](u) `c`",
]


@pytest.mark.parametrize(
    "sizes", [(1, 2, 1, 6), (1, 5, 10, 14), (3, 4, 2, 5), (6, 8, 3, 40), (5, 2, 2, 1)]
)
def test_page_is_whole_accessible_and_alone(sizes, tmp_path):
    text = html_of(example_results(*sizes), tmp_path)
    page = Page(text)
    assert not re.search(r"https?://|//cdn|@import|url\(|\ssrc=", text)
    assert page.of("html")[0]["lang"] == "en"
    assert len(page.of("h1")) == 1
    ids = [attrs["id"] for _, attrs in page.tags if "id" in attrs]
    assert len(ids) == len(set(ids))
    assert {a["href"][1:] for a in page.of("a")} == set(ids)
    assert all(attrs.get("scope") in ("row", "col") for attrs in page.of("th"))
    assert all(table["caption"].strip() for table in page.tables)
    for table in page.tables:
        assert len({len(row) for row in table["rows"]}) == 1
    drawings = page.of("svg")
    assert drawings
    assert all(attrs["role"] == "img" and attrs["aria-label"] for attrs in drawings)
    assert "nan" not in re.sub(r"<(style|script)>.*?</\1>", "", text, flags=re.S).lower()


def test_page_of_one_dataset(tmp_path):
    results = example_results(1, 4, 10, 6, spread=0.005)
    page = Page(html_of(results, tmp_path))
    overview = page.tables[0]
    assert overview["rows"][0][:3] == ["Learner", "Hamming loss\u00a0↓", "subset accuracy\u00a0↑"]
    assert [row[0] for row in overview["rows"][1:]] == list(results.learners)  # the best first
    first = next(t for t in page.tables[1:] if t["rows"][0][1].startswith("Hamming"))
    mean, deviation = results.means("hamming_loss")[0, 0], results.deviations("hamming_loss")[0, 0]
    assert best_of(first)[results.learners[0]][0] == f"{mean:.3f}±{deviation:.3f}"
    text = " ".join(page.text)
    assert "On data0, MLkNN(n_neighbors=5) is best in all 8 headline measures." in text
    assert "Tests over datasets (Friedman, Nemenyi, Wilcoxon) need at least 5 datasets" in text
    assert "Ranks and tests" not in text
    assert "plurilabel compare data0" in text


def test_page_of_many_datasets(tmp_path):
    results = example_results(6, 4, 3, 6)
    page = Page(html_of(results, tmp_path))
    text = " ".join(page.text)
    assert "Ranks and tests" in text
    assert "Friedman test of 4 learners on 6 datasets" in text
    drawn = [
        a["aria-label"] for a in page.of("svg") if a["aria-label"].startswith("Average ranks")
    ]
    assert len(drawn) == 8
    assert "Critical difference 1.91" in drawn[0]  # 2.569 sqrt(20 / 36)
    table = next(t for t in page.tables if t["caption"].startswith("Hamming loss"))
    assert table["rows"][0] == ["Learner", *results.datasets, "average rank"]
    ranks = stats.rankdata(results.means("hamming_loss"), axis=1).mean(axis=0)
    for learner, rank in zip(results.learners, ranks):
        assert best_of(table)[learner][-1] == f"{rank:.2f}"


def test_diagram_names_every_learner(tmp_path):
    results = example_results(6, 15, 2, measures=["f1"])
    (drawing,) = re.findall(
        r"<figure class=wide>.*?</figure>", html_of(results, tmp_path), flags=re.S
    )
    shown = re.findall(r"<text[^>]*>([^<]*)</text>", drawing)
    assert set(results.learners) <= set(shown)
    groups = Findings(results).tests["f1"].nemenyi.groups
    assert drawing.count('class="clique"') == len(groups)


def test_report_of_a_real_comparison(tmp_path):
    X, Y = make_multilabel_classification(60, 5, n_classes=4, random_state=0)
    learners = {"k=3": MLkNN(3), "k=9": MLkNN(9), "k=99": MLkNN(99)}
    results = compare({"toy": (X, Y)}, learners, cv=3, out=tmp_path, n_jobs=None)
    files = write_report(results)
    assert files["html"].parent == tmp_path
    page = Page(files["html"].read_text(encoding="utf-8"))
    text = " ".join(page.text)
    for title in (
        "Quality and time", "Recall by label frequency",
        "3 stratified folds",
        "n_neighbors must be smaller than the 40 training instances, got 99",
    ):  # fmt: skip
        assert title in text
    heat = next(t for t in page.tables if t["caption"].startswith("F1 of each label"))
    assert heat["rows"][0][:2] == ["Label", "instances"]
    assert {row[0]: int(row[1]) for row in heat["rows"][1:]} == {
        f"label{l}": int(Y[:, l].sum()) for l in range(4)
    }
    overview = best_of(page.tables[0])
    column = page.tables[0]["rows"][0].index("average precision\u00a0↑") - 1
    for learner, value in zip(results.learners[:2], results.means("average_precision")[0]):
        assert overview[learner][column].startswith(f"{value:.3f}")


def test_failures_are_shown(tmp_path):
    results = example_results(6, 4, 3, 6)
    for cell in results.cells:
        if cell["learner"] == "RAkEL" and cell["dataset"] == "data1":
            cell.update(status="timeout", error="took longer than 5 s", scores={})
        if cell["learner"] == LEARNERS[1] and (cell["dataset"], cell["fold"]) == ("data2", 0):
            cell.update(status="error", error="ValueError: <no>", scores={}, per_label=None)
    text = html_of(results, tmp_path)
    assert "ValueError: &lt;no&gt;" in text
    page = Page(text)
    table = next(t for t in page.tables if t["caption"].startswith("Hamming loss"))
    assert best_of(table)["RAkEL"][1] == "failed"
    assert best_of(table)[LEARNERS[1]][2].endswith("2/3 folds")
    assert best_of(table)["RAkEL"][-1] == best_of(table)[LEARNERS[1]][-1] == "–"
    failures = next(t for t in page.tables if t["rows"][0][-1] == "reason")
    assert ["RAkEL", "data1", "all", "timeout", "took longer than 5 s"] in failures["rows"]
    assert [LEARNERS[1], "data2", "1", "error", "ValueError: <no>"] in failures["rows"]
    findings = Findings(results)
    assert findings.tests["f1"].left_out == (
        "Not ranked: MLkNN(n_neighbors=10) and RAkEL (results missing for some dataset or fold)."
    )
    assert findings.tests["f1"].friedman.names == (LEARNERS[0], LEARNERS[2])


def test_missing_results_are_not_failures(tmp_path):
    full = example_results(2, 3, 2, measures=["f1", "ranking_loss"])
    for cell in full.cells:
        if cell["learner"] == LEARNERS[1]:
            cell["scores"]["ranking_loss"] = None  # a learner without scores
    cells = [c for c in full.cells if (c["learner"], c["dataset"]) != (LEARNERS[2], "data1")]
    results = Results(full.plan, cells)
    files = write_report(results, tmp_path)
    page = Page(files["html"].read_text())
    tables = {t["caption"].split(" ")[0]: best_of(t) for t in reversed(page.tables)}
    assert tables["Ranking"][LEARNERS[1]] == ["–", "–", "–"]
    assert tables["Ranking"][LEARNERS[2]][1:] == ["not run", "–"]
    assert tables["F1"][LEARNERS[1]][1] != "–"
    assert "failed" not in " ".join(page.text)
    assert "a missing result counts as the last rank" in page.tables[0]["caption"]
    assert "not run" in files["md"].read_text()
    check_latex(files["tex"].read_text())


def test_warnings_are_shown(tmp_path):
    results = example_results(1, 2, 3)
    for cell in results.cells:
        if cell["learner"] == LEARNERS[1] and cell["fold"] < 2:
            cell["warnings"] = ["ConvergenceWarning: <more> steps"]
    files = write_report(results, tmp_path)
    table = next(
        t for t in Page(files["html"].read_text()).tables if t["rows"][0][-1] == "warning"
    )
    row = [LEARNERS[1], "data0", "1 and 2", "ConvergenceWarning: <more> steps"]
    assert table["rows"][1:] == [row]
    assert "| 1 and 2 | ConvergenceWarning: &lt;more> steps |" in files["md"].read_text()


def test_nothing_worked(tmp_path):
    results = example_results(2, 3, 2)
    for cell in results.cells:
        cell.update(status="crashed", error="killed", scores={}, per_label=None)
        cell.update(fit_seconds=None, predict_seconds=None)
    files = write_report(results, tmp_path)
    page = Page(files["html"].read_text())
    assert "No learner has a result." in page.text
    assert [t["rows"][0][-1] for t in page.tables].count("reason") == 1


def test_one_learner_and_few_fields(tmp_path):
    plan = {"protocol": {"measures": ["f1"]}, "datasets": {"d": {}}, "learners": {"A": {}}}
    cell = {"dataset": "d", "learner": "A", "repeat": 0, "fold": 0, "status": "ok"}
    results = Results(plan, [cell | {"scores": {"f1": 0.5}}])
    page = Page(html_of(results, tmp_path))
    assert "A on d; there is no other learner to compare with." in page.text
    folds = Page(html_of(example_results(1, 1, 3), tmp_path))
    assert "one split" not in folds.text and "Bold" not in folds.text
    assert not any("best" in attrs.get("class", "") for attrs in page.of("td"))


def test_names_cannot_break_out(tmp_path):
    results = example_results(1, 4, 2, 4, names=NASTY)
    about = results.plan["datasets"]["data0"]
    about["label_names"] = NASTY
    renamed = Results(
        results.plan | {"datasets": {NASTY[0]: about}},
        [cell | {"dataset": NASTY[0]} for cell in results.cells],
    )
    files = write_report(renamed, tmp_path, title="</title><script>x")
    text = files["html"].read_text()
    page = Page(text)
    assert len(page.of("script")) == 1
    assert text.count("</title><script>") == 0
    names = [row[0] for row in page.tables[0]["rows"][1:]]
    assert sorted(names) == sorted(NASTY)
    for line in files["md"].read_text().splitlines():
        assert "<script" not in line
        assert not re.search(r"(?<!\\)\*bold", line)
    check_latex(files["tex"].read_text())


def test_large_reports_stay_small(tmp_path):
    files = write_report(example_results(12, 25, 2, 1000), tmp_path)
    assert files["html"].stat().st_size < 1_000_000
    assert files["md"].stat().st_size < 300_000


def check_latex(text):
    """Balanced braces and environments, as many cells in every row as columns."""
    code = "\n".join(re.sub(r"(?<!\\)%.*", "", line) for line in text.splitlines())
    depth = 0
    for brace in re.findall(r"(?<!\\)[{}]", code.replace(r"\\", "")):
        depth += 1 if brace == "{" else -1
        assert depth >= 0
    assert depth == 0
    open_ = []
    for what, name in re.findall(r"\\(begin|end)\{(\w+)\}", code):
        if what == "begin":
            open_.append(name)
        else:
            assert open_.pop() == name
    assert not open_
    tables = re.findall(r"\\begin\{tabular\}\{(\w+)\}(.*?)\\end\{tabular\}", code, flags=re.S)
    assert tables
    for columns, body in tables:
        rows = [row for row in body.splitlines() if row.strip().endswith(r"\\")]
        assert rows
        for row in rows:
            assert len(re.findall(r"(?<!\\)&", row)) == len(columns) - 1
            assert len(re.findall(r"(?<!\\)\$", row)) % 2 == 0
    labels = re.findall(r"\\label\{(.*?)\}", code)
    assert len(labels) == len(set(labels))


@pytest.mark.parametrize("sizes", [(1, 3, 1), (3, 4, 3), (9, 4, 2)])
def test_latex(sizes, tmp_path):
    results = example_results(*sizes)
    text = write_report(results, tmp_path, formats=["tex"])["tex"].read_text()
    check_latex(text)
    assert text.count(r"\toprule") == text.count(r"\bottomrule")
    best = results.means("hamming_loss")[0].min()
    assert f"\\textbf{{{best:.3f}}}" in text
    assert ("tab:tests" in text) == (sizes[0] >= 5)


@given(st.text())
def test_latex_escapes_everything(text):
    plain = FILTERS["latex"](text)
    left = re.sub(
        r"\\(text\w+|ldots|[&%$#_{}])|\{\}|\$\\(approx|pm|infty|uparrow|downarrow)\$", "", plain
    )
    assert not re.search(r"[\\&%$#_{}~^]", left)


@given(st.text())
def test_markdown_escapes_everything(text):
    plain = FILTERS["markdown"](text)
    assert not re.search(r"[|*_`\[\]<#~$\n]", re.sub(r"\\.", "", plain))


def test_markdown(tmp_path):
    results = example_results(6, 4, 3)
    text = write_report(results, tmp_path, formats=["md"], title="A_b")["md"].read_text()
    assert text.startswith("# A\\_b\n")
    for block in re.findall(r"(?:^\|.*\n)+", text, flags=re.M):
        rows = block.strip().splitlines()
        assert len({len(re.findall(r"(?<!\\)\|", row)) for row in rows}) == 1
        assert set(rows[1]) <= set("| -:")
    best = results.means("hamming_loss")[0].min()
    assert f"**{best:.3f}**" in text
    assert "**Hamming loss**: The learners differ: Friedman test" in text
    assert "    plurilabel compare data0 data1" in text


def test_csv_holds_every_mean(tmp_path):
    results = example_results(2, 3, 4, names=['a,"b"', "c\nd", "e"])
    file = write_report(results, tmp_path, formats="csv")["csv"]
    with open(file, newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == 2 * 3 * len(results.measures)
    for row in rows:
        i, j = results.datasets.index(row["dataset"]), results.learners.index(row["learner"])
        assert float(row["mean"]) == results.means(row["measure"])[i, j]
        assert float(row["deviation"]) == results.deviations(row["measure"])[i, j]
        assert row["splits"] == "4"


def test_names_in_csv_are_not_formulas(tmp_path):
    results = example_results(1, 2, names=["=HYPERLINK(A1)", "-1"])
    file = write_report(results, tmp_path, formats="csv")["csv"]
    with open(file, newline="", encoding="utf-8") as stream:
        assert {row["learner"] for row in csv.DictReader(stream)} == {"'=HYPERLINK(A1)", "-1"}


def test_invalid_input(tmp_path):
    results = example_results()
    with pytest.raises(ValueError, match="formats must be some of html, md, tex, csv, got 'pdf'"):
        write_report(results, tmp_path, formats=["pdf"])
    with pytest.raises(ValueError, match="at least one cell, got none"):
        write_report(Results(results.plan, []), tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_broken_run_leaves_the_old_report(tmp_path, monkeypatch):
    results = example_results()
    old = html_of(results, tmp_path)

    def fails(findings, dataset):
        raise RuntimeError("no")

    monkeypatch.setattr(_report, "charts", fails)
    with pytest.raises(RuntimeError, match="no"):
        write_report(results, tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["report.html"]
    assert (tmp_path / "report.html").read_text() == old


def test_the_report_needs_jinja2(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    _report._template.cache_clear()
    with pytest.raises(
        ImportError, match=r"a report needs jinja2: pip install 'plurilabel\[cli\]'"
    ):
        write_report(example_results(), tmp_path)
    assert write_report(example_results(), tmp_path, formats=["csv"])["csv"].exists()


def test_the_same_results_give_the_same_bytes(tmp_path):
    first, second = (
        write_report(example_results(3, 4, 2), tmp_path / name) for name in ("first", "second")
    )
    for name, path in first.items():
        assert path.read_bytes() == second[name].read_bytes()
