"""Running papers again: values, verdicts and exit status, on a small made-up paper."""

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.model_selection import KFold

from plurilabel import DWMLkNN, MLkNN, datasets, metrics, papers
from plurilabel.cli._main import plurilabel as command
from plurilabel.papers import write_page
from plurilabel.papers._page import escape, markdown_table
from plurilabel.papers._paper import Known, read_paper
from plurilabel.papers._reproduce import reproduce_papers
from plurilabel.papers._verdict import judge, judge_recorded
from tests.cli.runner import runner

# verdicts ------------------------------------------------------------------------------------

value = st.integers(0, 40).map(lambda i: i / 40)


@given(
    ours=value,
    published=value,
    tolerance=st.integers(0, 8).map(lambda i: i / 40),
    no_worse=st.booleans(),
    greater=st.booleans(),
    known=st.none() | value,
)
def test_verdicts(ours, published, tolerance, no_worse, greater, known):
    found = judge(
        ours,
        published,
        tolerance,
        claim="no worse" if no_worse else "same",
        greater_is_better=greater,
        known=None if known is None else Known(known, "because"),
    )
    near = round(40 * abs(ours - published)) <= round(40 * tolerance)
    good = ours > published if greater else ours < published
    if near:
        assert found.verdict == "holds" and found.passed
    elif good and no_worse:
        assert found.verdict == "better" and found.passed
    else:
        assert found.verdict == "differs"
        # a difference passes only with evidence, and only if that speaks of this value
        as_said = known is not None and round(40 * abs(ours - known)) <= round(40 * tolerance)
        assert found.passed == as_said
        assert ("because" in found.reason) == (known is not None)


def test_a_recorded_value_must_stay():
    assert judge_recorded(0.5, 0.501, 0.002).passed
    changed = judge_recorded(0.5, 0.51, 0.002)
    assert changed.verdict == "changed" and not changed.passed and "0.51" in changed.reason


def test_nothing_passes_without_a_value():
    nan = float("nan")
    assert not judge(nan, 0.5, 0.1, claim="no worse", greater_is_better=True).passed
    assert not judge_recorded(nan, 0.5, 0.1).passed


# a small paper -------------------------------------------------------------------------------

KS = (3, 5, 8)


@pytest.fixture(scope="module")
def found():
    """Measures on the digits by learner and k, (folds,) each: three folds, written out."""
    data = datasets.load("digits")
    table = {}
    for kind in (MLkNN, DWMLkNN):
        for k in KS:
            folds = []
            for train, test in KFold(3, shuffle=True, random_state=0).split(data.X):
                learner = kind(k).fit(data.X[train], data.Y[train])
                scores, labels = learner.predict_proba(data.X[test]), learner.predict(data.X[test])
                folds.append(metrics.evaluate(data.Y[test], scores, labels))
            table[kind.__name__, k] = {
                name: np.array([fold[name] for fold in folds]) for name in ("f1", "one_error")
            }
    return table


PAPER = """
name = "Toy | paper"
citation = "A. Author. On *stars* and $money$."
about = "Nothing_much."
[protocols.folds]
dataset = "digits"
split = 3
text = "Three folds."
[[table]]
name = "table 1"
title = "The | table"
protocol = "folds"
measures = ["f1", "one_error"]
decimals = 3
notes = ["A note with a | in it."]
tolerance = {{ f1 = 0.001, deviations = 2, reason = "So." }}
{rows}
[[table]]
name = "data"
title = "The data"
protocol = "folds"
measures = ["instances", "labels"]
decimals = 1
tolerance = {{ instances = 0, labels = 0, reason = "So." }}
[[table.row]]
name = "digits"
published = {{ instances = 1797, labels = 7 }}
[[table.row]]
name = "no labels"
label_set = []
published = {{ instances = 0 }}
[[table]]
name = "ours"
title = "Nothing published"
protocol = "folds"
measures = ["f1", "one_error"]
decimals = 4
tolerance = {{ f1 = 0.001, reason = "So." }}
[[table.row]]
name = "A"
learner = "MLkNN(n_neighbors=5)"
recorded = {{ f1 = {recorded} }}
[[table.row]]
name = "B"
learner = "MLkNN(n_neighbors=8)"
[[figure]]
name = "figure 1"
title = "Curves"
protocol = "folds"
measures = ["f1", "one_error"]
over = [3, 5, 8]
curves = {{ "ML" = "MLkNN(n_neighbors={{k}})", "DW" = "DWMLkNN(n_neighbors={{k}})" }}
[[figure.statement]]
text = "one wins"
measure = "f1"
winner = "{winner}"
loser = "{loser}"
"""


