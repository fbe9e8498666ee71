"""``models.train``: the same model as ``plurilabel fit``, from any form of the data."""

import json

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.model_selection import GridSearchCV

pytest.importorskip("skops", reason="model files need skops")
pytest.importorskip("click", reason="the command line needs click")

import plurilabel
from plurilabel import MLkNN, datasets, io
from plurilabel.cli._main import plurilabel as command
from plurilabel.models import TrainingEvent, load_model, train
from tests.cli.runner import runner


@pytest.fixture(autouse=True)
def few_learners(quick_portfolio):
    """What is tried by default takes minutes."""


@pytest.fixture(scope="module")
def films():
    """Numbers with gaps, categories and text, each of which gives a tag away."""
    rng = np.random.default_rng(0)
    length, country = rng.uniform(60, 180, 80), rng.choice(["fr", "us"], 80)
    plot = rng.choice(["a murder", "a wedding", "a war"], 80)
    tags = [
        ";".join(tag for tag, has in zip(("long", "french", "love"), row) if has)
        for row in zip(length > 120, country == "fr", plot == "a wedding")
    ]
    length[::9] = np.nan
    return pd.DataFrame({"length": length, "country": country, "plot": plot, "tags": tags})


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, []),
        ({"quick": True, "threshold": "rcut"}, ["--quick", "--threshold", "rcut"]),
        (
            {"learner": "StandardScaler | MLkNN(3)", "holdout": 0.4, "random_state": 3},
            ["--learner", "StandardScaler | MLkNN(3)", "--holdout", "0.4", "--seed", "3"],
        ),
        (
            {"learner": "MLkNN(n_neighbors=[1, 5])", "refit": False},
            ["--learner", "MLkNN(n_neighbors=[1, 5])", "--no-refit"],
        ),
    ],
)
def test_the_same_model_as_the_command(films, tmp_path, options, words):
    films.to_csv(tmp_path / "films.csv", index=False)
    out = tmp_path / "films.skops"
    common = ["--labels", "tags", "--text", "plot", "--features", "length,country", "-o", str(out)]
    done = runner().invoke(command, ["fit", str(tmp_path / "films.csv"), *common, *words])
    assert done.exit_code == 0, done.output
    saved = load_model(out)
    reading = {"text": "plot", "features": ["length", "country"], "name": "films"}
    from_file = train(tmp_path / "films.csv", "tags", **reading | {"name": None}, **options)
    from_frame = train(films, labels="tags", **reading, **options)
    for model in (from_file, from_frame):
        assert model.labels == saved.labels and model.label_names == saved.label_names
        assert model.feature_names == saved.feature_names
        assert model.predict(films) == saved.predict(films)
        np.testing.assert_array_equal(model.predict_proba(films), saved.predict_proba(films))
        noted, expected = json.loads(json.dumps(model.notes)), dict(saved.notes)
        for notes in (noted, expected):
            notes.pop("candidates", None)  # which tell their seconds
            notes.pop("options", None)  # of the command
        np.testing.assert_equal(noted, expected)


def test_datasets_arrays_and_frames_give_the_same(tmp_path):
    data = datasets.load("digits")
    few = datasets.Dataset(data.X[:200], data.Y[:200], data.feature_names, data.label_names)
    models = [
        train(few, learner=MLkNN(3)),
        train(few.X, few.Y, learner="MLkNN(3)"),
        train(few.X.tolist(), few.Y.tolist(), learner="MLkNN(3)"),
        train(few.as_frame(), learner=MLkNN(3)),
        train(
            pd.DataFrame(few.X, columns=few.feature_names),
            pd.DataFrame(few.Y, columns=few.label_names),
            learner=MLkNN(3),
        ),
        train(sparse.csr_array(few.X), sparse.csr_array(few.Y), learner=MLkNN(3)),
    ]
    expected = MLkNN(3).fit(few.X, few.Y).predict_proba(data.X[200:300])
    for model in models:
        assert model.notes["held_out"]["rows"] == 40
        scores = model.scores(model.read(data.X[200:300]).X)
        np.testing.assert_array_equal(scores, expected)
    assert models[0].label_names == models[3].label_names == few.label_names
    with pytest.raises(ValueError, match="labels must be a 0/1 matrix"):
        train(few.X)


