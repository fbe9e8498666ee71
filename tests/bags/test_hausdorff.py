"""Hausdorff distances against their definition, pair by pair."""

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.spatial.distance import cdist, directed_hausdorff

from plurilabel import MIMLNN, MIMLSVM, datasets
from plurilabel.bags import Bags, _hausdorff, hausdorff_distances
from tests.bags.problems import random_bags


def slow(A, B, kind):
    """The definition, by loops."""
    found = np.empty((len(A), len(B)))
    for i, a in enumerate(A):
        for j, b in enumerate(B):
            d = cdist(a, b)
            ends = [*d.min(axis=1), *d.min(axis=0)]
            found[i, j] = {"max": max, "average": np.mean, "min": min}[kind](ends)
    return found


@settings(max_examples=20)
@given(st.integers(0, 1000), st.sampled_from(["max", "average", "min"]), st.integers(0, 12))
def test_against_the_definition(seed, kind, power):
    A, B = random_bags(seed, n=9, largest=4), random_bags(seed + 1, n=6, largest=7)
    before, _hausdorff._AT_ONCE = _hausdorff._AT_ONCE, 2**power  # bags that do not fit, too
    try:
        assert_allclose(hausdorff_distances(A, B, kind), slow(A, B, kind), atol=1e-7)
        assert_allclose(hausdorff_distances(A, kind=kind), slow(A, A, kind), atol=1e-7)
    finally:
        _hausdorff._AT_ONCE = before


def test_against_scipy():
    A, B = random_bags(3), random_bags(4)
    wanted = [
        [max(directed_hausdorff(a, b)[0], directed_hausdorff(b, a)[0]) for b in B] for a in A
    ]
    assert_allclose(hausdorff_distances(A, B), wanted)


@pytest.mark.parametrize("kind", ["max", "average", "min"])
def test_sparse_threads_symmetry_and_zero(kind):
    A, B = random_bags(5, n=30), random_bags(6, n=20)
    wanted = hausdorff_distances(A, B, kind)
    thin = [Bags(sparse.csr_array(bags.instances), bags.offsets) for bags in (A, B)]
    assert_allclose(hausdorff_distances(*thin, kind), wanted)
    assert_allclose(hausdorff_distances(thin[0], B, kind), wanted)
    assert_array_equal(hausdorff_distances(A, B, kind, n_jobs=2), wanted)
    own = hausdorff_distances(A, kind=kind)
    assert_array_equal(np.diag(own), 0)
    assert_allclose(own, own.T, rtol=1e-12)
    # far from the origin, and equal bags that are not the same object
    far = A.with_instances(A.instances + 1e4)
    assert_allclose(hausdorff_distances(far, kind=kind), own, atol=1e-7)
    assert_array_equal(np.diag(hausdorff_distances(far, Bags(list(far)), kind)), 0)


def test_repeated_instances_matter_only_for_means():
    A = random_bags(7)
    B = Bags([np.vstack([bag, bag])[::-1] for bag in A])  # the same sets
    for kind in ("max", "min"):
        assert_allclose(
            hausdorff_distances(A, B, kind), hausdorff_distances(A, kind=kind), atol=1e-7
        )


def test_rows_are_bags_of_one_instance():
    X = np.random.default_rng(0).normal(size=(7, 3))
    for kind in ("max", "average", "min"):
        assert_allclose(hausdorff_distances(X, kind=kind), cdist(X, X), atol=1e-7)


@pytest.mark.parametrize("scale", [1e-250, 1e250])
def test_huge_and_tiny_values(scale):
    A = random_bags(8)
    found = hausdorff_distances(A.with_instances(A.instances * scale))
    assert_allclose(found, hausdorff_distances(A) * scale, rtol=1e-7, atol=1e-7 * scale)


def test_bad_input():
    with pytest.raises(ValueError, match="kind must be one of max, average, min, got 'mean'"):
        hausdorff_distances(random_bags(0), kind="mean")
    with pytest.raises(ValueError, match="A has 3 features, but B has 2"):
        hausdorff_distances(random_bags(0), random_bags(0, d=2))


def test_two_thousand_images_take_two_seconds_of_one_core(data_folder):
    bags = Bags(datasets.load("image-bags").X)
    start = time.process_time()
    D = hausdorff_distances(bags, kind="average")
    assert time.process_time() - start < 2
    assert_allclose(D[:3, :3], slow(bags[:3], bags[:3], "average"), atol=1e-6)


def test_instances_too_large_for_distances_are_refused():
    near, far = np.ones((1, 2, 3)), np.full((1, 2, 3), 1.7e308)
    assert np.isfinite(hausdorff_distances(near, far / 1e9)).all()
    for kind in ("max", "average", "min"):
        with pytest.raises(ValueError, match=r"at most 1e\+300 in size"):
            hausdorff_distances(near, -far, kind)


def test_far_bags_have_finite_scores():
    bags, Y = np.arange(24.0).reshape(6, 2, 2), [[1, 0], [0, 1]] * 3
    for learner in (MIMLSVM(random_state=0), MIMLNN(random_state=0)):
        assert np.isfinite(learner.fit(bags, Y).decision_function(bags + 1e299)).all()


@pytest.mark.parametrize("kind", ["max", "average", "min"])
def test_no_digits_are_lost(kind):
    """Small differences of large numbers, dense and sparse, wherever the origin is."""
    rng = np.random.default_rng(0)
    points = rng.integers(0, 3, size=(60, 4)).astype(float)
    points[:, 0] += 1e8 * (rng.random(60) < 0.5)
    offsets = np.arange(0, 61, 3)
    wanted = hausdorff_distances(Bags(points, offsets), kind=kind)
    slow = np.sqrt(((points[:, None] - points) ** 2).sum(axis=2))
    near = np.minimum.reduceat(slow, offsets[:-1], axis=1)
    combine = {"max": np.maximum, "average": np.add, "min": np.minimum}[kind]
    there = combine.reduceat(near, offsets[:-1], axis=0)
    exact = (there + there.T) / 6 if kind == "average" else combine(there, there.T)
    assert_allclose(wanted, exact, rtol=1e-11)
    thin = hausdorff_distances(Bags(sparse.csr_array(points), offsets), kind=kind)
    assert_allclose(thin, exact, rtol=1e-11)
    far = hausdorff_distances(Bags(points + 2.0**30, offsets), kind=kind)
    assert_allclose(far, exact, rtol=1e-11)
