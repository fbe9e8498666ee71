import csv
import gzip
import json
import sys
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse
from sklearn.feature_extraction.text import TfidfVectorizer

from plurilabel.datasets import Dataset
from plurilabel.io import FileFormatError, read_arff, read_table, write_table

FILMS = """\
length,country, rating ,love,war
90, fr ,7.5,1,0
143,us,,0,1
71,uk,NA,0,0
"""
NAN = np.nan


def write(path, text):
    path.write_bytes(text.encode())
    return path


def as_csv(folder, text):
    return write(folder / "table.csv", text)


def dense(matrix):
    return matrix.toarray() if sparse.issparse(matrix) else matrix


# reading -----------------------------------------------------------------------------------


def test_label_columns(tmp_path):
    data = read_table(as_csv(tmp_path, FILMS), labels=["war", "love"])
    assert data.feature_names == ("length", "rating", "country_fr", "country_uk", "country_us")
    assert data.label_names == ("war", "love")
    assert data.name == "table"
    np.testing.assert_array_equal(
        data.X, [[90, 7.5, 1, 0, 0], [143, NAN, 0, 0, 1], [71, NAN, 0, 1, 0]]
    )
    np.testing.assert_array_equal(data.Y, [[0, 1], [1, 0], [0, 0]])
    assert (data.X.dtype, data.Y.dtype) == (np.float64, np.int64)


@pytest.mark.parametrize("suffix", ["csv", "tsv", "jsonl", "parquet"])
def test_labels_that_are_not_known(tmp_path, suffix):
    Y = np.array([[1, NAN], [NAN, NAN], [0, NAN]])
    path = tmp_path / f"table.{suffix}"
    write_table(path, Dataset(np.eye(3), Y, label_names=("p", "q")))
    for empty in (None, "unknown"):
        data = read_table(path, labels=["p", "q"], empty_labels=empty)
        np.testing.assert_array_equal(data.Y, Y)
    absent = read_table(path, labels=["p", "q"], empty_labels="absent").Y
    np.testing.assert_array_equal(absent, np.nan_to_num(Y))
    assert absent.dtype == np.int64
    assert "labels not known" in data._repr_html_()
    assert data.as_frame().Y.isna().sum().sum() == 4
    with pytest.raises(ValueError, match="cannot represent unknown labels"):
        write_table(path, data, tags="t")


def test_empty_label_cells_without_any_zero(tmp_path):
    path = as_csv(tmp_path, "a,p,q\n1,1,\n2,,1\n")
    with pytest.raises(FileFormatError, match=r'no label column has a 0: .*empty_labels="absent"'):
        read_table(path, labels=["p", "q"])
    for empty, expected in (("absent", [[1, 0], [0, 1]]), ("unknown", [[1, NAN], [NAN, 1]])):
        found = read_table(path, labels=["p", "q"], empty_labels=empty).Y
        np.testing.assert_array_equal(found, expected)
    with pytest.raises(ValueError, match='empty_labels must be "unknown", "absent" or None'):
        read_table(path, labels=["p", "q"], empty_labels="no")
    with pytest.raises(ValueError, match="empty_labels is for label columns"):
        read_table(path, labels="p", empty_labels="absent")


@pytest.mark.parametrize("suffix", ["csv", "csv.gz", "tsv", "jsonl", "jsonl.gz", "parquet", "pq"])
def test_all_formats_and_frames_agree(tmp_path, suffix):
    frame = pd.DataFrame(
        {
            "size": [1.5, 2.0, NAN],
            "big": [True, False, True],
            "kind": ["a", "b", None],
            "tags": [["x", "y"], [], ["x"]],
        }
    )
    path = tmp_path / f"table.{suffix}"
    text = frame.assign(tags=[";".join(tags) for tags in frame["tags"]])
    if "csv" in suffix:
        text.to_csv(path, index=False)
    elif "tsv" in suffix:
        text.to_csv(path, index=False, sep="\t")
    elif "jsonl" in suffix:
        frame.to_json(path, orient="records", lines=True)
    else:
        frame.to_parquet(path)
    for source in (path, str(path), frame, text, pl.from_pandas(frame)):
        data = read_table(source, labels="tags")
        assert data.feature_names == ("size", "big", "kind_a", "kind_b", "kind_nan")
        np.testing.assert_array_equal(
            data.X, [[1.5, 1, 1, 0, 0], [2, 0, 0, 1, 0], [NAN, 1, 0, 0, 1]]
        )
        assert isinstance(data.Y, sparse.csr_array)
        assert data.Y.dtype == np.int64
        assert data.label_names == ("x", "y")
        np.testing.assert_array_equal(data.Y.toarray(), [[1, 1], [0, 0], [1, 0]])
    assert read_table(path, labels="tags").name == "table"
    assert read_table(frame, labels="tags", name="other").name == "other"


