"""Options in files, gates and pages."""

import sys
import tomllib
from types import ModuleType, SimpleNamespace

import pytest

from plurilabel.models import load_model, mlflow

OPTIONS = {"labels": "topics", "learner": "MLkNN(n_neighbors=3)", "drop": ["body"], "seed": 4}


@pytest.fixture
def written(tmp_path, mails):
    lines = [f"data = {str(mails)!r}", *(f"{k} = {v!r}" for k, v in OPTIONS.items())]
    (tmp_path / "run.toml").write_text("\n".join([*lines, "time-limit = 60", "refit = false"]))
    return tmp_path / "run.toml"


def test_a_file_is_as_good_as_options(run, written, mails, tmp_path):
    one, two, three = (tmp_path / f"{name}.skops" for name in "abc")
    again = tmp_path / "again.toml"
    done = run("fit", "--config", written, "-o", one, "--save-config", again)
    assert done.status == 0, done.err
    options = ["--labels", "topics", "--learner", OPTIONS["learner"], "--drop", "body"]
    run("fit", mails, *options, "--seed", 4, "--time-limit", 60, "--no-refit", "-o", two)
    models = [load_model(path) for path in (one, two)]
    notes = [dict(model.notes) for model in models]
    kept = [note.pop("options") for note in notes]
    assert notes[0] == notes[1] and kept[0] == kept[1] == tomllib.loads(again.read_text())
    assert models[0].predict(mails) == models[1].predict(mails)
    # from a model, with one option changed
    assert run("fit", "--config", one, "--seed", 5, "-o", three).status == 0
    assert load_model(three).notes["options"] == {**kept[0], "seed": 5}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("lerner = 'MLkNN'", "unknown option 'lerner'; did you mean learner?"),
        ("labels = ", "is not TOML"),
        ("labels = 'topics'\nmeasure = 'f1_nano'", "--measure must be one of"),
        ("holdout = 'much'", "Invalid value"),
    ],
)
def test_wrong_files_are_told(run, mails, tmp_path, text, message):
    (tmp_path / "run.toml").write_text(text)
    done = run("fit", mails, "--config", tmp_path / "run.toml", "-o", tmp_path / "m.skops")
    assert done.status == 2 and message in done.err
    done = run("fit", mails, "--config", tmp_path / "no.toml", "-o", tmp_path / "m.skops")
    assert done.status == 1 and "there is no file" in done.err
    done = run("fit", mails, "--config", mails.rename(tmp_path / "x.skops"), "-o", "m.skops")
    assert done.status == 2 and "has no options" in done.err


def test_gates_and_pages(run, written, mails, tmp_path):
    model, page = tmp_path / "m.skops", tmp_path / "fit.html"
    done = run("fit", "--config", written, "-o", model, "--report", page)
    assert done.status == 0 and "Worst rows" in page.read_text()
    other = tmp_path / "all.html"
    options = ["--per-label", "--sort", "f1", "--report", other]
    bounds = ["--fail-under", "f1_micro=0.2", "--fail-under", "hamming_loss=0.9"]
    done = run("evaluate", model, mails, *options, *bounds)
    assert done.status == 0 and "Reliability" in other.read_text()
    lines = done.out.splitlines()
    head = next(i for i, line in enumerate(lines) if line.startswith("label "))
    column = lines[head].split().index("f1")
    found = [float(line.split()[column]) for line in lines[head + 1 :]]
    assert len(found) == 3 and found == sorted(found)
    done = run("evaluate", model, mails, "--fail-under", "micro_f1=1.1,hamming_loss=0.9", "--json")
    assert done.status == 1 and "worse than 1.1" in done.err and "hamming" not in done.err
    done = run("evaluate", model, mails, "--fail-under", "hamming_loss=-1")
    assert done.status == 1 and "hamming_loss is " in done.err
    for bad in ("micro_f1", "micro_f1=x", "nano_f1=1"):
        assert run("evaluate", model, mails, "--fail-under", bad).status == 2


def test_runs_are_tracked(run, written, tmp_path, monkeypatch):
    monkeypatch.setattr("plurilabel.cli._fit.find_spec", lambda _: None)
    done = run("fit", "--config", written, "-o", tmp_path / "m.skops", "--track", "mails")
    assert done.status == 1 and "--track needs MLflow: pip install" in done.err
    assert not (tmp_path / "m.skops").exists()
    assert run("fit", "--config", written, "-o", tmp_path / "m.skops").status == 0
    logged = {}

    class Run:
        info = SimpleNamespace(run_id="r1")

        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

    fake = ModuleType("mlflow")
    fake.set_experiment = lambda name: logged.update(experiment=name)
    fake.start_run, fake.log_params, fake.log_metrics = Run, logged.update, logged.update
    monkeypatch.setitem(sys.modules, "mlflow", fake)
    monkeypatch.setattr(mlflow, "log_model", lambda _, name: logged.update(name=name))
    model = load_model(tmp_path / "m.skops")
    assert mlflow.log_run(model, "mails") == "r1"
    assert logged["experiment"] == "mails" and logged["seed"] == "4" and logged["name"] == "model"
    measures = model.notes["held_out"]["measures"]
    assert logged["micro_f1"] == measures["micro_f1"]
    assert logged["precision_at_1"] == measures["precision@1"]
