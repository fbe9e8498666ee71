"""uvicorn around the application: in front, or beside other code."""

from __future__ import annotations

import gc
import secrets
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from time import monotonic, sleep
from typing import Any

from plurilabel.serve._app import LOCAL, Limits, create_app
from plurilabel.serve._service import Service


def _config(service: Service, host: str, token: str | None, limits: Limits) -> Any:
    import uvicorn

    from plurilabel.serve._protocol import KEEP_ALIVE, PatientProtocol

    hosts = LOCAL if host in LOCAL else None
    app = create_app(service, limits=limits, token=token, hosts=hosts)
    return uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,  # nothing depends on where a client is
        http=partial(PatientProtocol, seconds=limits.seconds, most=limits.connections),
        backlog=min(limits.connections, 4096),
        timeout_graceful_shutdown=int(limits.seconds) + 1,
        timeout_keep_alive=KEEP_ALIVE,
        ws="none",
    )


def _bound(host: str, port: int) -> socket.socket:
    """A socket that listens there; an error that says so if somebody else does."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # named as TCP, or asyncio would leave small packets waiting for an acknowledgement
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        listening.listen(4096)  # so that nobody is refused before the server has started
    except OSError as error:
        listening.close()
        raise OSError(error.errno, f"port {port} of {host}: {error.strerror}") from None
    return listening


def _doors(listening: socket.socket) -> list[socket.socket]:
    """The same socket several times.

    uvloop takes one new connection from each socket between two rounds of requests, so that with
    one socket a client that comes while many others are being answered would wait for seconds.
    """
    return [listening, *(listening.dup() for _ in range(15))]


def _address(listening: socket.socket, token: str | None) -> str:
    """The address to open in a browser; what is behind a # is not sent to anybody."""
    host, port = listening.getsockname()[:2]
    host = {"0.0.0.0": "localhost", "::": "localhost"}.get(host, host)
    place = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
    return place if token is None else f"{place}/#token={token}"


def run(
    service: Service,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    token: str | None = None,
    limits: Limits | None = None,
    ready: Callable[[str], None] | None = None,
) -> None:
    """Serve until the process is told to stop; requests under way are answered.

    Parameters
    ----------
    service : Service
        Closed at the end.
    host : str, default="127.0.0.1"
    port : int, default=8000
        0 for any that is free.
    token : str, default=None
        What clients must send as ``Authorization: Bearer ...``. One is made if the host can be
        reached from other machines.
    limits : Limits, default=None
    ready : function, default=None
        Called with the address to open in a browser.
    """
    import uvicorn

    if host not in LOCAL and token is None:
        token = secrets.token_urlsafe(24)
    try:
        listening = _bound(host, port)
    except OSError:
        service.close()
        raise
    if ready is not None:
        ready(_address(listening, token))
    server = uvicorn.Server(_config(service, host, token, limits or Limits()))
    # What there is now stays: looking through it for garbage took a third of the time of requests.
    gc.collect()
    gc.freeze()
    server.run(sockets=_doors(listening))


@contextmanager
def running(
    service: Service,
    *,
    port: int = 0,
    token: str | None = None,
    limits: Limits | None = None,
) -> Iterator[str]:
    """Serve on this machine while other code runs, as in a notebook.

    Parameters
    ----------
    service : Service
        Closed at the end.
    port : int, default=0
        0 for any that is free.
    token : str, default=None
        What clients must send, if they must.
    limits : Limits, default=None

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
    import uvicorn

    host = "127.0.0.1"
    listening = _bound(host, port)
    server = uvicorn.Server(_config(service, host, token, limits or Limits()))
    thread = threading.Thread(
        target=server.run, kwargs={"sockets": _doors(listening)}, daemon=True
    )
    thread.start()
    until = monotonic() + 30
    while not server.started and thread.is_alive() and monotonic() < until:
        sleep(0.005)
    try:
        if not server.started:
            raise RuntimeError("the server did not start")
        yield _address(listening, None)
    finally:
        server.should_exit = True
        thread.join(timeout=60)
        listening.close()
