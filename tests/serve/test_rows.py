"""Rows of a request: packed where they are nothing but numbers, looked at where not."""

import math
from array import array

import numpy as np
import pytest

from plurilabel.serve import BadInput, Service
from tests.serve.problems import lazy

USUAL = [
    [{"heat": 1.5, "height": -2}],
    [{"height": 0.1, "heat": 1e-320, "other": "left out"}, {"heat": True, "height": 2**70 + 1}],
    [[1, 2.5]],
]
UNUSUAL = [
    [{"heat": None, "height": 1}],
    [{"heat": 1, "height": 2}, {"heat": 1e299, "height": 9e299}],
]
BAD = [
    [{"heat": "1", "height": 1}],
    [{"heat": 1}],
    [{"heat": 1, "height": 10**400}],
    [{"heat": 1, "height": math.inf}],
    [{"heat": math.inf, "height": -math.inf}],
    [{"heat": 1, "height": math.nan}],
    [[1, 2, 3]],
    [{"heat": [1], "height": 1}],
    ["12"],
    [None],
    [],
    "12",
    7,
]


@pytest.fixture(scope="module")
def reader():
    return Service(lazy()).reader


def slowly(records):
    """The numbers one by one, as a matrix."""
    rows = [[row["heat"], row["height"]] for row in records]
    return np.array([[math.nan if v is None else float(v) for v in row] for row in rows])


@pytest.mark.parametrize("rows", USUAL + UNUSUAL)
def test_packed_rows_are_the_same_numbers(reader, rows):
    quick = reader.quick_records(rows)
    assert all(isinstance(row, array) for row in quick) == (rows in USUAL)
    expected = slowly(reader.records(rows)).tobytes()
    mixed = [*reader.records(rows), *quick]
    for given, times in ((quick, 1), (mixed, 2)):
        assert np.asarray(reader.read_records(given).X).tobytes() == expected * times


@pytest.mark.parametrize("rows", BAD, ids=str)
def test_bad_rows_get_the_same_error(reader, rows):
    with pytest.raises(BadInput) as quick:
        reader.quick_records(rows)
    with pytest.raises(BadInput) as slow:
        reader.records(rows)
    assert str(quick.value) == str(slow.value)
    assert (quick.value.row, quick.value.column) == (slow.value.row, slow.value.column)
