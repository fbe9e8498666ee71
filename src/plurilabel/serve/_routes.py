"""Routes of the service, a router per section."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

from fastapi import APIRouter, Query, Request
from fastapi.responses import PlainTextResponse, Response
from pydantic import BaseModel, ConfigDict, FiniteFloat, PositiveInt

from plurilabel.serve import _http
from plurilabel.serve._answers import Ask
from plurilabel.serve._http import ServiceContext, Shared, checked, json_body, json_response
from plurilabel.serve._insight import Insight
from plurilabel.serve._row_reader import BadInput, check_number_of_rows
from plurilabel.serve.label_studio import LabelStudio

_MANY = 500  # rows of JSON that are checked in a thread
_MOST_PARTS = 10_000  # of an explanation, to estimate its size
_PER_PART = 300  # bytes of a part of an explanation
_ARROW = ("application/vnd.apache.arrow.stream", "application/vnd.apache.arrow.file")


class Body(BaseModel):
    """A JSON object without other fields."""

    model_config = ConfigDict(extra="forbid")


class PredictOptions(Body):
    """Options of a prediction; in the query if the body is a table."""

    scores: bool = False
    top: PositiveInt | None = None
    cut: FiniteFloat | None = None

    def ask(self) -> Ask:
        return Ask(self.scores, None if self.top is None else min(self.top, 1 << 30), self.cut)


class PredictBody(PredictOptions):
    rows: Any


class ExplainBody(Body):
    rows: Any
    labels: Any = None
    top: PositiveInt = 8


class FeedbackBody(Body):
    corrections: list[Any]


predictions = APIRouter()


@predictions.post("/predict", summary="Predict labels")
async def predict(request: Request) -> Response:
    """Rows are JSON objects by column name, or CSV or Arrow with the options in the query."""
    context: ServiceContext = _http.context_of(request)
    kind = _http.content_type(request)
    service, most = context.service, context.limits.rows
    rows: Any
    if kind == "application/json":
        sent = checked(PredictBody, await json_body(request))
        ask = sent.ask()
        n = _check_length(sent.rows, most)
        context.hold_answer(request, n, ask)
        if n > _MANY:
            rows = await context.in_thread(service.reader.quick_records, sent.rows)
        else:
            rows = service.reader.quick_records(sent.rows)
        n = len(rows)
        del sent
    elif kind == "text/csv" or kind in _ARROW:
        ask = checked(PredictOptions, dict(request.query_params), strict=False).ask()
        if kind == "text/csv":
            content = await _http.table_body(request, b",;\t|\n")
            rows = await context.in_thread(service.reader.read_csv, content, most)
        else:
            content, size = await _http.table_body(request), _http.UNPACKED * context.limits.body
            rows = await context.in_thread(service.reader.read_arrow, content, most, size)
        n = rows.X.shape[0]
        context.budget.hold(request, 16 * n * max(1, len(service.reader.kinds)))
        context.hold_answer(request, n, ask)
    else:
        kinds = ", ".join(["application/json", "text/csv", *_ARROW])
        raise BadInput(f"the content type must be one of {kinds}", status=415)
    context.counters.rows += n
    return json_response(await context.predictions((rows, ask), n))


def _check_length(rows: Any, most: int) -> int:
    n = len(rows) if isinstance(rows, list) else 1
    check_number_of_rows(n, most)
    return n


explanations = APIRouter()


@explanations.post("/explain", summary="Explain scores")
async def explain(request: Request, context: Shared) -> Response:
    """Neighbors, features or words that speak for and against each label."""
    sent = checked(ExplainBody, await json_body(request))
    n, top, labels = _check_length(sent.rows, context.limits.explained), sent.top, sent.labels
    q = len(labels) if isinstance(labels, list) else len(context.service.places)
    context.budget.hold(request, n * q * min(top, _MOST_PARTS) * _PER_PART)
    work = context.service.explain
    return json_response(await context.in_thread(work, sent.rows, labels=labels, top=top))


corrections = APIRouter(prefix="/feedback")


@corrections.post("", summary="Correct labels")
async def feedback(request: Request, context: Shared) -> Response:
    """Correct labels of training rows, or of new rows.

    The response is sent once the corrections are on disk; `applied` is true if the model has
    already learned them.
    """
    given = checked(FeedbackBody, await json_body(request)).corrections
    check_number_of_rows(len(given), context.limits.rows)
    return json_response(await context.corrections(given, len(given)))


@corrections.get("", summary="List corrections")
async def history(context: Shared, most: int = Query(200, ge=1, le=10_000)) -> Response:
    """The latest first."""
    found = context.service.history(most)
    return json_response({"version": context.service.version, "corrections": found})


@corrections.delete("/{id}", summary="Undo a correction")
async def undo(context: Shared, id: int) -> Response:
    """Restore the previous labels of the row, or remove a row that was added."""
    return json_response(await context.corrections(id))


_EXPORTS = {"csv": "text/csv", "jsonl": "application/x-ndjson"}


@corrections.get(
    "/export",
    summary="Export corrections as a dataset",
    response_class=Response,
    responses={200: {"content": {kind: {} for kind in _EXPORTS.values()}}},
)
async def export(
    context: Shared, format: Literal["csv", "jsonl"] = "csv", all: bool = False
) -> Response:
    """With all=true, all rows with their current labels."""
    content = await context.in_thread(context.service.export, format, all_rows=all)
    return _http.download(content, _EXPORTS[format], f"corrections.{format}")


data = APIRouter(prefix="/data")


_reads = partial(_http.reads, data, Shared, "insight")
_reads(
    "/rows", "Browse the training set", Insight.rows,
    having=Literal["any", "with", "without", "predicted", "disputed"],
    sort=Literal["row", "doubt", "unsure", "score"], start=_http.START, most=_http.MOST,
)  # fmt: skip
_reads("/moved", "Get the rows whose scores changed", Insight.moved, most=_http.MOST)
_reads("/cuts", "Get precision and recall by threshold", Insight.cuts)
_reads("/pairs", "Get co-occurrences of labels", Insight.pairs)


@data.get("/some", summary="Get training rows by number")
async def some(context: Shared, rows: str) -> Response:
    """The current labels and scores of rows, given as numbers separated by commas."""
    try:
        wanted = [int(row) for row in rows.split(",")][:200]
    except ValueError:
        raise BadInput("rows must be numbers separated by commas") from None
    return json_response(await context.in_thread(context.insight.some, wanted))


status = APIRouter()


@status.get("/model", summary="Get the model card")
async def model(context: Shared) -> Response:
    """The learner, its inputs and labels, and the corrections it has learned."""
    return json_response({**context.service.card(), "browsable": context.insight.possible})


@status.get("/events", summary="Follow the version of the model", response_class=Response)
async def events(context: Shared) -> Response:
    """As server-sent events, so that open pages show what others correct."""
    return context.follow(lambda: {"version": context.service.version})


@status.get("/health", summary="Check that the service is up")
async def health(context: Shared) -> Response:
    """Needs no token."""
    return json_response({"status": "ok", "version": context.service.version})


@status.get("/metrics", summary="Get counters", response_class=PlainTextResponse)
async def metrics(context: Shared) -> Response:
    """In the text format of Prometheus."""
    service, queue = context.service, context.predictions
    batches, batched = queue.sizes
    stored = service.ledger.version
    gauges = {
        "plurilabel_rows_total": ("counter", "Rows of requests.", context.counters.rows),
        "plurilabel_batches_total": ("counter", "Batches of rows.", batches),
        "plurilabel_batched_rows_total": ("counter", "Rows in batches.", batched),
        "plurilabel_rows_waiting": ("gauge", "Rows in the queue.", queue.queued),
        "plurilabel_model_version": ("gauge", "Version of the model.", service.version),
        "plurilabel_corrections_stored": ("gauge", "Corrections and undos on disk.", stored),
    }
    return Response(context.counters.text(gauges), media_type="text/plain; version=0.0.4")


label_studio = APIRouter(prefix="/label-studio")


@label_studio.get("/health", summary="Label Studio: check that the backend is up")
async def studio_health(context: Shared) -> Response:
    """The address of the backend is /label-studio."""
    return json_response(context.label_studio.health())


def _studio(path: str, summary: str, work: Any, status: int = 200) -> None:
    """Add a path that answers Label Studio with what a method of the backend returns."""

    async def endpoint(request: Request, context: Shared) -> Response:
        sent = await json_body(request)
        tasks = sent.get("tasks") if isinstance(sent, dict) else None
        if isinstance(tasks, list):
            check_number_of_rows(len(tasks), context.limits.rows)
            context.hold_answer(request, len(tasks), Ask(scores=True))
        # an update must not be learned before the annotation that it updates
        async with context.annotating:
            answer = await asyncio.to_thread(work, context.label_studio, sent)
        return json_response(answer, status)

    about = {"summary": f"Label Studio: {summary}", "description": work.__doc__}
    label_studio.post(path, status_code=status, name=f"studio_{work.__name__}", **about)(endpoint)


_studio("/setup", "check a project", LabelStudio.setup)
_studio("/predict", "predict tasks", LabelStudio.predict)
_studio("/webhook", "receive events", LabelStudio.webhook, 201)


SECTIONS = (predictions, explanations, corrections, data, status, label_studio)

_KINDS = {
    ".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml",
}  # fmt: skip


def page(name: str) -> dict[str, tuple[str, str]]:
    """File and media type of each path of a page."""
    own = {f"/{file}": f"serve/page/{file}" for file in (f"{name}.js", f"{name}.css")}
    shared = {f"/{file}": f"serve/page/{file}" for file in ("common.js", "common.css", "icon.svg")}
    report = {"/report.css": "evaluation/_report/templates/report.css"}
    paths = {"/": f"serve/page/{name}.html", **own, **shared, **report}
    return {path: (file, _KINDS[Path(file).suffix]) for path, file in paths.items()}


def page_routes(page: Mapping[str, tuple[str, str]]) -> APIRouter:
    router = APIRouter(include_in_schema=False)
    for path, (name, kind) in page.items():
        content = files("plurilabel").joinpath(name).read_bytes()

        async def file(_: Request, content: bytes = content, kind: str = kind) -> Response:
            return Response(content, media_type=kind, headers={"cache-control": "no-cache"})

        router.add_route(path, file)
    return router