def make_paper(folder, found, extra="", swap=False, shift=0.0):
    means = [found["MLkNN", k] for k in KS]
    best = min(m["one_error"].mean() for m in means)
    f1 = {
        kind: np.mean([found[kind, k]["f1"].mean() for k in KS]) for kind in ("MLkNN", "DWMLkNN")
    }
    rows = f"""
[[table.row]]
name = "k = 5"
learner = "MLkNN(n_neighbors=5)"
published = {{ f1 = {found["MLkNN", 5]["f1"].mean() + 0.0009}, one_error = 0.9 }}
claim = "no worse"
[[table.row]]
name = "mean"
learner = "MLkNN(n_neighbors={{k}})"
over = [3, 5, 8]
published = {{ f1 = {f1["MLkNN"]} }}
[[table.row]]
name = "best"
learner = "MLkNN(n_neighbors={{k}})"
over = [3, 5, 8]
combine = "best"
published = {{ one_error = {best} }}
{extra}"""
    names = {"MLkNN": "ML", "DWMLkNN": "DW"}
    winner, loser = (names[kind] for kind in sorted(f1, key=f1.get, reverse=not swap))
    file = folder / "toy.toml"
    file.write_text(
        PAPER.format(
            rows=rows, winner=winner, loser=loser, recorded=found["MLkNN", 5]["f1"].mean() + shift
        )
    )
    return read_paper(file)


def cell(result, row, measure, part="table 1"):
    keys = ("table", "row", "measure")
    (one,) = (r for r in result.rows if tuple(r[key] for key in keys) == (part, row, measure))
    return one


@pytest.fixture(scope="module")
def result(found, tmp_path_factory):
    return reproduce_papers([make_paper(tmp_path_factory.mktemp("toy"), found)])


def test_values_are_those_of_plain_loops(result, found):
    assert result.holds and not result.failures
    one = cell(result, "k = 5", "f1")
    # one search for all k gives what a search for each gives, to the bit
    assert one["ours"] == np.mean(found["MLkNN", 5]["f1"])
    assert one["deviation"] == np.std(found["MLkNN", 5]["f1"], ddof=1)
    assert one["verdict"] == "holds" and one["difference"] == pytest.approx(-0.0009)
    assert cell(result, "k = 5", "one_error")["verdict"] == "better"
    means = [found["MLkNN", k] for k in KS]
    assert cell(result, "mean", "f1")["ours"] == pytest.approx(
        np.mean([m["f1"].mean() for m in means]), abs=1e-15
    )
    best = min(means, key=lambda m: m["one_error"].mean())["one_error"]
    one = cell(result, "best", "one_error")
    assert one["ours"] == best.mean()
    assert one["tolerance"] == pytest.approx(2 * best.std(ddof=1))  # two fold deviations
    assert cell(result, "best", "f1")["verdict"] == "ours only"


def test_facts_and_statements(result):
    assert cell(result, "digits", "labels", "data")["ours"] == 7
    none = int((datasets.load("digits").Y.sum(axis=1) == 0).sum())
    assert cell(result, "no labels", "instances", "data")["ours"] == none == 0
    assert cell(result, "one wins", "f1", "figure 1")["verdict"] == "holds"


def test_recorded_values_stand_in_a_grid(result, found, tmp_path):
    assert cell(result, "A", "f1", "ours")["verdict"] == "as recorded"
    assert cell(result, "B", "f1", "ours")["verdict"] == "ours only"
    f1 = [f"{found['MLkNN', k]['f1'].mean():.4f}" for k in (5, 8)]
    errors = [f"{found['MLkNN', k]['one_error'].mean():.4f}" for k in (5, 8)]
    assert len(set(f1)) == len(set(errors)) == 2  # else nothing is best
    assert f"F1         {f1[0]}  {f1[1]}" in str(result)
    page = result.markdown()
    f1_marked = [f"**{value}**" if value == max(f1) else value for value in f1]
    errors_marked = [f"**{value}**" if value == min(errors) else value for value in errors]
    assert f"| F1 | {' | '.join(f1_marked)} |" in page
    assert f"| one-error | {' | '.join(errors_marked)} |" in page
    changed = reproduce_papers([make_paper(tmp_path, found, shift=0.01)], "ours")
    assert cell(changed, "A", "f1", "ours")["verdict"] == "changed" and not changed.holds
    assert f"{f1[0]} !" in str(changed)


