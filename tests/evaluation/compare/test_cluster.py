"""The cells of a comparison on a Dask cluster: the same files, and the same rules."""

import pytest

from plurilabel import BRkNN, MLkNN
from plurilabel.evaluation import compare
from tests.evaluation.compare.toys import TOY
from tests.evaluation.compare.troublesome import Exits, Hangs

distributed = pytest.importorskip("distributed", reason="the extra 'dask' is not installed")

LEARNERS = {"ML-kNN": MLkNN(3), "BRkNN": BRkNN(3), "exits": Exits()}
WATCHED = ("learner", "repeat", "fold", "status", "error", "key", "scores")


@pytest.fixture(scope="module")
def client():
    # threads in this process: the processes that matter are started by the tasks
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=2, processes=False, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def shown(results):
    return [{name: cell[name] for name in WATCHED} for cell in results.cells]


def test_cells_are_those_of_one_machine(client, tmp_path):
    given = {"measures": ["f1", "ranking_loss"]}
    there = compare({"toy": TOY}, LEARNERS, out=tmp_path, scheduler=client, **given)
    # the folder is taken for one of this machine: nothing is run again
    seen = []
    here = compare(
        {"toy": TOY}, LEARNERS, out=tmp_path, progress=lambda *news: seen.append(news), **given
    )
    assert not seen
    assert shown(there) == shown(here)
    statuses = {cell["learner"]: cell["status"] for cell in there.cells}
    assert statuses == {"ML-kNN": "ok", "BRkNN": "ok", "exits": "crashed"}
    alone = compare({"toy": TOY}, {"ML-kNN": MLkNN(3), "BRkNN": BRkNN(3)}, n_jobs=None, **given)
    *ok, failed = shown(there)
    assert ok == shown(alone)
    assert "exit code 3" in failed["error"]


def test_time_limits(client, tmp_path):
    hangs = Hangs(str(tmp_path / "pid"))
    results = compare(TOY, hangs, measures=["f1"], time_limit=1, scheduler=client)
    (cell,) = results.cells
    assert cell["status"] == "timeout"
    assert cell["error"] == "stopped at the time limit of 1 seconds"


def test_the_scheduler_is_a_client():
    with pytest.raises(TypeError, match="scheduler must be a distributed.Client, got str"):
        compare(TOY, MLkNN(3), scheduler="tcp://127.0.0.1:8786")


def test_the_command_names_its_tasks(client, tmp_path, monkeypatch):
    from plurilabel.cli._main import plurilabel as command
    from tests.cli.runner import runner

    keys, submit = [], type(client).submit

    def told(self, *args, key, **options):
        keys.append(key)
        return submit(self, *args, key=key, **options)

    monkeypatch.setattr(type(client), "submit", told)
    words = ["compare", "digits", "--learners", "MLkNN", "--measures", "f1", "--no-report"]
    words += ["--out", str(tmp_path), "--scheduler", client.scheduler.address]
    result = runner().invoke(command, words)
    assert result.exit_code == 0, result.stderr
    assert [key.rpartition("-")[0] for key in keys] == ["digits MLkNN fold 0"]
    assert runner().invoke(command, words).exit_code == 0 and len(keys) == 1  # finished before
