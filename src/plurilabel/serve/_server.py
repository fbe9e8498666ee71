"""Run the application with uvicorn, in the foreground or in a thread."""

from __future__ import annotations

import asyncio
import gc
import http
import secrets
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from time import monotonic, sleep
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from plurilabel.serve._app import LOCAL, create_app
from plurilabel.serve._http import KEEP_ALIVE, Budget, Limits, error_response, json_bytes
from plurilabel.serve._row_reader import BadInput
from plurilabel.serve._service import Service
from plurilabel.serve.labeling import LabelProject

MOST_HEAD = 64 << 10  # bytes of the head of a request
MOST_HEADERS = 100
MOST_URL = 8 << 10
MOST_PIPELINED = 16  # requests of a connection that wait for the response to an earlier one
_RECEIVED = 64 << 10  # bytes of a connection that the system keeps until they are read
_PARTS = 16  # time limits within which a client must receive a response
_LEAST = 64 << 10  # bytes of a response to be received within the time limit
_OTHER_FILES = 100  # open files of the store, tables and libraries
_LINGER = 1.0  # seconds for a client to read why it was rejected


class Server(uvicorn.Server):
    """A server that ends the streams of events first, which would otherwise keep it running."""

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self.config.app.state.context.stopping = True
        await super().shutdown(sockets)


def _config(service: Service | LabelProject, host: str, token: str | None, limits: Limits) -> Any:
    hosts = LOCAL if host in LOCAL else None
    app = create_app(service, limits=limits, token=token, hosts=hosts)
    return uvicorn.Config(
        app,
        log_level="error",  # a line for each invalid request could fill a disk
        access_log=False,
        server_header=False,
        proxy_headers=False,  # the address of the client is not used
        http=partial(LimitedProtocol, limits=limits, budget=app.state.context.budget),
        backlog=min(limits.connections, 4096),
        timeout_graceful_shutdown=int(limits.seconds) + 1,
        timeout_keep_alive=KEEP_ALIVE,
        ws="none",
    )


