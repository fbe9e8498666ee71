"""Rows for a model, from files of every kind."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from plurilabel import AutoClassifier, MLkNN, ThresholdClassifier
from plurilabel.datasets import Dataset
from plurilabel.io import (
    read_table,
    table_encoder,
    write_arff,
    write_libsvm,
    write_table,
    write_xmc,
)
from plurilabel.learners import make_learner
from plurilabel.models import Model, train

X = np.array([[0, 1.5, 2], [3, 0, 1], [4, 5, 0], [1, 1, 1]])
Y = np.array([[1, 0], [0, 1], [1, 1], [0, 0]])
DATA = Dataset(X, Y, ("x0", "x1", "x2"), ("red", "blue"), name="toy")


def a_model(**options):
    return Model(MLkNN(1).fit(X, Y), DATA.label_names, DATA.feature_names, **options)


def files(folder):
    packed = Dataset(
        sparse.csr_array(X), sparse.csr_array(Y), DATA.feature_names, DATA.label_names
    )
    write_arff(folder / "a.arff", DATA)
    write_libsvm(folder / "a.svm", packed)
    write_xmc(folder / "a.txt", packed)
    for suffix in ("csv", "parquet", "jsonl", "csv.gz"):
        write_table(folder / f"a.{suffix}", DATA)
    return [folder / f"a.{s}" for s in ("arff", "svm", "txt", "csv", "parquet", "jsonl", "csv.gz")]


@pytest.mark.parametrize("sparse_features", [False, True])
def test_all_formats_give_the_same_rows(tmp_path, sparse_features):
    model = a_model(sparse_features=sparse_features)
    for source in [DATA, *files(tmp_path)]:
        rows = model.read(source, with_labels=True)
        assert sparse.issparse(rows.X) == sparse_features
        assert rows.remarks == []
        dense = [m.toarray() if sparse.issparse(m) else m for m in (rows.X, rows.Y)]
        np.testing.assert_array_equal(dense[0], X)
        np.testing.assert_array_equal(dense[1], Y)
        assert model.read(source).Y is None


def test_columns_are_found_by_name(tmp_path):
    turned = Dataset(
        np.column_stack([X[:, 2], np.ones(4), X[:, :2]]), Y[:, ::-1],
        ("x2", "more", "x0", "x1"), ("blue", "red"),
    )  # fmt: skip
    write_arff(tmp_path / "a.arff", turned)
    write_table(tmp_path / "a.csv", turned)
    for source in (turned, tmp_path / "a.arff", tmp_path / "a.csv"):
        rows = a_model().read(source, with_labels=True)
        np.testing.assert_array_equal(rows.X, X)
        np.testing.assert_array_equal(rows.Y, Y)


def test_labels_may_be_missing_for_predictions(tmp_path):
    (tmp_path / "a.arff").write_text(
        "@relation r\n@attribute x1 numeric\n@attribute x0 numeric\n@attribute x2 {0,1,2}\n"
        "@data\n1.5,0,2\n"
    )
    with pytest.raises(ValueError, match="the rows lack 1 of the model's 3 features: 'x2'"):
        a_model().read(tmp_path / "a.arff")
    (tmp_path / "a.arff").write_text(
        "@relation r\n@attribute x1 numeric\n@attribute x0 numeric\n@attribute x2 numeric\n"
        "@data\n1.5,0,2\n"
    )
    np.testing.assert_array_equal(a_model().read(tmp_path / "a.arff").X, X[:1])
    with pytest.raises(ValueError, match="the rows must have the true labels, 'red' and 'blue'"):
        a_model().read(tmp_path / "a.arff", with_labels=True)
    (tmp_path / "a.svm").write_text(" 2:1.5 3:2\n")
    np.testing.assert_array_equal(a_model().read(tmp_path / "a.svm").X, X[:1])


def test_what_does_not_fit(tmp_path):
    model = a_model()
    (tmp_path / "a.txt").write_text("1 4 2\n0 1:1\n")
    with pytest.raises(ValueError, match="the rows must have the model's 3 features, got 4"):
        model.read(tmp_path / "a.txt")
    (tmp_path / "a.txt").write_text("1 3 5\n0 1:1\n")
    assert model.read(tmp_path / "a.txt").X.shape == (1, 3)
    with pytest.raises(ValueError, match="the rows must have the model's 2 labels, got 5"):
        model.read(tmp_path / "a.txt", with_labels=True)
    (tmp_path / "a.svm").write_text("0 7:1\n")
    with pytest.raises(ValueError, match="feature"):
        model.read(tmp_path / "a.svm")
    frame = pd.DataFrame(X, columns=["x0", "x1", "x2"])
    with pytest.raises(ValueError, match="must have the true labels, in columns as in training"):
        model.read(frame, with_labels=True)
    with pytest.raises(ValueError, match="the format of 'a.xls' does not show in its name"):
        model.read("a.xls")
    with pytest.raises(ValueError, match="column 'x1', row 2: expected a number, got 'big'"):
        model.read(frame.assign(x1=[1.5, 0, "big", 1]))
    other = Dataset(X, Y, DATA.feature_names, ("green", "pink"))
    with pytest.raises(
        ValueError, match="none of the labels 'green' and 'pink' is one of the model"
    ):
        model.read(other, with_labels=True)


def test_labels_that_are_not_known_or_not_there():
    other = Dataset(X, np.column_stack([Y, Y[:, 0]]), DATA.feature_names, ("red", "green", "pink"))
    rows = a_model().read(other, with_labels=True)
    np.testing.assert_array_equal(rows.Y, np.column_stack([Y[:, 0], np.zeros(4)]))
    assert rows.remarks == ["labels that the model does not know are left out: 'green' and 'pink'"]


# tables --------------------------------------------------------------------------------------

FILMS = "length,kind,text,tags\n90,a,a red day,war;love\n143,b,blue night,war\n71,a,red,\n"


@pytest.fixture
def films(tmp_path):
    path = tmp_path / "films.csv"
    path.write_text(FILMS)
    return path


def trained(path, labels="tags", sep=None, **options):
    """A model of a table, whose learner shows how far rows are from those of the table."""
    data = read_table(path, labels=labels, sep=sep, **options, encode=False)
    encoder = table_encoder(data.X, text=options.get("text"), numbers=SimpleImputer())
    pipeline = make_pipeline(encoder, MLkNN(1)).fit(data.X, data.Y)
    return Model(pipeline, data.label_names, data.X.columns, labels, data.tag_sep, sep), data


def test_a_table_is_read_as_in_training(films, tmp_path):
    model, data = trained(films, features=["length", "kind"], text="text")
    assert list(model.feature_names) == ["length", "kind", "text"]
    assert model.tag_sep == ";" and model.encoder is model.estimator[0]
    rows = model.read(films, with_labels=True)
    pd.testing.assert_frame_equal(rows.X, data.X)
    np.testing.assert_array_equal(rows.Y.toarray(), data.Y.toarray())
    assert rows.remarks == []
    new = tmp_path / "new.csv"
    new.write_text("text,kind,length,id\na green red night,c,80,7\n")
    rows = model.read(new)
    assert rows.remarks == [
        "column 'kind' has values that were not seen in training and are encoded as zeros: 'c'"
    ]
    assert rows.frame["id"].tolist() == [7]
    encoded = model.encoder.transform(rows.X).toarray()[0]
    found = dict(zip(model.encoder.get_feature_names_out(), encoded))
    assert found["text__red"] > 0 and found["text__night"] > 0 and found["text__day"] == 0
    assert found["categories__kind_a"] == found["categories__kind_b"] == 0
    with pytest.raises(ValueError, match="in the column 'tags' as in training"):
        model.read(new, with_labels=True)
    new.write_text("text,kind,length,tags\nred,a,80,love|war\n")  # one strange tag: another sep
    with pytest.raises(ValueError, match=r"none of the labels 'love\|war' is one of the model's"):
        model.read(new, with_labels=True)


def test_label_columns_serve_a_model_of_tags(films, tmp_path):
    model, _ = trained(films, drop=["kind", "text"])
    new = tmp_path / "new.csv"
    new.write_text("length,war,love\n80,1,0\n90,0,1\n")
    np.testing.assert_array_equal(model.read(new, with_labels=True).Y, [[0, 1], [1, 0]])


def test_other_formats_serve_a_model_of_tables(tmp_path):
    """Numbers by their names; categories are known by the table's values only."""
    write_table(tmp_path / "a.csv", DATA)
    model, data = trained(tmp_path / "a.csv", labels=["red", "blue"])
    for source in (DATA, *files(tmp_path)[:3]):
        rows = model.read(source, with_labels=True)
        pd.testing.assert_frame_equal(rows.X, data.X)
        Z = rows.Y.toarray() if sparse.issparse(rows.Y) else rows.Y
        np.testing.assert_array_equal(Z, Y)
    with pytest.raises(ValueError, match="the table lacks the column 'x2'; it must have the 3"):
        model.read(Dataset(X[:, :2], Y, ("x0", "x1"), DATA.label_names))


