"""The benchmark program's own arithmetic, its page, and that every group can be imported."""

import csv
import importlib
import json
import os
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from benchmarks.harness import measure as _measure
from benchmarks.harness import page as _page
from benchmarks.harness import plots as _plots
from benchmarks.harness import program as _program
from benchmarks.harness.contestants import TASKS
from benchmarks.harness.peers import HOME, Worker, store
from benchmarks.harness.roster import learners
from benchmarks.speed.learners import spread
from benchmarks.speed.profiles import owner_of, stopwatch
from benchmarks.speed.search import recall
from benchmarks.speed.split import evenness
from plurilabel._core.roster import learners as roster


def test_ratio_is_the_others_time_over_ours_turn_by_turn():
    found = _measure.ratio_of([1.0, 2.0, 4.0], [3.0, 2.0, 2.0])
    assert found == {
        "ours_s": 2.0, "peer_s": 2.0, "ratio": 1.0, "low": 0.5, "high": 3.0, "turns": 3,
    }  # fmt: skip


@pytest.mark.parametrize(("ours", "other"), [([], []), ([1.0], [1.0, 2.0])])
def test_ratio_needs_as_many_turns_of_both(ours, other):
    with pytest.raises(ValueError, match="as many turns of both"):
        _measure.ratio_of(ours, other)


def test_turns_alternate_their_order():
    order = []
    tasks = {name: lambda name=name: order.append(name) for name in "ab"}
    taken = _measure.in_turns(tasks, turns=3)
    assert order == ["a", "b", "b", "a", "a", "b"]
    assert {name: len(times) for name, times in taken.items()} == {"a": 3, "b": 3}


def test_beside_makes_one_row_for_each_other():
    rows = _measure.beside("sum", lambda: sum(range(1000)), {"peer": lambda: sum(range(100_000))},
                           limits={"nothing": lambda: None}, note="said")  # fmt: skip
    assert [(row["peer"], row["kind"], row["note"]) for row in rows] == [
        ("peer", "peer", "said"), ("nothing", "limit", "said"),
    ]  # fmt: skip
    assert rows[0]["ratio"] > 5
    assert rows[1]["ratio"] < 1


@pytest.mark.parametrize("power", [0.0, 1.0, 1.7, 2.0])
def test_exponent_of_a_power(power):
    sizes = np.array([100, 200, 400, 800])
    turns = [3.0 * sizes**power, 5.0 * sizes**power]
    found = _measure.exponent(sizes, turns)
    assert found["exponent"] == pytest.approx(power, abs=1e-12)
    assert found["low"] == pytest.approx(found["high"], abs=1e-12)


def test_exponent_has_the_range_of_its_turns():
    sizes = [1, 2, 4]
    found = _measure.exponent(sizes, [[1, 2, 4], [1, 4, 16], [1, 2, 4]])
    assert (found["exponent"], found["low"], found["high"]) == pytest.approx((1, 1, 2))
    with pytest.raises(ValueError, match="two sizes or more"):
        _measure.exponent([5], [[1.0]])


@pytest.mark.skipif(not os.path.exists("/proc/self/clear_refs"), reason="needs Linux")
def test_a_child_reports_its_own_memory_and_errors():
    found = _measure.in_child(lambda: int(np.ones(30 * 2**17).sum()))  # 30 MB
    assert found["value"] == 30 * 2**17
    assert 25 < found["added_mb"] < 60
    assert _measure.added_mb(lambda: None) < 10
    assert _measure.in_child(lambda: 1 / 0)["error"] == "ZeroDivisionError: division by zero"
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        _measure.added_mb(lambda: 1 / 0)


def test_megabytes_of_arrays_and_sparse_arrays():
    csr = sparse.csr_array(np.eye(3))
    parts = csr.data.nbytes + csr.indices.nbytes + csr.indptr.nbytes
    assert _measure.megabytes(np.zeros((2**10, 2**7)), csr) == pytest.approx(1 + parts / 2**20)


@pytest.mark.parametrize("name", _program.GROUPS)
def test_every_group_imports_without_the_peers(name):
    module = importlib.import_module(f"benchmarks.speed.{name}")
    assert callable(module.run)
    assert module.__doc__
    assert name in _page.TITLES


def test_every_contestant_has_a_home_and_comes_after_us():
    for task, players in TASKS.items():
        assert task == "as shipped" or next(iter(players)) == "plurilabel"
        for player in players:
            known = HOME.keys() | {"plurilabel", "scikit-learn"}
            assert player.startswith(("limit: ", "scikit-learn, ")) or player in known


