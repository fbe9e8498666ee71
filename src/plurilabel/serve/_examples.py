"""What OpenAPI says: each path in words, with requests and answers of the model at hand."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from plurilabel.serve._row_reader import BadInput
from plurilabel.serve._service import Ask, Service

_WORDS = {
    "predict": (
        "Labels of rows",
        "Rows as JSON objects by column name, or as CSV or Arrow with the options in the address.",
    ),
    "explain": ("Why", "What speaks for and against each label: neighbours, features or words."),
    "feedback": (
        "Correct",
        "The right labels of rows of the training set, or of new rows. The answer comes when the "
        "corrections are on disk; `applied` says whether the model has learned them yet.",
    ),
    "history": ("Corrections so far", "Latest first."),
    "undo": ("Undo a correction", "The row has the labels from before again, or is gone."),
    "export": ("Corrections as a dataset", "With all=true, all rows with the labels of now."),
    "model": ("Model card", "What the model is, what it takes, and what it has learned."),
    "health": ("Is it up?", "Needs no token."),
    "metrics": ("Counters", "In the text format of Prometheus."),
    "rows": ("Browse the training set", "Filtered by label, certainty and suspected errors."),
    "some": ("Rows by number", "As they are now."),
    "moved": ("Rows whose scores have moved", "Since the version before the one of now."),
    "cuts": ("Precision and recall by cut", "By scores of models that have not seen the row."),
    "pairs": ("Labels that occur together", "Of the most frequent labels."),
    "queue": ("Rows to label next", "Uncertain and typical ones first."),
    "studio_health": ("Label Studio: is it up?", "The address of the backend is /label-studio."),
    "studio_setup": ("Label Studio: a project", "Whether the model fits its configuration."),
    "studio_predict": ("Label Studio: tasks", "Labels of tasks, as choices."),
    "studio_webhook": ("Label Studio: events", "Annotations become corrections."),
}
_NOT_JSON = {
    "/metrics": ["text/plain"],
    "/feedback/export": ["text/csv", "application/x-ndjson"],
}
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
    "401": "The token is missing or wrong",
    "404": "There is no such row or correction",
    "408": "The request was not complete in time",
    "409": "At odds with what was done before: a key used twice, a correction already undone",
    "413": "Too large",
    "415": "A content type that is not understood",
    "422": "Something in the request cannot be used: row and column are named",
    "503": "Too busy: try again",
}


def described(name: str) -> dict[str, Any]:
    """Summary, description and name of a path for FastAPI."""
    summary, description = _WORDS[name]
    return {"summary": summary, "description": description, "operation_id": name}


def open_api(app: FastAPI, service: Service) -> dict[str, Any]:
    """The document, with examples that work."""
    if app.openapi_schema:
        return app.openapi_schema
    document = get_openapi(title=app.title, version=app.version, routes=app.routes)
    paths = document["paths"]
    row, labels = service.example(), list(service.model.label_names)
    requests: dict[str, dict[str, Any]] = {
        "/predict": {"rows": [row], "scores": True, "top": min(3, len(labels))},
        "/explain": {"rows": [row], "top": 3},
        "/feedback": {"corrections": [{"features": row, "labels": labels[:1]}]},
    }
    if service.method is None:
        requests["/predict"] = {"rows": [row]}
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
    for path, kinds in _NOT_JSON.items():
        paths[path]["get"]["responses"]["200"]["content"] = {
            kind: {"schema": {"type": "string"}} for kind in kinds
        }
    webhook = paths["/label-studio/webhook"]["post"]["responses"]
    webhook["201"] = webhook.pop("200")
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
    except BadInput as error:  # an invented row that the model cannot take
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
