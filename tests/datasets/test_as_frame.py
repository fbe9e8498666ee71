"""Datasets as data frames: names that learners keep."""

import numpy as np
import pytest
from scipy import sparse

from plurilabel import MLkNN, datasets, io, metrics, model_selection
from plurilabel.datasets import Dataset

pd = pytest.importorskip("pandas")


def test_digits_with_the_names_of_pixels_and_labels():
    plain, data = datasets.load("digits"), datasets.load("digits", as_frame=True)
    assert (
        tuple(data.Y.columns) == plain.label_names and tuple(data.X.columns) == plain.feature_names
    )
    np.testing.assert_array_equal(data.X, plain.X)
    np.testing.assert_array_equal(data.Y, plain.Y)
    X, X_test, Y, Y_test = model_selection.stratified_split(
        data.X, data.Y, sizes=(0.5, 0.5), random_state=0
    )
    learner = MLkNN(3).fit(X, Y)
    assert learner.label_names_[:2].tolist() == ["even", "prime"]
    assert learner.feature_names_in_[0] == "pixel_0_0"
    assert "has a loop" in str(learner.explain(X_test[:1])[0])
    table = metrics.per_label(Y_test, labels=learner.predict(X_test))
    assert table.label_names[0] == "even"


def test_the_split_of_frames(data_folder):
    data = datasets.load("emotions", as_frame=True)
    X, X_test, Y, _ = data.holdout()
    assert X.shape == (391, 72) and X_test.shape == (202, 72)
    assert "happy-pleased" in Y.columns


def test_sparse_features_stay_sparse():
    X = sparse.random_array((20, 6), density=0.3, random_state=0, format="csr")
    data = Dataset(X, sparse.csr_array(np.eye(20, 3, dtype=int))).as_frame()
    assert data.X.sparse.to_coo().nnz == X.nnz and data.Y.shape == (20, 3)
    assert data.as_frame().X is data.X
    learner = MLkNN(3).fit(data.X, data.Y)
    assert learner.feature_names_in_[0] == "x0"
    plain = MLkNN(3).fit(X, data.Y.to_numpy())
    np.testing.assert_array_equal(learner.predict_proba(data.X), plain.predict_proba(X))


def test_frames_go_where_datasets_go(tmp_path):
    data = Dataset(np.eye(4), np.eye(4, 2, dtype=int), label_names=["sea", "sun"]).as_frame()
    assert datasets.describe(data).label_names == ("sea", "sun")
    io.write_table(tmp_path / "a.csv", data)
    io.write_arff(tmp_path / "a.arff", data)
    again = io.read(tmp_path / "a.csv", labels=["sea", "sun"]).as_frame()
    pd.testing.assert_frame_equal(again.Y, data.Y)


def test_bags_are_not_a_table():
    with pytest.raises(ValueError, match="has bags, which are not a table"):
        Dataset(np.zeros((3, 2, 2)), np.eye(3, dtype=int)).as_frame()
