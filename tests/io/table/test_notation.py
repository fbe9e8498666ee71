"""Numbers, dates and tables as people write them."""

import datetime as dt
import gzip
import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plurilabel.io import FileFormatError, read, read_further, read_table
from plurilabel.io._table._csv import sniff
from plurilabel.io._table._notation import date_of, has_comma, number_of, orders_of

# numbers ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "point", "comma"),
    [
        ("12", 12, 12),
        ("-1.5", -1.5, None),
        ("1,5", None, 1.5),
        ("1,234", 1234, 1.234),
        ("0,125", None, 0.125),
        ("1.234", 1.234, 1234),
        ("1,234.5", 1234.5, None),
        ("1.234,5", None, 1234.5),
        ("1.234.567", None, 1234567),
        ("1 234,5", None, 1234.5),
        ("1\u202f234", 1234, 1234),
        ("1'234.5", 1234.5, None),
        ("12 %", 12, 12),
        ("$1,000", 1000, 1),
        ("−3", -3, -3),
        ("1e-3", 1e-3, 1e-3),
        ("(1,234.5)", -1234.5, None),
        ("(-3)", None, None),
        ("((3))", None, None),
        ("()", None, None),
        ("(" * 1000, None, None),
        ("12,34,56", None, None),
        ("1.2.3", None, None),
        ("%", None, None),
        ("5 kg", None, None),
        ("5$50", None, None),
        ("1%5", None, None),
        ("2£000", None, None),
        ("-$5", -5, -5),
        ("$ -5", -5, -5),
        ("$5%", None, None),
        ("5-", None, None),
        ("(+5)", None, None),
        ("1'234 567", None, None),
        ("1,234'567", None, None),
        ("1 2", None, None),
        ("1-2", None, None),
        ("1e", None, None),
        ("0x10", None, None),
        ("1_000", None, None),
        ("١٢", None, None),
        ("-Infinity", -np.inf, -np.inf),
        ("ınf", None, None),  # a dotless i, which is an i where case is ignored
        ("nan", None, None),
        ("", None, None),
    ],
)
def test_numbers(text, point, comma):
    assert number_of(text) == point
    assert number_of(text, comma=True) == comma


def twin(text, mark):
    """The value by a strict grammar: sign, currency, digits in equal groups, mark, exponent."""
    for blank in "\u00a0\u202f\u2009":
        text = text.replace(blank, " ")
    text, factor, money = text.replace("−", "-").replace("’", "'"), 1, "$€£¥%"
    bracketed = text[:1] == "(" and text[-1:] == ")"
    if bracketed:
        text, factor = text[1:-1], -1
    signs = 0
    after_sign = text[1:] if text[:1] in ("+", "-") else text
    if after_sign and after_sign[0] in money:
        text = text[: len(text) - len(after_sign)] + after_sign[1:].lstrip(" ")
    elif text and text[-1] in money:
        text = text[:-1].rstrip(" ")
    if text and text[0] in "+-":
        signs, factor, text = 1, factor * (-1 if text[0] == "-" else 1), text[1:]
    if bracketed and signs:
        return None
    if text.lower() in ("inf", "infinity") and text.isascii():
        return factor * np.inf
    mantissa, e, exponent = text.replace("E", "e").partition("e")
    whole, point, decimals = mantissa.partition(mark)
    power = exponent[1:] if exponent[:1] in ("+", "-") else exponent
    between = {letter for letter in whole if letter not in "0123456789"}
    if between:
        groups = whole.split(between.pop())
        right = 0 < len(groups[0]) < 4 and groups[0][0] != "0" and {*map(len, groups[1:])} == {3}
        if between or not right or e or (point and not decimals):
            return None
        if not set(whole) <= set("0123456789 '" + {".": ",", ",": "."}[mark]):
            return None
        whole = "".join(groups)
    if not set(whole + decimals + power) <= set("0123456789") or not whole + decimals:
        return None
    if e and not power:
        return None
    return factor * float(f"{whole or 0}.{decimals or 0}e{exponent or 0}")


