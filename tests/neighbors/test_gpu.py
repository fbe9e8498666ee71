"""The search of a GPU gives the answer of the CPU, bit for bit.

Here it runs on the CPU: its plain functions in torch, and its kernels in Triton's interpreter.
Where there is a GPU, it runs there as well.
"""

import os
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse

from plurilabel import ExactIndex
from plurilabel.neighbors import _exact_index
from plurilabel.neighbors._distance import Formula
from tests.neighbors.test_exact_index import CASES

torch = pytest.importorskip("torch", reason="the search on a GPU needs torch")

from plurilabel.neighbors._gpu import engine, search  # noqa: E402
from plurilabel.neighbors._gpu.engine import GpuEngine  # noqa: E402

CPU = torch.device("cpu")
WHERE = [CPU, *([torch.device("cuda", 0)] if torch.cuda.is_available() else [])]


def _more_cases():
    rng = np.random.default_rng(3)
    centres = 10 * rng.normal(size=(8, 30))
    tight = centres[rng.integers(0, 8, 700)] + 1e-3 * rng.normal(size=(700, 30))
    zeros = rng.normal(size=(90, 5))
    zeros[[0, 7, 50, 89]] = 0
    return {
        "float32": rng.normal(size=(600, 20)).astype(np.float32),
        "tight clusters": tight,
        "tight clusters in float32": tight.astype(np.float32),
        "one-hot": np.eye(9)[rng.integers(0, 9, 700)],
        "one-hot, each once": np.vstack([np.zeros((1, 130)), np.eye(130)]),
        "large whole numbers": rng.integers(-900, 900, (300, 7)).astype(float),
        "wide": rng.normal(size=(150, 200)).astype(np.float32),
        "rows of zeros": zeros,
        "denormal": 5e-324 * rng.integers(-3, 4, (90, 3)),
        "largest": 1e149 * rng.normal(size=(90, 4)),
    }


ALL = {**CASES, **_more_cases()}


def _same(found, expected):
    np.testing.assert_array_equal(found[1], expected[1])
    np.testing.assert_array_equal(found[0], expected[0])


@pytest.mark.parametrize("where", WHERE, ids=str)
@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("name", ALL)
def test_answers_are_those_of_the_cpu(name, metric, where):
    X, formula = ALL[name], Formula.of(metric)
    index = ExactIndex(metric).fit(X)
    device = GpuEngine(formula, formula.prepare(X), [where], 1 << 24)
    queries = np.vstack([X[:5], X[:3] * 1.25, X[-30:], X.mean(axis=0, keepdims=True)])
    for k in {1, min(7, len(X) - 1)}:
        _same(device.neighbors(None, k, map), index.kneighbors(None, k))
        _same(device.neighbors(formula.prepare(queries), k, map), index.kneighbors(queries, k))


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("name", ["normal", "grid", "many duplicates", "rows of zeros"])
@pytest.mark.parametrize("block", [None, 37])
def test_points_in_blocks_and_rows_in_shares(name, metric, block):
    X, formula = ALL[name], Formula.of(metric)
    index = ExactIndex(metric).fit(X)
    device = GpuEngine(formula, formula.prepare(X), [CPU, CPU, CPU], 1 << 24)
    assert len(device.kept) == 3  # each device has all points, and a third of the rows
    device.rows = 20
    if block is not None:
        device.block, device.kept = block, None
    for k in (1, 6):
        _same(device.neighbors(None, k, map), index.kneighbors(None, k))
        _same(device.neighbors(formula.prepare(X[::3]), k, map), index.kneighbors(X[::3], k))


def test_little_memory_and_few_pairs_at_a_time(monkeypatch):
    monkeypatch.setattr(search, "_PAIRS", 50)
    for name in ("grid of tenths", "offset", "one-hot", "tight clusters"):
        X = ALL[name]
        device = search.Search(torch.from_numpy(X), 1 << 15)
        distances, indices = device.neighbors(None, 5)
        expected = ExactIndex().fit(X).kneighbors(None, 5)
        _same((distances.numpy(), indices.numpy()), expected)


def test_float32_is_tried_before_float64(monkeypatch):
    # one point so far away that the others are zero in half precision
    X = np.vstack([np.random.default_rng(0).normal(size=(4000, 6)), np.full((1, 6), 1e12)])
    kinds = []
    run = search._Job.run

    def noted(job, dtype, *rest):
        kinds.append(dtype)
        return run(job, dtype, *rest)

    monkeypatch.setattr(search._Job, "run", noted)
    monkeypatch.setattr(search, "_FEW", 1000)
    device = search.Search(torch.from_numpy(X), 1 << 26)
    distances, indices = device.neighbors(None, 4)
    assert kinds == [torch.float16, torch.float32]
    assert device.uncertain < 100
    _same((distances.numpy(), indices.numpy()), ExactIndex().fit(X).kneighbors(None, 4))


