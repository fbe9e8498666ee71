"""The training graph of ``DaskIndex`` on a simulated cluster: tasks, transfers, waiting.

    python -m benchmarks dask_simulation [--check]

List scheduling of the real task graph in Dask's order: an idle worker takes the first task whose
inputs are available; merges run where most of their lists are. The time of a task consists of
reading its blocks, fetching data from other workers, and computing its products or its merge. The
scheduler needs some time per task and hands them out one by one. Failures, slow workers, and a
saturated network or disk are not simulated, except for ``Machine.disk_of_all``.

``--check`` runs two real workers on small data and prints the error of the simulation.
"""

from __future__ import annotations

import argparse
import heapq
import tempfile
import time
from dataclasses import dataclass, field, replace

from plurilabel.distributed._index import LAG, TILES_IN_A_WAVE, group_cuts, waves


@dataclass(frozen=True)
class Machine:
    """What a worker does in a second."""

    products: float  # of two points with the features at hand, each pair counted once
    disk: float = 1e9  # bytes
    disk_of_all: float = 1e11  # bytes, of the storage that the workers share
    network: float = 1e9  # bytes
    merged: float = 5e6  # neighbours
    scheduler: float = 1e-3  # seconds of the scheduler for a task
    start: float = 0.01  # seconds of a worker for a task


@dataclass
class Task:
    needs: list[int]  # other tasks
    work: float  # seconds
    gives: float  # bytes that each later task fetches
    waits_for: int
    is_small: bool  # runs where its inputs are
    then: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class Outcome:
    hours: float
    busy: float  # share of the time in which workers compute
    moved: float  # bytes
    tasks: int


def graph_of_tasks(
    n: int, d: int, k: int, n_workers: int, rows: int, machine: Machine, bytes_each: int = 4
) -> list[Task]:
    """The tasks of ``DaskIndex(rows=rows, reload=True)``, in order."""
    m = -(-n // rows)
    cuts = group_cuts(m, n_workers)
    g, s = len(cuts) - 1, m / (len(cuts) - 1)  # groups, blocks in each
    size = n / g  # points of a group
    disk = min(machine.disk, machine.disk_of_all / n_workers)
    block = n / m * d * bytes_each / disk  # seconds
    L = 16 * k * size
    tasks: list[Task] = []

    def add(needs: list[int], work: float, gives: float) -> int:
        is_small = bool(needs) and work < tile
        tasks.append(Task(needs, work + machine.start, gives, len(needs), is_small))
        for other in needs:
            tasks[other].then.append(len(tasks) - 1)
        return len(tasks) - 1

    alone = size**2 / 2 / machine.products + block * s * (s + 1) / 2
    tile = size**2 / machine.products + block * s * (s + 1)
    found = [add([], alone, L) for _ in range(g)]
    far = [[add([lists], 0, 8 * size) for lists in found]]
    for wave in waves(g, TILES_IN_A_WAVE * n_workers):
        known, lists = far[max(0, len(far) - LAG)], [[state] for state in found]
        for i, j in wave:
            both = add([known[i], known[j]], tile, L)  # of which each side fetches its own half
            lists[i].append(both)
            lists[j].append(both)
        found = [add(some, k * size * len(some) / machine.merged, L) for some in lists]
        far.append([add([state], 0, 8 * size) for state in found])
    return tasks


def simulate(tasks: list[Task], n_workers: int, machine: Machine) -> Outcome:
    """When everything is done: small tasks go to their data, the others to whoever is idle."""
    queue: list[int] = []
    own: list[list[int]] = [[] for _ in range(n_workers)]  # small tasks for this worker
    idle, running = set(range(n_workers)), []
    place: dict[int, int] = {}
    now = clock = busy = moved = 0.0

    def put(i: int) -> None:
        there = [place[other] for other in tasks[i].needs]
        small = there and tasks[i].is_small
        heapq.heappush(own[max(set(there), key=there.count)] if small else queue, i)

    def started(i: int, worker: int) -> None:
        nonlocal clock, busy, moved
        task = tasks[i]
        fetched = sum(tasks[other].gives for other in task.needs if place[other] != worker)
        clock = max(clock, now) + machine.scheduler
        heapq.heappush(running, (clock + fetched / machine.network + task.work, i, worker))
        moved, busy, place[i] = moved + fetched, busy + task.work, worker

    for i, task in enumerate(tasks):
        if not task.waits_for:
            put(i)
    while True:
        for worker in sorted(idle):
            if own[worker] or queue:
                idle.remove(worker)
                started(heapq.heappop(own[worker] or queue), worker)
        if not running:
            return Outcome(now / 3600, busy / now / n_workers, moved, len(tasks))
        now, i, worker = heapq.heappop(running)
        idle.add(worker)
        for later in tasks[i].then:
            tasks[later].waits_for -= 1
            if not tasks[later].waits_for:
                put(later)


CORE = Machine(products=2.2e8)
H200 = Machine(products=1e12 / (2 * 1.314), disk=5e9, network=5e9)
"""Products of 128 features: of a core as measured, of a GPU as in docs/gpu_results.md, from the
main memory and back, where each pair of blocks is searched once for each side."""


def table(n: int, d: int, k: int) -> None:
    print("| workers | each | rows of a block | tasks | hours | busy | GB moved | ideal hours |")
    print("| ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for kind, machine, rows in (("core", CORE, 65_536), ("H200", H200, 1_000_000)):
        for n_workers in (10, 100, 1000):
            tasks = graph_of_tasks(n, d, k, n_workers, rows, machine)
            got = simulate(tasks, n_workers, machine)
            ideal = n**2 / 2 / machine.products / n_workers / 3600
            print(
                f"| {n_workers:,} | {kind} | {rows:,} | {got.tasks:,} | {got.hours:.3g} | "
                f"{got.busy:.0%} | {got.moved / 1e9:,.0f} | {ideal:.3g} |",
                flush=True,
            )


def check(sizes: list[tuple[int, int, int, int]]) -> None:
    """Two real workers beside the simulation of them, with the speed that one task shows."""
    from benchmarks.pages import dask as bench
    from plurilabel import DaskIndex

    print("| points | rows | seconds | simulated | MB received | simulated |")
    with bench.cluster() as client, tempfile.TemporaryDirectory() as folder:
        for n, d, rows, k in sizes:
            chunks = bench.on_disk(bench.points(n, d), folder, rows)
            index = DaskIndex(rows=rows, reload=True).fit(chunks)
            index.kneighbors(None, k)
            before = sum(client.run(bench._received).values())
            spent = sum(client.run(time.process_time).values())
            start = time.perf_counter()
            index.kneighbors(None, k)
            took = time.perf_counter() - start
            # others use these processors, too: seconds of the workers' own count
            worked = sum(client.run(time.process_time).values()) - spent
            received = sum(client.run(bench._received).values()) - before
            machine = replace(CORE, products=n**2 / 2 / worked)
            got = simulate(graph_of_tasks(n, d, k, 2, rows, machine, 8), 2, machine)
            print(
                f"| {n:,} x {d} | {rows:,} | {took:.1f} ({worked / 2:.1f} of each processor) | "
                f"{3600 * got.hours:.1f} | {received / 2**20:.1f} | {got.moved / 2**20:.1f} |",
                flush=True,
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true")
    if parser.parse_args().check:
        check([(20_000, 64, 1000, 10), (30_000, 32, 1000, 10), (20_000, 128, 2000, 20)])
    else:
        table(100_000_000, 128, 10)


if __name__ == "__main__":
    main()
