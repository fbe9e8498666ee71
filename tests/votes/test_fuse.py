"""Fusion: the model against sums over all label sets, EM never falls, copies, known labels."""

from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from plurilabel.votes import Votes, fuse
from plurilabel.votes._em import Problem, maximise_posterior
from plurilabel.votes._fuse import _first


def simulate(seed, n=300, q=5, rates=(0.65, 0.75, 0.85, 0.7, 0.8), copy=None, abstain=0.2, k=4):
    """Dependent labels seen by sources of given reliability; ``copy`` repeat the first."""
    rng = np.random.default_rng(seed)
    theta = np.where(rng.random((k, q)) < 0.35, 0.85, 0.08)
    Y = rng.random((n, q)) < theta[rng.integers(k, size=n)]
    V = np.array([np.where(rng.random(Y.shape) < r, Y, ~Y) for r in rates], dtype=float)
    for s in copy or ():
        V[s] = np.where(rng.random((n, 1)) < 0.85, V[0], V[s])
    V[np.broadcast_to(rng.random((len(rates), n, 1)) < abstain, V.shape)] = np.nan
    return Y, Votes.from_matrices({f"s{i}": M for i, M in enumerate(V)})


def random_model(problem, votes, K, seed):
    rng = np.random.default_rng(seed)
    first = _first(problem, votes, K)
    return replace(
        first,
        pi=rng.dirichlet(np.ones(K)),
        theta=rng.uniform(0.1, 0.9, first.theta.shape),
        rates=rng.uniform(0.1, 0.9, first.rates.shape),
        kappa=np.where(problem.copiers, 0.4, 0.0),
    )


def by_enumeration(votes, model, groups, known):
    """Log likelihood and P(label | votes): all components and all label sets of each row."""
    V = np.array([votes.matrix(s) for s in votes.source_names])
    n, q = votes.shape
    total, p = 0.0, np.empty((n, q))
    for i in range(n):
        weights = {}
        for c, z in product(range(len(model.pi)), product((0, 1), repeat=q)):
            if any(known[i, j] not in (z[j],) and known[i, j] == known[i, j] for j in range(q)):
                continue
            w = model.pi[c]
            for j in range(q):
                w *= model.theta[c, j] if z[j] else 1 - model.theta[c, j]
                for s in range(len(V)):
                    v = V[s, i, j]
                    if np.isnan(v):
                        continue
                    rate = model.rates[z[j], s, j]
                    own = rate**v * (1 - rate) ** (1 - v)
                    before = [V[t, i, j] for t in range(s) if groups[t] == groups[s]]
                    before = [b for b in before if b == b]
                    if before:
                        same = 1 - abs(v - np.mean(before))
                        own = model.kappa[s] * same + (1 - model.kappa[s]) * own
                    w *= own
            weights[c, z] = w
        every = sum(weights.values())
        total += np.log(every)
        p[i] = [sum(w for (_, z), w in weights.items() if z[j]) / every for j in range(q)]
    return total, p