def _bound(host: str, port: int) -> list[socket.socket]:
    """Create a listening socket, and copies of it.

    uvloop accepts one connection per socket and iteration of the event loop: with one socket, a
    new client would wait for seconds while many others are served.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio disables Nagle's algorithm only for sockets with an explicit TCP protocol
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _RECEIVED)
    try:
        listening.bind((host, port))
        listening.listen(4096)  # queue connections until the server has started
    except OSError as error:
        listening.close()
        raise OSError(error.errno, f"port {port} of {host}: {error.strerror}") from None
    return [listening, *(listening.dup() for _ in range(15))]


def _with_files(limits: Limits) -> Limits:
    """Raise the limit of open files to the number of connections, or lower the latter."""
    try:
        import resource
    except ImportError:  # Windows
        return limits
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 2 * limits.connections + _OTHER_FILES
    if soft != resource.RLIM_INFINITY and soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        most = max(1, (soft - _OTHER_FILES) // 2)
        limits = replace(limits, connections=min(limits.connections, most))
    return limits


def _address(listening: socket.socket, token: str | None) -> str:
    """The address to open in a browser; the fragment with the token is not sent to servers."""
    host, port = listening.getsockname()[:2]
    host = {"0.0.0.0": "localhost", "::": "localhost"}.get(host, host)
    place = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
    return place if token is None else f"{place}/#token={token}"


def run(
    service: Service | LabelProject,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    token: str | None = None,
    limits: Limits | None = None,
    ready: Callable[[str], None] | None = None,
) -> None:
    """Serve until the process is stopped; requests in progress are completed.

    Parameters
    ----------
    service : Service or LabelProject
        Closed at the end.
    host : str, default="127.0.0.1"
    port : int, default=8000
        0 for any free port.
    token : str, default=None
        Token that clients must send as ``Authorization: Bearer ...``. By default, one is
        generated if the host can be reached from other machines.
    limits : Limits, default=None
    ready : function, default=None
        Called with the address to open in a browser.
    """
    if host not in LOCAL and token is None:
        token = secrets.token_urlsafe(24)
    try:
        sockets = _bound(host, port)
    except OSError:
        service.close()
        raise
    if ready is not None:
        ready(_address(sockets[0], token))
    server = Server(_config(service, host, token, _with_files(limits or Limits())))
    # The model stays in memory: scanning it for garbage took a third of the time of requests.
    gc.collect()
    gc.freeze()
    server.run(sockets=sockets)


@contextmanager
def running(
    service: Service | LabelProject,
    *,
    port: int = 0,
    token: str | None = None,
    limits: Limits | None = None,
) -> Iterator[str]:
    """Serve on this machine while other code runs, as in a notebook.

    Parameters
    ----------
    service, port, token, limits :
        As for :func:`run`; without a token, by default.

    Yields
    ------
    str
        The address.

    Examples
    --------
    >>> import json, urllib.request
    >>> from plurilabel import MLkNN
    >>> from plurilabel.serve import Service, running
    >>> X, Y = [[0.0], [0.2], [5.0], [5.2]], [["sea"], ["sea"], ["sun"], ["sun"]]
    >>> with running(Service(MLkNN(1).fit(X, Y))) as address:
    ...     with urllib.request.urlopen(f"{address}/health") as answer:
    ...         json.load(answer)
    {'status': 'ok', 'version': 0}
    """
    host = "127.0.0.1"
    sockets = _bound(host, port)
    server = Server(_config(service, host, token, limits or Limits()))
    thread = threading.Thread(target=server.run, args=(sockets,), daemon=True)
    thread.start()
    until = monotonic() + 30
    while not server.started and thread.is_alive() and monotonic() < until:
        sleep(0.005)
    try:
        if not server.started:
            raise RuntimeError("the server did not start")
        yield _address(sockets[0], None)
    finally:
        server.should_exit = True
        thread.join(timeout=60)
        sockets[0].close()


class LimitedProtocol(HttpToolsProtocol):
    """HTTP with limits on connections, on the head of a request and on stalled responses.

    uvicorn has no such limits: a connection without a request, or with half a request line, would
    stay open forever, and the head of a request could have any size. Bodies are limited elsewhere.
    """

    def __init__(self, *, limits: Limits, budget: Budget, **uvicorn: Any) -> None:
        super().__init__(**uvicorn)
        self.seconds, self.most = limits.seconds, limits.connections
        self.budget = budget
        self._over = False  # whether this is one connection too many
        self._begun = False  # whether a part of the head has arrived
        self._head = 0  # bytes of headers so far
        self._moved = False  # whether what arrived had a part of a body, or a new request
        self._quiet = 0  # bytes since then: of one header, of a trailer, or of empty lines
        self._problem: tuple[str, int] | None = None  # why a request is rejected
        self._deaf = False  # whether what still arrives is ignored
        self._unsent = 0  # bytes of a response that are counted in the budget
        self._timers: dict[str, asyncio.TimerHandle] = {}
        # "head" runs while the head is incomplete, "taking" while the send buffer is full

    def data_received(self, data: bytes) -> None:
        if self._deaf:
            return
        self._moved = False
        super().data_received(data)
        self._quiet = 0 if self._moved else self._quiet + len(data)
        if self._quiet > MOST_HEAD + MOST_URL and not self._deaf:
            self._problem = _TOO_LARGE
            self.send_400_response("")

    def on_url(self, url: bytes) -> None:
        super().on_url(url)
        if len(self.url) > MOST_URL:
            self._reject(f"the address must have at most {MOST_URL:,} bytes", 414)

    def on_header(self, name: bytes, value: bytes) -> None:
        super().on_header(name, value)
        self._head += len(name) + len(value) + 4
        if self._head > MOST_HEAD or len(self.headers) > MOST_HEADERS:
            self._reject(*_TOO_LARGE)

    def _reject(self, problem: str, status: int) -> None:
        """Stop the parser; uvicorn then calls send_400_response."""
        self._problem = problem, status
        raise ValueError(problem)

    def _start(self, timer: str, seconds: float, call: Callable[..., None], *args: Any) -> None:
        self._stop(timer)
        self._timers[timer] = self.loop.call_later(seconds, call, *args)

    def _stop(self, timer: str) -> None:
        if timer in self._timers:
            self._timers.pop(timer).cancel()

    def connection_made(self, transport: asyncio.Transport) -> None:
        super().connection_made(transport)
        self._over = len(self.connections) > self.most
        if len(self.connections) > 2 * self.most:
            transport.abort()
        self._start("head", self.seconds, self._no_head)

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop("head")
        self._stop("taking")
        self._count_unsent(0)
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._begun, self._head, self._moved = True, 0, True
        # the timer of the first request starts with the connection, and that of a pipelined
        # request with the response to the previous one
        if self.cycle is not None and self.cycle.response_complete:
            self._start("head", self.seconds, self._no_head)

    def on_headers_complete(self) -> None:
        if len(self.pipeline) >= MOST_PIPELINED:
            self._reject("too many requests at once", 503)
        self._stop("head")
        self._begun = False
        # serve a client after all if others have left meanwhile
        self._over = self._over and len(self.connections) > self.most
        self.app = _too_many if self._over else self.config.loaded_app
        super().on_headers_complete()
        if self.parser.should_upgrade():  # what follows is not read as HTTP
            self.cycle.keep_alive, self._deaf = False, True

    def on_body(self, body: bytes) -> None:
        self._moved = True
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._moved = True
        super().on_message_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.cycle.response_complete:  # no pipelined request is waiting
            self._start("head", KEEP_ALIVE, self._no_head)

    def _no_head(self) -> None:
        if "taking" not in self._timers and self.transport.is_closing():
            self.transport.abort()  # the client did not receive the end of a response
            return
        if self._begun and not self.transport.is_closing():
            self._refuse(f"the request was not complete after {self.seconds:g} seconds", 408)
        self.transport.close()
        self._start("head", self.seconds, self._no_head)  # close() waits for the send buffer

    def pause_writing(self) -> None:
        super().pause_writing()
        size = self.transport.get_write_buffer_size()
        self._count_unsent(size)
        least = max(size // _PARTS, min(size, _LEAST))
        self._start("taking", self.seconds, self._look_at_taking, size, least)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._count_unsent(0)
        self._stop("taking")

    def _count_unsent(self, size: int) -> None:
        self.budget.held += size - self._unsent
        self._unsent = size

    def _look_at_taking(self, before: int, least: int) -> None:
        left = self.transport.get_write_buffer_size()
        if left <= before - least:
            self._count_unsent(left)
            self._start("taking", self.seconds, self._look_at_taking, left, min(least, left))
        else:
            self.transport.abort()

    def send_400_response(self, msg: str) -> None:
        self._deaf = True
        later = self._begun and self.cycle is not None and not self.cycle.response_complete
        if later or self.pipeline:
            self.cycle.keep_alive = False  # the requests before this one are answered first
            return
        self._refuse(*(self._problem or (msg, 400)))
        if not self.transport.is_closing() and self.transport.can_write_eof():
            self.transport.write_eof()  # closing immediately would discard unread data
            self._start("head", _LINGER, self.transport.abort)
        else:
            self.transport.close()

    def _refuse(self, problem: str, status: int) -> None:
        """Send an error before the request has reached the application."""
        content = json_bytes({"error": problem})
        head = (
            f"HTTP/1.1 {status} {http.HTTPStatus(status).phrase}\r\n"
            "content-type: application/json\r\nx-content-type-options: nosniff\r\n"
            f"content-length: {len(content)}\r\nconnection: close\r\n\r\n"
        )
        self.transport.write(head.encode() + content)


_TOO_LARGE = (f"the headers must have at most {MOST_HEAD:,} bytes and {MOST_HEADERS} lines", 431)


async def _too_many(scope: Any, receive: Any, send: Any) -> None:
    response = error_response(None, BadInput("too many connections: try again", status=503))
    response.headers["connection"] = "close"
    await response(scope, receive, send)
