"""Attacks on a server in a process of its own: what they take in memory, time and corrections.

    python -m tests.serve.attack --long

prints a table: for each attack the answers, the growth of the server's memory at its peak, and the
longest wait of another client for ``/health``.
"""

import argparse
import asyncio
import gzip
import io
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import closing, contextmanager, suppress
from http.client import HTTPConnection, HTTPException
from pathlib import Path

from tests.serve.malformed import malformed
from tests.serve.problems import LABELS, lazy

ROOT = Path(__file__).parents[2]
JSON = "application/json"
ARROW = "application/vnd.apache.arrow.stream"
HEAD = b"POST /%s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
GET = b"GET %s HTTP/1.1\r\nHost: localhost\r\n"


class Server:
    """A server with a store, and what other processes see of it."""

    def __init__(self, pid, address):
        self.pid = int(pid)
        self.host, port = address.strip().removeprefix("http://").split(":")
        self.port = int(port)

    def ask(self, method, path, content=None, kind=JSON, **headers):
        """Status and JSON of a response."""
        with closing(HTTPConnection(self.host, self.port, timeout=120)) as connection:
            connection.request(method, path, content, {"content-type": kind, **headers})
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read() or b"null")

    def megabytes(self, what="VmRSS"):
        """Memory of the process now, or with VmHWM at its peak."""
        text = Path(f"/proc/{self.pid}/status").read_text()
        return int(text.split(f"{what}:")[1].split()[0]) / 1024

    def forget_peak(self):
        with suppress(OSError):
            Path(f"/proc/{self.pid}/clear_refs").write_text("5")

    def kill(self):
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)


