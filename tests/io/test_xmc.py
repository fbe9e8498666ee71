import gzip
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from plurilabel.datasets import Dataset
from plurilabel.io import (
    FileFormatError,
    read_arff,
    read_libsvm,
    read_xmc,
    write_libsvm,
    write_xmc,
)
from plurilabel.io import _sparse_lines as _lines


def write(path, text):
    path.write_text(text)
    return path


def test_reads_the_format(tmp_path):
    text = "4 5 4\n0,3 1:0.5 4:-2e-3\n2\n 0:1.5 3:7\n\n"
    data = read_xmc(write(tmp_path / "toy.train.txt", text))
    assert isinstance(data.X, sparse.csr_array)
    assert isinstance(data.Y, sparse.csr_array)
    assert (data.X.dtype, data.Y.dtype) == (np.float64, np.int64)
    expected = [[0, 0.5, 0, 0, -2e-3], [0] * 5, [1.5, 0, 0, 7, 0], [0] * 5]
    np.testing.assert_array_equal(data.X.toarray(), expected)
    expected = [[1, 0, 0, 1], [0, 0, 1, 0], [0] * 4, [0] * 4]
    np.testing.assert_array_equal(data.Y.toarray(), expected)
    assert data.name == "toy.train"
    assert data.feature_names == ("x0", "x1", "x2", "x3", "x4")
    assert data.label_names == ("label0", "label1", "label2", "label3")


@pytest.mark.parametrize("text", ["0 3 2\n", "0 3 2", "0 3 2\n\n\n"])
def test_no_rows(tmp_path, text):
    data = read_xmc(write(tmp_path / "none.txt", text), name="none at all")
    assert (data.X.shape, data.Y.shape, data.name) == ((0, 3), (0, 2), "none at all")


def test_blank_lines_after_the_last_row_are_no_rows(tmp_path):
    data = read_xmc(write(tmp_path / "a.txt", "1 3 2\r\n0 1:2\r\n\r\n  \r\n"))
    assert (data.X.shape, data.X[0, 1]) == ((1, 3), 2)


def test_unsorted_rows_are_sorted_and_zeros_left_out(tmp_path):
    data = read_xmc(write(tmp_path / "a.txt", "2 4 3\n2,0 3:3 1:1 2:0\n1 0:-0.0\n"))
    assert data.X.indices.tolist() == [1, 3]
    assert data.X.data.tolist() == [1, 3]
    assert data.Y.indices.tolist() == [0, 2, 1]


HEADER = "expected a first line with the numbers of rows, features and labels"


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("", None, f"{HEADER}, got an empty file"),
        ("\n", 1, f"{HEADER}, got ''"),
        ("1 2\n", 1, f"{HEADER}, got '1 2'"),
        ("1 2 3 4\n", 1, f"{HEADER}, got '1 2 3 4'"),
        ("1 2 -3\n", 1, f"{HEADER}, got '1 2 -3'"),
        ("0 1:5\n", 1, f"{HEADER}, got '0 1:5'"),
        (
            "1 3000000000 3\n",
            1,
            "expected up to 2147483647 rows, features and labels, got 1",
        ),
        ("3 2 2\n0\n1\n", None, "expected 3 rows (as in the header), got 2"),
        ("1 2 2\n0\n\n1\n", 4, "expected no more than 1 rows (as in the header), got"),
        ("2 2 2\n0 1:1\n1 2:1\n", 3, "expected feature numbers below 2 (the header's second"),
        ("2 2 2\n0,2 1:1\n1 1:1\n", 2, "expected label numbers below 2 (the header's third"),
        ("1 2 2\n0,1,0 1:1\n", 2, "expected each label once, got label 0 twice"),
        ("2 3 2\n0\n0 2:1 1:1 2:1\n", 3, "expected each feature once, got feature 2 twice"),
        ("1 2 2\n0,x 1:1\n", 2, "expected a label (a number from 0 on), got 'x'"),
        ("1 2 2\n0, 1:1\n", 2, "expected a label (a number from 0 on), got ''"),
        ("1 2 2\n-1 1:1\n", 2, "expected a label (a number from 0 on), got '-1'"),
        ("1 2 2\n1.0 1:1\n", 2, "expected a label (a number from 0 on), got '1.0'"),
        ("1 2 2\n9999999999 1:1\n", 2, "expected a label up to 2147483646, got '9999999999'"),
        ("1 2 2\n0 1\n", 2, "expected index:value, got '1'"),
        ("1 2 2\n0, 1 1:1\n", 2, "expected a label (a number from 0 on), got ''"),
        ("1 2 2\n0 a:1\n", 2, "expected a feature number before the colon, got 'a:1'"),
        ("1 2 2\n0 :1\n", 2, "expected a feature number before the colon, got ':1'"),
        ("1 2 2\n0 -1:1\n", 2, "expected a feature number before the colon, got '-1:1'"),
        ("1 2 2\n0 9999999999:1\n", 2, "expected a feature number up to 2147483646, got"),
        ("1 2 2\n0 1:\n", 2, "expected a number after '1:', got ''"),
        ("1 2 2\n0 1:2:3\n", 2, "expected a number after '1:', got '2:3'"),
        ("1 2 2\n0 1:abc\n", 2, "expected a number after '1:', got 'abc'"),
        ("1 2 2\n0 1:1,5\n", 2, "expected a number after '1:', got '1,5'"),
        ("1 2 2\n0 1:0x10\n", 2, "expected a number after '1:', got '0x10'"),
        ("1 2 2\n0 1:1_0\n", 2, "expected a number after '1:', got '1_0'"),
        ("1 2 2\n0 1:\u0663\n", 2, "expected a number after '1:', got '\u0663'"),
        (f"1 2 2\n0 1:{'z' * 99}\n", 2, f"expected a number after '1:', got '{'z' * 39}…'"),
    ],
)
def test_broken_files(tmp_path, text, line, problem):
    path = tmp_path / "broken.txt"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(FileFormatError) as caught:
        read_xmc(path)
    assert caught.value.line == line
    assert caught.value.problem.startswith(problem)
    assert str(caught.value).startswith(str(path))