def test_frame(result):
    frame = result.frame()
    assert len(frame) == len(result.cells)
    assert frame.loc[frame.row == "mean", "verdict"].tolist() == ["holds", "ours only"]


BAD = """
[[table.row]]
name = "wrong"
learner = "MLkNN(n_neighbors=5)"
published = { f1 = 0.2 }
"""
KNOWN = BAD + 'differs.f1 = { ours = %r, why = "Look | here." }\n'
SKIPPED = """
[[table.row]]
name = "skipped"
learner = "MLkNN(n_neighbors=5)"
needs = "no_such_library"
published = { f1 = 0.2 }
"""
FAILED = """
[[table.row]]
name = "failed"
learner = "MLkNN(n_neighbors=5000)"
published = { f1 = 0.2 }
"""


@pytest.mark.parametrize(
    ("extra", "row", "verdict", "holds", "reason"),
    [
        (BAD, "wrong", "differs", False, ""),
        (SKIPPED, "skipped", "skipped", True, "needs plurilabel[no_such_library]"),
        (FAILED, "failed", "failed", False, "n_neighbors must be smaller"),
    ],
    ids=["wrong", "skipped", "failed"],
)
def test_rows_that_do_not_come_out(found, tmp_path, extra, row, verdict, holds, reason):
    result = reproduce_papers([make_paper(tmp_path, found, extra)], "1")
    one = cell(result, row, "f1")
    assert one["verdict"] == verdict and reason in one["reason"]
    assert result.holds == holds
    assert cell(result, "k = 5", "f1")["verdict"] == "holds"  # the others go on


@pytest.mark.parametrize(("shift", "holds"), [(0.0, True), (0.01, False)])
def test_known_differences_must_be_what_is_known(found, tmp_path, shift, holds):
    extra = KNOWN % float(found["MLkNN", 5]["f1"].mean() + shift)
    result = reproduce_papers([make_paper(tmp_path, found, extra)], "table 1")
    one = cell(result, "wrong", "f1")
    assert one["verdict"] == "differs" and "Look | here." in one["reason"]
    assert result.holds == holds


def test_a_statement_that_is_wrong(found, tmp_path):
    result = reproduce_papers([make_paper(tmp_path, found, swap=True)], "figure-1")
    assert [c.verdict for c in result.cells] == ["differs"] and not result.holds


def test_an_unknown_table_names_those_that_are_there(found, tmp_path):
    with pytest.raises(
        ValueError, match="toy has no '7'; there are table 1, data, ours, figure 1"
    ):
        reproduce_papers([make_paper(tmp_path, found)], "7")


def test_results_do_not_depend_on_n_jobs(result, found, tmp_path):
    seen = []
    two = reproduce_papers(
        [make_paper(tmp_path, found)], n_jobs=2, progress=lambda *step: seen.append(step)
    )
    assert str(two) == str(result)
    assert [c.ours for c in two.cells] == [c.ours for c in result.cells]
    cells = 3 * 2 * len(KS)  # folds, kinds of learner, k
    assert [(done, total) for done, total, *_ in seen] == [(i + 1, cells) for i in range(cells)]


# pages ---------------------------------------------------------------------------------------


def test_the_text_has_every_cell(result):
    text = str(result)
    assert "Toy | paper, table 1: The | table" in text
    assert f"{cell(result, 'mean', 'f1')['ours']:.4f}" in text
    assert text.endswith(f"In all: {result.summary()}.")


def test_the_page_is_the_same_every_time(result, tmp_path):
    pages = [write_page(result, tmp_path / name) for name in ("a", "b")]
    assert pages[0].read_text() == pages[1].read_text() == result.markdown()
    figures = [p.parent / "_static/reproduction/toy-figure-1.svg" for p in pages]
    assert figures[0].read_bytes() == figures[1].read_bytes()
    assert b"<svg" in figures[0].read_bytes()


