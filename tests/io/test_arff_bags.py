"""ARFF files of bags, as the MIML library writes them."""

import gzip

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from plurilabel import datasets, io

HEADER = """@relation photos
@attribute id {one,two,'number three'}
@attribute bag relational
  @attribute red numeric
  @attribute kind {grass,sky,sea}
@end bag
@attribute land {0,1}
@attribute water {0,1}
@data
"""
ROWS = """one,"1.5,grass\\n2,sky",1,0
% a comment

two,'3,sea',0,1
'number three',"4,sea\\n5,sea\\n-6e1,grass",1,1
"""


def write(folder, text, name="photos.arff"):
    path = folder / name
    path.write_text(text)
    return path


def test_bags_and_labels(tmp_path):
    data = io.read(write(tmp_path, HEADER + ROWS), labels=["land", "water"])
    assert repr(data) == "Dataset 'photos': 3 instances, 4 features, 2 labels"
    assert data.feature_names == ("red", "kind=grass", "kind=sky", "kind=sea")
    assert_array_equal(data.X.sizes, [2, 1, 3])
    assert_array_equal(data.X[0], [[1.5, 1, 0, 0], [2, 0, 1, 0]])
    assert_array_equal(data.X[2][:, 0], [4, 5, -60])
    assert_array_equal(data.Y, [[1, 0], [0, 1], [1, 1]])


def test_labels_by_number_and_by_xml_and_gzip(tmp_path):
    path = tmp_path / "photos.arff.gz"
    path.write_bytes(gzip.compress((HEADER + ROWS).encode()))
    io.write_label_xml(tmp_path / "photos.xml", ["water", "land"])
    for labels in (-2, None):
        data = io.read_arff(path, labels)
        assert data.label_names == ("land", "water")
        assert_array_equal(data.Y[1], [0, 1])


def test_sparse_rows_outside_and_inside(tmp_path):
    header = HEADER.replace("@attribute id {one,two,'number three'}\n", "")
    header = header.replace("{grass,sky,sea}", "numeric")
    path = write(tmp_path, header + '{0 "{0 7}\\n{1 8}",2 1}\n{0 "{}",1 1}\n')
    data = io.read_arff(path, -2)
    assert sparse.issparse(data.X.instances)
    assert_array_equal(data.X.instances.toarray(), [[7, 0], [0, 8], [0, 0]])
    assert_array_equal(data.X.sizes, [2, 1])
    assert_array_equal(data.Y.toarray(), [[0, 1], [1, 0]])


@pytest.mark.parametrize(
    ("row", "line", "problem"),
    [
        ('one,"1,grass\\n2,snow",1,0', 10, "in 'bag'.*'snow'"),
        ('one,"1,grass",1,0\ntwo,"1,sky\\n1",1,0', 11, "in 'bag'"),
        ('one,"",1,0', 10, "expected the bag 'bag' as value 2|no instances"),
        ("one", 10, "expected 4 values, one per attribute, got 1"),
        ('one,"1,grass",2,0', 10, "land"),
        ('one,"1,grass",1', 10, "expected|values"),
        ("", 10, "expected rows of data"),
    ],
)
def test_errors_name_the_line(tmp_path, row, line, problem):
    path = write(tmp_path, HEADER + row + "\n")
    with pytest.raises(io.FileFormatError, match=problem) as caught:
        io.read_arff(path, ["land", "water"])
    assert caught.value.line == line


def test_missing_values_are_refused(tmp_path):
    path = write(tmp_path, HEADER + 'one,"1,grass\\n?,sky",1,0\n')
    with pytest.raises(io.FileFormatError, match="NaN in bag 0, instance 1, feature 0"):
        io.read_arff(path, -2)


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("@end bag\n", "", "expected @end bag before @data"),
        ("  @attribute red numeric\n  @attribute kind {grass,sky,sea}\n", "", "before @end"),
        ("red numeric", "red relational", "no relational attribute inside another"),
        ("@attribute bag rel", "@attribute x relational\n@attribute y numeric\n@end x\n"
         "@attribute bag rel", "expected one relational attribute, got 'bag' as a second"),
    ],
)  # fmt: skip
def test_broken_headers(tmp_path, old, new, problem):
    assert old in HEADER
    path = write(tmp_path, HEADER.replace(old, new) + ROWS)
    with pytest.raises(io.FileFormatError, match=problem):
        io.read_arff(path, ["land", "water"])


def test_other_attributes_must_be_dropped(tmp_path):
    text = HEADER.replace("@attribute land", "@attribute year numeric\n@attribute land")
    path = write(tmp_path, text + 'one,"1,grass",2020,1,0\n')
    with pytest.raises(ValueError, match="must have only the bag 'bag'.*'year'"):
        io.read_arff(path, -2)
    assert len(io.read_arff(path, -2, drop=["year"]).X) == 1


def test_miml_text(data_folder):
    data = datasets.load("miml-text")
    assert data.X.instances.shape == (7119, 243) and len(data.X) == 2000
    assert_array_equal(data.Y.sum(axis=0), [831, 482, 299, 153, 128, 154, 261])
    assert data.X.instances.min() >= 0 and (data.X.instances % 1 == 0).all()
    assert_array_equal(np.flatnonzero(data.X[0][0])[:1], [2])
