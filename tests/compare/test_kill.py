"""A comparison that is killed, and the same command again."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from plurilabel import datasets, io
from plurilabel.cli._main import plurilabel as command
from plurilabel.compare import Results, compare, make_learners

TEXT = "MLkNN(3), BRkNN(5), a=MLRandomForest(20), b=MLRandomForest(30), s=MLkNN(smoothing=[1, 2])"
OPTIONS = ["--cv", "3", "--measures", "f1,ranking_loss", "--no-report", "--learners", TEXT]
TIMES = {"fit_seconds", "predict_seconds", "search_seconds", "peak_mb"}


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
def test_killed_and_started_again_it_ends_as_if_nothing_had_happened(tmp_path, capsys):
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
        io.read(table, labels="tags"),
        make_learners(TEXT),
        cv=3,
        measures=["f1", "ranking_loss"],
    )
    found = Results.open(out)
    assert len(found.cells) == 15

    def comparable(results):
        return [{k: v for k, v in cell.items() if k not in TIMES} for cell in results.cells]

    assert comparable(found) == comparable(undisturbed)
    assert set(children(os.getpid())) <= set(others)
