"""Single requests answered together: what comes while batches are worked on is the next one."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from plurilabel.serve._rows import BadInput


class Batches:
    """A queue in front of a function that is best called with many requests at once.

    Nobody waits for a batch to fill up: a request that finds a thread idle goes in alone.

    Parameters
    ----------
    work : function
        Takes a list of requests and returns a list of answers, one for each; an answer that is
        an exception is raised for whoever asked.
    most : int
        Rows in a batch.
    waiting : int
        Rows in the queue; more are refused.
    seconds : float, default=None
        Time for an answer; who has none by then is refused.
    threads : int, default=1
        Batches that are worked on at the same time.
    """

    def __init__(
        self,
        work: Callable[[Sequence[Any]], Sequence[Any]],
        *,
        most: int,
        waiting: int,
        seconds: float | None = None,
        threads: int = 1,
    ) -> None:
        self.work, self.most, self.waiting, self.seconds = work, most, waiting, seconds
        self.queued = 0
        self.sizes = [0, 0]  # batches, rows in them
        self._queue: deque[tuple[Any, int, asyncio.Future[Any]]] = deque()
        # with the time at which they are refused, which comes in the order of the requests
        self._unanswered: deque[tuple[float, asyncio.Future[Any]]] = deque()
        self._clock: asyncio.TimerHandle | None = None  # one for all, at the first of these times
        self.threads, self._busy = threads, 0
        self._pool = ThreadPoolExecutor(threads)
        self._tasks: set[Any] = set()

    async def __call__(self, request: Any, rows: int = 1) -> Any:
        """The answer to a request of some rows."""
        if self.queued and self.queued + rows > self.waiting:
            raise BadInput("too many requests are waiting: try again", status=503)
        loop = asyncio.get_running_loop()
        future = loop.create_future()
        self._queue.append((request, rows, future))
        if self.seconds is not None:
            self._unanswered.append((loop.time() + self.seconds, future))
            if self._clock is None:
                self._clock = loop.call_later(self.seconds, self._refuse_late)
        self.queued += rows
        if self._busy < self.threads:
            self._busy += 1
            task = asyncio.create_task(self._run())
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        return await future

    def _refuse_late(self) -> None:
        loop, late = asyncio.get_running_loop(), self._unanswered
        while late and (late[0][1].done() or late[0][0] <= loop.time()):
            future = late.popleft()[1]
            if not future.done():
                problem = f"no answer within {self.seconds:g} seconds"
                future.set_exception(BadInput(problem, status=503))
        self._clock = loop.call_at(late[0][0], self._refuse_late) if late else None

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            while self._queue:
                batch: list[tuple[Any, asyncio.Future[Any]]] = []
                size = 0
                while self._queue and (not batch or size + self._queue[0][1] <= self.most):
                    request, rows, future = self._queue.popleft()
                    self.queued -= rows
                    if not future.done():  # else nobody waits for it any more
                        batch.append((request, future))
                        size += rows
                if not batch:
                    continue
                self.sizes[0] += 1
                self.sizes[1] += size
                try:
                    requests = [request for request, _ in batch]
                    answers = await loop.run_in_executor(self._pool, self.work, requests)
                except Exception as error:  # goes to everyone who asked
                    answers = [error] * len(batch)
                for (_, future), answer in zip(batch, answers):
                    if future.done():
                        continue
                    if isinstance(answer, Exception):
                        future.set_exception(answer)
                    else:
                        future.set_result(answer)
                while self._unanswered and self._unanswered[0][1].done():
                    self._unanswered.popleft()
        finally:
            self._busy -= 1

    def close(self) -> None:
        """Wait for the batches that are worked on."""
        if self._clock is not None:
            self._clock.cancel()
        self._pool.shutdown(wait=True)
