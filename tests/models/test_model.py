"""A model in Python: label sets by name, frames of scores, explanations; saved and loaded."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

pytest.importorskip("skops", reason="model files need skops")

import plurilabel
from plurilabel import (
    BinaryRelevance,
    LabelSetMixture,
    MIMLkNN,
    MLkNN,
    ThresholdClassifier,
    datasets,
)
from plurilabel.bags import Bags
from plurilabel.models import Model

FILMS = pd.DataFrame(
    {
        "length": [90, 143, 71, 118, 95, 152, 88, 125],
        "stars": [3, 5, 3, 4, 3, 5, 3, 4],
        "country": ["fr", "us", "uk", "us", "fr", "us", "uk", "us"],
    },
    index=[f"film {i}" for i in range(8)],
)
TAGS = [["comedy", "love"], ["war"], ["comedy"], ["love", "war"]] * 2


def saved(estimator, folder):
    plurilabel.save(estimator, folder / "m.skops")
    return plurilabel.load(folder / "m.skops")


@pytest.fixture
def of_frames(tmp_path):
    """A user's own pipeline: an integer is a category, which must stay one."""
    before = make_column_transformer(
        (StandardScaler(), ["length"]),
        (OneHotEncoder(handle_unknown="ignore"), ["stars", "country"]),
    )
    return saved(make_pipeline(before, MLkNN(1)).fit(FILMS, TAGS), tmp_path)


def test_label_sets_and_scores_by_name(of_frames):
    assert of_frames.predict(FILMS) == [tuple(tags) for tags in TAGS]
    scores = of_frames.predict_proba(FILMS[2:5])
    assert scores.columns.tolist() == ["comedy", "love", "war"]
    assert scores.index.tolist() == ["film 2", "film 3", "film 4"]
    np.testing.assert_array_equal(scores, of_frames.estimator.predict_proba(FILMS[2:5]))
    assert repr(of_frames).startswith("Model: MLkNN, 3 features, 3 labels, saved with plurilabel")


def test_rows_in_many_forms(of_frames, tmp_path):
    expected = of_frames.predict(FILMS)
    turned = FILMS[["stars", "country", "length"]].assign(title="Mr. Hulot")
    assert of_frames.predict(turned) == expected
    assert of_frames.predict(FILMS.to_dict("records")) == expected
    assert of_frames.predict(FILMS.iloc[:1]) == expected[:1]
    polars = pytest.importorskip("polars")
    pytest.importorskip("pyarrow")
    assert of_frames.predict(polars.from_pandas(FILMS)) == expected
    assert len(of_frames.predict_proba(polars.from_pandas(FILMS))) == 8
    with pytest.raises(ValueError, match="missing columns: 'stars' .1 of 3"):
        of_frames.predict(FILMS.drop(columns="stars"))
    with pytest.raises(ValueError, match="at least one row"):
        of_frames.predict(FILMS[:0])
    with pytest.raises(ValueError, match=r"expected 3 features, as in training, got shape \(8,\)"):
        of_frames.predict(np.zeros(8))


def test_explanations_have_the_names_of_the_model(of_frames):
    (why,) = of_frames.explain(FILMS[:1])
    assert why.label_names == ("comedy", "love", "war") and "comedy" in str(why)
    # names that the learner has never seen
    X, Y = FILMS[["length", "stars"]].to_numpy(), np.eye(8, 2)
    learner = MLkNN(1).fit(X, Y)
    cut = ThresholdClassifier(learner, cv="prefit").fit(X, Y)
    model = Model(cut, ["sea", "sun"], ["length", "stars"])
    assert model.explain(X)[0].label_names == model.explain(FILMS)[0].label_names == ("sea", "sun")
    assert learner.label_names_.tolist() == ["label0", "label1"]
    forest = RandomForestClassifier(5).fit(np.eye(8), np.eye(8, 2))
    (why, *_) = Model(forest, ["a", "b"], list("abcdefgh")).explain(np.eye(8))
    assert tuple(why.label_names) == ("a", "b")


def test_texts_and_their_words(tmp_path):
    texts = ["a red sea", "sun and sea", "red sun", "the sun"] * 3
    tags = [["sea"], ["sea", "sun"], ["sun"], ["sun"]] * 3
    pipeline = make_pipeline(TfidfVectorizer(), BinaryRelevance(LogisticRegression(C=100)))
    model = saved(pipeline.fit(texts, tags), tmp_path)
    assert model.predict(["the sea", "sun"]) == [("sea",), ("sun",)]
    assert model.predict(pd.Series(["the sea"], index=[7])) == [("sea",)]
    assert model.predict_proba(pd.Series(["the sea"], index=[7])).index.tolist() == [7]
    assert "texts" in repr(model)
    assert model.predict(pd.DataFrame({"text": ["the sea"]})) == [("sea",)]
    with pytest.raises(ValueError, match="takes one column of texts, got a text"):
        model.predict("the sea")
    mixture = make_pipeline(CountVectorizer(), LabelSetMixture(random_state=0)).fit(texts, tags)
    assert set(Model.of(mixture).explain(["red sea"])[0].words) == {"red", "sea"}