@pytest.mark.parametrize(
    ("cells", "options", "names", "Y"),
    [
        (["a;b", " b ; a;;a ", ""], {}, "ab", [[1, 1], [1, 1], [0, 0]]),
        (["b|a", "c"], {}, "abc", [[1, 1, 0], [0, 0, 1]]),
        (["b, a", "c"], {}, "abc", [[1, 1, 0], [0, 0, 1]]),
        (["b", "c"], {}, "bc", [[1, 0], [0, 1]]),
        (["a b", "b"], {"tag_sep": " "}, "ab", [[1, 1], [0, 1]]),
        (["a;b,c", "a"], {"tag_sep": ";"}, ["a", "b,c"], [[1, 1], [1, 0]]),
        (["5;7", "7"], {}, "57", [[1, 1], [0, 1]]),
        (
            ["b;a", ""],
            {"label_names": ["b", "never", "a"]},
            ["b", "never", "a"],
            [[1, 0, 1], [0] * 3],
        ),
        (["0", "1"], {"label_names": ["0", "1"]}, "01", [[1, 0], [0, 1]]),
        (["NA;null", "None"], {}, ["NA", "None", "null"], [[1, 0, 1], [0, 1, 0]]),
    ],
)
def test_tags(tmp_path, cells, options, names, Y):
    frame = pd.DataFrame({"x": range(len(cells)), "tags": cells})
    frame.to_csv(tmp_path / "a.csv", index=False)
    for source in (frame, tmp_path / "a.csv"):
        data = read_table(source, labels="tags", **options)
        assert data.label_names == tuple(names)
        np.testing.assert_array_equal(data.Y.toarray(), Y)
        assert data.Y.has_canonical_format


def test_tags_as_lists_of_any_kind():
    cells = [["b", "a"], ("a",), {"b"}, np.array(["a", "a"]), None, NAN, [5, " b "]]
    data = read_table(pd.DataFrame({"x": range(7), "tags": cells}), labels="tags")
    assert data.label_names == ("5", "a", "b")
    expected = [[0, 1, 1], [0, 1, 0], [0, 0, 1], [0, 1, 0], [0] * 3, [0] * 3, [1, 0, 1]]
    np.testing.assert_array_equal(data.Y.toarray(), expected)


