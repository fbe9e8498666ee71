"""``plurilabel compare`` and ``plurilabel demo``, as a user meets them."""

import json
import shlex

import numpy as np
import pytest
from scipy import sparse

from plurilabel import datasets, io
from plurilabel import evaluation as comparison
from plurilabel.cli import _demo
from plurilabel.cli._compare import default_learners, show
from plurilabel.cli._main import plurilabel as command
from plurilabel.cli._progress import ComparisonProgress
from plurilabel.datasets import Dataset
from plurilabel.evaluation import Results
from plurilabel.evaluation._compare._inputs import encoder_of, encoding
from plurilabel.learners import make_learner

TOY = datasets.make_multilabel(60, random_state=0)


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "toy.csv"
    io.write_table(path, TOY, tags="tags")
    return str(path)


@pytest.fixture
def run(capsys):
    """Run a command; returns exit status, stdout and stderr."""

    def run(*arguments):
        with pytest.raises(SystemExit) as stop:
            command.main([str(word) for word in arguments], prog_name="plurilabel")
        out, err = capsys.readouterr()
        return stop.value.code, out, err

    return run


def made_up(learners=("MLkNN", "RAkEL"), folds=2, names=("toy",), failed=()):
    """Results in which the first learner is the best."""
    measures = ["hamming_loss", "f1", "ranking_loss"]
    plan = {
        "protocol": {"cv": folds, "repeats": 1, "random_state": 0, "measures": measures},
        "datasets": {name: {"split": f"{folds} stratified folds"} for name in names},
        "learners": {key: {} for key in learners},
    }
    cells = [
        {
            "dataset": name,
            "learner": learner,
            "repeat": 0,
            "fold": fold,
            "status": "error" if learner in failed else "ok",
            "error": "ValueError: no" if learner in failed else None,
            "scores": {
                "hamming_loss": 0.1 + 0.1 * i + 0.01 * fold,
                "f1": 0.9 - 0.1 * i,
                "ranking_loss": None,
            },
            "fit_seconds": 1.0,
            "predict_seconds": 0.5,
        }
        for name in names
        for i, learner in enumerate(learners)
        for fold in range(folds)
    ]
    return Results(plan, cells)


@pytest.fixture
def stub(monkeypatch):
    """Takes the place of the comparison: notes how it was called, and answers at once."""
    calls = []

    def compare(data, learners, **options):
        calls.append((data, learners, options))
        return made_up(failed=stub.failed)

    stub = compare
    stub.failed, stub.calls = (), calls
    monkeypatch.setattr(comparison, "compare", compare)
    return stub


def test_a_comparison_from_table_to_report(table, tmp_path, run):
    out = tmp_path / "out"
    words = ["compare", table, "--labels", "tags", "--out", out, "--cv", 2, "--jobs", 1]
    words += ["--learners", "MLkNN(3), bad=MLkNN(n_neighbors=99)", "--measures", "f1,one_error"]
    status, output, errors = run(*words)
    assert status == 1
    lines = output.splitlines()
    assert lines[0] == "toy: 2 stratified folds"
    assert lines[1].split() == ["learner", "F1↑", "1-error↓", "sec"]
    assert lines[2].startswith("MLkNN(3)") and lines[2].count("±") == 2
    assert "*" not in lines[2]  # there is nobody to be better than
    assert lines[3].split() == ["bad", "failed", "failed", "-"]
    assert "* best in its column, ± standard deviation over the splits" in output
    assert (
        "bad failed on toy in 2 splits: ValueError: n_neighbors must be smaller than the 30 "
        "training instances, got 99" in errors
    )
    assert "4 of 4: " in errors and "Traceback" not in output + errors
    for suffix in ("html", "md", "tex", "csv"):
        assert f"Wrote {out / f'report.{suffix}'}" in output
        assert (out / f"report.{suffix}").stat().st_size > 100
    # the command to repeat it is this one, and finds everything done
    again = shlex.split(Results.open(out).plan["command"])
    assert again[:2] == ["plurilabel", "compare"] and "--jobs" not in again
    before = {path: path.stat().st_mtime_ns for path in out.glob("cells/*/*/*")}
    status, output, errors = run(*again[1:], "--json", "--no-report")
    assert status == 1 and "bad failed on toy" in errors
    found = json.loads(output)
    assert found["cells"] == 4 and len(before) == 4 and found["report"] == {}
    assert {path: path.stat().st_mtime_ns for path in out.glob("cells/*/*/*")} == before
    assert found["means"]["f1"]["toy"]["MLkNN(3)"] == Results.open(out).means("f1")[0, 0]
    assert found["means"]["f1"]["toy"]["bad"] is None
    assert {(f["learner"], f["status"]) for f in found["failures"]} == {("bad", "error")}
    # other parameters under the same name: one sentence
    again[again.index("--learners") + 1] = "MLkNN(3), bad=MLkNN(n_neighbors=98)"
    status, output, errors = run(*again[1:])
    assert status == 1 and output == "" and errors.count("\n") == 1
    assert errors.startswith("Error: ") and "other parameters" in errors and "fresh" in errors


