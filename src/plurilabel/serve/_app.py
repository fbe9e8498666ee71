"""The service over HTTP."""

from __future__ import annotations

import asyncio
import hmac
import json
import math
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib.resources import files
from time import perf_counter
from typing import Any, Literal

from fastapi import FastAPI, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from starlette.exceptions import HTTPException

from plurilabel import __version__
from plurilabel.serve._batches import Batches
from plurilabel.serve._counters import Counters
from plurilabel.serve._examples import described, open_api
from plurilabel.serve._insight import Insight
from plurilabel.serve._label_studio import LabelStudio
from plurilabel.serve._rows import BadInput, parsed_json
from plurilabel.serve._service import Ask, Service

LOCAL = ("127.0.0.1", "localhost", "::1")
_PAGE = {
    "/": ("serve/page/page.html", "text/html; charset=utf-8"),
    "/page.css": ("serve/page/page.css", "text/css; charset=utf-8"),
    "/page.js": ("serve/page/page.js", "text/javascript; charset=utf-8"),
    "/icon.svg": ("serve/page/icon.svg", "image/svg+xml"),
    "/report.css": ("report/templates/report.css", "text/css; charset=utf-8"),
}
_OPEN = (*_PAGE, "/health")  # without a token
_ARROW = ("application/vnd.apache.arrow.stream", "application/vnd.apache.arrow.file")
_GUARDS = [
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (
        b"content-security-policy",
        b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        b"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
]


@dataclass(frozen=True)
class Limits:
    """What one request, and all of them together, may ask for.

    Attributes
    ----------
    body : int
        Bytes of a request.
    rows : int
        Rows of a request.
    explained : int
        Rows of a request to explain.
    seconds : float
        Time for an answer.
    batch : int
        Rows that are answered together.
    waiting : int
        Rows that wait for an answer; further requests are refused.
    connections : int
        Connections at a time.
    """

    body: int = 16 << 20
    rows: int = 10_000
    explained: int = 20
    seconds: float = 30.0
    batch: int = 1024
    waiting: int = 20_000
    connections: int = 2_000


def create_app(
    service: Service,
    *,
    limits: Limits | None = None,
    token: str | None = None,
    hosts: tuple[str, ...] | None = LOCAL,
) -> FastAPI:
    """An ASGI application of a service, for uvicorn or another server.

    Parameters
    ----------
    service : Service
        Closed when the application ends.
    limits : Limits, default=None
    token : str, default=None
        What clients must send as ``Authorization: Bearer ...``; None lets everybody in.
    hosts : tuple of str or None, default=("127.0.0.1", "localhost", "::1")
        Names under which the service may be asked, so that no other site can speak through a
        browser on the same machine; None for any.

    Returns
    -------
    FastAPI
        A corrected model answers at once, so there must be one process only.
    """
    limits = limits or Limits()
    counters, insight = Counters(), Insight(service)
    answers = Batches(service.predict_many, most=limits.batch, waiting=limits.waiting)
    learning = Batches(service.correct_many, most=limits.batch, waiting=limits.waiting)
    slow = asyncio.Semaphore(2)  # explanations and views at a time

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        answers.close()
        learning.close()
        service.close()

    app = FastAPI(
        title=f"plurilabel: {service.name}",
        version=__version__,
        docs_url=None,  # which would load a page from elsewhere
        redoc_url=None,
        lifespan=lifespan,
    )
    app.openapi = lambda: open_api(app, service)
    # asked most often: without the steps that FastAPI takes for arguments that it does not have
    straight: dict[str, Any] = {}
    app.add_middleware(Door, counters=counters, token=token, hosts=hosts, straight=straight)
    app.add_exception_handler(BadInput, _refused)
    app.add_exception_handler(HTTPException, _refused)
    app.add_exception_handler(RequestValidationError, _refused)

    async def in_time(work: Any) -> Any:
        try:
            async with asyncio.timeout(limits.seconds):
                return await work
        except TimeoutError:
            problem = f"no answer within {limits.seconds:g} seconds"
            raise BadInput(problem, status=503) from None

    async def apart(work: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Something slow, in a thread of its own."""

        async def waiting() -> Any:
            async with slow:
                return await asyncio.to_thread(work, *args, **kwargs)

        return await in_time(waiting())

    async def body(request: Request) -> bytes:
        declared = request.headers.get("content-length", "0")
        if declared.isdigit() and int(declared) > limits.body:
            raise _too_large(limits)
        parts, size = [], 0
        async for part in request.stream():
            size += len(part)
            if size > limits.body:
                raise _too_large(limits)
            parts.append(part)
        return b"".join(parts)

    async def json_body(request: Request, *, optional: frozenset[str], needed: str) -> Any:
        if _content_type(request) != "application/json":
            raise BadInput("the body must be JSON, of content type application/json", status=415)
        said = parsed_json(await body(request))
        if not isinstance(said, dict):
            raise BadInput(f"the body must be an object with {needed!r}")
        if needed not in said:
            raise BadInput(f"the body must have {needed!r}")
        if strange := sorted(set(said) - optional - {needed}):
            raise BadInput(f"the body has {strange[0][:60]!r}, which means nothing here")
        return said

    def few_enough(rows: Any, most: int) -> None:
        if isinstance(rows, list) and len(rows) > most:
            raise BadInput(f"at most {most:,} rows at a time, got {len(rows):,}", status=413)

    # the model ----------------------------------------------------------------------------------

    @app.post("/predict", **described("predict"))
    async def predict(request: Request) -> Response:
        kind = _content_type(request)
        if kind == "application/json":
            optional = frozenset({"scores", "top", "cut", "remember"})
            said = await json_body(request, optional=optional, needed="rows")
            few_enough(said["rows"], limits.rows)
            ask = _ask(said)
            rows: Any = service.reader.records(said["rows"])
            n, remember = len(rows), said.get("remember", False)
        elif kind == "text/csv" or kind in _ARROW:
            ask = _ask(_from_query(request))
            content = await body(request)
            reader = service.reader
            read = reader.read_csv if kind == "text/csv" else reader.read_arrow
            rows = await apart(read, content, limits.rows)
            n, remember = rows.X.shape[0], False
        else:
            raise BadInput(
                "the body must be JSON, CSV or Arrow: application/json, text/csv or "
                + " or ".join(_ARROW),
                status=415,
            )
        counters.rows += n
        answer = await in_time(answers((rows, ask), n))
        if remember:
            service.remember(rows)
        return _json(answer)

    straight["/predict"] = predict

    @app.post("/explain", **described("explain"))
    async def explain(request: Request) -> Response:
        said = await json_body(request, optional=frozenset({"labels", "top"}), needed="rows")
        few_enough(said["rows"], limits.explained)
        top = said.get("top", 8)
        if not _is_count(top):
            raise BadInput("top must be a whole number of at least 1")
        work = service.explain
        return _json(await apart(work, said["rows"], labels=said.get("labels"), top=top))

    @app.get("/model", **described("model"))
    async def model() -> Response:
        return _json({**service.card(), "browsable": insight.possible})

    @app.get("/health", **described("health"))
    async def health() -> Response:
        return _json({"status": "ok", "version": service.version})

    @app.get("/metrics", **described("metrics"))
    async def metrics() -> Response:
        batches, rows = answers.sizes
        gauges: dict[str, tuple[str, str, Any]] = {
            "plurilabel_rows_total": ("counter", "Rows asked about.", counters.rows),
            "plurilabel_batches_total": ("counter", "Batches of rows.", batches),
            "plurilabel_batched_rows_total": ("counter", "Rows in batches.", rows),
            "plurilabel_rows_waiting": ("gauge", "Rows in the queue.", answers.queued),
            "plurilabel_model_version": ("gauge", "Version of the model.", service.version),
            "plurilabel_corrections_stored": (
                "gauge",
                "Corrections and undos on disk.",
                service.ledger.version,
            ),
        }
        return Response(counters.text(gauges), media_type="text/plain; version=0.0.4")

    # corrections --------------------------------------------------------------------------------

    @app.post("/feedback", **described("feedback"))
    async def feedback(request: Request) -> Response:
        said = await json_body(request, optional=frozenset(), needed="corrections")
        few_enough(said["corrections"], limits.rows)
        # not in_time: what is on its way to the disk must not be said to have failed
        n = len(said["corrections"]) if isinstance(said["corrections"], list) else 1
        if not isinstance(said["corrections"], list):
            raise BadInput("corrections must be a list with at least one correction")
        return _json(await learning(said["corrections"], n))

    @app.get("/feedback", **described("history"))
    async def history(most: int = Query(200, ge=1, le=10_000)) -> Response:
        found = service.history(most)
        return _json({"version": service.version, "corrections": found})

    @app.delete("/feedback/{id}", **described("undo"))
    async def undo(id: int) -> Response:
        return _json(await learning(id))

    @app.get("/feedback/export", **described("export"))
    async def export(format: Literal["csv", "jsonl"] = "csv", all: bool = False) -> Response:
        content = await apart(service.export, format, all_rows=all)
        kind = "text/csv; charset=utf-8" if format == "csv" else "application/x-ndjson"
        name = f'attachment; filename="corrections.{format}"'
        return Response(content, media_type=kind, headers={"content-disposition": name})

    # Label Studio -------------------------------------------------------------------------------

    labelling = LabelStudio(service)
    many = asyncio.Lock()  # what one annotator does is learned before what the next one does

    async def studio(work: Callable[[Any], Any], request: Request, status: int = 200) -> Response:
        if _content_type(request) != "application/json":
            raise BadInput("the body must be JSON, of content type application/json", status=415)
        said = parsed_json(await body(request))
        if isinstance(said, dict):
            few_enough(said.get("tasks"), limits.rows)
        async with many:
            return _json(await asyncio.to_thread(work, said), status)

    @app.get("/label-studio/health", **described("studio_health"))
    async def studio_health() -> Response:
        return _json({"status": "UP", "model_class": labelling.version()})

    @app.post("/label-studio/setup", **described("studio_setup"))
    async def studio_setup(request: Request) -> Response:
        return await studio(labelling.setup, request)

    @app.post("/label-studio/predict", **described("studio_predict"))
    async def studio_predict(request: Request) -> Response:
        return await studio(labelling.predict, request)

    @app.post("/label-studio/webhook", **described("studio_webhook"))
    async def studio_webhook(request: Request) -> Response:
        return await studio(labelling.webhook, request, 201)

    # the data -----------------------------------------------------------------------------------

    @app.get("/data/rows", **described("rows"))
    async def rows(
        label: str | None = None,
        having: Literal["any", "with", "without", "predicted", "disputed"] = "any",
        above: float = 0.0,
        below: float = 1.0,
        issues: bool = False,
        find: str = "",
        sort: Literal["row", "doubt", "unsure", "score"] = "row",
        start: int = Query(0, ge=0, le=1_000_000_000),
        most: int = Query(20, ge=1, le=200),
    ) -> Response:
        found = await apart(
            insight.rows, label=label or None, having=having, above=above, below=below,
            issues=issues, find=find, sort=sort, start=start, most=most,
        )  # fmt: skip
        return _json(found)

    @app.get("/data/some", **described("some"))
    async def some(rows: str) -> Response:
        try:
            wanted = [int(row) for row in rows.split(",")][:200]
        except ValueError:
            raise BadInput("rows must be numbers with commas between them") from None
        return _json(await apart(insight.some, wanted))

    @app.get("/data/moved", **described("moved"))
    async def moved(since: int, most: int = Query(8, ge=1, le=100)) -> Response:
        return _json(await apart(insight.moved, since, most))

    @app.get("/data/cuts", **described("cuts"))
    async def cuts(label: str | None = None) -> Response:
        return _json(await apart(insight.cuts, label or None))

    @app.get("/data/pairs", **described("pairs"))
    async def pairs() -> Response:
        return _json(await apart(insight.pairs))

    @app.get("/data/queue", **described("queue"))
    async def queue(most: int = Query(10, ge=1, le=100)) -> Response:
        return _json(await apart(insight.queue, most))

    # the page -----------------------------------------------------------------------------------

    def shown(path: str) -> None:
        name, kind = _PAGE[path]
        content = files("plurilabel").joinpath(name).read_bytes()

        @app.get(path, include_in_schema=False)
        async def file() -> Response:
            return Response(content, media_type=kind, headers={"cache-control": "no-cache"})

    for path in _PAGE:
        shown(path)
    return app


class Door:
    """Who may come in, and how each request ended."""

    def __init__(
        self,
        app: Any,
        counters: Counters,
        token: str | None,
        hosts: tuple[str, ...] | None,
        straight: dict[str, Any],
    ) -> None:
        self.app, self.counters, self.hosts, self.straight = app, counters, hosts, straight
        self.token = None if token is None else f"Bearer {token}".encode()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Let a request through, or answer it here."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started, status = perf_counter(), 500

        async def sending(message: Any) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message = {**message, "headers": [*message["headers"], *_GUARDS]}
            await send(message)

        try:
            answer = self._refused(scope)
            if answer is None and scope["method"] == "POST" and scope["path"] in self.straight:
                try:
                    answer = await self.straight[scope["path"]](Request(scope, receive))
                except BadInput as error:
                    answer = _refused(None, error)
            await (self.app if answer is None else answer)(scope, receive, sending)
        finally:
            route = scope.get("route")
            path = (
                scope["path"]
                if scope["path"] in self.straight
                else getattr(route, "path", "other")
            )
            self.counters.count(path, status, perf_counter() - started)

    def _refused(self, scope: Any) -> Response | None:
        headers = dict(scope["headers"])
        host = headers.get(b"host", b"").decode("latin-1")
        if self.hosts is not None and _without_port(host) not in self.hosts:
            return _error("this service is asked under another name", 421)
        origin = headers.get(b"origin")
        if origin is not None and origin.decode("latin-1").partition("://")[2] != host:
            return _error("another site must not ask through a browser", 403)
        if self.token is None or scope["path"] in _OPEN:
            return None
        if hmac.compare_digest(headers.get(b"authorization", b""), self.token):
            return None
        response = _error("the token is missing or wrong: Authorization: Bearer ...", 401)
        response.headers["www-authenticate"] = "Bearer"
        return response


def _without_port(host: str) -> str:
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0].lower()


def _content_type(request: Request) -> str:
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def _too_large(limits: Limits) -> BadInput:
    return BadInput(f"a request may have at most {limits.body:,} bytes", status=413)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def _ask(said: dict[str, Any]) -> Ask:
    scores, top, cut = said.get("scores", False), said.get("top"), said.get("cut")
    if not isinstance(scores, bool):
        raise BadInput("scores must be true or false")
    if top is not None and not _is_count(top):
        raise BadInput("top must be a whole number of at least 1")
    if cut is not None:
        if isinstance(cut, bool) or not isinstance(cut, int | float) or abs(cut) > 1e300:
            raise BadInput("cut must be a number")
        cut = float(cut)
    if not isinstance(said.get("remember", False), bool):
        raise BadInput("remember must be true or false")
    return Ask(scores, None if top is None else min(top, 1 << 30), cut)


def _from_query(request: Request) -> dict[str, Any]:
    """Options of a table, whose body has no room for them."""
    said: dict[str, Any] = {}
    for name, text in request.query_params.items():
        try:
            if name == "top":
                said[name] = int(text)
            elif name == "cut":
                said[name] = float(text)
                if not math.isfinite(said[name]):
                    raise ValueError
            elif name == "scores":
                said[name] = {"true": True, "1": True, "false": False, "0": False}[text.lower()]
            else:
                raise BadInput(f"the address has {name[:60]!r}, which means nothing here")
        except BadInput:
            raise
        except (ValueError, KeyError):
            raise BadInput(f"{name} has the value {text[:60]!r}, which it cannot have") from None
    return said


def _json(content: Any, status: int = 200) -> Response:
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return Response(text.encode("utf-8", "replace"), status, media_type="application/json")


def _error(problem: str, status: int, **where: Any) -> Response:
    known = {name: value for name, value in where.items() if value is not None}
    return _json({"error": problem, **known}, status)


def _refused(_: Request | None, error: Exception) -> Response:
    """The one form of all errors."""
    if isinstance(error, BadInput):
        response = _error(str(error), error.status, row=error.row, column=error.column)
        if error.status == 503:
            response.headers["retry-after"] = "1"
        return response
    if isinstance(error, RequestValidationError):
        first = error.errors()[0]
        name = ".".join(str(part) for part in first["loc"][1:])
        return _error(f"{name}: {first['msg']}", 422)
    assert isinstance(error, HTTPException)
    response = _error(str(error.detail), error.status_code)
    response.headers.update(error.headers or {})
    return response
