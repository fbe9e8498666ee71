"""ARFF: every file against a slow reader written from the format's description."""

from __future__ import annotations

import dataclasses
import gzip
import math
import re
import tempfile
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from plurilabel._dataset import Dataset
from plurilabel.io._arff import _rows as _arff_rows
from plurilabel.io._arff._label_xml import read_label_xml, write_label_xml
from plurilabel.io._arff._read import read_arff, write_arff
from plurilabel.io._files import FileFormatError

# the twin -------------------------------------------------------------------------------------


def _token(text, i, stops):
    """One bare or quoted token from place i; (text, quoted, next place)."""
    while i < len(text) and text[i] in " \t\r":
        i += 1
    if i < len(text) and text[i] in "'\"":
        mark, out, i = text[i], "", i + 1
        while text[i] != mark:
            if text[i] == "\\":
                i += 1
                out += {"n": "\n", "t": "\t", "r": "\r"}.get(text[i], text[i])
            else:
                out += text[i]
            i += 1
        return out, True, i + 1
    start = i
    while i < len(text) and text[i] not in stops:
        # a comment starts with % after a blank, not inside a word
        if text[i] in " \t\r" and text[i:].lstrip(" \t\r").startswith("%"):
            break
        i += 1
    return text[start:i].strip(" \t\r"), False, i


def _number(text):
    if not re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", text):
        raise ValueError(text)
    return float(text)


def _value(text, quoted, values):
    """A number, or the place of a nominal value; NaN for ?"""
    if text == "?" and not quoted:
        return math.nan
    if values is None:
        return _number(text)
    if text in values:
        return values.index(text)
    return [_number(value) for value in values].index(_number(text))


def _split_row(line, cut):
    """Tokens of a comma list up to ``cut``; ValueError if it is not one."""
    tokens, i = [], 0
    while True:
        text, quoted, i = _token(line, i, "," + cut)
        if text == "" and not quoted:
            raise ValueError("empty")
        tokens.append((text, quoted))
        rest = line[i:].lstrip(" \t\r")
        i = len(line) - len(rest)
        if rest.startswith(","):
            i += 1
            continue
        return tokens, rest


def _only_comment(rest):
    rest = rest.strip(" \t\r")
    if rest and not rest.startswith("%"):
        raise ValueError(rest)


def twin(text, labels, drop=()):
    """X, Y, feature names, label names from the text of an ARFF file, all dense."""
    attributes, rows, in_data, is_sparse = [], [], False, None
    for line in text.split("\n"):
        line = line.strip(" \t\r")
        if not line or line.startswith("%"):
            continue
        if not in_data:
            keyword = line.split()[0].lower()
            if keyword == "@data":
                in_data = True
            elif keyword == "@attribute":
                name, _, i = _token(line, len(keyword), " \t{")
                kind = line[i:].strip()
                values = None
                if kind.startswith("{"):
                    values = [value for value, _ in _split_row(kind[1:], "}")[0]]
                attributes.append((name, values))
            continue
        is_sparse = line.startswith("{") if is_sparse is None else is_sparse
        if is_sparse != line.startswith("{"):
            raise ValueError("mixed")
        row = [0.0] * len(attributes)  # left out: 0, or the first declared value
        if not is_sparse:
            cells, rest = _split_row(line, "")
            _only_comment(rest)
            if len(cells) != len(attributes):
                raise ValueError("number of values")
            for a, (cell, quoted) in enumerate(cells):
                if attributes[a][0] not in drop:
                    row[a] = _value(cell, quoted, attributes[a][1])
        elif re.match(r"\{[ \t\r]*\}", line):
            _only_comment(line[line.index("}") + 1 :])
        else:
            seen, rest = set(), "," + line[1:]
            while rest.startswith(","):
                index, _, i = _token(rest, 1, " \t\r,}{")
                a = int(_number(index))
                if a != _number(index) or a in seen or not 0 <= a < len(attributes):
                    raise ValueError("index")
                seen.add(a)
                if rest[i : i + 1] not in (" ", "\t", "\r"):
                    raise ValueError("blank")
                cell, quoted, i = _token(rest, i, ",}{")
                row[a] = _value(cell, quoted, attributes[a][1])
                rest = rest[i:].lstrip(" \t\r")
            if not rest.startswith("}"):
                raise ValueError("closing")
            _only_comment(rest[1:])
        rows.append(row)
    if not rows:
        raise ValueError("no rows")

    X, Y, features, names = [], [], [], []
    for a, (name, values) in enumerate(attributes):
        column = [row[a] for row in rows]
        words = values and [value.lower() for value in values]
        truth = words and (
            words in (["0"], ["1"])
            or sorted(words)
            in (["0", "1"], ["false", "true"], ["f", "t"], ["no", "yes"], ["n", "y"])
        )
        if truth:
            yes = [word in ("1", "true", "t", "yes", "y") for word in words]
            column = [c if math.isnan(c) else float(yes[int(c)]) for c in column]
        if name in drop:
            continue
        if name in labels:
            if not set(column) <= {0, 1}:
                raise ValueError("label")
            Y.append(column)
            names.append(name)
        elif values is None or truth:
            X.append(column)
            features.append(name)
        elif len(values) == 2:
            X.append(column)
            features.append(f"{name}={values[1]}")
        else:
            for place, value in enumerate(values):
                X.append([c if math.isnan(c) else float(c == place) for c in column])
                features.append(f"{name}={value}")
    X = np.array(X, dtype=float).T.reshape(len(rows), len(features))
    return X, np.array(Y, dtype=np.int64).T, tuple(features), tuple(names)


