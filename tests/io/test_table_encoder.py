"""The features of a first table, made again from further ones."""

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.feature_extraction.text import TfidfVectorizer

from plurilabel.io._table._encoder import TableEncoder
from plurilabel.io._table._open import open_table
from plurilabel.io._table._read import read_table

NAN = np.nan
FIRST = pd.DataFrame(
    {
        "size": [1.5, 2, NAN, 4],
        "kind": ["a", "b", "c", ""],
        "two": ["m", "f", "f", "m"],
        "yes": ["Yes", "no", "NO", "yes"],
        "vec": [[1, 2], [3, 4], None, [5, 6]],
    }
)


def again(encoder):
    return TableEncoder.from_dict(json.loads(json.dumps(encoder.to_dict())))


@pytest.mark.parametrize("through_json", [False, True])
def test_further_tables(through_json):
    encoder = TableEncoder().fit(FIRST)
    if through_json:
        encoder = again(encoder)
    assert encoder.feature_names == (
        "size", "kind=a", "kind=b", "kind=c", "two=m", "yes", "vec[0]", "vec[1]"
    )  # fmt: skip
    X = [
        [1.5, 1, 0, 0, 1, 1, 1, 2],
        [2, 0, 1, 0, 0, 0, 3, 4],
        [NAN, 0, 0, 1, 0, 0, NAN, NAN],
        [4, NAN, NAN, NAN, 1, 1, 5, 6],
    ]
    np.testing.assert_array_equal(encoder.transform(FIRST), X)
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
    np.testing.assert_array_equal(encoder.transform(further), [[2.5, 0, 1, 0, NAN, 1, 7, 8]])
    assert encoder.unseen(further) == {"two": ["x"]}
    assert encoder.unseen(FIRST) == {}


@pytest.mark.parametrize(
    ("first", "later", "X"),
    [
        # what pandas makes of a column depends on all its cells
        ([True, False, True], ["True", None, "false"], [[1], [NAN], [0]]),
        ([True, False, True], [1, 0, 1], [[1], [0], [1]]),
        (["1", "a", "b"], [1, 1.0, NAN], [[1, 0, 0], [1, 0, 0], [NAN] * 3]),
        (["true", "False", "x"], [True, False, True], [[NAN] * 3, [1, 0, 0], [NAN] * 3]),
        (["no", "yes", "no"], pd.Categorical(["YES", None, "No"]), [[1], [NAN], [0]]),
        (pd.Categorical(["u", "v", "w"]), ["w", "", "z"], [[0, 0, 1], [NAN] * 3, [NAN] * 3]),
        (pd.Categorical([" u", "v", "w"]), ["u", "v", "v"], [[1, 0, 0], [0, 1, 0], [0, 1, 0]]),
        ([1, 2, 3], ["4", "NA", ""], [[4], [NAN], [NAN]]),
        ([1, 2, 3], [None, None, None], [[NAN]] * 3),
    ],
)
def test_later_cells_of_other_types(first, later, X):
    encoder = again(TableEncoder().fit(pd.DataFrame({"c": first})))
    np.testing.assert_array_equal(encoder.transform(pd.DataFrame({"c": later})), X)


def test_words_and_their_weights_stay():
    first = pd.DataFrame({"text": ["red house", "red door", "", "big red"], "n": [1, 2, 3, 4]})
    later = pd.DataFrame({"n": [5, 6], "text": ["a blue HOUSE, red", None]})
    vectorizer = TfidfVectorizer().fit(first["text"])
    encoder = again(TableEncoder().fit(first, text="text"))
    assert encoder.feature_names == ("big", "door", "house", "red")
    X = encoder.transform(later)
    assert isinstance(X, sparse.csr_array)
    texts = later["text"].fillna("")
    np.testing.assert_array_equal(X.toarray(), vectorizer.transform(texts).toarray())
    both = again(TableEncoder().fit(first, ["n"], "text"))
    assert both.feature_names == ("n", "text:big", "text:door", "text:house", "text:red")
    np.testing.assert_array_equal(
        both.transform(later).toarray(), np.column_stack([[5, 6], X.toarray()])
    )