def test_the_page_escapes_what_is_markup(found, tmp_path):
    extra = KNOWN % float(found["MLkNN", 5]["f1"].mean())
    page = reproduce_papers([make_paper(tmp_path, found, extra)], "table 1").markdown()
    assert "Toy | paper" not in page.replace("Toy \\| paper", "")
    assert r"On \*stars\* and \$money\$." in page and r"Nothing\_much." in page
    assert r"Look \| here." in page
    for block in page.split("\n\n"):  # no cell was split in two
        lines = [line.replace("\\|", "") for line in block.splitlines()]
        if lines[0].startswith("|"):
            assert len({line.count("|") for line in lines}) == 1, block


def test_escape_and_tables(result):
    assert escape("a_b|c\\d") == r"a\_b\|c\\d"
    cells = [replace(cell, row="a* | b") for cell in result.cells if cell.table == "data"]
    head, rule, first, *_ = markdown_table(cells).splitlines()
    assert head == "|  | measure | published | ours | difference | tolerance | verdict |"
    assert rule == "| --- | --- | ---: | ---: | ---: | ---: | --- |"
    assert first == r"| a\* \| b | instances | 1797 | 1797 | 0 | 0 | holds |"


# the command line ----------------------------------------------------------------------------


def run(*arguments):
    return runner().invoke(command, ["reproduce", *arguments])


@pytest.fixture
def toy(found, tmp_path, monkeypatch):
    """Put a made-up paper in the place of the real ones."""

    def put(extra=""):
        paper = make_paper(tmp_path, found, extra)
        monkeypatch.setattr("plurilabel.papers.paper_names", lambda: ["toy"])
        for place in ("plurilabel.papers._reproduce", "plurilabel.cli._reproduce"):
            monkeypatch.setattr(f"{place}.load_paper", lambda _: paper)

    return put


def test_exit_status(toy, tmp_path):
    toy()
    done = run("toy", "--table", "1", "--jobs", "1", "--out", str(tmp_path / "out"))
    assert done.exit_code == 0, done.output
    assert (tmp_path / "out/reproduction.md").exists()
    assert "k = 5" in done.stdout and "Wrote" in done.stderr and "9 of 9: digits" in done.stderr
    toy(BAD)
    done = run("toy", "--table", "1", "--jobs", "1")
    assert done.exit_code == 1
    assert "differs !" in done.stdout and "1 cell failed to hold." in done.stderr


def test_usage():
    listed = run("--list")
    assert listed.exit_code == 0 and "ml-knn: data, table I, table II" in listed.output
    assert json.loads(run("bp-mll", "--list", "--json").output) == {"bp-mll": ["yeast"]}
    for wrong, message in (
        (["seed"], "unknown paper 'seed'; there are ml-knn, dw-ml-knn"),
        (["ml-knn", "--table", "IX"], "ml-knn has no 'IX'; there are data, table I, table II"),
        (["ml-knn", "--jobs", "0"], "--jobs must not be 0"),
    ):
        done = run(*wrong)
        assert done.exit_code == 2 and message in done.stderr


def test_missing_data_are_named(tmp_path, monkeypatch):
    monkeypatch.setenv("PLURILABEL_DATA", str(tmp_path / "nowhere"))
    done = run("ml-knn", "--table", "I")
    assert done.exit_code == 1
    assert done.stderr.startswith("Error: PLURILABEL_DATA names") and done.stderr.count("\n") == 1


# real data -----------------------------------------------------------------------------------


def test_table_I_from_the_real_files(data_folder):
    done = run("ml-knn", "--table", "I", "--json", "--jobs", "1")
    assert done.exit_code == 0, done.output
    answer = json.loads(done.stdout)
    assert answer["holds"] is True and len(answer["cells"]) == 20
    found = {(c["row"], c["measure"]): c for c in answer["cells"]}
    one = found["k = 7", "average_precision"]
    assert one["published"] == 0.761 and one["ours"] == pytest.approx(0.7615, abs=0.0005)
    assert {c["verdict"] for c in answer["cells"]} == {"holds"}


def test_figure_statements_from_the_real_files(data_folder):
    result = papers.reproduce("dw-ml-knn", "figure 4")
    assert result.holds
    curves = result.curves["dw-ml-knn", "figure 4"]
    data = datasets.load("emotions")
    X, X_test, Y, Y_test = data.holdout()
    recall = metrics.recall(Y_test, DWMLkNN(15).fit(X, Y).predict(X_test))
    assert curves.of("DW-ML-kNN", "recall")[-1] == pytest.approx(recall)
