"""The service over HTTP: one small server for all tests."""

import asyncio
import gzip
import io
import json
import socket
import sys
import threading
import time
from contextlib import ExitStack

import numpy as np
import pytest

from plurilabel import MLkNN
from tests.serve import attack
from tests.serve.malformed import GOOD, malformed
from tests.serve.problems import LABELS, lazy, points, records

pytest.importorskip("fastapi")
httpx = pytest.importorskip("httpx")

from plurilabel.serve import Limits, Service, running  # noqa: E402
from plurilabel.serve._batches import Batches  # noqa: E402

NEW = records(points(12, seed=5)[0])
TABLE = points(12, seed=5)[0]


def arrow(frame, file=False):
    import pyarrow as pa

    table, sink = pa.Table.from_pandas(frame), io.BytesIO()
    with (pa.ipc.new_file if file else pa.ipc.new_stream)(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def test_three_formats_one_answer(client):
    said = client.post("/predict", json={"rows": NEW, "scores": True, "top": 2}).json()
    assert len(said["rows"]) == 12 and len(said["rows"][0]["scores"]) == 2
    forms = {
        "text/csv": TABLE.to_csv(index=False).encode(),
        "application/vnd.apache.arrow.stream": arrow(TABLE),
        "application/vnd.apache.arrow.file": arrow(TABLE[["height", "heat"]], file=True),
    }
    for kind, content in forms.items():
        answer = client.post(
            "/predict?scores=true&top=2", content=content, headers={"content-type": kind}
        )
        assert answer.status_code == 200, answer.text
        rows = answer.json()["rows"]
        assert [row["labels"] for row in rows] == [row["labels"] for row in said["rows"]]
        for row, other in zip(rows, said["rows"]):
            assert row["scores"] == pytest.approx(other["scores"])


def test_errors_name_row_and_column(client):
    def refused(status, **request):
        answer = client.post("/predict", **request)
        assert answer.status_code == status, answer.text
        return answer.json()

    rows = [NEW[0], {"heat": "hot", "height": 2}]
    said = refused(422, json={"rows": rows})
    assert said == {
        "error": "row 1, column 'heat': expected a number, got the text 'hot'",
        "row": 1,
        "column": "heat",
    }
    assert refused(422, json={"rows": [{"heat": 1}]})["column"] == "height"
    assert refused(422, json={"rows": [{"heat": 1, "height": None}]})["column"] == "height"
    endless = b'{"rows": [{"heat": 1, "height": ' + b"1" * 4000 + b"}]}"
    said = refused(422, content=endless, headers={"content-type": "application/json"})
    assert said["error"] == "row 0, column 'height': the number is too large"
    csv = {"headers": {"content-type": "text/csv"}}
    assert refused(422, content=b"heat,height\n1,2\nx,3\n", **csv) == {
        "error": "line 3: column 'heat': expected a number, got 'x'"
    }
    assert refused(413, json={"rows": NEW * 50})["error"] == "at most 500 rows at a time, got 600"
    assert refused(413, content=b" " * 200_001, headers={"content-type": "application/json"})
    assert refused(413, content=b"heat,height\n" + b"1,2\n" * 501, **csv)
    many = arrow(TABLE.sample(501, replace=True))
    stream = {"content-type": "application/vnd.apache.arrow.stream"}
    assert refused(413, content=many, headers=stream)
    assert refused(415, content=b"x", headers={"content-type": "image/png"})
    nothing = {"text/csv": b"heat,height\n", stream["content-type"]: arrow(TABLE[:0])}
    for kind, content in {**nothing, "application/json": b'{"rows": []}'}.items():
        said = refused(422, content=content, headers={"content-type": kind})
        assert "at least one row, got none" in said["error"]

    def parts():
        for _ in range(300):
            yield b" " * 1000

    assert refused(413, content=parts(), headers={"content-type": "application/json"})


def test_correct_undo_export(client, service):
    version = service.version
    done = client.post(
        "/feedback", json={"corrections": [{"features": NEW[0], "labels": ["sea", "snow"]}]}
    ).json()
    assert done["version"] == version + 1 and done["applied"]
    (correction,) = done["corrections"]
    assert client.post("/predict", json={"rows": NEW[:1]}).json()["version"] == version + 1
    assert client.get("/feedback").json()["corrections"][0]["labels"] == ["sea", "snow"]
    lines = client.get("/feedback/export").text.splitlines()
    assert lines[0] == "heat,height,labels" and lines[-1].endswith(",sea;snow")
    last = client.get("/feedback/export", params={"format": "jsonl"}).text.splitlines()[-1]
    assert json.loads(last) == {**NEW[0], "labels": ["sea", "snow"]}
    everything = client.get("/feedback/export", params={"all": True}).text.splitlines()
    assert len(everything) == 1 + len(service.now.rows)
    assert client.delete(f"/feedback/{correction['id']}").json()["version"] == version + 2
    assert client.delete(f"/feedback/{correction['id']}").status_code == 409
    assert client.delete("/feedback/12345").status_code == 404


def test_why(client):
    said = client.post("/explain", json={"rows": NEW[:2], "labels": ["sun"]}).json()
    (label,) = said["rows"][0]["labels"]
    assert label["label"] == "sun" and len(said["rows"][1]["neighbors"]) == 3
    near = said["rows"][0]["neighbors"][0]
    assert set(near) >= {"row", "features", "labels", "distance"}
    assert client.post("/explain", json={"rows": NEW}).status_code == 413


def test_the_data(client, service):
    found = client.get("/data/rows", params={"label": "sea", "having": "with", "most": 5}).json()
    assert len(found["rows"]) == 5 and all("sea" in row["labels"] for row in found["rows"])
    disputed = client.get("/data/rows", params={"label": "sea", "having": "disputed"}).json()
    sea = LABELS.index("sea")
    assert disputed["total"] and all(
        ("sea" in row["labels"]) != (row["scores"][sea] > 0.5) for row in disputed["rows"]
    )
    unsure = client.get("/data/rows", params={"sort": "unsure", "below": 0.5}).json()["rows"]
    assert [row["sure"] for row in unsure] == sorted(row["sure"] for row in unsure)
    assert unsure[-1]["sure"] <= 0.5
    some = client.get("/data/some", params={"rows": "3,1,777"}).json()["rows"]
    assert [row["row"] for row in some] == [3, 1]
    version, Y, rows = service.version, service.now.model.learner.Y_, service.now.rows
    before = service.now.model.learner.training_scores()
    labels = [] if "sea" in service.labels_of(1) else ["sea"]
    client.post("/feedback", json={"corrections": [{"row": 1, "labels": labels}]})
    moved = client.get("/data/moved", params={"since": version}).json()["rows"]
    now = {row: i for i, row in enumerate(service.now.rows.tolist())}
    after = service.now.model.learner.training_scores()
    change = {r: after[now[r]] - before[i] for i, r in enumerate(rows.tolist())}
    far = max(change, key=lambda row: abs(change[row]).max())
    assert moved[0]["change"] == pytest.approx(change[moved[0]["row"]], abs=1e-6)
    assert abs(change[moved[0]["row"]]).max() == pytest.approx(abs(change[far]).max())
    assert client.get("/data/moved", params={"since": version - 1}).json()["rows"] == []
    cuts = client.get("/data/cuts").json()
    view_all = dict(zip(cuts["cuts"], zip(cuts["precision"], cuts["recall"])))
    scores, Y = service.now.model.learner.training_scores(), service.now.model.learner.Y_
    said = scores > 0.3
    hits = (said & (Y == 1)).sum()
    assert view_all[0.3] == pytest.approx((hits / said.sum(), hits / Y.sum()), abs=1e-4)
    pairs = client.get("/data/pairs").json()
    j, k = (pairs["labels"].index(name) for name in ("sea", "sun"))
    assert pairs["together"][j][k] == (Y[:, 0] & Y[:, 2]).sum()


def test_card_health_metrics(client, service):
    card = client.get("/model").json()
    assert card["labels"] == LABELS and card["learns"] == "exact" and card["name"] == "weather"
    assert client.get("/health").json() == {"status": "ok", "version": service.version}
    client.get("/nowhere")
    text = client.get("/metrics").text
    assert 'plurilabel_requests_total{path="/health",status="200"}' in text
    assert 'path="other",status="404"' in text and "/nowhere" not in text
    parser = pytest.importorskip("prometheus_client.parser")
    families = {family.name: family for family in parser.text_string_to_metric_families(text)}
    assert families["plurilabel_request_seconds"].type == "histogram"


@pytest.mark.parametrize("path", ["/", "/health", "/model", "/nowhere", "/predict"])
def test_head_is_get_without_the_body(client, path):
    said, full = client.head(path), client.get(path)
    assert said.content == b"" and said.status_code == full.status_code
    assert said.headers["content-length"] == full.headers["content-length"]
    assert said.headers["content-type"] == full.headers["content-type"]


def test_open_api_has_examples_that_work(client):
    document = client.get("/openapi.json").json()
    for path in ("/predict", "/explain", "/feedback"):
        content = document["paths"][path]["post"]["requestBody"]["content"]["application/json"]
        answer = client.post(path, json=content["example"])
        assert answer.status_code == 200
    said = document["paths"]["/predict"]["post"]["responses"]["200"]["content"]
    assert said["application/json"]["example"]["rows"][0]["labels"]
    assert all(
        "422" in op["responses"] for ops in document["paths"].values() for op in ops.values()
    )


@pytest.mark.parametrize("part", range(4))
def test_malformed_requests_get_4xx(client, service, part):
    version = service.version
    for path, body in GOOD.items():
        if path != "/feedback":
            assert client.post(path, json=body).status_code == 200
    for seed in range(part * 100, part * 100 + 100):
        method, path, request = malformed(seed)
        answer = client.request(method, path, **request)
        assert 400 <= answer.status_code < 500, (seed, path, request, answer.text)
        assert answer.json()["error"]
    assert service.version == version


def test_who_may_ask(client):
    assert client.get("/health", headers={"host": "evil.example"}).status_code == 421
    assert client.get("/health", headers={"origin": "https://evil.example"}).status_code == 403
    own = str(client.base_url).rstrip("/")
    answer = client.get("/health", headers={"origin": own})
    assert answer.status_code == 200
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "default-src 'none'" in answer.headers["content-security-policy"]


def test_a_token_keeps_others_out():
    service = Service(lazy())
    with running(service, token="s3cret") as address, httpx.Client(base_url=address) as client:
        assert client.get("/health").status_code == client.get("/").status_code == 200
        assert client.get("/model").status_code == 401
        wrong = {"authorization": "Bearer other"}
        assert client.get("/model", headers=wrong).status_code == 401
        right = {"authorization": "Bearer s3cret"}
        assert client.get("/model", headers=right).status_code == 200


def test_single_rows_are_answered_together():
    service = Service(lazy())
    sizes, predict_many = [], service.predict_many

    def counted(requests):
        sizes.append(len(requests))
        return predict_many(requests)

    async def ask():
        answers = Batches(counted, most=16, waiting=1000)
        found = await asyncio.gather(
            *[answers(([row], one)) for row, one in [(NEW[0], _ask())] * 40]
        )
        answers.close()
        return found

    found = asyncio.run(ask())
    assert found == [service.predict(NEW[:1])] * 40
    assert sizes[0] == 16 and sum(sizes) == 40 and max(sizes) == 16
    service.close()


def _ask():
    from plurilabel.serve import Ask

    return Ask()


def test_too_many_and_too_slow():
    service = Service(lazy())
    predict_many = service.predict_many

    def slowly(requests):
        import time

        time.sleep(0.4)
        return predict_many(requests)

    service.predict_many = slowly
    limits = Limits(seconds=0.1, waiting=2)
    with running(service, limits=limits) as address, httpx.Client(base_url=address) as client:
        answer = client.post("/predict", json={"rows": NEW[:1]})
        assert answer.status_code == 503 and answer.headers["retry-after"] == "1"
        assert "within 0.1 seconds" in answer.json()["error"]

    async def ask():
        answers = Batches(slowly, most=1, waiting=2)
        tasks = [asyncio.create_task(answers(([NEW[0]], _ask()))) for _ in range(6)]
        found = await asyncio.gather(*tasks, return_exceptions=True)
        answers.close()
        return [getattr(one, "status", 200) for one in found]

    service = Service(lazy())
    predict_many = service.predict_many
    assert sorted(asyncio.run(ask())) == [200, 200, 503, 503, 503, 503]
    service.close()


def test_bytes_under_way_are_limited():
    service = Service(lazy())
    limits = Limits(memory=1_000_000, seconds=5)
    head = b"POST /%s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    with running(service, limits=limits) as address, httpx.Client(base_url=address) as client:
        budget = _budget(limits.memory)
        heavy = b'{"rows": [' + b"[]," * 9_000 + b"[]]}"
        said = client.post("/predict", content=heavy, headers={"content-type": "application/json"})
        assert said.status_code == 413 and "1,000,000 bytes of memory" in said.json()["error"]
        assert client.post("/predict", json={"rows": NEW}).status_code == 200
        host, port = address.removeprefix("http://").split(":")
        with ExitStack() as stack:
            for path in (b"predict", b"explain", b"feedback", b"label-studio/predict"):
                stalled = socket.create_connection((host, int(port)))
                stack.enter_context(stalled)
                stalled.sendall(head % path + b"Content-Length: 400000\r\n\r\n" + b" " * 248_000)
            until = time.monotonic() + 10
            while budget.held < 0.9 * limits.memory and time.monotonic() < until:
                time.sleep(0.01)
            said = client.post("/feedback", json={"corrections": [{"row": 0, "labels": []}] * 100})
            assert said.status_code == 503 and said.headers["retry-after"] == "1"
            assert said.json() == {"error": "the service is out of memory for requests: try again"}
            assert client.get("/health").status_code == 200
        while budget.held and time.monotonic() < until:
            time.sleep(0.01)
        assert budget.held == 0
        assert client.post("/predict", json={"rows": NEW}).status_code == 200
    assert service.ledger.version == 0


def _budget(most):
    """The budget of a running server, found among the living objects."""
    import gc

    from plurilabel.serve._http import Budget

    return next(one for one in gc.get_objects() if isinstance(one, Budget) and one.most == most)


def test_refused_requests_are_not_kept_until_garbage_is_collected():
    import gc
    import tracemalloc

    service = Service(lazy())
    limits = Limits(body=1_000_000, memory=50_000_000)
    parts = [b" " * 300_000] * 4
    kinds = ["application/json", "text/csv", "application/vnd.apache.arrow.stream"]
    with running(service, limits=limits) as address:
        server = attack.Server(0, address)  # its client leaves no garbage of its own
        server.ask("GET", "/health")
        gc.collect()
        gc.disable()
        tracemalloc.start()
        try:
            for _ in range(3):
                for path in ("/predict", "/explain", "/feedback", "/label-studio/setup"):
                    for kind in kinds[: 3 if path == "/predict" else 1]:
                        for sent in (iter(parts), iter(parts[:3]), b"[" + b"1," * 400_000):
                            status, _ = server.ask("POST", path, sent, kind)
                            assert 400 <= status < 500
            assert tracemalloc.get_traced_memory()[0] < 4e6
        finally:
            tracemalloc.stop()
            gc.enable()


def test_answers_are_counted_before_they_are_computed():
    X = np.eye(60, 2)
    Y = np.tile(np.eye(60, 40, dtype=int), (1, 5))
    service = Service(MLkNN(1).fit(X, Y))
    limits = Limits(memory=2_000_000)
    with running(service, limits=limits) as address, httpx.Client(base_url=address) as client:
        rows = [[1.0, 0.0]] * 400
        for options in ({"scores": True}, {"cut": -1.0}, {"top": 300}):
            few = client.post("/predict", json={"rows": rows[:10], **options})
            assert few.status_code == 200, few.text
        for options in ({"scores": True}, {"scores": True, "top": 10**9}):
            many = client.post("/predict", json={"rows": rows, **options})
            assert many.status_code == 413, many.text
        assert client.post("/predict", json={"rows": rows, "top": 2}).status_code == 200
        many = client.post("/explain", json={"rows": rows[:20], "top": 10**6})
        assert many.status_code == 413
        assert client.post("/explain", json={"rows": rows[:20], "top": 1}).status_code == 200


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "zstd", "identity, gzip", "x-gzip"])
@pytest.mark.parametrize("path", ["/predict", "/explain", "/feedback", "/label-studio/webhook"])
def test_compressed_bodies_are_refused(client, encoding, path):
    headers = {"content-type": "application/json", "content-encoding": encoding}
    said = client.post(path, content=gzip.compress(b'{"rows": [[1, 2]]}'), headers=headers)
    assert said.status_code == 415 and said.headers["accept-encoding"] == "identity"
    assert "compressed" in said.json()["error"]


