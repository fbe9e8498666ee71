"""Tasks on a cluster, on threads or in this process, in the order of their blocks."""

from __future__ import annotations

import time
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from itertools import chain
from typing import Any
from uuid import uuid4

from plurilabel.distributed._blocks import current_client, import_dask, workers

THREADS = "threads"
PATIENCE = 10  # seconds to wait for a scheduler
LONELY = 60  # seconds to wait for workers where there are none
AHEAD = 2  # tasks for each thread beyond the one whose result is awaited
TRIES = 5  # of what was lost with a scheduler, or with the only worker that had it


class LostError(ConnectionError):
    """A task is lost, but may succeed if it is submitted again."""


@contextmanager
def connected(scheduler: Any) -> Iterator[Any]:
    """Compute on a cluster, whose client is given, or on the threads of this process."""
    dask = import_dask("scheduler=")
    if scheduler == THREADS:
        with dask.config.set(scheduler=scheduler):
            yield None
        return
    if hasattr(scheduler, "submit"):
        yield scheduler
        return
    from distributed import Client

    try:
        client = Client(scheduler, timeout=PATIENCE)
    except (OSError, ValueError) as error:
        raise ValueError(f"scheduler={scheduler!r} does not respond: {error}") from None
    with client:
        yield client


def in_order(
    function: Callable[[Any, Any], Any], shared: Any, jobs: Iterable[Any], scheduler: Any,
    name: str,
) -> Iterator[Any]:  # fmt: skip
    """Yield ``function(shared, job)`` for each job, in order, with only a few results waiting.

    Without a scheduler, in this process. What is shared is sent to each worker once. Tasks of a
    worker that is killed, or lost with a scheduler, run again. If there are no workers or no
    scheduler for a minute, an error says so.
    """
    if scheduler is None:
        yield from map(partial(function, shared), jobs)
        return
    with connected(scheduler) as client:
        n_threads, _ = workers()
        if client is not None:
            yield from _on_workers(client, function, shared, iter(jobs), name, n_threads)
            return
        pool, waiting = ThreadPoolExecutor(n_threads), deque[Any]()
        with _without_races():
            try:
                for job in jobs:
                    waiting.append(pool.submit(function, shared, job))
                    if len(waiting) > AHEAD * n_threads:
                        yield waiting.popleft().result()
                yield from (task.result() for task in waiting)
            finally:
                pool.shutdown(cancel_futures=True)


@contextmanager
def _without_races() -> Iterator[None]:
    """Hide warnings about lost warning filters, which threads of scikit-learn set for each other.

    The filters are global, and each call of ``sklearn.utils.parallel`` sets and resets them.
    """
    with warnings.catch_warnings():
        show = warnings.showwarning

        def shown(message: Any, *others: Any, **more: Any) -> None:
            if "sklearn.utils.parallel.delayed" not in str(message):
                show(message, *others, **more)

        warnings.showwarning = shown
        yield


def _on_workers(
    client: Any, function: Any, shared: Any, jobs: Iterator[Any], name: str, n_threads: int
) -> Iterator[Any]:
    waiting: deque[Any] = deque()
    for left in reversed(range(TRIES)):
        run, again = f"{name}-{uuid4().hex[:8]}", list(waiting)
        # a task, not scattered: the scheduler makes it again if all workers that have it die
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Sending large graph")
            held = client.submit(_itself, shared, key=f"{run}-shared")
        waiting.clear()
        todo = chain((job for _, job in again), jobs)
        try:
            for number, job in enumerate(todo):
                key = f"{run}-{number}"
                waiting.append((client.submit(function, held, job, key=key), job))
                if len(waiting) > max(AHEAD * n_threads, len(again)):
                    yield result_of(client, waiting[0][0])
                    waiting.popleft()
            while waiting:
                yield result_of(client, waiting[0][0])
                waiting.popleft()
            return
        except LostError:
            if not left:
                raise
            time.sleep(1)


def _itself(shared: Any) -> Any:
    return shared


def computed(task: Any) -> Any:
    """Compute a delayed task wherever Dask does."""
    client = current_client()
    return task.compute() if client is None else result_of(client, client.compute(task))


def result_of(client: Any, task: Any) -> Any:
    """The result of a task, or an error that says what is wrong with the cluster."""
    from distributed import KilledWorker

    alone_since = None
    while True:
        try:
            return task.result(timeout=None if task.done() else 1)
        except KilledWorker as error:
            raise ConnectionError(
                f"{task.key} was given up, since {error.allowed_failures + 1} workers died while "
                "they ran it; they probably ran out of memory: give them more"
            ) from None
        except CancelledError:
            raise LostError(
                "the scheduler was restarted, or data of workers that died are lost; run it again"
            ) from None
        except TimeoutError:
            if task.status == "error":  # of the task itself
                raise
        now = time.monotonic()
        if client.status != "running" or not client.nthreads():
            alone_since = alone_since or now
            if now - alone_since > LONELY:
                what = "no workers" if client.status == "running" else "no scheduler"
                raise ConnectionError(f"there were {what} for {LONELY} seconds; run this again")
        else:
            alone_since = None
