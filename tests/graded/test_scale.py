"""Scales: what is taken as grades, and cumulative probabilities made consistent."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.isotonic import IsotonicRegression

from plurilabel.graded import consistent
from plurilabel.graded._scale import at_least, read_grades

WORDS = ["none", "some", "much"]


def test_integers_are_their_own_scale():
    found = read_grades([[0, 5], [3, 1]])
    assert_array_equal(found.scale, [0, 1, 3, 5])
    assert_array_equal(found.ranks, [[0, 3], [2, 1]])
    assert found.names is None and not found.single and not found.declared


@pytest.mark.parametrize("dtype", [bool, np.uint8, np.float32, object])
def test_integers_of_any_type(dtype):
    assert_array_equal(
        read_grades(np.array([[0, 1], [1, 1]], dtype=dtype)).ranks, [[0, 1], [1, 1]]
    )


def test_a_given_scale_has_its_own_order_and_may_be_longer():
    marks = read_grades([[1, 2], [5, 1]], [5, 4, 3, 2, 1])  # the best is 1
    assert_array_equal(marks.ranks, [[4, 3], [0, 4]])
    words = read_grades([["none", "much"]], WORDS)
    assert_array_equal(words.ranks, [[0, 2]])
    assert words.declared


def test_ordered_categories():
    kind = pd.CategoricalDtype(WORDS, ordered=True)
    frame = pd.DataFrame({"rain": ["some", "none"], "sun": ["none", "much"]}).astype(kind)
    found = read_grades(frame)
    assert_array_equal(found.ranks, [[1, 0], [0, 2]])
    assert list(found.scale) == WORDS and found.names == ["rain", "sun"]
    assert read_grades(frame["sun"]).single
    assert_array_equal(read_grades(frame["sun"]).ranks, [[0], [2]])


def test_names_that_occur_twice():
    kind = pd.CategoricalDtype([5, 3, 1], ordered=True)
    frame = pd.DataFrame([[5, 1], [3, 3]], columns=["a", "a"])
    assert_array_equal(read_grades(frame).ranks, [[2, 0], [1, 1]])
    assert_array_equal(read_grades(frame.astype(kind)).ranks, [[0, 2], [1, 1]])


def test_polars_enums():
    frame = pl.DataFrame(
        {"rain": ["some", "none"], "sun": ["none", "much"]},
        schema={"rain": pl.Enum(WORDS), "sun": pl.Enum(WORDS)},
    )
    assert_array_equal(read_grades(frame).ranks, [[1, 0], [0, 2]])


@pytest.mark.parametrize(
    ("y", "grades", "message"),
    [
        ([["low", "high"]], None, "'low', whose order is not known: pass grades"),
        ([[0, 1.5]], None, "y must hold integers as grades, got 1.5 in row 0, column 1"),
        ([[0, np.nan]], None, "Input y contains NaN"),
        ([[0, 1e300]], None, r"integers as grades, got 1e\+300 in row 0, column 1"),
        (pd.DataFrame({"a": [1, None]}, dtype="Int64"), None, "NaN|<NA> in row 1"),
        (np.array([[1j]]), None, "got (1j|values of type complex)"),
        ([[0, 7], [9, 1]], [0, 1], "only the grades 0, 1, got 7 in row 0, column 1"),
        ([[0.0, np.nan]], [0, 1], "only the grades 0, 1, got NaN in row 0, column 1"),
        ([["a", None]], ["a"], "only the grades a, got NaN in row 0, column 1"),
        ([["a", "b"]], [0, 1], "only the grades 0, 1, got 'a' in row 0, column 0"),
        ([[0, 1]], [1, 1, 0], r"grades must be distinct, got \[1, 1, 0\]"),
        ([[0, 1]], [], "grades must be a sequence of grades"),
        (sparse.csr_array(np.eye(2)), None, "y must be dense"),
        (np.empty((3, 0)), None, "at least one label"),
        (np.zeros((2, 2, 2)), None, "got 3 dimension"),
    ],
)
def test_bad_grades(y, grades, message):
    with pytest.raises(ValueError, match=message):
        read_grades(y, grades)


def test_bad_categories():
    frame = pd.DataFrame({"rain": ["some", "none"], "sun": ["none", "much"]})
    with pytest.raises(ValueError, match="the categories of 'rain' have no order"):
        read_grades(frame.astype("category"))
    ordered = pd.CategoricalDtype(WORDS, ordered=True)
    with pytest.raises(ValueError, match="same grades, got .* in 'rain' and None in 'sun'"):
        read_grades(frame.astype({"rain": ordered}))
    frame["sun"] = [None, "much"]
    with pytest.raises(ValueError, match="got NaN in row 0, column 1"):
        read_grades(frame.astype(ordered))


def test_cuts():
    assert_array_equal(
        at_least(np.array([[0, 2], [1, 0]]), 3), [[[0, 0], [1, 1]], [[1, 0], [0, 0]]]
    )


@settings(max_examples=40)
@given(
    arrays(np.float64, st.tuples(st.integers(1, 4), st.integers(1, 6)), elements=st.floats(0, 1))
)
def test_consistent_is_antitonic_regression(C):
    fixed = consistent(C)
    places = np.arange(C.shape[1])
    for row, found in zip(C, fixed):
        twin = IsotonicRegression(increasing=False).fit(places, row).predict(places)
        assert_allclose(found, twin, atol=1e-9)
    assert (np.diff(fixed, axis=1) <= 0).all()
    assert_allclose(consistent(fixed), fixed, atol=0)
    # no step function gets farther away
    for step in np.tril(np.ones((C.shape[1] + 1, C.shape[1])), -1):
        assert (((fixed - step) ** 2).sum(1) <= ((C - step) ** 2).sum(1) + 1e-9).all()


def test_consistent_takes_any_shape_and_leaves_its_input():
    C = np.array([[[0.2, 0.4], [0.9, 0.1]]])
    C.flags.writeable = False
    assert_allclose(consistent(C), [[[0.3, 0.3], [0.9, 0.1]]])
    assert consistent(np.empty((2, 3, 0))).shape == (2, 3, 0)
    with pytest.raises(ValueError, match="got a number"):
        consistent(0.5)


@pytest.mark.parametrize(
    "grades",
    [[0, 1, np.nan], [np.nan, np.nan, 1], [0, 1, None], ["low", pd.NA], [pd.NaT, pd.NaT]],
)
def test_scales_without_missing_values(grades):
    with pytest.raises(ValueError, match="grades must not have missing values"):
        read_grades([[0, 1]], grades)


def test_masked_grades_and_scales_of_different_lengths():
    masked = np.ma.masked_equal([[0, 1], [1, 2]], 2)
    with pytest.raises(ValueError, match="y must not have masked values, got 1"):
        read_grades(masked)
    with pytest.raises(ValueError, match="grades must not have masked values, got 1"):
        read_grades([[0, 1]], masked[1])
    with pytest.raises(ValueError, match="grades must be a sequence of grades"):
        read_grades([[0, 1]], [0, 1, [2]])
    frame = pd.DataFrame({"a": pd.array([None, 1], "Int64")})
    with pytest.raises(ValueError, match="only the grades 0, 1, got NaN in row 0, column 0"):
        read_grades(frame, [0, 1])
