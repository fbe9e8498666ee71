"""Label Studio's protocol for a service: predictions for tasks, corrections from annotations."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from itertools import count
from typing import Any

import numpy as np
from fastapi import APIRouter, Request
from fastapi.responses import Response

from plurilabel.serve._answers import Ask
from plurilabel.serve._http import context_of, json_body, json_response
from plurilabel.serve._row_reader import BadInput, check_number_of_rows
from plurilabel.serve._service import Service
from plurilabel.serve._store import StoreError
from plurilabel.serve.label_studio import _protocol as protocol
from plurilabel.serve.label_studio._protocol import Correction, Tagging, as_mapping


class LabelStudio:
    """Requests of Label Studio to a service."""

    def __init__(self, service: Service) -> None:
        self.service, self.model = service, service.model
        # an update must not be learned before the annotation that it updates
        self.lock = asyncio.Lock()

    def version(self, number: int | None = None) -> str:
        """Name and version of the model."""
        return f"{self.service.name} {self.service.version if number is None else number}"

    def setup(self, sent: Any) -> dict[str, Any]:
        """Check that the model fits the configuration of a project."""
        return protocol.setup(sent, self.model, self.version())

    def predict(self, sent: Any) -> dict[str, Any]:
        """Predict labels of tasks."""
        sent = as_mapping(sent, "the request")
        tagging = protocol.read_config(sent.get("label_config"), self.model.label_names)
        tasks = sent.get("tasks")
        if not isinstance(tasks, list) or not tasks:
            raise BadInput("tasks must be a list with at least one task")
        rows = [self._row(task, tagging, i) for i, task in enumerate(tasks)]
        answer = self.service.predict(rows, Ask(scores=self.service.method is not None))
        names = self.model.label_names
        scores = [[one.get("scores", {}).get(name) for name in names] for one in answer["rows"]]
        S = np.array(scores, dtype=np.float64)  # None becomes NaN
        sure = protocol.confidence(S, probabilities=self.service.method == "predict_proba")
        return tagging.results(
            [one["labels"] for one in answer["rows"]],
            names,
            version=self.version(answer["version"]),
            sure=sure.tolist(),
        )

    def _row(self, task: Any, tagging: Tagging, i: int = 0) -> Any:
        """Convert a task to a row, which the service checks."""
        _, data = protocol.task_data(task, i, tagging)
        reader, key = self.service.reader, tagging.key
        if reader.texts_only:
            return data.get(key or "text")
        # the only column of a model may have another name in the project
        only = next(iter(reader.kinds))
        if len(reader.kinds) == 1 and only not in data and key in data:
            return {only: data[key]}
        return data

    def webhook(self, sent: Any) -> dict[str, Any]:
        """Learn corrections from an event; other events change nothing."""
        sent = as_mapping(sent, "the request")
        # ids of annotations are unique: an event may come without its project
        found = protocol.annotated_rows({"project": {"id": 0}, **sent}, self.model, self._row)
        done: dict[str, Any] = {}
        corrections, gone = [], list[int]()
        for one in found:
            row, key = self._latest(f"label-studio-{one.key.rpartition('/')[2]}")
            gone += [] if row is None or self._stays(row, one) else [row]
            if one.labels is not None:
                # a choice that is not a label is rejected by the service
                labels = [*one.labels, *one.unknown]
                new = row is None or row in gone
                place = {"features": one.row, "key": key} if new else {"row": row}
                corrections.append({"labels": labels, **place})
        if corrections:
            done = self.service.correct(corrections)
        for id in (id for row in gone for id in self.service.ledger.in_force(row)):
            self.service.undo(id)  # the latest first
        status = "ok" if found else "nothing to learn"
        return {"result": {"model_version": self.version(), **done}, "status": status}

    def _latest(self, key: str) -> tuple[int | None, str]:
        """The row that an annotation added last, if it exists, and the key of its next row."""
        ledger, row, next_key = self.service.ledger, -1, key
        for n in count(2):
            if next_key not in ledger.keys:
                break
            row = ledger.row_of(ledger.entries[ledger.keys[next_key]])
            next_key = f"{key}/{n}"
        return (row if ledger.has(row) else None), next_key

    def _stays(self, row: int, one: Correction) -> bool:
        """Whether a row has the features of its task still; an event may come without a task."""
        if one.labels is None or one.row is None:
            return one.labels is not None
        reader = self.service.reader
        return reader.same(self.service.ledger.features(row), reader.records([one.row])[0])


router = APIRouter(prefix="/label-studio")


async def _handled(
    request: Request, work: Callable[[LabelStudio, Any], Any], status: int = 200
) -> Response:
    sent = await json_body(request)
    tasks = sent.get("tasks") if isinstance(sent, dict) else None
    if isinstance(tasks, list):
        context = context_of(request)
        check_number_of_rows(len(tasks), context.limits.rows)
        context.hold_answer(request, len(tasks), Ask(scores=True))
    studio: LabelStudio = request.app.state.label_studio
    try:
        async with studio.lock:
            return json_response(await asyncio.to_thread(work, studio, sent), status)
    except (BadInput, StoreError):
        raise
    except ValueError as error:
        raise BadInput(str(error)) from None


@router.get("/health", summary="Label Studio: check that the backend is up")
async def studio_health(request: Request) -> Response:
    """The address of the backend is /label-studio."""
    version = request.app.state.label_studio.version()
    return json_response({"status": "UP", "model_class": version})


@router.post("/setup", summary="Label Studio: check a project")
async def studio_setup(request: Request) -> Response:
    """Check that the model fits the labeling configuration."""
    return await _handled(request, LabelStudio.setup)


@router.post("/predict", summary="Label Studio: predict tasks")
async def studio_predict(request: Request) -> Response:
    """Predict choices for tasks."""
    return await _handled(request, LabelStudio.predict)


@router.post("/webhook", summary="Label Studio: receive events", status_code=201)
async def studio_webhook(request: Request) -> Response:
    """Learn annotations as corrections."""
    return await _handled(request, LabelStudio.webhook, 201)