INTERPRETED = """
import numpy as np, torch
from plurilabel.neighbors._gpu import arithmetic as plain
from plurilabel.neighbors._gpu import kernels
from plurilabel.neighbors._gpu.arithmetic import padded_width
rng = np.random.default_rng(0)
for d in (5, 70, 200):
    for dtype in (torch.float16, torch.float32):
        X = torch.from_numpy(rng.normal(size=(256, padded_width(d)))).to(dtype)
        heights = X.double().square().sum(1).float()
        a, b = torch.empty(2, 40, 4)
        kernels.group_minima(X[:40].contiguous(), X, heights, 64, a)
        plain.group_minima(X[:40], X, heights, 64, b)
        torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-3)
    X = torch.from_numpy(rng.normal(size=(150, d))).float()
    rows, groups = torch.tensor([3, 149, 70]), torch.tensor([[0, 2], [1, 2], [1, 0]])
    args = X, rows, X, rows, groups, 64
    a, b = kernels.distances_in_groups(*args), plain.distances_in_groups(*args)
    torch.testing.assert_close(a, b)
    cols = torch.from_numpy(rng.integers(0, 150, (3, 4)))
    for points in (X, X.double()):
        a = kernels.canonical_squares(points, rows, points, cols)
        assert torch.equal(a, plain.canonical_squares(points, rows, points, cols))
print("the same")
"""


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU: the kernels run there")
def test_kernels_in_the_interpreter():
    pytest.importorskip("triton", reason="the kernels need Triton, which is for Linux")
    done = subprocess.run(
        [sys.executable, "-c", INTERPRETED],
        env={**os.environ, "TRITON_INTERPRET": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.strip() == "the same", done.stderr[-2000:]


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU with CUDA")
def test_index_on_a_gpu():
    X = np.random.default_rng(0).normal(size=(20_000, 50)).astype(np.float32)
    for metric in ("euclidean", "cosine"):
        index = ExactIndex(metric, device="cuda").fit(X)
        assert isinstance(index._engine, GpuEngine)
        _same(
            index.kneighbors(None, 10),
            ExactIndex(metric, device="cpu").fit(X).kneighbors(None, 10),
        )


def test_devices_are_checked(monkeypatch):
    X = CASES["normal"]
    with pytest.raises(ValueError, match=r"device must be 'auto', 'cpu', 'cuda' or 'cuda:N', got"):
        ExactIndex(device="graphics").fit(X)
    if not torch.cuda.is_available():
        with pytest.raises(ValueError, match="device='cuda' needs a GPU with CUDA"):
            ExactIndex(device="cuda").fit(X)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert engine.devices("cuda") == [torch.device("cuda", 0), torch.device("cuda", 1)]
    with pytest.raises(ValueError, match=r"numbered 0 to 1"):
        engine.devices("cuda:2")


def test_without_torch_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ImportError, match=r"plurilabel\[torch\]"):
        ExactIndex(device="cuda").fit(CASES["normal"])


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_sparse_points_are_made_dense_there(metric):
    dense = ALL["rows of zeros"] * (np.random.default_rng(0).random((90, 5)) < 0.4)
    for X, queries in ((sparse.csr_array(dense), dense), (dense, sparse.csr_array(dense))):
        expected = ExactIndex(metric).fit(dense)
        index = ExactIndex(metric, device="cpu:0").fit(X)
        assert isinstance(index._engine, GpuEngine)
        _same(index.kneighbors(None, 4), expected.kneighbors(None, 4))
        _same(index.kneighbors(queries[:50], 4), expected.kneighbors(dense[:50], 4))


def test_many_features_and_other_metrics_stay_on_the_cpu(monkeypatch):
    X = CASES["normal"]
    monkeypatch.setattr(_exact_index, "DENSE_UP_TO", X.shape[1] - 1)
    assert not isinstance(ExactIndex(device="cuda").fit(sparse.csr_array(X))._engine, GpuEngine)
    manhattan = ExactIndex("manhattan", device="cuda").fit(X)
    assert not isinstance(manhattan._engine, GpuEngine)


def test_sparse_points_that_do_not_fit_are_left_to_the_cpu_by_auto(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(engine, "devices", lambda _: [CPU])
    monkeypatch.setattr(_exact_index, "GAINS_ABOVE", 0)
    X = np.random.default_rng(0).normal(size=(1500, 40))
    for points, memory, there in (
        (X, 1 << 20, True),
        (sparse.csr_array(X), 1 << 26, True),
        (sparse.csr_array(X), 1 << 20, False),
    ):
        index = ExactIndex(device_memory=memory).fit(points)
        assert isinstance(index._engine, GpuEngine) == there


def test_torch_is_not_imported_without_a_driver(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(_exact_index, "GAINS_ABOVE", 0)
    monkeypatch.setattr(_exact_index, "sys", SimpleNamespace(modules={}))
    for driver in (True, False):
        monkeypatch.setattr(_exact_index, "has_driver", lambda driver=driver: driver)
        assert ExactIndex()._takes_gpu(Formula(), np.zeros((9, 2))) == driver


@pytest.mark.parametrize("count", [1, 3])
def test_the_smallest_of_long_rows(count):
    rng = np.random.default_rng(0)
    values = torch.from_numpy(rng.integers(0, 40, (50, 207)).astype(np.float32))
    values[:, rng.integers(0, 207, 20)] = torch.inf
    values[7] = torch.inf
    expected = values.sort(dim=1).values[:, :count]
    found, columns = search._least(values, count)
    torch.testing.assert_close(found, expected, rtol=0, atol=0)
    torch.testing.assert_close(values.gather(1, columns), expected, rtol=0, atol=0)
    assert (columns.sort(dim=1).values.diff(dim=1) > 0).all()
