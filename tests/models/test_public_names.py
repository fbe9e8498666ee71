"""What users have saved knows public names only: private files may move."""

import importlib
import json
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

import plurilabel
from plurilabel import MLkNN
from plurilabel.evaluation import compare
from plurilabel.models import Model, load_model, save_model
from tests.models.learners import FORMS, assert_same, fitted

MOVED = {
    "learners/lazy/_mlknn": "learners/lazy/_elsewhere",
    "neighbors/_exact_index": "neighbors/_somewhere",
}

LOADS = """
import sys
import numpy as np
import plurilabel.learners.lazy._elsewhere
from plurilabel.evaluation import compare
from plurilabel.models import load_model

folder = sys.argv[1]
X, Y = np.load(folder + "/X.npy"), np.load(folder + "/Y.npy")
np.save(folder + "/again.npy", load_model(folder + "/m.skops").estimator.predict_proba(X))
done = []
learners = ["MLkNN(5)", "ClassifierChain(MLkNN(5))"]
compare({"toy": (X, Y)}, learners, cv=2, out=folder + "/out", measures=["f1"],
        progress=lambda *told: done.append(told))
assert not done, "a finished cell was run again"
"""


def moved(folder):
    """A copy of the library in which two private modules have other names."""
    source = Path(plurilabel.__file__).parent
    package = Path(shutil.copytree(source, folder / "plurilabel"))
    for old, new in MOVED.items():
        (package / f"{old}.py").rename(package / f"{new}.py")
        was, now = (f"plurilabel.{name.replace('/', '.')}" for name in (old, new))
        for path in package.rglob("*.py"):
            text = path.read_text("utf-8")
            if f"{was} " in text:  # the others stay compiled
                path.write_text(text.replace(f"{was} ", f"{now} "), "utf-8")
    return package.parent


def test_moving_private_files_breaks_nothing_saved(tmp_path):
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(60, 3)), (rng.random((60, 4)) < 0.4).astype(int)
    learner = MLkNN(5).fit(X, Y)
    save_model(Model(learner, list("abcd"), list("xyz")), tmp_path / "m.skops")
    learners = ["MLkNN(5)", "ClassifierChain(MLkNN(5))"]
    compare({"toy": (X, Y)}, learners, cv=2, out=tmp_path / "out", measures=["f1"])
    for path in (tmp_path / "out").rglob("*.json"):
        assert "plurilabel.learners.lazy._" not in json.dumps(json.loads(path.read_bytes()))
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "Y.npy", Y)
    other = moved(tmp_path / "other")
    subprocess.run(
        [sys.executable, "-c", LOADS, str(tmp_path)], check=True, env={"PYTHONPATH": str(other)}
    )
    np.testing.assert_array_equal(np.load(tmp_path / "again.npy"), learner.predict_proba(X))


def classes_in(path):
    """Module and name of every class of ours that a model file names."""
    with zipfile.ZipFile(path) as archive:
        todo, found = [json.loads(archive.read("schema.json"))], set()
    while todo:
        state = todo.pop()
        if isinstance(state, dict):
            found.add((str(state.get("__module__")), str(state.get("__class__"))))
            todo += state.values()
        elif isinstance(state, list):
            todo += state
    return {(module, name) for module, name in found if module.startswith("plurilabel")}


@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize("text", FORMS)
def test_every_learner_comes_back_by_public_names(tmp_path, text, is_sparse):
    rng = np.random.default_rng(0)
    X, Y = rng.random((60, 5)), (rng.random((60, 4)) < 0.4).astype(int)
    if is_sparse:
        X, Y = sparse.csr_array(X), sparse.csr_array(Y)
    learner = fitted(text, X, Y)
    save_model(Model(learner, tuple("abcd"), tuple("vwxyz")), tmp_path / "m.skops")
    model = load_model(tmp_path / "m.skops")
    assert_same(learner, model.estimator, X)
    assert (model.label_names, model.feature_names) == (tuple("abcd"), tuple("vwxyz"))
    for module, name in classes_in(tmp_path / "m.skops"):
        assert "._" not in module
        assert name in importlib.import_module(module).__all__