def test_the_encoder_is_found_inside():
    frame = pd.DataFrame({"n": [1.5, 2, 3, 4] * 3, "tags": ["u", "v", "u;v", "u"] * 3})
    data = read_table(frame, labels="tags", encode=False)
    pipeline = make_pipeline(table_encoder(data.X), MLkNN(1))
    search = make_learner("MLkNN([1, 2])", cv=2)
    search.set_params(estimator=pipeline, param_grid={"mlknn__n_neighbors": [1, 2]})
    for estimator in (pipeline, ThresholdClassifier(pipeline, "rcut", cv=2), search):
        model = Model(estimator.fit(data.X, data.Y), data.label_names, ["n"], "tags")
        assert model.encoder.get_feature_names_out().tolist() == ["n"]
        assert model.read(pd.DataFrame({"n": ["7"]})).X["n"].tolist() == [7]
    plain = make_pipeline(FunctionTransformer(), MLkNN(1)).fit(X, Y)
    assert Model(plain, DATA.label_names, DATA.feature_names).encoder is None
    assert a_model().encoder is None


def test_the_separator_of_columns_is_kept(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("x;tags\n1;u,v\n2;u\n")
    model, _ = trained(path, sep=";")
    assert model.tag_sep == ","
    assert model.read(path, with_labels=True).X["x"].tolist() == [1, 2]
    other = tmp_path / "b.csv"
    other.write_text("x|tags\n1|u\n")
    assert model.read(other, sep="|").X["x"].tolist() == [1]


# text among numbers -----------------------------------------------------------------------------

TABLE = pd.DataFrame({"x": [0.5, 1, 2, 3], "c": list("abab"), "l": [1, 0, 1, 0]})
WRONG = pd.DataFrame({"x": [0.5, "oops", 2], "c": ["a", "b", "b"]})
NAMED = "column 'x', row 1: expected a number, got 'oops'"


def fitted_on_a_frame(how):
    """Models that were fitted on a frame with a column of numbers."""
    frame = read_table(TABLE, labels=["l"], encode=False).X
    if how == "train":
        return train(TABLE, labels=["l"], learner="MLkNN(n_neighbors=1)")
    if how == "learner":
        return Model.of(MLkNN(1).fit(TABLE[["x"]], TABLE[["l"]]))
    numbers = {"imputer": SimpleImputer(strategy="median"), "as they are": "passthrough"}
    before = table_encoder(frame, numbers=numbers[how])
    return Model.of(make_pipeline(before, MLkNN(1)).fit(frame, TABLE[["l"]]))


@pytest.mark.parametrize("how", ["train", "learner", "imputer", "as they are"])
def test_text_in_a_column_of_numbers_is_named(tmp_path, how):
    model = fitted_on_a_frame(how)
    assert len(model.predict(WRONG.assign(x=[0.5, "1", 2]))) == 3  # a number, if in quotes
    for rows in (WRONG, WRONG.to_dict("records")):
        for ask in (model.predict, model.predict_proba, model.explain):
            with pytest.raises(ValueError, match=f"^{NAMED}$"):
                ask(rows)
    WRONG.to_csv(tmp_path / "new.csv", index=False)
    with pytest.raises(ValueError, match="line 3: column 'x': expected a number, got 'oops'"):
        model.predict(tmp_path / "new.csv")


def test_text_in_a_column_of_numbers_of_an_automatic_classifier():
    frame = pd.concat([TABLE] * 10, ignore_index=True)
    learner = AutoClassifier(portfolio=[MLkNN(1)], cv=2).fit(frame[["x", "c"]], frame[["l"]])
    with pytest.raises(ValueError, match=NAMED):
        learner.predict(WRONG)
    with pytest.raises(ValueError, match=NAMED):
        MLkNN(1).fit(WRONG[["x"]], [[0], [1], [1]])
