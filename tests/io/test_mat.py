"""Bags in MATLAB files."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.io import savemat

from plurilabel import datasets, io


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
