import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.linear_model import Ridge
from sklearn.metrics import average_precision_score

from plurilabel import ExactIndex
from plurilabel.datasets import UnknownLabels
from plurilabel.inspection import find_label_issues, label_quality
from plurilabel.inspection._label_issues import RIDGE, TIES


def problem(n=60, q=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    Y = (X @ rng.normal(size=(3, q)) + rng.normal(size=(n, q)) > 0).astype(int)
    return X, Y, rng.uniform(0.05, 0.95, size=(n, q))


def expected(R, fit_on, l):
    """The residual of label l that a ridge regression on those of the other labels expects."""
    n, q = fit_on.shape
    others = [m for m in range(q) if m != l]
    penalty = (RIDGE + q / n) * (fit_on**2).sum() / q
    model = Ridge(alpha=penalty, fit_intercept=False).fit(fit_on[:, others], fit_on[:, l])
    return model.predict(R[:, others])


def twin(Y, p, X=None, k=None):
    """Slowly: votes by sorting all distances, and ridge regressions label by label."""
    n, q = Y.shape
    p, known = p.copy(), ~np.isnan(Y)
    for l in range(q):
        y, own = Y[known[:, l], l], p[known[:, l], l]
        slope = min(max(np.polyfit(own, y, 1)[0], 0), 1)
        p[:, l] = np.clip(y.mean() + slope * (p[:, l] - own.mean()), 0, 1)
    if X is not None:
        for i in range(n):
            far = [np.inf if j == i else np.sum((X[i] - X[j]) ** 2) for j in range(n)]
            near = np.argsort(far, kind="stable")[:k]
            for l in range(q):
                told = [Y[j, l] for j in near if known[j, l]]
                share = (sum(told) + Y[known[:, l], l].mean()) / (len(told) + 1)
                p[i, l] = (p[i, l] + share) / 2
    R = np.where(known, Y - p, 0)
    quality = np.empty((n, q))
    for l in range(q):
        tried = np.empty(n)
        tried[0::2] = expected(R[0::2], R[1::2], l)
        tried[1::2] = expected(R[1::2], R[0::2], l)
        factor = min(max((tried @ R[:, l]) / (tried @ tried), 0), 1)
        shift = factor * expected(R, R, l)
        for i in range(n):
            told = min(max(p[i, l] + shift[i], 0), 1)
            told = (1 - TIES) * told + TIES * p[i, l]
            quality[i, l] = told if Y[i, l] else 1 - told
    return np.where(known, quality, np.nan)


@pytest.mark.parametrize("with_X", [False, True])
def test_quality_is_that_of_the_twin(with_X):
    X, Y, p = problem()
    p = 0.5 * p + 0.4 * Y + 0.05  # so that neither slope nor factors are all 0
    X = X if with_X else None
    np.testing.assert_allclose(
        label_quality(Y, p, X=X, n_neighbors=5), twin(Y, p, X, 5), rtol=0, atol=1e-6
    )


@pytest.mark.parametrize("with_X", [False, True])
def test_unknown_labels_are_neither_issues_nor_evidence(with_X):
    X, Y, p = problem()
    p = 0.5 * p + 0.4 * Y + 0.05
    hidden = np.random.default_rng(1).uniform(size=Y.shape) < 0.3
    X, Y_known = X if with_X else None, np.where(hidden, np.nan, Y)
    quality = label_quality(Y_known, p, X=X, n_neighbors=5)
    np.testing.assert_allclose(quality, twin(Y_known, p, X, 5), rtol=0, atol=1e-6)
    sparse_form = UnknownLabels(sparse.csr_array(Y), hidden)
    found = find_label_issues(sparse_form, p, X=X, n_neighbors=5, threshold=1.0)
    np.testing.assert_array_equal(found.quality, quality[found.rows, found.labels])
    assert len(found) == (~hidden).sum()
    if with_X:
        near = ExactIndex().fit(X).kneighbors(X, 6)[1][:, 1:]
        for i, l, agreeing in zip(found.rows, found.labels, found.agreeing):
            assert agreeing == (Y_known[near[i], l] == Y[i, l]).sum()


def test_a_label_that_is_never_known():
    X, Y, p = problem(seed=3)
    Y = Y.astype(float)
    Y[:, 1] = np.nan
    quality = label_quality(Y, p, X=X)
    np.testing.assert_array_equal(np.isnan(quality), np.isnan(Y))


@given(st.integers(1, 12), st.integers(1, 5), st.integers(0, 99), st.booleans())
@settings(max_examples=25, deadline=None)
def test_issues_are_the_ranked_low_qualities(n, q, seed, with_X):
    X, Y, p = problem(n, q, seed)
    X = X if with_X else None
    quality = label_quality(Y, p, X=X, n_neighbors=3)
    assert ((quality >= 0) & (quality <= 1)).all()
    found = find_label_issues(sparse.csc_array(Y), p, X=X, n_neighbors=3)
    assert len(found) == (quality < 0.5).sum()
    assert (np.diff(found.quality) >= 0).all()
    np.testing.assert_array_equal(found.quality, quality[found.rows, found.labels])
    np.testing.assert_array_equal(found.given, Y[found.rows, found.labels])
    np.testing.assert_array_equal(found.scores, p[found.rows, found.labels])
    assert (found.agreeing is None) == (not with_X)
    if with_X:
        assert ((found.agreeing >= 0) & (found.agreeing <= min(3, n - 1))).all()


def test_other_labels_and_neighbours_help_to_find_flipped_labels():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(800, 2))
    # what the scores do not know, four labels share, and so do neighbours
    hidden = rng.random(800) < 0.5
    X[:, 1] += 4 * hidden
    Y = np.repeat(hidden[:, None], 4, axis=1).astype(int)
    flipped = rng.random(Y.shape) < 0.1
    noisy = np.where(flipped, 1 - Y, Y)
    p = rng.uniform(0.3, 0.7, size=Y.shape)

    def found(**witnesses):
        return average_precision_score(
            flipped.ravel(), 1 - label_quality(noisy, p, **witnesses).ravel()
        )

    alone = found(use_labels=False, calibrate=False)
    assert found() > alone + 0.2
    assert found(X=X, use_labels=False) > alone + 0.2
    assert found(X=X) > found()


