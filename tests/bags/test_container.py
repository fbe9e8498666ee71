"""Bags: all forms are the same bags, and scikit-learn can index them."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from plurilabel import BagsToRows, BinaryRelevance, MIMLkNN, OnInstances, io, metrics
from plurilabel._core.data.bags import as_bags, is_bags
from plurilabel.bags import Bags
from plurilabel.datasets import Dataset
from plurilabel.model_selection import IterativeStratifiedKFold
from tests.bags.problems import concept_bags, random_bags


def same(one, other):
    assert_array_equal(one.offsets, other.offsets)
    assert_array_equal(one.instances, other.instances)


def test_all_forms_are_the_same_bags():
    parts = list(random_bags(0, n=6))
    bags = Bags(parts)
    same(Bags(np.vstack(parts), bags.offsets), bags)
    same(Bags([part.tolist() for part in parts]), bags)
    same(Bags(tuple(parts)), bags)
    cells = np.empty(len(parts), dtype=object)
    cells[:] = parts
    same(Bags(cells), bags)
    names = [f"bag {i}" for i in bags.owner]
    frame = pd.DataFrame(bags.instances, columns=["a", "b", "c"])
    frame.insert(1, "photo", names)
    shuffled = frame.sort_values("b", kind="stable")
    for table in (frame, pl.DataFrame(frame)):
        found = Bags.from_frame(table, bag="photo")
        same(found, bags)
        assert found.ids.tolist() == [f"bag {i}" for i in range(6)]
        assert found.feature_names == ("a", "b", "c")
    found = Bags.from_frame(shuffled, bag="photo")
    assert found.ids.tolist() == list(dict.fromkeys(shuffled["photo"]))
    for name, bag in zip(found.ids, found):
        assert_array_equal(bag, shuffled.loc[shuffled["photo"] == name, ["a", "b", "c"]])


def test_an_array_and_sparse_instances():
    array = np.arange(24.0).reshape(4, 3, 2)
    bags = Bags(array)
    assert_array_equal(bags[2], array[2])
    thin = Bags([sparse.csr_matrix(part) for part in array])
    assert sparse.issparse(thin.instances) and thin.shape == (4, 2)
    assert_array_equal(thin[[3, 1]].instances.toarray(), bags[[3, 1]].instances)
    assert_array_equal(thin[1].toarray(), array[1])


@settings(max_examples=25)
@given(st.lists(st.integers(1, 4), min_size=1, max_size=8), st.data())
def test_indexing_is_that_of_a_list(sizes, data):
    random = np.random.default_rng(len(sizes))
    parts = [random.normal(size=(m, 2)) for m in sizes]
    bags, n = Bags(parts), len(parts)
    ints = data.draw(st.lists(st.integers(-n, n - 1), max_size=6))
    mask = np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    span = data.draw(st.slices(n))
    for key, wanted in (
        (np.array(ints, dtype=int), [parts[i] for i in ints]),
        (mask, [part for part, use in zip(parts, mask) if use]),
        (span, parts[span]),
        ((span, ...), parts[span]),
    ):
        found = bags[key]
        assert len(found) == len(wanted) == found.shape[0]
        for one, other in zip(found, wanted):
            assert_array_equal(one, other)


def test_names_stay_with_their_bags():
    bags = Bags([[[1.0]], [[2.0]], [[3.0]]], ids=["a", "b", "c"], feature_names=["x"])
    assert bags[[2, 0]].ids.tolist() == ["c", "a"]
    assert bags[1:].feature_names == ("x",)
    assert bags[-1].tolist() == [[3.0]]
    loaded = pickle.loads(pickle.dumps(bags))
    same(loaded, bags)
    assert repr(loaded) == "Bags: 3 bags, 3 instances, 1 feature"


def test_a_slice_shares_memory():
    bags = random_bags(1)
    assert np.shares_memory(bags[3:9].instances, bags.instances)
    frozen = bags.instances.copy()
    frozen.setflags(write=False)
    same(Bags(frozen, bags.offsets), bags)


def test_splitters_pipelines_and_searches():
    X, Y = concept_bags(0)
    train, test, _, _ = train_test_split(X, Y, random_state=0)
    assert isinstance(train, Bags) and len(train) + len(test) == len(X)
    learner = make_pipeline(
        OnInstances(StandardScaler()), BagsToRows(), BinaryRelevance(LogisticRegression())
    )
    scorer = metrics.get_scorer("average_precision")
    for cv in (KFold(3), IterativeStratifiedKFold(3)):
        assert cross_val_score(learner, X, Y, cv=cv, scoring=scorer).mean() > 0.9
    grid = {"bagstorows__kinds": ["mean", "extremes"]}
    search = GridSearchCV(learner, grid, cv=3, scoring=scorer).fit(X, Y)
    assert search.best_params_ == {"bagstorows__kinds": "extremes"}
    search = GridSearchCV(MIMLkNN(), {"n_neighbors": [3, 5]}, cv=3, scoring=scorer)
    assert search.fit(X, Y).best_score_ > 0.8
    data = Dataset(X, Y)
    assert data.X is X and data.has_bags and not Dataset(Y, Y).has_bags
    with pytest.raises(ValueError, match="got bags of instances"):
        io.write_libsvm("bags.svm", data)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([], "at least one bag, got none"),
        ([np.zeros((2, 3)), np.zeros((0, 3))], "bag 1 has no instances"),
        ([np.zeros((2, 3)), np.zeros((1, 2))], "bag 1 has 2 features, but bag 0 has 3"),
        ([np.zeros((2, 3)), np.zeros(3)], "bag 1 must be a matrix .* got 1-D"),
        ([np.zeros((1, 1)), [[0.0], [np.nan]]], "NaN in bag 1, instance 1, feature 0"),
        ([sparse.csr_array([[0.0, np.inf]])], "infinity in bag 0, instance 0, feature 1"),
        ([[["a"]]], "could not convert|dtype"),
        (np.zeros((3, 2)), "for a matrix of instances give offsets"),
        (np.zeros((3, 0, 2)), "must not be empty"),
        (sparse.eye_array(3), "needs offsets"),
    ],
)
def test_bad_bags(given, message):
    with pytest.raises(ValueError, match=message):
        Bags(given)


@pytest.mark.parametrize(
    ("offsets", "message"),
    [
        ([0, 2], "must end with the number of instances, 3, got 2"),
        ([1, 3], "begin with 0"),
        ([0, 2, 2, 3], "bag 1 goes from 2 to 2"),
        ([0.0, 3.0], "must be integers"),
        ([0], "one more than bags"),
    ],
)
def test_bad_offsets(offsets, message):
    with pytest.raises(ValueError, match=message):
        Bags(np.zeros((3, 2)), offsets)


def test_bad_names_frames_and_keys():
    with pytest.raises(ValueError, match="ids must have 1 entries"):
        Bags([[[1.0]]], ids=["a", "b"])
    with pytest.raises(ValueError, match="feature_names must have 1 entries.*got 2"):
        Bags([[[1.0]]], feature_names=["a", "b"])
    frame = pd.DataFrame({"bag": [1, 1], "x": [1.0, 2.0], "word": ["a", "b"]})
    with pytest.raises(ValueError, match="bag must be a column of the frame, got 'bags'"):
        Bags.from_frame(frame, "bags")
    with pytest.raises(ValueError, match="column 'word' must hold numbers"):
        Bags.from_frame(frame, "bag")
    with pytest.raises(ValueError, match="must name a bag in every row"):
        Bags.from_frame(pd.DataFrame({"bag": [1, None], "x": [1, 2]}), "bag")
    with pytest.raises(ValueError, match="rows and columns beside 'bag'"):
        Bags.from_frame(frame[["bag"]], "bag")
    for wrong in (None, 5, "bags"):
        with pytest.raises(TypeError, match="bags must be a sequence of matrices"):
            Bags(wrong)
    bags = Bags([[[1.0]]])
    with pytest.raises(ValueError, match="Found 0 bags .* required by BagsToRows"):
        BagsToRows().fit(bags).transform(bags[:0])
    for key in (1, [1], (0, 0), [[0]]):
        with pytest.raises(IndexError):
            bags[key]


def test_what_counts_as_bags():
    assert is_bags(np.zeros((2, 3, 4))) and is_bags([np.zeros((1, 2))]) and is_bags([[[1.0]]])
    assert not is_bags(np.zeros((2, 3))) and not is_bags([[1.0], [2.0]]) and not is_bags([])
    assert as_bags([[1.0, 2.0], [3.0, 4.0]]).sizes.tolist() == [1, 1]


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (None, "must be a data frame, got a NoneType"),
        ([[1, 2]], "must be a data frame, got a list"),
        (pd.Series([1.0], name="v"), "must be a data frame, got a Series"),
        (pl.LazyFrame({"b": ["x"], "v": [1]}), "must be a data frame, got a LazyFrame"),
        (pd.DataFrame([["x", 1, 2]], columns=["b", "v", "v"]), "must differ, got 'v' twice"),
        (pd.DataFrame([["x", "x", 2]], columns=["b", "b", "v"]), "must differ, got 'b' twice"),
        (pd.DataFrame({"b": ["x"], "v": ["1"]}), "column 'v' must hold numbers"),
        (pd.DataFrame({"b": ["x"], "v": [1j]}), "column 'v' must hold numbers"),
        (
            pd.DataFrame({"b": ["x"], "v": pd.Series([10**400], dtype=object)}),
            "column 'v' must hold numbers",
        ),
        (pd.DataFrame({"b": ["x"], "v": pd.to_datetime(["2020"])}), "column 'v' must hold num"),
        (pd.DataFrame({"b": [[1]], "v": [1]}), r"name bags by numbers or text, got \[1\]"),
        (pd.DataFrame({"b": pd.array([None], "string"), "v": [1]}), "got a missing value"),
    ],
)
def test_bad_frames(frame, message):
    with pytest.raises((TypeError, ValueError), match=message):
        Bags.from_frame(frame, "b")


def test_masked_values_are_refused_and_duplicate_entries_added_up():
    masked = np.ma.masked_equal(np.ones((4, 2)), 1)
    for parts in ((masked.reshape(2, 2, 2),), (masked, [0, 2, 4]), ([masked],)):
        with pytest.raises(ValueError, match="must not have masked values, got 8"):
            Bags(*parts)
    with pytest.raises(ValueError, match="offsets must not have masked values"):
        Bags(np.eye(3), np.ma.masked_equal([0, 1, 3], 1))
    twice = sparse.csr_array((np.ones(3), [0, 0, 1], [0, 2, 3]), shape=(2, 2))
    assert_array_equal(Bags(twice, [0, 2])[0].toarray(), [[2, 0], [0, 1]])
    assert Bags(twice, [0, 2]).instances.nnz == 2 and twice.nnz == 3
