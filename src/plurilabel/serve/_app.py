"""The application: routes, middleware and error handlers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from plurilabel import __version__
from plurilabel.serve import _routes
from plurilabel.serve._http import Context, Guard, Limits, error_response
from plurilabel.serve._openapi import open_api
from plurilabel.serve._row_reader import BadInput
from plurilabel.serve._service import Service
from plurilabel.serve.label_studio import _backend

LOCAL = ("127.0.0.1", "localhost", "::1")


class _Application(FastAPI):
    """FastAPI behind a guard."""

    guard: Guard

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        scope["app"] = self  # as Starlette does, for endpoints that the guard calls
        await self.guard(scope, receive, send)


def create_app(
    service: Service,
    *,
    limits: Limits | None = None,
    token: str | None = None,
    hosts: tuple[str, ...] | None = LOCAL,
) -> FastAPI:
    """Create the ASGI application of a service, for uvicorn or another server.

    Parameters
    ----------
    service : Service
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
    context = Context(service, limits or Limits())

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
    app.state.context, app.state.label_studio = context, _backend.LabelStudio(service)
    app.openapi = lambda: open_api(app, service)
    for router in (
        _routes.predictions,
        _routes.explanations,
        _routes.corrections,
        _routes.data,
        _routes.status,
        _backend.router,
        _routes.page(),
    ):
        app.include_router(router)
    for error in (BadInput, HTTPException, RequestValidationError):
        app.add_exception_handler(error, error_response)
    app.guard = Guard(
        super(_Application, app).__call__,
        context.counters,
        token=token,
        hosts=hosts,
        public=(*_routes.PAGE, "/health"),
        direct={"/predict": _routes.predict},
    )
    return app