# pieces of numbers, put together in any order
CELLS = st.lists(
    st.sampled_from([*"0123456789", "234", "000", *"..,,''  +-−$€%()eE_x", "\u00a0", "’", "inf",
                     "infinity", "nan", "١", "ı", "1e5", "1,234", "1.234,5"]),
    min_size=1, max_size=6,
).map("".join)  # fmt: skip


@given(CELLS, st.booleans())
@settings(max_examples=800, deadline=None, derandomize=True)
def test_what_reads_as_a_number_is_one_by_a_strict_grammar(text, comma):
    assert number_of(text, comma=comma) == twin(text, "," if comma else ".")


@pytest.mark.parametrize("mark", [".", ","])
@given(cells=st.lists(CELLS.map(str.strip), min_size=1, max_size=3))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_files_and_frames_have_the_same_numbers(tmp_path_factory, mark, cells):
    """What pandas reads as a number in a CSV file is one by the same grammar."""
    path = tmp_path_factory.mktemp("cells") / "t.csv"
    lines = [f'"{cell}",{i % 2}' for i, cell in enumerate(cells)]
    path.write_text("\n".join(["x,l", *lines]), "utf-8")
    values = sniff(path).read(set(), mark).frame["x"]
    if values.dtype.kind in "iuf":
        expected = [np.nan if cell == "" else twin(cell, mark) for cell in cells]
        np.testing.assert_array_equal(values.astype(float), np.array(expected, dtype=float))


@pytest.mark.parametrize("cells", [["1,5", "2.5"], ["1,5", "2,5", "3.5"], ["1,234.5", "1.234,5"]])
def test_two_decimal_marks_in_a_column_are_refused(cells):
    frame = pd.DataFrame({"x": cells, "l": 1})
    with pytest.raises(ValueError, match="column 'x', row .: expected a number, got"):
        read_table(frame, labels=["l"])


def test_percent_signs_of_what_is_no_number():
    frame = pd.DataFrame({"x": ["5%", "7%", "1%5"], "l": 1})
    with pytest.raises(ValueError, match="column 'x', row 2: expected a number, got '1%5'"):
        read_table(frame, labels=["l"])
    with pytest.raises(ValueError, match="row 1: expected a percent sign in all or none"):
        read_table(frame.assign(x=["5,5%", "0,05", "7,5%"]), labels=["l"])


@pytest.mark.parametrize("text", ["[1,,2]", "[1, ,2]", "[,1 2]", "[1 2,]"])
def test_printed_lists_with_gaps_are_refused(text):
    frame = pd.DataFrame({"v": ["[1, 2]", text], "l": 1})
    with pytest.raises(ValueError, match="column 'v', row 1: expected a list of 2 numbers, got"):
        read_table(frame, labels=["l"])


@given(st.floats(-1e9, 1e9).map(lambda x: round(x, 3)), st.booleans())
@settings(max_examples=50, deadline=None)
def test_numbers_are_read_back(value, comma):
    text = f"{value:,.3f}"
    if comma:
        text = text.translate(str.maketrans(",.", ".,"))
    assert number_of(text, comma=comma) == value


def test_what_shows_a_decimal_comma():
    assert has_comma(["1,5", "1,234"]) is True
    assert has_comma(["1.5", "1,234"]) is False
    assert has_comma(["1,234", "12"]) is None


def write(tmp_path, text, name="t.csv"):
    path = tmp_path / name
    path.write_text(text, "utf-8")
    return path


