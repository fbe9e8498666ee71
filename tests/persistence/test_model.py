"""Rows for a model, from files of every kind."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from plurilabel import MLkNN
from plurilabel.datasets import Dataset
from plurilabel.io import write_arff, write_libsvm, write_table, write_xmc
from plurilabel.persistence._model import Model
from plurilabel.persistence._training_data import TrainingData, read_training_table

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
    with pytest.raises(ValueError, match="the rows must have the true labels, 'red', 'blue'"):
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
    with pytest.raises(ValueError, match="a.xls must end in one of .arff, .csv"):
        model.read("a.xls")
    with pytest.raises(ValueError, match="column 'x1', row 2: expected a number, got 'big'"):
        model.read(frame.assign(x1=[1.5, 0, "big", 1]))
    other = Dataset(X, Y, DATA.feature_names, ("green", "pink"))
    with pytest.raises(ValueError, match="none of the labels 'green', 'pink' is one of the model"):
        model.read(other, with_labels=True)


def test_labels_that_are_not_known_or_not_there():
    other = Dataset(X, np.column_stack([Y, Y[:, 0]]), DATA.feature_names, ("red", "green", "pink"))
    rows = a_model().read(other, with_labels=True)
    np.testing.assert_array_equal(rows.Y, np.column_stack([Y[:, 0], np.zeros(4)]))
    assert rows.remarks == ["labels that the model does not know are left out: 'green', 'pink'"]


# tables --------------------------------------------------------------------------------------

FILMS = "length,kind,text,tags\n90,a,a red day,war;love\n143,b,blue night,war\n71,a,red,\n"


@pytest.fixture
def films(tmp_path):
    path = tmp_path / "films.csv"
    path.write_text(FILMS)
    return path


def trained(source):
    learner = MLkNN(1).fit(source.data.X, source.data.Y)
    return source.model(learner, {"more": 1})


def test_a_table_is_read_as_in_training(films, tmp_path):
    source = read_training_table(films, labels="tags", features=["length", "kind"], text="text")
    assert source.data.feature_names[:3] == ("length", "kind=b", "text:blue")
    assert source.n_numbers == 2
    model = trained(source)
    assert model.tag_sep == ";" and model.labels == "tags" and model.sparse_features
    rows = model.read(films, with_labels=True)
    np.testing.assert_array_equal(rows.X.toarray(), source.data.X.toarray())
    np.testing.assert_array_equal(rows.Y.toarray(), source.data.Y.toarray())
    new = tmp_path / "new.csv"
    new.write_text("text,kind,length,id\na green red night,c,80,7\n")
    rows = model.read(new)
    assert rows.remarks == [
        "column 'kind' has values that were not there in training, taken as missing: 'c'"
    ]
    assert rows.frame["id"].tolist() == [7]
    words = dict(zip(model.feature_names[2:], rows.X.toarray()[0, 2:]))
    assert words["text:red"] > 0 and words["text:night"] > 0 and words["text:day"] == 0
    with pytest.raises(ValueError, match="in the column 'tags' as in training"):
        model.read(new, with_labels=True)
    new.write_text("text,kind,length,tags\nred,a,80,love|war\n")  # one strange tag: another sep
    with pytest.raises(ValueError, match=r"none of the labels 'love\|war' is one of the model's"):
        model.read(new, with_labels=True)


def test_label_columns_serve_a_model_of_tags(films, tmp_path):
    model = trained(read_training_table(films, labels="tags", drop=["kind", "text"]))
    new = tmp_path / "new.csv"
    new.write_text("length,war,love\n80,1,0\n90,0,1\n")
    np.testing.assert_array_equal(model.read(new, with_labels=True).Y, [[0, 1], [1, 0]])


def test_words_of_test_rows_stay_out(films):
    source = read_training_table(films, labels="tags", text="text")
    train, test = np.array([0, 2]), np.array([1])
    X_train, X_test, Y_train, Y_test = source.parts(train, test)
    assert X_train.shape == (2, 2) and X_test.nnz == 0  # day, red; neither blue nor night
    assert Y_train.shape == (2, 2) and Y_test.toarray().tolist() == [[0, 1]]


def test_parts_without_words_are_rows(films):
    source = TrainingData(DATA)
    X_train, _, _, Y_test = source.parts(np.array([2, 0]), np.array([1]))
    np.testing.assert_array_equal(X_train, X[[2, 0]])
    np.testing.assert_array_equal(Y_test, Y[[1]])
    assert source.n_numbers == 3
    assert trained(source).encoder is None


def test_the_separator_of_columns_is_kept(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("x;tags\n1;u,v\n2;u\n")
    model = trained(read_training_table(path, labels="tags", sep=";"))
    assert model.tag_sep == ","
    np.testing.assert_array_equal(model.read(path, with_labels=True).X, [[1], [2]])
    other = tmp_path / "b.csv"
    other.write_text("x|tags\n1|u\n")
    assert model.read(other, sep="|").X.tolist() == [[1]]
