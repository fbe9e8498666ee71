"""A project over HTTP, and killed."""

import json
import os
import random
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from time import monotonic, sleep

import pytest

from tests.serve.labeling.problems import WORDS, notes

pytest.importorskip("fastapi")
httpx = pytest.importorskip("httpx")

from plurilabel.serve import running  # noqa: E402
from plurilabel.serve.labeling import LabelProject  # noqa: E402

ROOT = Path(__file__).parents[3]
KILLS = 12 if os.environ.get("PLURILABEL_LONG_FUZZ") else 3


@pytest.fixture(scope="module")
def project():
    return LabelProject(notes(40)[0], labels=list(WORDS), background=False, name="notes")


@pytest.fixture(scope="module")
def client(project):
    with running(project) as address, httpx.Client(base_url=address, timeout=20) as client:
        yield client


def say(client, kind, person="ann", **said):
    return client.post("/say", json={"person": person, "kind": kind, "said": said})


def test_every_path(client, project):
    sets = notes(40)[1]
    for _ in range(12):
        row = client.get("/next", params={"person": "ann"}).json()["row"]
        done = say(client, "answer", rows=[row], labels=sets[row], seconds=3)
        assert done.status_code == 200
    assert done.json() == {"id": 15, "version": 15, "answered": 12}
    card = client.get("/project").json()
    assert card["answered"] == 12 and card["people"] == {"ann": 12} and card["suggests"]
    assert client.get("/row", params={"row": row, "person": "ann"}).json()["labels"] == sets[row]
    assert len(client.get("/similar", params={"row": row}).json()) == 12
    assert client.get("/list", params={"which": "answered", "label": ""}).json()["total"] == 12
    assert client.get("/quality").json()["all"]["rows"] == 12
    assert client.get("/progress").json()["stop"]["audits"] == 2
    assert client.get("/history").json()[0]["kind"] == "answer"
    assert client.get("/explain", params={"row": 1}).json() == {"labels": []}
    assert client.get("/health").json()["status"] == "ok"
    for format in ("csv", "jsonl", "label-studio", "votes"):
        answer = client.get("/export", params={"format": format})
        assert answer.content == project.export(format)
        assert answer.headers["content-disposition"].startswith('attachment; filename="notes.')
    content = client.get("/export").content
    assert (
        client.post("/import", params={"name": "a.csv"}, content=content).json()["answers"] == 12
    )
    assert client.get("/predictions").content == project.predictions()
    paths = client.get("/openapi.json").json()["paths"]
    assert {"/say", "/next", "/export", "/model"} <= set(paths)
    assert "img-src 'self' data: blob:" in client.get("/").headers["content-security-policy"]


@pytest.mark.parametrize(
    ("path", "status", "problem"),
    [
        ("/next", 422, "person"),
        ("/row?row=99", 404, "no row 99"),
        ("/row?row=-1", 404, "no row -1"),
        ("/next?person=eve&but=40", 404, "no row 40"),
        ("/similar?row=99", 404, "no row"),
        ("/explain?row=99", 404, "no row"),
        ("/list?which=all", 422, "which"),
        ("/list?which=before", 422, "label must be given"),
        ("/list?which=answered&label=x", 422, "no label 'x'"),
        ("/export?format=xml", 422, "format"),
        ("/image?row=1&column=note", 404, "no image"),
        ("/model", 404, "no model"),
    ],
)
def test_errors_are_one_sentence(client, path, status, problem):
    answer = client.get(path)
    assert answer.status_code == status and problem in answer.json()["error"]


def test_errors_of_what_is_said(client, project):
    before = project.version
    assert (
        say(client, "answer", rows=[1], labels=["none"]).json()["error"]
        == "there is no label 'none'"
    )
    assert say(client, "answer", rows=[1000], labels=[]).status_code == 422
    assert client.post("/say", json={"kind": "skip"}).status_code == 422
    assert client.post("/say", json=[1]).status_code == 422
    assert "and undo" in say(client, "dance").json()["error"]
    assert "unknown kind ['skip']" in say(client, ["skip"]).json()["error"]
    assert client.post("/import?name=x.json", content=b"{}").status_code == 422
    assert project.version == before


def test_open_pages_follow(client):
    with client.stream("GET", "/events") as stream:
        events = (
            json.loads(line[6:]) for line in stream.iter_lines() if line.startswith("data: ")
        )
        version = next(events)["version"]
        say(client, "flag", rows=[3])
        assert next(events)["version"] == version + 1


def test_streams_end_with_the_server():
    ended = threading.Event()

    def follow(address):
        with suppress(httpx.HTTPError), httpx.stream("GET", f"{address}/events") as stream:
            for _ in stream.iter_lines():
                begun.set()
        ended.set()

    begun, started = threading.Event(), monotonic()
    with running(LabelProject(["red dog", "blue cat"], background=False)) as address:
        threading.Thread(target=follow, args=(address,)).start()
        assert begun.wait(10)
    assert ended.wait(10) and monotonic() - started < 10


def test_a_token_is_needed():
    with running(
        LabelProject(["red dog", "blue cat"], background=False), token="s3cret"
    ) as address:
        assert httpx.get(f"{address}/project").status_code == 401
        assert httpx.get(f"{address}/events").status_code == 401
        assert httpx.get(f"{address}/label.js").status_code == 200
        head = {"authorization": "Bearer s3cret"}
        assert httpx.get(f"{address}/project", headers=head).json()["rows"] == 2


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_nothing_acknowledged_is_lost_when_killed(tmp_path):
    acknowledged, rng = {}, random.Random(0)

    def work(address, person):
        with suppress(httpx.HTTPError), httpx.Client(base_url=address, timeout=20) as client:
            while True:
                row = client.get("/next", params={"person": person}).json()["row"]
                labels = [name for name in WORDS if rng.random() < 0.5]
                if say(client, "answer", person, rows=[row], labels=labels).status_code == 200:
                    acknowledged[row, person] = labels

    spawner = subprocess.Popen(
        [sys.executable, "-m", "tests.serve.spawner", tmp_path],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT,
    )  # fmt: skip
    pid = None
    try:
        assert spawner.stdout.readline() == "ready\n"
        for _ in range(KILLS):
            spawner.stdin.write("labels.db\n")
            spawner.stdin.flush()
            pid, address = spawner.stdout.readline().split()
            before = len(acknowledged)
            threads = [threading.Thread(target=work, args=(address, p)) for p in ("ann", "bob")]
            for thread in threads:
                thread.start()
            while len(acknowledged) < before + 8:
                sleep(0.005)
            os.kill(int(pid), signal.SIGKILL)
            for thread in threads:
                thread.join()
    finally:
        spawner.kill()
        if pid is not None:
            with suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGKILL)
        spawner.communicate()
    project = LabelProject(notes(400)[0], store=tmp_path / "labels.db", background=False)
    for (row, person), labels in acknowledged.items():
        answer = project.state.answers[row][person]
        assert project.state.named(answer.labels) == labels
    assert len(acknowledged) >= 8 * KILLS
    project.close()
