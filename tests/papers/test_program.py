"""``python -m benchmarks reproduce``."""

import json

import pytest

from benchmarks.papers import runs
from benchmarks.papers.program import main
from plurilabel.evaluation import compare
from tests.cli.runner import runner
from tests.papers.toy import BAD, make_paper


def run(*arguments):
    return runner().invoke(main, arguments)


@pytest.fixture
def toy(tmp_path, monkeypatch, found):
    """Put an invented paper in the place of the real ones."""

    def put(extra=""):
        paper = make_paper(tmp_path, found, extra)
        monkeypatch.setattr("benchmarks.papers.paper.paper_names", lambda: ["toy"])
        monkeypatch.setattr("benchmarks.papers.runs.load_paper", lambda _: paper)

    return put


def test_exit_status(toy, tmp_path, monkeypatch):
    monkeypatch.setattr(runs, "compare", lambda *a, **k: compare(*a, **{**k, "n_jobs": None}))
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


def test_facts_from_the_real_files(data_folder):
    done = run("ml-knn", "--table", "data", "--json")
    assert done.exit_code == 0, done.output
    answer = json.loads(done.stdout)
    assert answer["holds"] is True and {c["verdict"] for c in answer["cells"]} == {"holds"}
    found = {c["measure"]: c for c in answer["cells"]}
    assert found["labels"]["published"] == found["labels"]["ours"] == 14


def test_a_folder_that_cannot_be_written_is_found_first(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(runs, "compare", None)
    done = run("ml-knn", "--out", str(tmp_path / "file" / "deeper"))
    assert done.exit_code == 2 and "cannot be written" in done.stderr
