"""Requests per second of the service under many clients, compared with a plain FastAPI handler.

    python -m benchmarks serving_load --clients 1000 --seconds 15

Both servers get the same requests of one row each over persistent connections. The plain one is
the obvious implementation: a handler that calls ``predict`` for each request. Each server has its
own process with one thread for its arithmetic; so do the clients. A second table shows the memory
of the service after more and more requests.
"""

import argparse
import json
import math
import os
import pickle
import selectors
import socket
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.harness.threads import ONE_THREAD

os.environ.update(ONE_THREAD)  # before numpy is loaded

import numpy as np

SIZES = {"mlknn": (100_000, 100, 20), "linear": (1_000, 100, 1_000)}


def learner_of(kind, n, folder):
    """A fitted learner, kept in a file from the first time on."""
    from sklearn.linear_model import LogisticRegression

    from plurilabel import BinaryRelevance, MLkNN

    _, d, q = SIZES[kind]
    path = Path(folder, f"{kind}-{n}.pickle")
    if not path.exists():
        rng = np.random.default_rng(0)
        X = rng.normal(size=(n, d))
        Y = (X @ rng.normal(size=(d, q)) + 3 * rng.normal(size=(n, q)) > 8).astype(int)
        Y[0] = 1  # each label occurs
        learner = MLkNN(10) if kind == "mlknn" else BinaryRelevance(LogisticRegression())
        started = time.perf_counter()
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(pickle.dumps(learner.fit(X, Y)))
        print(f"fitted {kind} in {time.perf_counter() - started:.0f} s", flush=True)
    return pickle.loads(path.read_bytes())


def serve(how, kind, n, folder):
    """One of the two servers, until it is stopped."""
    learner = learner_of(kind, n, folder)
    if how == "service":
        from plurilabel.serve import Limits, Service, run

        def ready(address):
            print(address, flush=True)

        run(Service(learner), port=0, limits=Limits(connections=100_000), ready=ready)
        return
    import uvicorn
    from fastapi import FastAPI
    from pydantic import BaseModel

    class Rows(BaseModel):
        rows: list[dict[str, float]]

    app = FastAPI()
    names = [f"x{j}" for j in range(learner.n_features_in_)]

    @app.post("/predict")
    def predict(body: Rows):
        X = np.array([[row[name] for name in names] for row in body.rows])
        sets = learner.predict(X)
        return {"rows": [{"labels": [names_of[j] for j in np.flatnonzero(row)]} for row in sets]}

    names_of = [str(name) for name in learner.label_names_]
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.bind(("127.0.0.1", 0))
    listening.listen(4096)
    print(f"http://127.0.0.1:{listening.getsockname()[1]}", flush=True)
    config = uvicorn.Config(app, log_level="warning", access_log=False)
    uvicorn.Server(config).run(sockets=[listening])


