"""What the commands know of data before the library is imported."""

from plurilabel.cli._data import standard_names
from plurilabel.datasets import dataset_names


def test_standard_names_are_those_of_the_library():
    assert list(standard_names()) == dataset_names()
