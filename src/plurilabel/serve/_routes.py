"""Routes of the service, a router per section."""

from __future__ import annotations

import asyncio
from importlib.resources import files
from typing import Any, Literal

from fastapi import APIRouter, Query, Request
from fastapi.responses import PlainTextResponse, Response
from pydantic import BaseModel, ConfigDict, FiniteFloat, PositiveInt

from plurilabel.serve import _http
from plurilabel.serve._answers import Ask
from plurilabel.serve._http import Context, Shared, checked, json_body, json_response
from plurilabel.serve._row_reader import BadInput, check_number_of_rows

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
        """Convert to the options of a service."""
        return Ask(self.scores, None if self.top is None else min(self.top, 1 << 30), self.cut)


class PredictBody(PredictOptions):
    """The body of /predict."""

    rows: Any
    remember: bool = False


class ExplainBody(Body):
    """The body of /explain."""

    rows: Any
    labels: Any = None
    top: PositiveInt = 8


class FeedbackBody(Body):
    """The body of /feedback."""

    corrections: list[Any]


predictions = APIRouter()


@predictions.post("/predict", summary="Predict labels")
async def predict(request: Request) -> Response:
    """Rows are JSON objects by column name, or CSV or Arrow with the options in the query."""
    context, kind = _http.context_of(request), _http.content_type(request)
    service, most, remember = context.service, context.limits.rows, False
    rows: Any
    if kind == "application/json":
        sent = checked(PredictBody, await json_body(request))
        ask, remember = sent.ask(), sent.remember
        n = _check_length(sent.rows, most)
        context.hold_answer(request, n, ask)
        read = service.reader.records if remember else service.reader.quick_records
        if n > _MANY:
            rows = await context.in_thread(read, sent.rows)
        else:
            rows = read(sent.rows)
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
    answer = await context.predictions((rows, ask), n)
    if remember:
        service.remember(rows)
    return json_response(answer)


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
    headers = {"content-disposition": f'attachment; filename="corrections.{format}"'}
    return Response(content, media_type=_EXPORTS[format], headers=headers)


data = APIRouter(prefix="/data")


@data.get("/rows", summary="Browse the training set")
async def rows(
    context: Shared,
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
    """Filter rows by label, certainty and suspected errors."""
    found = await context.in_thread(
        context.insight.rows, label=label or None, having=having, above=above, below=below,
        issues=issues, find=find, sort=sort, start=start, most=most,
    )  # fmt: skip
    return json_response(found)


@data.get("/some", summary="Get training rows by number")
async def some(context: Shared, rows: str) -> Response:
    """The current labels and scores of rows, given as numbers separated by commas."""
    try:
        wanted = [int(row) for row in rows.split(",")][:200]
    except ValueError:
        raise BadInput("rows must be numbers separated by commas") from None
    return json_response(await context.in_thread(context.insight.some, wanted))


@data.get("/moved", summary="Get the rows whose scores changed")
async def moved(context: Shared, since: int, most: int = Query(8, ge=1, le=100)) -> Response:
    """Compared with the previous version of the model."""
    return json_response(await context.in_thread(context.insight.moved, since, most))


@data.get("/cuts", summary="Get precision and recall by threshold")
async def cuts(context: Shared, label: str | None = None) -> Response:
    """From scores of models that were not fitted on the row."""
    return json_response(await context.in_thread(context.insight.cuts, label or None))


@data.get("/pairs", summary="Get co-occurrences of labels")
async def pairs(context: Shared) -> Response:
    """For the most frequent labels."""
    return json_response(await context.in_thread(context.insight.pairs))


@data.get("/queue", summary="Get the rows to label next")
async def queue(context: Shared, most: int = Query(10, ge=1, le=100)) -> Response:
    """Uncertain and typical rows first."""
    return json_response(await context.in_thread(context.insight.queue, most))


status = APIRouter()


@status.get("/model", summary="Get the model card")
async def model(context: Shared) -> Response:
    """The learner, its inputs and labels, and the corrections it has learned."""
    return json_response({**context.service.card(), "browsable": context.insight.possible})


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


async def _studio_answer(
    request: Request, context: Context, work: Any, status: int = 200
) -> Response:
    sent = await json_body(request)
    tasks = sent.get("tasks") if isinstance(sent, dict) else None
    if isinstance(tasks, list):
        check_number_of_rows(len(tasks), context.limits.rows)
        context.hold_answer(request, len(tasks), Ask(scores=True))
    # an update must not be learned before the annotation that it updates
    async with context.annotating:
        return json_response(await asyncio.to_thread(work, sent), status)


@label_studio.get("/health", summary="Label Studio: check that the backend is up")
async def studio_health(context: Shared) -> Response:
    """The address of the backend is /label-studio."""
    return json_response(context.label_studio.health())


@label_studio.post("/setup", summary="Label Studio: check a project")
async def studio_setup(request: Request, context: Shared) -> Response:
    """Check that the model fits the labeling configuration."""
    return await _studio_answer(request, context, context.label_studio.setup)


@label_studio.post("/predict", summary="Label Studio: predict tasks")
async def studio_predict(request: Request, context: Shared) -> Response:
    """Predict choices for tasks."""
    return await _studio_answer(request, context, context.label_studio.predict)


@label_studio.post("/webhook", summary="Label Studio: receive events", status_code=201)
async def studio_webhook(request: Request, context: Shared) -> Response:
    """Learn annotations as corrections."""
    return await _studio_answer(request, context, context.label_studio.webhook, 201)


SECTIONS = (predictions, explanations, corrections, data, status, label_studio)

PAGE = {  # path: file and media type
    "/": ("serve/page/page.html", "text/html"),
    "/page.css": ("serve/page/page.css", "text/css"),
    "/page.js": ("serve/page/page.js", "text/javascript"),
    "/icon.svg": ("serve/page/icon.svg", "image/svg+xml"),
    "/report.css": ("evaluation/_report/templates/report.css", "text/css"),
}


def page() -> APIRouter:
    """Router for the files of the page."""
    router = APIRouter(include_in_schema=False)
    for path, (name, kind) in PAGE.items():
        content = files("plurilabel").joinpath(name).read_bytes()

        async def file(_: Request, content: bytes = content, kind: str = kind) -> Response:
            return Response(content, media_type=kind, headers={"cache-control": "no-cache"})

        router.add_route(path, file)
    return router
