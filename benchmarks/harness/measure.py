"""Time, memory and growth: how every figure on the page comes about.

Times are CPU seconds of one thread, so that other work on the machine counts little. Two things
are compared in turns, A B, B A, A B, and the ratio is taken within each turn: what slows one
slows the other. A row holds the median and the least and greatest of these ratios.

``ratio`` is always the other's time over ours: above 1 the other takes longer.
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

Row = dict[str, Any]
Task = Callable[[], Any]
TURNS = 3


def cpu_seconds(task: Task) -> float:
    start = time.process_time()
    task()
    return time.process_time() - start


def in_turns(tasks: Mapping[str, Task], turns: int = TURNS) -> dict[str, list[float]]:
    """Seconds of each task in each turn; every other turn goes through them backwards."""
    taken: dict[str, list[float]] = {name: [] for name in tasks}
    for turn in range(turns):
        for name in list(tasks)[:: -1 if turn % 2 else 1]:
            taken[name].append(cpu_seconds(tasks[name]))
    return taken


def ratio_of(ours: Sequence[float], other: Sequence[float]) -> dict[str, float]:
    """Medians of both, and the median and range of the other over ours, turn by turn."""
    if len(ours) != len(other) or not len(ours):
        raise ValueError(f"need as many turns of both, got {len(ours)} and {len(other)}")
    ratios = np.asarray(other, dtype=float) / np.maximum(ours, 1e-9)
    return {
        "ours_s": float(np.median(ours)),
        "peer_s": float(np.median(other)),
        "ratio": float(np.median(ratios)),
        "low": float(ratios.min()),
        "high": float(ratios.max()),
        "turns": len(ratios),
    }


def row(
    what: str,
    peer: str,
    ours: Sequence[float],
    other: Sequence[float],
    *,
    kind: str = "peer",
    note: str = "",
) -> Row:
    """One comparison; ``kind`` is "peer", "limit" (what cannot be avoided) or "self"."""
    return {"what": what, "peer": peer, "kind": kind, **ratio_of(ours, other), "note": note}


def alone(what: str, seconds: float, note: str = "") -> Row:
    """A figure that nothing stands beside."""
    return {"what": what, "peer": None, "kind": "alone", "ours_s": seconds, "note": note}


def left_out(what: str, peer: str, why: str) -> Row:
    return {"what": what, "peer": peer, "kind": "left out", "note": why}


def beside(
    what: str,
    ours: Task,
    peers: Mapping[str, Task] | None = None,
    *,
    limits: Mapping[str, Task] | None = None,
    selves: Mapping[str, Task] | None = None,
    turns: int = TURNS,
    note: str = "",
) -> list[Row]:
    """Our task beside those of others, in turns within this process; one row for each other."""
    kinds = {"peer": peers or {}, "limit": limits or {}, "self": selves or {}}
    others = {name: task for tasks in kinds.values() for name, task in tasks.items()}
    taken = in_turns({"": ours, **others}, turns)
    return [
        row(what, name, taken[""], taken[name], kind=kind, note=note)
        for kind, tasks in kinds.items()
        for name in tasks
    ]


# growth --------------------------------------------------------------------------------------


def slope(sizes: Sequence[float], seconds: Sequence[float]) -> float:
    """The exponent b of seconds = a * size ** b, by least squares of the logarithms."""
    x, y = np.log(np.asarray(sizes, float)), np.log(np.maximum(seconds, 1e-9))
    x = x - x.mean()
    return float(x @ y / (x @ x))


def exponent(sizes: Sequence[float], turns: Sequence[Sequence[float]]) -> dict[str, float]:
    """The exponent from the median of the turns, and the range from each turn alone."""
    if len(sizes) < 2:
        raise ValueError(f"an exponent needs two sizes or more, got {len(sizes)}")
    each = [slope(sizes, taken) for taken in turns]
    return {
        "exponent": slope(sizes, np.median(turns, axis=0)),
        "low": min(each),
        "high": max(each),
    }


# memory --------------------------------------------------------------------------------------


def in_child(task: Task) -> dict[str, Any]:
    """Run a task in a forked process that does nothing else; its answer, time and memory.

    ``added_mb`` is how far resident memory rose above what was there before the task. The answer
    travels as JSON.
    """
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        try:
            found = _watched(task)
        except BaseException as error:
            found = {"error": f"{type(error).__name__}: {error}", "traceback": _last_lines()}
        with os.fdopen(writer, "w") as stream:
            json.dump(found, stream)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as stream:
        text = stream.read()
    os.waitpid(child, 0)
    return json.loads(text) if text else {"error": "the process died without an answer"}


def _watched(task: Task) -> dict[str, Any]:
    forget_peak()
    before = status_mb("VmRSS")
    start = time.process_time()
    value = task()
    seconds = time.process_time() - start
    peak = status_mb("VmHWM")
    return {"value": value, "seconds": seconds, "peak_mb": peak, "added_mb": peak - before}


def _last_lines() -> str:
    return "".join(traceback.format_exc().splitlines(keepends=True)[-6:])


def forget_peak() -> None:
    """Give back what is free, and let VmHWM start again from what the process holds now."""
    gc.collect()
    with suppress(AttributeError):  # glibc has it
        ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")


def status_mb(field: str) -> float:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) / 1024
    raise KeyError(field)


def added_mb(task: Task) -> float:
    """How far resident memory rises during the task."""
    found = in_child(lambda: (task(), None)[1])
    if "error" in found:
        raise RuntimeError(found["error"])
    return float(found["added_mb"])


def megabytes(*matrices: Any) -> float:
    """Size of arrays and CSR matrices."""
    total = 0
    for matrix in matrices:
        if isinstance(matrix, np.ndarray):
            total += matrix.nbytes
        else:
            total += matrix.data.nbytes + matrix.indices.nbytes + matrix.indptr.nbytes
    return total / 2**20
