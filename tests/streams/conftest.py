import pytest


class Music:
    """Stands in for river's data set of this name, which river downloads: 72 numbers, 6 labels."""

    def take(self, n):
        import random

        rng = random.Random(0)
        for _ in range(min(n, 120)):
            x = {f"feature {j}": rng.gauss(0, 1) for j in range(72)}
            yield x, {f"label {l}": x[f"feature {l}"] > 0.3 * l for l in range(6)}


@pytest.fixture
def river(monkeypatch):
    """River, with data sets that are here; skips where it is not installed."""
    pytest.importorskip("river", reason="river is not installed: it needs SciPy 1.14.1")
    from river import datasets

    monkeypatch.setattr(datasets, "Music", Music)
    import river

    return river
