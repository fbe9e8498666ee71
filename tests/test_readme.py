"""The README's code runs, and does what it says."""

import re
from pathlib import Path

import pytest

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```", README, flags=re.MULTILINE | re.DOTALL)


def test_python_blocks(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (table,) = (text for kind, text in BLOCKS if kind == "")
    Path("films.csv").write_text(table)
    blocks = [text for kind, text in BLOCKS if kind == "python"]
    assert len(blocks) == 2
    for block in blocks:
        exec(compile(block, "README.md", "exec"), {})
    out = capsys.readouterr().out
    # a comment behind a print that shows a value is that value
    for shown in re.findall(r"^print\(.*\)\s+# ([D(].*)$", "\n".join(blocks), re.MULTILINE):
        assert shown in out
    assert "average_precision" in out and "neighbours for (distance)" in out


@pytest.mark.parametrize("command", ["make run", "make test"])
def test_the_two_commands_are_named(command):
    makefile = (Path(__file__).parents[1] / "Makefile").read_text()
    assert command in README and f"\n{command.split()[1]}:" in makefile
