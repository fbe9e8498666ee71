"""FalseDiscoveryControl against a loop over all cuts, and its guarantee."""

from math import ceil, comb, e, exp, log

import numpy as np
import pytest

from plurilabel import FalseDiscoveryControl


def p_value(r, n, alpha):
    """Hoeffding-Bentkus, as in the paper."""

    def h(a, b):
        first = a * log(a / b) if a else 0.0
        return first + ((1 - a) * log((1 - a) / (1 - b)) if a < 1 else 0.0)

    k = min(ceil(n * r - 1e-9), n)
    cdf = sum(comb(n, i) * alpha**i * (1 - alpha) ** (n - i) for i in range(k + 1))
    return min(exp(-n * h(min(r, alpha), alpha)), e * cdf)


def twin(scores, Y, alpha, delta):
    sets = np.zeros_like(Y)
    if p_value(0.0, len(Y), alpha) > delta:
        return sets
    for s in np.unique(scores)[::-1]:
        next_sets = (scores >= s).astype(int)
        rates = [
            sum(z and not y for y, z in zip(*row)) / max(1, sum(row[1]))
            for row in zip(Y, next_sets)
        ]
        if p_value(float(np.mean(rates)), len(Y), alpha) > delta:
            return sets
        sets = next_sets
    return sets


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize(("alpha", "delta"), [(0.1, 0.1), (0.3, 0.05), (0.5, 0.5)])
def test_twin(seed, alpha, delta):
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, 30, size=(60, 4)) / 30
    Y = (rng.uniform(size=scores.shape) < scores).astype(int)
    control = FalseDiscoveryControl(alpha, delta=delta).fit(scores, Y)
    np.testing.assert_array_equal(control.predict(scores), twin(scores, Y, alpha, delta))


def test_the_guarantee_holds():
    rng = np.random.default_rng(0)
    p = rng.beta(0.5, 0.7, size=(20_000, 4))
    Y = rng.uniform(size=p.shape) < p
    broken = 0
    for _ in range(300):
        rows = rng.choice(len(p), 300)
        sets = FalseDiscoveryControl(0.2, delta=0.1).fit(p[rows], Y[rows]).predict(p)
        rate = np.mean((sets * ~Y).sum(axis=1) / np.maximum(1, sets.sum(axis=1)))
        broken += rate > 0.2
    assert broken <= 300 * 0.1 + 3 * np.sqrt(300 * 0.1 * 0.9)


def test_too_few_instances_give_no_labels():
    control = FalseDiscoveryControl(0.01).fit([[0.9], [0.1]], [[1], [0]])
    assert control.cut_ == np.inf and not control.predict([[1.0]]).any()


def test_labels_without_mistakes_are_all_predicted():
    scores = np.linspace(0, 1, 400).reshape(100, 4)
    assert FalseDiscoveryControl().fit(scores, np.ones_like(scores)).predict(scores).all()


@pytest.mark.parametrize("name", ["alpha", "delta"])
@pytest.mark.parametrize("value", [0, 1, "x"])
def test_bad_parameters(name, value):
    with pytest.raises(ValueError, match=f"'{name}'"):
        FalseDiscoveryControl(**{name: value}).fit([[0.1]], [[1]])
