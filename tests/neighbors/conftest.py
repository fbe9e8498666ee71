"""Engines are tested on small data, where few queries would be compared with all points."""

import pytest

from plurilabel.neighbors import _engines


@pytest.fixture(autouse=True)
def _no_short_cut(monkeypatch):
    monkeypatch.setattr(_engines, "FEW", 0)