def test_words_of_some_rows_only():
    frame = pd.DataFrame({"text": ["red house", "red door", "green tree"]})
    encoder = TableEncoder().fit(frame, text="text", word_rows=np.array([0, 1]))
    twin = TfidfVectorizer().fit(["red house", "red door"])
    assert encoder.feature_names == ("door", "house", "red")
    np.testing.assert_array_equal(
        encoder.transform(frame).toarray(), twin.transform(frame["text"]).toarray()
    )


@pytest.mark.parametrize(
    ("later", "message"),
    [
        (
            {"size": [1]},
            "the table lacks 4 columns, 'kind', 'two', 'yes', 'vec'; it must have the 5",
        ),
        (
            FIRST.drop(columns="two"),
            "the table lacks the column 'two'; it must have the 5 feature",
        ),
    ],
)
def test_missing_columns_are_named(later, message):
    encoder = TableEncoder().fit(FIRST)
    for method in (encoder.transform, encoder.unseen):
        with pytest.raises(ValueError, match=message):
            method(pd.DataFrame(later))


@pytest.mark.parametrize(
    ("first", "later", "message"),
    [
        (
            "x,l\n1,0\n2,1\n",
            "x,l\n1,0\n?,1\nbig,1\n",
            "line 4: column 'x': expected a number, got 'big'",
        ),
        (
            '{"x": [1, 2]}\n',
            '{"x": [1, 2]}\n{"x": [1]}\n',
            "line 2: column 'x': expected a list of 2 numbers",
        ),
        (
            '{"x": [1, 2]}\n',
            '{"x": 5}\n',
            "line 1: column 'x': expected a list of 2 numbers, got 5",
        ),
        (
            '{"x": 1}\n',
            '{"x": 1}\n{"x": {"a": 1}}\n',
            "line 2: column 'x': expected a number or text, got",
        ),
        ('{"x": 1}\n', '{"x": [1]}\n', "line 1: column 'x': expected a number or text, got"),
    ],
)
def test_bad_cells_of_later_files_have_a_line(tmp_path, first, later, message):
    suffix = "jsonl" if first.startswith("{") else "csv"
    (tmp_path / f"a.{suffix}").write_text(first)
    (tmp_path / f"b.{suffix}").write_text(later)
    encoder = TableEncoder().fit(open_table(tmp_path / f"a.{suffix}").frame, ["x"])
    table = open_table(tmp_path / f"b.{suffix}", as_text=encoder.text_columns)
    with pytest.raises(ValueError) as caught, table.located():
        encoder.transform(table.frame)
    assert message in str(caught.value)


@given(data=st.data())
@settings(max_examples=60)
def test_parts_of_a_table_are_encoded_as_in_the_whole(data):
    """What ``read_table`` gives for all rows, an encoder gives for any of them, in any order."""
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
    frame["label"] = [0, 1] * (n // 2) + [0] * (n % 2)
    columns = ["number", "kind", "flag"]
    whole = read_table(frame, labels=["label"], features=columns, text="text")
    encoder = again(TableEncoder().fit(frame, columns, "text"))
    assert encoder.feature_names == whole.feature_names
    rows = data.draw(st.lists(st.integers(0, n - 1), min_size=1))
    part = frame.iloc[rows][data.draw(st.permutations(list(frame.columns)))]
    np.testing.assert_array_equal(encoder.transform(part).toarray(), whole.X.toarray()[rows])


def test_columns_are_left_out(tmp_path):
    frame = pd.DataFrame({"id": [f"r{i}" for i in range(40)], "x": range(40), "l": [0, 1] * 20})
    with pytest.raises(ValueError, match=r"leave it out with drop=\['id'\]"):
        read_table(frame, labels=["l"])
    assert read_table(frame, labels=["l"], drop=["id"]).feature_names == ("x",)
    for drop, message in (
        (["l"], "drop must name no label column, got 'l'"),
        (["ix"], "drop names a column 'ix': expected one of the table's"),
        ("id", "drop must be a sequence of names, got the text 'id'"),
        (["id", "x"], "features must name at least one column, got none besides the labels"),
    ):
        with pytest.raises(ValueError, match=message):
            read_table(frame, labels=["l"], drop=drop)
    # an index that was saved with the table
    frame[["x", "l"]].to_csv(tmp_path / "a.csv")
    assert read_table(tmp_path / "a.csv", labels=["l"], drop=[""]).feature_names == ("x",)
