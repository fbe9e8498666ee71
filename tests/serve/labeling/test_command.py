"""``plurilabel label``, up to the server itself."""

import pytest

from plurilabel.models import load_model
from tests.cli.runner import runner
from tests.serve.labeling.problems import WORDS, notes

pytest.importorskip("fastapi")

import plurilabel.serve
from plurilabel.cli._main import plurilabel as program


@pytest.fixture
def label(monkeypatch, tmp_path):
    """Runs a command; what would have been served is kept."""
    served = {}

    def run(project, ready, **options):
        ready("http://127.0.0.1:8000")
        served.update(project=project, **options)

    monkeypatch.setattr(plurilabel.serve, "run", run, raising=False)
    monkeypatch.chdir(tmp_path)
    notes(40)[0].to_csv("notes.csv", index=False)

    def label(*words):
        served.clear()
        done = runner().invoke(program, ["label", *map(str, words)])
        return done.exit_code, done.stdout, done.stderr, dict(served)

    return label


def test_label_export_and_save(label, tmp_path):
    status, out, err, served = label("notes.csv", "--labels", "sea,sun", "--labels", "animal/dog")
    assert status == 0, err
    project = served["project"]
    assert list(project.state.names.values()) == list(WORDS) and project.name == "notes"
    assert "notes.csv.labels.db (0 rows so far)" in out and "Open http" in out
    for row, names in enumerate(notes(40)[1][:30]):
        project.say("ann", "answer", {"rows": [row], "labels": names})
    project.close()
    status, out, err, served = label(
        "notes.csv", "--export", "a.csv", "--save", "m.skops", "--learner", "MLkNN(n_neighbors=3)"
    )
    assert status == 0 and served == {}, err
    assert "Wrote a.csv (30 rows)" in out and "Wrote m.skops" in out
    assert load_model(tmp_path / "m.skops").label_names == ("animal/dog", "sea", "sun")
    status, _, err, _ = label("notes.csv", "--export", "a.csv")
    assert status in (1, 2) and "a.csv" in err and "--force" in err
    status, _, _, served = label("notes.csv", "--store", "other.db", "--import", "a.csv")
    assert status == 0 and len(served["project"].state.answered()) == 30
    served["project"].close()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nothing.csv"], "nothing.csv"),
        (["notes.csv", "--labels", "a|b"], "'|'"),
        (["notes.csv", "--text", "words"], "words"),
        (["notes.csv", "--save", "m.pkl"], ".skops"),
        (["notes.csv", "--export", "m.xml"], ".csv"),
        (["notes.csv", "--learner", "MLkNNN"], "--learner"),
        (["notes.csv", "--import", "no.csv"], "no.csv"),
        (["notes.csv", "--save", "m.skops"], "no row has a label yet"),
        (["notes.csv", "--store", "notes.csv"], "not a database"),
        (["notes.csv", "--token", "a b"], "--token"),
    ],
)
def test_mistakes_are_one_sentence(label, words, said):
    status, _, err, served = label(*words)
    assert status in (1, 2) and said in err and "Traceback" not in err and served == {}
