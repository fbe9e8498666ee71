"""The lines of XMC and LIBSVM files, against their definition, one word at a time."""

import re

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from plurilabel.io import FileFormatError, read_libsvm, read_xmc
from plurilabel.io import _sparse_lines as _lines

NUMBER = r"[+-]?(([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|[nN][aA][nN]|[iI][nN][fF])"


def slow_row(line):
    """Labels and a mapping feature -> value of a line; ValueError if it is not well formed."""
    line = line.removesuffix("\r")
    words = re.findall(r"[^ \t]+", line)
    labels = []
    if words and line[0] not in " \t" and ":" not in words[0]:
        labels = words.pop(0).split(",")
    if not all(re.fullmatch("[0-9]+", label) for label in labels):
        raise ValueError(f"labels {labels}")
    features = {}
    for word in words:
        found = re.fullmatch(f"([0-9]+):({NUMBER})", word)
        if not found or int(found[1]) in features:
            raise ValueError(f"feature {word}")
        features[int(found[1])] = float(found[2])
    if len({int(label) for label in labels}) < len(labels):
        raise ValueError(f"labels {labels} repeat")
    return [int(label) for label in labels], features


def dense(rows, d, q):
    """X and Y of rows as slow_row gives them; ValueError if a number is too large."""
    X, Y = np.zeros((len(rows), d)), np.zeros((len(rows), q), dtype=np.int64)
    for i, (labels, features) in enumerate(rows):
        for label in labels:
            if label >= q:
                raise ValueError(f"label {label}")
            Y[i, label] = 1
        for j, value in features.items():
            if j >= d:
                raise ValueError(f"feature {j}")
            X[i, j] = value
    return X, Y


finite = st.floats(allow_nan=False)
number_texts = st.one_of(
    finite.map(repr),
    finite.map(lambda value: f"{value:.3e}"),
    st.floats(-1e9, 1e9).map(lambda value: f"{value:.6f}"),
    st.floats(0, 1).map(lambda value: f"{value:.17f}"),
    st.integers(-(10**20), 10**20).map(str),
    st.tuples(st.integers(0, 10**12), st.text("0123456789", max_size=12)).map(
        lambda parts: f"{parts[0]}.{parts[1]}"
    ),
    st.sampled_from(["nan", "-inf", "+5", ".5", "5.", "-.5", "1E5", "007", "9007199254740993"]),
)
blanks = st.sampled_from([" ", " ", " ", "  ", "\t"])


@st.composite
def row_texts(draw, d=9, q=5, first=0):
    labels = draw(st.lists(st.integers(0, q - 1), unique=True, max_size=3))
    columns = draw(st.lists(st.integers(first, d - 1 + first), unique=True, max_size=4))
    words = [f"{j}:{draw(number_texts)}" for j in columns]
    text = ",".join(map(str, labels)) + "".join(draw(blanks) + word for word in words)
    return text + draw(st.sampled_from(["", "", " ", "\t", "\r"]))


# text that is nearly right, to find what a reader lets through
scraps = st.sampled_from(
    ["0", "1", "2", "10", ",", ":", " ", " ", "\n", "\n", ".", "-", "+", "e", "nan", "inf"]
    + ["0:1", "1:.5 ", "2:-1e3", "0,1", "\t", "\r\n", "x", "1:2 ", "\r", "\x0b", "\0", "_"]
)
messy_texts = st.lists(scraps, max_size=14).map("".join)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("sparse-text") / "data.txt"


@pytest.fixture(params=[1, 7, 1 << 20], ids="blocks of {}".format, scope="module")
def block_bytes(request):
    before = _lines.BLOCK_BYTES
    _lines.BLOCK_BYTES = request.param
    yield request.param
    _lines.BLOCK_BYTES = before


