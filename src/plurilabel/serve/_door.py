"""The way in and out over HTTP: who may ask, JSON in, JSON out, and one form of all errors."""

from __future__ import annotations

import asyncio
import hmac
import json
from collections.abc import Awaitable, Callable
from time import perf_counter
from typing import Any, TypeAlias

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from pydantic_core import from_json
from starlette.exceptions import HTTPException

from plurilabel.serve._counters import Counters
from plurilabel.serve._row_reader import BadInput

Headers: TypeAlias = dict[bytes, bytes]
Straight: TypeAlias = Callable[[Headers, Any, Any], Awaitable[bytes]]
"""What answers a request from its headers, scope and ``receive``, without FastAPI."""

_GUARDS = [
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (
        b"content-security-policy",
        b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        b"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
]
_JSON_HEADERS = [(b"content-type", b"application/json"), _GUARDS[0]]  # others guard pages


class Door:
    """Who may come in, and how each request ended.

    Parameters
    ----------
    app : ASGI application
    counters : Counters
    token : str or None
        What clients must send; None lets everybody in.
    hosts : tuple of str or None
        Names under which the service may be asked; None for any.
    open_to_all : collection of str
        Paths that need no token.
    """

    def __init__(
        self,
        app: Any,
        counters: Counters,
        token: str | None,
        hosts: tuple[str, ...] | None,
        open_to_all: tuple[str, ...],
    ) -> None:
        self.app, self.counters, self.hosts, self.open = app, counters, hosts, open_to_all
        self.token = None if token is None else f"Bearer {token}".encode()
        # POST requests by path that are answered here: the steps that FastAPI and Starlette take
        # for each request cost more than the answer
        self.straight: dict[str, Straight] = {}

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Let a request through, or answer it here."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        head_only = scope["method"] == "HEAD"
        if head_only:  # what GET gets, without the body
            scope = {**scope, "method": "GET"}
        started, status = perf_counter(), 500
        path, headers = scope["path"], dict(scope["headers"])
        straight = self.straight.get(path) if scope["method"] == "POST" else None

        async def sending(message: Any) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message = {**message, "headers": [*message["headers"], *_GUARDS]}
            elif head_only:
                message = {**message, "body": b""}
            await send(message)

        try:
            refusal = self._refused(path, headers)
            if refusal is None and straight is not None:
                try:
                    content = await straight(headers, scope, receive)
                    status = 200
                    size = (b"content-length", b"%d" % len(content))
                    start = {"status": 200, "headers": [size, *_JSON_HEADERS]}
                    await send({"type": "http.response.start", **start})
                    await send({"type": "http.response.body", "body": content})
                    return
                except BadInput as error:
                    refusal = refused(None, error)
            await (self.app if refusal is None else refusal)(scope, receive, sending)
        finally:
            if straight is None:
                path = getattr(scope.get("route"), "path", "other")
            self.counters.count(path, status, perf_counter() - started)

    def _refused(self, path: str, headers: Headers) -> Response | None:
        host = headers.get(b"host", b"").decode("latin-1")
        if self.hosts is not None and not host:
            return error_response("the request has no Host header", 400)
        if self.hosts is not None and _without_port(host) not in self.hosts:
            return error_response("this service is asked under another name", 421)
        origin = headers.get(b"origin")
        if origin is not None and origin.decode("latin-1").partition("://")[2] != host:
            return error_response("another site must not ask through a browser", 403)
        if self.token is None or path in self.open:
            return None
        if hmac.compare_digest(headers.get(b"authorization", b""), self.token):
            return None
        response = error_response("the token is missing or wrong: Authorization: Bearer ...", 401)
        response.headers["www-authenticate"] = "Bearer"
        return response


def _without_port(host: str) -> str:
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0].lower()


# in ---------------------------------------------------------------------------------------------


def content_type(headers: Headers) -> str:
    """What a body is said to be."""
    return headers.get(b"content-type", b"").decode("latin-1").partition(";")[0].strip().lower()


async def read_body(headers: Headers, receive: Any, most: int, seconds: float) -> bytes:
    """All of a body, unless it is too large or takes too long."""
    declared = headers.get(b"content-length", b"0")
    if declared.isdigit() and int(declared) > most:
        raise _too_large(most)
    try:
        async with asyncio.timeout(seconds):
            return await _whole_body(receive, most)
    except TimeoutError:
        problem = f"the request was not complete after {seconds:g} seconds"
        raise BadInput(problem, status=408) from None


async def _whole_body(receive: Any, most: int) -> bytes:
    message = await receive()
    body = bytes(message.get("body", b""))
    if message.get("more_body"):
        parts, size = [body], len(body)
        while message.get("more_body"):
            message = await receive()
            parts.append(message.get("body", b""))
            size += len(parts[-1])
            if size > most:
                raise _too_large(most)
        body = b"".join(parts)
    if message["type"] == "http.disconnect":
        raise BadInput("the body has ended early", status=400)  # nobody will read this
    if len(body) > most:
        raise _too_large(most)
    return body


def _too_large(most: int) -> BadInput:
    return BadInput(f"a request may have at most {most:,} bytes", status=413)


def parsed_json(content: bytes) -> Any:
    """What JSON says, without NaN, infinity and endless nesting."""
    try:
        return from_json(content, allow_inf_nan=False)
    except ValueError:  # to be read again, by a parser that takes more and says what is wrong
        return _parsed_slowly(content)


def _parsed_slowly(content: bytes) -> Any:
    try:
        return json.loads(content, parse_int=_whole, parse_constant=_refuse_constant)
    except BadInput:
        raise
    except RecursionError:
        raise BadInput("the body is nested too deeply", status=400) from None
    except ValueError as error:  # UnicodeDecodeError and JSONDecodeError are such
        raise BadInput(f"the body is not JSON: {error}", status=400) from None


def _whole(digits: str) -> int:
    """A whole number; of one that is too large for any use, as much as shows that it is.

    Whoever looks at the value can say where it is, which a parser that gives up cannot.
    """
    return int(digits[:1000])


def _refuse_constant(name: str) -> Any:
    raise BadInput(f"the body is not JSON: {name} is not a number there; use null", status=400)


# out --------------------------------------------------------------------------------------------

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode


def json_bytes(content: Any) -> bytes:
    """JSON in UTF-8; half of a surrogate pair becomes a question mark."""
    return _encode(content).encode("utf-8", "replace")


def json_response(content: Any, status: int = 200) -> Response:
    """An answer of JSON."""
    return Response(json_bytes(content), status, media_type="application/json")


def error_response(problem: str, status: int, **where: Any) -> Response:
    """An answer that says what is wrong, and where."""
    known = {name: value for name, value in where.items() if value is not None}
    return json_response({"error": problem, **known}, status)


def refused(_: Request | None, error: Exception) -> Response:
    """The one form of all errors."""
    if isinstance(error, BadInput):
        response = error_response(str(error), error.status, row=error.row, column=error.column)
        if error.status == 503:
            response.headers["retry-after"] = "1"
        if error.status == 408:  # what is still to come is not the beginning of a request
            response.headers["connection"] = "close"
        return response
    if isinstance(error, RequestValidationError):
        first = error.errors()[0]
        name = ".".join(str(part) for part in first["loc"][1:])
        return error_response(f"{name}: {first['msg']}", 422)
    assert isinstance(error, HTTPException)
    response = error_response(str(error.detail), error.status_code)
    response.headers.update(error.headers or {})
    return response
