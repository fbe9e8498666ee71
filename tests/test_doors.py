"""One road: Python, files, the command line and the service give the same answer, bit for bit."""

import json
from functools import partial
from itertools import combinations
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("skops", reason="model files need skops")
pytest.importorskip("fastapi", reason="the service needs it")

from scipy import sparse
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline

from plurilabel import AutoClassifier, MLkNN, TableEncoder, distributed, io, label_matrix, metrics
from plurilabel._core.blocks import dense
from plurilabel.cli._main import plurilabel as command
from plurilabel.datasets import Dataset
from plurilabel.evaluation import Results, compare
from plurilabel.learners import make_learners
from plurilabel.models import Model, load_model, save_model, train
from plurilabel.serve import Ask, Service
from plurilabel.wrappers.automatic import _auto

WORDS = np.array(["a ball", "some bread", "the bank"])
LABELS = ["food", "money", "sport"]
DOORS = ("python", "python file", "frame", "csv", "parquet", "command line", "service")


def table(n=90):
    """Text, numbers with gaps, categories, dates and identifiers; labels by words and price."""
    rng = np.random.default_rng(0)
    has = rng.random((n, 3)) < [0.5, 0.4, 0.3]
    filler = ["red", "house", "tree", "day", "night", "of", "in"]
    frame = pd.DataFrame(
        {
            "id": range(n),
            "key": [f"k{i:04d}" for i in range(n)],
            "body": [" ".join([*rng.choice(filler, 6), *WORDS[row]]) for row in has],
            "price": np.where(has[:, 0], 5.0, 1.0) + rng.normal(size=n).round(3),
            "land": rng.choice(["de", "fr", "us"], n),
            "sent": pd.to_datetime("2024-01-01") + pd.to_timedelta(rng.integers(0, 700, n), "D"),
        }
    )
    frame.loc[[3, 50], "price"] = np.nan
    Y = pd.DataFrame(has[:, [1, 2, 0]].astype(int), columns=LABELS)
    return frame, Y


@pytest.fixture(scope="module")
def few_candidates():
    """AutoClassifier tries two learners: which ones does not matter to the doors."""
    every = _auto.candidates

    def few(*args):
        first, *_, last = every(*args)
        return [first, last]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_auto, "candidates", few)
        yield


@pytest.fixture(scope="module")
def answers(tmp_path_factory, few_candidates):
    """Probabilities and label sets by door, of the same rows."""
    folder = tmp_path_factory.mktemp("doors")
    frame, Y = table()
    new = frame[::2].reset_index(drop=True)
    tags = [";".join(Y.columns[row == 1]) for row in Y.to_numpy()]
    full = frame.assign(tags=tags)
    full.to_csv(folder / "t.csv", index=False)
    full.to_parquet(folder / "t.parquet")
    new.to_csv(folder / "new.csv", index=False)
    auto = AutoClassifier(portfolio="quick", random_state=0).fit(frame, Y)
    save_model(auto, folder / "auto.skops")
    options = {"quick": True, "holdout": 0}
    saved = folder / "m.skops"
    command(
        ["fit", str(folder / "t.csv"), "--labels", "tags", "--quick", "--holdout", "0", "-q", "-o",
         str(saved)],
        standalone_mode=False,
    )  # fmt: skip
    models = {
        "python": Model.of(auto),
        "python file": load_model(folder / "auto.skops"),
        "frame": train(frame, Y, **options),
        "csv": train(folder / "t.csv", "tags", **options),
        "parquet": train(folder / "t.parquet", "tags", **options),
        "command line": load_model(saved),
    }
    found = {
        door: (model.predict_proba(new).to_numpy(), model.predict(new))
        for door, model in models.items()
    }
    assert [list(labels) for labels in found["python"][1]] == [
        [name for name, on in zip(LABELS, row) if on] for row in auto.predict(new)
    ]
    np.testing.assert_array_equal(found["python"][0], auto.predict_proba(new))
    by_file = load_model(saved).predict_proba(folder / "new.csv").to_numpy()
    np.testing.assert_array_equal(by_file, found["command line"][0])
    service = Service(load_model(saved))
    rows = new.assign(sent=new["sent"].dt.strftime("%Y-%m-%d")).astype(object)
    records = rows.where(rows.notna(), None).to_dict("records")
    rows = service.predict(records, Ask(scores=True))["rows"]
    scores = np.array([[row["scores"][name] for name in LABELS] for row in rows])
    found["service"] = scores, [tuple(row["labels"]) for row in rows]
    return found