@pytest.mark.parametrize("soft", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_expectations_are_those_of_all_label_sets(seed, soft):
    rng = np.random.default_rng(seed)
    V = rng.random((4, 6, 3)) if soft else rng.integers(0, 2, (4, 6, 3)).astype(float)
    V[rng.random(V.shape) < 0.25] = np.nan
    votes = Votes.from_matrices({f"s{i}": M for i, M in enumerate(V)})
    known = np.where(rng.random((6, 3)) < 0.15, rng.integers(0, 2, (6, 3)), np.nan)
    groups = np.array([0, 1, 0, 0])
    problem = Problem(votes, known, groups)
    model = random_model(problem, votes, 2, seed)
    found = problem.expect(model)
    likelihood, p = by_enumeration(votes, model, groups, known)
    assert found.likelihood == pytest.approx(likelihood)
    assert_allclose(found.p, p, atol=1e-12)
    free = by_enumeration(votes, model, groups, np.full((6, 3), np.nan))[1]
    assert_allclose(problem.expect(model, clamp=False).p, free, atol=1e-12)


@pytest.mark.parametrize("K", [1, 3])
@pytest.mark.parametrize("seed", range(4))
def test_no_step_lowers_the_posterior(K, seed):
    Y, votes = simulate(seed, n=60, copy=(3,))
    known = np.where(np.random.default_rng(seed).random(Y.shape) < 0.05, Y, np.nan)
    problem = Problem(votes, known, np.array([0, 1, 2, 0, 0]))
    model = random_model(problem, votes, K, seed)
    path = maximise_posterior(problem, model, 60, 0.0)[2]
    assert len(path) > 10 and (np.diff(path) >= -1e-8 * abs(path[0])).all()


def test_the_m_step_has_the_highest_expected_posterior():
    Y, votes = simulate(0, n=40, q=2, copy=(3,))
    problem = Problem(votes, np.full(Y.shape, np.nan), np.array([0, 1, 2, 0, 4]))
    model = random_model(problem, votes, 2, 0)
    best = problem.maximise(model, problem.expect(model))
    # at a fixed point of EM the gradient of the objective is 0: nearby models are no better
    model = maximise_posterior(problem, best, 3000, 0.0)[0]
    top = problem.objective(model, problem.expect(model).likelihood)
    rng = np.random.default_rng(1)
    for _ in range(20):
        near = replace(
            model,
            theta=np.clip(model.theta + rng.normal(0, 1e-3, model.theta.shape), 1e-6, 1 - 1e-6),
            rates=np.clip(model.rates + rng.normal(0, 1e-3, model.rates.shape), 1e-6, 1 - 1e-6),
            kappa=np.where(
                problem.copiers, np.clip(model.kappa + rng.normal(0, 1e-3), 0.001, 1), 0
            ),
        )
        assert problem.objective(near, problem.expect(near).likelihood) <= top + 1e-6


def right(fused, Y):
    return (fused.labels() == Y).mean()


def test_joint_beats_the_others_where_labels_depend_and_sources_copy():
    found = []
    for seed in range(2):
        Y, votes = simulate(seed, n=200, rates=(0.58, 0.6, 0.8, 0.75, 0.85, 0.7), copy=(1,))
        fused = fuse(votes)
        others = (fuse(votes, method) for method in ("majority", "dawid-skene"))
        found.append([*(right(other, Y) for other in others), right(fused, Y)])
        assert fused.groups == (("s0", "s1"),) and fused.copied[1] > 0.6
        assert fused.certainty.mean() == pytest.approx(right(fused, Y), abs=0.06)
        assert (np.diff(fused.path) >= -1e-6).all()
    majority, alone, joint = np.mean(found, axis=0)
    assert joint > alone + 0.02 and joint > majority + 0.05
    assert fused.source_table().label_names[0] == "s4"


def test_no_copies_are_seen_where_there_are_none():
    for seed in range(2):
        _, votes = simulate(10 + seed, n=150)
        assert fuse(votes).groups == ()


def test_an_abstention_says_nothing():
    Y, votes = simulate(1)
    silent = {s: votes.matrix(s) for s in votes.source_names} | {"mute": np.full(Y.shape, np.nan)}
    more = Votes.from_matrices(silent)
    for method in ("majority", "weighted", "dawid-skene", "joint"):
        a, b = (fuse(v, method).probabilities for v in (votes, more))
        assert_allclose(a, b, atol=1e-9)


def test_majorities():
    votes = Votes.from_sets(
        {"a": [{"x"}, {"x"}, None], "b": [set(), {"x"}, None], "c": [{"x"}, set(), None]}
    )
    fused = fuse(votes, "majority")
    assert_allclose(fused.probabilities, [[2 / 3], [2 / 3], [4 / 6]])
    assert fused.path.size == 0 and fused.groups == ()
    Y, votes = simulate(3, rates=(0.55, 0.55, 0.55, 0.95, 0.95), abstain=0)
    assert right(fuse(votes, "weighted"), Y) > right(fuse(votes, "majority"), Y)


def test_known_labels_are_kept_and_calibrate():
    Y, votes = simulate(5, n=1500, rates=(0.7, 0.7, 0.7), copy=(1, 2), abstain=0)
    known = np.full(Y.shape, np.nan)
    known[:300] = Y[:300]
    free = fuse(votes, "dawid-skene")
    sure = fuse(votes, "dawid-skene", known=known)
    assert_array_equal(sure.probabilities[:300], Y[:300])

    def loss(fused):
        p, y = np.clip(fused.probabilities[300:], 1e-9, 1 - 1e-9), Y[300:]
        return -np.where(y, np.log(p), np.log(1 - p)).mean()

    # copies make Dawid-Skene too sure; the known rows show it
    assert loss(sure) < 0.8 * loss(free) and 0 < sure.calibration[1] < 0.8
    assert free.calibration == (0.0, 1.0)
    p = sure.probabilities[300:]
    assert p[Y[300:]].mean() == pytest.approx((p**2).sum() / p.sum(), abs=0.06)


def test_votes_of_one_more_source():
    _Y, votes = simulate(6)
    fused = fuse(votes.without("s4"))
    p = fused.vote_proba()
    assert ((p > 0) & (p < 1)).all()
    v = votes.matrix("s4")
    there = ~np.isnan(v)

    def loss(p):
        p = np.clip(p, 0.01, 0.99)[there]
        return -(v[there] * np.log(p) + (1 - v[there]) * np.log(1 - p)).mean()

    assert loss(p) < loss(votes.without("s4").shares())


def test_odd_forms():
    one = Votes.from_matrices({"a": [[1]]})
    for method in ("majority", "weighted", "dawid-skene", "joint"):
        p = fuse(one, method).probabilities
        assert p.shape == (1, 1) and 0.5 < p[0, 0] <= 1
    same = Votes.from_matrices({s: np.ones((50, 2)) for s in "abc"})
    assert np.isfinite(fuse(same).probabilities).all()
    assert fuse(same).to_frame().shape == (50, 2)
    _, votes = simulate(0, n=50)
    assert_array_equal(fuse(votes).least_certain(1), [fuse(votes).certainty.mean(axis=1).argmin()])


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"method": "mean"}, "'method' parameter of fuse"),
        ({"n_components": 0}, "'n_components' parameter of fuse"),
        ({"known": [[1, 0]]}, "known must have the shape of the votes"),
        ({"known": np.full((50, 5), 0.5)}, "known must hold only 0 and 1"),
    ],
)
def test_errors(params, message):
    _, votes = simulate(0, n=50)
    with pytest.raises(ValueError, match=message):
        fuse(votes, **params)