@pytest.mark.parametrize(
    ("column", "names", "X"),
    [
        (["1", " 2.5", "-3e2", "?"], ["c"], [[1], [2.5], [-300], [NAN]]),
        (["1", "n/a", "", "null"], ["c"], [[1], [NAN], [NAN], [NAN]]),
        ([None, None, None, None], ["c"], [[NAN]] * 4),
        ([True, None, False, True], ["c"], [[1], [NAN], [0], [1]]),
        (["True", "", "false", "TRUE"], ["c"], [[1], [NAN], [0], [1]]),
        (pd.Categorical(["No", "Yes", None, "No"]), ["c"], [[0], [1], [NAN], [0]]),
        (["none", "", "NA", "none"], ["c_NA", "c_none", "c_nan"], np.eye(3)[[1, 2, 0, 1]]),
        ([Decimal("1.5"), None, 2, np.float32(3)], ["c"], [[1.5], [NAN], [2], [3]]),
        (
            [[1, 2.5], None, (3, 4), np.ones(2)],
            ["c[0]", "c[1]"],
            [[1, 2.5], [NAN] * 2, [3, 4], [1, 1]],
        ),
        (["no", "Yes", "no", ""], ["c"], [[0], [1], [0], [NAN]]),
        (["N", "y", "n", "Y"], ["c"], [[0], [1], [0], [1]]),
        (["m", "f", "f", "m"], ["c_f", "c_m"], [[0, 1], [1, 0], [1, 0], [0, 1]]),
        (["m", "m", "", "m"], ["c_m", "c_nan"], [[1, 0], [1, 0], [0, 1], [1, 0]]),
        (["b", "A", "c", "NA"], ["c_A", "c_NA", "c_b", "c_c"], np.eye(4)[[2, 0, 3, 1]]),
        (pd.Categorical(["u", "v", None, "u"], ["w", "v", "u"]), ["c_w", "c_v", "c_u", "c_nan"],
         np.eye(4)[[2, 1, 3, 2]]),
        (pd.Categorical([7, 8, 8, 7], [8, 7, 9]), ["c_8", "c_7", "c_9"], np.eye(3)[[1, 0, 0, 1]]),
        (pd.array([1, None, 3, 4], dtype="Int64"), ["c"], [[1], [NAN], [3], [4]]),
        (pd.array([True, None, True, False], dtype="boolean"), ["c"], [[1], [NAN], [1], [0]]),
        (pd.array(["p", None, "q", "r"], dtype="string"), ["c_p", "c_q", "c_r", "c_nan"],
         np.eye(4)[[0, 3, 1, 2]]),
        (np.array([1, 2, 3, 4], dtype=object), ["c"], [[1], [2], [3], [4]]),
    ],
)  # fmt: skip
def test_features_of_each_kind(column, names, X):
    frame = pd.DataFrame({"c": column, "l": [0, 1, 0, 1]})
    data = read_table(frame, labels=["l"])
    assert list(data.feature_names) == names
    np.testing.assert_array_equal(data.X, X)


@pytest.mark.parametrize(
    "cells", [[0, 1, 1], [False, True, True], ["no", "yes", "Yes"], ["0", "1", "1"], [0.0, 1, 1]]
)
def test_spellings_of_labels(cells):
    frame = pd.DataFrame({"x": [1, 2, 3], "l": cells})
    np.testing.assert_array_equal(read_table(frame, labels=["l"]).Y, [[0], [1], [1]])


def test_text(tmp_path):
    texts = ["the red house", "a red, red door", "", "123"]
    frame = pd.DataFrame({"id": range(4), "text": texts, "tags": ["a", "b", "", "a"]})
    frame.to_csv(tmp_path / "a.csv", index=False)
    vectorizer = TfidfVectorizer()
    X = vectorizer.fit_transform(texts).toarray()
    for source in (frame, tmp_path / "a.csv"):
        data = read_table(source, labels="tags", text="text", drop=["id"])
        assert isinstance(data.X, sparse.csr_array)
        np.testing.assert_array_equal(data.X.toarray(), X)
        assert data.feature_names == tuple(vectorizer.get_feature_names_out())
        both = read_table(source, labels="tags", text="text")
        np.testing.assert_array_equal(both.X.toarray(), np.column_stack([range(4), X]))
        assert both.feature_names[:2] == ("numbers__id", "text__123")


def test_features_choose_and_order_columns(tmp_path):
    data = read_table(as_csv(tmp_path, FILMS), labels=["love"], features=["rating", "length"])
    assert data.feature_names == ("rating", "length")
    np.testing.assert_array_equal(data.X, [[7.5, 90], [NAN, 143], [NAN, 71]])


def test_csv_details(tmp_path):
    text = '\ufeff"a;1" ; b;t\r\n\r\n" 1" ;"x;\ny";u\r\n  \r\n2;z;"v"\r\n'
    data = read_table(as_csv(tmp_path, text), labels="t", sep=";")
    assert data.feature_names == ("a;1", "b_x;\ny", "b_z")
    np.testing.assert_array_equal(data.X, [[1, 1, 0], [2, 0, 1]])
    assert data.label_names == ("u", "v")
    # a format that the name does not show
    path = write(tmp_path / "table.data", "a\tt\n1\tu\n")
    assert read_table(path, labels="t", format="tsv").X.tolist() == [[1]]


def test_input_is_not_changed():
    frame = pd.DataFrame({" a ": [1, 2], "k": [" p", "q "], "tags": [["u"], ["v", "u"]]})
    before = frame.copy(deep=True)
    read_table(frame, labels="tags")
    pd.testing.assert_frame_equal(frame, before)
    assert list(frame.columns) == [" a ", "k", "tags"]