def test_scores_that_agree_with_every_label():
    Y = np.array([[1, 0], [0, 1]])
    assert (label_quality(Y, Y.astype(float)) == 1).all()
    assert len(find_label_issues(Y, Y.astype(float))) == 0


def test_constant_labels_and_one_label():
    Y = np.array([[1, 0], [1, 0], [1, 0]])
    p = np.full((3, 2), 0.6)
    assert find_label_issues(Y, p, use_labels=False, calibrate=False).labels.tolist() == [1, 1, 1]
    assert label_quality(Y[:, :1], p[:, :1], calibrate=False).tolist() == [[0.6]] * 3


def test_frame():
    Y = pd.DataFrame([[1, 0], [0, 1]], columns=["sea", "sun"])
    X = [[0.0], [1.0]]
    found = find_label_issues(Y, [[0.9, 0.2], [0.7, 0.6]], X=X, calibrate=False, threshold=1)
    table = found.to_frame()
    assert list(table) == ["row", "label", "issue", "quality", "score", "agreeing"]
    first = table[(table.row == 1) & (table.label == "sea")].iloc[0]
    assert first.issue == "missing" and first.score == 0.7 and first.agreeing == 0
    assert find_label_issues(Y, [[0.9, 0.2], [0.7, 0.6]], calibrate=False).to_frame().shape == (
        1,
        5,
    )


def test_nothing_given_is_changed():
    X, Y, p = problem()
    for part in (X, Y, p):
        part.flags.writeable = False
    find_label_issues(Y, p, X=X)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"scores": np.full((3, 2), 1.5)}, "scores must be probabilities from 0 to 1, got 1.5"),
        ({"scores": np.full((3, 2), -1.0)}, "scores must be probabilities from 0 to 1, got -1"),
        ({"scores": np.full((2, 2), 0.5)}, "scores must have the shape of Y"),
        ({"scores": np.full((3, 2), np.nan)}, "NaN"),
        ({"Y": np.full((3, 2), 2)}, "Y must hold only 0 and 1"),
        ({"X": np.zeros((2, 1))}, "X must have 3 rows"),
        (
            {"X": np.zeros((3, 1)), "n_neighbors": 0},
            "n_neighbors must be an integer of at least 1",
        ),
        ({"threshold": 2}, "threshold must be a number from 0 to 1, got 2"),
        ({"label_names": ["a"]}, "label_names must have 2 entries"),
    ],
)
def test_invalid_input(change, message):
    arguments = {"Y": np.eye(3, 2, dtype=int), "scores": np.full((3, 2), 0.5), **change}
    with pytest.raises(ValueError, match=message):
        find_label_issues(**arguments)


def test_sparse_scores_are_refused():
    with pytest.raises(TypeError, match="scores must be dense"):
        find_label_issues([[1]], sparse.csr_array([[0.5]]))


def test_columns_in_another_order_are_refused():
    Y = pd.DataFrame([[1, 0]], columns=["a", "b"])
    with pytest.raises(ValueError, match="scores must have its columns in the order of Y"):
        find_label_issues(Y, Y[["b", "a"]] * 0.5)
