"""The code of the page on neural networks runs."""

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[3] / "docs" / "neural.md"


def test_every_block_of_the_page_runs(tmp_path):
    """In a separate process: Keras chooses its backend when it is imported first."""
    for name in ("torch", "keras"):
        if find_spec(name) is None:
            pytest.skip(f"{name} is not installed: the extra `{name}` has it")
    blocks = re.findall(
        r"^```python\n(.*?)^```", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL
    )
    assert len(blocks) == 6
    assert all(len([line for line in block.splitlines() if line]) <= 16 for block in blocks)
    (tmp_path / "page.py").write_text("\n".join(blocks), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-W", "error", "page.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},  # threads get in each other's way
    )
    assert done.returncode == 0, done.stderr
    assert "epoch 1: error" in done.stdout
