"""ScoreCalibrator against maximum likelihood by a general optimiser and pooling by loops."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import expit

from plurilabel import ScoreCalibrator

METHODS = ("sigmoid", "beta", "temperature", "isotonic")


def problem(seed=0, n=200, q=3):
    rng = np.random.default_rng(seed)
    p = rng.uniform(0.01, 0.99, size=(n, q))
    return p, (rng.uniform(size=p.shape) < p**2).astype(int)


def likelihood(p, y, probability, start, bounds):
    """Parameters that maximise the likelihood of Platt's targets."""
    n1 = y.sum()
    t = np.where(y == 1, (n1 + 1) / (n1 + 2), 1 / (len(y) - n1 + 2))

    def loss(w):
        m = np.clip(probability(p, w), 1e-12, 1 - 1e-12)
        return -(t * np.log(m) + (1 - t) * np.log(1 - m)).sum()

    return minimize(loss, start, bounds=bounds, options={"ftol": 1e-14, "gtol": 1e-9}).x


TWINS = {
    "sigmoid": (
        lambda p, w: 1 / (1 + np.exp(-(w[0] * np.log(p / (1 - p)) + w[1]))),
        [1.0, 0.0],
        [(0, None), (None, None)],
    ),
    # Kull et al., equation 4
    "beta": (
        lambda p, w: 1 / (1 + 1 / (np.exp(w[2]) * p ** w[0] / (1 - p) ** w[1])),
        [1.0, 1.0, 0.0],
        [(0, None), (0, None), (None, None)],
    ),
    "temperature": (
        lambda p, w: 1 / (1 + ((1 - p) / p) ** w[0]),
        [1.0],
        [(0, None)],
    ),
}


@pytest.mark.parametrize("method", TWINS)
@pytest.mark.parametrize("seed", range(4))
def test_twin(method, seed):
    P, Y = problem(seed)
    if seed == 3:
        Y = 1 - Y  # slopes would be negative
    calibrator = ScoreCalibrator(method).fit(P, Y)
    probability, start, bounds = TWINS[method]
    found = calibrator.transform(P)
    for j in range(P.shape[1]):
        w = likelihood(P[:, j], Y[:, j], probability, start, bounds)
        assert_allclose(found[:, j], probability(P[:, j], w), atol=2e-4)


def pooled(s, y):
    """The pool-adjacent-violators algorithm; equal scores are pooled first."""
    blocks = [[np.mean(y[s == v]), np.sum(s == v), [v]] for v in np.unique(s)]
    i = 0
    while i + 1 < len(blocks):
        if blocks[i][0] >= blocks[i + 1][0]:
            (a, n, u), (b, m, v) = blocks[i], blocks.pop(i + 1)
            blocks[i] = [(a * n + b * m) / (n + m), n + m, u + v]
            i = max(i - 1, 0)
        else:
            i += 1
    return {v: mean for mean, _, values in blocks for v in values}


def test_isotonic_twin():
    P, Y = problem()
    P = P.round(1) * 0.9 + 0.05
    found = ScoreCalibrator("isotonic").fit(P, Y).transform(P)
    for j in range(3):
        steps = pooled(P[:, j], Y[:, j])
        assert_allclose(found[:, j], [steps[s] for s in P[:, j]], atol=1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_increasing_and_between_0_and_1(method):
    P, Y = problem(1)
    for scores in (P, 1e6 * (P - 0.5), 1e-6 * (P - 0.5), P.astype(np.float32)):
        calibrator = ScoreCalibrator(method).fit(scores, Y)
        found = calibrator.transform(np.sort(scores, axis=0))
        assert np.isfinite(found).all() and found.min() >= 0 and found.max() <= 1
        assert (np.diff(found, axis=0) >= -1e-12).all()


def test_scale_of_decisions_does_not_matter():
    P, Y = problem(1)
    S = P - 0.5
    plain = ScoreCalibrator().fit(S, Y).transform(S)
    assert_allclose(ScoreCalibrator().fit(1e5 * S, Y).transform(1e5 * S), plain, atol=1e-6)


@pytest.mark.parametrize("method", METHODS)
def test_rare_labels_share_a_map(method):
    P, Y = problem(2, q=4)
    Y[5:, 1:3] = 0
    Y[0, 1:3] = 1
    calibrator = ScoreCalibrator(method, min_count=8).fit(P, Y)
    own = calibrator.map_of_label_
    assert own[1] == own[2] and len(set(own)) == 3
    both = ScoreCalibrator(method, min_count=0).fit(
        P[:, 1:3].reshape(-1, 1), Y[:, 1:3].reshape(-1, 1)
    )
    assert_allclose(calibrator.transform(P)[:, 1], both.transform(P[:, [1]])[:, 0])
    assert len(ScoreCalibrator(method, min_count=1000).fit(P, Y).maps_) == 1
    assert len(ScoreCalibrator(method, min_count=0).fit(P, Y).maps_) == 4


@pytest.mark.parametrize("method", METHODS)
def test_constant_labels_and_scores(method):
    P, Y = problem(0, n=50)
    Y[:, 0], Y[:, 1] = 0, 1
    P[:, 2] = 0.3
    found = ScoreCalibrator(method).fit(P, Y).transform(P)
    assert (found[:, 0] == 1 / 52).all() and (found[:, 1] == 51 / 52).all()
    assert len(np.unique(found[:, 2])) == 1
    if method != "temperature":
        assert found[0, 2] == pytest.approx(Y[:, 2].mean(), abs=0.02)


@pytest.mark.parametrize("method", METHODS)
def test_separated_and_extreme_probabilities(method):
    P = np.repeat([[0.0], [1.0]], 20, axis=0)
    found = ScoreCalibrator(method).fit(P, P.astype(int)).transform([[0.0], [0.5], [1.0]])
    assert found[0, 0] < 0.06 and found[2, 0] > 0.94 and found[0] < found[1] < found[2]


@pytest.mark.parametrize("method", METHODS)
def test_forms(method):
    P, Y = problem(3)
    plain = ScoreCalibrator(method).fit(P, Y).transform(P)
    order = np.random.default_rng(0).permutation(len(P))
    assert_array_equal(ScoreCalibrator(method).fit(P, sparse.csr_array(Y)).transform(P), plain)
    assert_allclose(ScoreCalibrator(method).fit(P[order], Y[order]).transform(P), plain, atol=1e-6)
    other = ScoreCalibrator(method).fit(P[:, ::-1], Y[:, ::-1]).transform(P[:, ::-1])
    assert_allclose(other[:, ::-1], plain, atol=1e-9)
    one = ScoreCalibrator(method).fit([[0.5, 0.5]], [[1, 0]]).transform([[0.1, 0.9]])
    assert one.shape == (1, 2)


def test_bad_input():
    P, Y = problem()
    with pytest.raises(ValueError, match="'method'"):
        ScoreCalibrator("platt").fit(P, Y)
    with pytest.raises(ValueError, match="3 columns"):
        ScoreCalibrator().fit(P, Y).transform(P[:, :2])
    with pytest.raises(ValueError, match="NaN"):
        ScoreCalibrator().fit(np.where(P < 0.1, np.nan, P), Y)
    with pytest.raises(TypeError, match="dense"):
        ScoreCalibrator().fit(sparse.csr_array(P), Y)


def test_neither_an_offset_nor_an_outlier_flattens_the_map():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(2000, 1))
    Y = (rng.random(scores.shape) < 1 / (1 + np.exp(-2 * scores))).astype(int)
    ((slope, _),) = ScoreCalibrator().fit(scores, Y).maps_[0]
    assert 1.8 < slope < 2.4
    ((moved, _),) = ScoreCalibrator().fit(scores + 1e5, Y).maps_[0]
    assert moved == pytest.approx(slope, rel=1e-6)
    scores[0], Y[0] = 1e6, 1
    ((beside_outlier, _),) = ScoreCalibrator().fit(scores, Y).maps_[0]
    assert beside_outlier == pytest.approx(slope, rel=0.02)


