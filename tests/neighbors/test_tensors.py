"""Tensors of torch as X and Y: as arrays are, on a GPU too."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from plurilabel import BinaryRelevance, MLkNN
from plurilabel.neighbors import ExactIndex

torch = pytest.importorskip("torch", reason="tensors are torch's")

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


@GPU
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_tensors_on_a_gpu(metric, dtype):
    tensor = torch.from_numpy(X).to("cuda", dtype)
    same = tensor.double().cpu().numpy()
    expected = ExactIndex(metric, device="cpu").fit(same)
    index = ExactIndex(metric, device="cuda").fit(tensor)
    tensor += 1  # what was given to fit is not kept
    for asked in (None, same[:7], torch.from_numpy(same[:7]).cuda()):
        host = asked.cpu().numpy() if isinstance(asked, torch.Tensor) else asked
        found = index.kneighbors(asked, 3), index.kneighbors(asked, 3, as_tensors=True)
        assert {part.device.type for part in found[1]} == {"cuda"}
        for a, b, c in zip(expected.kneighbors(host, 3), found[0], found[1]):
            np.testing.assert_array_equal(b, a)
            np.testing.assert_array_equal(c.cpu().numpy(), a)


@GPU
def test_learners_take_tensors_on_a_gpu():
    expected = MLkNN(5).fit(X, Y)
    found = MLkNN(5, index=ExactIndex(device="cuda")).fit(
        torch.from_numpy(X).cuda(), torch.from_numpy(Y).cuda()
    )
    assert found.index_.device_ == "cuda:0"
    np.testing.assert_array_equal(found.table_, expected.table_)