def test_options_reach_the_comparison(stub, table, tmp_path, run):
    status, _output, errors = run(
        "compare", table, "digits", "--labels", "tags", "--cv", 10, "--repeats", 2, "--seed", 7,
        "--time-limit", "1.5", "--jobs", -1, "--retry", "--fresh", "--no-report",
        "--out", tmp_path, "--measures", "hamming_loss, f1", "--search-measure", "one_error",
        "--learners", "MLkNN(n_neighbors=[3, 5]), b=BRkNN",
    )  # fmt: skip
    assert status == 0 and errors == ""
    ((data, learners, options),) = stub.calls
    assert [one.name for one in data] == ["toy", "digits"]
    assert list(learners) == ["MLkNN(n_neighbors=[3, 5])", "b"]
    assert "one_error" in repr(learners["MLkNN(n_neighbors=[3, 5])"].scoring)
    said = shlex.split(options.pop("command"))
    assert said[:4] == ["plurilabel", "compare", table, "digits"]
    assert said[said.index("--seed") : said.index("--seed") + 2] == ["--seed", "7"]
    assert not {"--jobs", "--retry", "--fresh", "--no-report"} & set(said)
    del options["progress"]
    assert options == {
        "cv": 10, "repeats": 2, "measures": ["hamming_loss", "f1"], "out": tmp_path, "n_jobs": -1,
        "random_state": 7, "time_limit": 1.5, "retry": True, "fresh": True,
        "words": None, "scheduler": None,
    }  # fmt: skip


def test_defaults(stub, run):
    status, output, _ = run("compare", "digits", "--no-report")
    ((_, learners, options),) = stub.calls
    assert status == 0 and options["cv"] == "holdout" and options["measures"] is None
    assert "RAkEL" in learners and "BinaryRelevance" in learners
    assert output.splitlines()[2].startswith("MLkNN  ")


def test_failures_are_told(stub, run):
    stub.failed = ("RAkEL",)
    status, _output, errors = run("compare", "digits", "--no-report")
    assert status == 1
    assert (
        errors == "RAkEL failed on toy in 2 splits: ValueError: no\nUse --retry to repeat them.\n"
    )


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        ([], 2, "Missing argument 'NAME|FILE...'"),
        (["digits", "--jobs", "two"], 2, "'two' is not a valid integer"),
        (["digits", "--repeats", "0"], 2, "0 is not in the range"),
        (["digits", "--cv", "loo"], 2, "expected holdout or a number of folds from 2, got 'loo'"),
        (["digits", "--cv", "1"], 2, "expected holdout or a number of folds from 2, got '1'"),
        (["digits", "--learners", "MLKNN"], 2, "--learners: unknown learner 'MLKNN'; did you"),
        (["digits", "--measures", "F1"], 2, "--measures: name must be one of"),
        (
            ["digits", "--learners", "MLkNN", "--search-measure", "F1"],
            2,
            "--search-measure: name must be one of",
        ),
        (["digits", "--jobs", "0"], 1, "'n_jobs' parameter of compare must be an int"),
        (["nowhere"], 1, "'nowhere' is neither a file nor a standard dataset"),
        (["digits", "--labels", "tags"], 1, "needs no --labels"),
    ],
)
def test_errors_are_one_sentence(words, status, message, run, tmp_path):
    found, output, errors = run("compare", *words, "--out", tmp_path / "out")
    assert found == status and output == "" and message in errors
    assert "Traceback" not in errors
    if status == 1:
        assert errors.startswith("Error: ") and errors.count("\n") == 1


