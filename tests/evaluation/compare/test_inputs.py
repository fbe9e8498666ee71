"""Learners and datasets in any form, and how data are split."""

import threading

import numpy as np
import pytest
from scipy import sparse
from sklearn.model_selection import ShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from plurilabel import BRkNN, MLkNN
from plurilabel.datasets import Dataset
from plurilabel.evaluation import compare
from plurilabel.evaluation._compare._inputs import named_datasets, named_learners, splits_of
from plurilabel.model_selection import IterativeStratifiedKFold
from tests.evaluation.compare.toys import TAGS, TOY
from tests.evaluation.compare.troublesome import Constant


def test_datasets_in_any_form(tmp_path):
    pd = pytest.importorskip("pandas")
    path = tmp_path / "a.arff"
    path.write_text("@relation 'r: -C -1'\n@attribute x numeric\n@attribute l {0,1}\n@data\n1,1\n")
    pair = (TOY.X, TOY.Y)
    frames = (pd.DataFrame(TOY.X, columns=list("abcdefghij")[: TOY.X.shape[1]]), TOY.Y)
    assert list(named_datasets(["digits", TAGS, pair, pair, path])) == [
        "digits", "tags", "data", "data-2", "r",
    ]  # fmt: skip
    assert list(named_datasets(pair)) == ["data"] and list(named_datasets(TAGS)) == ["tags"]
    found = named_datasets({"f": frames, "sparse": (sparse.csr_matrix(TOY.X), TOY.Y.tolist())})
    assert found["f"].X is frames[0] and found["f"].feature_names[0] == "a"
    assert isinstance(found["sparse"].X, sparse.csr_array)
    labelled = (TOY.X, pd.DataFrame(TOY.Y, columns=TOY.label_names))
    assert named_datasets(labelled)["data"].label_names == TOY.label_names


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ([], ValueError, "datasets must not be empty"),
        ("nowhere", FileNotFoundError, "'nowhere' is neither a file nor a standard dataset"),
        (None, TypeError, "names, paths, Dataset objects or pairs .*got NoneType"),
        ([7], TypeError, "names, paths, Dataset objects or pairs .*got int"),
        ({"a": TOY, "A": TOY}, ValueError, "names that differ, got 'a' and 'A'"),
        ((TOY.X, TOY.Y[:-1]), ValueError, "X has 60 rows, but Y has 59"),
        ((TOY.X, TOY.X), ValueError, "must hold only 0 and 1"),
    ],
)
def test_invalid_datasets(given, error, message):
    with pytest.raises(error, match=message):
        compare(given, Constant())


def test_learners_in_any_form():
    pipe = make_pipeline(StandardScaler(), MLkNN())
    found = named_learners([MLkNN(3), "MLkNN(5)", BRkNN(), pipe, MLkNN(3), "MLkNN(smoothing=[1])"])
    assert list(found) == [
        "MLkNN(n_neighbors=3)", "MLkNN(5)", "BRkNN", "StandardScaler | MLkNN",
        "MLkNN(n_neighbors=3) (2)", "MLkNN (search)",
    ]  # fmt: skip
    assert list(named_learners("MLkNN, b=BRkNN")) == ["MLkNN", "b"]
    assert list(named_learners(MLkNN())) == ["MLkNN"]
    fitted = MLkNN(3).fit(TOY.X, TOY.Y)
    assert not hasattr(named_learners({"a": fitted})["a"], "graph_")


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({}, ValueError, "learners must not be empty"),
        ({"a": StandardScaler()}, TypeError, r"learners\['a'\] must have fit and predict"),
        (MLkNN, TypeError, r"must be instances such as MLkNN\(\), got the class"),
        ({"knn": MLkNN(), "kNN": MLkNN()}, ValueError, "names that differ"),
        ({"": MLkNN()}, ValueError, "names that are not empty"),
        ({"a": MLkNN(metric=threading.Lock())}, TypeError, "cannot be pickled|pickle"),
    ],
)
def test_invalid_learners(given, error, message):
    with pytest.raises(error, match=message):
        compare(TOY, given)


def test_splits():
    halves = Dataset(
        TOY.X, TOY.Y, TOY.feature_names, TOY.label_names, np.arange(20), np.arange(20, 60)
    )
    words, splits = splits_of(halves, "h", "holdout", 2, 0)
    assert words == "published, 20 training and 40 test instances"
    assert [(s.repeat, s.fold, len(s.train), s.test[0]) for s in splits] == [
        (0, 0, 20, 20), (1, 0, 20, 20),
    ]  # fmt: skip
    words, splits = splits_of(TOY, "toy", "holdout", 2, 0)
    assert "no published split" in words and len(splits[0].test) == 20
    assert (splits[0].test != splits[1].test).any()
    words, splits = splits_of(TOY, "toy", 3, 2, 7)
    for repeat in (0, 1):
        twin = IterativeStratifiedKFold(3, shuffle=True, random_state=7 + repeat)
        for split, (train, test) in zip(splits[3 * repeat :], twin.split(TOY.X, TOY.Y)):
            np.testing.assert_array_equal(split.train, train)
            np.testing.assert_array_equal(split.test, test)
    # a splitter without a seed gets one, and stays as it was
    given = ShuffleSplit(2)
    first, second = (splits_of(TOY, "toy", given, 2, 3)[1] for _ in range(2))
    assert given.random_state is None and len(first) == 4
    assert all((a.test == b.test).all() for a, b in zip(first, second))
    assert sorted(first[0].test) != sorted(first[2].test)