def test_a_search_a_cut_and_scores_that_are_no_probabilities(tmp_path):
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 3)), columns=list("abc"))
    Y = pd.DataFrame((X.to_numpy() > 0).astype(int), columns=["p", "q", "r"])
    search = GridSearchCV(
        ThresholdClassifier(BinaryRelevance(RidgeClassifier()), "global", cv=2),
        {"strategy": ["global", "scut"]},
        cv=2,
    ).fit(X, Y)
    model = saved(search, tmp_path)
    assert not hasattr(model, "predict_proba")
    with pytest.raises(AttributeError, match="'Model' has no attribute 'predict_proba'"):
        model.predict_proba(X)
    assert model.decision_function(X).columns.tolist() == ["p", "q", "r"]
    names = np.array(["p", "q", "r"])
    assert model.predict(X) == [tuple(names[row == 1]) for row in search.predict(X)]


def test_the_names_of_other_libraries_estimators_must_be_given(tmp_path):
    forest = RandomForestClassifier(5, random_state=0).fit(np.eye(8), np.eye(8, 2))
    with pytest.raises(ValueError, match="label_names must be given, since RandomForest"):
        plurilabel.save(forest, tmp_path / "m.skops")
    model = Model.of(forest, label_names=["a", "b"])
    assert model.predict(np.eye(8)[:1]) in ([("a",)], [()])
    assert model.predict_proba(np.eye(8)).columns.tolist() == ["a", "b"]
    with pytest.raises(ValueError, match="label_names must have 3 entries, one per label, got 1"):
        Model.of(MLkNN(1).fit(FILMS[["length"]], TAGS), label_names=["comedy"])


def test_sparse_rows_one_label_and_classes():
    X = sparse.random_array((30, 4), density=0.5, random_state=0, format="csr")
    y = np.arange(30) % 3
    one = Model.of(MLkNN(3).fit(X, (y > 0)[:, None].astype(int)))
    assert set(one.predict(X)) <= {(), ("label0",)}
    classes = Model.of(MLkNN(3).fit(X, np.array(["a", "b", "c"])[y]))
    assert {len(labels) for labels in classes.predict(X)} == {1}
    assert classes.predict_proba(X).columns.tolist() == ["a", "b", "c"]
    two = Model.of(BinaryRelevance(RidgeClassifier()).fit(X, np.array(["a", "b"])[1 * (y > 0)]))
    scores = two.decision_function(X)
    assert scores.columns.tolist() == ["a", "b"] and two.predict(X)[0] == (
        scores.iloc[0].idxmax(),
    )


def test_bags_are_taken_as_they_are():
    bags = Bags([[[0.0, 0]], [[9, 0], [0, 9]], [[0, 9]], [[9, 0]]])
    model = Model.of(
        MIMLkNN(1, n_citers=1).fit(bags, [["sand"], ["sea", "sky"], ["sky"], ["sea"]])
    )
    assert len(model.predict(bags)) == len(model.explain(bags)) == 4


def test_what_the_command_line_saves_answers_in_python(tmp_path):
    pytest.importorskip("click")
    from plurilabel.cli._main import plurilabel as command
    from tests.cli.runner import runner

    path, out = tmp_path / "films.csv", tmp_path / "films.skops"
    films = FILMS.assign(tags=[";".join(tags) for tags in TAGS])
    films.to_csv(path, index=False)
    fit = ["fit", str(path), "--labels", "tags", "--learner", "MLkNN(n_neighbors=1)"]
    done = runner().invoke(command, [*fit, "--holdout", "0", "-o", str(out)])
    assert done.exit_code == 0, done.output
    model = plurilabel.load(out)
    assert model.predict(FILMS) == model.predict(path) == [tuple(tags) for tags in TAGS]
    assert model.predict_proba(FILMS).index.tolist() == FILMS.index.tolist()
    assert model.explain(FILMS[:1])[0].label_names == ("comedy", "love", "war")
    with pytest.warns(UserWarning, match="column 'country' has values that were not seen"):
        model.predict(FILMS[:1].assign(country="it"))


def test_the_order_of_save_is_told(tmp_path):
    learner = MLkNN(1).fit(FILMS[["length"]], TAGS)
    with pytest.raises(TypeError, match=r"save\(model, path\), got PosixPath and MLkNN"):
        plurilabel.save(tmp_path / "m.skops", learner)


def test_blocks_give_the_same(monkeypatch):
    data = datasets.load("digits", as_frame=True)
    model = Model.of(MLkNN(5).fit(data.X[:200], data.Y[:200]))
    sets, scores = model.predict(data.X[:50]), model.predict_proba(data.X[:50])
    monkeypatch.setattr("plurilabel.models._model._ROWS_AT_ONCE", 20)
    assert model.predict(data.X[:50]) == sets
    pd.testing.assert_frame_equal(model.predict_proba(data.X[:50]), scores)


def test_blocks_are_small_and_never_tiny():
    rows = {(3, 5): 10_000, (200, 100): 10_000, (5000, 10): 1000, (10, 10**6): 1000, (10**7, 1): 1}
    for (q, d), expected in rows.items():
        assert Model(None, range(q), range(d)).rows_at_once == expected