def test_errors_of_votes():
    with pytest.raises(TypeError, match="votes must be Votes, got list"):
        fuse([[1]])
    empty = Votes.from_matrices({"a": np.full((3, 2), np.nan)})
    with pytest.raises(ValueError, match="at least one vote"):
        fuse(empty)


def test_known_labels_are_matched_by_name():
    M = [[1, 0], [1, 0], [0, 1]]
    votes = Votes.from_matrices({"s": M, "t": M}, label_names=["x", "y"])
    known = pd.DataFrame([[0, 1], [np.nan] * 2, [np.nan] * 2], columns=["y", "x"])
    expected = fuse(votes, known=known[["x", "y"]].to_numpy())
    assert_array_equal(fuse(votes, known=known).probabilities, expected.probabilities)
    with pytest.raises(ValueError, match=r"known must have the columns \['x', 'y'\], got \['p'"):
        fuse(votes, known=known.set_axis(["p", "q"], axis=1))


@pytest.mark.parametrize("method", ["joint", "dawid-skene", "majority"])
def test_known_positives_alone_do_not_calibrate(method):
    Y, votes = simulate(4, n=100)
    known = np.where(Y & (np.arange(100) % 3 == 0)[:, None], 1, np.nan)
    free, told = fuse(votes, method), fuse(votes, method, known=known)
    unknown = np.isnan(known)
    assert told.calibration == (0.0, 1.0)
    assert_array_equal(told.probabilities[unknown], free.probabilities[unknown])
    assert (told.probabilities[~unknown] == 1).all()


def test_questions_without_an_answer():
    fused = fuse(simulate(0, n=50)[1], "majority")
    with pytest.raises(ValueError, match="k must be an integer of at least 1, got -1"):
        fused.least_certain(-1)
    with pytest.raises(ValueError, match="cut must be between 0 and 1, got nan"):
        fused.labels(np.nan)


def test_known_labels_speak_for_the_others_of_their_row():
    rng = np.random.default_rng(0)
    Y = np.repeat(rng.random((400, 1)) < 0.5, 3, axis=1)
    votes = Votes.from_matrices({s: np.where(rng.random(Y.shape) < 0.35, ~Y, Y) for s in "abc"})
    known = np.full(Y.shape, np.nan)
    known[:200, 0] = Y[:200, 0]
    others, alone = (
        fuse(votes, known=k, n_components=2, copies=False).labels()[:200, 1:] == Y[:200, 1:]
        for k in (known, None)
    )
    assert others.mean() > 0.9 > alone.mean()


def test_a_label_without_votes_may_be_there_or_not():
    votes = Votes.from_matrices({"a": [[1, np.nan], [0, np.nan], [np.nan, np.nan]]})
    for method in ("majority", "weighted"):
        found = fuse(votes, method).probabilities
        assert_array_equal(found, [[1, 0.5], [0, 0.5], [0.5, 0.5]])


def test_known_rows_are_matched_by_name():
    votes = Votes.from_matrices({"a": [[1, 0], [0, 1], [1, 1]]}, row_names=["x", "y", "z"])
    known = pd.DataFrame([[0, 1], [1, 0]], index=["z", "y"], columns=votes.label_names)
    found = fuse(votes, "majority", known=known).probabilities
    assert_array_equal(found[1:], [[1, 0], [0, 1]])
    by_position = pd.DataFrame([[0, 1]] * 3, columns=votes.label_names)
    assert_array_equal(fuse(votes, "majority", known=by_position).probabilities, [[0, 1]] * 3)
    turned = Votes.from_matrices({"a": [[1], [0]]}, row_names=[1, 0])
    certain = pd.DataFrame({"label0": [1, 0]}, index=pd.Index([0, 1]))
    assert_array_equal(fuse(turned, "majority", known=certain).probabilities, [[0], [1]])
    for wrong in (["z", "w"], ["z", "z"]):
        with pytest.raises(ValueError, match="the index of known must have row names"):
            fuse(votes, "majority", known=known.set_axis(wrong))
