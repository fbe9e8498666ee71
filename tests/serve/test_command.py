"""``plurilabel serve`` and ``plurilabel demo --serve``, up to the server itself."""

import pytest

from plurilabel.models import save_model
from tests.cli.runner import runner
from tests.serve.problems import lazy, linear, points

pytest.importorskip("fastapi")

import plurilabel.serve
from plurilabel.cli._main import plurilabel as program


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("command")
    save_model(lazy(), folder / "lazy.skops")
    save_model(linear(), folder / "linear.skops")
    X, Y = points()
    X.join(Y).to_csv(folder / "points.csv", index=False)
    points(5, seed=3)[0].to_csv(folder / "new.csv", index=False)
    return folder


@pytest.fixture
def serve(monkeypatch, folder):
    """Runs a command; what would have been served is kept."""
    served = {}

    def run(service, ready, **options):
        ready("http://127.0.0.1:8000")
        served.update(service=service, **options)
        service.close()

    monkeypatch.setattr(plurilabel.serve, "run", run, raising=False)
    monkeypatch.setattr("webbrowser.open", lambda address: served.update(opened=address))
    monkeypatch.chdir(folder)

    def serve(*words):
        served.clear()
        done = runner().invoke(program, list(map(str, words)))
        return done.exit_code, done.stdout, done.stderr, dict(served)

    return serve


def test_serve(serve, tmp_path):
    store = tmp_path / "log.db"
    status, out, _, served = serve(
        "serve", "lazy.skops", "--store", store, "--max-body", 2, "--port", 0,
        "--max-memory", 64,
    )  # fmt: skip
    assert status == 0 and served["limits"].body == 2_000_000 and served["port"] == 0
    assert served["limits"].memory == 64_000_000
    assert "learns corrections immediately" in out and f"{store} (0 corrections so far)" in out
    assert "Open http://127.0.0.1:8000 in a browser" in out and "opened" not in served
    assert served["service"].name == "lazy"
    status, out, err, served = serve("serve", "linear.skops", "--data", "points.csv", "--open")
    assert status == 0, err
    assert served["service"].training.how == "refit" and served["opened"]
    assert "linear.feedback.db" in out
    status, out, _, served = serve("serve", "linear.skops")
    assert status == 1 and served == {}  # the store was made with data


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nothing.skops"], "nothing.skops"),
        (["new.csv"], "new.csv"),
        (["lazy.skops", "--data", "nothing.csv"], "there is no file nothing.csv"),
        (["lazy.skops", "--data", "new.csv"], "sea"),
        (["lazy.skops", "--store", "no/where/log.db"], "no/where/log.db"),
        (["lazy.skops", "--store", "points.csv"], "not a database"),
        (["lazy.skops", "--token", "a b"], "--token"),
        (["lazy.skops", "--port", "70000"], "70000"),
    ],
)
def test_mistakes_are_one_sentence(serve, words, said):
    status, _, err, served = serve("serve", *words)
    assert status in (1, 2) and said in err and "Traceback" not in err and served == {}


def test_demo_serves_two_thirds_of_the_digits(serve, tmp_path):
    status, out, _, served = serve("demo", "--serve", "--out", tmp_path)
    assert status == 0 and served["opened"] == "http://127.0.0.1:8000"
    assert served["service"].n_given == 1198
    assert "digits.feedback.db" in out
