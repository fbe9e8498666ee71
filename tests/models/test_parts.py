"""Learners on Dask that are saved block by block."""

import json

import numpy as np
import pytest
from scipy import sparse

from plurilabel import BRkNN, DaskLazyClassifier, MLkNN
from plurilabel.models import ModelFileError, load_parts, save_model, save_parts

da = pytest.importorskip("dask.array", reason="the extra 'dask' is not installed")
pytest.importorskip("skops", reason="skops is not installed")

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 5))
Y = (rng.random((60, 4)) < 0.4).astype(np.int8)


def fitted(learner, labels=Y):
    return DaskLazyClassifier(learner, rows=25).fit(da.from_array(X, chunks=(20, -1)), labels)


@pytest.mark.parametrize("learner", [MLkNN(3), BRkNN(3), MLkNN(3, metric="cosine")], ids=str)
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_the_answers_stay_the_same(tmp_path, learner, form):
    before = fitted(learner, form(Y))
    save_parts(before, tmp_path / "model")
    after = load_parts(tmp_path / "model")
    asked = X[:9] + 0.1
    np.testing.assert_array_equal(after.predict_proba(asked), before.predict_proba(asked))
    lazily = after.predict_proba(da.from_array(asked, chunks=(4, -1)))
    np.testing.assert_array_equal(lazily.compute(), before.predict_proba(asked))
    gathered = after.gather()
    np.testing.assert_array_equal(gathered.predict_proba(asked), before.predict_proba(asked))
    save_parts(after, tmp_path / "again")
    names = sorted(path.name for path in (tmp_path / "again").iterdir())
    assert names == ["block000000.npy", "block000001.npy", "block000002.npy", "learner.skops",
                     "parts.json"]  # fmt: skip


def test_sparse_instances(tmp_path):
    thin = np.where(np.abs(X) > 0.8, X, 0)
    chunks = da.from_array(thin, chunks=(20, -1)).map_blocks(sparse.csr_array)
    before = DaskLazyClassifier(MLkNN(3), rows=25).fit(chunks, Y)
    save_parts(before, tmp_path)
    asked = sparse.csr_array(thin[:9] + 0.1)
    after = load_parts(tmp_path)
    np.testing.assert_array_equal(after.predict_proba(asked), before.predict_proba(asked))
    with np.load(tmp_path / "block000001.npz") as file:
        entries = dict(file)
    entries["indices"][0] = 10**6
    np.savez(tmp_path / "block000001.npz", **entries)
    with pytest.raises(ValueError, match="indices"):
        load_parts(tmp_path).predict_proba(asked)
    for change, message in (
        ({"shape": np.array([20, 9])}, r"shape \(20, 5\), got \(20, 9\)"),
        ({"shape": None}, "cannot be read"),
    ):
        changed = {k: v for k, v in (entries | change).items() if v is not None}
        np.savez(tmp_path / "block000001.npz", **changed)
        with pytest.raises(ModelFileError, match=message):
            load_parts(tmp_path)
    np.savez_compressed(tmp_path / "block000001.npz", **entries)
    with pytest.raises(ModelFileError, match="it is compressed"):
        load_parts(tmp_path)


def test_what_is_not_whole_is_refused(tmp_path):
    with pytest.raises(TypeError, match="save_parts"):
        save_model(fitted(MLkNN(3)), tmp_path / "m.skops")
    (tmp_path / "file").touch()
    with pytest.raises(ModelFileError, match="has no parts.json"):
        load_parts(tmp_path / "file")
    with pytest.raises(TypeError, match="needs a DaskLazyClassifier, got MLkNN"):
        save_parts(MLkNN(), tmp_path)
    (tmp_path / "s").mkdir()
    with pytest.raises(ModelFileError, match="saving was not finished"):
        load_parts(tmp_path / "s")
    model = tmp_path / "model"
    save_parts(fitted(MLkNN(3)), model)
    with pytest.raises(FileExistsError, match="already contains a learner"):
        save_parts(fitted(MLkNN(3)), model)
    about = json.loads((model / "parts.json").read_text())
    for change, message in (
        ({"format": 9}, "not of format 1"),
        ({"sizes": [20, -20, 60]}, "does not list blocks"),
        ({"files": ["../x.npy", "b", "c"]}, "does not list blocks"),
        ({"width": 4}, r"shape \(20, 4\), got \(20, 5\)"),
        ({"sizes": about["sizes"][:2], "files": about["files"][:2]}, "60 instances"),
    ):
        (model / "parts.json").write_text(json.dumps(about | change))
        with pytest.raises(ModelFileError, match=message):
            load_parts(model)
    (model / "parts.json").write_text("{")
    with pytest.raises(ModelFileError, match="damaged"):
        load_parts(model)
    (model / "parts.json").write_text(json.dumps(about))
    block = model / "block000001.npy"
    content = block.read_bytes()
    for broken in (b"", content[:200], np.array([None]).dumps()):
        block.write_bytes(broken)
        with pytest.raises(ModelFileError, match=r"block000001.npy cannot be read"):
            load_parts(model)
    block.unlink()
    with pytest.raises(ModelFileError, match=r"block000001.npy cannot be read"):
        load_parts(model)