def dense(matrix):
    return matrix.toarray() if sparse.issparse(matrix) else matrix


def assert_same_bits(got, expected):
    got, expected = dense(got), dense(expected)
    assert got.dtype == expected.dtype and got.shape == expected.shape
    np.testing.assert_array_equal(got, expected)


def assert_is_twin(data, text, labels, drop=()):
    X, Y, features, names = twin(text, labels, drop)
    assert_same_bits(data.X, X)
    assert_same_bits(data.Y, Y)
    assert data.feature_names == features
    assert data.label_names == names


def read(text, labels=None, **options):
    """Read from a text, in a folder without any XML file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "some.arff")
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return read_arff(path, labels, **options)


# real files -----------------------------------------------------------------------------------

# instances of the files, attributes that are features, labels, LC and label sets of all together
REAL = {
    "yeast": (["yeast-train.arff", "yeast-test.arff"], [1500, 917], 103, 14, 4.237, 198),
    "scene": (["scene-train.arff", "scene-test.arff"], [1211, 1196], 294, 6, 1.074, 15),
    "emotions": (["emotions-train.arff", "emotions-test.arff"], [391, 202], 72, 6, 1.869, 27),
    "image": (["image-train.arff", "image-test.arff"], [1501, 499], 294, 5, 1.236, 20),
    "flags": (["flags-train.arff", "flags-test.arff"], [129, 65], 19, 7, 3.392, 54),
    "foodtruck": (["foodtruck.arff"], [407], 21, 12, 2.290, 116),
    "cal500": (["cal500.arff"], [502], 68, 174, 26.044, 502),
    "genbase": (
        ["genbase-train.arff.gz", "genbase-test.arff.gz"],
        [463, 199], 1186, 27, 1.252, 32,
    ),
    "medical": (["medical-train.arff", "medical-test.arff"], [333, 645], 1449, 45, 1.245, 94),
    "slashdot": (["SLASHDOT-F.arff"], [3782], 1079, 22, 1.181, 156),
    "reuters-k500": (
        ["reuters-k500-train.arff", "reuters-k500-test.arff"],
        [4014, 1986], 500, 103, 1.462, 811,
    ),
    "bibtex": (
        ["bibtex-train.arff.gz", "bibtex-test.arff.gz"],
        [4880, 2515], 1836, 159, 2.402, 2856,
    ),
    "delicious": (
        ["delicious-train.arff.gz", "delicious-test.arff.gz"],
        [12920, 3185], 500, 983, 19.020, 15806,
    ),
    "20ng": (["20ng-train.arff.gz", "20ng-test.arff.gz"], [12933, 6367], 1006, 20, 1.029, 55),
    "tmc2007-500": (
        ["tmc2007-500-train.arff.gz", "tmc2007-500-test.arff.gz"],
        [21519, 7077], 500, 22, 2.158, 1341,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REAL)
def test_real_files_have_the_known_figures(data_folder, name):
    files, sizes, d, q, cardinality, n_sets = REAL[name]
    parts = [read_arff(data_folder / name / file) for file in files]
    assert [part.X.shape[0] for part in parts] == sizes
    for part in parts:
        features = part.feature_names
        if name in ("flags", "foodtruck", "genbase"):  # with nominal attributes of many values
            features = {feature.split("=")[0] for feature in features}
        assert len(features) == d
        assert part.Y.shape[1] == q
        assert part.X.dtype == np.float64 and part.Y.dtype == np.int64
        assert part.feature_names == parts[0].feature_names
        assert part.label_names == parts[0].label_names
    Y = [dense(part.Y) for part in parts]
    # the published figure of emotions, 1.869, is 1.86847 rounded up
    assert np.vstack(Y).sum(axis=1).mean() == pytest.approx(cardinality, abs=6e-4)
    assert len({row.tobytes() for part in Y for row in part}) == n_sets


SMALL = [
    "flags/flags.arff",
    "foodtruck/foodtruck.arff",
    "emotions/emotions-test.arff",
    "medical/medical-train.arff",
    "reuters-k500/reuters-k500-test.arff",
    "genbase/genbase-test.arff.gz",
    "slashdot/SLASHDOT-F.arff",
]


@pytest.mark.parametrize("file", SMALL)
def test_real_files_equal_the_twin(data_folder, file):
    path = data_folder / file
    raw = path.read_bytes()
    text = (gzip.decompress(raw) if file.endswith(".gz") else raw).decode()
    drop = ["protein"] if "genbase" in file else []
    data = read_arff(path, drop=drop)
    xml = path.parent / f"{path.parent.name}.xml"
    if xml.exists():
        labels = read_label_xml(xml)[0]
    else:
        labels = re.findall(r"(?m)^@attribute (\S+)", text)[:22]
    assert sparse.issparse(data.X) == sparse.issparse(data.Y) == ("\n{" in text)
    assert_is_twin(data, text, labels, drop)


def test_whole_file_is_the_union_of_its_parts(data_folder):
    folder = data_folder / "medical"
    whole, *parts = (read_arff(folder / f"medical{part}.arff") for part in ("", "-train", "-test"))
    for side in "XY":
        rows = [sorted(map(bytes, dense(getattr(data, side)))) for data in (whole, *parts)]
        assert rows[0] == sorted(rows[1] + rows[2])


def test_slashdot_split_and_names(data_folder):
    data = read_arff(data_folder / "slashdot" / "SLASHDOT-F.arff")
    assert data.name == "Slashdot"
    assert data.label_names[:2] == ("Entertainment", "Interviews")
    np.testing.assert_array_equal(data.train, np.arange(1891))
    np.testing.assert_array_equal(data.test, np.arange(1891, 3782))


def test_medical_without_its_xml_is_not_guessed(data_folder, tmp_path):
    # the relation says -C 45, but a filter has moved the labels to the end
    path = tmp_path / "medical.arff"
    path.write_bytes((data_folder / "medical" / "medical.arff").read_bytes())
    with pytest.raises(FileFormatError, match="a filter of WEKA changed the attributes"):
        read_arff(path)
    assert read_arff(path, -45).label_names[0] == "Class-0-593_70"


def test_yeast_labels_are_in_the_order_of_the_columns(data_folder):
    folder = data_folder / "yeast"
    in_xml, _ = read_label_xml(folder / "yeast.xml")
    in_data = read_arff(folder / "yeast-test.arff").label_names
    assert in_data == tuple(f"Class{l}" for l in range(1, 15))
    assert set(in_xml) == set(in_data) and in_xml != in_data


# what a file may look like --------------------------------------------------------------------

HEADER = """% a comment
@RELATION 'many things: -C 2' %50

