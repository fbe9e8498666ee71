"""The examples run."""

import runpy
import sys
from pathlib import Path

EXAMPLES = Path(__file__).parents[1] / "examples"


def run(name, arguments, monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [name, *arguments])
    runpy.run_path(str(EXAMPLES / name), run_name="__main__")
    return capsys.readouterr().out


def test_thresholds(monkeypatch, capsys, tmp_path):
    out = run("thresholds.py", [], monkeypatch, capsys, tmp_path)
    assert "scut" in out and "seen_sets" in out


def test_compare_transformations(monkeypatch, capsys, tmp_path, data_folder):
    out = run("compare_transformations.py", ["emotions"], monkeypatch, capsys, tmp_path)
    assert "| RAkEL" in out and "| HOMER" in out


def test_every_example_is_tested():
    assert {path.name for path in EXAMPLES.glob("*.py")} == {
        "thresholds.py",
        "compare_transformations.py",
    }
