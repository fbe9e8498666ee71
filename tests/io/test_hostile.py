"""Small files that once took minutes or gigabytes, and those that gave a bare traceback."""

import gzip
import time

import numpy as np
import pandas as pd
import pytest

from plurilabel import MLkNN, io
from plurilabel.datasets import Dataset, describe
from plurilabel.io import FileFormatError
from plurilabel.io._files import opened
from plurilabel.streams import TableStream

HEAD = "@relation 'r: -C 1'\n@attribute a {0,1}\n@attribute b numeric\n"
BLANKS = " " * 40_000


@pytest.mark.parametrize(
    "text",
    [
        f"@relation a{BLANKS}b\n@attribute a {{0,1}}\n@data\n1\n",
        f"{HEAD}@attribute c {{x{BLANKS}y'}}\n@data\n1,2,x\n",
        f"{HEAD}@data\n1,2'{BLANKS}x'\n",
        f"{HEAD}@data\n{{0 1,1 2'{BLANKS}}}\n",
        f"{HEAD}@data\n{{0{BLANKS},1 2}}\n",
        f"{HEAD}@data\n{{0 1}}{BLANKS}x\n",
        f"{HEAD}@attribute c {{{','.join(map(str, range(40_000)))},39999}}\n@data\n1,2,3\n",
    ],
)
def test_long_lines_of_arff_are_read_once(tmp_path, text):
    path = tmp_path / "a.arff"
    path.write_text(text)
    start = time.process_time()
    with pytest.raises(FileFormatError):
        io.read_arff(path)
    assert time.process_time() - start < 2


