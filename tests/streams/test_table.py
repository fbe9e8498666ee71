import gzip
import io
import itertools
import json
import sys
import tracemalloc
from types import SimpleNamespace

import pytest

from plurilabel.io import FileFormatError
from plurilabel.streams import TableStream

CSV = b"id,a,kind,l,m\n1,0.5,red,1,no\n2,,blue,0,\n\n3,1e3,1_0,true,?\n"
ROWS = [
    ({"a": 0.5, "kind=red": 1.0}, {"l": True, "m": False}),
    ({"kind=blue": 1.0}, {"l": False, "m": None}),
    ({"a": 1000.0, "kind=1_0": 1.0}, {"l": True, "m": None}),
]


def read(content, labels=("l", "m"), **options):
    return list(TableStream(io.BytesIO(content), labels, **options))


def test_csv(tmp_path):
    assert read(CSV, drop=["id"]) == ROWS
    assert read(gzip.compress(CSV, mtime=0), drop=["id"]) == ROWS
    assert read(b"\xef\xbb\xbf" + CSV, drop=["id"]) == ROWS
    assert read(CSV.replace(b",", b";").replace(b"\n", b"\r\n"), sep=";", drop=["id"]) == ROWS
    for name, content in {"t.csv": CSV, "t.csv.gz": gzip.compress(CSV, mtime=0)}.items():
        (tmp_path / name).write_bytes(content)
        stream = TableStream(tmp_path / name, ["l", "m"], features=["a", "kind"])
        assert list(stream) == ROWS == list(stream)
        assert stream.name == name
    (tmp_path / "t.tsv").write_bytes(CSV.replace(b",", b"\t"))
    assert list(TableStream(tmp_path / "t.tsv", ["l", "m"], drop=["id"])) == ROWS


def test_json_lines(tmp_path):
    rows = [
        {"a": 0.5, "kind": "red", "l": True, "m": 0, "v": [1, 2]},
        {"kind": "blue", "l": 0, "m": None, "a": None, "v": ["x"]},
        {"l": "yes", "a": float("nan")},
    ]
    content = "\n".join(map(json.dumps, rows)).encode()
    expected = [
        ({"a": 0.5, "kind=red": 1.0, "v0": 1.0, "v1": 2.0}, {"l": True, "m": False}),
        ({"kind=blue": 1.0, "v0=x": 1.0}, {"l": False, "m": None}),
        ({}, {"l": True, "m": None}),
    ]
    assert read(content, format="jsonl") == expected
    (tmp_path / "t.jsonl").write_bytes(content)
    assert list(TableStream(tmp_path / "t.jsonl", ["l", "m"])) == expected


def test_tags_are_labels_from_their_first_row():
    found = read(b'a,tags\n1,x; y\n2,\n3,"y;z"\n', "tags")
    assert [y for _, y in found] == [
        {"x": True, "y": True},
        {"x": False, "y": False},
        {"x": False, "y": True, "z": True},
    ]
    lines = b'{"tags": ["x"]}\n{"tags": null}\n{"tags": []}\n'
    assert [y for _, y in read(lines, "tags", format="jsonl")] == [{"x": True}, {}, {"x": False}]


def test_standard_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(gzip.compress(CSV))))
    stream = TableStream("-", ["l", "m"], drop=["id"])
    assert list(stream) == ROWS
    with pytest.raises(ValueError, match="standard input can be read only once"):
        list(stream)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"a,l,m\n1,0,1\n1,0\n", "line 3: expected 3 values, got 2"),
        (b"a,l,m\n1,0,2\n", "line 2: the label m must be 0 or 1, got '2'"),
        (b"a,l,m\ninf,0,1\n", "line 2: a must be a finite number, got inf"),
        (b"a,l,mm\n1,0,1\n", "line 1: there is no column 'm' .labels.; did you mean 'mm'?"),
        (b"a,l,a\n", "line 1: the column 'a' is there twice"),
        (b"a,l,m\n\xff,0,1\n", "line 2: expected text in UTF-8"),
        (b'a,l,m\n"x,0,1\n', "line"),
        (gzip.compress(CSV, mtime=0)[:-20], "gzip stream is broken"),
    ],
)
def test_broken_csv(content, words):
    with pytest.raises(FileFormatError, match=words):
        read(content)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"{\n", "line 1: not JSON"),
        (b"[1]\n", r"line 1: expected an object, got \[1\]"),
        (b'{"a": {"b": 1}}\n', "line 1: a must be a number, a text or a list"),
        (b"[" * 100_000, "line 1: not JSON"),
        (b'{"a": 1' + b"0" * 400 + b"}", "line 1: a must be a finite number, got 1000"),
    ],
)
def test_broken_json(content, words):
    with pytest.raises(FileFormatError, match=words):
        read(content, format="jsonl")


def test_bad_options():
    with pytest.raises(ValueError, match="format must be 'csv' or 'jsonl'"):
        TableStream("data.arff", ["l"])
    with pytest.raises(ValueError, match="sep must be one character"):
        TableStream("data.csv", ["l"], sep=", ")
    with pytest.raises(ValueError, match="labels must name"):
        TableStream("data.csv", [])


def test_an_endless_line_is_refused(monkeypatch):
    monkeypatch.setattr("plurilabel.streams._table.LONGEST", 1000)
    with pytest.raises(FileFormatError, match="line 2: the line is longer than 1,000 bytes"):
        read(b"a,l,m\n" + b"1" * 2000)


class Endless(io.RawIOBase):
    """A CSV file without an end."""

    def __init__(self):
        self.left = b"a,l,m\n"

    def readable(self):
        return True

    def readinto(self, buffer):
        while len(self.left) < len(buffer):
            self.left += b"0.5,1,0\n" * 1000
        buffer[:], self.left = self.left[: len(buffer)], self.left[len(buffer) :]
        return len(buffer)


def test_memory_is_bounded():
    rows = iter(TableStream(Endless(), ["l", "m"]))
    next(rows)
    tracemalloc.start()
    try:
        for _ in itertools.islice(rows, 20_000):
            pass
        assert tracemalloc.get_traced_memory()[1] < 500_000
    finally:
        tracemalloc.stop()


def test_words_are_hashed_to_a_fixed_number_of_features():
    table = b"note,tags\nsea and sun,a\nsun sun,b\n,a\n"
    named = [x for x, _ in TableStream(io.BytesIO(table), "tags", text=["note"], n_hashed=None)]
    assert set(named[0]) == {"note=sea", "note=and", "note=sun"} and not named[2]
    hashed = [x for x, _ in TableStream(io.BytesIO(table), "tags", text=["note"])]
    assert sorted(map(abs, hashed[0].values())) == sorted(named[0].values())
    (sun,) = hashed[1]
    assert sun in hashed[0] and sun.startswith("note#") and abs(hashed[1][sun]) == 1
    few = TableStream(io.BytesIO(table), "tags", text=["note"], n_hashed=1)
    assert [set(x) for x, _ in few] == [{"note#0"}, {"note#0"}, set()]
    with pytest.raises(ValueError, match="n_hashed must be at least 1 or None, got 0"):
        TableStream(io.BytesIO(table), "tags", text=["note"], n_hashed=0)