def test_auto_takes_the_smallest_log_loss_in_folds():
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(600, 3)) * 2
    P = expit(Z)
    Y = (rng.random(Z.shape) < P).astype(int)
    kept = ScoreCalibrator("auto").fit(P, Y)
    assert kept.method_ == min(kept.losses_, key=kept.losses_.get)
    assert kept.losses_["identity"] < kept.losses_[kept.method_] + 0.005
    P_one, Y_one = P[:40], Y[:40]  # too few to learn much from
    assert ScoreCalibrator("auto").fit(P_one, Y_one).method_ == "identity"
    np.testing.assert_allclose(ScoreCalibrator("auto").fit(P_one, Y_one).transform(P), P)
    sharp = ScoreCalibrator("auto").fit(expit(3 * Z + 1), Y)  # two parameters too large
    assert sharp.method_ in ("sigmoid", "beta")
    for name in ("sigmoid", "beta"):
        one = ScoreCalibrator(name).fit(expit(3 * Z + 1), Y)
        if name == sharp.method_:
            np.testing.assert_array_equal(
                one.transform(expit(3 * Z + 1)), sharp.transform(expit(3 * Z + 1))
            )
    stairs = np.where(Y == 1, rng.choice([0.4, 0.9], Y.shape), rng.choice([0.4, 0.5], Y.shape))
    assert ScoreCalibrator("auto").fit(stairs, Y).method_ == "isotonic"
    assert "identity" not in ScoreCalibrator("auto").fit(3 * Z, Y).losses_  # not probabilities
    assert not hasattr(
        ScoreCalibrator("auto").fit(P, Y).set_params(method="beta").fit(P, Y), "losses_"
    )
    ScoreCalibrator("auto").fit(P[:1], Y[:1])


@pytest.mark.parametrize("method", ["sigmoid", "beta", "isotonic", "temperature", "auto"])
def test_unknown_labels(method):
    rng = np.random.default_rng(0)
    P = rng.random((200, 3))
    Y = (rng.random(P.shape) < P**2).astype(float)
    Y[rng.random(P.shape) < 0.4] = np.nan
    Y[:, 2] = np.nan
    found = ScoreCalibrator(method).fit(P, Y)
    chosen = found.method_ if method != "auto" else "beta" if found.method_ == "beta" else None
    if chosen is not None:
        for j in (0, 1):
            rows = ~np.isnan(Y[:, j])
            alone = ScoreCalibrator(chosen).fit(P[rows, j : j + 1], Y[rows, j : j + 1])
            np.testing.assert_array_equal(
                found.transform(P)[:, j], alone.transform(P[:, j : j + 1])[:, 0]
            )
    np.testing.assert_array_equal(found.transform(P)[:, 2], 0.5)  # nothing is known of it
    with pytest.raises(ValueError, match="Y must hold only 0 and 1, got 2"):
        ScoreCalibrator().fit(P, np.where(np.isnan(Y), np.nan, 2))


def test_beta_sees_scores_that_are_far_from_most():
    """Most probabilities are tiny: those of the others must not be clipped."""
    rng = np.random.default_rng(0)
    P = np.concatenate([np.full(2000, 1e-5), rng.uniform(0.05, 0.95, 1000)])[:, None]
    Y = (rng.random(P.shape) < P).astype(int)
    found = ScoreCalibrator("beta").fit(P, Y).transform(P)
    np.testing.assert_allclose(found[2000:], P[2000:], atol=0.08)
