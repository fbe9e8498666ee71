"""Matrices and blocks of rows."""

import re

import numpy as np
import pytest

from plurilabel._core.blocks import (
    csr_of_rows,
    is_missing,
    own,
    refuse_dates,
    refuse_masked,
    row_blocks,
    rows_without,
    squared_norms,
)


def test_row_blocks():
    assert row_blocks(5, width=10, at_once=25) == [slice(0, 2), slice(2, 4), slice(4, 5)]


def test_missing_values():
    values = (None, float("nan"), 0, "", [1])
    assert [is_missing(value) for value in values] == [True, True, False, False, False]


def test_masked_values_and_dates_are_refused():
    masked = "Y must not have masked values, got 1: fill them in, or drop their rows"
    with pytest.raises(ValueError, match=re.escape(masked)):
        refuse_masked(np.ma.masked_equal([[1, 0], [9, 1]], 9), "Y")
    dates = r"X must hold numbers, got dates in column 1: plurilabel\.DateEncoder turns "
    with pytest.raises(ValueError, match=dates):
        refuse_dates([[1.0, np.datetime64("2021-01-01")]], "X")


def test_squared_norms():
    assert squared_norms(np.array([[3.0, 4.0], [0.0, 1.0]])).tolist() == [25.0, 1.0]


def test_own_copies_only_shared_memory():
    X = np.zeros((2, 3))
    assert own(X, X) is not X and own(X[:1], X).base is not X
    made = np.asarray([[1.0, 2.0]])
    assert own(made, [[1.0, 2.0]]) is made


def test_rows_without():
    assert rows_without(5, [1, 3]).tolist() == [0, 2, 4]
    with pytest.raises(ValueError, match=r"indices must be row numbers from 0 to 4, got \[5\]"):
        rows_without(5, [5])


def test_csr_of_rows():
    found = csr_of_rows([5, 6, 7], [0, 2, 1], [2, 1], width=3)
    assert found.toarray().tolist() == [[5, 0, 6], [0, 7, 0]]