def assert_same(data, X, Y):
    # equal bits, up to the sign of a zero that is not stored
    np.testing.assert_array_equal(data.X.toarray(), X)
    np.testing.assert_array_equal(data.Y.toarray(), Y)
    assert data.X.dtype == np.float64
    assert data.Y.dtype == np.int64
    for matrix in (data.X, data.Y):
        assert matrix.has_canonical_format
        assert matrix.data.all()


@settings(deadline=None, max_examples=40)
@given(rows=st.lists(row_texts(), max_size=5), last_newline=st.booleans())
def test_xmc_equals_twin(path, block_bytes, rows, last_newline):
    text = f"{len(rows)} 9 5\n" + "\n".join(rows) + "\n" * (last_newline or rows[-1:] == [""])
    path.write_bytes(text.encode())
    assert_same(read_xmc(path), *dense([slow_row(row) for row in rows], 9, 5))


@settings(deadline=None, max_examples=40)
@given(rows=st.lists(row_texts(first=1), max_size=5), data=st.data())
def test_libsvm_equals_twin(path, block_bytes, rows, data):
    comments = ["", "", "#", " # 1:x, ü"]
    lines = [row.rstrip("\r") + data.draw(st.sampled_from(comments)) for row in rows]
    path.write_bytes("\n".join(["# a comment", "", *lines, "0 1:1"]).encode())
    expected = [slow_row(row) for row in [*rows, "0 1:1"] if row.strip()]
    expected = [(labels, {j - 1: v for j, v in f.items()}) for labels, f in expected]
    assert_same(read_libsvm(path, n_features=9, n_labels=5), *dense(expected, 9, 5))


@settings(deadline=None)
@given(text=messy_texts)
@example("0 1:5 \n1:2\n")
@example("0,\n")
@example("\r\r\n")
@example("0 1:--5\n")
@example("0 1:nanan\n")
@example("0 1:2e\n")
@example("0 1:2e 2:1e5\n")
@example("0 1:1\x0b2\n")
@example("0 1:.\n")
@example("0 1:-\n")
@example("0 1:1.5.2\n")
@example("-1 1:2\n")
@example("0 1.0:2\n")
@example("0 00000000000000000:2\n")
@example("0 1:00000000000000000000000002\n")
def test_nothing_wrong_is_let_through(path, text):
    """Whatever the text, reader and twin accept or refuse it together, and read the same."""
    text = text.rstrip("\n") + "\n"
    lines = text.split("\n")[:-1]
    path.write_bytes(f"{len(lines)} 3 3\n{text}".encode())
    try:
        expected = dense([slow_row(line) for line in lines], 3, 3)
    except ValueError:
        with pytest.raises(FileFormatError):
            read_xmc(path)
    else:
        if "00000000000000000:" in text:  # more digits than a feature number may have
            with pytest.raises(FileFormatError, match="a feature number up to"):
                read_xmc(path)
        else:
            assert_same(read_xmc(path), *expected)


@settings(deadline=None)
@given(st.lists(number_texts.filter(lambda text: text[-1] not in "nf"), min_size=1))
def test_every_double_is_that_of_python(path, texts):
    path.write_text("".join(f"0 1:{text}\n" for text in texts))
    X = read_libsvm(path, n_features=1, zero_based=False).X.toarray().ravel()
    np.testing.assert_array_equal(X, [float(text) for text in texts])


def test_few_odd_numbers_among_many_plain_ones(path):
    texts = ["0.25"] * 5000
    texts[7], texts[2500], texts[-1] = "-1e-3", "0.12345678901234567", "inf"
    path.write_text("".join(f"0 1:{text}\n" for text in texts))
    X = read_libsvm(path).X.toarray().ravel()
    np.testing.assert_array_equal(X, [float(text) for text in texts])
    texts[-1] = "1e"
    path.write_text("".join(f"0 1:{text}\n" for text in texts))
    with pytest.raises(FileFormatError, match="line 5000: expected a number after '1:', got '1e'"):
        read_libsvm(path)
