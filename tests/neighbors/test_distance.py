"""The formula: sums in the order of the columns, bit for bit."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from plurilabel.neighbors._distance import WIDE, Formula, row_sums
from tests.neighbors import twin


@settings(max_examples=20)
@given(
    X=hnp.arrays(
        np.float64,
        st.tuples(st.integers(1, 5), st.integers(1, 300)),
        elements=st.floats(-1e3, 1e3, width=32),
        fill=st.just(0.0),
    ),
    p=st.sampled_from([1.0, 2.0, np.inf]),
)
def test_pairs_add_in_the_order_of_the_columns(X, p):
    rows, cols = (a.ravel() for a in np.indices((len(X), len(X))))
    expected = [twin.distance(X[i], X[j], p) for i, j in zip(rows, cols)]
    formula = Formula(p=p)
    for stored in (X, X.astype(np.float32), sparse.csr_array(X)):
        np.testing.assert_array_equal(formula.pairs(stored, rows, stored, cols), expected)
        one = [
            formula.pairs(stored, rows[m:][:1], stored, cols[m:][:1])[0] for m in range(len(rows))
        ]
        np.testing.assert_array_equal(one, expected)


def test_pairs_do_not_depend_on_how_many_there_are():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 700))
    rows, cols = rng.integers(0, 50, (2, 1000))
    whole = Formula().pairs(X, rows, X, cols)
    np.testing.assert_array_equal(
        whole,
        np.hstack(
            [Formula().pairs(X, rows[i : i + 3], X, cols[i : i + 3]) for i in range(0, 1000, 3)]
        ),
    )


@pytest.mark.parametrize("p", [1.0, 2.0, np.inf])
def test_wide_points_are_added_in_the_order_of_the_columns_too(p):
    X = np.random.default_rng(0).normal(size=(3, WIDE + 1000))
    formula, near = Formula(p=p), np.array([[1, 2], [0, 2], [0, 1]])
    expected = np.array([[twin.distance(X[i], X[j], p) for j in near[i]] for i in range(3)])
    np.testing.assert_array_equal(formula.of_lists(X, slice(None), X, near), expected)
    np.testing.assert_array_equal(formula.pairs(X, np.array([1]), X, near[1, :1]), expected[1, :1])
    many = np.arange(100) % 3  # more than are worked on at once
    np.testing.assert_array_equal(formula.pairs(X, many, X, near[many, 0]), expected[many, 0])


@pytest.mark.parametrize("p", [1.0, 2.0, 3.0, np.inf])
@pytest.mark.parametrize(
    "view",
    [
        lambda X: X[3:4],
        lambda X: X[3].reshape(1, -1),
        lambda X: X.reshape(1, -1),
        lambda X: X.T,
        lambda X: np.asfortranarray(X)[:],
        lambda X: X[:, :1],
    ],
)
def test_sums_leave_their_input_alone(view, p):
    """One row, one column or Fortran order: the columns are contiguous without a copy."""
    X = np.random.default_rng(0).normal(size=(6, 4))
    asked = view(X)
    kept = asked.copy()
    expected = row_sums(kept.copy(), p)
    np.testing.assert_array_equal(row_sums(asked, p), expected)
    np.testing.assert_array_equal(asked, kept)
    asked.flags.writeable = False
    np.testing.assert_array_equal(row_sums(asked, p), expected)