@given(data=st.data())
@settings(deadline=None, max_examples=60)
def test_csv_equals_twin(folder, data):
    """Against the csv module and a loop over cells."""
    n = data.draw(st.integers(1, 6))
    numbers = data.draw(st.lists(st.floats(allow_nan=False) | st.none(), min_size=n, max_size=n))
    kinds = data.draw(
        st.lists(st.sampled_from(["p", "q q", 'r"s', "é,", ""]), min_size=n, max_size=n)
    )
    tags = data.draw(
        st.lists(st.lists(st.sampled_from(["u", "v w", "ü"]), max_size=3), min_size=n, max_size=n)
    )
    with open(folder / "twin.csv", "w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(
            stream, quoting=data.draw(st.sampled_from([csv.QUOTE_ALL, csv.QUOTE_MINIMAL]))
        )
        writer.writerow(["number", "kind", "tags"])
        writer.writerows(zip(numbers, kinds, ["|".join(t) for t in tags]))
    with open(folder / "twin.csv", newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    labels = sorted({tag for row in rows for tag in row["tags"].split("|") if tag})
    values = sorted({row["kind"].strip() for row in rows} - {""})
    if not labels:
        with pytest.raises(FileFormatError, match="expected tags, got only empty cells"):
            read_table(folder / "twin.csv", labels="tags")
        return
    X, Y = [], []
    for row in rows:
        kind = row["kind"].strip()
        hot = [float(kind == value) for value in values]
        if any(not other["kind"].strip() for other in rows):
            hot.append(float(not kind))
        # nothing but empty cells: a column of missing numbers
        X.append([float(row["number"] or "nan"), *(hot if values else [NAN])])
        Y.append([int(label in row["tags"].split("|")) for label in labels])
    read = read_table(folder / "twin.csv", labels="tags")
    np.testing.assert_array_equal(read.X, X)
    np.testing.assert_array_equal(read.Y.toarray(), Y)
    assert read.label_names == tuple(labels)


# what is wrong -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "labels", "line", "problem"),
    [
        ("", ["l"], None, "expected a line with column names, got none"),
        ("a,l\n", ["l"], None, "table: expected at least one row, got none"),
        ("a,l, a\n1,0,2\n", ["l"], 1, "expected each column name once, got 'a' twice"),
        ("a,l\n1,0\n2\n3,1\n", ["l"], 3, "expected 2 values, one for each column, got 1"),
        ("a,l\n1,0\n2,1,9\n", ["l"], 3, "expected 2 values, one for each column, got 3"),
        ("a,l\n1,0,9\n2,1,9\n", ["l"], 2, "expected 2 values, one for each column, got 3"),
        ("a,l\n1,0,\n2,1,\n", ["l"], 2, "expected 2 values, one for each column, got 3"),
        ('a,l\n1,0\n"2,1\n3,1\n', ["l"], 3, "expected CSV, got unexpected end of data"),
        ("a,l\n1,0\n2,2\n", ["l"], 3, "column 'l': expected a label 0 or 1, got 2"),
        ("a,l\n1,0\n\n2,maybe\n", ["l"], 4, "column 'l': expected a label 0 or 1, got 'maybe'"),
        ("a,l\n1,1\n2,\n", ["l"], 3, "column 'l': expected a label 0 or 1, got an empty cell"),
        ("a,l\n1,0\nx,1\n2,1\n", ["l"], 3, "column 'a': expected a number, got 'x'"),
        ('a,l\n"1,5",0\n"2.5",1\n"3.5",1\n', ["l"], 2, "column 'a': expected a number, got '1,5'"),
        (
            'a,l\n1,0\n"x\ny",0\n3,0\nz,0\n4,0',
            ["l"],
            3,
            "column 'a': expected a number, got 'x\\ny'",
        ),
        (
            "a,t\n1,0\n2,1\n",
            "t",
            None,
            "column 't': expected tags, got only 0 and 1; a label column",
        ),
        ("a,t\n1,\n2,\n", "t", None, "column 't': expected tags, got only empty cells"),
        (
            "a,t\n1,u;v\n2,u|v\n",
            "t",
            None,
            "column 't': expected one separator between tags, got ';' and '|'; choose one",
        ),
        (
            "a,t\n1,u\n2,['u' 'v']\n",
            "t",
            3,
            "column 't': expected separated tags, got a printed list, \"['u' 'v']\"; save",
        ),
    ],
)
def test_broken_csv(tmp_path, text, labels, line, problem):
    path = as_csv(tmp_path, text)
    with pytest.raises(FileFormatError) as caught:
        read_table(path, labels=labels)
    assert caught.value.line == line
    assert caught.value.problem.startswith(problem)


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("", None, "table: expected at least one row, got none"),
        ('{"a": 1, "t": ["u"]}\n\n{"a": 2 "t": []}\n', 3, "expected a JSON object, got Expecting"),
        ('{"a": 1, "t": ["u"]}\n[1]\n', 2, "expected a JSON object, got a list"),
        ('{"a": 1, "a": 2, "t": ["u"]}\n', 1, "expected a JSON object, got 'a' twice"),
        ('{"a": 1, "t": ["u"]}\n\n{"a": 2, "t": 5}\n', 3, "column 't': expected tags (text or a"),
        (
            '{"a": 1, "t": ["u"]}\n{"a": 2, "t": [null]}\n',
            2,
            "column 't': expected a list of texts",
        ),
        ('{"a": 1, "t": ["u"]}\n{"a": "x", "t": []}\n', 2, "column 'a': expected a number, as in"),
        (
            '{"a": [1, 2], "t": ["u"]}\n{"a": [1], "t": []}\n',
            2,
            "column 'a': expected a list of 2",
        ),
        ('{"a": ["x"], "t": ["u"]}\n', 1, "column 'a': expected a list of 1 numbers, got ['x']"),
        (
            '{"a": {"b": 1}, "t": ["u"]}\n',
            1,
            "column 'a': expected numbers, dates or text, got {'b': 1}",
        ),
    ],
)
def test_broken_json_lines(tmp_path, text, line, problem):
    path = write(tmp_path / "table.jsonl", text)
    with pytest.raises(FileFormatError) as caught:
        read_table(path, labels="t")
    assert caught.value.line == line
    assert caught.value.problem.startswith(problem)


