"""Bags in MATLAB files."""

import struct
import tracemalloc
import zlib

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.io import loadmat, savemat

from plurilabel import datasets, io
from plurilabel.io._mat import mat_variables


def cells(*parts):
    array = np.empty((len(parts), 1), dtype=object)
    array[:, 0] = parts
    return array


def test_bags_targets_and_names(tmp_path):
    parts = [np.arange(6.0).reshape(3, 2), np.ones((1, 2))]
    names = cells("land", "water", "sky")
    content = {"bags": cells(*parts), "targets": [[1, -1], [-1, 1], [1, 1]], "class_name": names}
    savemat(tmp_path / "photos.mat", content)
    data = io.read_mat_bags(tmp_path / "photos.mat")
    assert_array_equal(data.X[0], parts[0])
    assert_array_equal(data.Y, [[1, 0, 1], [0, 1, 1]])
    assert data.label_names == ("land", "water", "sky") and data.name == "photos"


def test_the_image_bags(data_folder):
    data = io.read_mat_bags(data_folder / "image" / "miml data.mat")
    known = datasets.load("image-bags")
    assert_array_equal(data.X.instances.reshape(2000, 9, 15), known.X)
    assert_array_equal(data.Y, known.Y)
    assert data.label_names == known.label_names


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ({"bags": cells(np.ones((1, 2)), np.ones((1, 2)))}, "expected a variable 'targets'"),
        ({"bags": np.ones((2, 2)), "targets": [[1]]}, "expected cells in 'bags'"),
        (
            {"bags": cells(np.ones((1, 2)), np.ones((1, 3))), "targets": [[1, 1]]},
            "in 'bags': bag 1 has 3 features",
        ),
        ({"bags": cells(np.ones((1, 2)), np.ones((2, 2))), "targets": [[1, 2]]}, "of 1 and -1"),
        ({"bags": cells(np.ones((1, 2)), np.ones((2, 2))), "targets": [[1]]}, "2 bags"),
    ],
)
def test_broken_files(tmp_path, content, problem):
    savemat(tmp_path / "x.mat", content)
    with pytest.raises(io.FileFormatError, match=problem):
        io.read_mat_bags(tmp_path / "x.mat")


def test_other_files(tmp_path):
    (tmp_path / "x.mat").write_bytes(b"no MATLAB file" * 20)
    with pytest.raises(io.FileFormatError, match="expected a MATLAB file"):
        io.read_mat_bags(tmp_path / "x.mat")


# the reader against scipy's ----------


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize(
    "dtype", ["f8", "f4", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "?"]
)
def test_matrices_are_those_of_scipy(tmp_path, dtype, compressed):
    rng, path = np.random.default_rng(0), tmp_path / "x.mat"
    matrices = [rng.integers(0, 2, shape).astype(dtype) for shape in ((3, 4), (1, 1), (1, 3))]
    content = {"a": matrices[0], "c": cells(*matrices), "other": np.zeros((2, 3, 4)),
               "words": ["land", "sea"], "record": {"f": 1.0}, "z": matrices[0] + 1j}  # fmt: skip
    savemat(path, content, do_compression=compressed)
    found, expected = mat_variables(path, {"a", "c", "words"}), loadmat(path)
    assert list(found) == list(content) and found["other"] is None
    assert_array_equal(found["a"], expected["a"])
    for one, other in zip(found["c"], expected["c"].ravel(), strict=True):
        assert_array_equal(one, other)
    assert found["words"] == [word.rstrip() for word in expected["words"]]


def test_the_other_byte_order(tmp_path):
    savemat(tmp_path / "x.mat", {"a": np.arange(6.0).reshape(2, 3), "text": "café"})
    swapped = big_endian((tmp_path / "x.mat").read_bytes())
    (tmp_path / "big.mat").write_bytes(swapped)
    found = mat_variables(tmp_path / "big.mat", {"a", "text"})
    assert_array_equal(found["a"], loadmat(tmp_path / "big.mat")["a"])
    assert_array_equal(found["a"], np.arange(6.0).reshape(2, 3))
    assert found["text"] == ["café"]