def test_ctrl_c_says_how_to_go_on(stub, monkeypatch, run):
    def interrupted(*args, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(comparison, "compare", interrupted)
    status, output, errors = run("compare", "digits", "--out", "here")
    assert status == 130 and output == ""
    assert errors == "Stopped. Finished results are in here; the same command continues.\n"


def test_default_learners_suit_the_data():
    names, labels = TOY.feature_names, TOY.label_names
    words = Dataset(sparse.csr_array(np.abs(TOY.X)), sparse.csr_array(TOY.Y), names, labels)
    X = TOY.X.copy()
    X[3, 1] = np.nan
    holes = Dataset(X, TOY.Y, names, labels)
    for data, first in (
        (TOY, "StandardScaler"),
        (words, "MaxAbsScaler"),
        (holes, "SimpleImputer"),
    ):
        learners = {name: make_learner(one) for name, one in default_learners([TOY, data]).items()}
        assert type(learners["MLkNN, scaled"].steps[0][1]).__name__ == first
        for name in ("MLkNN, scaled", "IBLRML, scaled", "BinaryRelevance", "MLRandomForest"):
            predicted = learners[name].fit(data.X, data.Y).predict(data.X)
            assert predicted.shape == data.Y.shape


def test_named_learners_get_what_fit_gives_them(stub, tmp_path, run):
    """Missing values are filled, and scalers leave sparse features sparse."""
    path = tmp_path / "holes.csv"
    path.write_text("x,z,tags\n" + "1,2,a\n,4,b\n3,1,a;b\n" * 5)
    learners = "MLkNN, SimpleImputer | MLkNN(3)"
    run("compare", path, "--labels", "tags", "--learners", learners, "--no-report")
    (data,), given = stub.calls[-1][:2]
    assert data.kinds == {"x": "numbers", "z": "numbers"} and len(given) == 2
    filled, own = (encoding(learner, encoder_of(data)) for learner in given.values())
    assert filled[0].numbers.strategy == "median" and own[0].numbers == "passthrough"
    X = sparse.random_array((30, 6), density=0.3, format="csr", random_state=0)
    Y = sparse.csr_array(np.tile([[1, 0], [0, 1]], (15, 1)))
    io.write_libsvm(tmp_path / "d.svm", Dataset(X, Y, list("uvwxyz"), list("ab")))
    out = ("--no-report", "--out", tmp_path / "out")
    run("compare", tmp_path / "d.svm", "--learners", "StandardScaler | MLkNN", *out)
    (scaled,) = stub.calls[-1][1].values()
    assert not scaled[0].with_mean


def test_a_table_finds_room(capsys):
    results = made_up(names=("toy", "other"))
    show(results)
    wide = capsys.readouterr().out
    assert wide.count("0.105±0.007*") == 2 and wide.count("learner") == 2
    room = max(map(len, wide.splitlines()[1:4])) - 1
    show(results, room=room)  # deviations go first
    narrow = capsys.readouterr().out
    assert "±" not in narrow and "ranking↓" in narrow and "0.105*" in narrow
    show(results, room=34)  # then the last measures
    narrow = capsys.readouterr().out
    assert "ranking↓" not in narrow and "Hamming↓" in narrow and "sec" in narrow
    assert max(map(len, narrow.splitlines()[1:4])) <= 34
    show(made_up(folds=1))
    assert "±" not in capsys.readouterr().out


def test_a_learner_that_lacks_a_split_is_not_the_best(capsys):
    results = made_up(("first", "second", "third"))
    results.cells[0] |= {"status": "error", "error": "ValueError: no"}
    show(results)
    lines = capsys.readouterr().out.splitlines()
    assert [line.count("*") for line in lines[2:5]] == [0, 2, 0]


def test_shared_searches_count(capsys):
    results = made_up()
    for cell in results.cells[1::2]:
        cell["search_seconds"] = 2.0
    show(results)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[-1] for line in lines[2:4]] == ["1.5", "3.5"]


def test_progress_in_a_pipe_is_now_and_then_a_line(capsys, monkeypatch):
    now = 0.0
    monkeypatch.setattr("plurilabel.cli._progress.monotonic", lambda: now)
    cell = {"dataset": "toy", "learner": "MLkNN", "status": "ok", "error": None}
    with ComparisonProgress() as progress:
        progress(1, 9, cell, None)
        now = 6.0
        progress(2, 9, cell, 125.0)
        progress(3, 9, cell, 100.0)
        progress(4, 9, {**cell, "status": "timeout", "error": "too long"}, 1.0)
        progress(9, 9, cell, 0.0)
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines() == [
        "2 of 9: toy, MLkNN; about 2 min 5 s left",
        "4 of 9: toy, MLkNN failed: too long; about 1 s left",
        "9 of 9: toy, MLkNN",
    ]


def test_demo_leaves_a_table_a_picture_and_the_report(tmp_path, run, monkeypatch):
    few = {name: _demo.LEARNERS[name] for name in ("ML-kNN", "DW-ML-kNN", "relevance")}
    assert all(hasattr(make_learner(text), "fit") for text in _demo.LEARNERS.values())
    monkeypatch.setattr(_demo, "LEARNERS", few)
    status, output, _ = run("demo", "--out", tmp_path / "out")
    assert status == 0
    lines = output.splitlines()
    first = lines.index("digits: 3 stratified folds") + 1
    assert lines[first].split()[0] == "learner" and "DW-ML-kNN" in output
    assert all(len(line) <= 80 for line in lines[: first + 4])
    # every learner is better than a coin, and some is nearly right
    f1 = [float(line.split()[-6].rstrip("*")) for line in lines[first + 1 : first + 4]]
    assert len(f1) == 3 and min(f1) > 0.8 and max(f1) > 0.98
    results = Results.open(tmp_path / "out")
    assert len(results.cells) == 9 and not results.failures()
    page = (tmp_path / "out/report.html").read_text(encoding="utf-8")
    assert "DW-ML-kNN" in page and "plurilabel demo" in page
    assert (tmp_path / "out/digits.png").read_bytes().startswith(b"\x89PNG")
