"""One server for the tests over HTTP."""

import pytest

from tests.serve.problems import lazy, points


@pytest.fixture(scope="module")
def service():
    pytest.importorskip("fastapi")
    from plurilabel.serve import Service

    return Service(lazy(), pool=points(25, seed=3)[0], name="weather")


@pytest.fixture(scope="module")
def client(service):
    """A client of a server in a thread, on a small model that learns at once."""
    pytest.importorskip("uvicorn")
    httpx = pytest.importorskip("httpx")
    from plurilabel.serve import Limits, running

    limits = Limits(body=200_000, rows=500, explained=5)
    with running(service, limits=limits) as address, httpx.Client(base_url=address) as client:
        yield client
