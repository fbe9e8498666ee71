"""BLAS on one thread, for whoever shares out the work or has only little of it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from threadpoolctl import ThreadpoolController

# Looking through the loaded libraries takes 10 ms; numpy's and scipy's are loaded by now.
_pools = cache(ThreadpoolController)

_lock = threading.Lock()
_outside: int | None = None  # threads of BLAS without the limit, while somebody has set it


@contextmanager
def one_blas_thread() -> Iterator[int]:
    """Limit BLAS to one thread; gives the number of threads that it has without the limit.

    The limit is one of the whole process, and only one caller at a time sets and lifts it. If
    each of several threads restored the number that it had found, those that came second would
    leave BLAS at one thread for good. A thread that is still inside when the one that set the
    limit leaves goes on without it: slower at worst, with the same results. Counting, so that the
    last to leave lifts the limit, would not do: threadpoolctl 3.8 ignores every thread but the one
    that set it.

    Examples
    --------
    >>> with one_blas_thread() as outside, one_blas_thread() as the_same:
    ...     outside == the_same
    True
    """
    global _outside
    with _lock:
        limit = None
        if _outside is None:
            pools = _pools()
            usual = max((pool["num_threads"] for pool in pools.info()), default=1)
            limit = pools.limit(limits=1, user_api="blas").__enter__()
            _outside = usual
        outside = _outside
    try:
        yield outside
    finally:
        if limit is not None:
            with _lock:
                limit.__exit__(None, None, None)
                _outside = None
