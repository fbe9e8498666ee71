"""A model as a service over HTTP: predictions, explanations, and corrections that are learned.

:class:`Service` works without HTTP and needs nothing beyond the core. The rest needs FastAPI
and uvicorn: ``pip install 'plurilabel[serve]'``.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from plurilabel._core.compat import import_extra
from plurilabel._core.roster import publish
from plurilabel.serve._answers import Ask
from plurilabel.serve._row_reader import BadInput
from plurilabel.serve._service import Service
from plurilabel.serve._store import StoreError

if TYPE_CHECKING:
    from plurilabel.serve._app import create_app
    from plurilabel.serve._http import Limits
    from plurilabel.serve._server import run, running

__all__ = [
    "Ask", "BadInput", "Limits", "Service", "StoreError", "create_app", "run", "running",
]  # fmt: skip

_HTTP = {"Limits": "_http", "create_app": "_app", "run": "_server", "running": "_server"}

publish(globals())


def __getattr__(name: str) -> Any:
    """Import what needs FastAPI on first use."""
    if name not in _HTTP:
        raise AttributeError(f"module 'plurilabel.serve' has no attribute {name!r}")
    for package in ("fastapi", "uvicorn"):
        import_extra(package, "serving", "serve")
    found = getattr(import_module(f"plurilabel.serve.{_HTTP[name]}"), name)
    found.__module__ = __name__
    globals()[name] = found
    return found
