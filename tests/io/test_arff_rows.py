"""Rows, dense and sparse, quick and slow, against a slow reader."""

import gzip
import re
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plurilabel.io import FileFormatError, read_arff
from plurilabel.io import _arff_rows as _rows
from tests.io.arff_twin import NUMBERS, TOP, assert_is_twin, read, twin


def test_question_mark_in_quotes_is_a_value():
    head = "@attribute y {0,1}\n@attribute a {'?',b,''}\n@data\n"
    data = read(head + "1,'?'\n0,?\n1,''\n", 1)
    assert data.feature_names == ("a=?", "a=b", "a=")
    np.testing.assert_array_equal(data.X, [[1, 0, 0], [np.nan] * 3, [0, 0, 1]])


def test_numbers_beyond_the_exact_integers_and_infinity():
    head = "@attribute y {0,1}\n@attribute a numeric\n@data\n"
    values = [
        "9007199254740993",
        "123456789012345678901234567890",
        "-0",
        "Infinity",
        "-inf",
        "NaN",
    ]
    X = read(head + "".join(f"1,{value}\n" for value in values), 1).X[:, 0]
    expected = np.array(
        [9007199254740992, 123456789012345678901234567890, -0.0, np.inf, -np.inf, np.nan]
    )
    assert X.tobytes() == expected.astype(float).tobytes()
    X = read(head + "0,9007199254740993\n1,123456789012345678901234567890\n", 1).X[:, 0]
    np.testing.assert_array_equal(X, expected[:2].astype(float))


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        (TOP + "@data\n1,2,u\n1,2\n", 7, "expected 3 values, one per attribute, got 2"),
        (NUMBERS + "1,2,3\n\n1,2,3,4\n", 8, "expected 3 values, one per attribute, got 4"),
        (NUMBERS + "1,2,3\n1,2 3,\n", 7, "attribute 'a' must be a number, got '2 3'"),
        (NUMBERS + "1,2,3\n1,,2\n", 7, "attribute 'a' has no value; write \\? for a missing one"),
        (NUMBERS + "1,2,3,\n", 6, "expected 3 values, one per attribute, got 4"),
        (NUMBERS + "1,2,3\n% x\n1,1-2,3\n", 8, "attribute 'a' must be a number, got '1-2'"),
        (NUMBERS + "1,-?,3\n", 6, r"attribute 'a' must be a number, got '-\?'"),
        (NUMBERS + "1,1_0,3\n", 6, "attribute 'a' must be a number, got '1_0'"),
        (NUMBERS + "1,0x1,3\n", 6, "attribute 'a' must be a number, got '0x1'"),
        (NUMBERS + "1,٣,3\n", 6, "attribute 'a' must be a number, got '٣'"),
        (TOP + "@data\n1,2,x\n", 6, "attribute 'c' must be one of its declared values, got 'x'"),
        (NUMBERS + "1,2,3\n2,2,3\n", 7, "'y' must be one of its declared values, got '2'"),
        (NUMBERS + "0.5,2,3\n", 6, "attribute 'y' must be one of its declared values, got '0.5'"),
        (NUMBERS.replace("{0,1}", "real") + "2,2,3\n", 6, "attribute 'y' must be 0 or 1, because"),
        (NUMBERS + "1,2,3\n{0 1}\n", 7, "expected a dense row .* got a sparse one"),
        (NUMBERS + "{0 1}\n1,2,3\n", 7, "expected a sparse row .* like the first, got '1,2,3'"),
        (NUMBERS + "{0 1}\n{3 1}\n", 7, "an index from 0 to 2, one per attribute, got '3'"),
        (NUMBERS + "{0 1}\n{-1 1}\n", 7, "expected an index from 0 to 2, .* got '-1'"),
        (NUMBERS + "{1.5 1}\n", 6, "expected an index from 0 to 2, .* got '1.5'"),
        (NUMBERS + "{? 1}\n", 6, r"expected an index from 0 to 2, .* got '\?'"),
        (NUMBERS + "{0 1}\n{1 1,2 1,1 2}\n", 7, r"'a' \(index 1\) occurs twice in the row"),
        (NUMBERS + "{0 1}\n{1 1,2}\n", 7, "expected 'index value,' or 'index value}', got '2}'"),
        (NUMBERS + "{0 1}\n{1 }\n", 7, "attribute 'a' has no value"),
        (NUMBERS + "{5}\n{1 }\n", 6, "expected 'index value,' .* got '5}'"),
        (NUMBERS + "{0 1}\n{1 1\n", 7, "attribute 'a' must be a number|expected 'index value"),
        (NUMBERS + "{0 1}\n{1 1}, {2}\n", 7, "the end of the row after }, got ', \\{2\\}'"),
        (NUMBERS + "{1 x}\n", 6, "attribute 'a' must be a number, got 'x'"),
        (TOP + "@data\n1,2,'u\n", 6, "cannot read value 3"),
        (TOP + "@data\n% only a comment\n", 6, "expected rows of data after @data, got none"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("chunk", [1, 1 << 18])
def test_broken_files_name_their_line(text, line, message, chunk):
    with mock.patch.object(_rows, "CHUNK", chunk), pytest.raises(FileFormatError) as caught:
        read(text, 1)
    assert caught.value.line == line
    assert re.search(message, caught.value.problem), caught.value.problem
    assert caught.value.path.endswith("some.arff")


def test_broken_gzip(tmp_path):
    values = np.random.default_rng(0).random(5000)
    packed = gzip.compress((NUMBERS + "".join(f"1,2,{value}\n" for value in values)).encode())
    middle, path = len(packed) // 2, tmp_path / "a.arff.gz"
    path.write_bytes(packed[:middle])
    with pytest.raises(FileFormatError, match=r"a\.arff\.gz: the gzip file is broken: .* ended"):
        read_arff(path, 1)
    path.write_bytes(packed[:-8] + bytes(8))
    with pytest.raises(FileFormatError, match=r"a\.arff\.gz: the gzip file is broken: CRC"):
        read_arff(path, 1)
    path.write_bytes(packed[:10] + b"\xff" * 100)
    with pytest.raises(FileFormatError, match=r"a\.arff\.gz: the gzip file is broken: Error -3"):
        read_arff(path, 1)


# random files against the twin ----------------------------------------------------------------

KINDS = ["numeric", "{0,1}", "{1,0}", "{1,2,3}", "{3,1}", "{u,v,w}", "{no,yes}"]
blanks = st.sampled_from(["", "", "", " ", "\t", "  "])


@st.composite
def files(draw):
    """Text of a file with two labels, then some attributes of any kind."""
    wordy = draw(st.booleans())
    kinds = ["{0,1}", draw(st.sampled_from(["{1,0}", "numeric"]))]
    kinds += draw(st.lists(st.sampled_from(KINDS if wordy else KINDS[:5]), min_size=1, max_size=4))
    number = st.one_of(
        st.integers(0, 3).map(str), st.floats(allow_nan=False, allow_infinity=False).map(repr)
    )

    def cell(a):
        if kinds[a] == "numeric":
            value = st.sampled_from("01") if a < 2 else st.one_of(number, st.just("?"))
        else:
            value = st.sampled_from(kinds[a].strip("{}").split(",") + ["?"] * (a >= 2))
        return draw(value)

    w, is_sparse = len(kinds), draw(st.booleans())
    rows = []
    for _ in range(draw(st.integers(1, 5))):
        if draw(st.integers(0, 9)) == 0:
            rows.append(draw(st.sampled_from(["", "  ", "% x", " % 1,2"])))
        row = list(range(w))
        if is_sparse:
            row = draw(st.lists(st.sampled_from(row), unique=True))
            row = sorted(row) if draw(st.booleans()) else row
        around = (lambda: draw(blanks)) if draw(st.booleans()) else (lambda: "")
        cells = [f"{around()}{f'{a} ' if is_sparse else ''}{cell(a)}{around()}" for a in row]
        text = ",".join(cells)
        rows.append(f"{{{text}}}" if is_sparse else text)
    head = [f"@attribute a{a} {kind}" for a, kind in enumerate(kinds)]
    end = draw(st.sampled_from(["\n", "\r\n"]))
    return end.join([*head, "@data", *rows, ""])


chunks = st.sampled_from([1, 8, 30, 1 << 18])


@settings(max_examples=100, deadline=None)
@given(text=files(), chunk=chunks)
def test_random_files_equal_the_twin(text, chunk):
    with mock.patch.object(_rows, "CHUNK", chunk):
        data = read(text, 2)
    assert_is_twin(data, text, ["a0", "a1"])


def test_labels_that_are_not_known_are_read_as_the_twin_reads_them():
    head = "@attribute a0 {0,1}\n@attribute a1 {no,yes}\n@attribute b numeric\n@data\n"
    for rows in ("?,no,1\n1,yes,?\n0,?,2\n", "{0 ?,2 1}\n{1 yes}\n{1 ?}\n", "?,?,1\n0,no,1\n"):
        assert_is_twin(read(head + rows, 2), head + rows, ["a0", "a1"])


@settings(max_examples=200, deadline=None)
@given(
    text=files(),
    place=st.floats(0, 1),
    letter=st.sampled_from(["", *"0123 ,{}.e-+?%\n\t;'"]),
    replace=st.booleans(),
    chunk=chunks,
)
def test_spoilt_files_are_refused_or_read_as_the_twin_reads_them(
    text, place, letter, replace, chunk
):
    """One letter changed among the rows: never a silent wrong column."""
    start = text.index("@data") + 6
    at = start + int(place * (len(text) - start))
    text = text[:at] + letter + text[at + replace :]
    try:
        twin(text, ["a0", "a1"])
    except (ValueError, IndexError):
        with mock.patch.object(_rows, "CHUNK", chunk), pytest.raises(FileFormatError):
            read(text, 2)
    else:
        with mock.patch.object(_rows, "CHUNK", chunk):
            data = read(text, 2)
        assert_is_twin(data, text, ["a0", "a1"])
