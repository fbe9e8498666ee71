"""What works without torch and without Keras, and what the errors say."""

import pickle
import subprocess
import sys

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import plurilabel.learners.neural
from plurilabel import BPMLL
from plurilabel.learners import bp_mll_loss

X, Y = np.arange(12.0).reshape(6, 2), np.array([[1, 0], [0, 1]] * 3)


def test_importing_does_not_import_torch():
    code = (
        "import sys, plurilabel.learners.neural; plurilabel.BPMLL();"
        "print(sorted({'torch', 'keras', 'tensorflow'} & set(sys.modules)))"
    )
    out = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert out.stdout == "[]\n"


def test_errors_name_the_extra(monkeypatch):
    for name in ("torch", "keras"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match=r"BPMLL needs torch: pip install 'plurilabel\[torch\]'"):
        BPMLL().fit(X, Y)
    learner = BPMLL()
    with pytest.raises(ImportError, match="BPMLL needs torch"):
        learner.partial_fit(X, Y)
    with pytest.raises(ImportError, match=r"BPMLLLoss needs torch: .*'plurilabel\[torch\]'"):
        _ = plurilabel.learners.BPMLLLoss
    with pytest.raises(ImportError, match=r"needs Keras .* pip install 'plurilabel\[keras\]'"):
        bp_mll_loss(Y, X)
    monkeypatch.undo()
    with pytest.raises(NotFittedError):
        learner.predict(X)


def test_unknown_names_are_attribute_errors():
    with pytest.raises(AttributeError, match="no attribute 'BPMLLoss'"):
        _ = plurilabel.learners.neural.BPMLLoss
    assert set(plurilabel.learners.neural.__all__) >= {"BPMLL", "BPMLLLoss", "bp_mll_loss"}


def test_a_trained_network_answers_without_torch(tmp_path):
    pytest.importorskip("torch", reason="torch is not installed: the extra `torch` has it")
    learner = BPMLL((3,), max_iter=2, random_state=0).partial_fit(X, Y)
    (tmp_path / "learner").write_bytes(pickle.dumps((learner, X)))
    code = (
        "import pickle, sys; learner, X = pickle.load(open('learner', 'rb'));"
        "print(learner.decision_function(X).tolist()); print('torch' in sys.modules)"
    )
    out = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, cwd=tmp_path
    )
    assert out.stdout == f"{learner.decision_function(X).tolist()}\nFalse\n"
