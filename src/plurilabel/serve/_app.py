"""The service over HTTP."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Literal

from fastapi import FastAPI, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from joblib import cpu_count
from starlette.datastructures import QueryParams
from starlette.exceptions import HTTPException

from plurilabel import __version__
from plurilabel.serve._batches import Batches
from plurilabel.serve._counters import Counters
from plurilabel.serve._door import (
    Door,
    Headers,
    content_type,
    json_bytes,
    json_response,
    parsed_json,
    read_body,
    refused,
)
from plurilabel.serve._examples import described, open_api
from plurilabel.serve._insight import Insight
from plurilabel.serve._label_studio import LabelStudio
from plurilabel.serve._rows import BadInput
from plurilabel.serve._service import Ask, Service

LOCAL = ("127.0.0.1", "localhost", "::1")
MOST_THREADS = 4  # batches at a time, each with memory of its own
_PAGE = {
    "/": ("serve/page/page.html", "text/html; charset=utf-8"),
    "/page.css": ("serve/page/page.css", "text/css; charset=utf-8"),
    "/page.js": ("serve/page/page.js", "text/javascript; charset=utf-8"),
    "/icon.svg": ("serve/page/icon.svg", "image/svg+xml"),
    "/report.css": ("evaluation/_report/templates/report.css", "text/css; charset=utf-8"),
}
_OPEN = (*_PAGE, "/health")  # without a token
_OPTIONS = frozenset({"scores", "top", "cut", "remember"})
_ARROW = ("application/vnd.apache.arrow.stream", "application/vnd.apache.arrow.file")


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
        Time for an answer, and before that for sending the request.
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


class _Application(FastAPI):
    """FastAPI behind a door."""

    door: Door

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await self.door(scope, receive, send)


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
    answers = Batches(
        service.predict_many,
        most=limits.batch,
        waiting=limits.waiting,
        seconds=limits.seconds,
        threads=min(MOST_THREADS, cpu_count()),
    )
    learning = Batches(service.correct_many, most=limits.batch, waiting=limits.waiting)
    slow = asyncio.Semaphore(2)  # explanations and views at a time

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        answers.close()
        learning.close()
        service.close()

    app = _Application(
        title=f"plurilabel: {service.name}",
        version=__version__,
        docs_url=None,  # which would load a page from elsewhere
        redoc_url=None,
        lifespan=lifespan,
    )
    app.openapi = lambda: open_api(app, service)
    app.door = Door(super(_Application, app).__call__, counters, token, hosts, _OPEN)
    app.add_exception_handler(BadInput, refused)
    app.add_exception_handler(HTTPException, refused)
    app.add_exception_handler(RequestValidationError, refused)

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

    async def json_body(
        headers: Headers, receive: Any, *, optional: frozenset[str], needed: str
    ) -> dict[str, Any]:
        said = await json_of(headers, receive)
        if not isinstance(said, dict):
            raise BadInput(f"the body must be an object with {needed!r}")
        if needed not in said:
            raise BadInput(f"the body must have {needed!r}")
        if strange := said.keys() - optional - {needed}:
            raise BadInput(f"the body has {min(strange)[:60]!r}, which means nothing here")
        return said

    async def json_of(headers: Headers, receive: Any) -> Any:
        if content_type(headers) != "application/json":
            raise BadInput("the body must be JSON, of content type application/json", status=415)
        return parsed_json(await read_body(headers, receive, limits.body, limits.seconds))

    def few_enough(rows: Any, most: int) -> None:
        if isinstance(rows, list) and len(rows) > most:
            raise BadInput(f"at most {most:,} rows at a time, got {len(rows):,}", status=413)

    # the model ----------------------------------------------------------------------------------

    async def predict(headers: Headers, scope: Any, receive: Any) -> bytes:
        kind = content_type(headers)
        if kind == "application/json":
            said = await json_body(headers, receive, optional=_OPTIONS, needed="rows")
            few_enough(said["rows"], limits.rows)
            ask, remember = _ask(said), said.get("remember", False)
            read = service.reader.records if remember else service.reader.quick_records
            rows: Any = read(said["rows"])
            n = len(rows)
        elif kind == "text/csv" or kind in _ARROW:
            ask, remember = _ask(_from_query(scope)), False
            content = await read_body(headers, receive, limits.body, limits.seconds)
            reader = service.reader
            table = reader.read_csv if kind == "text/csv" else reader.read_arrow
            rows = await apart(table, content, limits.rows)
            n = rows.X.shape[0]
        else:
            raise BadInput(
                "the body must be JSON, CSV or Arrow: application/json, text/csv or "
                + " or ".join(_ARROW),
                status=415,
            )
        counters.rows += n
        answer = await answers((rows, ask), n)
        if remember:
            service.remember(rows)
        return json_bytes(answer)

    app.door.straight["/predict"] = predict

    @app.post("/predict", **described("predict"))
    async def answered_at_the_door() -> None:
        """For OpenAPI, and to refuse other methods."""

    @app.post("/explain", **described("explain"))
    async def explain(request: Request) -> Response:
        optional = frozenset({"labels", "top"})
        said = await json_body(*_parts(request), optional=optional, needed="rows")
        few_enough(said["rows"], limits.explained)
        top = said.get("top", 8)
        if not _is_count(top):
            raise BadInput("top must be a whole number of at least 1")
        work = service.explain
        return json_response(await apart(work, said["rows"], labels=said.get("labels"), top=top))

    @app.get("/model", **described("model"))
    async def model() -> Response:
        return json_response({**service.card(), "browsable": insight.possible})

    @app.get("/health", **described("health"))
    async def health() -> Response:
        return json_response({"status": "ok", "version": service.version})

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
        said = await json_body(*_parts(request), optional=frozenset(), needed="corrections")
        few_enough(said["corrections"], limits.rows)
        # not in_time: what is on its way to the disk must not be said to have failed
        n = len(said["corrections"]) if isinstance(said["corrections"], list) else 1
        if not isinstance(said["corrections"], list):
            raise BadInput("corrections must be a list with at least one correction")
        return json_response(await learning(said["corrections"], n))

    @app.get("/feedback", **described("history"))
    async def history(most: int = Query(200, ge=1, le=10_000)) -> Response:
        found = service.history(most)
        return json_response({"version": service.version, "corrections": found})

    @app.delete("/feedback/{id}", **described("undo"))
    async def undo(id: int) -> Response:
        return json_response(await learning(id))

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
        said = await json_of(*_parts(request))
        if isinstance(said, dict):
            few_enough(said.get("tasks"), limits.rows)
        async with many:
            return json_response(await asyncio.to_thread(work, said), status)

    @app.get("/label-studio/health", **described("studio_health"))
    async def studio_health() -> Response:
        return json_response({"status": "UP", "model_class": labelling.version()})

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
        return json_response(found)

    @app.get("/data/some", **described("some"))
    async def some(rows: str) -> Response:
        try:
            wanted = [int(row) for row in rows.split(",")][:200]
        except ValueError:
            raise BadInput("rows must be numbers with commas between them") from None
        return json_response(await apart(insight.some, wanted))

    @app.get("/data/moved", **described("moved"))
    async def moved(since: int, most: int = Query(8, ge=1, le=100)) -> Response:
        return json_response(await apart(insight.moved, since, most))

    @app.get("/data/cuts", **described("cuts"))
    async def cuts(label: str | None = None) -> Response:
        return json_response(await apart(insight.cuts, label or None))

    @app.get("/data/pairs", **described("pairs"))
    async def pairs() -> Response:
        return json_response(await apart(insight.pairs))

    @app.get("/data/queue", **described("queue"))
    async def queue(most: int = Query(10, ge=1, le=100)) -> Response:
        return json_response(await apart(insight.queue, most))

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


def _parts(request: Request) -> tuple[Headers, Any]:
    return dict(request.scope["headers"]), request.receive


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


def _from_query(scope: Any) -> dict[str, Any]:
    """Options of a table, whose body has no room for them."""
    said: dict[str, Any] = {}
    for name, text in QueryParams(scope["query_string"]).items():
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