def test_decimal_commas_in_a_file(tmp_path):
    """In such a file 1.234 is a number of thousands, in other columns too."""
    path = write(tmp_path, "size;people;n;tags\n1,5;1.234;7;a,b\n2;56.789;8;a\n")
    data = read_table(path, labels="tags")
    assert data.X.tolist() == [[1.5, 1234, 7], [2, 56789, 8]]
    assert data.label_names == ("a", "b")
    assert data.written == dict.fromkeys(["size", "people", "n"], "decimal comma")
    # a single further row shows nothing: it is read as the first ones were
    kinds = dict.fromkeys(["size", "people", "n"], "numbers")
    new = write(tmp_path, "n;size;people\n1.000;3,250;1.500\n", "new.csv")
    assert read_further(new, kinds, written=data.written).X.to_numpy().tolist() == [
        [3.25, 1500, 1000]
    ]
    # and what is clear, as it is
    new = write(tmp_path, "n,size,people\n1,3.25,1500\n", "new.csv")
    assert read_further(new, kinds, written=data.written).X.to_numpy().tolist() == [
        [3.25, 1500, 1]
    ]


def test_a_decimal_mark_that_is_given(tmp_path):
    path = write(tmp_path, "size;tags\n1.234;a\n5.678;b\n")
    assert read_table(path, labels="tags").X.ravel().tolist() == [1.234, 5.678]
    assert read_table(path, labels="tags", decimal=",").X.ravel().tolist() == [1234, 5678]
    with pytest.raises(ValueError, match="decimal must be '.' or ',', got ';'"):
        read_table(path, labels="tags", decimal=";")


def test_tags_with_commas_are_no_decimal_numbers(tmp_path):
    path = write(tmp_path, 'x,tags\n1.234,"1,5"\n5.678,"2,5"\n')
    data = read_table(path, labels="tags")
    assert data.X.ravel().tolist() == [1.234, 5.678] and data.label_names == ("1", "2", "5")


def test_percent_thousands_and_currencies():
    frame = pd.DataFrame({"share": ["5%", "12.5%", None], "cost": ["$1,200", "$5", "n/a"],
                          "l": [0, 1, 1]})  # fmt: skip
    X = read_table(frame, labels=["l"]).X
    np.testing.assert_array_equal(X, [[5, 1200], [12.5, 5], [np.nan, np.nan]])
    with pytest.raises(ValueError, match="row 1: expected a percent sign in all or none"):
        read_table(frame.assign(share=["5%", "0.05", "0"]), labels=["l"])
    with pytest.raises(
        ValueError, match="drop must name no column that is to be used, got 'cost'"
    ):
        read_table(frame, labels=["l"], drop=["cost"], text="cost")


@pytest.mark.parametrize("sep", [",", ";", "\t", "|"])
def test_separators_are_found(tmp_path, sep):
    lines = [["a", "note", "tags"], ["1", '"x, y; z|w"', "u"], ["2", "v", "u"]]
    path = write(tmp_path, "\n".join(sep.join(line) for line in lines))
    data = read_table(path, labels="tags", drop=["note"])
    assert data.X.tolist() == [[1], [2]]


