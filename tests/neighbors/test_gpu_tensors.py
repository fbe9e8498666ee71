"""Tensors of torch as X and Y: as arrays are, on a GPU too."""

import pickle
from copy import copy

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from plurilabel import BinaryRelevance, ExactIndex, MLkNN

torch = pytest.importorskip("torch", reason="tensors are torch's")

from plurilabel.neighbors._gpu import engine  # noqa: E402

rng = np.random.default_rng(0)
X = rng.normal(size=(80, 4)).astype(np.float32)
Y = (rng.random((80, 3)) < 0.4).astype(np.int8)
GPU = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU with CUDA")


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
def test_tensors_are_taken_as_arrays_are(dtype):
    tensor = torch.from_numpy(X).to(dtype)
    same = tensor.double().numpy()
    expected = ExactIndex().fit(same).kneighbors(same[:5], 3)
    found = ExactIndex().fit(tensor).kneighbors(tensor[:5], 3)
    for a, b in zip(found, expected):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("learner", [MLkNN(5), BinaryRelevance(LogisticRegression())])
def test_learners_take_tensors(learner):
    expected = learner.fit(X, Y).predict_proba(X)
    tensor = torch.from_numpy(X.copy()).requires_grad_()
    learner.fit(tensor, torch.from_numpy(Y))
    with torch.no_grad():
        tensor[0] = 99.0  # what was given to fit is not kept
    np.testing.assert_array_equal(learner.predict_proba(torch.from_numpy(X)), expected)


def test_tensors_are_checked_as_arrays_are():
    with pytest.raises(ValueError, match="NaN"):
        ExactIndex().fit(torch.full((3, 2), torch.nan))
    with pytest.raises(ValueError, match="2D"):
        MLkNN(1).fit(torch.zeros(3), Y[:3])
    with pytest.raises(ValueError, match="device_ is 'cpu'"):
        ExactIndex().fit(X).kneighbors(as_tensors=True)


@pytest.fixture(params=["cpu:0", pytest.param("cuda:0", marks=GPU)])
def there(request, monkeypatch):
    """A device on which points stay; here the CPU stands in for a GPU."""
    monkeypatch.setattr(engine, "THERE", {request.param.split(":")[0]})
    return request.param


KINDS = [torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.int32]


@pytest.mark.parametrize("dtype", KINDS)
@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_tensors_on_a_gpu(metric, dtype, there):
    values = X.copy()
    values[[3, 40]] = 0
    tensor = torch.from_numpy(3 * values).to(there, dtype)
    same = tensor.double().cpu().clone().numpy()
    expected = ExactIndex(metric, device="cpu").fit(same)
    index = ExactIndex(metric, device=there).fit(tensor)
    assert index.device_ == there
    queries = tensor[:7].clone()
    tensor += 1  # what was given to fit is not kept
    for asked in (None, same[:7], queries):
        host = same[:7] if asked is not None else None
        found = index.kneighbors(asked, 3), index.kneighbors(asked, 3, as_tensors=True)
        assert {part.device.type for part in found[1]} == {torch.device(there).type}
        for a, b, c in zip(expected.kneighbors(host, 3), found[0], found[1]):
            np.testing.assert_array_equal(b, a)
            np.testing.assert_array_equal(c.cpu().numpy(), a)
    assert "points_" not in vars(index)


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_points_of_a_tensor_are_copied_when_asked_for(metric, there):
    values = np.float32(1e30) * X
    index = ExactIndex(metric, device=there).fit(torch.from_numpy(values).to(there))
    expected = index.kneighbors(None, 3)
    for other in (pickle.loads(pickle.dumps(index)), copy(index), clone(index).fit(values)):
        np.testing.assert_array_equal(other.points_, values)
        for a, b in zip(other.kneighbors(None, 3), expected):
            np.testing.assert_array_equal(a, b)
    grown = index.partial_fit(values[:2]).remove([80, 81])
    np.testing.assert_array_equal(grown.points_, values)
    np.testing.assert_array_equal(grown.kneighbors(None, 3)[1], expected[1])
    with pytest.raises(AttributeError, match="'ExactIndex' object has no attribute 'points_'"):
        ExactIndex().points_  # noqa: B018


@pytest.mark.parametrize("scale", [1e-200, 1e140, 1e200])
def test_unusual_numbers_on_a_gpu_take_the_usual_way(scale, there):
    tensor = torch.from_numpy(scale * X.astype(np.float64)).to(there)
    index = ExactIndex("cosine", device=there).fit(tensor)
    expected = ExactIndex("cosine", device="cpu").fit(tensor.cpu().numpy())
    for a, b in zip(index.kneighbors(None, 3), expected.kneighbors(None, 3)):
        np.testing.assert_array_equal(a, b)


def test_tensors_on_a_gpu_are_checked(there):
    index = ExactIndex(device=there)
    for wrong, said in (
        (torch.full((3, 2), torch.nan), "NaN"),
        (torch.full((3, 2), -torch.inf), "infinity"),
        (torch.zeros(3), "2D"),
        (torch.zeros((0, 3)), "minimum of 1"),
        (torch.full((3, 2), 1e200, dtype=torch.float64), "up to 1e\\+150"),
    ):
        with pytest.raises(ValueError, match=said):
            index.fit(wrong.to(there))
    index.fit(torch.from_numpy(X).to(there))
    with pytest.raises(ValueError, match="X has 3 features, but ExactIndex is expecting 4"):
        index.kneighbors(torch.zeros((2, 3), device=there))


@GPU
def test_learners_take_tensors_on_a_gpu():
    expected = MLkNN(5).fit(X, Y)
    found = MLkNN(5, index=ExactIndex(device="cuda")).fit(
        torch.from_numpy(X).cuda(), torch.from_numpy(Y).cuda()
    )
    assert found.index_.device_ == "cuda:0"
    np.testing.assert_array_equal(found.table_, expected.table_)
