"""Typed columns of a first table, the encoder for them, and further tables."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.model_selection import KFold, cross_val_predict
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

from plurilabel import TableEncoder
from plurilabel.io import read_further, read_table, table_encoder
from plurilabel.io.shared import unseen_categories

NAN = np.nan
FIRST = pd.DataFrame(
    {
        "kind": ["a", "b", "c", ""],
        "size": [1.5, 2, NAN, 4],
        "two": ["m", "f", "f", "m"],
        "yes": ["Yes", "no", "NO", "yes"],
        "vec": [[1, 2], [3, 4], None, [5, 6]],
        "l": [0, 1, 0, 1],
    }
)


def fitted(first, text=None, features=None):
    """A fitted encoder, and the typed columns that it was fitted on."""
    frame = first if "l" in first else first.assign(l=0)
    X = read_table(frame, labels=["l"], text=text, features=features, encode=False).X
    return table_encoder(X, text=text, numbers="passthrough").fit(X), X


def test_typed_columns():
    encoder, X = fitted(FIRST)
    assert isinstance(encoder.transformer_, ColumnTransformer)
    assert list(X.columns) == ["kind", "size", "two", "yes", "vec[0]", "vec[1]"]
    assert [str(dtype) for dtype in X.dtypes] == ["object", "float64", "object", *["float64"] * 3]
    assert X["kind"].tolist()[:3] == ["a", "b", "c"] and np.isnan(X["kind"][3])
    assert X["yes"].tolist() == [1, 0, 0, 1]
    assert encoder.kinds_ == {
        "kind": "categories", "size": "numbers", "two": "categories", "yes": "numbers",
        "vec[0]": "numbers", "vec[1]": "numbers",
    }  # fmt: skip


def test_further_tables():
    encoder, X = fitted(FIRST)
    assert encoder.get_feature_names_out().tolist() == [
        "size", "yes", "vec[0]", "vec[1]", "kind_a", "kind_b", "kind_c", "kind_nan", "two_f",
        "two_m",
    ]  # fmt: skip
    expected = [
        [1.5, 1, 1, 2, 1, 0, 0, 0, 0, 1],
        [2, 0, 3, 4, 0, 1, 0, 0, 1, 0],
        [NAN, 0, NAN, NAN, 0, 0, 1, 0, 1, 0],
        [4, 1, 5, 6, 0, 0, 0, 1, 0, 1],
    ]
    np.testing.assert_array_equal(encoder.transform(X), expected)
    assert unseen_categories(encoder, X) == {}
    # another order, another column, other rows, a value never seen, numbers as text
    further = pd.DataFrame(
        {
            "vec": [[7.0, 8.0]],
            "other": ["?"],
            "yes": ["YES"],
            "two": ["x"],
            "kind": [" b "],
            "size": ["2.5"],
        }
    )
    rows = read_further(further, encoder.kinds_)
    assert rows.Y is None and rows.frame["other"].tolist() == ["?"]
    np.testing.assert_array_equal(encoder.transform(rows.X), [[2.5, 1, 7, 8, 0, 1, 0, 0, 0, 0]])
    assert unseen_categories(encoder, rows.X) == {"two": ["x"]}


@pytest.mark.parametrize(
    ("first", "later", "X"),
    [
        # what pandas makes of a column depends on all its cells
        ([True, False, True], ["True", None, "false"], [[1], [NAN], [0]]),
        ([True, False, True], [1, 0, 1], [[1], [0], [1]]),
        (["1", "a", "b"], [1, 1.0, NAN], [[1, 0, 0], [1, 0, 0], [0] * 3]),
        (["true", "False", "x"], [True, False, True], [[0] * 3, [1, 0, 0], [0] * 3]),
        (["no", "yes", "no"], pd.Categorical(["YES", None, "No"]), [[1], [NAN], [0]]),
        (pd.Categorical(["u", "v", "w"]), ["w", "", "z"], [[0, 0, 1], [0] * 3, [0] * 3]),
        (pd.Categorical([" u", "v", "w"]), ["u", "v", "v"], [[1, 0, 0], [0, 1, 0], [0, 1, 0]]),
        (["u", "v", ""], ["", "v", "z"], [[0, 0, 1], [0, 1, 0], [0] * 3]),
        ([1, 2, 3], ["4", "NA", ""], [[4], [NAN], [NAN]]),
        ([1, 2, 3], [None, None, None], [[NAN]] * 3),
    ],
)
def test_later_cells_of_other_types(first, later, X):
    encoder, _ = fitted(pd.DataFrame({"c": first}))
    rows = read_further(pd.DataFrame({"c": later}), encoder.kinds_)
    np.testing.assert_array_equal(encoder.transform(rows.X), X)


def test_words_and_their_weights_stay():
    first = pd.DataFrame({"text": ["red house", "red door", "", "big red"], "n": [1, 2, 3, 4]})
    later = pd.DataFrame({"n": [5, 6], "text": ["a blue HOUSE, red", None]})
    vectorizer = TfidfVectorizer().fit(first["text"])
    encoder, _ = fitted(first, "text", ["text"])
    assert encoder.get_feature_names_out().tolist() == ["big", "door", "house", "red"]
    X = encoder.transform(read_further(later, encoder.kinds_).X)
    assert sparse.issparse(X)
    texts = later["text"].fillna("")
    np.testing.assert_array_equal(X.toarray(), vectorizer.transform(texts).toarray())
    both, _ = fitted(first, "text")
    assert both.get_feature_names_out().tolist() == [
        "numbers__n", "text__big", "text__door", "text__house", "text__red"
    ]  # fmt: skip
    np.testing.assert_array_equal(
        both.transform(read_further(later, both.kinds_).X).toarray(),
        np.column_stack([[5, 6], X.toarray()]),
    )


def test_words_and_categories_of_test_rows_stay_out_of_every_fold():
    frame = pd.DataFrame(
        {
            "text": ["red house", "green door", "blue day", "red night", "green tree", "blue sea"],
            "kind": ["a", "b", "c", "d", "e", "f"],
            "n": [1, NAN, 3, 4, NAN, 6],
            "tags": ["u", "v", "u", "v", "u;v", "v"],
        }
    )
    data = read_table(frame, labels="tags", text="text", features=["kind", "n"], encode=False)
    encoder = table_encoder(data.X, text="text", numbers=SimpleImputer())
    seen = []

    class Spy(KNeighborsClassifier):
        def fit(self, X, y):
            seen.append(X.shape[1])
            return super().fit(X, y)

    Y = data.Y.toarray()
    cross_val_predict(make_pipeline(encoder, Spy(1)), data.X, Y, cv=KFold(3))
    # each fold: one number, four kinds, and the words of four texts
    words = [
        len({word for i in range(6) if i not in test for word in frame["text"][i].split()})
        for test in ((0, 1), (2, 3), (4, 5))
    ]
    assert seen == [1 + 4 + count for count in words]


def test_many_columns_of_numbers():
    """As a slice, since scikit-learn looks up names of a list one by one; still by name."""
    names = [f"c{j}" for j in range(1200)]
    frame = pd.DataFrame(np.arange(2400.0).reshape(2, 1200), columns=names).assign(k=["a", "b"])
    encoder = table_encoder(frame).fit(frame)
    assert encoder.transformer_.transformers[0][2] == slice("c0", "c1199")
    assert list(encoder.get_feature_names_out()) == [*names, "k_a", "k_b"]
    turned = frame[frame.columns[::-1]]
    np.testing.assert_array_equal(encoder.transform(turned), encoder.transform(frame))
    assert set(encoder.kinds_.items()) >= {("c7", "numbers"), ("k", "categories")}


PACKAGES = pd.DataFrame(
    {
        "id": range(60),
        "name": [f"lib{i}-dev" for i in range(60)],
        "about": [f"a library for things of kind {i % 35}" for i in range(60)],
        "section": [["net", "math", "games"][i % 3] for i in range(60)],
        "code": [10, 20] * 30,
        "maker": [f"m{i % 25}" for i in range(60)],
    }
)


def test_text_and_identifiers_are_detected():
    encoder = TableEncoder().fit(PACKAGES)
    assert encoder.kinds_ == {
        "about": "text", "section": "categories", "code": "numbers", "maker": "categories"
    }  # fmt: skip
    assert encoder.left_out_ == {
        "id": "it numbers the rows",
        "name": "60 different values in 60 rows, such as 'lib0-dev'",
    }
    X = encoder.transform(PACKAGES)
    assert sparse.issparse(X) and X[:, :1].toarray().ravel().tolist() == [0, 1] * 30
    assert "text__library" in encoder.get_feature_names_out()


def test_text_without_spaces_between_words():
    """Sentences in Chinese, Japanese and Thai are text; names are not."""
    said = {"zh": "今天天气很好我们去公园", "ja": "今日は天気がいいです", "th": "วันนี้อากาศดีมาก"}
    rows = pd.DataFrame({name: [f"{text}{i}。" for i in range(40)] for name, text in said.items()})
    rows["city"], rows["name"] = ["北京", "上海"] * 20, [f"李{i}" for i in range(40)]
    encoder = TableEncoder().fit(rows)
    assert encoder.kinds_ == {**dict.fromkeys(said, "text"), "city": "categories"}
    assert list(encoder.left_out_) == ["name"]


def test_copies_of_rows_do_not_hide_an_identifier():
    table = PACKAGES.assign(id=range(1000, 1060), about=[None, *PACKAGES["about"][1:]])
    copied = pd.concat([table, table.iloc[[0, 7, 7, 59]]])
    assert TableEncoder().fit(copied).left_out_["id"] == "it numbers the rows"
    copied["id"] = copied["id"].astype(str)
    assert "id" in TableEncoder().fit(copied).left_out_
    # several rows of one patient are no copies
    visits = pd.DataFrame({"id": np.repeat(range(30), 2), "x": np.arange(60) ** 2})
    assert TableEncoder().fit(visits).left_out_ == {}
    one = pd.DataFrame({"id": np.ones(20), "x": np.arange(20) ** 2})
    assert TableEncoder().fit(one).left_out_ == {}


def test_kinds_can_be_overruled():
    encoder = TableEncoder(text="name", categorical=["code"], drop=["about"]).fit(PACKAGES)
    assert encoder.kinds_ == {
        "name": "text", "section": "categories", "code": "categories", "maker": "categories"
    }  # fmt: skip
    assert {"categories__code_10", "text__lib7"} <= {*encoder.get_feature_names_out()}
    for options, message in (
        ({"text": "nam"}, "text names a column 'nam', .* did you mean 'name'?"),
        ({"drop": list(PACKAGES.columns[2:])}, "expected columns to learn from, got only"),
    ):
        with pytest.raises(ValueError, match=message):
            TableEncoder(**options).fit(PACKAGES)


def test_kinds_of_all_rows_hold_in_every_fold():
    """A column with few values in all has one value in each row of a part of them."""
    part = PACKAGES[:22]  # 22 makers in 22 rows
    assert "maker" in TableEncoder().fit(part).left_out_
    encoder = table_encoder(PACKAGES)
    assert encoder.fit(part).kinds_["maker"] == "categories"
    assert encoder.left_out_.keys() == {"id", "name"}


@pytest.mark.parametrize("form", [list, np.array, pd.Series, lambda t: pd.Series(t, name="plot")])
def test_texts_without_a_table(form):
    texts = ["a red day", "", "blue night"]
    X = TableEncoder().fit_transform(form(texts))
    expected = TfidfVectorizer().fit_transform(texts)
    np.testing.assert_array_equal(X.toarray(), expected.toarray())
    encoder = TableEncoder().fit(form(texts))
    np.testing.assert_array_equal(
        encoder.transform([None, "red"]).toarray(),
        encoder.transform(pd.DataFrame({encoder.feature_names_in_[0]: ["", "red"]})).toarray(),
    )


@pytest.mark.parametrize(
    ("later", "message"),
    [
        (
            {"size": [1], "o": [2]},
            "the table lacks 4 columns, 'kind', 'two', 'yes', 'vec'; it must have the 5 feature",
        ),
        (
            {"size": [1]},
            "of the training table, but has only one, 'size'; is sep= right",
        ),
        (
            FIRST.drop(columns="two"),
            "the table lacks the column 'two'; it must have the 5 feature",
        ),
    ],
)
def test_missing_columns_are_named(later, message):
    encoder, _ = fitted(FIRST)
    with pytest.raises(ValueError, match=message):
        read_further(pd.DataFrame(later), encoder.kinds_)


@pytest.mark.parametrize(
    ("first", "later", "message"),
    [
        (
            "x,l\n1,0\n2,1\n",
            "x,l\n1,0\n?,1\nbig,1\n",
            "line 4: column 'x': expected a number, got 'big'",
        ),
        # words for yes and no, or numbers, but not both
        ("x,l\n1,0\n2,1\n", "x,l\n2,0\nno,1\n", "line 3: column 'x': expected a number, got 'no'"),
        ("x,l\nno,0\nyes,1\n", "x,l\nno,0\nx,1\n", "line 2: column 'x': expected a number, got"),
        (
            '{"x": [1, 2], "l": 0}\n',
            '{"x": [1, 2]}\n{"x": [1]}\n',
            "line 2: column 'x': expected a list of 2 numbers",
        ),
        (
            '{"x": [1, 2], "l": 0}\n',
            '{"x": 5}\n',
            "line 1: column 'x': expected a list of 2 numbers, got 5",
        ),
        (
            '{"x": 1, "l": 0}\n',
            '{"x": 1}\n{"x": {"a": 1}}\n',
            "line 2: column 'x': expected a number, got",
        ),
        ('{"x": 1, "l": 0}\n', '{"x": [1]}\n', "line 1: column 'x': expected a number, got [1]"),
        (
            '{"x": "a", "l": 0}\n',
            '{"x": [1]}\n',
            "line 1: column 'x': expected a number or text, got [1]",
        ),
    ],
)
def test_bad_cells_of_later_files_have_a_line(tmp_path, first, later, message):
    suffix = "jsonl" if first.startswith("{") else "csv"
    (tmp_path / f"a.{suffix}").write_text(first)
    (tmp_path / f"b.{suffix}").write_text(later)
    X = read_table(tmp_path / f"a.{suffix}", labels=["l"], encode=False).X
    kinds = table_encoder(X).fit(X).kinds_
    with pytest.raises(ValueError) as caught:
        read_further(tmp_path / f"b.{suffix}", kinds)
    assert message in str(caught.value)


@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_parts_of_a_table_are_encoded_as_in_the_whole(data):
    """What ``read_table`` gives for all rows, its encoder gives for any of them, in any order."""
    n = data.draw(st.integers(2, 8))
    cells = {
        "number": st.floats(-5, 5) | st.none(),
        "kind": st.sampled_from(["p", "q q", "Q", ""]),
        "flag": st.sampled_from(["yes", "No", "NO", ""]),
        "text": st.text("ab c", max_size=8),
    }
    frame = pd.DataFrame(
        {c: data.draw(st.lists(cell, min_size=n, max_size=n)) for c, cell in cells.items()}
    )
    frame["text"] = frame["text"] + " word"
    frame["l"] = [0, 1] * (n // 2) + [0] * (n % 2)
    columns = ["number", "kind", "flag"]
    whole = read_table(frame, labels=["l"], features=columns, text="text")
    encoder, _ = fitted(frame, "text", columns)
    assert tuple(encoder.get_feature_names_out()) == whole.feature_names
    rows = data.draw(st.lists(st.integers(0, n - 1), min_size=1))
    part = frame.iloc[rows][data.draw(st.permutations(list(frame.columns)))]
    X = encoder.transform(read_further(part, encoder.kinds_).X)
    X = X.toarray() if sparse.issparse(X) else X
    np.testing.assert_array_equal(X, whole.X.toarray()[rows])


def test_columns_are_left_out(tmp_path):
    frame = pd.DataFrame({"id": [f"r{i}" for i in range(40)], "x": range(40), "l": [0, 1] * 20})
    assert read_table(frame, labels=["l"]).left_out.keys() == {"id"}
    assert read_table(frame, labels=["l"], drop=["id"]).feature_names == ("x",)
    assert read_table(frame, labels=["l"], features=["id"]).X.shape == (40, 40)
    for drop, message in (
        (["l"], "drop must name no label column, got 'l'"),
        (["ix"], "drop names a column 'ix', which the table does not have"),
        ("id", "drop must be a sequence of names, got the text 'id'"),
        (["id", "x"], "features must name at least one column, got none besides the labels"),
    ):
        with pytest.raises(ValueError, match=message):
            read_table(frame, labels=["l"], drop=drop)
    # an index that was saved with the table
    frame[["x", "l"]].to_csv(tmp_path / "a.csv")
    assert read_table(tmp_path / "a.csv", labels=["l"], drop=[""]).feature_names == ("x",)
