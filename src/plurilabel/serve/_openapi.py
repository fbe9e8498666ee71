"""The OpenAPI document, with examples of the served model."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from plurilabel.serve._answers import Ask
from plurilabel.serve._row_reader import BadInput
from plurilabel.serve._service import Service

_ERROR = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {"type": "string"},
        "row": {"type": "integer"},
        "column": {"type": "string"},
    },
}
_REFUSALS = {
    "400": "Not HTTP, not JSON, or not an Arrow table",
    "401": "Missing or wrong token",
    "404": "No such row or correction",
    "408": "Request not complete in time",
    "409": "Conflict: a key used twice, or a correction already undone",
    "413": "Too large",
    "415": "Unsupported content type",
    "422": "Invalid request: the error names row and column",
    "503": "Too busy: try again",
}


def open_api(app: FastAPI, service: Service) -> dict[str, Any]:
    """Create the document, with working examples."""
    if app.openapi_schema:
        return app.openapi_schema
    document = get_openapi(title=app.title, version=app.version, routes=app.routes)
    paths = document["paths"]
    row, labels = service.example(), list(service.model.label_names)
    options = {} if service.method is None else {"scores": True, "top": min(3, len(labels))}
    requests: dict[str, dict[str, Any]] = {
        "/predict": {"rows": [row], **options},
        "/explain": {"rows": [row], "top": 3},
        "/feedback": {"corrections": [{"features": row, "labels": labels[:1]}]},
    }
    bodies = {
        "/predict": _object(
            ["rows"],
            rows=_rows(service),
            scores={"type": "boolean"},
            top={"type": "integer", "minimum": 1},
            cut={"type": "number"},
            remember={"type": "boolean"},
        ),
        "/explain": _object(
            ["rows"],
            rows=_rows(service),
            labels={"type": "array", "items": {"type": "string"}},
            top={"type": "integer", "minimum": 1},
        ),
        "/feedback": _object(
            ["corrections"],
            corrections={"type": "array", "minItems": 1, "items": _correction(service)},
        ),
    }
    for path, schema in bodies.items():
        content: Any = {"application/json": {"schema": schema, "example": requests[path]}}
        if path == "/predict":
            anything = {"schema": {"type": "string", "format": "binary"}}
            content["text/csv"] = {"schema": {"type": "string"}}
            content["application/vnd.apache.arrow.stream"] = anything
        operation = paths[path]["post"]
        operation["requestBody"] = {"required": True, "content": content}
        if path != "/feedback":
            answered = operation["responses"]["200"]["content"]["application/json"]
            answered["example"] = _answer(service, path, requests[path])
    for operations in paths.values():
        for operation in operations.values():
            operation["responses"].pop("422", None)
            for status, words in _REFUSALS.items():
                operation["responses"][status] = {
                    "description": words,
                    "content": {"application/json": {"schema": _ERROR}},
                }
    document.get("components", {}).get("schemas", {}).clear()
    app.openapi_schema = document
    return document


def _answer(service: Service, path: str, request: dict[str, Any]) -> Any:
    try:
        if path == "/predict":
            ask = Ask(request.get("scores", False), request.get("top"))
            return service.predict(request["rows"], ask)
        return service.explain(request["rows"], top=3)
    except BadInput as error:  # an invented row that the model rejects
        return {"error": str(error)}


def _object(required: list[str], **properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "required": required,
        "properties": properties,
        "additionalProperties": False,
    }


def _rows(service: Service) -> dict[str, Any]:
    return {"type": "array", "minItems": 1, "items": _row(service)}


def _row(service: Service) -> dict[str, Any]:
    if service.reader.texts_only:
        return {"type": "string"}
    kinds = {"numbers": ["number", "null"], "text": ["string", "null"]}
    properties = {
        name: {"type": kinds.get(kind, ["string", "number", "null"])}
        for name, kind in service.reader.kinds.items()
    }
    required = [] if service.model.sparse_features else list(properties)
    return {"type": "object", "properties": properties, "required": required}


def _correction(service: Service) -> dict[str, Any]:
    names = {"type": "string", "enum": list(service.model.label_names)}
    return _object(
        ["labels"],
        labels={"type": "array", "items": names},
        row={"type": "integer"},
        features=_row(service),
        key={"type": "string", "maxLength": 200},
    )