@pytest.mark.parametrize(("one", "other"), list(combinations(DOORS, 2)))
def test_two_doors(answers, one, other):
    np.testing.assert_array_equal(answers[one][0], answers[other][0])
    assert answers[one][1] == answers[other][1]


def test_explanations_by_every_door(tmp_path, few_candidates, capsys):
    """The parts of a label are the same in Python, by command and from the service."""
    frame, Y = table()
    auto = AutoClassifier(portfolio="quick", random_state=0).fit(frame[["body", "price"]], Y)
    save_model(auto, tmp_path / "m.skops")
    row = frame[["body", "price"]][1:2]
    (why,) = auto.explain(row)
    row.to_csv(tmp_path / "new.csv", index=False)
    given = [str(tmp_path / "m.skops"), str(tmp_path / "new.csv")]
    options = ["--label", ",".join(LABELS), "--top", "4", "--json"]
    command(["explain", *given, *options], standalone_mode=False)
    (shown,) = json.loads(capsys.readouterr().out)["rows"]
    model = load_model(tmp_path / "m.skops")
    answer = Service(model).explain(row.to_dict("records"), top=4)["rows"][0]
    by_service = {one["label"]: one["parts"] for one in answer["labels"]}
    for one in shown["labels"]:
        label = one["label"]
        parts = dict(why.top(label, 4))
        assert list(parts) == list(one["parts"])
        assert parts == pytest.approx(one["parts"])
        assert parts == pytest.approx({p["part"]: p["adds"] for p in by_service[label]}, abs=1e-6)
        assert parts == pytest.approx(dict(model.explain(row)[0].top(label, 4)))


def test_the_encoder_learns_in_every_fold(few_candidates):
    """A word that only rows of one fold have is unknown to the model that scores them."""
    frame, Y = table()
    texts = frame["body"].tolist()
    texts[0] = "unheard"
    seen = []

    class Spy(AutoClassifier):
        def fit(self, X, y):
            super().fit(X, y)
            names = self.encoder_.get_feature_names_out()
            seen.append(any("nhe" in name for name in names))  # of words, or of parts of words
            return self

    model = Spy(portfolio="quick", cv=2, random_state=0)
    cross_val_predict(model, np.array(texts, dtype=object), Y.to_numpy(), cv=KFold(3))
    assert sorted(seen) == [False, True, True]


def test_few_texts_are_not_categories(few_candidates):
    texts, tags = ["a cough", "a rash and fever"] * 10, [["lung"], ["skin", "fever"]] * 10
    model = AutoClassifier(portfolio="quick", random_state=0).fit(texts, tags)
    assert model.encoder_.kinds_ == {"text": "text"}
    assert Model.of(model).predict(["rash"]) == [("fever", "skin")]
    results = compare({"t": (texts, label_matrix(tags))}, Wide(1), cv=2, n_jobs=None)
    assert not results.failures() and Wide.seen[-1] == 4


@pytest.fixture(scope="module")
def scores_of_texts(few_candidates):
    frame, Y = table()
    model = AutoClassifier(portfolio="quick", cv=3, random_state=0).fit(frame[["body"]], Y)
    return model.predict_proba(frame)


# each form of the texts with one form of the labels: the two are converted independently
@pytest.mark.parametrize(
    ("form", "labels"), [(list, list), (np.array, set), (pd.Series, pd.DataFrame)]
)
def test_texts_and_tags(scores_of_texts, form, labels):
    frame, Y = table()
    texts = form(frame["body"].tolist())
    tags = [[name for name, has in zip(LABELS, row) if has] for row in Y.to_numpy()]
    y = Y.astype(bool) if labels is pd.DataFrame else list(map(labels, tags))
    model = AutoClassifier(portfolio="quick", cv=3, random_state=0).fit(texts, y)
    assert model.label_names_.tolist() == LABELS
    np.testing.assert_array_equal(model.predict_proba(texts), scores_of_texts)
    assert Model.of(model).predict(["a ball"]) == [("sport",)]


