"""The learning curve."""

import numpy as np

from plurilabel.serve.labeling import _curve


def test_curve_rises_and_is_extrapolated_within_bounds():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 3))
    Y = (X > 0).astype(np.int8)
    curve = _curve.learning_curve(X, Y)
    sizes, f1, _ = curve
    assert sizes[-1] == 120 and f1[:, -1].mean() > f1[:, 0].mean()
    drawn = _curve.drawn(curve, 150, 1000, 10.0)
    assert drawn["now"][0] == 150 and drawn["hour"][0] == 510
    assert drawn["now"][1] <= drawn["hour"][1] <= 1
    assert abs(drawn["now"][1] - f1[:, -1].mean()) < 0.05
    assert _curve.drawn(curve, 150, 200, 10.0)["hour"][0] == 200
    assert "hour" not in _curve.drawn(curve, 150, 150, 10.0)
    assert _curve.learning_curve(X[:19], Y[:19]) is None
    assert _curve.learning_curve(X, np.zeros_like(Y)) is None


def test_power_law_is_found():
    sizes = np.array([10, 20, 40, 80, 160])
    limit, drop, power = _curve._power_law(sizes, 0.9 - 2 * sizes**-0.5)
    np.testing.assert_allclose((limit, drop, power), (0.9, 2, 0.5), rtol=1e-6)