def test_the_line_of_an_error_far_into_a_file(tmp_path):
    rows = ["0 1:0.25 2:1e-3"] * 300_000
    rows[271_828] = "0 1:0.25 1:1e-3"
    path = write(tmp_path / "long.txt", f"{len(rows)} 3 1\n" + "\n".join(rows))
    with pytest.raises(FileFormatError, match="line 271830: expected each feature once"):
        read_xmc(path)


@pytest.mark.parametrize("damage", ["cut", "flipped"])
def test_broken_gzip(tmp_path, damage):
    whole = bytearray(gzip.compress(b"1 2 2\n" + b" 1:0.123\n" * 1000))
    if damage == "cut":
        whole = whole[:-20]
    else:
        whole[20:30] = b"\xff" * 10
    (tmp_path / "a.txt.gz").write_bytes(whole)
    with pytest.raises(FileFormatError, match="the gzip file is broken"):
        read_xmc(tmp_path / "a.txt.gz")


def test_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        read_xmc(tmp_path / "nowhere.txt")


@st.composite
def datasets(draw):
    n, d, q = draw(st.tuples(st.integers(0, 5), st.integers(0, 4), st.integers(0, 4)))
    X = draw(hnp.arrays(np.float64, (n, d), elements=st.just(0.0) | st.floats()))
    Y = draw(hnp.arrays(np.int64, (n, q), elements=st.integers(0, 1)))
    if draw(st.booleans()):
        X, Y = sparse.csr_array(X), sparse.csr_matrix(Y)
    return Dataset(X, Y, tuple(f"f{j}" for j in range(d)), tuple(f"l{j}" for j in range(q)))


def to_dense(matrix):
    return matrix.toarray() if sparse.issparse(matrix) else matrix


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("xmc")


@settings(deadline=None)
@given(data=datasets(), suffix=st.sampled_from([".txt", ".txt.gz"]))
def test_round_trip(folder, data, suffix):
    path = folder / f"data{suffix}"
    write_xmc(path, data)
    assert (path.read_bytes()[:2] == b"\x1f\x8b") == (suffix == ".txt.gz")
    back = read_xmc(path)
    np.testing.assert_array_equal(back.X.toarray(), to_dense(data.X))
    np.testing.assert_array_equal(back.Y.toarray(), to_dense(data.Y))


def test_writing_changes_neither_input_nor_takes_odd_ones(tmp_path):
    # unsorted, with a duplicate and a stored zero
    X = sparse.csr_array(([3.0, 1, 2, 0], [2, 0, 0, 1], [0, 3, 4]), shape=(2, 3))
    Y = sparse.csr_array(([1, 0], [1, 0], [0, 1, 2]), shape=(2, 2))
    before = [part.copy() for m in (X, Y) for part in (m.data, m.indices, m.indptr)]
    write_xmc(tmp_path / "a.txt", Dataset(X, Y, ("a", "b", "c"), ("p", "q")))
    assert (tmp_path / "a.txt").read_text() == "2 3 2\n1 0:3.0 2:3.0\n 0:0\n"
    after = [part for m in (X, Y) for part in (m.data, m.indices, m.indptr)]
    for old, new in zip(before, after):
        np.testing.assert_array_equal(old, new)

    bags = Dataset(np.zeros((2, 3, 4)), np.zeros((2, 1)), ("a",) * 4, ("p",))
    with pytest.raises(ValueError, match=r"dataset.X must be a matrix \(n, d\).* got bags"):
        write_xmc(tmp_path / "b.txt", bags)
    numbers = Dataset(np.zeros((1, 1)), np.array([[2]]), ("a",), ("p",))
    with pytest.raises(ValueError, match="dataset.Y must hold only 0 and 1, got 2"):
        write_xmc(tmp_path / "b.txt", numbers)
    assert [file.name for file in tmp_path.iterdir()] == ["a.txt"]


def test_peak_memory_stays_near_the_result(tmp_path, monkeypatch):
    """Whatever the size of the file, no more than a block of it is held beside the result."""
    monkeypatch.setattr(_lines, "BLOCK_BYTES", 1 << 16)
    row = "3 " + " ".join(f"{j}:0.{j}" for j in range(100, 200)) + "\n"
    path = write(tmp_path / "a.txt", "10000 200 5\n" + row * 10_000)
    tracemalloc.start()
    try:
        data = read_xmc(path)
        size, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert data.X.nnz == 1_000_000
    assert peak < 1.5 * size


def test_real_data_come_back_bit_for_bit(tmp_path, data_folder):
    data = read_arff(data_folder / "medical" / "medical.arff", data_folder / "medical/medical.xml")
    write_xmc(tmp_path / "medical.txt.gz", data)
    write_libsvm(tmp_path / "medical.svm", data)
    d, q = data.X.shape[1], data.Y.shape[1]
    for back in (
        read_xmc(tmp_path / "medical.txt.gz"),
        read_libsvm(tmp_path / "medical.svm", n_features=d, n_labels=q),
    ):
        assert back.X.shape == (978, 1449)
        assert back.Y.sum() > 978
        assert (sparse.csr_array(data.X) != back.X).nnz == 0
        assert (sparse.csr_array(data.Y) != back.Y).nnz == 0
