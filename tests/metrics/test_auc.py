"""Areas under curves against their twins and scikit-learn, and the exact counts behind them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn import metrics as sk

from plurilabel import metrics
from plurilabel.metrics import _auc
from tests.metrics import twins
from tests.metrics.cases import SETTINGS, near, random_problem, scored, sparsely_scored

AREAS = [name for name in metrics.measure_names() if name.endswith(("auc", "_average_precision"))]
VALUES = st.sampled_from(
    [-3.0, -1e-300, -0.0, 0.0, 1.0, np.nextafter(1.0, 0), np.nextafter(1.0, 2), 2.5]
)


@settings(**SETTINGS)
@given(problem=scored())
def test_dense_equal_their_twins(problem):
    Y, F = problem
    for name in AREAS:
        expected = near(getattr(twins, name)(Y, F))
        assert getattr(metrics, name)(Y, F) == expected, name
        assert getattr(metrics, name)(sparse.csr_array(Y), F) == expected, name


@settings(**SETTINGS)
@given(problem=sparsely_scored())
def test_sparse_equal_their_twins(problem):
    Y, S, F = problem
    for name in AREAS:
        expected = near(getattr(twins, name)(Y, F))
        assert getattr(metrics, name)(Y, S) == expected, name
        assert getattr(metrics, name)(sparse.csr_array(Y), sparse.csr_matrix(S)) == expected, name


@pytest.mark.parametrize("how", ["macro", "micro"])
def test_equal_to_scikit_learn(how):
    Y, F, _ = random_problem(p=0.1, decimals=2)
    ours = getattr(metrics, f"{how}_auc")(Y, F)
    assert ours == pytest.approx(sk.roc_auc_score(Y, F, average=how))


@pytest.mark.parametrize("decimals", [None, 1])
@pytest.mark.parametrize("how", ["macro", "micro", "weighted"])
def test_average_precision_equals_that_of_scikit_learn(how, decimals):
    Y, F, _ = random_problem(p=0.1, decimals=decimals)
    ours = getattr(metrics, f"{how}_average_precision")
    assert ours(Y, F) == pytest.approx(sk.average_precision_score(Y, F, average=how))
    Y[:, 0] = 0  # no positives: scikit-learn counts 0
    assert metrics.macro_average_precision(Y, F) == pytest.approx(
        sk.average_precision_score(Y[:, 1:], F[:, 1:], average="macro")
    )


@settings(**SETTINGS)
@given(left=st.lists(VALUES, max_size=12), right=st.lists(VALUES, max_size=12))
def test_half_wins_are_those_of_the_pairs(left, right):
    expected = sum(2 * (a > b) + (a == b) for a in left for b in right)
    got, below = _auc.half_wins_over(np.sort(np.array(left)), np.sort(np.array(right)))
    assert got == expected
    assert below.tolist() == [sum(b < a for b in right) for a in sorted(left)]


def test_adjacent_floats_are_distinguished():
    """They differ in the last bit only."""
    one = np.float64(1.0)
    above = np.nextafter(one, 2)
    F = np.array([[one], [above], [one], [above]])
    assert metrics.macro_auc([[0], [1], [0], [1]], F) == 1
    assert metrics.macro_auc([[1], [0], [1], [0]], F) == 0
    assert metrics.micro_auc([[1], [1], [0], [0]], F) == 0.5


@pytest.mark.parametrize("p", [0.02, 0.5, 0.97])
@pytest.mark.parametrize("decimals", [None, 2])
def test_micro_in_parts_equals_all_pairs(monkeypatch, p, decimals):
    """Several parts, either class the smaller one."""
    Y, F, _ = random_problem(n=400, q=4, p=p, decimals=decimals)
    monkeypatch.setattr(_auc, "_PART", 100)
    positive, negative = F[Y == 1], F[Y == 0]
    expected = (positive[:, None] > negative).mean() + (positive[:, None] == negative).mean() / 2
    assert metrics.micro_auc(Y, F) == pytest.approx(expected)
    assert metrics.micro_auc(Y, F.astype(np.float32)) == pytest.approx(expected)
    expected = sk.average_precision_score(Y, F, average="micro")
    assert metrics.micro_average_precision(Y, F) == pytest.approx(expected)


def test_a_label_without_positives_or_negatives_is_left_out_of_macro_auc():
    Y, F, _ = random_problem()
    Y[:, 0], Y[:, 1] = 0, 1
    assert metrics.macro_auc(Y, F) == pytest.approx(sk.roc_auc_score(Y[:, 2:], F[:, 2:]))