def test_byte_order_mark_quoted_newlines_and_crlf(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(
        '\ufeffx;note;tags\r\n1,5;"two\r\nlines";a\r\n2,5;"one ""line""";b\r\n'.encode()
    )
    data = read_table(path, labels="tags", text="note", features=["x"], encode=False)
    assert data.X["x"].tolist() == [1.5, 2.5]
    assert data.X["note"].tolist() == ["two\r\nlines", 'one "line"']


def test_what_excel_writes(tmp_path):
    """A line that says what separates columns, and UTF-16."""
    text = "sep=;\nx;tags\n1,5;ä\ny;b\n2;b\n"
    for encoding in ("utf-8", "utf-8-sig", "utf-16"):
        path = tmp_path / "t.csv"
        path.write_bytes(text.replace("y;b\n", "").encode(encoding))
        data = read_table(path, labels="tags")
        assert data.X.tolist() == [[1.5], [2]] and data.label_names == ("b", "ä")
    path.write_text(text, "utf-8")
    with pytest.raises(FileFormatError, match="line 4: column 'x': expected a number, got 'y'"):
        read_table(path, labels="tags")
    path.write_bytes("x,tags\n1,ä\n".encode("cp1252"))
    with pytest.raises(FileFormatError, match="line 2: .* UTF-8, got the byte 0xe4; save it as"):
        read_table(path, labels="tags")


# dates --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2021-04-03", (2021, 4, 3)),
        ("2021/4/3", (2021, 4, 3)),
        ("3.4.2021", (2021, 4, 3)),
        ("03.04.21", (2021, 4, 3)),
        ("03.04.1969 5:06", (1969, 4, 3, 5, 6)),
        ("2021-04", (2021, 4, 1)),
        ("2021-04-03 22:30", (2021, 4, 3, 22, 30)),
        ("2021-04-03T22:30:15.123Z", (2021, 4, 3, 22, 30, 15)),
        ("2021-04-03 22:30:15+02:00", (2021, 4, 3, 22, 30, 15)),
        ("3 Apr 2021", (2021, 4, 3)),
        ("03-Apr-21", (2021, 4, 3)),
        ("April 3, 2021", (2021, 4, 3)),
        ("Sat, 03 Apr 2021 22:30:00 +0000", (2021, 4, 3, 22, 30)),
        ("Sept 3, 2021 1:05 pm", (2021, 9, 3, 13, 5)),
        ("9999-12-31", (9999, 12, 31)),
        ("12:05 AM", (1900, 1, 1, 0, 5)),
        ("22:30:15", (1900, 1, 1, 22, 30, 15)),
        ("2021-02-30", None),
        ("2021-04-03 25:00", None),
        ("13:05 pm", None),
        ("3.9.18", None),  # a version
        ("10.0.0.1", None),
        ("3 Foo 2021", None),
        ("3 Marble 2021", None),
        ("20210403", None),
        ("555-123-4567", None),
        ("1" * 10_000, None),
    ],
)
def test_dates(text, expected):
    assert date_of(text) == (None if expected is None else dt.datetime(*expected))


@given(st.datetimes(dt.datetime(1, 1, 1), dt.datetime(9999, 12, 31)))
@settings(max_examples=50, deadline=None)
def test_dates_are_read_back(date):
    date = date.replace(microsecond=0)
    assert date_of(date.isoformat()) == date
    day = f"{date.day}/{date.month}/{date.year:04d} {date:%H:%M:%S}"
    assert date_of(day, day_first=True) == date
    assert orders_of(day) == ({True} if date.day > 12 else {True, False})


def dates(frame, **options):
    return read_table(frame.assign(l=1), labels=["l"], encode=False, **options)


def test_the_order_of_days_and_months():
    clear, unclear = ["13/04/2021", "03/04/2021"], ["03/04/2021", "01/02/2021"]
    data = dates(pd.DataFrame({"a": clear, "b": unclear}))
    assert data.written == {"a": "day first", "b": "day first"}  # b as a
    assert data.X["b"].dt.month.tolist() == [4, 2]
    data = dates(pd.DataFrame({"b": unclear}), day_first=False)
    assert data.written == {"b": "month first"} and data.X["b"].dt.month.tolist() == [3, 1]
    new = pd.DataFrame({"b": ["05/06/2021"]})
    assert read_further(new, {"b": "dates"}, written=data.written).X["b"][0].month == 5
    assert read_further(new.assign(b="2021-06-05"), {"b": "dates"}).X["b"][0].month == 6
    with pytest.raises(ValueError, match="order is clear, got only such as '03/04/2021'; set day"):
        dates(pd.DataFrame({"b": unclear}))
    with pytest.raises(ValueError, match="in one order, got '13/04/2021' and '04/13/2021'"):
        dates(pd.DataFrame({"a": ["13/04/2021", "04/13/2021"]}))
    with pytest.raises(ValueError, match="row 0: expected a date, the month first, got '13/04"):
        dates(pd.DataFrame({"a": clear}), day_first=False)


