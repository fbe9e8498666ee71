"""The README's code runs, and does what it says."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
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


def test_shell_blocks(tmp_path, monkeypatch):
    testing = pytest.importorskip("click.testing")
    from plurilabel.cli._main import plurilabel

    monkeypatch.chdir(tmp_path)
    (table,) = (text for kind, text in BLOCKS if kind == "")
    Path("films.csv").write_text(table)
    shell = "\n".join(text for kind, text in BLOCKS if kind == "sh")
    (command,) = re.findall(r"^plurilabel (.*)$", shell, flags=re.MULTILINE)
    result = testing.CliRunner().invoke(plurilabel, command.split())
    assert result.exit_code == 0, result.output
    assert Path("films.png").stat().st_size > 0


@pytest.mark.parametrize("command", ["make run", "make test"])
def test_the_two_commands_are_named(command):
    makefile = (ROOT / "Makefile").read_text()
    assert command in README and f"\n{command.split()[1]}:" in makefile


def test_links_lead_to_files():
    for link in re.findall(r"\]\(([^)]+)\)", README):
        assert link.startswith("https://") or (ROOT / link).is_file(), link
    assert (ROOT / "docs" / "_static" / "why.png").stat().st_size < 50_000


def test_every_learner_is_named():
    import plurilabel

    for name in plurilabel.__all__:
        if isinstance(getattr(plurilabel, name), type):
            assert f"`{name}`" in README or f"{name}(" in README, name
