"""Large arrays in model files: compressed, mapped, and checked like the others."""

import io
import mmap
import pathlib
import sys
import zipfile
from copy import copy

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler

import plurilabel
from plurilabel import LabelTree, MLkNN, datasets
from plurilabel._core import fitted as _fitted
from plurilabel._core.fitted import let_go
from plurilabel.models import ModelFileError, _large

pytest.importorskip("skops.io", reason="model files need skops")

data = datasets.make_sparse_multilabel(300, 200, 60, random_state=0)


@pytest.fixture(scope="module")
def tree():
    return LabelTree(2, branching_factor=4, leaf_size=10, random_state=0).fit(data.X, data.Y)


@pytest.fixture(autouse=True)
def all_are_large(monkeypatch):
    monkeypatch.setattr(_large, "LARGE", 1000)


@pytest.fixture
def saved(tmp_path, tree):
    plurilabel.save(tree, tmp_path / "m.skops")
    return tmp_path / "m.skops"


def is_mapped(array):
    while isinstance(array, np.ndarray):
        array = array.base
    return isinstance(array.obj if isinstance(array, memoryview) else array, mmap.mmap)


def assert_same_answers(found, wanted):
    assert_array_equal(
        found.predict_top(data.X[:50]).toarray(), wanted.predict_top(data.X[:50]).toarray()
    )


def test_mapped_arrays_are_read_only_and_aligned(saved, tree):
    back = plurilabel.load(saved, mmap_mode="r").estimator
    parts = [back.keys_, back.squares_]
    parts += [getattr(back.weights_, name) for name in ("data", "indices", "indptr")]
    for part in parts:
        assert is_mapped(part) and part.flags.aligned and not part.flags.writeable
        assert part.ctypes.data % 64 == 0
        assert part.dtype.isnative
    assert isinstance(back.weights_, sparse.csr_array)
    assert_same_answers(back, tree)


def test_without_mapping_nothing_is_read_only(saved, tree):
    back = plurilabel.load(saved).estimator
    assert not is_mapped(back.keys_) and back.keys_.flags.writeable
    assert back.weights_.data.flags.writeable
    assert_same_answers(back, tree)


def test_skops_alone_reads_the_learner(saved, tree):
    import skops.io

    from plurilabel.models._audit import trusted_types

    assert_same_answers(skops.io.load(saved, trusted=sorted(trusted_types())), tree)


def test_a_mapped_model_learns_on_and_is_saved_again(saved, tree, tmp_path):
    back = plurilabel.load(saved, mmap_mode="r").estimator
    plurilabel.save(back, saved)  # in place of the file that it comes from
    back.partial_fit(data.X[:50], data.Y[:50])
    assert_same_answers(plurilabel.load(saved, mmap_mode="r").estimator, tree)
    plurilabel.save(back, saved)
    assert_same_answers(plurilabel.load(saved).estimator, back)


def test_saving_leaves_the_learner_alone(tree, tmp_path):
    before = vars(tree).copy()
    plurilabel.save(tree, tmp_path / "m.skops", compress=True)
    assert all(vars(tree)[name] is value for name, value in before.items())


@pytest.mark.parametrize("compress", [True, 1, 9])
def test_compressed_files_are_smaller(saved, tree, tmp_path, compress):
    path = tmp_path / "c.skops"
    plurilabel.save(tree, path, compress=compress)
    assert path.stat().st_size < 0.8 * saved.stat().st_size
    back = plurilabel.load(path).estimator
    assert (back.weights_ != tree.weights_).nnz == 0
    assert_same_answers(back, tree)
    with pytest.raises(ModelFileError, match="is compressed and cannot be mapped"):
        plurilabel.load(path, mmap_mode="r")


def test_what_would_shrink_too_much_is_stored(tmp_path, monkeypatch):
    from plurilabel.models import _audit

    monkeypatch.setattr(_audit, "LITTLE", 1000)
    learner = MLkNN(3).fit(np.zeros((2000, 50)), np.zeros((2000, 50), dtype=int))
    plurilabel.save(learner, tmp_path / "m.skops", compress=9)
    assert (tmp_path / "m.skops").stat().st_size > 2000 * 50 * 8
    back = plurilabel.load(tmp_path / "m.skops", mmap_mode="r").estimator
    assert_array_equal(back.predict(np.zeros((1, 50))), np.zeros((1, 50)))


@pytest.mark.parametrize("value", [10, -1, 0.5, "gzip"])
def test_other_levels_are_refused(tree, tmp_path, value):
    with pytest.raises(ValueError, match="compress must be True, False or from 0 to 9"):
        plurilabel.save(tree, tmp_path / "m.skops", compress=value)


def test_other_modes_are_refused(saved):
    with pytest.raises(ValueError, match="mmap_mode must be None or 'r', got 'w'"):
        plurilabel.load(saved, mmap_mode="w")