TAGS = [[name for name, has in zip(LABELS, row) if has] for row in table()[1].to_numpy()]
FORMS = {
    "lists": (TAGS, "MultiLabelBinarizer"),  # scikit-learn's own words, before any of ours
    "sets": (list(map(set, TAGS)), r"y = plurilabel.label_matrix\(y\)"),
    "joined": ([";".join(tags) for tags in TAGS], r"plurilabel.label_matrix\(y, sep=';'\)"),
    "column": (pd.Series([", ".join(tags) for tags in TAGS]), r"label_matrix\(y, sep=','\)"),
    "booleans": (table()[1].astype(bool), None),
    "zeros and ones": (table()[1], None),
}


@pytest.mark.parametrize("form", [list, np.array, pd.Series])
@pytest.mark.parametrize(("tags", "instead"), FORMS.values(), ids=FORMS)
def test_texts_in_searches(form, tags, instead):
    """Each combination works, or the error has the line to write, and then it works."""
    frame, Y = table()
    texts = form(frame["body"].tolist())
    pipeline = make_pipeline(TableEncoder(), MLkNN(3))
    scorer = metrics.get_scorer("micro_f1")
    options = {"cv": 2, "scoring": scorer, "error_score": "raise"}
    search = GridSearchCV(pipeline, {"mlknn__n_neighbors": [3]}, **options)
    if instead is not None:
        for score in (search.fit, partial(cross_val_score, pipeline, **options)):
            with pytest.raises(ValueError, match=instead):
                score(texts, tags)
        tags = label_matrix(tags)
    expected = cross_val_score(pipeline, frame[["body"]], Y, **options)
    np.testing.assert_array_equal(cross_val_score(pipeline, texts, tags, **options), expected)
    assert search.fit(texts, tags).best_score_ == expected.mean()
    assert search.best_estimator_[-1].label_names_.tolist() == LABELS


LEARNERS = (
    "MLkNN(n_neighbors=3), MLkNN(n_neighbors=[3, 5]), "
    "AutoClassifier(portfolio='quick', cv=3, random_state=0)"
)


def figures(results):
    assert not results.failures()
    return {name: results.means(name)[0].tolist() for name in results.measures}


@pytest.fixture(scope="module")
def compared(tmp_path_factory):
    """Measures of the same learners on the same rows, by the door of the comparison."""
    folder = tmp_path_factory.mktemp("compared")
    frame, Y = table()
    tags = [";".join(Y.columns[row == 1]) for row in Y.to_numpy()]
    frame.assign(tags=tags).to_csv(folder / "t.csv", index=False)
    as_read = io.read(folder / "t.csv", labels="tags", encode=False)
    words = ["compare", str(folder / "t.csv"), "--labels", "tags", "--learners", LEARNERS]
    command([*words, "--out", str(folder / "out"), "--no-report"], standalone_mode=False)
    learners = make_learners(LEARNERS, measure="f1")
    return {
        "command line": figures(Results.open(folder / "out")),
        "file": figures(compare(as_read, learners, n_jobs=None)),
        "frame": figures(compare({"t": (frame, Y)}, learners, n_jobs=None)),
    }


@pytest.mark.parametrize("door", ["file", "frame"])
def test_comparisons(compared, door):
    np.testing.assert_equal(compared[door], compared["command line"])