def test_announced_columns_take_no_memory(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("1 2147483647 2147483647\n0 1:1\n")
    data = io.read_xmc(path)
    assert data.Y.shape == (1, 2**31 - 1) and data.label_names[-1] == "label2147483646"
    with pytest.raises(ValueError, match="at most 20,000,000 labels to be described"):
        describe(data)
    (tmp_path / "a.svm").write_text("2147483646 2147483646:1\n")
    assert io.read_libsvm(tmp_path / "a.svm").X.shape == (1, 2**31 - 2)


@pytest.mark.parametrize("n", ["1" + "0" * 30, "1" + "0" * 5000])
def test_announced_rows_beyond_any_number(tmp_path, n):
    (tmp_path / "a.txt").write_text(f"{n} 5 4\n0 1:1\n")
    with pytest.raises(FileFormatError, match="expected up to 2147483647 rows, features"):
        io.read_xmc(tmp_path / "a.txt")


def test_compressed_files_have_a_limit(tmp_path, monkeypatch):
    path = tmp_path / "a.svm.gz"
    path.write_bytes(gzip.compress(b"0 1:1\n" * 50_000))
    assert io.read_libsvm(path).X.shape[0] == 50_000
    monkeypatch.setattr("plurilabel.io._files._SMALL", 1000)
    with pytest.raises(FileFormatError, match="unpacks to more than .* set PLURILABEL_MOST_UNPA"):
        io.read_libsvm(path)
    monkeypatch.setenv("PLURILABEL_MOST_UNPACKED", "400000")
    assert io.read_libsvm(path).X.shape[0] == 50_000
    monkeypatch.setenv("PLURILABEL_MOST_UNPACKED", "299999")
    with pytest.raises(FileFormatError, match="unpacks to more than 299,999 bytes"):
        io.read_libsvm(path)


def test_columns_that_the_size_of_a_file_does_not_warrant(tmp_path, monkeypatch):
    monkeypatch.setattr("plurilabel.io._files._SMALL", 10_000)
    arff = tmp_path / "a.arff"
    values = ",".join(f"v{j}" for j in range(300))
    arff.write_text(f"{HEAD}@attribute c {{{values}}}\n@data\n" + "1,2,v7\n" * 300)
    with pytest.raises(FileFormatError, match="300 rows so far would get 300 columns"):
        io.read_arff(arff)
    lines = tmp_path / "a.jsonl"
    lines.write_text("".join(f'{{"k{j}": 1}}\n' for j in range(3000)))
    with pytest.raises(FileFormatError, match="different keys, beyond"):
        io.read_table(lines, labels=["k1"])


def test_tables_have_a_limit_of_columns(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(",".join(f"c{j}" for j in range(100_001)) + "\n")
    with pytest.raises(FileFormatError, match="at most 100,000 columns in a table, got 100,001"):
        io.read_table(path, labels=["c0"])


@pytest.mark.parametrize("encoding", ["foo", "utf-7", "shift_jis"])
def test_encodings_of_xml_that_are_not_known(tmp_path, encoding):
    path = tmp_path / "a.xml"
    path.write_text(
        f'<?xml version="1.0" encoding="{encoding}"?><labels><label name="a"/></labels>'
    )
    with pytest.raises(FileFormatError, match="a.xml, line 1: broken XML"):
        io.read_label_xml(path)


def test_numbers_beyond_the_range_are_infinite(tmp_path):
    (tmp_path / "a.csv").write_text(f"a,t\n1{'0' * 400},1\n-1{'0' * 400},0\n")
    X = io.read_table(tmp_path / "a.csv", labels=["t"], encode=False).X
    assert X["a"].tolist() == [np.inf, -np.inf]
    (tmp_path / "a.jsonl").write_text(f'{{"a": [1{"0" * 400}], "t": 1}}\n')
    with pytest.raises(FileFormatError, match="a.jsonl, line 1: column 'a': expected 1 numbers"):
        io.read_table(tmp_path / "a.jsonl", labels=["t"])


@pytest.mark.parametrize("content", [b"PAR1" + b"x" * 100 + b"PAR1", b"", b"PAR1PAR1"])
def test_damaged_parquet_is_named(tmp_path, content):
    (tmp_path / "a.parquet").write_bytes(content)
    with pytest.raises(FileFormatError, match="a.parquet: expected a Parquet file"):
        io.read_table(tmp_path / "a.parquet", labels=["t"])


def test_json_that_is_nested_too_deeply_is_named(tmp_path):
    (tmp_path / "a.jsonl").write_text("[" * 100_000 + "\n")
    with pytest.raises(FileFormatError, match="a.jsonl, line 1: expected a JSON object"):
        io.read_table(tmp_path / "a.jsonl", labels=["t"])


def test_null_characters_in_column_names(tmp_path):
    (tmp_path / "t.csv").write_bytes(b"\0,weight,tags\n0.1,5,red\n0.2,5,red\n")
    with pytest.raises(FileFormatError, match=r"line 1: expected column names without null"):
        io.read_table(tmp_path / "t.csv", labels="tags")


# half of a pair of surrogates: JSON can write it, and neither pandas nor UTF-8 can hold it -----

HALVES = [
    '{"x": 1, "t": ["a"]}\n{"x": 2, "t": ["\\ud800"]}\n',
    '{"x": 1, "t": ["a"]}\n{"x": 2, "\\udc00y": 1, "t": ["b"]}\n',
    '{"x": 1, "c": "\\ud83d\\ude00", "t": ["a"]}\n{"x": 2, "c": "\\ud83dx", "t": ["b"]}\n',
]


@pytest.mark.parametrize("text", HALVES)
def test_halves_of_surrogates_are_named(tmp_path, text):
    rows = f"[{text.strip()}]".replace("}\n", "},\n")
    for name, content in (("a.jsonl", text), ("a.json", text), ("b.json", rows)):
        path = tmp_path / name
        path.write_text(content)
        with pytest.raises(FileFormatError, match=rf"{name}, line 2: expected valid Unicode"):
            io.read_table(path, labels="t")
    with pytest.raises(FileFormatError, match="line 2: expected valid Unicode"):
        list(TableStream(tmp_path / "a.jsonl", labels="t"))


def test_pairs_of_surrogates_and_escaped_backslashes_are_read(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"c": "\\ud83d\\ude00", "t": ["a"]}\n{"c": "\\\\ud800", "t": ["\\u00e9"]}\n')
    data = io.read_table(path, labels="t", encode=False)
    assert data.X["c"].tolist() == ["\U0001f600", r"\ud800"] and data.label_names == ("a", "é")


def test_halves_of_surrogates_in_memory_are_named():
    frame = pd.DataFrame({"c": pd.Series(["a", "\ud800"], dtype=object), "t": [["a"], ["b"]]})
    with pytest.raises(
        ValueError, match=r"column 'c', row 1: expected valid Unicode, got '.ud800"
    ):
        io.read_table(frame, labels="t")
    frame = pd.DataFrame({"c": [1, 2], "t": [["a"], ["\ud800"]]})
    with pytest.raises(ValueError, match=r"column 't', row 1: expected tags in valid Unicode"):
        io.read_table(frame, labels="t")
    frame.columns = pd.Index(["c\ud800", "t"], dtype=object)
    with pytest.raises(ValueError, match=r"expected column names in valid Unicode, got 'c.ud800'"):
        io.read_table(frame, labels="t")
    for y in ([["a"], ["\ud800"]], ["a", "\ud800"]):
        with pytest.raises(ValueError, match=r"of y must be valid Unicode, got '.ud800'"):
            MLkNN(1).fit([[0.0], [1.0]], y)
    with pytest.raises(ValueError, match=r"label_names must be valid Unicode, got '.ud800'"):
        Dataset(np.eye(2), np.eye(2), label_names=["a", "\ud800"])


# raw errors that mutated files have shown -----------------------------------------------------


@pytest.mark.parametrize(
    "header", ["{'descr': '<f8', 'fortran_order': False, 'shape': (2, 2, ", "{'descr': {", "{1: (",
               "{'descr': '<f8', 'fortran_order': False, 'shape': (99999999, 99999)}"]
)  # fmt: skip
def test_damaged_headers_of_numpy_are_named(tmp_path, header):
    text = header.encode().ljust(117) + b"\n"
    (tmp_path / "e.npy").write_bytes(b"\x93NUMPY\x01\x00\x76\x00" + text + bytes(32))
    frame = pd.DataFrame({"x": [1, 2], "t": [["a"], ["b"]]})
    with pytest.raises(FileFormatError, match="e.npy: expected an array of numpy"):
        io.read_table(frame, labels="t", embeddings=tmp_path / "e.npy")


def test_a_header_of_a_stream_with_a_lone_return(tmp_path):
    (tmp_path / "a.csv").write_bytes(b"x,y\rz,t\n1,2,a\n")
    with pytest.raises(FileFormatError, match="a.csv, line 1: new-line character"):
        list(TableStream(tmp_path / "a.csv", labels="t"))


@pytest.mark.parametrize("sep", ["§", '"', "\n", ",,"])
def test_separators_that_pandas_cannot_take(tmp_path, sep):
    path = tmp_path / "a.csv"
    path.write_text(f"sep={sep}\nx,t\n1,a\n", encoding="utf-16")
    with pytest.raises(ValueError, match="sep must be a single character of ASCII"):
        io.read_table(path, labels="t", sep=sep)
    with pytest.raises(ValueError, match=r"a\.csv, line|labels names a column"):
        io.read_table(path, labels="t")


def test_a_compressed_file_is_unpacked_in_pieces(tmp_path, monkeypatch):
    """A file beyond the limit is refused before it is in memory, also if it is read at once."""
    path, sizes, read = tmp_path / "a.json.gz", [], gzip.GzipFile.read

    def noted(self, size=-1):
        sizes.append(size)
        return read(self, size)

    path.write_bytes(gzip.compress(b'[{"a":' + b" " * 10**6 + b"1}]"))
    monkeypatch.setattr("plurilabel.io._files._SMALL", 1000)
    monkeypatch.setattr(gzip.GzipFile, "read", noted)
    with pytest.raises(FileFormatError, match="unpacks to more than"), opened(path) as stream:
        stream.read()
    assert 0 < min(sizes) <= max(sizes) <= 1 << 20
