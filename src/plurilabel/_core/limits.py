"""Limits of memory and models in a fit, which is refused beforehand if it would exceed them.

Learners whose needs grow with products such as n q or q^2 call :func:`check_size` first. The
environment variables ``PLURILABEL_MAX_MEMORY``, in gigabytes, and ``PLURILABEL_MAX_MODELS``
replace the limits, also in worker processes.
"""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from threadpoolctl import ThreadpoolController

from plurilabel._core.words import file_size

MAX_MEMORY_GB = 4.0  # memory beside X and y, in gigabytes of 10^9 bytes
MAX_MODELS = 100_000  # fitted base estimators


def check_size(
    learner: object, sizes: str, *, memory: float = 0.0, models: int = 0, instead: str
) -> None:
    """Refuse a fit that needs more memory (bytes beside X and y) or base models than the limits.

    The error names the learner, what the estimate follows from (``sizes``) and a better choice.
    """
    name = learner if isinstance(learner, str) else type(learner).__name__
    most_models = _limit("PLURILABEL_MAX_MODELS", MAX_MODELS)
    most_memory = _limit("PLURILABEL_MAX_MEMORY", MAX_MEMORY_GB)
    if models > most_models:
        needs, limit = f"train {models:,} models", f"{most_models:,.0f}"
        more = "PLURILABEL_MAX_MODELS to a larger number"
    elif memory > most_memory * 1e9:
        needs, limit = f"need about {file_size(memory)} of memory", f"{most_memory:g} GB"
        more = "PLURILABEL_MAX_MEMORY to more gigabytes"
    else:
        return
    raise ValueError(
        f"{name} would {needs} for {sizes}, more than the limit of {limit}; use {instead}, or set "
        f"the environment variable {more}"
    )


def _limit(variable: str, default: float) -> float:
    text = os.environ.get(variable, "")
    try:
        limit = float(text) if text else default
    except ValueError:
        limit = math.nan
    if math.isnan(limit):
        raise ValueError(f"{variable} must be a number, got {text!r}")
    return limit


# Looking through the loaded libraries takes 10 ms; numpy's and scipy's are loaded by now.
_pools = cache(ThreadpoolController)
_lock = threading.Lock()
_outside: int | None = None  # threads of BLAS without the limit, while somebody has set it


@contextmanager
def one_blas_thread() -> Iterator[int]:
    """Limit BLAS to one thread; yields the number of threads that it has without the limit."""
    # The limit is one of the whole process: if several threads restored the number they found,
    # the second would leave BLAS at one thread for good. So only one caller at a time sets and
    # lifts it; others that are still inside then go on without it, with the same results. (The
    # last to leave cannot lift it: threadpoolctl 3.8 ignores all threads but the one that set it.)
    global _outside
    with _lock:
        limit, outside = None, _outside
        if outside is None:
            pools = _pools()
            outside = max((pool.num_threads for pool in pools.lib_controllers), default=1)
            if outside > 1:
                limit = pools.limit(limits=1, user_api="blas").__enter__()
                _outside = outside
    try:
        yield outside
    finally:
        if limit is not None:
            with _lock:
                limit.__exit__(None, None, None)
                _outside = None
