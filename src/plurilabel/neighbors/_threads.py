"""Work shared by threads: numpy and BLAS let go of the interpreter while they compute."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from typing import TypeVar

import joblib
from threadpoolctl import ThreadpoolController

Task = TypeVar("Task")
Result = TypeVar("Result")
Run = Callable[[Callable[[Task], Result], Iterable[Task]], list[Result]]


@contextmanager
def threads(n_jobs: int | None) -> Iterator[Callable[..., list]]:
    """A ``map`` over ``n_jobs`` threads, with BLAS held to one thread in each.

    None means as many threads as BLAS would use. That follows the limits that joblib sets in
    its workers and that a user sets with ``threadpoolctl``.
    """
    pools = _pools()
    if n_jobs is None:
        n_threads = max((pool["num_threads"] for pool in pools.info()), default=1)
    else:
        n_threads = joblib.effective_n_jobs(n_jobs)
    with pools.limit(limits=1, user_api="blas"):
        if n_threads == 1:
            yield lambda work, tasks: [work(task) for task in tasks]
            return
        with ThreadPoolExecutor(n_threads) as pool:
            yield lambda work, tasks: list(pool.map(work, tasks))


@cache
def _pools() -> ThreadpoolController:
    # To look through the loaded libraries takes 10 ms; those of numpy and scipy are there by now.
    return ThreadpoolController()