def test_bad_bytes_late_in_a_file(tmp_path):
    for suffix, row in (("csv", b"1,u\n"), ("jsonl", b'{"a": 1, "t": "u"}\n')):
        path = tmp_path / f"a.{suffix}"
        rows = [b"a,t\n" if suffix == "csv" else row, *[row] * 60_000]
        rows[45_678] = row.replace(b"u", b"\xfc")
        path.write_bytes(b"".join(rows))
        with pytest.raises(
            FileFormatError, match="expected text in UTF-8, got the byte 0xfc"
        ) as e:
            read_table(path, labels="t")
        assert e.value.line == 45_679
        way_out = f"pandas.read_{suffix.removesuffix('l')}(encoding=...) and pass the frame"
        assert e.value.problem.endswith(f"iconv -f cp1252 -t utf-8, or read it with {way_out}")
        assert ("(in Excel: CSV UTF-8)" in e.value.problem) == (suffix == "csv")


def test_long_texts(tmp_path):
    """Longer than the csv module takes unasked, in a file that it looks through."""
    frame = pd.DataFrame({"text": ["red blue " * 20_000, "red"], "tags": ["u", None]})
    frame.to_csv(tmp_path / "a.csv", index=False)
    limit = csv.field_size_limit()
    assert read_table(tmp_path / "a.csv", labels="tags", text="text").X.shape == (2, 2)
    assert csv.field_size_limit() == limit


def test_broken_files_of_other_kinds(tmp_path):
    path = write(tmp_path / "a.parquet", "no parquet")
    with pytest.raises(FileFormatError, match="a.parquet: expected a Parquet file: "):
        read_table(path, labels="t")
    for suffix in ("csv", "jsonl"):
        path = tmp_path / f"a.{suffix}"
        path.write_bytes(b'{"t":\n1,"\xff"}\n'.replace(b"\n", b"" if suffix == "jsonl" else b"\n"))
        with pytest.raises(FileFormatError, match="expected text in UTF-8, got the byte 0xff"):
            read_table(path, labels="t")
        path = tmp_path / f"a.{suffix}.gz"
        path.write_bytes(gzip.compress(b'{"t": 1}\n' * 1000)[:-15])
        with pytest.raises(FileFormatError, match="the gzip file is broken"):
            read_table(path, labels="t")
    frame = pd.DataFrame({"a": [1, 2], "l": [0, 3]})
    frame.to_parquet(tmp_path / "b.parquet")
    with pytest.raises(
        FileFormatError, match="b.parquet: column 'l', row 2: expected a label 0 or"
    ):
        read_table(tmp_path / "b.parquet", labels=["l"])