@pytest.mark.parametrize(
    "cells",
    [
        ["2021-04-03T22:30+02:00", "2021-04-03T22:30Z"],  # as the clock showed it
        pd.to_datetime(["2021-04-03 22:30"] * 2),
        pd.to_datetime(["2021-04-03 22:30"] * 2).tz_localize("Asia/Tokyo"),
        [dt.datetime(2021, 4, 3, 22, 30)] * 2,
        pd.Series([pd.Timestamp("2021-04-03 22:30")] * 2, dtype=object),
        pd.Series([pd.Timestamp("2021-04-03 22:30")] * 2).astype("timestamp[us][pyarrow]"),
        pd.Series(pd.to_datetime(["2021-04-03 22:30"] * 2).tz_localize("Asia/Tokyo")).astype(
            "timestamp[us, Asia/Tokyo][pyarrow]"
        ),
    ],
)
def test_dates_of_all_kinds(cells):
    X = dates(pd.DataFrame({"when": cells})).X
    assert X["when"].dtype.kind == "M"
    assert X["when"].tolist() == [pd.Timestamp(2021, 4, 3, 22, 30)] * 2
    again = read_further(pd.DataFrame({"when": cells}), {"when": "dates"}).X
    pd.testing.assert_frame_equal(X, again)


def test_dates_in_parquet_and_missing_ones(tmp_path):
    frame = pd.DataFrame({"day": [dt.date(2021, 4, 3), None], "t": [["a"], ["b"]]})
    frame.to_parquet(tmp_path / "t.parquet")
    X = read_table(tmp_path / "t.parquet", labels="t", encode=False).X
    assert X["day"][0] == pd.Timestamp(2021, 4, 3) and pd.isna(X["day"][1])
    far = np.array(["9999-12-31", "0001-01-01"], dtype="datetime64[s]")  # no nanoseconds there
    assert dates(pd.DataFrame({"day": far})).X["day"].to_numpy().tolist() == far.tolist()
    X = dates(pd.DataFrame({"day": ["2021-04-03", "n/a", ""]})).X
    assert X["day"].isna().tolist() == [False, True, True]
    with pytest.raises(ValueError, match="column 'day', row 2: expected a date, got 'soon'"):
        dates(pd.DataFrame({"day": ["2021-04-03", "2021-04-04", "soon"]}))
    with pytest.raises(ValueError, match="column 'day', row 0: expected a date, got 7"):
        read_further(pd.DataFrame({"day": [7]}), {"day": "dates"})


# columns in doubt ---------------------------------------------------------------------------


def test_columns_in_doubt_are_text_or_left_out():
    frame = pd.DataFrame({"id": [f"m{i}" for i in range(30)], "x": 1.0,
                          "note": [f"a note, no. {i}" for i in range(30)],
                          "url": [f"/{i}" for i in range(30)], "l": 1})  # fmt: skip
    data = read_table(frame, labels=["l"], encode=False)
    assert data.kinds == {"x": "numbers", "note": "text"}
    assert data.left_out == {
        "id": "30 different values in 30 rows, such as 'm0'",
        "url": "30 different values in 30 rows, such as '/0'",
    }
    with pytest.raises(ValueError, match="got only identifiers: 'id' .30 different values"):
        read_table(frame, labels=["l"], drop=["x", "note"])


# JSON, vectors ------------------------------------------------------------------------------


