"""Labels of tables that are not labels, or not certain."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from plurilabel import io, label_matrix
from plurilabel._core.blocks import dense
from plurilabel.io import read_table, write_table


@pytest.mark.parametrize("write", ["to_csv", "to_parquet"])
def test_fractions_are_refused_with_the_ways_out(tmp_path, write):
    frame = pd.DataFrame({"x": [1.0, 2.0], "risk": [0.1, 0.9], "both": [0, 1]})
    path = tmp_path / ("t.csv" if write == "to_csv" else "t.parquet")
    getattr(frame, write)(path, index=False)
    for labels, got in (("risk", "expected tags"), (["both", "risk"], "expected a label 0 or 1")):
        with pytest.raises(ValueError, match=f"'risk'.*: {got}.* got 0.1; fractions are"):
            io.read(path, labels=labels)


def test_a_column_of_many_numbers_is_no_column_of_tags():
    sizes = pd.DataFrame({"x": range(150), "size": [f"{7 * i}.0" for i in range(150)]})
    with pytest.raises(ValueError, match="expected tags, got 150 different numbers"):
        io.read_table(sizes, labels="size")
    assert io.read_table(sizes, labels="size", tag_sep=";").Y.shape == (150, 150)
    assert io.read_table(sizes[:100], labels="size").Y.shape == (100, 100)
    sizes["size"] = [[i, i + 1] for i in range(150)]
    assert io.read_table(sizes, labels="size").Y.shape == (150, 151)


def test_numbers_that_are_names_stay_tags():
    for tags in (["1", "2"], ["3.1;2.7", "3.1"], ["0.5 l", "1"]):
        frame = pd.DataFrame({"x": [1.0, 2.0], "tags": tags})
        assert io.read_table(frame, labels="tags").Y.shape[0] == 2


SOFT = pd.DataFrame({
    "x": [1.0, 2.0, 3.0], "joy": [0.7, 0.0, 1.0], "fear": [0.25, 1.0, 0.0],
    "tags": ["joy:0.7; fear : .25", "fear", "joy:1.0;fear:0"],
})  # fmt: skip


def test_soft_labels_in_columns_and_tags(tmp_path):
    expected = [[0.25, 0.7], [1.0, 0.0], [0.0, 1.0]]
    columns = read_table(SOFT, labels=["fear", "joy"], drop=["tags"], soft=True)
    tags = read_table(SOFT, labels="tags", drop=["fear", "joy"], soft=True)
    assert_array_equal(columns.Y, expected)
    assert_array_equal(tags.Y.toarray(), expected)
    assert tags.label_names == ("fear", "joy") and tags.Y.dtype == np.float64
    assert_array_equal(label_matrix(SOFT["tags"], soft=True), expected)
    lists = SOFT.assign(tags=[["joy:0.7", "fear:0.25"], ["fear"], {"joy": 1, "fear": None}])
    assert_array_equal(label_matrix(lists["tags"], soft=True), expected)
    # written and read again, bit for bit; empty cells are unknown beside fractions
    for name, given in (
        ("a.csv", None),
        ("b.csv", "own"),
        ("c.parquet", "own"),
        ("d.parquet", None),
    ):
        write_table(tmp_path / name, columns, tags=given)
        labels = ["fear", "joy"] if given is None else given
        again = read_table(tmp_path / name, labels=labels, soft=True)
        assert_array_equal(dense(again.Y), expected)
    gap = SOFT.assign(joy=[0.7, None, 1.0])[["x", "joy", "fear"]]
    gappy = read_table(gap, labels=["joy", "fear"], soft=True)
    assert np.isnan(gappy.Y[1, 0])
    write_table(tmp_path / "e.csv", gappy)
    again = read_table(tmp_path / "e.csv", labels=["joy", "fear"], soft=True)
    assert_array_equal(again.Y, gappy.Y)


def test_soft_is_a_permission():
    hard = SOFT.assign(joy=[1, 0, 1], fear=[0, 1, 1], tags=["joy", "fear:1", "joy;fear"])
    columns = read_table(hard, labels=["joy", "fear"], drop=["tags"], soft=True)
    tags = read_table(hard, labels="tags", drop=["joy", "fear"], soft=True)
    assert columns.Y.dtype == tags.Y.dtype == np.int64
    # a name with a colon stays one, and so do most tags that end in a number
    assert list(label_matrix(["a:b", "b:2"]).columns) == ["a:b", "b:2"]
    assert list(label_matrix(["a:b:0.5", "c"], soft=True).columns) == ["a:b", "c"]


@pytest.mark.parametrize(
    ("table", "labels", "soft", "problem"),
    [
        (SOFT, ["joy"], False, "'joy', row 0: expected a label 0 or 1, got 0.7; .*soft=True"),
        (SOFT, "tags", False, "'tags', row 0: expected tags, got 'joy:0.7'; .*soft=True"),
        (SOFT.assign(joy=1.5), ["joy"], True, "expected a probability from 0 to 1, got 1.5"),
        (SOFT.assign(tags="joy:3"), "tags", True, "a probability from 0 to 1, got 'joy:3'"),
        (SOFT.assign(tags="joy:.3;joy"), "tags", True, "expected each tag once, got 'joy' twice"),
        (SOFT.assign(tags=[{"joy": 1}] * 3), "tags", False, "text or a list.*soft=True"),
    ],
)
def test_errors_of_soft_labels(table, labels, soft, problem):
    with pytest.raises(ValueError, match=problem):
        read_table(table, labels=labels, soft=soft)
