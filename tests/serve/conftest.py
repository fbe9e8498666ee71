"""One server for the tests over HTTP, and one browser."""

import os
import shutil

import pytest

from tests.serve.problems import lazy


@pytest.fixture(scope="module")
def service():
    pytest.importorskip("fastapi")
    from plurilabel.serve import Service

    return Service(lazy(), name="weather")


@pytest.fixture(scope="module")
def client(service):
    """A client of a server in a thread, on a small model that learns at once."""
    pytest.importorskip("uvicorn")
    httpx = pytest.importorskip("httpx")
    from plurilabel.serve import Limits, running

    limits = Limits(body=200_000, rows=500, explained=5)
    with running(service, limits=limits) as address, httpx.Client(base_url=address) as client:
        yield client


@pytest.fixture(scope="module")
def browser():
    """A Chromium; the tests are skipped where there is none, unless one is required."""
    playwright = pytest.importorskip("playwright.sync_api")
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    found = next((path for name in names if (path := shutil.which(name))), None)
    if found is None:
        if os.environ.get("PLURILABEL_REQUIRE_BROWSER"):
            pytest.fail("PLURILABEL_REQUIRE_BROWSER is set, but there is no Chromium")
        pytest.skip("no Chromium: the page is not opened in a browser")
    with playwright.sync_playwright() as run:
        chromium = run.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield chromium
        chromium.close()
