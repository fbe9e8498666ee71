"""The generators: each parameter does what it says, and the data can be learned."""

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier

from plurilabel._core.blocks import dense
from plurilabel.datasets import describe, make_multilabel, make_sparse_multilabel
from tests.datasets.learning import mean_correlation, micro_f1

SHAPES = ["spheres", "cubes"]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(
    ("cardinality", "options"),
    [
        (1.0, {}),
        (1.3, {}),
        (2.0, {"n_features": 2}),
        (2.0, {"n_features": 60}),
        (4.5, {"dependence": 0.9}),
        (9.9, {"imbalance": 2.0}),
        (10.0, {}),
        (2.5, {"noise": 0.1}),
        (0.7, {"allow_empty": True}),
        (3.0, {"allow_empty": True, "noise": 0.05}),
    ],
)
def test_cardinality_is_met(shape, cardinality, options):
    settings_ = {"n_samples": 1000, "n_features": 6, "n_labels": 10} | options
    data = make_multilabel(shape=shape, cardinality=cardinality, random_state=0, **settings_)
    sizes = data.Y.sum(axis=1)
    assert sizes.mean() == pytest.approx(cardinality, abs=0.01)
    assert (sizes.min() >= 1) or options.get("allow_empty")
    assert len(np.unique(data.X, axis=0)) == 1000


def test_cardinality_of_more_rows_than_are_scaled_on():
    data = make_multilabel(20_000, 5, 8, cardinality=2.5, random_state=3)
    assert data.Y.sum(axis=1).mean() == pytest.approx(2.5, rel=0.02)


@pytest.mark.parametrize("shape", SHAPES)
def test_labels_are_regions(shape):
    # instances of a label fit into a ball or cube that holds no others: the smallest region
    # around a label's instances can be no larger than the label's own
    data = make_multilabel(3000, 2, 3, shape=shape, cardinality=1.4, random_state=1)
    for l in range(3):
        mine = data.Y[:, l] == 1
        center = (data.X[mine].min(axis=0) + data.X[mine].max(axis=0)) / 2
        away = data.X - center
        distance = np.linalg.norm(away, axis=1) if shape == "spheres" else abs(away).max(axis=1)
        reach = distance[mine].max()
        inside = distance < 0.97 * reach
        assert mine[inside].mean() > 0.999


@pytest.mark.parametrize("shape", SHAPES)
def test_instances_lie_in_the_domain(shape):
    for allow_empty in (False, True):
        X = make_multilabel(2000, 3, 5, shape=shape, allow_empty=allow_empty, random_state=0).X
        norm = np.linalg.norm(X, axis=1) if shape == "spheres" else abs(X).max(axis=1)
        assert norm.max() <= 1 + 1e-12
        if allow_empty:  # uniform in the domain: a share r**d of the mass is within r
            assert (norm < 0.5).mean() == pytest.approx(0.5**3, abs=0.03)


def test_relevant_irrelevant_and_redundant_features():
    data = make_multilabel(3000, 9, 4, n_irrelevant=2, n_redundant=3, random_state=0)
    kinds = [name.rstrip("0123456789") for name in data.feature_names]
    assert kinds == ["relevant"] * 4 + ["irrelevant"] * 2 + ["redundant"] * 3
    for j in (6, 7, 8):
        assert any((data.X[:, j] == data.X[:, i]).all() for i in range(4))
    # an irrelevant feature has the same mean with and without a label; some relevant has not
    for l in range(4):
        mine = data.Y[:, l] == 1
        gap = abs(data.X[mine].mean(axis=0) - data.X[~mine].mean(axis=0))
        assert gap[4:6].max() < 0.1 < gap[:4].max()


def test_noise_flips_labels_at_its_rate():
    # with all labels everywhere, each flip is seen
    clean = make_multilabel(4000, 3, 20, cardinality=20, random_state=0)
    assert clean.Y.all()
    noisy = make_multilabel(4000, 3, 20, cardinality=18, noise=0.1, random_state=0)
    assert 1 - noisy.Y.mean() == pytest.approx(0.1, abs=0.01)
    assert noisy.Y.sum(axis=1).min() >= 1


@pytest.mark.parametrize("shape", SHAPES)
def test_dense_learnable_and_noise_hurts(shape):
    reached = []
    for noise in (0.0, 0.1, 0.2):
        data = make_multilabel(
            1000, 4, 8, shape=shape, cardinality=2.5, noise=noise, random_state=0
        )
        f1, constant = micro_f1(data, KNeighborsClassifier())
        assert f1 > constant
        reached.append(f1)
    assert reached[0] > reached[1] + 0.1 > reached[2] + 0.15


@pytest.mark.parametrize("shape", SHAPES)
def test_dense_dependence_and_imbalance(shape):
    common = {"n_samples": 1000, "n_features": 6, "n_labels": 16, "shape": shape}
    for seed in range(3):
        correlation = [
            mean_correlation(make_multilabel(dependence=x, random_state=seed, **common))
            for x in (0.0, 0.9)
        ]
        assert correlation[1] > 1.3 * correlation[0]
        mean_ir = [
            describe(make_multilabel(imbalance=x, random_state=seed, **common)).mean_ir
            for x in (0.0, 1.0, 2.0)
        ]
        assert 3 * mean_ir[0] < 1.5 * mean_ir[1] < mean_ir[2]


# both generators ------------------------------------------------------------------------


def same(a, b):
    return (dense(a.X) == dense(b.X)).all() and (dense(a.Y) == dense(b.Y)).all()


@pytest.mark.parametrize("make", [make_multilabel, make_sparse_multilabel])
def test_seeds(make):
    assert same(make(random_state=5), make(random_state=5))
    assert not same(make(random_state=5), make(random_state=6))
    state = np.random.RandomState(0)
    first, second = make(random_state=state), make(random_state=state)
    assert not same(first, second)
    assert same(first, make(random_state=np.random.RandomState(0)))
    assert not same(make(), make())


@pytest.mark.parametrize("make", [make_multilabel, make_sparse_multilabel])
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_samples": 0}, "'n_samples' parameter of .* must be an int in the range \\[1, inf\\)"),
        ({"n_labels": 2.5}, "'n_labels' parameter"),
        ({"noise": -0.1}, "'noise' parameter"),
        ({"noise": 1.5}, "'noise' parameter"),
        ({"dependence": 1.5}, "'dependence' parameter"),
        ({"imbalance": -1}, "'imbalance' parameter"),
        ({"cardinality": 0}, "'cardinality' parameter"),
        ({"cardinality": 0.5}, "cardinality must lie between 1 and .*, got 0.5"),
        ({"cardinality": 1000}, "cardinality must lie between .*, got 1000"),
        ({"allow_empty": "yes"}, "'allow_empty' parameter"),
    ],
)
def test_errors(make, options, message):
    with pytest.raises(ValueError, match=message):
        make(**options)


def test_errors_of_one_generator():
    with pytest.raises(ValueError, match="must be a str among .* Got 'rings' instead"):
        make_multilabel(shape="rings")
    with pytest.raises(ValueError, match="smaller than the 10 features of n_features, got 10"):
        make_multilabel(n_irrelevant=4, n_redundant=6)
    with pytest.raises(ValueError, match="cardinality must lie between 2.* and 8.*, got 2.0"):
        make_multilabel(n_samples=2000, n_labels=10, noise=0.15, random_state=0)
    with pytest.raises(ValueError, match="nnz_per_row must lie between 1 and 20, got 30"):
        make_sparse_multilabel(n_features=20)