def test_the_roster_has_every_learner_and_its_calls_exist():
    found = learners()
    needed = {name for name, entry in roster().items() if entry.needs}
    assert roster().keys() - found.keys() <= needed
    for name, entry in found.items():
        assert type(entry.build()).__name__ == name
        for call in entry.calls:
            assert callable(getattr(*owner_of(call)))


def test_stopwatch_counts_outermost_calls_once():
    class Nested:
        def outer(self):
            return self.inner()

        def inner(self):
            return sum(range(200_000))

    import benchmarks.harness.measure as module

    module.Nested = Nested
    try:
        calls = tuple(f"benchmarks.harness.measure:Nested.{name}" for name in ("outer", "inner"))
        with stopwatch(calls) as inside:
            whole = _measure.cpu_seconds(lambda: Nested().outer())
        assert 0.3 * whole < inside[0] <= whole
    finally:
        del module.Nested
    assert Nested.inner.__name__ == "inner"


def test_part_of_the_rows_is_at_equal_distances():
    assert spread(10, 4).tolist() == [0, 2, 5, 7]
    assert spread(3, None).tolist() == spread(3, 5).tolist() == [0, 1, 2]


def test_recall_does_not_mind_the_order():
    assert recall(np.array([[1, 2], [3, 4]]), np.array([[2, 1], [3, 9]])) == 0.75


def test_evenness_of_perfect_and_of_lopsided_folds():
    Y = np.array([[1, 0], [1, 0], [0, 1], [0, 1], [1, 1], [1, 1], [0, 0], [0, 0]])
    perfect = evenness(Y, np.array([0, 1, 0, 1, 0, 1, 0, 1]), 2)
    assert perfect == {"LD": 0, "ED": 0, "LP": 0}
    # odds of the first label 3/1 and 1/3, of the second 1/3 and 3/1, of both in the whole 4/4
    lopsided = evenness(Y, np.array([0, 0, 1, 1, 0, 1, 0, 1]), 2)
    assert lopsided["LD"] == pytest.approx(1e4 * (2 + 2 / 3) / 2)
    uneven = evenness(Y, np.array([0, 1, 0, 1, 0, 0, 1, 0]), 2)
    assert (uneven["ED"], uneven["LP"]) == (1, 1)


@pytest.fixture(scope="module")
def worker():
    with Worker() as started:
        yield started


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_a_worker_fits_predicts_and_saves(tmp_path, worker, form):
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(40, 3)), rng.integers(0, 2, (40, 2), dtype=np.int8)
    store(tmp_path / "data.npz", form(X), form(Y), form(X[:5]))
    assert worker.ask(do="load", path=str(tmp_path / "data.npz")) == {}
    assert worker.ask(do="warm up", task="BRkNN", package="scikit-learn") == {}
    command = {"do": "run", "task": "BRkNN", "save": str(tmp_path / "answers.npz")}
    found = worker.ask(**command, package="scikit-learn")
    wrong = worker.ask(**command, package="scikit-multilearn")
    assert found["fit_s"] >= 0
    assert found["peak_mb"] > found["added_mb"]
    assert wrong["error"].startswith("ModuleNotFoundError")
    answers = np.load(tmp_path / "answers.npz")
    nearest = np.argsort(((X[:5, None] - X) ** 2).sum(axis=2), axis=1)[:, :10]
    np.testing.assert_allclose(answers["scores"], Y[nearest].mean(axis=1))
    assert answers["labels"].shape == (5, 2)


# the page --------------------------------------------------------------------------------------


