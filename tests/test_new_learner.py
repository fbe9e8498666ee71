"""The guide to a new learner, followed to the letter: every roster-wide test passes."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
GUIDE = (ROOT / "docs" / "contributing" / "new-learner.md").read_text("utf-8")
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", GUIDE, flags=re.MULTILINE | re.DOTALL)
CODE = next(text for kind, text in BLOCKS if kind == "python")
ENTRY, TEST, PAGE = (text for kind, text in BLOCKS if kind == "text")
ROSTER_WIDE = (
    "tests/test_roster.py",
    "tests/test_sample_weight.py",
    "tests/test_tags.py",
    "tests/test_metamorphic.py",
    "tests/test_readme.py",
    "tests/core/test_fitted.py",
    "tests/inspection/test_explain_roster.py",
    "tests/models/test_file.py",
    "tests/models/test_params.py",
    "tests/models/test_public_names.py",
    "tests/wrappers/test_unknown_labels.py",
    "tests/learners/adaptation/test_nearest_means.py",
)
ABOUT_IT = "NearestMeans or nearest_means or on_the_roster or learner_is_named or docstrings"


@pytest.mark.skipif(sys.platform == "win32", reason="links")
def test_four_files_are_enough(tmp_path):
    left_out = shutil.ignore_patterns("__pycache__")
    for name in ("src", "scripts", "tests", "docs/learners"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=left_out)
    for name in ("pyproject.toml", "conftest.py", "Makefile", "docs/_static", "benchmarks"):
        (tmp_path / name).symlink_to(ROOT / name)
    shutil.copy(ROOT / "README.md", tmp_path)
    family = tmp_path / "src" / "plurilabel" / "learners" / "adaptation"
    (family / "_nearest_means.py").write_text(CODE, "utf-8")
    roster = (family / "__init__.py").read_text("utf-8")
    entered = roster.replace("\npublish(globals())", f"\n{ENTRY}\npublish(globals())")
    entered = entered.replace("__all__ = [", '__all__ = ["NearestMeans", ')
    (family / "__init__.py").write_text(entered, "utf-8")
    tests = tmp_path / "tests" / "learners" / "adaptation"
    (tests / "test_nearest_means.py").write_text(TEST, "utf-8")
    (tmp_path / "docs" / "learners" / "NearestMeans.md").write_text(PAGE, "utf-8")
    one_thread = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    environment = {"PYTHONPATH": str(tmp_path / "src"), "PATH": "", **one_thread}
    subprocess.run(
        [sys.executable, "scripts/house_map.py"], cwd=tmp_path, env=environment, check=True
    )
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *ROSTER_WIDE]
        + ["-k", ABOUT_IT],
        cwd=tmp_path, env=environment, check=False, capture_output=True, text=True,
    )  # fmt: skip
    assert run.returncode == 0, run.stdout[-3000:]
    assert "NearestMeans" in (tmp_path / "README.md").read_text("utf-8")