@contextmanager
def program(*words):
    """A program of the tests, to be talked to."""
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(
        [sys.executable, "-m", *map(str, words)], cwd=ROOT, env=environment, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


@contextmanager
def serving(store, seconds):
    """A server until the end of the block."""
    with program("tests.serve.attack", "--serve", store, "--seconds", seconds) as process:
        yield Server(process.pid, process.stdout.readline())


@contextmanager
def watched(server):
    """Ask for /health all the time: yields the list of how long the answers took."""
    waits, end = [], threading.Event()

    def watch():
        while not end.is_set():
            began = time.monotonic()
            status, _ = server.ask("GET", "/health")
            waits.append(time.monotonic() - began if status == 200 else float("inf"))
            end.wait(0.02)

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield waits
    finally:
        end.set()
        thread.join()


async def told(server, parts, *, pause=0.0, seconds=60):
    """Status of the first response to parts that are sent one after another; 0 for none."""
    reader, writer = await asyncio.open_connection(server.host, server.port)

    async def send():
        for part in parts:
            writer.write(part)
            await writer.drain()
            if pause:
                await asyncio.sleep(pause)

    said, sending = b"", asyncio.create_task(send())
    with suppress(OSError, TimeoutError):
        async with asyncio.timeout(seconds):
            said = await reader.read(1 << 16)
    sending.cancel()
    await asyncio.gather(sending, return_exceptions=True)
    writer.transport.abort()
    return int(said[9:12]) if said else 0


def together(server, connections, parts, **options):
    """Statuses of the same parts sent over many connections at once."""

    async def all_of_them():
        return await asyncio.gather(
            *(told(server, parts(), **options) for _ in range(connections)),
            return_exceptions=True,
        )

    return Counter(s if isinstance(s, int) else 0 for s in asyncio.run(all_of_them()))


def at_once(server, times, requests):
    """Statuses of whole requests, each sent several times by threads."""
    found = []

    def work(request):
        with suppress(OSError, HTTPException):
            method, path, content, kind, headers = request
            found.append(server.ask(method, path, content, kind, **headers)[0])

    threads = [threading.Thread(target=work, args=(r,)) for r in requests for _ in range(times)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return Counter(found)


def headers(server, scale):
    """Heads of 30 MB: one header, many headers, a trailer, an address."""
    one = GET % b"/health" + b"X: "
    many = [GET % b"/health", *[b"X: " + b"x" * 1000 + b"\r\n"] * 30_000]
    trailer = HEAD % b"predict" + b"Transfer-Encoding: chunked\r\n\r\n0\r\nX: "
    found = Counter()
    for start in (one, trailer, b"GET /"):
        found += together(server, 2 * scale, lambda s=start: (s, *[b"x" * 30_000] * 1000))
    return found + together(server, 2 * scale, lambda: many)


def slow_headers(server, scale):
    """A byte now and then."""
    start = GET % b"/health" + b"X: "
    return together(server, 50 * scale, lambda: [start, *[b"x"] * 2000], pause=0.05)


def stalled_bodies(server, scale):
    """Bodies of which a part comes."""
    start = HEAD % b"predict" + b"Content-Length: 15000000\r\n\r\n"
    return together(server, 50 * scale, lambda: [start, *[b" " * 50_000] * 20])


def pipelines(server, scale):
    """Thousands of requests at once, and nobody takes the responses."""

    async def push():
        _, writer = await asyncio.open_connection(server.host, server.port)
        writer.write((GET % b"/page.js" + b"\r\n") * 9_000)
        with suppress(OSError, TimeoutError):
            async with asyncio.timeout(1):
                await writer.drain()
        await asyncio.sleep(0.5)
        writer.transport.abort()

    async def all_of_them():
        await asyncio.gather(*(push() for _ in range(40 * scale)), return_exceptions=True)

    asyncio.run(all_of_them())
    return Counter()


def bombs(server, scale):
    """What is small and unpacks to much."""
    import numpy as np
    import pyarrow as pa

    def arrow(table):
        sink = io.BytesIO()
        options = pa.ipc.IpcWriteOptions(compression="zstd")
        with pa.ipc.new_stream(sink, table.schema, options=options) as writer:
            writer.write_table(table)
        return sink.getvalue()

    zeros = np.zeros(10_000_000 * scale)
    text = pa.DictionaryArray.from_arrays(np.zeros(10_000, "i4"), ["x" * 10_000_000])
    tables = [arrow(pa.table({"heat": zeros, "height": zeros})), arrow(pa.table({"heat": text}))]
    del zeros
    requests = [("POST", "/predict", table, ARROW, {}) for table in tables]
    packed = gzip.compress(b" " * 50_000_000)
    requests.append(("POST", "/predict", packed, JSON, {"content-encoding": "gzip"}))
    large = 15_000_000
    requests += [
        ("POST", path, b"[" + unit * (large // len(unit)), JSON, {})
        for path in ("/predict", "/feedback", "/label-studio/webhook")
        for unit in (b"[],", b'{"a":0},', b"[", b'"\xf0\x9f\x9c\x82x",')
    ]
    requests.append(("POST", "/predict", b"heat,height\n" + b"1,2\n" * 3_000_000, "text/csv", {}))
    requests.append(("POST", "/predict", b"," * large, "text/csv", {}))
    return at_once(server, scale, requests)


def slow_takers(server, scale):
    """Large responses of which a byte is taken now and then."""
    rows = json.dumps({"rows": [[1.0, 2.0]] * 10_000, "scores": True}).encode()
    start = HEAD % b"predict" + b"Content-Length: %d\r\n\r\n" % len(rows) + rows

    async def take():
        reader, writer = await asyncio.open_connection(server.host, server.port, limit=1)
        writer.write(start)
        with suppress(ConnectionError):
            await writer.drain()
            for _ in range(40):
                await reader.read(1)
                await asyncio.sleep(0.05)
        writer.transport.abort()

    async def all_of_them():
        await asyncio.gather(*(take() for _ in range(40 * scale)), return_exceptions=True)

    asyncio.run(all_of_them())
    return Counter()


def nonsense(server, scale):
    """Malformed requests."""
    found = Counter()
    for seed in range(60 * scale):
        method, path, request = malformed(seed)
        if "content" in request:
            kind = request["headers"]["content-type"]
            kind = kind if isinstance(kind, str) else kind.decode("latin-1")
            found[server.ask(method, path, request["content"], kind)[0]] += 1
    return found


ATTACKS = {
    one.__name__: one
    for one in (
        headers, slow_headers, stalled_bodies, pipelines, bombs, slow_takers, nonsense,
    )
}  # fmt: skip


def attacked(server, name, scale):
    """Answers, growth of memory in MB at its peak, and waits for /health in seconds."""
    before = server.megabytes()
    server.forget_peak()
    with watched(server) as waits:
        answers = ATTACKS[name](server, scale)
    return answers, server.megabytes("VmHWM") - before, waits


class Correcting:
    """Clients that send corrections, and what was acknowledged: correction and id by key."""

    def __init__(self, clients, seed):
        self.clients, self.rng, self.seed = clients, random.Random(seed), seed
        self.acknowledged, self.refused, self.sent = {}, Counter(), 0

    def one(self):
        self.sent += 1
        rng = self.rng
        sent = {"labels": [name for name in LABELS if rng.random() < 0.5]}
        sent["key"] = f"{self.seed}-{self.sent}"
        if rng.random() < 0.7:
            sent["features"] = {"heat": rng.gauss(0, 1), "height": rng.gauss(0, 1)}
        else:
            sent["row"] = rng.randrange(60)
        return sent

    async def client(self, server, times):
        with suppress(ConnectionError, asyncio.IncompleteReadError, ValueError):
            reader, writer = await asyncio.open_connection(server.host, server.port)
            with closing(writer):
                for _ in range(times):
                    sent = self.one()
                    content = json.dumps({"corrections": [sent]}).encode()
                    writer.write(HEAD % b"feedback" + b"Content-Length: %d\r\n\r\n" % len(content))
                    writer.write(content)
                    head = await reader.readuntil(b"\r\n\r\n")
                    size = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
                    said = json.loads(await reader.readexactly(size))
                    status = int(head[9:12])
                    if status == 200:
                        (done,) = said["corrections"]
                        self.acknowledged[sent["key"]] = (sent, done["id"])
                    else:
                        self.refused[status] += 1

    async def run(self, server, times, kill_after=None):
        tasks = [asyncio.create_task(self.client(server, times)) for _ in range(self.clients)]
        if kill_after is not None:
            while not self.acknowledged:
                await asyncio.sleep(0.01)
            await asyncio.sleep(kill_after)
            server.kill()
        await asyncio.wait(tasks, timeout=120)


def check_all_there(server, acknowledged):
    """Every acknowledged correction is there once: sent again, it keeps its number."""
    _, before = server.ask("GET", "/feedback?most=1")
    everything = list(acknowledged.values())
    for at in range(0, len(everything), 2000):
        part = everything[at : at + 2000]
        content = json.dumps({"corrections": [sent for sent, _ in part]}).encode()
        status, said = server.ask("POST", "/feedback", content)
        assert status == 200, said
        assert [one["id"] for one in said["corrections"]] == [id for _, id in part]
    _, after = server.ask("GET", "/feedback?most=1")
    assert after["version"] == before["version"] == after["corrections"][0]["id"]
    ids = [id for _, id in everything]
    assert len(set(ids)) == len(ids), "two corrections have one number"


def killed(folder, kills, clients):
    """Kill servers at random moments; returns how many corrections were acknowledged in all."""
    acknowledged, rng = {}, random.Random(0)
    with program("tests.serve.spawner", folder) as spawner:
        assert spawner.stdout.readline() == "ready\n"
        for kill in range(kills + 1):
            spawner.stdin.write("kills.db\n")
            spawner.stdin.flush()
            server = Server(*spawner.stdout.readline().split())
            try:
                if acknowledged:
                    check_all_there(server, acknowledged)
                if kill < kills:
                    load = Correcting(clients, kill)
                    asyncio.run(load.run(server, 1000, kill_after=rng.uniform(0, 0.3)))
                    acknowledged |= load.acknowledged
            finally:
                server.kill()
    return len(acknowledged)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--long", action="store_true", help="larger attacks, and twenty kills")
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    parser.add_argument("--seconds", type=float, default=30.0, help="time limit of the server")
    given = parser.parse_args()
    if given.serve:
        from plurilabel.serve import Limits, Service, run

        def ready(address):
            print(address, flush=True)

        service = Service(lazy(), store=given.serve)
        run(service, port=0, limits=Limits(seconds=given.seconds), ready=ready)
        return
    scale = 4 if given.long else 1
    with (
        tempfile.TemporaryDirectory() as folder,
        serving(Path(folder, "log.db"), given.seconds) as server,
    ):
        server.ask("POST", "/predict", b'{"rows": [[1, 2]]}')
        print(f"{'idle':16} {server.megabytes():6.0f} MB")
        for name in ATTACKS:
            began = time.monotonic()
            answers, grown, waits = attacked(server, name, scale)
            took = time.monotonic() - began
            print(
                f"{name:16} {grown:+6.0f} MB  /health at most {max(waits):5.2f} s, "
                f"{sorted(waits)[len(waits) // 2]:.3f} s in the middle  {took:4.0f} s  "
                f"{dict(answers)}",
                flush=True,
            )
        load, before = Correcting(1000, "load"), server.megabytes()
        server.forget_peak()
        with watched(server) as waits:
            asyncio.run(load.run(server, 3 * scale))
        check_all_there(server, load.acknowledged)
        print(
            f"{'corrections':16} {server.megabytes('VmHWM') - before:+6.0f} MB  /health at most "
            f"{max(waits):5.2f} s  {len(load.acknowledged)} acknowledged, {dict(load.refused)}"
        )
        n = killed(folder, 25 if given.long else 3, 200 if given.long else 50)
        print(f"killed: all of {n} acknowledged corrections are there, once")


if __name__ == "__main__":
    main()
