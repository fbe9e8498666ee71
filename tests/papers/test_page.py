"""A reproduction as text and as a page."""

from dataclasses import replace

from benchmarks.papers.page import escape, markdown_table, page, write_page
from benchmarks.papers.runs import reproduce_papers
from tests.papers.toy import KNOWN, cell, make_paper


def test_the_text_has_every_cell(result):
    text = str(result)
    assert "Toy | paper, table 1: The | table" in text
    assert f"{cell(result, 'mean', 'f1')['ours']:.4f}" in text
    assert text.endswith(f"In all: {result.summary()}.")


def test_the_page_is_the_same_every_time(result, tmp_path):
    pages = [write_page(result, tmp_path / name) for name in ("a", "b")]
    assert pages[0].read_text() == pages[1].read_text() == page(result)
    figures = [p.parent / "_static/reproduction/toy-figure-1.svg" for p in pages]
    assert figures[0].read_bytes() == figures[1].read_bytes()
    assert b"<svg" in figures[0].read_bytes()


def test_the_page_escapes_what_is_markup(found, tmp_path):
    extra = KNOWN % float(found["MLkNN", 5]["f1"].mean())
    text = page(reproduce_papers([make_paper(tmp_path, found, extra)], "table 1"))
    assert "Toy | paper" not in text.replace("Toy \\| paper", "")
    assert r"On \*stars\* and \$money\$." in text and r"Nothing\_much." in text
    assert r"Look \| here." in text
    for block in text.split("\n\n"):  # no cell was split in two
        lines = [line.replace("\\|", "") for line in block.splitlines()]
        if lines[0].startswith("|"):
            assert len({line.count("|") for line in lines}) == 1, block


def test_escape_and_tables(result):
    assert escape("a_b|c\\d") == r"a\_b\|c\\d"
    cells = [replace(cell, row="a* | b") for cell in result.cells if cell.table == "data"]
    head, rule, first, *_ = markdown_table(cells).splitlines()
    assert head == "|  | measure | published | ours | difference | tolerance | verdict |"
    assert rule == "| --- | --- | ---: | ---: | ---: | ---: | --- |"
    assert first == r"| a\* \| b | instances | 300 | 300 | 0 | 0 | holds |"


def test_recorded_values_stand_in_a_grid(result, found, tmp_path):
    assert cell(result, "A", "f1", "ours")["verdict"] == "as recorded"
    assert cell(result, "B", "f1", "ours")["verdict"] == "ours only"
    f1 = [f"{found['MLkNN', k]['f1'].mean():.4f}" for k in (5, 8)]
    errors = [f"{found['MLkNN', k]['one_error'].mean():.4f}" for k in (5, 8)]
    assert len(set(f1)) == len(set(errors)) == 2  # else nothing is best
    assert f"F1         {f1[0]}  {f1[1]}" in str(result)
    text = page(result)
    f1_marked = [f"**{value}**" if value == max(f1) else value for value in f1]
    errors_marked = [f"**{value}**" if value == min(errors) else value for value in errors]
    assert f"| F1 | {' | '.join(f1_marked)} |" in text
    assert f"| one-error | {' | '.join(errors_marked)} |" in text
    changed = reproduce_papers([make_paper(tmp_path, found, shift=0.01)], "ours")
    assert cell(changed, "A", "f1", "ours")["verdict"] == "changed" and not changed.holds
    assert f"{f1[0]} !" in str(changed)


def test_formulas_are_escaped():
    assert escape("w * (1 - w) | c_1 <b>") == r"w \* (1 - w) \| c\_1 \<b>"
