"""The README's code runs, and does what it says."""

import re
import shlex
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```", README, flags=re.MULTILINE | re.DOTALL)


def test_from_a_csv_to_predictions(tmp_path, monkeypatch, capsys):
    """All blocks in their order, as a stranger would run them."""
    testing = pytest.importorskip("click.testing")
    from plurilabel.cli._main import plurilabel

    monkeypatch.chdir(tmp_path)
    out, names = "", {}
    for kind, text in BLOCKS:
        if kind == "python":
            exec(compile(text, "README.md", "exec"), names)
            out += capsys.readouterr().out
        for command in re.findall(r"^plurilabel (.*)$", text, re.MULTILINE) * (kind == "sh"):
            result = testing.CliRunner().invoke(plurilabel, shlex.split(command))
            assert result.exit_code == 0, result.output
            out += result.output
    (table,) = (text for kind, text in BLOCKS if kind == "")
    assert Path("plants.csv").read_text().startswith(table)
    # a comment behind a print is what it prints
    code = "\n".join(text for kind, text in BLOCKS if kind == "python")
    shown = re.findall(r"^print\(.*\)\s+# (.*)$", code, re.MULTILINE)
    assert len(shown) == 3 and all(f"{value}\n" in out for value in shown)
    fitted, predicted = (text for kind, text in BLOCKS if kind == "text")
    assert predicted in out
    # figures may differ from machine to machine; sizes and names do not
    for line in fitted.splitlines():
        stable = re.sub(r"(, \d+ s)?:.*", "", line)
        if re.search(r" [↑↓] |^  ", line):
            stable = line.strip().split("  ")[0]
        assert stable.split(" (")[0] in out, line
    assert "average_precision" in out and "neighbours for (distance)" in out
    assert Path("report", "report.html").stat().st_size > 0


@pytest.mark.parametrize("command", ["make run", "make test"])
def test_the_two_commands_are_named(command):
    makefile = (ROOT / "Makefile").read_text()
    assert command in README and f"\n{command.split()[1]}:" in makefile


def test_links_lead_to_files():
    for link in re.findall(r"\]\(([^)]+)\)", README):
        assert link.startswith("https://") or (ROOT / link).is_file(), link
    for picture in re.findall(r'(?:src|srcset)="([^"]+)"', README):
        assert (ROOT / picture).stat().st_size < 50_000, picture


def test_every_learner_is_named():
    from plurilabel._core.roster import learners

    for name in learners():
        assert f"`{name}`" in README, name


def test_the_tables_are_those_of_the_docstrings(monkeypatch):
    """Made by ``python scripts/house_map.py``; a package without a docstring is an error there."""
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    import house_map

    assert house_map.with_tables(README) == README
    packages = {path.parent.name for path in house_map.SRC.glob("*/__init__.py")}
    assert packages == {name for floor in house_map.floors() for name in floor}
    assert all(f"`{name}`" in house_map.map_table() for name in packages)
