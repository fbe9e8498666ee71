"""``plurilabel serve``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from plurilabel._core.words import counted
from plurilabel.cli._data import is_standard
from plurilabel.cli._output import POSITIVE, UsageError, check_file, echo, together

LEARNS = {
    "exact": "learns corrections immediately",
    "refit": "is refitted on corrections in the background",
    "kept": "corrections are stored but not learned; use --data to enable refitting",
}


listening = together(
    click.option("--host", default="127.0.0.1", help="Address to listen on."),
    click.option(
        "--port", type=click.IntRange(0, 65535), default=8000, help="Port, or 0 for any."
    ),
    click.option(
        "--token", envvar="PLURILABEL_TOKEN", metavar="TEXT",
        help="Token that clients must send as `Authorization: Bearer TEXT`; also read from "
        "PLURILABEL_TOKEN. By default, one is generated if --host is reachable from other "
        "machines.",
    ),
    click.option(
        "--max-body", type=click.FloatRange(0.001), default=16, metavar="MB",
        help="Maximum size of a request.",
    ),
    click.option(
        "--max-rows", type=click.IntRange(1), default=10_000, help="Most rows of a request."
    ),
    click.option(
        "--timeout", type=POSITIVE, default=30, metavar="SECONDS", help="Time limit of a request."
    ),
    click.option(
        "--max-connections", type=click.IntRange(1), default=2_000, help="Most open connections."
    ),
    click.option(
        "--max-memory", type=click.FloatRange(1), default=512, metavar="MB",
        help="Maximum memory of all requests being processed and their responses.",
    ),
    click.option("--open", "opens", is_flag=True, help="Open the page in a browser."),
)  # fmt: skip
"""The options of a server."""


def check_token(token: str | None) -> None:
    if token is not None and (not token.isascii() or not token.isprintable() or " " in token):
        raise UsageError("--token must be printable ASCII without spaces")


@click.command()
@click.argument("model", metavar="MODEL")
@click.option(
    "--data", metavar="NAME|FILE",
    help="The training rows of the model, with their labels. They are shown on the page, and a "
    "learner without incremental updates is refitted on them and the corrections.",
)  # fmt: skip
@click.option(
    "--store", type=click.Path(path_type=Path), metavar="FILE.db",
    help="File for corrections; by default MODEL.feedback.db, next to the model.",
)  # fmt: skip
@listening
def serve(model: str, data: str | None, store: Path | None, **serving: Any) -> None:
    """Serve a model over HTTP, with a page to view, explain and correct predictions.

    Corrections are acknowledged once they are on disk. Learners that support exact updates (ML-kNN
    and the other lazy learners) have learned them by then; others are refitted in the background
    if --data is given. Restarted with the same files, the service has the same model.

    \b
    Examples:
      plurilabel serve films.skops
      plurilabel serve films.skops --data films.csv --store films.db
      curl localhost:8000/predict -H 'Content-Type: application/json' \\
          -d '{"rows": [{"length": 90, "country": "fr"}], "scores": true}'
    """
    check_token(serving["token"])
    check_file(model)
    from plurilabel.serve import Service

    store = store or Path(model).with_suffix(".feedback.db")
    service = Service.open(model, data=data_source(data), store=store)
    for remark in service.remarks:
        echo(f"Note: {remark}", err=True)

    kept = counted(service.ledger.version, "correction")
    about = (
        f"{service.model!r}, {LEARNS[service.training.how]}\n"
        f"Corrections are stored in {service.store.path} ({kept} so far)"
    )
    serve_until_stopped(service, about, **serving)


def serve_until_stopped(
    service: Any, about: str, *, host: str, port: int, token: str | None, max_body: float,
    max_rows: int, timeout: float, max_connections: int, max_memory: float, opens: bool,
) -> None:  # fmt: skip
    """Serve a service or a project, and print what it is and where."""
    from plurilabel.serve import Limits, run

    def ready(address: str) -> None:
        echo(f"{about}\nOpen {address} in a browser; Ctrl+C stops")
        sys.stdout.flush()
        if opens:
            import webbrowser

            webbrowser.open(address)

    limits = Limits(
        body=int(max_body * 1e6), rows=max_rows, seconds=timeout, waiting=2 * max_rows,
        connections=max_connections, memory=int(max_memory * 1e6),
    )  # fmt: skip
    run(service, host=host, port=port, token=token, limits=limits, ready=ready)


def data_source(data: str | None) -> Any:
    """A path, or a standard dataset."""
    from plurilabel import datasets

    return data if data is None or not is_standard(data) else datasets.load(data)
