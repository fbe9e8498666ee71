"""INSDIF against bags that are made, and distances that are searched, one by one."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.model_selection import KFold
from sklearn.utils import check_random_state

from plurilabel import INSDIF, datasets, metrics

# the paper, by loops -------------------------------------------------------------------------


def bag(x, prototypes):
    return [x - v for v in prototypes]


def hausdorff(A, B):
    def one_way(A, B):
        return max(min(np.linalg.norm(a - b) for b in B) for a in A)

    return max(one_way(A, B), one_way(B, A))


def twin(X, Y, X_test, first, max_iter=100):
    """Medoids and scores, by the steps of the paper."""
    prototypes = [X[Y[:, l] == 1].mean(axis=0) for l in range(Y.shape[1]) if Y[:, l].any()]
    bags = [bag(x, prototypes) for x in X]
    D = np.array([[hausdorff(A, B) for B in bags] for A in bags])
    medoids = list(first)
    for _ in range(max_iter):
        groups = {c: [c] for c in medoids}
        for i in range(len(X)):
            if i not in groups:
                groups[min(medoids, key=lambda c: D[i, c])].append(i)
        new = []
        for c in medoids:
            group = sorted(groups[c])
            best = min(group, key=lambda i: D[i, group].sum())
            better = len(group) > 2 and D[best, group].sum() < D[c, group].sum()
            new.append(best if better else c)
        if new == medoids:
            break
        medoids = new
    W = np.linalg.lstsq(D[:, medoids], 2.0 * Y - 1.0, rcond=None)[0]
    rows = [[hausdorff(bag(x, prototypes), bags[c]) for c in medoids] for x in X_test]
    return medoids, np.array(rows) @ W


def made(n, d, q, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    Y = (X @ rng.normal(size=(d, q)) + rng.normal(size=(n, q)) > 0).astype(int)
    Y[0], Y[1] = 1, 0
    return X, Y, rng.normal(size=(5, d))


@settings(max_examples=10, deadline=None)
@given(st.integers(8, 20), st.integers(2, 4), st.integers(1, 4), st.integers(0, 100))
def test_equals_the_twin(n, d, q, seed):
    X, Y, X_test = made(n, d, q, seed)
    m = max(1, round(0.3 * n))
    first = np.sort(check_random_state(seed).choice(n, m, replace=False))
    medoids, scores = twin(X, Y, X_test, first)
    for data in (X, sparse.csr_array(X)):
        learner = INSDIF(0.3, random_state=seed).fit(data, Y)
        assert_array_equal(learner.medoids_, medoids)
        assert_allclose(learner.decision_function(X_test), scores, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("scale", [1e-300, 1e-20, 1e20, 1e150, 1e300])
def test_features_of_any_magnitude(scale):
    X, Y, X_test = made(30, 3, 2, 0)
    plain = INSDIF(random_state=0).fit(X, Y).decision_function(X_test)
    scaled = INSDIF(random_state=0).fit(X * scale, Y).decision_function(X_test * scale)
    assert_allclose(scaled, plain, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("offset", [1e3, 1e6])
def test_features_far_from_zero(offset):
    X, Y, X_test = made(30, 3, 2, 0)
    plain = INSDIF(random_state=0).fit(X, Y).decision_function(X_test)
    moved = INSDIF(random_state=0).fit(X + offset, Y).decision_function(X_test + offset)
    assert_allclose(moved, plain, rtol=1e-5, atol=1e-6)


def test_labels_that_all_or_no_instances_have():
    X, Y, X_test = made(20, 3, 2, 0)
    more = np.hstack([Y, np.zeros((20, 1), int), np.ones((20, 1), int)])
    learner = INSDIF(random_state=0).fit(X, more)
    assert (learner.decision_function(X_test)[:, 2:] == [-1, 1]).all()
    # only labels that some instance has make a prototype
    assert learner.prototypes_.shape == (3, 3)
    nothing = INSDIF(random_state=0).fit(X, np.zeros((20, 2), int))
    assert (nothing.decision_function(X_test) == -1).all()


def test_number_of_medoids():
    X, Y, _ = made(20, 3, 2, 0)
    assert len(INSDIF().fit(X, Y).medoids_) == 4
    assert len(INSDIF(1.0).fit(X, Y).medoids_) == 20
    assert len(INSDIF(1).fit(X, Y).medoids_) == 1
    with pytest.raises(ValueError, match="n_medoids must be at most n_samples=20, got 21"):
        INSDIF(21).fit(X, Y)


def test_duplicates_keep_every_medoid_apart():
    X = np.repeat([[0.0, 0.0], [1.0, 1.0]], 10, axis=0)
    Y = np.repeat([[1, 0], [0, 1]], 10, axis=0)
    learner = INSDIF(0.5, random_state=0).fit(X, Y)
    assert len(set(learner.medoids_.tolist())) == 10
    assert_array_equal(learner.predict(X), Y)


def test_image_is_near_the_figures_recalled_for_the_paper(data_folder):
    """Recalled: Hamming .152, one-error .259, ranking loss .140, average precision .830."""
    data = datasets.load("image")
    folds = list(KFold(10, shuffle=True, random_state=0).split(data.X))[:2]
    values = []
    for train, test in folds:
        learner = INSDIF(random_state=0).fit(data.X[train], data.Y[train])
        scores, Y = learner.decision_function(data.X[test]), data.Y[test]
        values.append(
            [
                metrics.hamming_loss(Y, scores > 0),
                metrics.one_error(Y, scores),
                metrics.ranking_loss(Y, scores),
                metrics.average_precision(Y, scores),
            ]
        )
    hamming, one, ranking, precision = np.mean(values, axis=0)
    assert hamming < 0.165 and one < 0.29 and ranking < 0.155 and precision > 0.815
