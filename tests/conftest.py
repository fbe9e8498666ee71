"""Real data for the tests: the folder named by PLURILABEL_DATA."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

# Examples are few and some are slow on a busy machine; a time limit would only fail at random.
# Where all data are required, as in CI, the examples are the same each time: new ones are looked
# for by whoever runs `make test`.
settings.register_profile(
    "plurilabel", deadline=None, derandomize=bool(os.environ.get("PLURILABEL_REQUIRE_DATA"))
)
settings.load_profile("plurilabel")

# Keras looks for TensorFlow unless told otherwise
os.environ.setdefault("KERAS_BACKEND", "torch")


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """Folder with the real datasets; tests that ask for it are skipped where there is none."""
    folder = os.environ.get("PLURILABEL_DATA")
    if folder and Path(folder).is_dir():
        return Path(folder)
    if os.environ.get("PLURILABEL_REQUIRE_DATA"):
        pytest.fail(f"PLURILABEL_DATA must name the data folder, got {folder!r}")
    pytest.skip("PLURILABEL_DATA names no folder: the tests on real data are left out")


@pytest.fixture
def quick_portfolio(monkeypatch):
    """AutoClassifier tries only what takes seconds, whatever it is asked for."""
    from plurilabel.wrappers.automatic import _auto

    def quick(X, Y, _portfolio, seed):
        return candidates(X, Y, "quick", seed)

    candidates = _auto.candidates
    monkeypatch.setattr(_auto, "candidates", quick)
