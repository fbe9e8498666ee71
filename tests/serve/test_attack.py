"""A server under attack: memory stays bounded, others are answered, and corrections are kept."""

import asyncio
import os
from pathlib import Path

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("pyarrow")

from plurilabel.serve import Limits
from tests.serve import attack

LONG = bool(os.environ.get("PLURILABEL_LONG_FUZZ"))
SCALE = 4 if LONG else 1
ATTACKS = list(attack.ATTACKS) if LONG else ["headers", "stalled_bodies", "pipelines", "bombs"]
GROWTH = Limits().memory / 1e6 + 100  # MB, with what the allocator does not give back
WAIT = 15  # seconds for /health on a busy machine; without the limits it is endless
EXPECTED = {
    "headers": {431, 414},
    "slow_headers": {408},
    "stalled_bodies": {408, 503},
    "bombs": {400, 408, 413, 415, 503},
    "nonsense": {400, 413, 415, 422},
}

pytestmark = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc")


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    store = tmp_path_factory.mktemp("attack") / "log.db"
    with attack.serving(store, 10 if LONG else 1.5) as server:
        server.ask("POST", "/predict", b'{"rows": [[1, 2]]}')
        yield server


@pytest.mark.parametrize("name", ATTACKS)
def test_memory_and_others(server, name):
    answers, grown, waits = attack.attacked(server, name, SCALE)
    assert set(answers) <= EXPECTED.get(name, set()) | {0}
    assert name not in EXPECTED or sum(answers.values()) > answers[0]
    assert grown < GROWTH and max(waits) < WAIT


def test_many_clients_that_correct(server):
    load = attack.Correcting(1000 if LONG else 200, "load")
    asyncio.run(load.run(server, 4 if LONG else 2))
    assert len(load.acknowledged) + sum(load.refused.values()) == load.sent
    assert set(load.refused) <= {503} and len(load.acknowledged) > load.clients
    attack.check_all_there(server, load.acknowledged)


@pytest.mark.skipif(not LONG, reason="tests/serve/test_kill.py kills a server under load, too")
def test_killed_under_load(tmp_path):
    assert attack.killed(tmp_path, 25, 200) > 25