@pytest.mark.parametrize("number", range(3))
def test_a_comparison_is_training_on_the_rows_of_a_fold(number):
    """The same learner by ``train`` on the training rows, measured on the test rows."""
    frame, Y = table()
    train_rows, test_rows = np.arange(0, 60), np.arange(60, 90)
    learner = list(make_learners(LEARNERS, measure="f1").values())[number]
    results = compare({"t": (frame, Y)}, learner, cv=[(train_rows, test_rows)], n_jobs=None)
    seed = results.cells[0]["seed"]
    kinds = io.table_encoder(frame).kinds  # those that all rows show
    part = Dataset(frame.iloc[train_rows][list(kinds)], Y.iloc[train_rows].to_numpy(), kinds=kinds)
    if isinstance(learner, AutoClassifier):
        learner = learner.set_params(encoder=io.table_encoder(frame))
        model = learner.fit(frame.iloc[train_rows], Y.iloc[train_rows])
    else:
        model = train(part, learner=learner, holdout=0, random_state=seed).estimator
    new = frame.iloc[test_rows]
    expected = metrics.evaluate(Y.iloc[test_rows], model.predict_proba(new), model.predict(new))
    found = {name: results.means(name)[0, 0] for name in results.measures}
    shared = set(found) & set(expected)
    assert len(shared) > 20
    for name in shared:
        np.testing.assert_array_equal(found[name], expected[name], err_msg=name)


class Wide(MLkNN):
    """Remembers how many features it was fitted on."""

    seen: ClassVar[list[int]] = []

    def fit(self, X, y):
        self.seen.append(X.shape[1])
        return super().fit(X, y)


def test_comparisons_learn_words_in_every_fold():
    frame, Y = table()
    frame.loc[0, "body"] = "unheard"
    folds = list(KFold(3).split(frame))
    Wide.seen.clear()
    compare({"t": (frame[["body"]], Y)}, Wide(3), cv=folds, n_jobs=None)
    texts = frame["body"].to_numpy()
    assert Wide.seen == [
        TfidfVectorizer().fit_transform(texts[rows]).shape[1] for rows, _ in folds
    ]
    assert len(set(Wide.seen)) > 1


def test_learners_that_encode_themselves_get_the_table():
    frame, Y = table()
    own = make_pipeline(ColumnTransformer([("words", TfidfVectorizer(), "body")]), MLkNN(3))
    whole = make_pipeline(TableEncoder(drop=["id", "key", "price", "land", "sent"]), MLkNN(3))
    texts = compare({"t": (frame["body"].tolist(), Y)}, MLkNN(3), cv=2, n_jobs=None)
    found = compare({"t": (frame, Y)}, {"own": own, "whole": whole}, cv=2, n_jobs=None)
    np.testing.assert_array_equal(found.means("f1")[0], [texts.means("f1")[0, 0]] * 2)


@pytest.mark.parametrize("learner", ["MLkNN(n_neighbors=3)", "StandardScaler | MLkNN"])
@pytest.mark.parametrize("columns", [None, ["price", "land", "sent"], ["price"]])
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_blocks(tmp_path, suffix, columns, learner):
    """Files read in blocks by Dask, and the same rows in memory."""
    pytest.importorskip("dask.array", reason="the extra 'dask' is not installed")
    frame, Y = table()
    new = frame[::2].reset_index(drop=True)
    full = frame.assign(tags=[";".join(Y.columns[row == 1]) for row in Y.to_numpy()])
    paths = [tmp_path / f"{i}.{suffix}" for i in range(2)]
    for path, part in zip(paths, (full[:40], full[40:])):
        if suffix == "csv":
            part.to_csv(path, index=False)
        else:
            part.to_parquet(path, row_group_size=15)
    options = {"learner": learner, "holdout": 0, "features": columns}
    blocks = train(paths, "tags", scheduler="threads", **options)
    memory = train(full, "tags", **options)
    assert blocks.feature_names == memory.feature_names
    np.testing.assert_array_equal(blocks.predict_proba(new), memory.predict_proba(new))
    assert blocks.predict(new) == memory.predict(new)
    # a fitted encoder, block by block
    encoder = memory.encoder
    data = distributed.read(paths, labels="tags", encoder=encoder, rows=20)
    assert data.feature_names == tuple(encoder.get_feature_names_out())
    found, expected = data.X.compute(), encoder.transform(frame)
    assert sparse.issparse(found) == sparse.issparse(expected)
    np.testing.assert_array_equal(dense(found), dense(expected))