class Clients:
    """Clients that ask again as soon as they have an answer, each over its own connection.

    Plain sockets, so that the clients take little of the time of the servers: see ``cpu``.
    """

    def __init__(self, address, d, clients):
        self.host, port = address.removeprefix("http://").split(":")
        self.port, self.clients = int(port), clients
        rng = np.random.default_rng(1)
        self.requests = [self._request(row) for row in rng.normal(size=(256, d)).round(6)]
        self.times, self.refused, self.cpu = [], 0, 0.0

    def _request(self, row):
        said = {"rows": [{f"x{j}": value for j, value in enumerate(row.tolist())}]}
        body = json.dumps(said).encode()
        head = (
            f"POST /predict HTTP/1.1\r\nHost: {self.host}:{self.port}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        return head.encode() + body

    def ask(self, seconds, most=math.inf):
        """Ask for some time, or some requests; how long it took."""
        began, cpu = time.perf_counter(), time.process_time()
        waiting = selectors.DefaultSelector()
        for i in range(self.clients):
            connection = socket.create_connection((self.host, self.port))
            connection.setblocking(False)
            client = {"next": i, "since": time.perf_counter(), "got": b""}
            waiting.register(connection, selectors.EVENT_READ, client)
            connection.send(self.requests[i % len(self.requests)])
        while waiting.get_map():
            ready = waiting.select(60)
            if not ready:
                raise RuntimeError(f"{len(waiting.get_map())} clients have no answer")
            for key, _ in ready:
                connection, client = key.fileobj, key.data
                part = connection.recv(1 << 16)
                client["got"] += part
                now = time.perf_counter()
                if part and not self._is_whole(client["got"]):
                    continue
                if client["got"].startswith(b"HTTP/1.1 200"):
                    self.times.append(now - client["since"])
                else:
                    self.refused += 1
                if part and now < began + seconds and len(self.times) < most:
                    client.update(next=client["next"] + 1, since=now, got=b"")
                    connection.send(self.requests[client["next"] % len(self.requests)])
                else:
                    waiting.unregister(connection)
                    connection.close()
        self.cpu += time.process_time() - cpu
        return time.perf_counter() - began

    @staticmethod
    def _is_whole(got):
        head, end, body = got.partition(b"\r\n\r\n")
        size = head.partition(b"content-length: ")[2].partition(b"\r\n")[0]
        return bool(end) and len(body) == int(size)


def cpu_seconds(pid):
    """What a process has used so far: it does not depend on who else uses the machine."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def megabytes(pid):
    """Resident memory of a process."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    return float("nan")


def started(how, kind, n, folder):
    command = [sys.executable, "-m", "benchmarks.pages.serving_load", "--server", how]
    command += ["--kind", kind, "--rows", str(n), "--folder", folder]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    for line in server.stdout:
        if line.startswith("http"):
            return server, line.strip()
        print(line, end="")
    raise RuntimeError("the server did not start")


def measured(how, kind, n, folder, clients, seconds):
    server, address = started(how, kind, n, folder)
    try:
        Clients(address, SIZES[kind][1], min(clients, 8)).ask(1)  # warm
        load, before = Clients(address, SIZES[kind][1], clients), cpu_seconds(server.pid)
        took = load.ask(seconds)
        times = np.array(load.times) if load.times else np.array([np.nan])
        return {
            "model": kind, "rows": n, "server": how, "clients": clients,
            "rows_per_s": len(load.times) / took,
            "rows_per_cpu_s": len(load.times) / (cpu_seconds(server.pid) - before),
            "p50_ms": 1e3 * float(np.quantile(times, 0.5)),
            "p99_ms": 1e3 * float(np.quantile(times, 0.99)),
            "client_us": 1e6 * load.cpu / max(1, len(load.times)),
            "refused": load.refused, "megabytes": megabytes(server.pid),
        }  # fmt: skip
    finally:
        server.terminate()
        server.wait(60)


def soaked(kind, n, folder, requests, clients):
    """Memory of the service after more and more requests."""
    server, address = started("service", kind, n, folder)
    try:
        load, step, began = Clients(address, SIZES[kind][1], clients), requests // 20, time.time()
        print(f"{0:>10,} requests {megabytes(server.pid):8.1f} MB", flush=True)
        while len(load.times) < requests:
            load.ask(math.inf, len(load.times) + step)
            took = time.time() - began
            print(
                f"{len(load.times):>10,} requests {megabytes(server.pid):8.1f} MB {took:6.0f} s",
                flush=True,
            )
    finally:
        server.terminate()
        server.wait(60)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kind", choices=SIZES)
    parser.add_argument("--clients", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=15)
    parser.add_argument("--rows", type=int, help="training rows; by default 100,000 and 1,000")
    parser.add_argument("--soak", type=int, default=0, help="requests for the table of memory")
    parser.add_argument("--folder", default="out/serve-load", help="where models are kept")
    parser.add_argument("--server", choices=["service", "plain"], help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.server:
        serve(given.server, given.kind, given.rows, given.folder)
        return
    for kind in [given.kind] if given.kind else SIZES:
        n = given.rows or SIZES[kind][0]
        if given.soak:
            soaked(kind, n, given.folder, given.soak, given.clients)
            continue
        rows = [
            measured(how, kind, n, given.folder, given.clients, given.seconds)
            for how in ("plain", "service")
        ]
        for row in rows:
            print(
                json.dumps({k: round(v, 1) if isinstance(v, float) else v for k, v in row.items()})
            )
        for what in ("rows_per_s", "rows_per_cpu_s"):
            print(f"{kind}: {what} {rows[1][what] / rows[0][what]:.1f} times the plain handler")


if __name__ == "__main__":
    main()
