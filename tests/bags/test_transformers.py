"""Bags to rows: every kind by loops, dense and sparse; scikit-learn's checks."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from plurilabel import BagsToRows, BinaryRelevance, MLkNN, MLRandomForest, OnInstances
from plurilabel.bags import Bags
from tests.bags.problems import concept_bags, random_bags
from tests.bags.test_hausdorff import slow


@parametrize_with_checks(
    [
        BagsToRows(),
        BagsToRows(["medoids", "embedding"], n_centers=5, random_state=0),
        OnInstances(StandardScaler()),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def summary(bags):
    return np.array([np.r_[bag.mean(0), bag.min(0), bag.max(0)] for bag in bags])


@settings(max_examples=25)
@given(st.integers(0, 9999), st.floats(0, 1))
def test_means_and_extremes(seed, share):
    bags = random_bags(seed, n=8)
    random = np.random.default_rng(seed)
    bags = bags.with_instances(
        np.where(random.random(bags.instances.shape) < share, 0, bags.instances)
    )
    assert_allclose(BagsToRows().fit_transform(bags), summary(bags), atol=1e-12)
    thin = bags.with_instances(sparse.csr_array(bags.instances))
    rows = BagsToRows().fit_transform(thin)
    assert sparse.issparse(rows) and rows.format == "csr"
    assert_allclose(rows.toarray(), summary(bags), atol=1e-12)
    assert rows.data.all()


def test_medoids_and_embedding():
    bags, new = random_bags(0, n=30), random_bags(1, n=7)
    maker = BagsToRows(
        ("medoids", "embedding"), n_medoids=4, n_centers=3, gamma=0.5, random_state=0
    )
    rows = maker.fit_transform(bags)
    assert_allclose(maker.transform(bags), rows)
    assert_allclose(maker.transform(new)[:, :4], slow(new, maker.medoids_, "average"), atol=1e-7)
    for row, bag in zip(maker.transform(new), new):
        for center, value in zip(maker.centers_, row[4:]):
            nearest = min(np.sum((x - center) ** 2) for x in bag)
            assert value == pytest.approx(np.exp(-0.5 * nearest))
    names = maker.get_feature_names_out()
    assert names.tolist() == ["medoid0", "medoid1", "medoid2", "medoid3", "center0", "center1",
                              "center2"]  # fmt: skip
    thin = bags.with_instances(sparse.csr_array(bags.instances))
    assert_allclose(maker.fit_transform(thin), rows, atol=1e-6)


def test_names_of_columns():
    bags = Bags([[[1.0, 2.0]], [[3.0, 4.0]]], feature_names=["red", "blue"])
    names = BagsToRows(["extremes", "mean"]).fit(bags).get_feature_names_out()
    assert names.tolist() == [
        "min_red",
        "min_blue",
        "max_red",
        "max_blue",
        "mean_red",
        "mean_blue",
    ]


def test_fewer_different_instances_than_centers():
    maker = BagsToRows("embedding").fit(np.ones((3, 2, 2)))
    assert maker.centers_.shape == (1, 2)
    assert_allclose(maker.transform(np.ones((1, 1, 2))), 1)
    thin = Bags(sparse.csr_array(np.ones((4, 2))), [0, 2, 4])
    assert BagsToRows("embedding").fit(thin).centers_.shape == (1, 2)


@pytest.mark.parametrize(
    "learner", [MLkNN(5), MLRandomForest(20), BinaryRelevance(LogisticRegression())]
)
@pytest.mark.parametrize("kinds", ["mean", "extremes", "medoids", "embedding"])
def test_every_learner_works_on_bags(learner, kinds):
    (X, Y), (X_new, Y_new) = concept_bags(0, n=100), concept_bags(1, n=50)
    model = make_pipeline(BagsToRows(kinds, random_state=0), learner).fit(X, Y)
    assert (model.predict(X_new) == Y_new).mean() > 0.7


def test_transformers_of_instances():
    X, _ = concept_bags(0)
    found = OnInstances(MinMaxScaler()).fit_transform(X)
    assert found.instances.min() == 0 and found.instances.max() == pytest.approx(1)
    assert_array_equal(found.offsets, X.offsets)
    counts = X.with_instances(np.rint(np.abs(X.instances)))
    weighted = OnInstances(TfidfTransformer()).fit_transform(counts)
    assert isinstance(weighted, Bags) and sparse.issparse(weighted.instances)
    assert_array_equal(OnInstances(MinMaxScaler()).fit(X).transform([[0.0] * 4]).shape, (1, 4))


def test_bad_parameters():
    X, _ = concept_bags(0)
    with pytest.raises(ValueError, match="kinds must be among mean, .*got 'median'"):
        BagsToRows(["mean", "median"]).fit(X)
    with pytest.raises(ValueError, match="'kinds' parameter of BagsToRows"):
        BagsToRows("median").fit(X)
    with pytest.raises(ValueError, match="at least one of"):
        BagsToRows([]).fit(X)
    with pytest.raises(ValueError, match="X has 3 features, but BagsToRows is expecting 4"):
        BagsToRows().fit(X).transform(random_bags(0))


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_embeddings_do_not_depend_on_the_unit(form):
    rng = np.random.default_rng(0)
    instances, offsets = rng.normal(size=(60, 2)), np.arange(0, 61, 3)

    def rows(scale):
        bags = Bags(form(instances * scale), offsets)
        return BagsToRows("embedding", n_centers=4, random_state=0).fit_transform(bags)

    for scale in (2.0**-900, 2.0**-500, 2.0**500, 2.0**900):
        assert_allclose(rows(scale), rows(1.0), rtol=1e-9)


def test_embeddings_do_not_depend_on_the_origin():
    X = np.random.default_rng(0).integers(0, 4, size=(40, 3)) / 4
    wanted = BagsToRows("embedding", n_centers=6, random_state=0).fit_transform(X)
    found = BagsToRows("embedding", n_centers=6, random_state=0).fit_transform(X + 2.0**30)
    assert wanted.min() < 0.5 < wanted.max()
    assert_allclose(found, wanted, atol=1e-5)  # a center there is rounded to 1e-7