def stored():
    ratio = {"ours_s": 0.01, "peer_s": 0.31, "ratio": 31.0, "low": 29.0, "high": 120.0, "turns": 3}
    quality = {"hamming_loss": 0.198, "average_precision": 0.7585}
    contest = {
        "what": "ML-kNN: yeast", "task": "ML-kNN", "data": "yeast", "peer": "slow|one",
        "kind": "peer", "fit": ratio, "predict": ratio, "memory_mb": [2.0, 8.0],
        "quality": [quality, {"hamming_loss": 0.21}],
    }  # fmt: skip
    limit = {**contest, "peer": "bare search", "kind": "limit", "quality": [quality, None]}
    shipped = _measure.left_out("ML-kNN as shipped", "scikit-multilearn", "TypeError: position")
    gone = {**_measure.left_out("RAkEL: yeast", "old", "ValueError: why"), "task": "RAkEL"}
    growth = {
        "what": "MLkNN", "family": "lazy", "kind": "growth", "step": "fit", "axis": "n",
        "sizes": [10, 20], "seconds": [1.0, 2.0], "exponent": 1.0, "low": 0.9, "high": 1.1,
    }  # fmt: skip
    profile = {
        "what": "MLkNN", "family": "lazy", "kind": "profile", "data": "yeast",
        "peer": "neighbour search", **ratio, "ratio": 0.9, "low": 0.8, "high": 0.95,
    }  # fmt: skip
    groups = {
        "learners": [shipped, contest, limit, gone],
        "metrics": [
            {"what": "all measures", "peer": "scikit-learn", "kind": "peer", **ratio, "note": ""},
            _measure.alone("a large one", 2.5, "no peer"),
        ],
        "growth": [growth],
        "profiles": [profile],
    }
    return {
        "format": 1, "quick": False, "machine": {"processor": "some", "cores": 2},
        "python": "3.11", "versions": {"numpy": "2"},
        "peers": {"ng": {"scikit-multilearn-ng": "0"}},
        "groups": {
            name: {"about": f"About {name}.", "date": "2026-01-02", "rows": rows, "wall_s": 1.0}
            for name, rows in groups.items()
        } | {"files": {"about": "Files.", "date": "2026-01-03", "error": "OSError: no"}},
    }  # fmt: skip


def test_page_from_stored_results(tmp_path):
    pytest.importorskip("matplotlib")
    _page.write_page(json.loads(json.dumps(stored())), tmp_path)
    page = (tmp_path / "benchmarks.md").read_text()
    assert "Measured** 2026-01-02 to 2026-01-03 on some, 2 cores" in page
    assert "stop with `TypeError: position`" in page
    assert r"| ML-kNN | 31 | 31 | slow\|one |" in page
    assert "| Measures | 31 |  | scikit-learn |" in page
    assert (
        r"| yeast | slow\|one | 10 ms | 31 (29 to 120) | 10 ms | 31 (29 to 120) | 2 | 8 |" in page
    )
    assert "|  | limit: bare search | 10 ms |" in page  # the data are named once
    assert "| yeast | plurilabel | 0.1980 |  |  |  | 0.7585 |  |" in page
    assert page.count("| plurilabel |") == 1
    assert "- RAkEL: yeast, old: `ValueError: why`" in page
    assert "| MLkNN | 1.00 (0.90 to 1.10) |  |  |  |" in page
    assert "| MLkNN | yeast | neighbour search | 10 ms | 90% (80% to 95%) |" in page
    assert "| a large one |  | 2.5 s |  |  | no peer |" in page
    assert "This group stopped: `OSError: no`" in page
    for name in ("learners-ml-knn", "metrics", "growth", "profiles"):
        plot = tmp_path / _page.PLOTS / f"{name}.svg"
        assert f"]({_page.PLOTS}/{name}.svg)" in page
        assert ET.parse(plot).getroot().tag.endswith("svg")


def test_the_summary_takes_the_quickest_peer_on_each_dataset():
    def row(what, peer, ratio):
        return {"what": what, "peer": peer, "kind": "peer", "ratio": ratio}

    rows = [row("a", "x, in one way", 9.0), row("a", "x, in another", 4.0), row("b", "y", 7.0)]
    page = _page.glance({"metrics": {"rows": rows}, "split": {"rows": [row("c", "z", 0.5)]}})
    assert "| Measures | 4 to 7 |  | x, y |" in page
    assert "| Stratified folds | **0.5** |  | z |" in page


def test_all_but_the_summary_is_folded(tmp_path, monkeypatch):
    monkeypatch.setattr(_page, "plot", lambda name, *_: [f"![]({name}.svg)", ""])
    results = json.loads(
        (Path(__file__).parents[1] / "benchmarks" / "results" / "speed.json").read_text()
    )
    _page.write_page(results, tmp_path)
    page = (tmp_path / "benchmarks.md").read_text()
    first, *details = page.split("::::{dropdown} ")
    inside, between = zip(*(part.split("\n::::\n") for part in details))
    open_lines = "\n".join([first, *between]).splitlines()
    assert len(details) >= 20
    assert len(open_lines) < 100 < len(page.splitlines()) / 5
    assert not [line for line in open_lines if line.startswith("![")]
    assert not [line for part in inside for line in part.splitlines() if line.startswith("#")]


def test_results_have_a_line_for_each_row():
    text = _program.compact(stored())
    assert json.loads(text) == stored()
    n_rows = sum(len(group.get("rows", ())) for group in stored()["groups"].values())
    assert sum(line.startswith('{"what"') for line in text.splitlines()) == n_rows


