"""HTTP requests and responses: limits, bodies, JSON, errors, access and counters."""

from __future__ import annotations

import asyncio
import hmac
import json
from bisect import bisect_left
from codecs import BOM_UTF8
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from inspect import Parameter, Signature, getdoc, signature
from time import perf_counter
from typing import Annotated, Any, TypeAlias, TypeVar, get_type_hints

from fastapi import APIRouter, Depends, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response, StreamingResponse
from joblib import cpu_count
from pydantic import BaseModel, ValidationError
from pydantic_core import from_json
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from plurilabel.serve._answers import Ask
from plurilabel.serve._batches import Batches, too_late
from plurilabel.serve._insight import Insight
from plurilabel.serve._row_reader import BadInput, one_line
from plurilabel.serve._service import Service
from plurilabel.serve._store import StoreError
from plurilabel.serve.label_studio import LabelStudio

KEEP_ALIVE = 30  # seconds that an idle connection stays open
LOOK = 0.25  # seconds between two looks at what open pages follow
MOST_THREADS = 4  # concurrent batches, each with its own memory
MOST_SLOW = 2  # concurrent explanations, views and large requests
LARGE = 256 << 10  # bytes of a request that is parsed in a thread
UNPACKED = 4  # times the largest body: what an Arrow table may unpack to
_SMALL = 4 << 10  # bytes of a request whose values are not counted
_PER_BYTE = 43  # bytes of memory that a byte of JSON takes at most: "[]," is two values of 64


@dataclass(frozen=True)
class Limits:
    """Limits of a request, and of all requests together.

    Attributes
    ----------
    body : int
        Bytes of a request.
    rows : int
        Rows of a request.
    explained : int
        Rows of a request to explain.
    seconds : float
        Time for the head of a request, for its body, for the response, and for a part of it.
    batch : int
        Rows of a batch.
    waiting : int
        Rows in the queue; further requests are rejected.
    connections : int
        Open connections.
    memory : int
        Estimated bytes of all requests in progress and their responses; more are rejected.
    """

    body: int = 16 << 20
    rows: int = 10_000
    explained: int = 20
    seconds: float = 30.0
    batch: int = 1024
    waiting: int = 20_000
    connections: int = 2_000
    memory: int = 512_000_000


class Budget:
    """Bytes of requests in progress and their responses. Used by the event loop only."""

    def __init__(self, most: int) -> None:
        self.most, self.held = most, 0

    def check(self, more: int = 0) -> None:
        """Reject a request that would exceed the budget."""
        if more > self.most:
            problem = f"the request takes more than {self.most:,} bytes of memory: send fewer rows"
            raise BadInput(f"{problem}, or ask for fewer scores", status=413)
        if self.held + more > self.most:
            raise BadInput("the service is out of memory for requests: try again", status=503)

    def hold(self, request: Request, more: int) -> None:
        """Count bytes until the request ends, when the guard releases them."""
        self.check(more)
        self.held += more
        request.scope["held"] = request.scope.get("held", 0) + more


