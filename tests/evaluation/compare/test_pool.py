"""Workers that fail, hang, crash or are killed, and resumed comparisons."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest
from sklearn.base import clone

from plurilabel import datasets, io
from plurilabel.cli._main import plurilabel as command
from plurilabel.evaluation import Results, compare
from plurilabel.evaluation._compare._pool import START
from plurilabel.learners import make_learners
from tests.evaluation.compare.toys import TIMES, TOY
from tests.evaluation.compare.troublesome import Constant, Crashes, Exits, Fails, Hangs, Spoils


def test_a_failing_learner_does_not_affect_others(tmp_path):
    pid_file = tmp_path / "pid"
    learners = {
        "first": Constant(),
        "fails": Fails(),
        "hangs": Hangs(str(pid_file)),
        "spoils": Spoils(),
        "crashes": Crashes(),
        "exits": Exits(),
        "last": Constant(),
    }
    results = compare(TOY, learners, measures=["f1"], time_limit=3, out=tmp_path / "out", n_jobs=2)
    status = {cell["learner"]: (cell["status"], cell["error"]) for cell in results.cells}
    assert status == {
        "first": ("ok", None),
        "fails": ("error", "RuntimeError: it cannot be done"),
        "hangs": ("timeout", "stopped at the time limit of 3 seconds"),
        "spoils": ("ok", None),
        "crashes": ("crashed", "the process died of SIGSEGV while running this cell"),
        "exits": (
            "crashed",
            "the process ended with exit code 3 while running this cell",
        ),
        "last": ("ok", None),
    }
    cells = {cell["learner"]: cell for cell in results.cells}
    assert "in fit\n    raise RuntimeError" in cells["fails"]["traceback"]
    assert "Segmentation fault" in cells["crashes"]["traceback"]
    assert cells["fails"]["scores"] == {"f1": None} == cells["hangs"]["scores"]
    assert cells["first"]["scores"] == cells["last"]["scores"] == cells["spoils"]["scores"]
    assert not alive(int(pid_file.read_text()))  # the child went with the worker
    # what failed stays so, unless one asks
    learners["fails"] = clone(learners["fails"])
    assert compare(TOY, learners, measures=["f1"], out=tmp_path / "out").cells == results.cells
    # tried again here, in this process: only what failed
    some = {name: learners[name] for name in ("first", "fails")}
    again = compare(TOY, some, measures=["f1"], out=tmp_path / "out", retry=True, n_jobs=None)
    assert again.cells[0] == results.cells[0]  # not run again: its time is the same
    assert again.cells[1]["peak_mb"] != results.cells[1]["peak_mb"]
    assert [cell["status"] for cell in again.cells] == ["ok", "error"]


def alive(pid):
    """Whether a process runs; one that is dead and not yet buried does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_script_needs_no_guard_and_ctrl_c_leaves_what_is_finished(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent(
            """
            import signal, sys, time
            from plurilabel import MLkNN, datasets
            from plurilabel.evaluation import compare

            class Mine(MLkNN):
                def fit(self, X, y):
                    time.sleep(60 * (self.n_neighbors == 2))
                    return super().fit(X, y)

            # a test that runs in the background has inherited that it is ignored
            signal.signal(signal.SIGINT, signal.default_int_handler)

            def tell(done, total, cell, left):
                print(cell["learner"], cell["status"], cell["error"], flush=True)

            data = datasets.make_multilabel(30, random_state=0)
            compare(data, {"mine": Mine(3), "theirs": "MLkNN(3)", "late": Mine(2)},
                    measures=["f1"], out=sys.argv[1], progress=tell)
            """
        )
    )
    with subprocess.Popen(
        [sys.executable, script, tmp_path / "out"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout.readline() == "mine ok None\n"
        assert process.stdout.readline() == "theirs ok None\n"
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert process.returncode != 0 and "KeyboardInterrupt" in errors
    results = Results.open(tmp_path / "out")
    assert [cell["learner"] for cell in results.cells] == ["mine", "theirs"]
    assert results.cells[0]["scores"] == results.cells[1]["scores"]
    assert results.cells[0]["class"] == "__main__.Mine"
    assert not list((tmp_path / "out").glob(".work-*"))


def test_a_worker_that_cannot_start_says_why(monkeypatch, tmp_path):
    monkeypatch.setattr(
        "plurilabel.evaluation._compare._pool.START", "raise SystemExit('no luck')"
    )
    with pytest.raises(RuntimeError, match="a worker process did not start: no luck"):
        compare(TOY, Constant(), out=tmp_path)
    assert not list(tmp_path.glob(".work-*"))


def test_an_error_in_progress_ends_the_workers(tmp_path, fake):
    def bad(*news):
        raise ZeroDivisionError("mine")

    fake(hang_at=1)
    with pytest.raises(ZeroDivisionError, match="mine"):
        compare(TOY, {"a": Constant(), "b": Constant()}, out=tmp_path, progress=bad)
    (cell,) = Results.open(tmp_path).cells
    assert cell["learner"] == "a" and not alive(cell["pid"])
    assert not any("_listen" in thread.name for thread in threading.enumerate())


def test_a_worker_that_dies_while_idle_is_replaced(fake):
    fake(die_after=1)
    results = compare(TOY, {"a": Constant(), "b": Constant()}, cv=3)
    assert [cell["status"] for cell in results.cells] == ["ok"] * 6
    pids = [cell["pid"] for cell in results.cells]
    assert len(set(pids[:2])) == 1 == len(set(pids[2:])) and pids[0] != pids[2]
    assert not any(alive(pid) for pid in pids)


def test_a_time_limit_is_for_a_cell_not_for_a_worker(fake):
    fake(hang_at=2)
    learners = {"a": Constant(), "b": Constant()}
    results = compare(TOY, learners, cv=3, time_limit=2.0)
    found = [(cell["fold"], cell["learner"]) for cell in results.failures()]
    assert found == [(1, "a")] and len(results.cells) == 6


# killed ----------------------------------------------------------------------------------------


TEXT = "MLkNN(3), BRkNN(5), a=MLRandomForest(20), b=MLRandomForest(30), s=MLkNN(smoothing=[1, 2])"


OPTIONS = ["--cv", "3", "--measures", "f1,ranking_loss", "--no-report", "--learners", TEXT]


def arguments(table, out):
    return ["compare", str(table), "--labels", "tags", "--out", str(out), *OPTIONS]


def start(table, out):
    return subprocess.Popen(
        [sys.executable, "-c", "from plurilabel.cli import main; main()", *arguments(table, out)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def cells_in(out):
    return list(out.glob("cells/*/*/*.json"))


def children(pid):
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, parent = stat.read_text().rpartition(")")[2].split()[:2]
        except OSError:
            continue
        if int(parent) == pid and state != "Z":
            found.append(int(stat.parent.name))
    return found


def wait_until(condition, seconds=60):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.005)
    return False


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks at processes in /proc")
def test_a_worker_does_not_outlive_its_parent_while_it_starts():
    """What it imports takes a second or two, in which nobody listens to the parent."""
    program = (
        "import json, os, signal, subprocess, sys, time\n"
        "command = [sys.executable, '-P', '-c', sys.argv[1], json.dumps(sys.path)]\n"
        "pipe = subprocess.PIPE\n"
        "worker = subprocess.Popen(command, stdin=pipe, stdout=pipe, start_new_session=True)\n"
        "print(worker.pid, flush=True)\n"
        "time.sleep(1)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    slow = START.replace("from plurilabel", "import time; time.sleep(60)\nfrom plurilabel")
    done = subprocess.run([sys.executable, "-c", program, slow], capture_output=True, text=True)
    assert done.returncode == -signal.SIGKILL, done.stderr
    stat = Path(f"/proc/{int(done.stdout)}/stat")

    def is_over():
        return not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] == "Z"

    assert wait_until(is_over, 1)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks at processes in /proc")
def test_a_killed_comparison_resumes_with_the_same_results(tmp_path, capsys):
    others = children(os.getpid())  # of tests before this one
    data = datasets.make_multilabel(60, random_state=1)
    table, out = tmp_path / "toy.csv", tmp_path / "out"
    io.write_table(table, data, tags="tags")
    killed = start(table, out)
    assert wait_until(lambda: len(cells_in(out)) >= 4)
    workers = children(killed.pid)
    assert workers
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    assert wait_until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in workers), 30)
    finished = {path: path.read_bytes() for path in cells_in(out)}
    assert 4 <= len(finished) < 15
    # what a power cut may leave
    half, *_ = finished
    half.write_bytes(finished.pop(half)[:100])

    with pytest.raises(SystemExit) as stop:
        command.main(arguments(table, out))
    output, errors = capsys.readouterr()
    assert stop.value.code == 0, errors
    assert "MLkNN(3)" in output
    for path, content in finished.items():
        assert path.read_bytes() == content  # not run again
    assert not list(out.glob(".work-*"))

    undisturbed = compare(
        io.read(table, labels="tags", encode=False),
        make_learners(TEXT),
        cv=3,
        measures=["f1", "ranking_loss"],
        n_jobs=None,
    )
    found = Results.open(out)
    assert len(found.cells) == 15

    def comparable(results):
        return [{k: v for k, v in cell.items() if k not in TIMES} for cell in results.cells]

    assert comparable(found) == comparable(undisturbed)
    assert set(children(os.getpid())) <= set(others)
