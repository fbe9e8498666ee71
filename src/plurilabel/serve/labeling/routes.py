"""A project over HTTP."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import Response

from plurilabel.models import save_model
from plurilabel.serve._batches import Batches
from plurilabel.serve._http import (
    MOST,
    SECURITY_HEADERS,
    START,
    Context,
    Limits,
    context_of,
    download,
    json_body,
    json_response,
    read_body,
    reads,
)
from plurilabel.serve._row_reader import BadInput
from plurilabel.serve._store import StoreError
from plurilabel.serve.labeling._exchange import FORMATS
from plurilabel.serve.labeling._project import LISTS, LabelProject

_FIELDS = {"person", "kind", "said", "key"}


class LabelContext(Context):
    """The project, and the queue of what people say."""

    def __init__(self, project: LabelProject, limits: Limits) -> None:
        super().__init__(limits)
        self.project = project
        # no time limit: an answer on its way to the disk must not be reported as failed
        self.saying = Batches(self._say, most=limits.batch, waiting=limits.waiting)
        if project.elsewhere:  # images of other sites
            self.headers = tuple(
                (name, value.replace(b"img-src", b"img-src https: http:"))
                for name, value in SECURITY_HEADERS
            )

    def _say(self, requests: Sequence[Callable[[], Any]]) -> list[Any]:
        results: list[Any] = []
        for request in requests:
            try:
                results.append(request())
            except (BadInput, StoreError) as error:
                results.append(error)
        return results

    def close(self) -> None:
        self.saying.close()
        self.project.close()


Shared: TypeAlias = Annotated[LabelContext, Depends(context_of)]
routes = APIRouter()


@routes.get("/health", summary="Check that the service is up")
async def health(context: Shared) -> Response:
    """Needs no token."""
    return json_response({"status": "ok", "version": context.project.version})


@routes.get("/events", summary="Follow the project", response_class=Response)
async def events(context: Shared) -> Response:
    """As server-sent events: the version, and the work in the background."""
    return context.follow(context.project.status)


@routes.post("/say", summary="Answer rows, or change labels")
async def say(request: Request, context: Shared) -> Response:
    """What a `person` says: `kind` and `said` as for LabelProject.say.

    The response is sent once it is on disk.
    """
    sent = await json_body(request)
    if not isinstance(sent, dict) or not {"person", "kind", "said"} <= set(sent) <= _FIELDS:
        raise BadInput("the body must be an object with person, kind, said and maybe key")
    return json_response(await context.saying(partial(context.project.say, **sent)))


_reads = partial(reads, routes, Shared, "project")
_reads("/project", "Get labels, people and counts", LabelProject.card)
_reads("/next", "Get the next row to label", LabelProject.next)
_reads("/row", "Get a row", LabelProject.card_of)
_reads("/similar", "Get similar rows without an answer", LabelProject.similar)
_reads("/explain", "Explain the suggestions of the trained model", LabelProject.explain)
_reads(
    "/list", "List rows to look at again", LabelProject.listing,
    which=Literal[LISTS], start=START, most=MOST,
)  # fmt: skip
_reads("/quality", "Get figures of each label", LabelProject.quality)
_reads("/progress", "Get the learning curve, and whether one may stop", LabelProject.progress)
_reads(
    "/history", "List what was said", LabelProject.history,
    most=Annotated[int, Query(ge=1, le=10_000)],
)  # fmt: skip


@routes.get("/image", summary="Get an image file of a row", response_class=Response)
async def image(context: Shared, row: int, column: str) -> Response:
    """A file that the data name."""
    content, kind = await context.in_thread(context.project.image, row, column)
    return Response(content, media_type=kind)


@routes.get("/export", summary="Export the answers", response_class=Response)
async def export(context: Shared, format: Literal[tuple(FORMATS)] = "csv") -> Response:  # type: ignore[valid-type]
    """For plurilabel fit, Label Studio or plurilabel fuse."""
    content = await context.in_thread(context.project.export, format)
    ending = {"label-studio": "json", "votes": "votes.csv"}.get(format, format)
    return download(content, FORMATS[format], f"{context.project.name}.{ending}")


@routes.get("/predictions", summary="Get all rows with labels", response_class=Response)
async def predictions(context: Shared, format: Literal["csv", "jsonl"] = "csv") -> Response:
    """Given or suggested, with probabilities."""
    content = await context.in_thread(context.project.predictions, format)
    return download(content, FORMATS[format], f"{context.project.name}-predictions.{format}")


@routes.post("/import", summary="Import answers")
async def import_answers(
    request: Request, context: Shared, name: str, person: str = "imported"
) -> Response:
    """The body is a file as /export gives it, or tasks of Label Studio; `name` has its suffix."""
    content = bytes(await read_body(request))
    load = partial(context.project.load, content, name, person)
    return json_response(await context.saying(load))


@routes.post("/train", summary="Train a model on all answers")
async def train(context: Shared) -> Response:
    """In the background: /events tells when it is done, and /model has it then."""
    return json_response(await context.in_thread(context.project.want_model))


@routes.get("/model", summary="Get the trained model", response_class=Response)
async def model(context: Shared) -> Response:
    """The file that plurilabel fit would write for the exported answers."""
    content = await context.in_thread(_model_file, context.project)
    return download(content, "application/octet-stream", f"{context.project.name}.skops")


def _model_file(project: LabelProject) -> bytes:
    if project.trained is None:
        raise BadInput("no model has been trained yet", status=404)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.skops")
        save_model(project.trained.model, path)
        return path.read_bytes()
