"""Mutated model files: refused, or loaded and asked; no crash, no hang, no memory without end."""

import os
import subprocess
import sys

import pytest

from tests.fuzz.seeds import model_seeds

pytest.importorskip("skops.io", reason="model files need skops")
pytest.importorskip("resource", reason="limits need resource")

LONG = bool(os.environ.get("PLURILABEL_LONG_FUZZ"))
FILES = 3000 if LONG else 250


@pytest.mark.filterwarnings("ignore")
def test_mutated_model_files_end_no_process(tmp_path):
    model_seeds(tmp_path, all_learners=LONG)
    command = [sys.executable, "-m", "tests.fuzz.models", str(tmp_path), "0", str(FILES)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900)
    *numbers, last = done.stdout.split("\n")[:-1] or [""]
    assert done.returncode == 0, f"file {last or numbers[-1:]}: {done.stderr[-3000:]}"
    assert len(numbers) == FILES
    assert "refused" in last and "answered" in last