def test_a_standard_dataset_and_its_published_split(data_folder):
    model = train("flags", learner="StandardScaler | MLkNN")
    assert model.notes["held_out"]["how"] == "65 rows (the published test part)"


def test_the_learner_given_is_not_changed(films):
    learner = GridSearchCV(MLkNN(), [{"n_neighbors": [1, 3]}, {"n_neighbors": [5]}], cv=2)
    before = repr(learner)
    model = train(films, "tags", drop=["plot"], learner=learner)
    assert repr(learner) == before and not hasattr(learner, "best_params_")
    assert len(model.notes["candidates"]) == 3
    assert model.notes["best"] == model.notes["candidates"][0]["parameters"]


def test_events(films):
    events = []
    train(films, "tags", drop=["plot"], learner="MLkNN(3)", progress=events.append)
    assert all(isinstance(event, TrainingEvent) for event in events)
    steps = [event.text for event in events if event.kind == "step"]
    assert steps == [
        "Reading data",
        "Fitting on 64 rows",
        "Evaluating on 16 rows",
        "Refitting on all 80 rows",
    ]
    assert steps == [event.text for event in events if event.kind == "end"]
    assert "Learner: MLkNN(3)" in map(str, events)
    with pytest.raises(ValueError, match="name must be one of"):
        train(films, "tags", measure="f3", progress=events.clear)
    assert events


def test_errors_come_with_the_names_of_parameters(films):
    with pytest.raises(ValueError, match="labels names a column 'tag'"):
        train(films, "tag")
    with pytest.raises(ValueError, match="quick= is not supported with scheduler="):
        train("rows.csv", "tags", scheduler="threads", quick=True)
    with pytest.raises(ValueError, match="a dataset has its own labels, got labels='tags'"):
        train("digits", "tags")
    with pytest.raises(ValueError, match="drop= can only be given for files"):
        train(np.eye(3), np.eye(3, dtype=int), drop=["x0"])
    with pytest.raises(ValueError, match="has bags of instances"):
        train(datasets.Dataset(np.zeros((3, 2, 2)), np.eye(3, dtype=int)))


def test_word_features():
    words = io.word_features(ngrams=2, min_count=2, subwords=True)
    (_, whole), (_, parts) = words.transformer_list
    assert whole.ngram_range == (1, 2) and whole.min_df == parts.min_df == 2
    assert parts.analyzer == "char_wb"


# groups and time -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def visits():
    """Six visits of each of 30 patients, all alike, whose tags nobody can tell; latest first."""
    rng = np.random.default_rng(0)
    who = np.repeat(np.arange(30), 6)
    frame = pd.DataFrame(rng.normal(size=(30, 3))[who], columns=["a", "b", "c"])
    frame += 0.01 * rng.normal(size=frame.shape)
    frame["patient"] = [f"P{i}" for i in who]
    frame["day"] = pd.date_range("2024-01-01", periods=180)[::-1].strftime("%d.%m.%Y")
    frame["tags"] = rng.choice(["x;y", "y", "z", "x"], 30)[who]
    return frame


KNN = "StandardScaler | MLkNN(n_neighbors=3)"


@pytest.mark.parametrize("learner", [None, KNN, "MLkNN(n_neighbors=[2, 3])"])
@pytest.mark.filterwarnings("ignore:.*equal to others, or nearly")
def test_patients_are_held_out_as_a_whole(visits, learner):
    options = {"drop": ["day"], "learner": learner, "threshold": "scut", "quick": True}
    apart = train(visits, "tags", group="patient", **options)
    mixed = train(visits, "tags", **{**options, "drop": ["day", "patient"]})
    assert apart.notes["held_out"]["how"] == "36 rows (20%, whole groups)"
    assert list(apart.feature_names) == ["a", "b", "c"]
    one, other = (model.notes["held_out"]["measures"]["micro_f1"] for model in (apart, mixed))
    assert learner is None or (other > 0.9 and one < 0.8)