FRAME = pd.DataFrame({"a": [1.0, 2], "word": ["p", "q"], "t": ["u", "v"], "l": [0, 1]})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"labels": []}, "labels must name at least one column, got none"),
        (
            {"labels": "T!"},
            "labels names a column 'T!', which the table does not have; its 4 columns are 'a', ",
        ),
        (
            {"labels": ["wrd"]},
            "labels names a column 'wrd', which the table does not have; did you mean 'word'",
        ),
        ({"labels": ["l", "l"]}, "labels must name each column once, got 'l' twice"),
        ({"labels": ["l"], "features": ["b"]}, "features names a column 'b', "),
        ({"labels": ["l"], "features": ["a", "l"]}, "features must name no label column, got 'l'"),
        ({"labels": ["l"], "features": []}, "features must name at least one column, got none"),
        (
            {"labels": ["l"], "features": "a"},
            "features must be a sequence of names, got the text 'a'",
        ),
        ({"labels": ["l"], "text": "b"}, "text names a column 'b'"),
        ({"labels": "t", "text": "word"}, "column 'word': expected text, got no words"),
        ({"labels": ["l"], "label_names": ["l"]}, "label_names is for one column of tags"),
        (
            {"labels": "t", "label_names": ["u"]},
            "column 't', row 1: expected one of label_names, got 'v'",
        ),
        ({"labels": "t", "label_names": "uvu"}, "label_names must name each label once, got 'u'"),
        ({"labels": "t", "tag_sep": ""}, "tag_sep must hold at least one character"),
        ({"labels": "l"}, r"column 'l', row 0: expected tags \(text or a list\), got 0"),
        ({"labels": ["word"]}, "column 'word', row 0: expected a label 0 or 1, got 'p'"),
    ],
)
def test_wrong_parameters(options, message):
    with pytest.raises(ValueError, match=message):
        read_table(FRAME, **options)


def test_wrong_sources(tmp_path):
    with pytest.raises(TypeError, match="path must be a path or a data frame, got list"):
        read_table([[1, 2]], labels="t")
    with pytest.raises(
        ValueError, match="format must be one of csv, tsv, excel, parquet, jsonl, json, got 'x'"
    ):
        read_table("a.csv", labels="t", format="x")
    with pytest.raises(ValueError, match="the format of 'a.xls' is unknown"):
        read_table("a.xls", labels="t")
    with pytest.raises(FileNotFoundError):
        read_table(tmp_path / "none.csv", labels="t")
    path = as_csv(tmp_path, "a:t\n1:u\n")
    with pytest.raises(ValueError, match="the table has only one, 'a:t'; is sep= right?"):
        read_table(path, labels="t")
    with pytest.raises(ValueError, match="sep must be a single character .* got '::'"):
        read_table(path, labels="t", sep="::")
    path = as_csv(tmp_path, ",a,t\n0,1,u\n1,2,v\n")
    with pytest.raises(ValueError, match="column 1 has no name"):
        read_table(path, labels="t")
    assert read_table(path, labels="t", features=["a"]).X.tolist() == [[1], [2]]
    with pytest.raises(
        ValueError, match="data frame: expected each column name once, got 'a' twice"
    ):
        read_table(pd.DataFrame([[1, 2]], columns=["a", "a "]), labels="t")
    frame = pd.DataFrame({"a": list("bcd"), "a_b": [1, 2, 3], "l": [0, 1, 1]})
    with pytest.raises(ValueError, match=r"two columns would give the same feature: .*\['a_b'\]"):
        read_table(frame, labels=["l"])
    frame = pd.DataFrame({"a": [[1, 2]], "a[1]": [1], "l": [0]})
    with pytest.raises(ValueError, match=r"two columns would give a feature 'a\[1\]'"):
        read_table(frame, labels=["l"])


