"""Connections of uvicorn that do not wait forever for a client."""

from __future__ import annotations

import asyncio
import http
import math
from collections.abc import Callable
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from plurilabel.serve._door import json_bytes, refused
from plurilabel.serve._row_reader import BadInput

KEEP_ALIVE = 30  # seconds for which a connection may be idle after an answer


class _Timer:
    """Calls something once, unless it is stopped or started again before."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.handle: asyncio.TimerHandle | None = None

    def start(self, seconds: float, call: Callable[..., None], *args: Any) -> None:
        self.stop()
        self.handle = self.loop.call_later(seconds, call, *args)

    def stop(self) -> None:
        if self.handle is not None:
            self.handle.cancel()
            self.handle = None

    @property
    def runs(self) -> bool:
        return self.handle is not None


class PatientProtocol(HttpToolsProtocol):
    """HTTP with a limit on the time that a client takes for the head of a request.

    uvicorn has no such limit: a connection on which nothing is sent, or half a request line,
    would stay open and count as one of those that are allowed. The time for a body is limited
    where it is read.

    Parameters
    ----------
    seconds : float
        For the head of a request, and for taking some of an answer.
    most : int
        Connections at a time; requests on further ones are refused.
    **uvicorn : dict
        What uvicorn passes.
    """

    def __init__(self, *, seconds: float, most: int, **uvicorn: Any) -> None:
        super().__init__(**uvicorn)
        self.seconds, self.most = seconds, most
        self._over = False  # whether it is one connection too many
        self._head = _Timer(self.loop)  # runs while there is no complete head
        self._begun = False  # whether some of the head is there
        self._taking = _Timer(self.loop)  # runs while much is still to be sent

    def connection_made(self, transport: asyncio.Transport) -> None:
        super().connection_made(transport)
        self._over = len(self.connections) > self.most
        self._head.start(self.seconds, self._no_head)

    def connection_lost(self, exc: Exception | None) -> None:
        self._head.stop()
        self._taking.stop()
        super().connection_lost(exc)

    # the head of a request ----------------------------------------------------------------------

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._begun = True
        # the time for the first request began with the connection, and one that comes before the
        # answer to the one before has none until then
        if self.cycle is not None and self.cycle.response_complete:
            self._head.start(self.seconds, self._no_head)

    def on_headers_complete(self) -> None:
        self._head.stop()
        self._begun = False
        # clients that were there before the limit was reached are served
        self._over = self._over and len(self.connections) > self.most
        self.app = _too_many if self._over else self.config.loaded_app
        super().on_headers_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.cycle.response_complete:  # no other request is waiting for its answer
            self._head.start(KEEP_ALIVE, self._no_head)

    def _no_head(self) -> None:
        if not self._taking.runs and self.transport.is_closing():
            self.transport.abort()  # the client has not taken the end of an answer
            return
        if self._begun and not self.transport.is_closing():
            self._refuse(f"the request was not complete after {self.seconds:g} seconds", 408)
        self.transport.close()
        self._head.start(self.seconds, self._no_head)  # close() waits until everything is sent

    # answers ------------------------------------------------------------------------------------

    def pause_writing(self) -> None:
        super().pause_writing()
        self._taking.start(self.seconds, self._look_at_taking, math.inf)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._taking.stop()

    def _look_at_taking(self, before: float) -> None:
        left = self.transport.get_write_buffer_size()
        if left < before:  # slowly, but it is being taken
            self._taking.start(self.seconds, self._look_at_taking, left)
        else:
            self.transport.abort()

    def send_400_response(self, msg: str) -> None:
        self._refuse(msg, 400)
        self.transport.close()

    def _refuse(self, problem: str, status: int) -> None:
        """The usual form of an error, to a client whose request has not come to the door."""
        content = json_bytes({"error": problem})
        head = (
            f"HTTP/1.1 {status} {http.HTTPStatus(status).phrase}\r\n"
            "content-type: application/json\r\nx-content-type-options: nosniff\r\n"
            f"content-length: {len(content)}\r\nconnection: close\r\n\r\n"
        )
        self.transport.write(head.encode() + content)


async def _too_many(scope: Any, receive: Any, send: Any) -> None:
    response = refused(None, BadInput("too many connections: try again", status=503))
    response.headers["connection"] = "close"
    await response(scope, receive, send)
