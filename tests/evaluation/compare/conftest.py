"""A fake worker process that starts at once."""

import pytest

# speaks like a worker, and starts at once; the environment says at which cell it hangs or ends
FAKE = """
import os, pickle, sys, time
def say(*news):
    pickle.dump(news, sys.stdout.buffer)
    sys.stdout.flush()
say("ready", None, None)
while (order := pickle.load(sys.stdin.buffer)) is not None:
    for number in order[-1]:
        say("start", number, None)
        if number == int(os.environ["HANG_AT"]):
            time.sleep(60)
        say("cell", number, {"status": "ok", "error": None, "pid": os.getpid(),
            "fit_seconds": 1.0, "predict_seconds": 1.0})
    say("done", None, None)
    if number == int(os.environ["DIE_AFTER"]):
        break
"""


@pytest.fixture
def fake(monkeypatch):
    monkeypatch.setattr("plurilabel.evaluation._compare._pool.START", FAKE)

    def behave(hang_at=-1, die_after=-1):
        monkeypatch.setenv("HANG_AT", str(hang_at))
        monkeypatch.setenv("DIE_AFTER", str(die_after))

    behave()
    return behave