def test_groups_as_a_column_and_as_values(visits):
    features, Y = visits[["a", "b", "c"]], visits["tags"].str.get_dummies(";")
    again = train(features, Y, group=visits["patient"], learner=KNN)
    direct = train(visits, "tags", group="patient", drop=["day"], learner=KNN)
    assert again.notes["held_out"]["measures"] == direct.notes["held_out"]["measures"]


def test_groups_and_time_on_the_command_line(visits, tmp_path):
    visits.to_csv(tmp_path / "visits.csv", index=False)
    common = ["fit", str(tmp_path / "visits.csv"), "--labels", "tags", "--learner", KNN, "--json"]
    for words, options in [
        (["--group", "patient", "--drop", "day"], {"group": "patient", "drop": ["day"]}),
        (["--time", "day", "--drop", "patient"], {"time": "day", "drop": ["patient"]}),
    ]:
        out = ["-o", str(tmp_path / f"{words[1]}.skops")]
        done = runner().invoke(command, [*common, *words, *out])
        assert done.exit_code == 0, done.output
        expected = train(visits, "tags", learner=KNN, **options).notes["held_out"]
        assert load_model(out[1]).notes["held_out"]["how"] == expected["how"]
        assert load_model(out[1]).notes["held_out"]["measures"] == expected["measures"]
    words = ["--cv", "3", "--group", "patient", "--drop", "day", "--learners", KNN]
    out = ["--out", str(tmp_path / "out"), "--no-report"]
    table = [str(tmp_path / "visits.csv"), "--labels", "tags"]
    done = runner().invoke(command, ["compare", *table, *words, *out])
    assert done.exit_code == 0, done.output
    assert "3 stratified folds of whole groups" in done.output


@pytest.mark.parametrize("learner", [None, KNN, "MLkNN(n_neighbors=[2, 3])"])
def test_later_rows_are_held_out(visits, learner, tmp_path):
    options = {"drop": ["patient"], "learner": learner, "threshold": "scut", "quick": True}
    model = train(visits, "tags", time="day", refit=False, **options)
    assert model.notes["held_out"]["how"] == "36 rows (20%, the last ones)"
    last = visits.iloc[:36][::-1].drop(columns=["patient", "day"])  # the table begins with them
    measured = model.evaluate(model.read(last, with_labels=True))[0]
    assert_allclose(measured["micro_f1"], model.notes["held_out"]["measures"]["micro_f1"])
    plurilabel.save(model, tmp_path / "m.skops")
    loaded = plurilabel.load(tmp_path / "m.skops")
    assert loaded.predict(last) == model.predict(last)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"group": "patients"},
            "group names a column 'patients', which .* did you mean 'patient'",
        ),
        ({"group": "tags"}, "group must name no label column, got 'tags'"),
        ({"time": "patient"}, "time must name a column of dates or numbers, got 'patient'"),
        ({"group": "patient", "time": "day"}, "groups and an order in time cannot be kept"),
        ({"group": [1, 2]}, "group must have one value per row, 180 in total"),
        ({"group": "patient", "scheduler": "threads"}, "group= is not supported with scheduler="),
    ],
)
def test_bad_groups_and_times(visits, options, message):
    with pytest.raises(ValueError, match=message):
        train(visits, "tags", **{"learner": KNN, **options})
    gaps = visits.assign(patient=visits["patient"].where(visits.index > 0))
    with pytest.raises(ValueError, match="'patient' has 1 empty cell"):
        train(gaps, "tags", group="patient", drop=["day"])
