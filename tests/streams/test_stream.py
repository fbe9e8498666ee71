import numpy as np
import pytest
from scipy import sparse

from plurilabel.datasets import Dataset
from plurilabel.streams import DatasetStream, Drift
from plurilabel.streams._stream import as_stream

X = np.array([[0.5, 0.0, np.nan], [0.0, -2.0, 1.0]])
Y = np.array([[1, 0], [0, 0]])


def test_rows_of_a_dataset_in_order():
    data = Dataset(X, Y, ["a", "b", "c"], ["l", "m"], name="toy")
    stream = DatasetStream(data, drifts=[Drift(1)])
    rows = [({"a": 0.5, "b": 0.0}, {"l": True, "m": False}),
            ({"a": 0.0, "b": -2.0, "c": 1.0}, {"l": False, "m": False})]  # fmt: skip
    assert list(stream) == rows == list(stream)
    assert len(stream) == 2 and stream.name == "toy" and stream.drifts == (Drift(1, 0, "sudden"),)
    assert all(type(value) is float for x, _ in stream for value in x.values())
    assert all(type(value) is bool for _, y in stream for value in y.values())


def test_sparse_rows_hold_what_is_stored():
    data = Dataset(sparse.csr_array(np.nan_to_num(X)), sparse.csr_array(Y))
    assert list(DatasetStream(data)) == [
        ({"x0": 0.5}, {"label0": True, "label1": False}),
        ({"x1": -2.0, "x2": 1.0}, {"label0": False, "label1": False}),
    ]


def test_what_may_be_a_stream():
    rows = [({"a": 1.0}, {"l": True})]
    assert list(as_stream(rows)) == rows
    assert list(as_stream((X[:, :2], Y))) == list(DatasetStream(Dataset(X[:, :2], Y)))
    stream = DatasetStream(Dataset(X, Y))
    assert as_stream(stream) is stream
    for wrong in ("emotions", 7, {"a": 1}):
        with pytest.raises(TypeError, match="stream must be"):
            as_stream(wrong)
    with pytest.raises(ValueError, match="row 1 of the stream must be a pair of dicts"):
        list(as_stream([*rows, ({"a": 1.0}, True)]))


def test_other_data_are_made_of_something_else():
    a, b = DatasetStream(Dataset(X, Y)), DatasetStream(Dataset(X, 1 - Y))
    assert a.made_of() == DatasetStream(Dataset(X.copy(), Y.copy())).made_of() != b.made_of()


def test_bags_are_refused():
    with pytest.raises(TypeError, match="bags or a table"):
        DatasetStream(Dataset(np.zeros((2, 3, 4)), Y))