def test_free_text_is_detected():
    for column, kind in (
        ([f"name {i}" for i in range(40)], "text"),
        (["many words, " * 6, "few"] * 20, "categories"),
        ([f"{i % 15} many words, " * 6 for i in range(40)], "text"),
        (["x" * 61] * 40, "categories"),
    ):
        frame = pd.DataFrame({"n": range(40), "note": column, "l": [0, 1] * 20})
        assert read_table(frame, labels=["l"], encode=False).kinds["note"] == kind
        declared = read_table(frame.astype({"note": "category"}), labels=["l"])
        assert declared.X.shape == (40, 1 + len(set(column)))


def test_limits_of_categories():
    for n_values, n, shape in ((20, 20, 20), (21, 42, 21), (256, 2000, 256), (257, 2000, 256)):
        column = [f"c{i % n_values}" for i in range(n)]
        frame = pd.DataFrame({"c": column, "l": [0] * n})
        assert read_table(frame, labels=["l"]).X.shape == (n, shape)
    frame = pd.DataFrame({"c": [f"c{i % 21}" for i in range(41)], "x": 1.0, "l": [0] * 41})
    assert read_table(frame, labels=["l"]).feature_names == ("x",)


def test_durations_are_refused():
    frame = pd.DataFrame({"took": pd.to_timedelta(["1 h"]), "l": [0]})
    with pytest.raises(
        ValueError, match="column 'took', row 0: expected numbers, dates or text, got Timed"
    ):
        read_table(frame, labels=["l"])


def test_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(
        ImportError, match=r"a table needs pandas: pip install 'plurilabel\[table\]'"
    ):
        read_table("a.csv", labels="t")


# writing -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("table")


# any text that is not changed by stripping it
words = st.text(
    st.characters(codec="utf-8", exclude_characters="\0\r"), min_size=1, max_size=5
).filter(lambda text: text == text.strip())


@st.composite
def datasets(draw):
    n, d, q = draw(st.tuples(st.integers(1, 5), st.integers(1, 3), st.integers(1, 3)))
    X = draw(hnp.arrays(np.float64, (n, d), elements=st.floats()))
    Y = draw(hnp.arrays(np.int64, (n, q), elements=st.integers(0, 1)))
    names = draw(st.lists(words, min_size=d + q, max_size=d + q, unique=True))
    if draw(st.booleans()):
        X, Y = sparse.csr_array(X), sparse.csr_array(Y)
    return Dataset(X, Y, tuple(names[:d]), tuple(names[d:]))


SUFFIXES = ["csv", "csv.gz", "tsv", "jsonl", "jsonl.gz", "parquet"]


@given(data=datasets(), suffix=st.sampled_from(SUFFIXES))
@settings(deadline=None, max_examples=60)
def test_round_trip_of_label_columns(folder, data, suffix):
    path = folder / f"table.{suffix}"
    write_table(path, data)
    assert (path.read_bytes()[:2] == b"\x1f\x8b") == suffix.endswith("gz")
    back = read_table(path, labels=data.label_names)
    np.testing.assert_array_equal(back.X, dense(data.X))
    np.testing.assert_array_equal(back.Y, dense(data.Y))
    assert back.feature_names == data.feature_names
    assert back.label_names == data.label_names


@given(data=datasets(), suffix=st.sampled_from(SUFFIXES))
@settings(deadline=None, max_examples=60)
def test_round_trip_of_tags(folder, data, suffix):
    path = folder / f"table.{suffix}"
    names = {"tags": "the tags", "tag_sep": "<;>"}
    write_table(path, data, **names)
    back = read_table(path, labels="the tags", tag_sep="<;>", label_names=data.label_names)
    np.testing.assert_array_equal(back.X, dense(data.X))
    np.testing.assert_array_equal(back.Y.toarray(), dense(data.Y))
    assert back.feature_names == data.feature_names


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
def test_real_data_come_back_bit_for_bit(tmp_path, data_folder, suffix):
    folder = data_folder / "emotions"
    data = read_arff(folder / "emotions.arff", folder / "emotions.xml")
    path = tmp_path / f"emotions.{suffix}"
    write_table(path, data)
    back = read_table(path, labels=data.label_names)
    np.testing.assert_array_equal(back.X, data.X)
    np.testing.assert_array_equal(back.Y, data.Y)
    write_table(path, data, tags="emotions")
    tags = read_table(path, labels="emotions")
    order = [data.label_names.index(name) for name in tags.label_names]
    np.testing.assert_array_equal(tags.Y.toarray(), data.Y[:, order])
    assert tags.Y.sum() / 593 == pytest.approx(1.869, abs=1e-3)  # its published cardinality


