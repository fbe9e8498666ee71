"""Each transformation against its twin."""

from functools import partial
from itertools import product
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import RidgeClassifier
from sklearn.naive_bayes import GaussianNB

from plurilabel.transformation import (
    HOMER,
    BinaryRelevance,
    CalibratedLabelRanking,
    ClassifierChain,
    EnsembleOfChains,
    EnsembleOfPrunedSets,
    LabelPowerset,
    OutputCodes,
    PrunedSets,
    RAkEL,
    StackedRelevance,
    _chain,
    partition_labels,
)
from plurilabel.transformation._label_sets import distinct_sets, prune
from plurilabel.transformation._partition import _assign
from plurilabel.transformation._quick_voting import quick_sets
from plurilabel.transformation._rakel import draw_labelsets
from tests.transformation import twins

BASE = GaussianNB(var_smoothing=1e-2)


@st.composite
def problems(draw):
    """Small problems; labels may be constant, and equal to each other."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, d, q = draw(st.integers(6, 14)), draw(st.integers(1, 3)), draw(st.integers(1, 4))
    X = rng.normal(size=(n, d)).round(2)
    Y = (X @ rng.normal(size=(d, q)) + rng.normal(size=q) + rng.normal(size=(n, q)) > 0).astype(
        int
    )
    if q > 1 and draw(st.booleans()):
        Y[:, -1] = draw(st.sampled_from([0, 1, 2]))
        Y[:, -1] = Y[:, 0] if Y[0, -1] == 2 else Y[:, -1]
    return X, Y, rng.normal(size=(3, d)).round(2), rng.permutation(q)


@settings(max_examples=25, deadline=None)
@given(problems())
def test_binary_relevance(problem):
    X, Y, queries, _ = problem
    scores = BinaryRelevance(BASE).fit(X, Y).predict_proba(queries)
    models = [twins.train(BASE, X, y) for y in Y.T]
    assert_allclose(scores, [[twins.p_yes(m, x) for m in models] for x in queries], rtol=1e-9)
    sure = BinaryRelevance(BASE, nonempty=True).fit(X, Y).predict(queries)
    for row, found in zip(scores, sure):
        wanted = {l for l, p in enumerate(row) if p > 0.5} or {int(row.argmax())}
        assert set(np.flatnonzero(found)) == wanted


@settings(max_examples=15, deadline=None)
@given(problems(), st.sampled_from(["labels", "probabilities"]))
def test_greedy_chain(problem, chain_input):
    X, Y, queries, order = problem
    learner = ClassifierChain(BASE, order=order, chain_input=chain_input).fit(X, Y)
    wanted = [twins.greedy_chain(BASE, X, Y, order, x, chain_input) for x in queries]
    assert_allclose(learner.predict_proba(queries), wanted, rtol=1e-7, atol=1e-12)


@settings(max_examples=15, deadline=None)
@given(problems())
def test_exact_search_finds_mode_and_marginals(problem):
    X, Y, queries, order = problem
    learner = ClassifierChain(BASE, order=order, inference="exact").fit(X, Y)
    for x, found, p in zip(queries, learner.predict(queries), learner.predict_proba(queries)):
        mode, marginals, joint = twins.joint_chain(BASE, X, Y, order, x)
        assert_allclose(p, marginals, rtol=1e-7, atol=1e-9)
        assert_allclose(joint[tuple(found.tolist())], joint[mode], rtol=1e-9)


def test_searches_agree_where_they_should():
    X, Y = _data(80, 3, 5)
    chain = ClassifierChain(BASE).fit(X, Y)
    exact = ClassifierChain(BASE, inference="exact").fit(X, Y)
    wide = ClassifierChain(BASE, inference="beam", beam_width=32).fit(X, Y)
    narrow = ClassifierChain(BASE, inference="beam", beam_width=1).fit(X, Y)
    some = ClassifierChain(BASE, inference="beam", beam_width=4).fit(X, Y)
    assert_array_equal(wide.predict(X), exact.predict(X))
    assert_allclose(wide.predict_proba(X), exact.predict_proba(X))
    assert_array_equal(narrow.predict(X), chain.predict(X))
    differ = [(c.predict(X) != exact.predict(X)).any(axis=1).mean() for c in (some, narrow)]
    assert differ[0] <= differ[1] and differ[1] > 0  # else the data shows nothing

    p = exact.predict_proba(X)
    for n_samples, tolerance in ((20, 0.15), (500, 0.04)):
        drawn = ClassifierChain(
            BASE, inference="monte-carlo", n_samples=n_samples, decide="marginal", random_state=0
        ).fit(X, Y)
        assert np.abs(drawn.predict_proba(X) - p).mean() < tolerance
        assert_array_equal(drawn.predict(X), drawn.predict_proba(X) > 0.5)
    joint = ClassifierChain(BASE, inference="monte-carlo", n_samples=500, random_state=0)
    assert (joint.fit(X, Y).predict(X) == exact.predict(X)).all(axis=1).mean() > 0.95


@pytest.mark.parametrize("inference", ["exact", "monte-carlo"])
def test_blocks_of_rows_change_nothing(inference, monkeypatch):
    X, Y = _data(40, 3, 4)
    learner = ClassifierChain(BASE, inference=inference, n_samples=9, random_state=0).fit(X, Y)
    whole = learner.predict_proba(X), learner.predict(X)
    small = partial(_chain.row_blocks, entries=7 * 16 * 7)
    assert len(list(small(X, 16, 7))) == 6
    monkeypatch.setattr(_chain, "row_blocks", small)
    assert_allclose(learner.predict_proba(X), whole[0])
    assert_array_equal(learner.predict(X), whole[1])


def test_cross_validated_chain_sees_predictions_of_other_folds():
    X, Y = _data(60, 2, 3)
    folds = [(np.delete(np.arange(60), t), t) for t in np.array_split(np.arange(60), 4)]
    learner = ClassifierChain(BASE, chain_input="cross-validated", cv=folds).fit(X, Y)
    seen = X
    for j, model in enumerate(learner.models_):
        assert_allclose(model.theta_, clone(BASE).fit(seen, Y[:, j]).theta_)
        column = np.empty(60)
        for train, test in folds:
            column[test] = clone(BASE).fit(seen[train], Y[train, j]).predict(seen[test])
        seen = np.column_stack([seen, column])


@settings(max_examples=20, deadline=None)
@given(problems())
def test_label_powerset(problem):
    X, Y, queries, _ = problem
    labels = list(range(Y.shape[1]))
    learner = LabelPowerset(BASE).fit(X, Y)
    for x, p, found in zip(queries, learner.predict_proba(queries), learner.predict(queries)):
        sets = twins.powerset(BASE, X, Y, labels, x)
        assert tuple(found.tolist()) == max(sets, key=sets.get)
        assert_allclose(p, [sum(v for s, v in sets.items() if s[l]) for l in labels], atol=1e-9)
    marginal = LabelPowerset(BASE, decide="marginal").fit(X, Y)
    assert_array_equal(marginal.predict(queries), learner.predict_proba(queries) > 0.5)


def test_label_powerset_margins_belong_to_the_best_set():
    X, Y = _data(80, 3, 4)
    learner = LabelPowerset(RidgeClassifier()).fit(X, Y)
    values = learner.model_.set_scores(X)
    sets = learner.sets_.toarray()
    for row, margins in zip(values, learner.decision_function(X)):
        for l in range(4):
            wanted = row[sets[:, l] == 1].max() - row[sets[:, l] == 0].max()
            assert_allclose(margins[l], wanted)
    assert_array_equal(learner.predict(X), sets[values.argmax(axis=1)])


@settings(max_examples=20, deadline=None)
@given(problems(), st.integers(1, 3))
def test_rakel(problem, k):
    X, Y, queries, _ = problem
    learner = RAkEL(BASE, k=k, random_state=0).fit(X, Y)
    wanted = [twins.rakel(BASE, X, Y, learner.labelsets_, x) for x in queries]
    assert_allclose(learner.predict_proba(queries), wanted)
    assert_array_equal(learner.predict(queries), np.array(wanted) > 0.5)


def test_rakel_predicts_only_combinations_that_its_models_have_seen():
    X, Y = _data(100, 3, 6)
    Y[:, 5] = Y[:, 0] & Y[:, 1]
    learner = RAkEL(BASE, k=3, overlapping=False, random_state=0).fit(X, Y)
    found = learner.predict(X * 3)
    assert sorted(np.concatenate(learner.labelsets_)) == list(range(6))
    for labels in learner.labelsets_:
        assert {tuple(r) for r in found[:, labels]} <= {tuple(r) for r in Y[:, labels]}


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 40), st.integers(1, 5), st.integers(1, 60), st.integers(0, 99))
def test_labelsets_differ_and_cover_every_label(q, k, n_models, seed):
    k = min(k, q)
    drawn = draw_labelsets(q, k, n_models, np.random.RandomState(seed))
    as_tuples = [tuple(labels.tolist()) for labels in drawn]
    assert len(set(as_tuples)) == len(as_tuples)
    assert all(len(set(labels)) == k and list(labels) == sorted(labels) for labels in as_tuples)
    assert set().union(*as_tuples) == set(range(q))
    assert min(n_models, comb(q, k)) <= len(drawn) <= n_models + q


@settings(max_examples=60, deadline=None)
@given(problems(), st.integers(1, 2), st.sampled_from(["a", "b", None]), st.integers(0, 2))
def test_pruned_training_set(problem, threshold, strategy, limit):
    _, Y, _, _ = problem
    wanted = twins.pruned(Y, threshold, strategy, limit)
    sets, classes = distinct_sets(Y.astype(np.int8))
    if not any(np.bincount(classes) > threshold):
        with pytest.raises(ValueError, match=f"none of the {sets.shape[0]} is seen more than"):
            prune(sets, classes, threshold, strategy, limit)
        return
    rows, classes, kept = prune(sets, classes, threshold, strategy, limit)
    found = [
        (int(i), frozenset(np.flatnonzero(kept[[c]].toarray()[0]).tolist()))
        for i, c in zip(rows, classes)
    ]
    assert sorted(found, key=repr) == sorted(wanted, key=repr)


def test_pruned_sets_learn_the_pruned_training_set():
    X, Y = _data(60, 2, 4)
    learner = PrunedSets(BASE, pruning_threshold=3, limit=1).fit(X, Y)
    training = twins.pruned(Y, 3, "a", 1)
    names = sorted({s for _, s in training}, key=lambda s: [int(l in s) for l in range(4)])
    model = clone(BASE).fit(X[[i for i, _ in training]], [names.index(s) for _, s in training])
    assert_allclose(learner.model_.set_scores(X), model.predict_proba(X))
    nothing = PrunedSets(BASE, pruning_threshold=0).fit(X, Y)
    assert_array_equal(nothing.predict_proba(X), LabelPowerset(BASE).fit(X, Y).predict_proba(X))


@pytest.mark.parametrize("q", [5, 70])
def test_distinct_sets_are_the_sorted_rows(q):
    rng = np.random.default_rng(q)
    Y = (rng.random((80, q)) < 0.03).astype(np.int8)
    wanted, classes = np.unique(Y, axis=0, return_inverse=True)
    for form in (Y, sparse.csr_array(Y)):
        sets, found = distinct_sets(form)
        assert_array_equal(sets.toarray(), wanted)
        assert_array_equal(found, classes.ravel())


@settings(max_examples=15, deadline=None)
@given(problems())
def test_calibrated_label_ranking(problem):
    X, Y, queries, _ = problem
    for form in (Y, sparse.csr_array(Y)):
        learner = CalibratedLabelRanking(BASE).fit(X, form)
        votes = np.array([twins.label_ranking(BASE, X, Y, x) for x in queries])
        assert_array_equal(learner.votes(queries), votes)
        found = learner.predict(queries)
        found = found.toarray() if sparse.issparse(found) else found
        assert_array_equal(found, votes[:, :-1] > votes[:, -1:])


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 9), st.floats(0, 1), st.integers(0, 2**32 - 1))
def test_quick_voting_equals_all_votes(q, halves, seed):
    rng = np.random.default_rng(seed)
    n = 20
    relevance = (rng.random((n, q)) < rng.random()).astype(float)
    beats = (rng.random((n, q, q)) < rng.random(q)[:, None]).astype(float)
    beats[rng.random(beats.shape) < halves * 0.2] = 0.5
    times = np.zeros((n, q, q), dtype=int)

    def ask(j, k, rows):
        assert j < k and len(rows) == len(set(rows))
        times[rows, j, k] += 1
        return beats[rows, j, k]

    sets, asked = quick_sets(relevance, ask, entries=seed % 7 * q * q)
    assert times.max() <= 1
    assert_array_equal(asked, times.sum(axis=(1, 2)))
    for i in range(n):
        votes = relevance[i].copy()
        for j in range(q):
            for k in range(j + 1, q):
                votes[j] += beats[i, j, k]
                votes[k] += 1 - beats[i, j, k]
        assert_array_equal(sets[i], votes > (1 - relevance[i]).sum())


def test_quick_voting_asks_little_where_little_is_open():
    X, Y = _data(200, 3, 6)
    learner = CalibratedLabelRanking(BASE).fit(X, Y)
    asked = learner.count_asked(X)
    relevant = BinaryRelevance(BASE).fit(X, Y).predict(X).sum(axis=1)
    assert (asked[relevant == 0] == 6).all()  # only the virtual label's models
    assert (asked <= 21).all() and asked.mean() < 19
    assert_array_equal(learner.predict(X), learner.set_params(quick=False).fit(X, Y).predict(X))


@pytest.mark.parametrize("keep", [True, False])
@pytest.mark.parametrize("stack_input", ["scores", "labels"])
@pytest.mark.parametrize("folds", [None, 3])
def test_stacked_relevance(keep, stack_input, folds):
    X, Y = _data(60, 2, 3)
    new = X[:7] + 0.1
    cv = folds and [(np.delete(np.arange(60), t), t) for t in np.array_split(np.arange(60), 3)]
    learner = StackedRelevance(BASE, keep_features=keep, stack_input=stack_input, cv=cv)

    def answers(rows, queries):
        p = np.column_stack(
            [clone(BASE).fit(X[rows], y).predict_proba(queries)[:, 1] for y in Y[rows].T]
        )
        return p if stack_input == "scores" else (p > 0.5).astype(float)

    every = np.arange(60)
    first = np.empty((60, 3))
    for train, test in cv or [(every, every)]:
        first[test] = answers(train, X[test])
    inputs = np.hstack([X, first]) if keep else first
    queries = np.hstack([new, answers(every, new)]) if keep else answers(every, new)
    wanted = np.column_stack(
        [clone(BASE).fit(inputs, y).predict_proba(queries)[:, 1] for y in Y.T]
    )
    assert_allclose(learner.fit(X, Y).predict_proba(new), wanted, rtol=1e-9)


@pytest.mark.parametrize("decoding", ["soft", "hard"])
@pytest.mark.parametrize("sets", ["seen", "all"])
def test_output_codes_take_the_nearest_code_word(decoding, sets):
    X, Y = _data(70, 3, 4)
    learner = OutputCodes(BASE, sets=sets, decoding=decoding, random_state=1).fit(X, Y)
    G = learner.code_
    assert_array_equal(G[:, :4], np.eye(4))
    assert_array_equal(G[:, 4:].sum(axis=0), [3] * 8)
    candidates = (
        {tuple(row) for row in Y.tolist()} if sets == "seen" else set(product((0, 1), repeat=4))
    )
    p = np.column_stack([m.predict_proba(X[:20])[:, 1] for m in learner.models_])
    bits = np.where(p > 0.5, 1.0, -1.0)
    if decoding == "soft":
        clipped = np.clip(p, 1 / 142, 141 / 142)
        bits = np.log(clipped / (1 - clipped))
    for row, found in zip(bits, learner.predict(X[:20])):
        fits = twins.decode(row, G, candidates)
        best = max(fits.values())
        tied = [s for s, fit in fits.items() if np.isclose(fit, best, rtol=1e-12)]
        assert set(np.flatnonzero(found)) == {l for l in range(4) if all(s[l] for s in tied)}


def test_each_bit_is_the_parity_of_its_labels():
    X, Y = _data(70, 3, 4)
    learner = OutputCodes(BASE, n_bits=9, weight=2, random_state=3).fit(X, Y)
    seen = []
    for column, model in zip(learner.code_.T.tolist(), learner.models_):
        parity = [sum(bit * g for bit, g in zip(row, column)) % 2 for row in Y]
        same = np.allclose(model.theta_, clone(BASE).fit(X, parity).theta_)
        assert same != (column in seen)  # a bit that comes again has a sample of its own
        seen.append(column)
    assert len(seen) == 9


def test_repetition_is_a_vote_of_models_from_different_samples():
    X, Y = _data(70, 3, 4)
    learner = OutputCodes(
        BASE, code="repetition", n_bits=10, sets="all", decoding="hard", random_state=0
    ).fit(X, Y)
    assert learner.code_.shape == (4, 12) and learner.sets_ is None
    p = np.column_stack([m.predict_proba(X)[:, 1] for m in learner.models_])
    votes = (p > 0.5).reshape(70, 3, 4).sum(axis=1)
    assert_array_equal(learner.predict(X), votes > 1.5)
    assert_allclose(p[:, 0], clone(BASE).fit(X, Y[:, 0]).predict_proba(X)[:, 1])
    assert (p[:, 0] != p[:, 4]).any()


@pytest.mark.parametrize("clustering", ["co-occurrence", "random"])
def test_homer_goes_down_the_predicted_children(clustering):
    X, Y = _data(150, 4, 9)
    Y[:, 8] = 0
    learner = HOMER(BASE, n_children=2, clustering=clustering, random_state=0).fit(X, Y)

    def walk(node, x, among):
        if not node.children:
            return {int(node.labels[0]): np.inf}
        rows = [i for i in among if Y[i, node.labels].any() or node is learner.tree_]
        found = {}
        for child in node.children:
            if rows:
                y = [int(Y[i, child.labels].any()) for i in rows]
                p = twins.p_yes(twins.train(BASE, X[rows], y), x)
            else:
                p = 0.0
            found |= {l: min(p, below) for l, below in walk(child, x, rows).items()}
        return found

    queries = X[:6] + 0.2
    wanted = [walk(learner.tree_, x, range(150)) for x in queries]
    wanted = np.array([[row[l] for l in range(9)] for row in wanted])
    assert_allclose(learner.predict_proba(queries), wanted, rtol=1e-7)
    assert_array_equal(learner.predict(queries), wanted > 0.5)
    assert learner.predict(X).any()


def test_ensembles_are_means_of_their_members():
    X, Y = _data(90, 3, 4)
    for voting in ("soft", "hard"):
        chains = EnsembleOfChains(BASE, n_chains=4, voting=voting, random_state=0).fit(X, Y)
        sets = EnsembleOfPrunedSets(BASE, n_models=4, voting=voting, random_state=0).fit(X, Y)
        for learner, members in ((chains, chains.chains_), (sets, sets.models_)):
            ask = "predict" if voting == "hard" else "predict_proba"
            mean = np.mean([getattr(m, ask)(X) for m in members], axis=0)
            assert_allclose(learner.predict_proba(X), mean)
        assert len({tuple(m.order_) for m in chains.chains_}) > 1
        counts = [m.models_[0].class_count_.sum() for m in chains.chains_]
        assert counts == [60.0] * 4  # 67% of 90
    boot = EnsembleOfChains(BASE, n_chains=2, sample="bootstrap", random_state=0).fit(X, Y)
    assert [m.models_[0].class_count_.sum() for m in boot.chains_] == [90.0, 90.0]
    whole = EnsembleOfChains(BASE, n_chains=1, sample=1.0, random_state=0).fit(X, Y)
    chain = ClassifierChain(BASE, order=whole.chains_[0].order_).fit(X, Y)
    assert_array_equal(whole.predict_proba(X), chain.predict_proba(X))


# partitions of the labels ------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 12), st.integers(1, 5), st.integers(0, 2**32 - 1))
def test_no_label_and_part_prefer_each_other(q, k, seed):
    k = min(k, q)
    distances = np.random.default_rng(seed).integers(0, 6, size=(q, k)).astype(float)
    room = -(-q // k)
    part = _assign(distances, room)
    sizes = np.bincount(part, minlength=k)
    assert sizes.sum() == q and sizes.max() <= room
    for l in range(q):
        for c in range(k):
            if distances[l, c] < distances[l, part[l]]:  # l would rather be in c
                assert sizes[c] == room
                assert distances[part == c, c].max() <= distances[l, c]


def test_labels_that_occur_together_are_together():
    rng = np.random.default_rng(0)
    group = rng.permutation(np.repeat(np.arange(3), 4))
    theme = rng.integers(0, 3, size=300)
    Y = ((theme[:, None] == group) & (rng.random((300, 12)) < 0.7)).astype(int)
    wanted = sorted(np.flatnonzero(group == g).tolist() for g in range(3))
    hits = 0
    for seed in range(10):
        dense = [p.tolist() for p in partition_labels(Y, 3, random_state=seed)]
        assert dense == [
            p.tolist() for p in partition_labels(sparse.csr_array(Y), 3, random_state=seed)
        ]
        hits += dense == wanted
    assert hits >= 5
    with pytest.raises(ValueError, match="n_parts must be between 1 and the 12 labels, got 13"):
        partition_labels(Y, 13)


def _data(n, d, q):
    rng = np.random.default_rng(n + q)
    X = rng.normal(size=(n, d))
    Z = X @ rng.normal(size=(d, q)) + 0.5 * rng.normal(size=(n, q))
    Y = (Z > 0.3).astype(int)
    Y[:, -1] ^= Y[:, 0]  # dependence between labels
    return X, Y
