"""Killed at any point, it comes back with every acknowledged correction and the same model."""

import json
import os
import random
import signal
import subprocess
import sys
import threading
from contextlib import closing, suppress
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from time import sleep

import numpy as np
import pytest

from plurilabel import MLkNN
from plurilabel.serve import Ask, Service
from tests.serve.problems import LABELS, lazy, points, records
from tests.serve.test_service import rows_of, same_arrays

ROOT = Path(__file__).parents[2]
KILLS = 20 if os.environ.get("PLURILABEL_LONG_FUZZ") else 6
TEST = records(points(30, seed=11)[0])


def ask(connection, method, path, said=None):
    body = None if said is None else json.dumps(said)
    connection.request(method, path, body, {"content-type": "application/json"})
    answer = connection.getresponse()
    return answer.status, json.loads(answer.read())


class Load:
    """Clients that correct without a pause, and remember what was acknowledged."""

    def __init__(self, address, seed):
        self.address, self.acknowledged, self.stop = address, {}, threading.Event()
        self.threads = [
            threading.Thread(target=self.work, args=(seed * 100 + i,)) for i in range(4)
        ]
        for thread in self.threads:
            thread.start()

    def work(self, seed):
        rng, host = random.Random(seed), self.address.removeprefix("http://")
        with closing(HTTPConnection(host, timeout=20)) as connection:
            while not self.stop.is_set():
                labels = [name for name in LABELS if rng.random() < 0.5]
                key = f"{seed}-{rng.random()}"
                one = {"labels": labels, "key": key}
                if rng.random() < 0.6:
                    one["features"] = {"heat": rng.gauss(0, 1), "height": rng.gauss(0, 1)}
                else:
                    one["row"] = rng.randrange(60)
                try:
                    if rng.random() < 0.2:
                        ask(connection, "DELETE", f"/feedback/{rng.randrange(1, 50)}")
                    status, done = ask(connection, "POST", "/feedback", {"corrections": [one]})
                    ask(connection, "POST", "/predict", {"rows": TEST[:3]})
                except (OSError, HTTPException):
                    return  # killed
                if status == 200:
                    self.acknowledged[key] = (done["corrections"][0]["id"], tuple(labels))

    def end(self):
        self.stop.set()
        for thread in self.threads:
            thread.join()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_nothing_acknowledged_is_lost(tmp_path):
    pytest.importorskip("fastapi")
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    spawner = subprocess.Popen(
        [sys.executable, "-m", "tests.serve.spawner", tmp_path],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT, env=environment,
    )  # fmt: skip
    rng, acknowledged, answers, pid = random.Random(0), {}, None, None
    try:
        assert spawner.stdout.readline() == "ready\n"
        for kill in range(KILLS + 1):
            spawner.stdin.write("log.db\n")
            spawner.stdin.flush()
            pid, address = spawner.stdout.readline().split()
            with closing(HTTPConnection(address.removeprefix("http://"), timeout=30)) as client:
                _, found = ask(client, "GET", "/feedback?most=10000")
                there = {one["id"]: one.get("labels") for one in found["corrections"]}
                for id, labels in acknowledged.values():
                    assert there[id] == list(labels)
                assert found["version"] == len(there)
                _, answers = ask(client, "POST", "/predict", {"rows": TEST, "scores": True})
            if kill < KILLS:
                load = Load(address, kill)
                wanted = rng.randrange(1, 12)
                while len(load.acknowledged) < wanted:
                    sleep(0.002)
                sleep(rng.uniform(0, 0.02))
            os.kill(int(pid), signal.SIGKILL)
            if kill < KILLS:
                load.end()
                acknowledged |= load.acknowledged
    finally:
        spawner.kill()
        if pid is not None:
            with suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGKILL)
        spawner.communicate()
    assert len(acknowledged) > 2 * KILLS
    service = Service(lazy(), store=tmp_path / "log.db")
    assert service.predict(TEST, Ask(scores=True)) == answers
    fresh = MLkNN(3).fit(*rows_of(service, points()[1].to_numpy()))
    same_arrays(fresh, service.now.model.learner)
    np.testing.assert_array_equal(fresh.Y_, service.now.model.learner.Y_)
    service.close()
