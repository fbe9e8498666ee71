"""The counts and the measures of counts."""

import numpy as np
import pytest

from plurilabel import metrics
from plurilabel.metrics import COUNT_MEASURES, _inputs
from tests.metrics import twins
from tests.metrics.cases import random_problem


def test_measures_broadcast_and_divide_zero_by_zero_to_zero():
    grid = np.arange(4)
    tp, fp, fn, tn = np.meshgrid(grid, grid, grid, grid, indexing="ij")
    for name in ("accuracy", "precision", "recall", "jaccard", "f1"):
        got = COUNT_MEASURES[name](tp, fp, fn, tn)
        for at in np.ndindex(*tp.shape):
            if name != "accuracy" or sum(at):
                assert got[at] == pytest.approx(twins.binary(name, *at))
    for name, beta in (("f0.5", 0.5), ("f2", 2.0)):
        got = COUNT_MEASURES[name](tp, fp, fn, tn)
        for at in np.ndindex(*tp.shape):
            assert got[at] == pytest.approx(twins.binary("f", *at, beta))
    assert COUNT_MEASURES["accuracy"](0, 0, 0, 0) == 0
    assert COUNT_MEASURES["f1"](3, np.arange(3), 1, 0).shape == (3,)


def test_block_size_changes_nothing(monkeypatch):
    Y, _, Z = random_problem()
    whole = metrics.evaluate(Y, labels=Z)
    monkeypatch.setattr(_inputs, "BLOCK", 10)
    assert metrics.evaluate(Y, labels=Z) == whole
