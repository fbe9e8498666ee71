"""RiskControl against the definition tried at every cut, and its guarantee on simulated data."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse, stats
from sklearn.base import clone

from plurilabel import FalseDiscoveryControl, MLkNN, RiskControl, ThresholdClassifier, datasets
from plurilabel.metrics import recall
from plurilabel.models import Model, load_model, save_model


def loss(risk, Y, sets):
    """Loss of each instance, by loops; None where an instance does not count."""
    losses = []
    for y, z in zip(Y, sets):
        missed = sum(1 for a, b in zip(y, z) if a and not b)
        if risk == "recall":
            losses.append(missed / sum(y) if sum(y) else None)
        elif risk == "subset":
            losses.append(float(missed > 0))
        else:
            losses.append(missed / len(y))
    return [value for value in losses if value is not None]


def twin(risk, alpha, scores, Y):
    """The smallest sets allowed by equation 4, trying a cut below every score."""
    best = np.ones(scores.shape, dtype=int)
    for s in [*np.unique(scores), np.inf]:
        sets = (scores >= s).astype(int)
        losses = loss(risk, Y, sets)
        n = len(losses)
        if sum(losses) + 1 <= alpha * (n + 1) + 1e-9 and sets.sum() < best.sum():
            best = sets
    return best


def problem(seed, n=12, q=3, levels=8):
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, levels, size=(n, q)) / levels
    return scores, (rng.uniform(size=(n, q)) < 0.2 + 0.6 * scores).astype(int)


@given(
    st.integers(0, 10**6),
    st.sampled_from(("recall", "subset", "misses")),
    st.floats(0.02, 0.9),
    st.sampled_from((4, 1000)),
)
@settings(max_examples=60, deadline=None)
def test_twin(seed, risk, alpha, levels):
    scores, Y = problem(seed, levels=levels)
    control = RiskControl(alpha, risk=risk).fit(scores, Y)
    np.testing.assert_array_equal(control.predict(scores), twin(risk, alpha, scores, Y))
    found = loss(risk, Y, control.predict(scores))
    assert control.risk_ == pytest.approx(np.mean(found) if found else 0.0)


@given(st.integers(0, 10**6), st.floats(0.05, 0.9))
@settings(max_examples=25, deadline=None)
def test_a_callable_is_the_same_risk(seed, alpha):
    scores, Y = problem(seed, n=20)

    def any_missed(Y_true, sets):
        return (Y_true & ~sets).any(axis=1)

    ours = RiskControl(alpha, risk="subset").fit(scores, Y)
    theirs = RiskControl(alpha, risk=any_missed).fit(scores, Y)
    np.testing.assert_array_equal(ours.predict(scores), theirs.predict(scores))
    assert ours.risk_ == pytest.approx(theirs.risk_)


@pytest.mark.parametrize("risk", ["recall", "subset", "misses"])
def test_the_guarantee_holds_and_is_tight(risk):
    rng = np.random.default_rng(0)
    found = []
    for _ in range(300):
        p = rng.beta(0.5, 1, size=(400, 6))
        Y = (rng.uniform(size=p.shape) < p).astype(int)
        control = RiskControl(0.1, risk=risk).fit(p[:200], Y[:200])
        found.append(np.mean(loss(risk, Y[200:], control.predict(p[200:]))))
    error = np.std(found) / np.sqrt(len(found))
    assert np.mean(found) <= 0.1 + 3 * error
    assert np.mean(found) >= 0.1 - 1 / 200 - 3 * error  # alpha - 1 / (n + 1) where sizes allow


def test_a_fitted_classifier_keeps_its_recall():
    data = datasets.make_multilabel(900, 8, 5, noise=0.1, random_state=0)
    fitted = MLkNN().fit(data.X[:300], data.Y[:300])
    sure = ThresholdClassifier(fitted, RiskControl(0.1), cv="prefit")
    sure.fit(data.X[300:600], data.Y[300:600])
    assert recall(data.Y[600:], sure.predict(data.X[600:])) > 0.87


def test_rows_without_labels():
    scores, Y = problem(0, n=30)
    Y[::3] = 0
    some = Y.any(axis=1)
    assert RiskControl().fit(scores, Y).cut_ == RiskControl().fit(scores[some], Y[some]).cut_
    assert RiskControl(0.5).fit(scores, np.zeros_like(Y)).cut_ == -np.inf


def test_too_few_instances_give_all_labels():
    scores, Y = problem(0, n=8)
    control = RiskControl(0.1, risk="subset").fit(scores, Y)
    assert control.cut_ == -np.inf and control.predict(scores).all() and control.risk_ == 0


def test_nested_in_alpha():
    scores, Y = problem(1, n=60, levels=1000)
    cuts = [RiskControl(a).fit(scores, Y).cut_ for a in np.linspace(0.01, 0.99, 40)]
    assert (np.diff(cuts) >= 0).all() if np.isfinite(cuts).all() else cuts == sorted(cuts)


def test_forms():
    scores, Y = problem(2, n=40, levels=1000)
    plain = RiskControl(0.2).fit(scores, Y)
    order = np.random.default_rng(0).permutation(40)
    for other in (
        RiskControl(0.2).fit(scores, sparse.csr_array(Y)),
        RiskControl(0.2).fit(scores[order], Y[order]),
        RiskControl(0.2).fit(scores[:, ::-1], Y[:, ::-1]),
        RiskControl(0.2).fit(np.asfortranarray(scores), Y.tolist()),
    ):
        assert other.cut_ == plain.cut_
    higher = RiskControl(0.2).fit(np.exp(scores), Y)  # only the order of the scores counts
    np.testing.assert_array_equal(higher.predict(np.exp(scores)), plain.predict(scores))
    single = scores.astype(np.float32)
    control = RiskControl(0.2).fit(single, Y)
    np.testing.assert_array_equal(control.predict(single), plain.predict(scores))


def test_model_file(tmp_path):
    pytest.importorskip("skops")
    data = datasets.make_multilabel(100, 5, 3, random_state=0)
    model = ThresholdClassifier(MLkNN(3), RiskControl(0.2), cv=2).fit(data.X, data.Y)
    names, features = [f"l{j}" for j in range(3)], [f"x{j}" for j in range(5)]
    save_model(Model(model, names, features), tmp_path / "m.skops")
    loaded = load_model(tmp_path / "m.skops").estimator
    np.testing.assert_array_equal(loaded.predict(data.X), model.predict(data.X))


@pytest.mark.parametrize("alpha", [0, 1, -0.1, 2, "a", None])
def test_bad_alpha(alpha):
    with pytest.raises(ValueError, match="'alpha'"):
        RiskControl(alpha).fit(*problem(0))


def test_bad_risk():
    scores, Y = problem(0)
    with pytest.raises(ValueError, match="'risk'"):
        RiskControl(risk="precision").fit(scores, Y)
    with pytest.raises(ValueError, match="12 losses between 0 and 1"):
        RiskControl(risk=lambda y, _: y.sum()).fit(scores, Y)
    with pytest.raises(ValueError, match="12 losses between 0 and 1"):
        RiskControl(risk=lambda y, _: 7.0 * y.sum(axis=1)).fit(scores, Y)
    with pytest.raises(ValueError, match="at most alpha=0.1 for sets of all labels"):
        RiskControl(risk=lambda y, _: np.ones(len(y))).fit(scores, Y)


@pytest.mark.parametrize(
    "control", [RiskControl(0.2), RiskControl(0.2, risk="subset"), FalseDiscoveryControl(0.5)]
)
def test_rows_with_unknown_labels_are_left_out(control):
    rng = np.random.default_rng(0)
    scores = rng.uniform(size=(80, 3))
    Y = (rng.uniform(size=scores.shape) < scores).astype(float)
    Y[rng.permutation(80)[:20], rng.integers(3, size=20)] = np.nan
    complete = ~np.isnan(Y).any(axis=1)
    cut = clone(control).fit(scores, Y).cut_
    assert np.isfinite(cut) and cut == clone(control).fit(scores[complete], Y[complete]).cut_
    Y[:, 0] = np.nan
    with pytest.raises(ValueError, match="all labels are known .*, got none"):
        clone(control).fit(scores, Y)


def tail(losses, alpha, exact):
    """P-value of "the expected loss is above alpha", from the formulas of Bates et al."""
    n, total = len(losses), sum(losses)
    if exact:
        return stats.binom.cdf(round(total), n, alpha)
    r = min(total / n, alpha)
    distance = (r * np.log(r / alpha) if r else 0) + (1 - r) * np.log((1 - r) / (1 - alpha))
    bentkus = np.e * stats.binom.cdf(np.ceil(total - 1e-9), n, alpha)
    return min(np.exp(-n * distance), bentkus, 1)


@pytest.mark.parametrize("risk", ["recall", "subset", "misses"])
@pytest.mark.parametrize("seed", range(3))
def test_with_a_confidence_the_bound_is_kept_at_every_cut(risk, seed):
    scores, Y = problem(seed, n=150, levels=1000)
    alpha, delta = (0.2, 0.15) if risk != "misses" else (0.1, 0.15)
    control = RiskControl(alpha, risk=risk, delta=delta).fit(scores, Y)
    best = np.ones_like(Y)
    for s in [*np.unique(scores), np.inf]:
        sets = (scores >= s).astype(int)
        sure = tail(loss(risk, Y, sets), alpha, exact=risk == "subset") <= delta
        best = sets if sure and sets.sum() < best.sum() else best
    np.testing.assert_array_equal(control.predict(scores), best)
    assert control.cut_ < RiskControl(alpha, risk=risk).fit(scores, Y).cut_


@pytest.mark.parametrize(("risk", "alpha"), [("recall", 0.15), ("subset", 0.3)])
def test_the_confidence_holds(risk, alpha):
    rng = np.random.default_rng(0)
    p = rng.beta(0.5, 1, size=(20_000, 5))
    Y = (rng.uniform(size=p.shape) < p).astype(int)
    above = 0
    for _ in range(400):
        rows = rng.choice(len(p), 200)
        cut = RiskControl(alpha, risk=risk, delta=0.1).fit(p[rows], Y[rows]).cut_
        missed = (Y & (p <= cut)).sum(axis=1)
        some = Y.any(axis=1)
        means = {
            "recall": (missed[some] / Y.sum(axis=1)[some]).mean(),
            "subset": (missed > 0).mean(),
        }
        above += means[risk] > alpha
    assert above / 400 <= 0.1 + 3 * np.sqrt(0.1 * 0.9 / 400)
    assert above > 0  # not idle: it comes close


def test_confidence_for_any_loss_and_too_few_instances():
    scores, Y = problem(4, n=120)

    def misses(Y_true, sets):
        return (Y_true & ~sets).mean(axis=1)

    named = RiskControl(0.1, risk="misses", delta=0.2).fit(scores, Y)
    assert RiskControl(0.1, risk=misses, delta=0.2).fit(scores, Y).cut_ == pytest.approx(
        named.cut_
    )
    for risk in ("recall", "subset"):
        few = RiskControl(0.1, risk=risk, delta=0.1).fit(scores[:15], Y[:15])
        assert few.cut_ == -np.inf and few.risk_ == 0


def betting_bound(losses, delta):
    """The upper bound of proposition 5 of Bates et al., loss by loss."""
    n = len(losses)

    def capital(R):
        total, most = 0.0, -np.inf
        seen, squares, variance = 0.5, 0.25, 0.25
        for i, x in enumerate(losses, 1):
            stake = min(1.0, np.sqrt(2 * np.log(1 / delta) / (n * variance)))
            total += np.log(1 - stake * (x - R))
            most = max(most, total)
            seen += x
            squares += (x - seen / (i + 1)) ** 2
            variance = squares / (i + 1)
        return most - np.log(1 / delta)

    if capital(1.0) < 0:
        return 1.0
    low, high = 0.0, 1.0
    while high - low > 1e-10:
        middle = (low + high) / 2
        low, high = (middle, high) if capital(middle) < 0 else (low, middle)
    return high


@pytest.mark.parametrize("risk", ["recall", "subset", "misses"])
@pytest.mark.parametrize("seed", range(4))
def test_betting_is_its_twin(seed, risk):
    scores, Y = problem(seed, n=60, levels=12)
    alpha, delta = 0.3, 0.2
    control = RiskControl(alpha, risk=risk, delta=delta, bound="betting").fit(scores, Y)
    expected = np.ones(scores.shape, dtype=int)
    for s in [*np.unique(scores), np.inf]:  # from the largest sets on
        sets = (scores >= s).astype(int)
        if betting_bound(loss(risk, Y, sets), delta) > alpha:
            break
        expected = sets
    np.testing.assert_array_equal(control.predict(scores), expected)


def test_betting_holds_and_is_tighter_where_losses_vary_little():
    rng = np.random.default_rng(0)
    broken, smaller = 0, []
    p = rng.uniform(size=(20_000, 8))
    Y_new = (rng.uniform(size=p.shape) < p).astype(int)
    for _ in range(40):
        scores = rng.uniform(size=(200, 8))
        Y = (rng.uniform(size=scores.shape) < scores).astype(int)
        bets, usual = (
            RiskControl(0.1, risk="misses", delta=0.1, bound=bound).fit(scores, Y)
            for bound in ("betting", "bentkus")
        )
        broken += ((Y_new == 1) & (p <= bets.cut_)).mean() > 0.1
        smaller.append(bets.cut_ > usual.cut_)
    assert broken <= 9 and np.mean(smaller) > 0.9
    with pytest.raises(ValueError, match="bound must be 'bentkus' if risk is a callable"):
        RiskControl(risk=lambda _, sets: sets[:, 0], delta=0.1, bound="betting").fit(scores, Y)
    for few in (Y[:5], 0 * Y[:5]):
        control = RiskControl(0.1, delta=0.1, bound="betting").fit(scores[:5], few)
        assert control.cut_ == -np.inf and control.risk_ == 0