def test_learners_inside_others(tmp_path):
    # the same array twice, and arrays of others, which are read
    learner = make_pipeline(MaxAbsScaler(), LabelTree(1, random_state=0)).fit(data.X, data.Y)
    learner[-1].again_ = learner[-1].weights_
    plurilabel.save(learner, tmp_path / "m.skops")
    back = plurilabel.load(tmp_path / "m.skops", mmap_mode="r").estimator
    assert is_mapped(back[-1].weights_.data) and back[-1].again_ is back[-1].weights_
    assert_array_equal(back.predict_proba(data.X[:9]), learner.predict_proba(data.X[:9]))


def test_indexes_are_checked_while_they_are_loaded(tmp_path):
    """Neighbour searches look at their points at once: these are read, not mapped."""
    learner = MLkNN(3).fit(data.X, data.Y)
    plurilabel.save(learner, tmp_path / "m.skops")
    back = plurilabel.load(tmp_path / "m.skops", mmap_mode="r").estimator
    assert_array_equal(back.predict_proba(data.X[:9]), learner.predict_proba(data.X[:9]))


def test_many_names_are_an_array_of_words(tmp_path, monkeypatch):
    from plurilabel.models import _file

    monkeypatch.setattr(_file, "MANY_NAMES", 10)
    tags = [[f"tag {i % 60}"] for i in range(300)]
    learner = LabelTree(1, random_state=0).fit(data.X, tags)
    plurilabel.save(learner, tmp_path / "m.skops")
    assert learner.label_names_.dtype == object
    with zipfile.ZipFile(tmp_path / "m.skops") as archive:
        assert "tag 59" not in archive.read("schema.json").decode()
    for mode in (None, "r"):
        back = plurilabel.load(tmp_path / "m.skops", mmap_mode=mode).estimator
        assert back.label_names_.dtype == object
        assert_array_equal(back.label_names_, learner.label_names_)


# files that must not be mapped ------------------------------------------------------------


def changed(path, change):
    """The file with other numbers in the arrays of its sparse weights."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            if name.endswith(".npz"):
                with np.load(io.BytesIO(content)) as parts:
                    parts = dict(parts)
                change(parts)
                np.savez(buffer := io.BytesIO(), **parts)
                content = buffer.getvalue()
            archive.writestr(name, content)


def test_files_without_alignment_are_read(saved, tree):
    changed(saved, lambda _: None)
    assert_same_answers(plurilabel.load(saved, mmap_mode="r").estimator, tree)


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("indices", 10**6, "sound pointers"),
        ("indices", -1, "sound pointers"),
        ("indptr", 10**6, "sound pointers"),
        ("data", np.nan, "finite, got NaN or infinity"),
    ],
)
def test_numbers_that_lead_nowhere_are_refused(saved, name, value, why):
    def change(parts):
        parts[name][len(parts[name]) // 2] = value

    changed(saved, change)
    with pytest.raises(ModelFileError, match=why):
        plurilabel.load(saved, mmap_mode="r")


def test_complex_numbers_are_refused(saved):
    def change(parts):
        parts["data"] = parts["data"].astype(complex)

    changed(saved, change)
    with pytest.raises(ModelFileError):
        plurilabel.load(saved, mmap_mode="r")


def test_a_changed_byte_is_found(saved):
    content = bytearray(saved.read_bytes())
    at = content.index(b"\x93NUMPY", len(content) // 3) + 5000
    content[at] ^= 1
    saved.write_bytes(content)
    for mode in (None, "r"):
        with pytest.raises(ModelFileError):
            plurilabel.load(saved, mmap_mode=mode)


@pytest.mark.parametrize("share", [0, 0.3, 0.9, 0.999])
def test_a_part_of_a_file_is_refused(saved, share):
    content = saved.read_bytes()
    saved.write_bytes(content[: int(share * len(content))])
    with pytest.raises(ModelFileError, match="is not a model"):
        plurilabel.load(saved, mmap_mode="r")


def test_arrays_in_memory_are_left_alone():
    array = np.arange(5)
    let_go(array)
    let_go(np.frombuffer(bytes(8)))
    assert_array_equal(array, np.arange(5))


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is read from /proc")
def test_mapping_takes_little_memory(saved, tree, tmp_path, monkeypatch):
    """A model of 80 MB, looked at block by block."""
    monkeypatch.setattr(_large, "LARGE", 2**20)
    n, heavy = 10_000_000, copy(tree)
    heavy.weights_ = sparse.csr_array((tree.weights_.shape[0], n), dtype=np.float32)
    heavy.weights_.data = np.ones(n, dtype=np.float32)
    heavy.weights_.indices = np.arange(n, dtype=np.int32)
    heavy.weights_.indptr[-1] = n
    plurilabel.save(heavy, tmp_path / "heavy.skops")
    plurilabel.load(saved, mmap_mode="r")  # what is imported stays
    peaks, check = [], _fitted.let_go

    def watched(array):
        peaks.append(resident())
        check(array)

    monkeypatch.setattr(_fitted, "let_go", watched)
    before = resident()
    back = plurilabel.load(tmp_path / "heavy.skops", mmap_mode="r").estimator
    assert max(peaks) - before < 40
    assert resident() - before < 40
    assert back.weights_.nnz == n


def resident():
    """Megabytes of this process that are in memory."""
    pages = int(pathlib.Path("/proc/self/statm").read_text().split()[1])
    return pages * mmap.PAGESIZE / 1e6