class Context:
    """What all routes share: limits, threads and counters."""

    def __init__(self, limits: Limits) -> None:
        self.limits, self.counters, self.budget = limits, Counters(), Budget(limits.memory)
        self._slow = asyncio.Semaphore(MOST_SLOW)
        self.parsing = asyncio.Lock()  # others are served between two large requests
        self.headers: Sequence[tuple[bytes, bytes]] = SECURITY_HEADERS
        self.stopping = False  # set by the server: streams of events must end

    async def in_thread(self, work: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Run slow work in a thread, within the time limit."""
        running = None
        try:
            async with asyncio.timeout(self.limits.seconds):
                await self._slow.acquire()
                try:
                    self.budget.check()
                    running = asyncio.ensure_future(asyncio.to_thread(work, *args, **kwargs))
                except BaseException:
                    self._slow.release()
                    raise
                # a thread cannot be stopped: its place is taken until it is done
                running.add_done_callback(self._thread_done)
                return await asyncio.shield(running)
        except TimeoutError:
            raise too_late(self.limits.seconds) from None
        finally:
            # its error would refer to itself by this frame, and keep the request in memory
            del running

    def _thread_done(self, running: asyncio.Future[Any]) -> None:
        self._slow.release()
        if not running.cancelled():
            running.exception()  # nobody waits for it after a timeout

    def follow(self, status: Callable[[], Any]) -> Response:
        """Stream a status as server-sent events, whenever it changes."""

        async def changes() -> AsyncIterator[bytes]:
            before, quiet = None, 0.0
            while not self.stopping:
                if (now := status()) != before:
                    yield b"data: " + json_bytes(now) + b"\n\n"
                    before, quiet = now, 0.0
                elif quiet > KEEP_ALIVE / 2:  # a proxy would close a silent connection
                    yield b":\n\n"
                    quiet = 0.0
                await asyncio.sleep(LOOK)
                quiet += LOOK

        headers = {"cache-control": "no-store"}
        return StreamingResponse(changes(), media_type="text/event-stream", headers=headers)

    def close(self) -> None:
        """Complete the work in progress."""


class ServiceContext(Context):
    """The service, its views and its queues."""

    def __init__(self, service: Service, limits: Limits) -> None:
        super().__init__(limits)
        self.service, self.insight = service, Insight(service)
        names = service.model.label_names
        self._name = sum(map(len, names)) // max(1, len(names))  # length of a label's name
        queue: dict[str, Any] = {"most": limits.batch, "waiting": limits.waiting}
        threads = min(MOST_THREADS, cpu_count())
        self.predictions = Batches(
            service.predict_many, **queue, seconds=limits.seconds, threads=threads
        )
        # no time limit: a correction on its way to the disk must not be reported as failed
        self.corrections = Batches(service.correct_many, **queue)
        self.label_studio, self.annotating = LabelStudio(service), asyncio.Lock()

    def hold_answer(self, request: Request, rows: int, ask: Ask) -> None:
        """Count the response to a request before it is computed."""
        if ask.scored:
            cells = rows * min(ask.top or len(self.service.places), len(self.service.places))
            self.budget.hold(request, cells * (2 * self._name + (150 if ask.scores else 16)))

    def close(self) -> None:
        self.predictions.close()
        self.corrections.close()
        self.service.close()


def context_of(request: Request) -> Any:
    return request.app.state.context


Shared: TypeAlias = Annotated[ServiceContext, Depends(context_of)]  # a parameter of an endpoint


def content_type(request: Request) -> str:
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


async def read_body(request: Request) -> bytes | bytearray:
    context = context_of(request)
    limits, hold = context.limits, context.budget.hold
    declared = request.headers.get("content-length", "0")
    if declared.isdigit() and int(declared) > limits.body:
        raise _too_large(limits)
    if request.headers.get("content-encoding", "identity").lower() != "identity":
        raise BadInput("compressed bodies are not accepted: send it uncompressed", status=415)
    content = bytearray()
    try:
        async with asyncio.timeout(limits.seconds):
            async for part in request.stream():
                if len(content) + len(part) > limits.body:
                    raise _too_large(limits)
                hold(request, len(part))
                content += part
    except TimeoutError:
        problem = f"the request was not complete after {limits.seconds:g} seconds"
        raise BadInput(problem, status=408) from None
    except ClientDisconnect:
        raise BadInput("the body ended early", status=400) from None
    return content


def _too_large(limits: Limits) -> BadInput:
    return BadInput(f"a request may have at most {limits.body:,} bytes", status=413)


async def json_body(request: Request) -> Any:
    if content_type(request) != "application/json":
        raise BadInput("the body must be JSON, of content type application/json", status=415)
    content, context = await read_body(request), context_of(request)
    context.budget.hold(request, _parsed_size(content, b",:[{"))
    if len(content) > LARGE:
        async with context.parsing:
            return await context.in_thread(parsed_json, content)
    return parsed_json(content)


async def table_body(request: Request, separators: bytes = b"") -> bytes | bytearray:
    """Read the body of a table; its size is estimated from the separators of cells."""
    content = await read_body(request)
    context_of(request).budget.hold(request, _parsed_size(content, separators))
    return content


def _parsed_size(content: bytes | bytearray, separators: bytes) -> int:
    """Bytes that a body takes at most once it is parsed."""
    if len(content) <= _SMALL:
        return _PER_BYTE * len(content)
    values = sum(content.count(separator) for separator in separators)
    wide = 1 if content.isascii() and b"\\u" not in content else 4  # bytes per character
    return wide * len(content) + 64 * values


Fields = TypeVar("Fields", bound=BaseModel)


def checked(form: type[Fields], sent: Any, *, strict: bool = True) -> Fields:
    """Check the fields of a JSON object, or of a query if not strict."""
    if not isinstance(sent, dict):
        raise BadInput("the body must be a JSON object")
    try:
        return form.model_validate(sent, strict=strict)
    except ValidationError as error:
        raise BadInput(_problem(error.errors()[0])) from None


def _problem(first: Any, start: int = 0) -> str:
    name = ".".join(str(part) for part in first["loc"][start:])[:60]
    words = {"missing": f"missing field {name!r}", "extra_forbidden": f"unknown field {name!r}"}
    return words.get(first["type"], f"{name}: {first['msg']}")


def parsed_json(content: bytes | bytearray) -> Any:
    """Parse JSON in UTF-8, without NaN, infinity and excessive nesting."""
    try:
        return from_json(content.removeprefix(BOM_UTF8), allow_inf_nan=False)
    except ValueError as error:
        named = b"NaN" in content or b"Infinity" in content
        hint = "; send null instead of NaN and Infinity" if named else ""
        raise BadInput(f"the body is not JSON: {one_line(error)}{hint}", status=400) from None


START = Annotated[int, Query(ge=0, le=1_000_000_000)]  # the first row of a page, and how many
MOST = Annotated[int, Query(ge=1, le=200)]


def reads(
    router: APIRouter, shared: Any, source: str, path: str, summary: str,
    work: Callable[..., Any], **kinds: Any,
) -> None:  # fmt: skip
    """Add a path that returns what a method of an attribute of the context does, in a thread.

    The query is what the method takes; ``kinds`` are stricter than its annotations.
    """

    async def endpoint(context: Any, **given: Any) -> Response:
        method = getattr(getattr(context, source), work.__name__)
        return json_response(await context.in_thread(method, **given))

    kinds = get_type_hints(work) | kinds
    takes = [Parameter("context", Parameter.KEYWORD_ONLY, annotation=shared)]
    for name, one in list(signature(work).parameters.items())[1:]:
        takes.append(one.replace(kind=Parameter.KEYWORD_ONLY, annotation=kinds[name]))
    endpoint.__signature__ = Signature(takes)  # type: ignore[attr-defined]
    router.get(path, summary=summary, description=getdoc(work) or "", name=path[1:])(endpoint)


_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode


def json_bytes(content: Any) -> bytes:
    """Encode JSON as UTF-8, with a question mark for a lone surrogate."""
    return _encode(content).encode("utf-8", "replace")


def json_response(content: Any, status: int = 200) -> Response:
    return Response(json_bytes(content), status, media_type="application/json")


def download(content: bytes, kind: str, name: str) -> Response:
    """A response that a browser saves as a file."""
    plain = "".join(c if c.isascii() and (c.isalnum() or c in "-_.") else "_" for c in name)
    headers = {"content-disposition": f'attachment; filename="{plain}"'}
    return Response(content, media_type=kind, headers=headers)


def error_response(_: Request | None, error: Exception) -> Response:
    """The response to an error: ``error``, with ``row`` and ``column`` where they are known."""
    if isinstance(error, BadInput | StoreError):
        row, column = getattr(error, "row", None), getattr(error, "column", None)
        sent = {"error": str(error), "row": row, "column": column}
        status, headers = error.status, dict(_ERROR_HEADERS.get(error.status, ()))
    elif isinstance(error, RequestValidationError):
        sent, status, headers = {"error": _problem(error.errors()[0], 1)}, 422, {}
    else:
        assert isinstance(error, HTTPException)
        sent, status = {"error": str(error.detail)}, error.status_code
        headers = dict(error.headers or {})
    response = json_response({k: v for k, v in sent.items() if v is not None}, status)
    response.headers.update(headers)
    return response


_ERROR_HEADERS = {
    415: {"accept-encoding": "identity"},
    401: {"www-authenticate": "Bearer"},
    408: {"connection": "close"},  # the rest of the request must not be read as a new one
    503: {"retry-after": "1"},
}


SECURITY_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (
        b"content-security-policy",
        b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
        b"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
)


@dataclass(frozen=True)
class Guard:
    """Middleware that checks access, adds security headers and counts requests.

    Paths in ``public`` need no token. POST requests to the paths in ``direct`` call their endpoint
    without FastAPI's router and exception handlers: a request takes 82 microseconds in the
    application, against 182 by a FastAPI route, and 64 clients of an ML-kNN of 20,000 rows got
    2,364 rows per second, against 1,434.
    """

    app: Any
    counters: Counters
    budget: Budget
    token: str | None
    hosts: tuple[str, ...] | None
    public: Collection[str]
    direct: Mapping[str, Callable[[Request], Awaitable[Response]]]
    headers: Sequence[tuple[bytes, bytes]]

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        head_only = scope["method"] == "HEAD"
        if head_only:  # handled as GET, without the body
            scope = {**scope, "method": "GET"}
        started, status, path = perf_counter(), 500, scope["path"]
        endpoint = self.direct.get(path) if scope["method"] == "POST" else None

        async def guarded_send(message: Any) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message = {**message, "headers": [*message["headers"], *self.headers]}
            elif head_only:
                message = {**message, "body": b""}
            await send(message)

        try:
            app = self.app
            try:
                self._check_access(path, dict(scope["headers"]))
                if endpoint is not None:
                    app = await endpoint(Request(scope, receive))
            except BadInput as error:
                app = error_response(None, error)
            await app(scope, receive, guarded_send)
        finally:
            self.budget.held -= scope.get("held", 0)
            if endpoint is None:
                path = getattr(scope.get("route"), "path", "other")
            self.counters.count(path, status, perf_counter() - started)

    def _check_access(self, path: str, headers: dict[bytes, bytes]) -> None:
        host = headers.get(b"host", b"").decode("latin-1")
        if self.hosts is not None:
            if not host:
                raise BadInput("the request has no Host header", status=400)
            name = host[1:].partition("]") if host.startswith("[") else host.lower().partition(":")
            if name[0] not in self.hosts:
                raise BadInput("the service has another host name", status=421)
        origin = headers.get(b"origin")
        if origin is not None and origin.decode("latin-1").partition("://")[2] != host:
            raise BadInput("requests from pages of other sites are not allowed", status=403)
        if self.token is None or path in self.public:
            return
        wanted = f"Bearer {self.token}".encode()
        if not hmac.compare_digest(headers.get(b"authorization", b""), wanted):
            problem = "the token is missing or wrong: Authorization: Bearer ..."
            raise BadInput(problem, status=401)


class Counters:
    """Numbers and durations of requests, for Prometheus. Used by the event loop only."""

    buckets = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)

    def __init__(self) -> None:
        self.requests: Counter[tuple[str, int]] = Counter()
        self.seconds: dict[str, list[Any]] = {}  # by path: counts of the buckets, then the sum
        self.rows = 0

    def count(self, path: str, status: int, seconds: float) -> None:
        self.requests[path, status] += 1
        found = self.seconds.setdefault(path, [0] * (len(self.buckets) + 1) + [0.0])
        found[bisect_left(self.buckets, seconds)] += 1
        found[-1] += seconds

    def text(self, gauges: Mapping[str, tuple[str, str, Any]]) -> str:
        """Format everything as text; gauges are kind, help and value by name."""
        name = "plurilabel_request_seconds"
        lines = [
            "# HELP plurilabel_requests_total Requests by path and status.",
            "# TYPE plurilabel_requests_total counter",
            *(
                f'plurilabel_requests_total{{path="{path}",status="{status}"}} {n}'
                for (path, status), n in sorted(self.requests.items())
            ),
            f"# HELP {name} Duration of requests.",
            f"# TYPE {name} histogram",
        ]
        for path, found in sorted(self.seconds.items()):
            total: int = 0
            for limit, n in zip([*map(str, self.buckets), "+Inf"], found):
                total += int(n)
                lines.append(f'{name}_bucket{{path="{path}",le="{limit}"}} {total}')
            lines.append(f'{name}_sum{{path="{path}"}} {found[-1]:.6f}')
            lines.append(f'{name}_count{{path="{path}"}} {total}')
        for gauge, (kind, words, value) in gauges.items():
            lines += [f"# HELP {gauge} {words}", f"# TYPE {gauge} {kind}", f"{gauge} {value}"]
        return "\n".join(lines) + "\n"
