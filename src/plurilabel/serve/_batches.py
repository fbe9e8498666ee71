"""Batching: requests that arrive while a batch is processed form the next batch."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from plurilabel.serve._row_reader import BadInput


def too_late(seconds: float | None) -> BadInput:
    return BadInput(f"no answer within {seconds:g} seconds", status=503)


class Batches:
    """A queue that passes requests to a function in batches.

    No request waits for a batch to fill up: it is processed immediately if a thread is idle.
    ``work`` takes a list of requests and returns a list of responses; exceptions among them are
    raised in the callers. A batch has at most ``most`` rows, and the queue at most ``waiting``.
    """

    def __init__(
        self, work: Callable[[Sequence[Any]], Sequence[Any]], *, most: int, waiting: int,
        seconds: float | None = None, threads: int = 1,
    ) -> None:  # fmt: skip
        self.work, self.most, self.waiting, self.seconds = work, most, waiting, seconds
        self.queued = 0
        self.sizes = [0, 0]  # batches, rows in them
        self._queue: deque[list[Any]] = deque()  # request, rows, future
        self.threads, self._busy = threads, 0
        self._pool = ThreadPoolExecutor(threads)
        self._tasks: set[Any] = set()

    async def __call__(self, request: Any, rows: int = 1) -> Any:
        if self.queued and self.queued + rows > self.waiting:
            raise BadInput("too many requests are waiting: try again", status=503)
        loop = asyncio.get_running_loop()
        future = loop.create_future()
        waiting = [request, rows, future]
        self._queue.append(waiting)
        self.queued += rows
        if self._busy < self.threads:
            self._busy += 1
            task = asyncio.create_task(self._run())
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        if self.seconds is None:
            return await future
        # a context manager around asyncio.timeout took 12 microseconds more per request
        timer = loop.call_later(self.seconds, self._expire, future)
        try:
            return await future
        finally:
            waiting[0] = None  # a request that is given up must not take memory in the queue
            timer.cancel()

    def _expire(self, future: asyncio.Future[Any]) -> None:
        if not future.done():
            future.set_exception(too_late(self.seconds))

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            while self._queue:
                requests, futures = self._next_batch()
                if not requests:
                    continue
                try:
                    answers = await loop.run_in_executor(self._pool, self.work, requests)
                except Exception as error:  # passed on to every caller
                    answers = [error] * len(requests)
                for future, answer in zip(futures, answers):
                    if future.done():  # timed out or cancelled
                        continue
                    if isinstance(answer, Exception):
                        future.set_exception(answer)
                    else:
                        future.set_result(answer)
        finally:
            self._busy -= 1

    def _next_batch(self) -> tuple[list[Any], list[asyncio.Future[Any]]]:
        requests: list[Any] = []
        futures, size = [], 0
        while self._queue and (not requests or size + self._queue[0][1] <= self.most):
            request, rows, future = self._queue.popleft()
            self.queued -= rows
            if not future.done():
                requests.append(request)
                futures.append(future)
                size += rows
        if requests:
            self.sizes[0] += 1
            self.sizes[1] += size
        return requests, futures

    def close(self) -> None:
        """Wait for the batches in progress."""
        self._pool.shutdown(wait=True)