def test_blocks_of_rows(tmp_path, monkeypatch):
    monkeypatch.setattr("plurilabel.io._table._table._CELLS_AT_ONCE", 7)
    rng = np.random.default_rng(0)
    X, Y = rng.random((11, 2)), rng.integers(0, 2, (11, 1))
    for suffix in SUFFIXES:
        for tags in (None, "tags"):
            write_table(tmp_path / f"a.{suffix}", Dataset(X, Y, ("a", "b"), ("l",)), tags=tags)
            back = read_table(tmp_path / f"a.{suffix}", labels=tags or ["l"])
            np.testing.assert_array_equal(back.X, X)
            np.testing.assert_array_equal(dense(back.Y), Y)


def test_what_is_written(tmp_path):
    data = Dataset(np.array([[1.5], [NAN]]), np.array([[1, 1], [0, 0]]), ("a",), ("u", "v"))
    write_table(tmp_path / "a.jsonl", data, tags="t")
    lines = (tmp_path / "a.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == [
        {"a": 1.5, "t": ["u", "v"]},
        {"a": None, "t": []},
    ]
    write_table(tmp_path / "a.tsv", data)
    assert (tmp_path / "a.tsv").read_text() == "a\tu\tv\n1.5\t1\t1\n\t0\t0\n"
    write_table(tmp_path / "a.parquet", data)
    frame = pd.read_parquet(tmp_path / "a.parquet")
    assert [str(dtype) for dtype in frame.dtypes] == ["float64", "int64", "int64"]


@pytest.mark.parametrize(
    ("features", "labels", "options", "message"),
    [
        ("ab", "bc", {}, "each column name must be there once, got 'b' twice"),
        ("ab", "cd", {"tags": "a"}, "each column name must be there once, got 'a' twice"),
        (["a", ""], "cd", {}, "a column name must have text without blanks around it, got ''"),
        ("ab", ["c", "d "], {}, "a column name must have text without blanks around it, got 'd '"),
        ("ab", ["c;e", "d"], {"tags": "t"}, "a label name must not hold ';', got 'c;e'"),
        ("ab", ["c\re", "d"], {"tags": "t"}, r"a label name must not hold '\\r', got"),
        (["a", "b\rb"], "cd", {}, r"a column name must not hold '\\r', got"),
        ("ab", "cd", {"tags": "t", "tag_sep": ""}, "tag_sep must hold at least one character"),
    ],
)
def test_what_cannot_be_written(tmp_path, features, labels, options, message):
    data = Dataset(np.zeros((1, 2)), np.zeros((1, 2)), tuple(features), tuple(labels))
    with pytest.raises(ValueError, match=message):
        write_table(tmp_path / "a.csv", data, **options)
    assert not list(tmp_path.iterdir())


def test_other_things_that_cannot_be_written(tmp_path):
    bags = Dataset(np.zeros((1, 2, 1)), np.zeros((1, 1)), ("a",), ("l",))
    with pytest.raises(ValueError, match="dataset.X must be a matrix"):
        write_table(tmp_path / "a.csv", bags)
    data = Dataset(np.zeros((1, 1)), np.full((1, 1), 2), ("a",), ("l",))
    with pytest.raises(ValueError, match="dataset.Y must hold only 0 and 1"):
        write_table(tmp_path / "a.csv", data)
    with pytest.raises(ValueError, match="the format of '.*a.xls' is unknown"):
        write_table(tmp_path / "a.xls", Dataset(data.X, data.X, ("a",), ("l",)))


def test_a_huge_header_of_an_array_is_refused_before_it_is_read(tmp_path):
    head = (660_000_000).to_bytes(4, "little")
    (tmp_path / "e.npy").write_bytes(b"\x93NUMPY\x02\x00" + head + b"{'descr': '<f8'}")
    with pytest.raises(ValueError, match="its header would have 660,000,000 bytes"):
        read_table(pd.DataFrame({"l": [0, 1]}), labels=["l"], embeddings=tmp_path / "e.npy")
