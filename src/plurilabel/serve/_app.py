"""The application: routes, middleware, error handlers and the OpenAPI document."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel
from starlette.exceptions import HTTPException

from plurilabel import __version__
from plurilabel.serve import _routes
from plurilabel.serve._answers import Ask
from plurilabel.serve._http import Context, Guard, Limits, ServiceContext, error_response
from plurilabel.serve._row_reader import BadInput
from plurilabel.serve._service import Service
from plurilabel.serve._store import StoreError
from plurilabel.serve.labeling import LabelProject
from plurilabel.serve.labeling import routes as labeling

LOCAL = ("127.0.0.1", "localhost", "::1")

_TEXT = {"type": "string"}
_ERROR = {
    "type": "object",
    "required": ["error"],
    "properties": {"error": _TEXT, "row": {"type": "integer"}, "column": _TEXT},
}
_REFUSALS = {
    "400": "Not HTTP, not JSON, or not an Arrow table",
    "401": "Missing or wrong token",
    "404": "No such row or correction",
    "408": "Request not complete in time",
    "409": "Conflict: a key used twice, or a correction already undone",
    "413": "Too large",
    "414": "Address too long",
    "415": "Unsupported content type or encoding",
    "422": "Invalid request: the error names row and column",
    "431": "Headers too large",
    "503": "Too busy: try again; or the store of corrections cannot be used",
    "507": "No space left for corrections",
}


class _Application(FastAPI):
    """FastAPI behind a guard."""

    guard: Guard

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        scope["app"] = self  # as Starlette does, for endpoints that the guard calls
        await self.guard(scope, receive, send)


def create_app(
    service: Service | LabelProject,
    *,
    limits: Limits | None = None,
    token: str | None = None,
    hosts: tuple[str, ...] | None = LOCAL,
) -> FastAPI:
    """Create the ASGI application of a service or a project, for uvicorn or another server.

    Parameters
    ----------
    service : Service or LabelProject
        Closed when the application shuts down.
    limits : Limits, default=None
    token : str, default=None
        Token that clients must send as ``Authorization: Bearer ...``; None for no token.
    hosts : tuple of str or None, default=("127.0.0.1", "localhost", "::1")
        Host names under which the service may be addressed, so that no other site can reach it
        through a browser on the same machine; None for any.

    Returns
    -------
    FastAPI
        Run it in a single process, since a correction changes the model in memory.
    """
    limits = limits or Limits()
    context: Context
    sections: Any = _routes.SECTIONS
    direct: dict[str, Any] = {"/predict": _routes.predict}
    if isinstance(service, Service):
        context, page = ServiceContext(service, limits), _routes.page("page")
    else:
        context, page = labeling.LabelContext(service, limits), _routes.page("label")
        sections, direct = (labeling.routes,), {}

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        context.close()

    app = _Application(
        title=f"plurilabel: {service.name}",
        version=__version__,
        docs_url=None,  # these pages load scripts from elsewhere
        redoc_url=None,
        lifespan=lifespan,
        generate_unique_id_function=lambda route: route.name,
    )
    app.state.context = context
    if isinstance(service, Service):
        app.openapi = lambda: _open_api(app, service)
    for router in (*sections, _routes.page_routes(page)):
        app.include_router(router)
    for error in (BadInput, StoreError, HTTPException, RequestValidationError):
        app.add_exception_handler(error, error_response)
    app.guard = Guard(
        super(_Application, app).__call__, context.counters, context.budget, token=token,
        hosts=hosts, public=(*page, "/health"), direct=direct, headers=context.headers,
    )  # fmt: skip
    return app


def _open_api(app: FastAPI, service: Service) -> dict[str, Any]:
    """Create the OpenAPI document, with working examples of the served model."""
    if app.openapi_schema:
        return app.openapi_schema
    document = get_openapi(title=app.title, version=app.version, routes=app.routes)
    for path, (form, fields, example) in _bodies(service).items():
        schema = form.model_json_schema()
        schema["properties"] |= fields
        content: Any = {"application/json": {"schema": schema, "example": example}}
        if path == "/predict":
            content["text/csv"] = {"schema": _TEXT}
            content["application/vnd.apache.arrow.stream"] = {
                "schema": {**_TEXT, "format": "binary"}
            }
        operation = document["paths"][path]["post"]
        operation["requestBody"] = {"required": True, "content": content}
        if path != "/feedback":
            answered = operation["responses"]["200"]["content"]["application/json"]
            answered["example"] = _answer(service, path, example)
    error = {"application/json": {"schema": _ERROR}}
    errors = {status: {"description": w, "content": error} for status, w in _REFUSALS.items()}
    for operations in document["paths"].values():
        for operation in operations.values():
            operation["responses"].update(errors)
    document.get("components", {}).get("schemas", {}).clear()
    app.openapi_schema = document
    return document


def _bodies(service: Service) -> dict[str, tuple[type[BaseModel], Any, Any]]:
    """Model, schemas of this service and an example of the body of a request, by path."""
    row, labels = service.example(), list(service.model.label_names)
    names = {"type": "array", "items": {**_TEXT, "enum": labels}}
    rows = {"type": "array", "minItems": 1, "items": _row(service)}
    correction = {
        "type": "object",
        "required": ["labels"],
        "properties": {
            "labels": names,
            "row": {"type": "integer"},
            "features": rows["items"],
            "key": {**_TEXT, "maxLength": 200},
        },
        "additionalProperties": False,
    }
    options = {} if service.method is None else {"scores": True, "top": min(3, len(labels))}
    corrections = {**rows, "items": correction}
    new = {"features": row, "labels": labels[:1]}
    return {
        "/predict": (_routes.PredictBody, {"rows": rows}, {"rows": [row], **options}),
        "/explain": (
            _routes.ExplainBody,
            {"rows": rows, "labels": {"type": "array", "items": _TEXT}},
            {"rows": [row], "top": 3},
        ),
        "/feedback": (_routes.FeedbackBody, {"corrections": corrections}, {"corrections": [new]}),
    }


def _answer(service: Service, path: str, request: dict[str, Any]) -> Any:
    try:
        if path == "/predict":
            ask = Ask(request.get("scores", False), request.get("top"))
            return service.predict(request["rows"], ask)
        return service.explain(request["rows"], top=3)
    except BadInput as error:  # an invented row that the model rejects
        return {"error": str(error)}


def _row(service: Service) -> dict[str, Any]:
    if service.reader.texts_only:
        return _TEXT
    kinds = {"numbers": ["number", "null"], "text": ["string", "null"]}
    properties = {
        name: {"type": kinds.get(kind, ["string", "number", "null"])}
        for name, kind in service.reader.kinds.items()
    }
    required = [] if service.model.sparse_features else list(properties)
    return {"type": "object", "properties": properties, "required": required}
