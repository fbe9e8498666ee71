"""Mutated model files: refused, or loaded and asked; no crash, no hang, no memory without end."""

import io
import json
import os
import subprocess
import sys
import tracemalloc
import zipfile
from collections import Counter

import numpy as np
import pytest
from scipy import sparse
from sklearn.neighbors import KNeighborsClassifier

from plurilabel import BRkNN, MLkNN
from plurilabel.models import Model, ModelFileError, load_model, save_model
from tests.fuzz.seeds import model_seeds

pytest.importorskip("skops.io", reason="model files need skops")
pytest.importorskip("resource", reason="limits need resource")

LONG = bool(os.environ.get("PLURILABEL_LONG_FUZZ"))
FILES = 3000 if LONG else 120
ROWS, BYTES = (2000, 2_000_000) if LONG else (600, 300_000)
TEXT = 30  # times the size of the text that describes objects


@pytest.mark.filterwarnings("ignore")
def test_mutated_model_files_end_no_process(tmp_path):
    model_seeds(tmp_path, all_learners=LONG)
    # in a process of its own: threads of this one would not survive the forks
    code = f"from tests.fuzz.models import run; print(run({str(tmp_path)!r}, 0, {FILES}))"
    command = [sys.executable, "-W", "ignore", "-c", code]
    # threads would ask for address space of their own, which is limited there
    one = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=900, env=one)
    assert done.returncode == 0, done.stderr[-3000:]
    counts, failed = eval(done.stdout, {"Counter": Counter})
    assert not failed, done.stderr[-3000:]
    assert counts.total() == FILES and counts["refused"] and counts["answered"]


def large_models(folder, learner):
    """Files of about a megabyte: honest ones, and the same made to take more than they hold."""
    rng = np.random.default_rng(0)
    X, Y = rng.random((ROWS, 200)), (rng.random((ROWS, 4)) < 0.5).astype(np.int8)
    ones = sparse.csr_array((rng.random((ROWS, 200)) < 0.5).astype(np.float64))
    for data in ((X, Y), (ones, Y), (0 * ones, Y)):
        path, names = folder / "honest.skops", [f"x{j}" for j in range(200)]
        save_model(Model(learner.fit(*data), list("abcd"), names), path)
        yield path, True
        with zipfile.ZipFile(path) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
        for name in members:
            if name.endswith(".npz"):  # compressed, as skops itself would have it
                packed = io.BytesIO()
                np.savez_compressed(packed, **np.load(io.BytesIO(members[name])))
                yield _with_members(folder, members | {name: packed.getvalue()}), False
        schema = json.loads(members["schema.json"])
        largest = max(members, key=lambda name: len(members[name]))
        array = {"__class__": "ndarray", "__module__": "numpy", "__loader__": "NdArrayNode",
                 "type": "numpy", "file": largest}  # fmt: skip
        schema["content"]["content"]["again"] = [dict(array) for _ in range(100)]
        yield _with_members(folder, members | {"schema.json": json.dumps(schema).encode()}), False


def _with_members(folder, members):
    path = folder / "changed.skops"
    with zipfile.ZipFile(path, "w") as archive:
        for name, member in members.items():
            archive.writestr(name, member)
    return path


@pytest.mark.parametrize(
    "learner", [KNeighborsClassifier(algorithm="brute"), MLkNN(3), BRkNN(3, metric="cosine")]
)
def test_a_file_takes_no_more_than_four_times_its_size(tmp_path, learner):
    for path, honest in large_models(tmp_path, learner):
        with zipfile.ZipFile(path) as archive:
            text = sum(e.file_size for e in archive.infolist() if e.filename.endswith(".json"))
        load_or_refuse(path)  # what is imported is not counted
        loaded, peak = with_peak(path)
        assert loaded == honest
        assert peak < 4 * path.stat().st_size + TEXT * text


@pytest.mark.parametrize("piece", ["[]", "{}", '{"a":[]}', "0.5", '"é"'])
def test_text_takes_no_more_than_thirty_times_its_size(tmp_path, piece):
    path = tmp_path / "small.skops"  # so that the text is nearly all of the file
    save_model(MLkNN(1).fit([[0.0], [1.0]], [["a"], ["b"]]), path)
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    for name in ("schema.json", "plurilabel.json"):
        text = "[" + ",".join([piece] * (BYTES // (len(piece) + 1))) + "]"
        path = _with_members(tmp_path, members | {name: text.encode()})
        loaded, peak = with_peak(path)
        assert not loaded
        assert peak < 4 * path.stat().st_size + TEXT * len(text.encode())


def with_peak(path):
    """Whether a file is loaded, and the most memory that takes."""
    tracemalloc.start()
    try:
        return load_or_refuse(path), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def load_or_refuse(path):
    try:
        return load_model(path) is not None
    except ModelFileError:
        return False