def test_plots_are_transparent_and_always_the_same(tmp_path):
    pytest.importorskip("matplotlib")
    rows = stored()["groups"]["metrics"]["rows"]
    for name in ("a.svg", "b.svg"):
        assert _plots.ratio_plot(rows, tmp_path / name)
    text = (tmp_path / "a.svg").read_text()
    assert text == (tmp_path / "b.svg").read_text()
    assert "fill: #ffffff" not in text
    assert not _plots.ratio_plot([_measure.alone("x", 1.0)], tmp_path / "c.svg")


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, ""), (0.0001, "0.1 ms"), (0.9994, "999 ms"), (0.9999, "1 s"), (12.34, "12.3 s")],
)
def test_seconds_in_words(value, text):
    assert _page.seconds(value) == text


def test_program_stores_as_it_goes_and_resumes(tmp_path, monkeypatch, capsys):
    pytest.importorskip("matplotlib")
    ran = []

    def group(name, quick):
        ran.append((name, quick))
        return {"about": "About.", "date": "2026-01-02", "rows": [], "wall_s": 0.0}

    monkeypatch.setattr(_program, "_run", group)
    monkeypatch.setattr(_program, "versions_of_peers", dict)
    options = ["--quick", "--out", str(tmp_path), "--page", str(tmp_path)]
    _program.main([*options, "files"])
    assert json.loads((tmp_path / "speed.json").read_text())["groups"].keys() == {"files"}
    _program.main([*options, "--resume"])
    assert ran == [("files", True), *((g, True) for g in _program.GROUPS if g != "files")]
    assert (tmp_path / "benchmarks.md").exists()
    text = (tmp_path / "speed.json").read_text()
    assert text == _program.compact(json.loads(text))
    with pytest.raises(SystemExit, match="no group nothing"):
        _program.main(["nothing"])
    capsys.readouterr()


def test_simulated_workers_have_as_much_to_do_as_real_ones():
    from benchmarks.pages.dask_simulation import CORE, graph_of_tasks, simulate

    one, four = (
        simulate(graph_of_tasks(400_000, 128, 10, n_workers, 10_000, CORE), n_workers, CORE)
        for n_workers in (1, 4)
    )
    ideal = 400_000**2 / 2 / CORE.products / 3600
    assert one.moved == 0
    assert one.hours == pytest.approx(ideal, rel=0.05)
    assert ideal / 4 < four.hours < 1.25 * ideal / 4
    assert four.moved > 0
    # a network that is slow enough is all that counts
    slow = replace(CORE, network=1e3)
    waited = simulate(graph_of_tasks(400_000, 128, 10, 4, 10_000, slow), 4, slow)
    assert waited.hours > four.moved / 4 / slow.network / 3600


def test_a_ratio_that_doubles_fails_and_one_that_grows_is_named(tmp_path):
    from benchmarks.pages import guard

    words = [guard.judged(ratio, 0.5) for ratio in (0.3, 0.54, 0.6, 1.0)]
    assert words == ["", "", "slower", "FAILED"]
    assert guard.judged(0.5, None) == "new"
    path = tmp_path / "kept.jsonl"
    assert guard.last_kept(path) == {}
    path.write_text('{"ratios": {"a": 1.0}}\n{"ratios": {"a": 2.0}}\n')
    assert guard.last_kept(path) == {"a": 2.0}
    assert guard.last_kept()  # what `make bench` compares with


def test_ratios_take_the_least_time_of_both():
    from benchmarks.pages import guard

    ours, theirs = iter([9.0, 2.0, 4.0]), iter([9.0, 8.0, 1.0])
    assert guard.measured((lambda: next(ours), lambda: next(theirs)), turns=2) == 2.0


def test_date_commit_and_versions_are_kept_beside_each_file_that_was_written(tmp_path):
    from benchmarks.harness.state import stamped

    (tmp_path / "old.csv").write_text("x")
    for command in ("one", "two"):
        with pytest.raises(KeyError), stamped(command, tmp_path):
            (tmp_path / f"{command}.csv").write_text("x")
            raise KeyError  # what was written until then counts
    with stamped("nothing", tmp_path):
        pass
    rows = list(csv.DictReader((tmp_path / "states.csv").read_text().splitlines()))
    commands = {row["file"]: row["command"] for row in rows}
    assert commands == {f"{n}.csv": f"python -m benchmarks {n}" for n in ("one", "two")}
    assert all(row["date"] and f"numpy {np.__version__}" in row["versions"] for row in rows)
