"""One door for all formats: the name of a file says which."""

import pytest

from plurilabel import io

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
    for name in ("a.xls", "a", "a.gz", ".csv"):
        assert io.file_format(name) is None
        with pytest.raises(ValueError, match=f"{name} must end in one of .arff, .csv, .*and .gz"):
            io.read(name)


@pytest.mark.parametrize(
    ("name", "labels", "message"),
    [
        ("a.csv", None, "labels must name the label columns of a.csv, or its one column of tags"),
        ("a.csv", 1, "labels must name columns of a.csv, got the number 1"),
        ("a.svm", ["y"], "labels is for ARFF files and tables; a.svm has its own place for them"),
    ],
)
def test_labels_that_do_not_fit_the_format(name, labels, message):
    with pytest.raises(ValueError, match=message):
        io.read(name, labels=labels)