def test_json_arrays(tmp_path):
    rows = [{"x": 1, "when": "2021-04-03", "tags": ["a"]}, {"x": None, "tags": ["a", "b"]}]
    for text in (json.dumps(rows), json.dumps(rows, indent=2), "\n".join(map(json.dumps, rows))):
        path = write(tmp_path, text, "t.json")
        data = read(path, labels="tags", encode=False)
        assert data.Y.toarray().tolist() == [[1, 0], [1, 1]]
        assert data.X["when"].dtype.kind == "M" and np.isnan(data.X["x"][1])
    pd.DataFrame(rows).to_json(tmp_path / "t.json")  # by columns, as pandas does by default
    assert read(tmp_path / "t.json", labels="tags").Y.toarray().tolist() == [[1, 0], [1, 1]]
    packed = tmp_path / "t.json.gz"
    packed.write_bytes(gzip.compress(json.dumps(rows).encode("utf-8-sig")))
    assert read(packed, labels="tags", encode=False).X.shape == (2, 2)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[1, 2]", "expected an array of JSON objects, got a int in row 0"),
        ('{\n"a": 1}', "expected an array of JSON objects, one for each row, got a dict"),
        ('[{"a": 1}', "expected an array of JSON, got"),
        ('[{"a": 1, "a": 2}]', "'a' twice"),
        ("[]", "expected at least one row, got none"),
        ("", "expected an array of JSON, got"),
        ("[" * 100_000, "expected an array of JSON, got"),
        ('[{"x": 1, "t": ["a"]}, {"x": "z", "t": []}]', "column 'x', row 2: expected a number"),
    ],
)
def test_broken_json(tmp_path, text, message):
    with pytest.raises(FileFormatError, match="t.json: ") as caught:
        read(write(tmp_path, text, "t.json"), labels="t")
    assert message in str(caught.value)


def test_printed_lists_are_vectors(tmp_path):
    path = write(tmp_path, 'v,tags\n"[0.5, 1e-3]",a\n[2 -1],b\n,b\n')
    data = read_table(path, labels="tags")
    assert data.feature_names == ("v[0]", "v[1]")
    np.testing.assert_array_equal(data.X, [[0.5, 1e-3], [2, -1], [np.nan, np.nan]])
    again = read_further(path, dict.fromkeys(data.feature_names, "numbers")).X
    np.testing.assert_array_equal(again, data.X)


def test_vectors_beside_a_table(tmp_path):
    path = write(tmp_path, "x,note,tags\n1,p,a\n2,q,b\n")
    E = np.array([[0.5, 1], [2, 3]], dtype=np.float32)
    np.save(tmp_path / "e.npy", E)
    names = ("x", "embeddings[0]", "embeddings[1]")
    for vectors in (E, tmp_path / "e.npy"):
        data = read_table(path, labels="tags", features=["x"], embeddings=vectors)
        assert data.feature_names == names and data.X.tolist() == [[1, 0.5, 1], [2, 2, 3]]
    kinds = dict.fromkeys(names, "numbers")
    assert read_further(path, kinds, embeddings=E[::-1]).X.to_numpy().tolist() == [
        [1, 2, 3], [2, 0.5, 1]
    ]  # fmt: skip
    with pytest.raises(ValueError, match="the model was trained with vectors: pass embeddings="):
        read_further(path, kinds)
    (tmp_path / "bad.npy").write_bytes(b"no array")
    np.save(tmp_path / "objects.npy", np.array([None, "a"]), allow_pickle=True)
    for wrong, message in (
        (E[:1], "embeddings has 1 rows for the 2 rows of the table"),
        (E[0], "embeddings must hold numbers in a row for each row of the table, got float32"),
        (tmp_path / "bad.npy", "bad.npy: expected an array of numpy"),
        (tmp_path / "objects.npy", "objects.npy: expected an array of numpy"),
    ):
        with pytest.raises(ValueError, match=message):
            read_table(path, labels="tags", features=["x"], embeddings=wrong)
    with pytest.raises(ValueError, match="has a column 'embeddings' of its own"):
        read_table(pd.DataFrame({"embeddings": [1, 2], "l": 1}), labels=["l"], embeddings=E)


def test_points_in_a_file_with_commas(tmp_path):
    """A column that can only have points keeps them, and is read so again."""
    path = write(tmp_path, "a;b;tags\n1,5;1.25;u\n2,5;2.125;v\n")
    data = read_table(path, labels="tags")
    assert data.X.tolist() == [[1.5, 1.25], [2.5, 2.125]]
    assert data.written == {"a": "decimal comma"}
    new = write(tmp_path, "a;b\n1,500;2.125\n", "new.csv")
    X = read_further(new, dict.fromkeys("ab", "numbers"), written=data.written).X
    assert X.to_numpy().tolist() == [[1.5, 2.125]]