@Attribute\tsunny {0,1}   % the first label
@attribute 'it\\'s, "here"' {no, YES}
@attribute "size \\"in\\" m"\tReal
@attribute colour { red,'dark green' ,"b,l\\"ue", 10% }
@attribute sex {F,M}
@attribute count INTEGER % how many
@DATA
"""


def test_quotes_comments_blanks_and_cases():
    text = HEADER + (
        "% nothing yet\n\n"
        "1, no , 2.5,red,M,1\r\n"
        "\t0,'YES',-.5e1,'dark green',\"F\",'2' % a comment\n"
        "   % another\n"
        '0,no,?,"b,l\\"ue",?,0\n'
        "1,YES,+7.,10%,M,1"
    )
    data = read(text)
    assert data.name == "many things"
    assert data.label_names == ("sunny", 'it\'s, "here"')
    assert data.feature_names == (
        'size "in" m', "colour=red", "colour=dark green", 'colour=b,l"ue', "colour=10%", "sex=M",
        "count",
    )  # fmt: skip
    np.testing.assert_array_equal(data.Y, [[1, 0], [0, 1], [0, 0], [1, 1]])
    np.testing.assert_array_equal(
        data.X,
        [
            [2.5, 1, 0, 0, 0, 1, 1],
            [-5, 0, 1, 0, 0, 0, 2],
            [np.nan, 0, 0, 1, 0, np.nan, 0],
            [7, 0, 0, 0, 1, 1, 1],
        ],
    )
    assert_is_twin(data, text, data.label_names)


def test_sparse_rows_leave_out_zero_and_the_first_value():
    text = HEADER + (
        "{0 1, 2 2.5 , 3 'dark green'}\n"
        "{}\n"
        "{ 5 ?,4 M,1 YES,3 ? } % in any order\n"
        "{3 red,1 no,2 0}\n"
    )
    data = read(text)
    np.testing.assert_array_equal(data.Y.toarray(), [[1, 0], [0, 0], [0, 1], [0, 0]])
    nan = np.nan
    np.testing.assert_array_equal(
        data.X.toarray(),
        [
            [2.5, 0, 1, 0, 0, 0, 0],
            [0, 1, 0, 0, 0, 0, 0],
            [0, nan, nan, nan, nan, 1, nan],
            [0, 1, 0, 0, 0, 0, 0],
        ],
    )
    assert_is_twin(data, text, data.label_names)
    for matrix in (data.X, data.Y):
        assert matrix.has_canonical_format and matrix.data.all()
        assert matrix.indices.dtype == np.int32


def test_yes_is_one_whatever_is_declared_first():
    head = "@attribute y {1,0}\n@attribute a {TRUE,FALSE}\n@attribute b {n,y}\n"
    head += "@attribute c {2,1}\n@data\n"
    data = read(head + "1,TRUE,y,2\n0,FALSE,n,1\n", 1)
    assert data.feature_names == ("a", "b", "c=1")
    np.testing.assert_array_equal(data.X, [[1, 1, 0], [0, 0, 1]])
    np.testing.assert_array_equal(data.Y, [[1], [0]])
    # left out of a sparse row: the value that is declared first
    data = read(head + "{}\n{0 0,1 FALSE,2 y,3 1}\n", 1)
    np.testing.assert_array_equal(data.X.toarray(), [[1, 0, 0], [0, 1, 1]])
    np.testing.assert_array_equal(data.Y.toarray(), [[1], [0]])


def test_labels_that_never_or_always_apply():
    head = "@attribute never {0}\n@attribute always {1}\n@attribute number numeric\n@data\n"
    np.testing.assert_array_equal(read(head + "0,1,1\n0,1,0\n", 3).Y, [[0, 1, 1], [0, 1, 0]])
    data = read(head + "{2 1}\n{}\n", 3)
    np.testing.assert_array_equal(data.Y.toarray(), [[0, 1, 1], [0, 1, 0]])
    assert data.X.shape == (2, 0)


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


def test_other_encodings_and_byte_order_mark():
    text = "@relation r\n@attribute é {0,1}\n@attribute a {ü,x,y}\n@data\n1,ü\n"
    assert read(b"\xef\xbb\xbf" + text.encode(), 1).label_names == ("é",)
    data = read(text.encode("latin-1"), 1, encoding="latin-1")
    assert (data.label_names, data.feature_names[0]) == (("é",), "a=ü")
    with pytest.raises(FileFormatError, match=r"line 2: expected text in utf-8 .*encoding="):
        read(text.encode("latin-1"), 1)
    with pytest.raises(FileFormatError, match=r"line 3: expected text in utf-8 .*encoding="):
        read(b"@attribute y {0,1}\n@data\n\xff\n", 1)


# which attributes are labels ------------------------------------------------------------------

FOUR = "".join(f"@attribute {name} {{0,1}}\n" for name in "abcd") + "@data\n0,1,1,0\n"


@pytest.mark.parametrize(
    ("labels", "expected"),
    [(1, "a"), (3, "abc"), (-1, "d"), (np.int64(-2), "cd"), (["c", "a"], "ac"), (("d",), "d"),
     (np.array(["b", "a"]), "ab")],
)  # fmt: skip
def test_labels_by_number_and_by_name(labels, expected):
    data = read(FOUR, labels)
    assert "".join(data.label_names) == expected
    assert "".join(data.feature_names) == "".join(c for c in "abcd" if c not in expected)
    np.testing.assert_array_equal(data.Y[0], [int(c in "bc") for c in expected])


@pytest.mark.parametrize(
    ("labels", "error", "message"),
    [
        (0, ValueError, "labels must be between 1 and the 4 attributes of .*, got 0"),
        (5, ValueError, "labels must be between 1 and the 4 attributes of .*, got 5"),
        (-5, ValueError, "got -5"),
        (True, TypeError, "labels must be the path of an XML file, .* got True"),
        (1.5, TypeError, "got 1.5"),
        ([], ValueError, "labels must name at least one attribute, got none"),
        (["a", "e"], ValueError, "labels must name attributes of .*some.arff, got 'e'"),
        (["a", "a"], ValueError, "labels must name each attribute once"),
        (None, FileFormatError, "which attributes are labels.*no XML file.*pass labels="),
    ],
)
def test_labels_that_do_not_fit(labels, error, message):
    with pytest.raises(error, match=message):
        read(FOUR, labels)


def test_labels_from_the_relation():
    for option, expected in (("-C 2", "ab"), ("-C -1", "d"), ("-x 3 -C 1 -y", "a")):
        data = read(f"@relation 'my data: {option}'\n" + FOUR)
        assert ("".join(data.label_names), data.name) == (expected, "my data")
    assert read(f"@relation my-data: -C 3\n{FOUR}").name == "my-data"
    assert read("@relation 'a: b'\n" + FOUR, 1).name == "a: b"
    assert read("@relation 'r: -C 1'\n" + FOUR, 2, name="mine").name == "mine"
    for option in ("-C 0", "-C 5"):
        with pytest.raises(FileFormatError, match="n from 1 to 4 attributes, got"):
            read(f"@relation 'r: {option}'\n" + FOUR)


def test_labels_from_the_xml_file_beside(tmp_path):
    write_label_xml(tmp_path / "my.xml", ["c", "b"])
    for name in ("my.arff", "my-train.arff.gz", "my-test.arff", "my.ARFF"):
        opened = gzip.open if name.endswith(".gz") else open
        with opened(tmp_path / name, "wb") as stream:
            # explicit names win over the number in the relation
            stream.write(f"@relation 'r: -C 1'\n{FOUR}".encode())
        assert read_arff(tmp_path / name).label_names == ("b", "c")
    (tmp_path / "other.arff").write_text(FOUR)
    with pytest.raises(FileFormatError, match="which attributes are labels"):
        read_arff(tmp_path / "other.arff")


def test_hierarchy_is_kept(tmp_path):
    (tmp_path / "my.arff").write_text(FOUR)
    (tmp_path / "my.xml").write_text(
        '<labels><label name="d"><label name="a"><label name="c"/></label></label></labels>'
    )
    data = read_arff(tmp_path / "my.arff")
    assert data.label_names == ("a", "c", "d")
    assert data.label_parents == (2, 0, -1)
    write_label_xml(tmp_path / "my.xml", ["a", "b"])
    assert read_arff(tmp_path / "my.arff").label_parents is None


def test_label_of_the_xml_that_is_no_attribute(tmp_path):
    (tmp_path / "my.arff").write_text(FOUR.replace("attribute a", "attribute apple"))
    (tmp_path / "my.xml").write_text('<labels>\n<label name="b"/>\n<label name="aple"/></labels>')
    with pytest.raises(
        FileFormatError,
        match=r"my\.xml, line 3: label 'aple' is not an attribute of .*; did you mean 'apple'",
    ):
        read_arff(tmp_path / "my.arff")


def test_drop():
    text = FOUR.replace("@attribute b {0,1}", "@attribute b string").replace(
        "0,1,1,0", "0,'x, y',1,0"
    )
    data = read(text, ["c"], drop=["b"])
    assert data.feature_names == ("a", "d")
    np.testing.assert_array_equal(data.X, [[0, 0]])
    data = read(text.replace("0,'x, y',1,0", "{1 'x, y',2 1}"), ["c"], drop=["b", "d"])
    assert data.feature_names == ("a",)
    np.testing.assert_array_equal(data.Y.toarray(), [[1]])
    with pytest.raises(
        FileFormatError, match=r"line 2: attribute 'b' is of type string, .* drop=\['b'\]"
    ):
        read(text, ["c"])
    with pytest.raises(FileFormatError, match="label 'b' must be .* got string"):
        read(text, ["b"])
    with pytest.raises(ValueError, match="drop must not name labels, got 'c'"):
        read(text, ["c"], drop=["b", "c"])
    with pytest.raises(ValueError, match="drop must name attributes of .*, got 'e'"):
        read(text, ["c"], drop=["e"])
    with pytest.raises(TypeError, match="drop must be a sequence of names, got the string 'b'"):
        read(text, ["c"], drop="b")


def test_split_number_outside_of_the_rows_is_reported():
    with pytest.warns(
        UserWarning, match="-split-number 9, but there are 1 rows; the dataset has no"
    ):
        data = read("@relation 'r: -C 1 -split-number 9'\n" + FOUR)
    assert data.train is None and data.test is None


# broken files ---------------------------------------------------------------------------------

TOP = "@relation r\n@attribute y {0,1}\n@attribute a numeric\n@attribute c {u,v,w}\n"
NUMBERS = TOP.replace("{u,v,w}", "numeric") + "@data\n"


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        (TOP + "@data\n1,2,u\n1,2\n", 7, "expected 3 values, one per attribute, got 2"),
        (NUMBERS + "1,2,3\n\n1,2,3,4\n", 8, "expected 3 values, one per attribute, got 4"),
        (NUMBERS + "1,2,3\n1,2 3,\n", 7, "attribute 'a' must be a number, got '2 3'"),
        (NUMBERS + "1,2,3\n1,,2\n", 7, "attribute 'a' has no value; a missing one is written ?"),
        (NUMBERS + "1,2,3,\n", 6, "expected 3 values, one per attribute, got 4"),
        (NUMBERS + "1,2,3\n% x\n1,1-2,3\n", 8, "attribute 'a' must be a number, got '1-2'"),
        (NUMBERS + "1,-?,3\n", 6, r"attribute 'a' must be a number, got '-\?'"),
        (NUMBERS + "1,1_0,3\n", 6, "attribute 'a' must be a number, got '1_0'"),
        (NUMBERS + "1,0x1,3\n", 6, "attribute 'a' must be a number, got '0x1'"),
        (NUMBERS + "1,٣,3\n", 6, "attribute 'a' must be a number, got '٣'"),
        (TOP + "@data\n1,2,x\n", 6, "attribute 'c' must be one of its declared values, got 'x'"),
        (NUMBERS + "1,2,3\n2,2,3\n", 7, "'y' must be one of its declared values, got '2'"),
        (NUMBERS + "0.5,2,3\n", 6, "attribute 'y' must be one of its declared values, got '0.5'"),
        (NUMBERS + "1,2,3\n?,2,3\n", 7, "'y' must be 0 or 1, because it is a label, got"),
        (NUMBERS.replace("{0,1}", "real") + "2,2,3\n", 6, "attribute 'y' must be 0 or 1, because"),
        (NUMBERS + "1,2,3\n{0 1}\n", 7, "expected a dense row .* got a sparse one"),
        (NUMBERS + "{0 1}\n1,2,3\n", 7, "expected a sparse row .* like the first, got '1,2,3'"),
        (NUMBERS + "{0 1}\n{3 1}\n", 7, "an index from 0 to 2, one per attribute, got '3'"),
        (NUMBERS + "{0 1}\n{-1 1}\n", 7, "expected an index from 0 to 2, .* got '-1'"),
        (NUMBERS + "{1.5 1}\n", 6, "expected an index from 0 to 2, .* got '1.5'"),
        (NUMBERS + "{? 1}\n", 6, r"expected an index from 0 to 2, .* got '\?'"),
        (NUMBERS + "{0 1}\n{1 1,2 1,1 2}\n", 7, r"'a' \(index 1\) comes twice in the row"),
        (NUMBERS + "{0 1}\n{1 1,2}\n", 7, "expected 'index value,' or 'index value}', got '2}'"),
        (NUMBERS + "{0 1}\n{1 }\n", 7, "attribute 'a' has no value"),
        (NUMBERS + "{5}\n{1 }\n", 6, "expected 'index value,' .* got '5}'"),
        (NUMBERS + "{0 1}\n{1 1\n", 7, "attribute 'a' must be a number|expected 'index value"),
        (NUMBERS + "{0 1}\n{1 1}, {2}\n", 7, "the end of the row after }, got ', \\{2\\}'"),
        (NUMBERS + "{1 x}\n", 6, "attribute 'a' must be a number, got 'x'"),
        (NUMBERS + "{0 ?}\n", 6, "attribute 'y' must be 0 or 1, because it is a label"),
        (TOP + "@data\n1,2,'u\n", 6, "cannot read value 3"),
        (TOP, 4, "expected a line @data before the end of the file"),
        (TOP + "@data\n% only a comment\n", 6, "expected rows of data after @data, got none"),
        ("@relation r\n@data\n1\n", 2, "expected at least one @attribute before @data"),
        (TOP + "@attribute a real\n@data\n", 5, "attribute 'a' was declared before, on line 3"),
        (TOP + "@relation r\n", 5, "expected one @relation, got a second"),
        (TOP + "1,2,3\n", 5, "expected @relation, @attribute or @data, got '1,2,3'"),
        (TOP + "@attribute z\n", 5, "attribute 'z' must be numeric, .* got nothing"),
        (TOP + "@attribute z what\n", 5, "attribute 'z' must be numeric, .* got 'what'"),
        (TOP + "@attribute z real real\n", 5, "expected nothing after the type real"),
        (TOP + "@attribute\n", 5, "expected a name and a type after @attribute"),
        (TOP + "@attribute 'z real\n", 5, "expected a name and a type after @attribute"),
        (TOP + "@attribute z {a,b\n", 5, "attribute 'z' must list its values as {a,b,...}, got"),
        (TOP + "@attribute z {a,,b}\n", 5, "attribute 'z' has an empty value"),
        (TOP + "@attribute z {}\n", 5, "attribute 'z' has an empty value"),
        (TOP + "@attribute z {a,b,a}\n", 5, "attribute 'z' lists the value 'a' twice"),
        (TOP + "@attribute z {a,b} c\n", 5, "expected nothing after the values, got ' c'"),
        ("@relation 'r\n", 1, "expected a closing quote in @relation"),
        ("@relation 'r' s\n", 1, "expected one name after @relation"),
        (TOP.replace("{0,1}", "{a,b}") + "@data\n", 2, r"label 'y' .* \{0,1\}, .* '\{a,b\}'"),
        (TOP + "@attribute z date 'yyyy-MM-dd'\n@data\n", 5, r"type date, .* drop=\['z'\]"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("chunk", [1, 1 << 18])
def test_broken_files_name_their_line(text, line, message, chunk):
    with mock.patch.object(_arff_rows, "CHUNK", chunk), pytest.raises(FileFormatError) as caught:
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


def test_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_arff(tmp_path / "none.arff")


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
    with mock.patch.object(_arff_rows, "CHUNK", chunk):
        data = read(text, 2)
    assert_is_twin(data, text, ["a0", "a1"])


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
        with mock.patch.object(_arff_rows, "CHUNK", chunk), pytest.raises(FileFormatError):
            read(text, 2)
    else:
        with mock.patch.object(_arff_rows, "CHUNK", chunk):
            data = read(text, 2)
        assert_is_twin(data, text, ["a0", "a1"])


# writing --------------------------------------------------------------------------------------

names = st.text(
    st.one_of(
        st.characters(exclude_categories=["Cs"]), st.sampled_from("'\"\\%,{}? \t\n\r\x1eu0n")
    ),
    max_size=8,
)
xml_names = st.text(
    st.one_of(
        st.characters(min_codepoint=32, max_codepoint=0xFFFD, exclude_categories=["Cs"]),
        st.sampled_from("'\"\\%,{}<>&\t\n\r"),
    ),
    max_size=8,
)


@st.composite
def datasets(draw, label=names):
    n, d, q = draw(st.integers(1, 5)), draw(st.integers(0, 4)), draw(st.integers(1, 4))
    numbers = st.one_of(st.sampled_from([0.0, 0.0, 1.0, 2.0]), st.floats(width=64))
    X = np.array(draw(st.lists(numbers, min_size=n * d, max_size=n * d)), dtype=float).reshape(
        n, d
    )
    bits = draw(st.lists(st.integers(0, 1), min_size=n * q, max_size=n * q))
    Y = np.array(bits, dtype=np.int64).reshape(n, q)
    label_names = draw(st.lists(label, min_size=q, max_size=q, unique=True))
    feature_names = draw(
        st.lists(names.filter(lambda x: x not in label_names), min_size=d, max_size=d, unique=True)
    )
    train = test = None
    if n > 1 and draw(st.booleans()):
        k = draw(st.integers(1, n - 1))
        train, test = np.arange(k), np.arange(k, n)
    name = draw(names.filter(lambda x: not re.search(r":\s*-", x)))
    if draw(st.booleans()):
        X, Y = sparse.csr_array(X), sparse.csr_array(Y)
    return Dataset(X, Y, tuple(feature_names), tuple(label_names), train, test, name)


def assert_same(got, data):
    assert_same_bits(got.X, data.X)
    assert_same_bits(got.Y, data.Y)
    for what in ("feature_names", "label_names", "name", "label_parents"):
        assert getattr(got, what) == getattr(data, what)
    for what in ("train", "test"):
        np.testing.assert_array_equal(getattr(got, what), getattr(data, what))


@settings(max_examples=100, deadline=None)
@given(
    data=datasets(),
    as_sparse=st.sampled_from([None, True, False]),
    end=st.sampled_from(["", ".gz"]),
)
def test_what_is_written_is_read_back(data, as_sparse, end):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"x.arff{end}")
        write_arff(path, data, sparse=as_sparse)
        assert (path.read_bytes()[:2] == b"\x1f\x8b") == bool(end)
        got = read_arff(path)
        assert [p.name for p in Path(folder).iterdir()] == [path.name]
    assert_same(got, data)
    expected = sparse.issparse(data.X) if as_sparse is None else as_sparse
    assert sparse.issparse(got.X) == sparse.issparse(got.Y) == expected
    if not expected:  # the sign of zero, too
        assert got.X.tobytes() == np.where(np.isnan(X := dense(data.X)), np.nan, X).tobytes()


@settings(max_examples=100, deadline=None)
@given(
    data=datasets(label=xml_names), parents=st.lists(st.integers(-1, 3), min_size=4, max_size=4)
)
def test_what_is_written_with_xml_is_read_back(data, parents):
    q = data.Y.shape[1]
    # a label may only hang below an earlier one, so there is no circle
    parents = tuple(min(parent, label - 1) for label, parent in enumerate(parents[:q]))
    data = dataclasses.replace(data, label_parents=parents if max(parents) >= 0 else None)
    with tempfile.TemporaryDirectory() as folder:
        path, xml = Path(folder, "x-train.arff"), Path(folder, "x.xml")
        write_arff(path, data, labels_xml=xml)
        beside = read_arff(path)
        named = read_arff(path, xml)
        xml.unlink()
        with pytest.raises(FileFormatError, match="which attributes are labels"):
            read_arff(path)
    assert_same(beside, data)
    assert_same(named, data)


def test_write_leaves_its_input_alone_and_sees_through_untidy_csr(tmp_path):
    # twice the same place, columns not in order, a stored zero
    X = sparse.csr_array(
        (np.array([1.0, 2, 0, 4]), np.array([2, 0, 1, 2]), np.array([0, 4, 4])), shape=(2, 3)
    )
    Y = sparse.csr_matrix(np.array([[0, 1], [0, 0]]))
    before = X.copy()
    write_arff(tmp_path / "x.arff", Dataset(X, Y, tuple("abc"), tuple("yz")))
    assert (tmp_path / "x.arff").read_text().split("@data\n")[1] == "{1 1,2 2,4 5}\n{}\n"
    for part in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(X, part), getattr(before, part))


def test_citation_becomes_a_comment(tmp_path):
    data = Dataset(np.ones((1, 1)), np.ones((1, 1), int), ("a",), ("y",), citation="A. B.\n@data")
    write_arff(tmp_path / "x.arff", data)
    assert (tmp_path / "x.arff").read_text().startswith("% A. B.\n% @data\n@relation ': -C 1'\n")
    np.testing.assert_array_equal(read_arff(tmp_path / "x.arff").X, data.X)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"X": np.ones((2, 3, 1))}, r"dataset\.X must be a matrix \(n, d\), got 3 dimensions"),
        ({"Y": np.array([[2], [0]])}, r"dataset\.Y must hold only 0 and 1, got 2 in row 0"),
        ({"X": np.ones((0, 1)), "Y": np.ones((0, 1))}, "must have rows and labels, got 0 rows"),
        ({"Y": np.ones((2, 0)), "label_names": ()}, "got 2 rows and 0 labels"),
        ({"feature_names": ("y",)}, "must have different names .* got 'y' twice"),
        ({"feature_names": ("\ud800",)}, "has a character that UTF-8 cannot hold"),
        ({"name": "a: -C 5"}, r"dataset\.name must not hold ': -'"),
        ({"label_parents": (-1,)}, "hierarchy .* which only XML holds: pass labels_xml="),
        ({"train": np.array([1]), "test": np.array([0])}, "split .* other than first rows"),
        ({"train": np.arange(2)}, r"split \(train, test\) other than first rows"),
        ({"train": np.array([0]), "test": np.array([], int)}, r"split \(train, test\) other than"),
    ],
)  # fmt: skip
def test_what_arff_cannot_hold_is_refused(tmp_path, changes, message):
    data = Dataset(np.ones((2, 1)), np.ones((2, 1), int), ("a",), ("y",), name="toy")
    with pytest.raises(ValueError, match=message):
        write_arff(tmp_path / "x.arff", dataclasses.replace(data, **changes))
    assert not list(tmp_path.iterdir())


# the XML file ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("<labels>\n<label name='a'>\n</labels>", 3, "broken XML: mismatched tag"),
        ("", 1, "broken XML: no element found"),
        ("<label name='a'/>", 1, "expected <labels>, got <label>"),
        ("<labels>\n<tag name='a'/></labels>", 2, "expected <label>, got <tag>"),
        ("<labels>\n\n<label/></labels>", 3, 'expected <label name="...">, got a <label> without'),
        ("<labels>\n<label name='a'/>\n<label name='a'/></labels>", 3, "'a' was named before, on"),
        ("<labels></labels>", None, 'expected at least one <label name="...">, got none'),
    ],
)  # fmt: skip
def test_broken_xml_names_its_line(tmp_path, text, line, message):
    path = tmp_path / "l.xml"
    path.write_text(text)
    with pytest.raises(FileFormatError) as caught:
        read_label_xml(path)
    assert caught.value.line == line
    assert message in caught.value.problem


def test_xml_with_a_prefix_and_gzipped(tmp_path):
    path = tmp_path / "l.xml.gz"
    path.write_bytes(
        gzip.compress(b"<m:labels xmlns:m='http://mulan'><m:label name='a&amp;b'/></m:labels>")
    )
    assert read_label_xml(path) == (("a&b",), (-1,))


def test_written_xml_puts_children_below_parents(tmp_path):
    path = tmp_path / "l.xml"
    write_label_xml(path, ["leaf", "root", "twig", "<&'\">"], [2, -1, 1, -1])
    assert read_label_xml(path) == (("root", "twig", "leaf", "<&'\">"), (-1, 0, 1, -1))


@pytest.mark.parametrize(
    ("names", "parents", "message"),
    [
        ([], None, "names must hold at least one label, got none"),
        (["a", "b", "a"], None, "names must be different from each other, got 'a' twice"),
        (["a", "b"], [-1], "parents must have 2 entries, one per label, got 1"),
        (["a", "b"], [-1, 2], "parents must lie between -1 and 1, got 2"),
        (["a", "b", "c"], [1, 0, -1], "got a circle"),
        (["a"], [0], "got a circle"),
        (["a\x00"], None, r"label 'a\\x00' has a character that XML cannot hold"),
    ],
)
def test_xml_that_cannot_be_written(tmp_path, names, parents, message):
    with pytest.raises(ValueError, match=message):
        write_label_xml(tmp_path / "l.xml", names, parents)
    assert not list(tmp_path.iterdir())


def test_labels_may_be_missing(tmp_path):
    """As in rows whose labels are to be predicted."""
    path = tmp_path / "a.arff"
    path.write_text("@relation r\n@attribute x numeric\n@attribute red {0,1}\n@data\n1.5,1\n2,0\n")
    with pytest.raises(ValueError, match="blue"):
        read_arff(path, ["blue", "red"])
    data = read_arff(path, ["blue", "red"], missing_labels="ignore")
    assert (data.feature_names, data.label_names) == (("x",), ("red",))
    data = read_arff(path, ["blue"], missing_labels="ignore")
    assert (data.feature_names, data.Y.shape) == (("x", "red"), (2, 0))
