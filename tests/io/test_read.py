"""One door for all formats: the name of a file says which."""

import sys

import pytest

from plurilabel import io
from plurilabel.io.shared import formats

TEXT = {
    "a.arff": "@attribute y {0,1}\n@attribute x numeric\n@data\n1,2\n",
    "a.csv": "y,x\n1,2\n",
    "a.svm": "0 1:2\n",
    "a.libsvm": "0 1:2\n",
    "a.txt": "1 1 1\n0 0:2\n",
    "a.XMC": "1 1 1\n0 0:2\n",
}


@pytest.mark.parametrize("name", TEXT)
def test_every_format_is_read_by_its_name(tmp_path, name):
    path = tmp_path / name
    path.write_text(TEXT[name])
    labels = ["y"] if io.file_format(path) in ("arff", "csv") else None
    data = io.read(path, labels=labels)
    assert data.X.sum() == 2 and data.Y.sum() == 1


def test_the_format_that_a_name_says():
    assert [io.file_format(f"some.where/{name}") for name in TEXT] == [
        "arff", "csv", "libsvm", "libsvm", "xmc", "xmc"
    ]  # fmt: skip
    assert io.file_format("films.JSONL.gz") == "jsonl"
    for name in ("a.doc", "a", "a.gz", ".csv"):
        assert io.file_format(name) is None
        with pytest.raises(ValueError, match=f"{name} must end in one of .arff, .csv, .*and .gz"):
            io.read(name)


@pytest.mark.parametrize(
    ("name", "labels", "message"),
    [
        ("a.csv", None, "labels must name the label columns of a.csv or its tag column"),
        ("a.csv", 1, "labels must name columns of a.csv, got the number 1"),
        ("a.svm", ["y"], "labels is for ARFF files and tables, but a.svm defines its own"),
    ],
)
def test_labels_that_do_not_fit_the_format(name, labels, message):
    with pytest.raises(ValueError, match=message):
        io.read(name, labels=labels)


@pytest.mark.parametrize(
    ("text", "most"),
    [
        ("a,b,tags\n1,2.5,x;y\n3,4,y\n", 2),
        ("a,b,tags\n1,2.5,x;y\n3,4,\n", 3),  # looked through for short rows
        ("sep=;\na;b;tags\n1;2,5;x|y\n3;4,5;y\n", 3),  # read again with decimal commas
    ],
)
def test_a_csv_file_is_opened_few_times(tmp_path, text, most):
    path = tmp_path / "films.csv"
    path.write_text(text)
    opened = []

    def count(event, args):
        if event == "open" and str(args[0]) == str(path):
            opened.append(args[0])

    sys.addaudithook(count)  # which cannot be removed: later tests have other paths
    io.read(path, labels="tags")
    assert len(opened) <= most


def test_a_format_is_declared_by_its_module(tmp_path, monkeypatch):
    """A new format is two files: a module of the package with FORMATS, and its test."""
    (tmp_path / "_two_columns.py").write_text(
        "import numpy as np\n"
        "from plurilabel.datasets import Dataset\n"
        "from plurilabel.io._files import Format\n"
        "def read_two_columns(path):\n"
        "    x, y = np.loadtxt(path).T\n"
        "    return Dataset(x[:, None], y[:, None].astype(int))\n"
        "FORMATS = (Format('two columns', ('.two',), read_two_columns, has_labels=True),)\n"
    )
    monkeypatch.setattr(io, "__path__", [*io.__path__, str(tmp_path)])
    formats.cache_clear()
    (tmp_path / "a.two").write_text("0.5 1\n2 0\n")
    try:
        assert io.file_format("a.two.gz") == "two columns"
        assert io.read(tmp_path / "a.two").X.tolist() == [[0.5], [2]]
        with pytest.raises(ValueError, match="a.two defines its own"):
            io.read(tmp_path / "a.two", labels="y")
    finally:
        formats.cache_clear()
        sys.modules.pop("plurilabel.io._two_columns", None)