def big_endian(content):
    """The same uncompressed file for a machine of the other byte order."""
    sizes, out, at = {1: 1, 2: 1, 5: 4, 6: 4, 9: 8, 16: 1}, content[:124] + b"\x01\x00MI", 128
    while at < len(content):
        kind, size = struct.unpack_from("<II", content, at)
        if kind == 14:
            out, at = out + struct.pack(">II", kind, size), at + 8
        elif kind >> 16:
            data = np.frombuffer(
                content, f"u{sizes[kind & 0xFFFF]}", 4 // sizes[kind & 0xFFFF], at + 4
            )
            out, at = out + struct.pack(">I", kind) + data.byteswap().tobytes(), at + 8
        else:
            width = sizes[kind]
            padded = size + -size % 8
            data = np.frombuffer(content, f"u{width}", padded // width, at + 8)
            out += struct.pack(">II", kind, size) + data.byteswap().tobytes()
            at += 8 + padded
    return out


# crafted files ----------


def element(kind, data):
    return struct.pack("<II", kind, len(data)) + data + bytes(-len(data) % 8)


def matrix(family, shape, name=b"", *parts, flags=0):
    head = element(6, struct.pack("<II", family | flags, 0)) + element(
        5, struct.pack("<2i", *shape)
    )
    return element(14, head + element(1, name) + b"".join(parts))


def a_file(folder, *variables, packed=False, head=b"\x00\x01IM"):
    path = folder / "x.mat"
    if packed:
        variables = [
            element(15, zlib.compress(one))[: 8 + len(zlib.compress(one))] for one in variables
        ]
    path.write_bytes(bytes(124) + head + b"".join(variables))
    return path


ONE = element(9, struct.pack("<d", 1.0))


@pytest.mark.parametrize(
    ("variables", "problem"),
    [
        ([matrix(6, (2**31 - 1, 2**31 - 1), b"bags", ONE)], r"expected \(2147483647, .* 8 bytes"),
        ([matrix(6, (-1, -1), b"bags", ONE)], "a matrix of two dimensions"),
        ([matrix(6, (2, 1), b"bags", ONE)], r"in .bags.: expected \(2, 1\) float64 numbers"),
        ([matrix(6, (1, 1), b"bags", element(14, b""))], "numbers, got an element of type 14"),
        ([matrix(6, (1, 1), b"bags", ONE, flags=0x800)], "got complex numbers"),
        ([matrix(5, (1, 1), b"bags", ONE)], "got a sparse matrix"),
        ([matrix(1, (1, 1), b"bags", matrix(1, (1, 1), b"", ONE))], "got class 1"),
        ([matrix(1, (2**31 - 1, 1), b"bags")], "in 'bags': it takes more than 100,000,000 bytes"),
        ([matrix(1, (2, 1), b"bags", matrix(6, (1, 1), b"", ONE))], "an element is cut off"),
        ([matrix(1, (2, 2), b"bags")], "a row or a column of cells"),
        ([matrix(4, (1, 1), b"bags", element(16, b"\xff"))], "expected text in utf-8"),
        ([matrix(4, (2, 2), b"bags", element(16, b"abc"))], r"\(2, 2\) characters, got 3"),
        ([struct.pack("<II", 14, 2**32 - 1)], "expected an element of 4,294,967,295 bytes, got 0"),
        ([struct.pack("<II", 15, 2**31) + b"x"], "expected an element of 2,147,483,648 bytes"),
        ([struct.pack("<II", 9 << 16 | 9, 0)], "expected an element of 9 bytes"),
        ([element(9, bytes(8))], "expected a variable, got an element of type 9"),
        ([element(14, b"")], "an element is cut off"),
        ([element(14, element(9, bytes(8)))], "expected the flags"),
        ([element(15, b"no zlib")[:15]], "a compressed variable is broken"),
        ([b"x"], "an element is cut off"),
    ],
)  # fmt: skip
def test_crafted_files_are_refused(tmp_path, variables, problem):
    with pytest.raises(io.FileFormatError, match=problem):
        io.read_mat_bags(a_file(tmp_path, *variables))


def test_versions(tmp_path):
    for head, problem in ((b"\x00\x02IM", "got version 7.3; save it with -v7"), (b"", "another")):
        with pytest.raises(io.FileFormatError, match=f"expected a MATLAB file .*{problem}"):
            io.read_mat_bags(a_file(tmp_path, head=head))


def test_small_files_take_little_memory(tmp_path, monkeypatch):
    """Files that unpack to a thousand times their size, of zeros and of empty cells."""
    monkeypatch.setattr("plurilabel.io._files._SMALL", 1_000_000)
    bombs = [
        matrix(6, (500, 1000), b"bags", element(9, bytes(8 * 500_000))),
        matrix(1, (50_000, 1), b"bags", element(14, b"") * 50_000),
    ]
    for bomb in bombs:
        path = a_file(tmp_path, bomb, packed=True)
        assert path.stat().st_size < 5000
        tracemalloc.start()
        try:
            with pytest.raises(io.FileFormatError, match="it takes more than 1,000,000 bytes"):
                io.read_mat_bags(path)
            assert tracemalloc.get_traced_memory()[1] < 1_500_000
        finally:
            tracemalloc.stop()