def test_a_request_that_was_given_up_takes_no_memory():
    async def ask():
        gate = threading.Event()
        answers = Batches(lambda given: gate.wait(5) and given, most=1, waiting=9, seconds=0.05)
        tasks = [asyncio.create_task(answers(f"request {i}")) for i in range(3)]
        found = await asyncio.gather(*tasks, return_exceptions=True)
        kept = [request for request, *_ in answers._queue]
        gate.set()
        await asyncio.sleep(0.05)
        answers.close()
        return [one.status for one in found], kept

    assert asyncio.run(ask()) == ([503] * 3, [None, None])


def test_a_store_that_cannot_be_written_is_told_in_json(tmp_path):
    service = Service(lazy(), store=tmp_path / "log.db")
    sent = {"corrections": [{"row": i, "labels": []} for i in range(60)] * 8}
    with running(service) as address, httpx.Client(base_url=address) as client:
        assert client.post("/feedback", json={"corrections": sent["corrections"][:1]}).is_success
        service.store._db.execute("PRAGMA max_page_count = 1")
        said = client.post("/feedback", json=sent)
        assert said.status_code == 507
        assert f"{tmp_path / 'log.db'} cannot be written" in said.json()["error"]
        service.store._db.execute("PRAGMA max_page_count = 100000")
        assert client.delete("/feedback/1").is_success
        (tmp_path / "log.db").unlink()
        said = client.post("/feedback", json=sent)
        assert said.status_code == 503 and "log.db was removed while" in said.json()["error"]
        assert client.get("/feedback").json()["version"] == 2


def test_two_batches_are_worked_on_at_the_same_time():
    together = threading.Barrier(2, timeout=10)

    def meeting(requests):
        together.wait()  # fails unless another batch comes meanwhile
        return requests

    async def ask():
        answers = Batches(meeting, most=1, waiting=100, threads=2)
        found = await asyncio.gather(*(answers(i) for i in range(6)))
        answers.close()
        return found

    assert asyncio.run(ask()) == [0, 1, 2, 3, 4, 5]


def test_serving_says_what_is_missing(monkeypatch):
    import plurilabel.serve

    monkeypatch.setitem(sys.modules, "fastapi", None)
    monkeypatch.delitem(vars(plurilabel.serve), "create_app", raising=False)
    monkeypatch.delitem(sys.modules, "plurilabel.serve._app")
    with pytest.raises(ImportError, match=r"pip install 'plurilabel\[serve\]'"):
        plurilabel.serve.create_app  # noqa: B018
