"""What every reader returns: shapes are checked, names are there."""

import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from plurilabel._core.base import NumberedNames
from plurilabel.datasets import Dataset

X, Y = np.zeros((4, 2)), np.array([[1, 0, 0]] * 4)


def test_names_are_optional_and_any_sequence_will_do():
    assert Dataset(X, Y).feature_names == ("x0", "x1")
    assert Dataset(X, Y).label_names == ("label0", "label1", "label2")
    for names in (["a", "b", "c"], np.array(["a", "b", "c"]), pd.Index(["a", "b", "c"])):
        found = Dataset(X, Y, label_names=names).label_names
        assert found == ("a", "b", "c") and {type(name) for name in found} == {str}
    assert Dataset(X, np.zeros((4, 0))).label_names == ()
    assert Dataset(np.zeros((4, 9, 2)), Y).feature_names == ("x0", "x1")  # bags of instances


def test_made_names_take_no_memory():
    wide = sparse.csr_array((4, 10_000_000))
    data = Dataset(wide, wide)
    assert isinstance(data.label_names, NumberedNames)
    assert data.label_names[-1] == "label9999999"
    again = replace(data, name="again")
    assert again.feature_names is data.feature_names
    assert len(pickle.dumps(data.label_names)) < 200


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"Y": Y[:3]}, "X has 4 rows, but Y has 3"),
        ({"feature_names": ["a"]}, "feature_names has 1 entries for 2 columns"),
        ({"label_names": "abcd"}, "label_names has 4 entries for 3 columns"),
        ({"label_parents": (-1,)}, "label_parents has 1 entries for 3 labels"),
    ],
)
def test_what_does_not_fit_is_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        Dataset(**{"X": X, "Y": Y, **changes})


def test_repr_and_holdout():
    data = Dataset(X + np.arange(4)[:, None], Y, name="toy")
    assert repr(data) == "Dataset 'toy': 4 instances, 2 features, 3 labels"
    assert repr(Dataset(X[:1, :1], Y[:1, :1])) == "Dataset: 1 instance, 1 feature, 1 label"
    with pytest.raises(ValueError, match="toy has no published split"):
        data.holdout()
    data = replace(data, train=np.array([0, 2]), test=np.array([3]))
    assert repr(data).endswith("3 labels (split 2/1)")
    X_train, X_test, Y_train, Y_test = data.holdout()
    assert X_train[:, 0].tolist() == [0, 2] and X_test[:, 0].tolist() == [3]
    assert Y_train.shape == (2, 3) and Y_test.shape == (1, 3)
