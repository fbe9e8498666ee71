"""AutoClassifier: what it chooses, what it keeps, and what it says."""

import json
import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import (
    GroupKFold,
    RepeatedKFold,
    ShuffleSplit,
    TimeSeriesSplit,
)
from sklearn.multioutput import MultiOutputClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from plurilabel import (
    AutoClassifier,
    BinaryRelevance,
    HierarchicalClassifier,
    ImputedLabels,
    LabelPowerset,
    MLkNN,
    ScoreCalibrator,
    datasets,
    metrics,
)
from plurilabel.datasets import UnknownLabels, make_multilabel
from plurilabel.metrics import get_measure, measure_names
from plurilabel.wrappers.automatic import _auto
from plurilabel.wrappers.automatic._copies import warn_of_copies
from plurilabel.wrappers.automatic._ensemble import (
    FEWEST_ENTRIES,
    MOST_ENTRIES,
    Cost,
    HeldOut,
    choose,
    entries_for,
    estimate,
    mean_scores,
)
from plurilabel.wrappers.automatic._portfolio import WIDE, Candidate, candidates
from plurilabel.wrappers.automatic._trials import LARGEST, LONGEST

DATA = make_multilabel(120, 6, 4, noise=0.1, random_state=0)
X, Y = DATA.X, np.asarray(DATA.Y)
NEIGHBOURS = ("neighbours", MLkNN(5))
LINEAR = ("linear", BinaryRelevance(RidgeClassifier()))
SETS = ("sets", LabelPowerset(LogisticRegression()))
NOISE = ("noise", MultiOutputClassifier(DummyClassifier(strategy="stratified", random_state=0)))
MEMBERS = [NEIGHBOURS, LINEAR, SETS]


@pytest.fixture(scope="module")
def fitted():
    return AutoClassifier("f1", portfolio=[*MEMBERS, NOISE], cv=3, random_state=0).fit(X, Y)


# the choice ----------------------------------------------------------------------------------


def held_out(rng, n=80, q=3, noise=(0.3, 0.6, 3.0)):
    """Scores of learners that see the truth through more and more noise."""
    truth = rng.normal(size=(n, q))
    Y = (truth > 0.3).astype(np.int8)
    return [HeldOut(truth + s * rng.normal(size=(n, q)), False) for s in noise], Y


def slow_choice(members, Y, value, first, steps, patience):
    """Greedy selection by loops, over calibrated scores."""
    forms = [ScoreCalibrator().fit(m.scores, Y).transform(m.scores) for m in members]
    order = sorted(range(len(forms)), key=lambda j: -value(forms[j]))
    bag = order[:first]
    best, best_bag, waited = value(np.mean([forms[j] for j in bag], axis=0)), list(bag), 0
    while len(bag) < steps and waited < patience:
        options = [(value(np.mean([forms[i] for i in [*bag, j]], axis=0)), j) for j in order]
        top = max(v for v, _ in options)
        bag.append(next(j for v, j in options if v == top))
        waited += 1
        if top > best + 1e-9:
            best, best_bag, waited = top, list(bag), 0
    return np.bincount(best_bag, minlength=len(forms)) / len(best_bag)


@pytest.mark.parametrize("name", ["average_precision", "ranking_loss"])
def test_weights_are_those_of_a_greedy_selection(name):
    members, Y = held_out(np.random.default_rng(1), noise=(1.0, 1.1, 1.2, 1.3, 3.0))
    measure, sign = get_measure(name), 1 if get_measure(name).greater_is_better else -1
    chosen = choose(members, Y, measure, np.arange(80) % 4)
    expected = slow_choice(members, Y, lambda P: sign * measure.function(Y, P), 4, 25, 4)
    assert_allclose(chosen.weights[:, 1], expected)
    assert not chosen.weights[:, [0, 2]].any()  # decision values, and no label sets


def test_the_best_alone_where_only_one_may_be():
    members, Y = held_out(np.random.default_rng(0))
    chosen = choose(
        members, Y, get_measure("macro_auc"), np.arange(80) % 4, room=lambda taken: len(taken) < 2
    )
    assert chosen.weights[0].sum() == 1
    two = choose(
        members, Y, get_measure("macro_auc"), np.arange(80) % 4, room=lambda taken: len(taken) < 3
    )
    assert (two.weights.sum(axis=1) > 0).sum() <= 2


@pytest.mark.parametrize("is_nested", [False, True])
def test_estimate_is_that_of_choices_made_without_each_fold(is_nested):
    members, Y = held_out(np.random.default_rng(2))
    measure, folds = get_measure("subset_accuracy"), np.arange(80) % 4
    without = [[m[folds != k] for m in members] for k in range(4)]
    if is_nested:  # scores that differ with the fold that is left out
        rng = np.random.default_rng(3)
        without = [
            [HeldOut(m.scores + rng.normal(size=(60, 3)), False) for m in there]
            for there in without
        ]
    sets, sets_alone = np.zeros_like(Y), np.zeros_like(Y)
    for k, there in enumerate(without):
        rest, part = folds != k, folds == k
        chosen = choose(there, Y[rest], measure, folds[rest])
        sets[part] = chosen.cut.sets(chosen.scores([m[part] for m in members]))
        # each by itself is measured by the same rule
        scale = ScoreCalibrator().fit(there[1].scores, Y[rest])
        p_rest, p = map(scale.transform, (there[1].scores, members[1].scores[part]))
        sets_alone[part] = chosen.cut.fitted(p_rest, Y[rest]).sets(p)
    joined = [HeldOut(np.vstack([t[j].scores for t in without]), False) for j in range(3)]
    found, alone = estimate(members, Y, measure, folds, nested=joined if is_nested else None)
    assert found == metrics.subset_accuracy(Y, sets)
    assert alone[1] == metrics.subset_accuracy(Y, sets_alone)


def test_label_sets_of_a_learner_may_speak():
    rng = np.random.default_rng(3)
    members, Y = held_out(rng, noise=(3.0,))
    members[0].sets = Y.copy()  # which its scores hide
    chosen = choose(members, Y, get_measure("hamming_loss"), np.arange(80) % 4)
    assert chosen.weights[0, 2] > 0.5
    assert_array_equal(chosen.cut.sets(chosen.scores(members)), Y)


@pytest.mark.parametrize("name", [name for name in measure_names() if "ps" not in name])
def test_every_measure(name):
    members, Y = held_out(np.random.default_rng(4), n=40, noise=(0.3, 2.0))
    measure = get_measure(name.replace("@k", "@2"))
    chosen = choose(members, Y, measure, np.arange(40) % 2)
    scores = chosen.scores(members)
    assert_allclose(chosen.weights.sum(), 1)
    assert scores.min() >= 0 and scores.max() <= 1
    assert np.isin(chosen.cut.sets(scores), (0, 1)).all()


# the classifier ------------------------------------------------------------------------------


def test_scores_are_the_weighted_mean_of_its_learners(fitted):
    total = np.zeros(Y.shape)
    for learner, weights, calibrator in zip(
        fitted.estimators_, fitted.weights_, fitted.calibrators_
    ):
        scores = metrics.label_scores(learner, X)
        if weights[0]:
            total += weights[0] * scores
        if weights[1]:
            total += weights[1] * calibrator.transform(scores)
        if weights[2]:
            total += weights[2] * np.where(learner.predict(X), 0.95, 0.05)
    assert_allclose(fitted.predict_proba(X), total, atol=1e-12)
    assert_array_equal(fitted.predict(X), fitted.cut_.predict(fitted.predict_proba(X)))
    assert_allclose(fitted.weights_.sum(), 1)


def test_it_says_what_it_tried_and_why(fitted):
    report = json.loads(json.dumps(fitted.report_))
    assert [one["name"] for one in report["tried"]] == ["neighbours", "linear", "sets", "noise"]
    weights = {one["name"]: one["weight"] for one in report["tried"]}
    assert_allclose(sum(weights.values()), 1)
    assert {name for name, weight in weights.items() if weight} == set(fitted.names_)
    assert report["estimate"] == fitted.estimate_
    told = fitted.summary()
    assert told.startswith("Tried 4 learners in 3 folds of 120 rows, ")
    assert f"F1 {fitted.estimate_:.3f} expected on new rows" in told
    assert "\nLabel sets: " in told


def test_answers_are_consistent_with_a_hierarchy():
    names = ["a", "a/b", "a/c", "d"]
    labels = pd.DataFrame(Y, columns=names)
    model = HierarchicalClassifier(AutoClassifier(portfolio=[LINEAR], cv=2)).fit(X, labels)
    scores, sets = model.predict_proba(X), model.predict(X)
    for child in (1, 2):
        assert (scores[:, child] <= scores[:, 0] + 1e-12).all()
        assert (sets[:, child] <= sets[:, 0]).all()


def test_deterministic_and_resumable(tmp_path, fitted, monkeypatch):
    again = clone(fitted).set_params(memory=tmp_path / "kept", n_jobs=1).fit(X, Y)
    assert_array_equal(again.predict_proba(X), fitted.predict_proba(X))
    assert len(list((tmp_path / "kept").glob("*.npz"))) == 4
    monkeypatch.setattr(
        "plurilabel.wrappers.automatic._pool._of_fold", None
    )  # nothing is learned again
    resumed = clone(again).set_params(time_limit=1000).fit(X, Y)
    assert_array_equal(resumed.predict_proba(X), fitted.predict_proba(X))
    late = clone(again).set_params(time_limit=1e-6).fit(X, Y)
    assert len(late.names_) == 1 and np.isnan(late.estimate_)  # one is fitted, whatever the time
    assert {*late.report_["left_out"].values()} <= {"no time left for its last fit"}
    other = clone(again).set_params(measure="hamming_loss").fit(X, Y)
    assert other.report_["measure"] == "hamming_loss"


def test_refit_learns_from_other_rows_without_a_new_choice():
    model = AutoClassifier("f1", portfolio=MEMBERS, cv=3, random_state=0).fit(X[:80], Y[:80])
    before = model.weights_, model.cut_, model.report_
    model.refit(X, Y)
    assert (model.weights_, model.cut_, model.report_) == before
    for learner, name in zip(model.estimators_, model.names_):
        twin = clone(dict(MEMBERS)[name]).fit(X, Y)
        assert_allclose(metrics.label_scores(learner, X), metrics.label_scores(twin, X))
    scores = model.predict_proba(X)
    with pytest.raises(ValueError, match="inconsistent"):
        model.refit(X[:, :3], Y[:-1])
    assert_array_equal(model.predict_proba(X), scores)  # as it was
    with pytest.raises(NotFittedError):
        AutoClassifier().refit(X, Y)


def test_missing_values_and_tables():
    gaps = X.copy()
    gaps[::7, 0] = np.nan
    model = AutoClassifier(portfolio=[NEIGHBOURS], cv=2, random_state=0).fit(gaps, Y)
    filled = gaps.copy()
    filled[::7, 0] = np.nanmedian(gaps[:, 0])
    assert_array_equal(model.predict_proba(gaps), model.predict_proba(filled))
    full = AutoClassifier(portfolio=[NEIGHBOURS], cv=2, random_state=0).fit(X, Y)
    assert np.isfinite(full.predict_proba(gaps)).all()  # those that come later, too
    table = pd.DataFrame(gaps, columns=list("abcdef"))
    table["kind"] = np.where(Y[:, 0], "red", "blue")
    model = AutoClassifier(portfolio=[NEIGHBOURS], cv=2, random_state=0).fit(table, Y)
    assert metrics.per_label(Y, labels=model.predict(table))["accuracy"][0] > 0.8
    assert model.n_features_in_ == 7
    (why,) = model.explain(table.iloc[:1])
    assert "kind_red" in why.part_names
    with pytest.raises(ValueError, match="the table lacks the column 'a'"):
        model.predict(table.drop(columns="a"))


HIDDEN = np.random.default_rng(5).random(Y.shape) < 0.3
KNOWN = np.where(HIDDEN, np.nan, Y)


def test_unknown_labels():
    model = AutoClassifier("f1", portfolio=MEMBERS, cv=3, random_state=0).fit(X, KNOWN)
    used = ~HIDDEN.all(axis=1)
    assert model.report_["unknown"] == HIDDEN[used].sum()
    assert model.summary().endswith(f"Ignored {HIDDEN[used].sum()} unknown labels.")
    right = model.predict(X) == Y
    often = ((Y.mean(axis=0) > 0.5) == Y).mean()  # each label as most have it
    assert right[HIDDEN].mean() > often + 0.05 and right[~HIDDEN].mean() > 0.75
    # one that needs all labels gets those that are filled in
    for name, is_filled in (("sets", True), ("linear", False)):
        (learner,) = (
            AutoClassifier(
                portfolio=[one for one in MEMBERS if one[0] == name], cv=2, random_state=0
            )
            .fit(X, KNOWN)
            .estimators_
        )
        assert isinstance(learner, ImputedLabels) == is_filled
    # rows that know nothing change nothing, nor does the form of the labels
    more = np.vstack([X, 9 * X[:5]]), np.vstack([KNOWN, np.full((5, 4), np.nan)])
    for X_more, Y_more in (
        more,
        (X, UnknownLabels(sparse.csr_array(Y), sparse.csr_array(HIDDEN))),
    ):
        again = clone(model).fit(X_more, Y_more)
        assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    with pytest.raises(ValueError, match="labels that are known, got none"):
        AutoClassifier().fit(X, np.full(Y.shape, np.nan))


def test_what_was_chosen_from_all_labels_can_learn_from_some():
    model = AutoClassifier(portfolio=[SETS], cv=2, random_state=0).fit(X, Y)
    scores = model.refit(X, KNOWN).predict_proba(X)
    assert (model.predict(X) == Y)[HIDDEN].mean() > 0.7
    assert np.isfinite(scores).all()


@pytest.mark.parametrize("name", ["average_precision", "f1", "macro_f1", "subset_accuracy"])
def test_a_choice_does_not_see_unknown_labels(name):
    members, Y = held_out(np.random.default_rng(6))
    measure, folds = get_measure(name), np.arange(80) % 4
    hidden = np.random.default_rng(7).random(Y.shape) < 0.4
    nothing = UnknownLabels(Y, np.zeros(Y.shape))
    for find in (choose, estimate):
        one, other = (find(members, labels, measure, folds) for labels in (Y, nothing))
        if find is estimate:
            assert one == other
        else:
            assert_array_equal(one.weights, other.weights)
    chosen = choose(members, UnknownLabels(Y, hidden), measure, folds)
    flipped = UnknownLabels(np.where(hidden, 1 - Y, Y), hidden)
    assert_array_equal(choose(members, flipped, measure, folds).weights, chosen.weights)
    scores = chosen.scores(members)
    answer = scores if measure.kind == "scores" else chosen.cut.sets(scores)
    gaps = np.where(hidden, np.nan, Y)
    alone = min if not measure.greater_is_better else max
    _, by_itself = estimate(members, UnknownLabels(Y, hidden), measure, folds)
    assert measure.function(gaps, answer) >= alone(by_itself) - 0.05


def test_few_rows_and_no_time():
    few = AutoClassifier(random_state=0).fit(X[:12], Y[:12])
    assert few.summary() == (
        "Learner: random forest, since 12 rows are too few to compare learners."
    )
    assert np.isnan(few.estimate_) and few.names_ == ["random forest"]
    sparse_few = AutoClassifier(random_state=0).fit(sparse.csr_array(X[:12]), Y[:12])
    assert sparse_few.names_ == ["logistic regression"]
    assert AutoClassifier().fit(X[:1], Y[:1]).predict(X[:2]).shape == (2, 4)
    late = AutoClassifier(portfolio=[LINEAR, NEIGHBOURS], time_limit=1e-9).fit(X, Y)
    assert late.summary() == "Learner: linear, since time was up before any was tried."
    assert late.predict_proba(X).max() <= 1


@pytest.mark.parametrize("name", ["f1", "average_precision"])
def test_where_time_is_short_a_selection_looks_at_fewer_rows(name):
    (member,), Y = held_out(np.random.default_rng(0), n=9000, noise=(0.3,))
    scores, folds = 1 / (1 + np.exp(-member.scores)), np.arange(9000) % 4
    given = scores, Y, get_measure(name), folds, None
    many, few = Cost.of(*given, MOST_ENTRIES), Cost.of(*given, FEWEST_ENTRIES)
    assert many.look > 0 < few.look
    enough, some, none = (entries_for(seconds, 2.0, 0.5) for seconds in (3.0, 1.0, 0.0))
    assert enough == MOST_ENTRIES > some > none == FEWEST_ENTRIES
    chosen = choose([member], Y, get_measure(name), folds, entries=none)
    assert chosen.weights[0].sum() == 1


def test_learners_that_are_too_costly_are_not_tried(monkeypatch):
    costs = {"neighbours": 1, "linear": 200, "sets": 300}
    monkeypatch.setattr(
        _auto, "given",
        lambda portfolio, _seed: [
            Candidate(name, learner, costs[name], memory=3e9 * (name == "sets"))
            for name, learner in portfolio
        ],
    )  # fmt: skip
    model = AutoClassifier(portfolio=MEMBERS, cv=2, random_state=0).fit(X, Y)
    assert model.report_["left_out"] == {
        "linear": "a fit may take 3 min 20 s", "sets": "its model may take 3.0 GB",
    }  # fmt: skip
    limited = clone(model).set_params(time_limit=10_000).fit(X, Y)
    assert limited.report_["left_out"] == {"sets": "its model may take 3.0 GB"}
    only = AutoClassifier(portfolio=[SETS], cv=2, random_state=0).fit(X, Y)
    assert only.names_ == ["sets"]  # something has to be


def test_a_learner_that_cannot_take_the_data_is_left_out():
    broken = ("broken", MLkNN(500))
    model = AutoClassifier(portfolio=[broken, NEIGHBOURS], cv=2, random_state=0).fit(X, Y)
    assert model.report_["left_out"]["broken"].startswith(
        "it failed: ValueError: n_neighbors must"
    )
    assert "Left out: broken, it failed" in model.summary()
    with pytest.raises(ValueError, match="none of the learners can take the data: broken: it"):
        AutoClassifier(portfolio=[broken], cv=2).fit(X, Y)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"measure": "f3"}, "name must be one of"),
        ({"measure": "precision@k"}, "a number in place of k"),
        ({"portfolio": []}, "at least one classifier"),
        ({"portfolio": [NEIGHBOURS, NEIGHBOURS]}, "different names, got 'neighbours' twice"),
        ({"portfolio": "all"}, "portfolio"),
        ({"max_models": 0}, "max_models"),
        ({"time_limit": 0}, "time_limit"),
        ({"threshold": "best"}, "threshold"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        AutoClassifier(**parameters).fit(X, Y)


def test_model_files(fitted, tmp_path):
    pytest.importorskip("skops", reason="model files need skops")
    import plurilabel

    model = clone(fitted).set_params(portfolio=MEMBERS).fit(X, Y)
    path = tmp_path / "m.skops"
    plurilabel.save(model, path)
    loaded = plurilabel.load(path).estimator
    assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    assert_array_equal(loaded.predict(X), model.predict(X))
    assert loaded.summary() == model.summary()


# the portfolio -------------------------------------------------------------------------------


def test_what_is_tried_suits_the_size():
    tried = candidates(X, Y, "full", 0)
    assert [one.seconds for one in tried] == sorted(one.seconds for one in tried)
    assert len(tried) > 12 and len({one.name for one in tried}) == len(tried)
    assert {one.name for one in candidates(X, Y, "quick", 0)} < {one.name for one in tried}
    many = sparse.random_array((60_000, 500), density=0.02, format="csr", random_state=0)
    labels = (np.random.default_rng(0).random((60_000, 20)) < 0.1).astype(np.int8)
    large = candidates(many, labels, "full", 0)
    costs = {one.name: one.seconds for one in large}
    assert costs["linear support vectors, C=1"] < 10 < LONGEST < costs["support vectors"]
    assert large[0].name.startswith("linear support vectors")  # the fastest strong one comes first
    assert {one.name for one in large if one.memory > LARGEST} >= {"extra trees"}
    assert "extra trees for label sets" in {one.name for one in tried} - costs.keys()


def test_slow_learners_are_not_tried_on_wide_sparse_features():
    labels = np.tile(Y[:20], (10, 1))
    narrow, wide = (
        {one.name for one in candidates(sparse.eye_array(200, d, format="csr"), labels, "full", 0)}
        for d in (WIDE, WIDE + 1)
    )
    slow = ("support vectors", "extra trees", "chains", "network", "BP-MLL")
    assert narrow - wide == {name for name in narrow if name.startswith(slow)}
    assert {"random forest", "gradient boosting", "ML-kNN, cosine"} < wide
    many = np.tile(labels, (1, 200))  # a forest would be larger than it is worth
    X_wide = sparse.eye_array(200, WIDE + 1, format="csr")
    assert "random forest" not in {one.name for one in candidates(X_wide, many, "full", 0)}


@pytest.mark.parametrize("is_sparse", [False, True])
def test_every_learner_of_the_portfolio_can_be_fitted(is_sparse):
    A = sparse.csr_array(np.maximum(X, 0)) if is_sparse else X
    for one in candidates(A, Y, "full", 0):
        if "boosting" in one.name:
            one.estimator.set_params(n_estimators=2)
        elif "trees" in one.name or "forest" in one.name:
            inner = [k for k in one.estimator.get_params() if k.endswith("n_estimators")]
            one.estimator.set_params(**dict.fromkeys(inner, 2))
        elif one.name == "BP-MLL":
            one.estimator.set_params(max_iter=1)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # networks stop early
            learner = clone(one.estimator).fit(A[:60], Y[:60])
        found = _auto.answers(learner, A[60:], 4, decides=one.decides)
        assert found.scores.shape == (60, 4) and np.isfinite(found.scores).all()
        assert (found.sets is not None) == one.decides


def test_means_are_probabilities():
    rng = np.random.default_rng(0)
    member = HeldOut(rng.random((5, 2)), True)
    calibrator = ScoreCalibrator().fit(member.scores, rng.integers(0, 2, (5, 2)))
    mean = mean_scores(np.array([[1.0, 0, 0]]), [calibrator], [member])
    assert_array_equal(mean, member.scores)


# folds and groups ----------------------------------------------------------------------------

CONSTANT = ("constant", MultiOutputClassifier(DummyClassifier(strategy="prior")))


@pytest.mark.parametrize("name", ["hamming_loss", "average_precision"])
def test_nothing_to_learn_is_not_estimated_better_than_it_is(name):
    """Stratified folds made a constant learner look better than coin flips allow."""
    measure, differences = get_measure(name), []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        A, flips, fresh = rng.normal(size=(100, 2)), *rng.integers(0, 2, (2, 8000, 5))
        model = AutoClassifier(name, portfolio=[CONSTANT], random_state=seed)
        model.fit(A, flips[:100])
        rows = np.zeros((8000, 2))
        found = model.predict_proba(rows) if measure.kind == "scores" else model.predict(rows)
        differences.append(model.estimate_ - measure.function(fresh, found))
        assert_allclose(model.report_["tried"][0]["value"], model.estimate_, atol=0.05)
    error = np.std(differences, ddof=1) / np.sqrt(20)
    assert abs(np.mean(differences)) < 3 * error  # it was 10 and 7


def outer(model, A, labels, splits):
    """The answers of an outer cross-validation, whose inner folds are the other outer ones."""
    measure = get_measure(model.measure)
    found = np.zeros(labels.shape, float if measure.kind == "scores" else int)
    for k, (rest, part) in enumerate(splits):
        number = {row: i for i, row in enumerate(rest)}
        cv = [
            tuple(np.array([number[row] for row in rows if row in number]) for rows in split)
            for j, split in enumerate(splits)
            if j != k
        ]
        inner = clone(model).set_params(cv=cv).fit(A[rest], labels[rest])
        answer = inner.predict_proba if measure.kind == "scores" else inner.predict
        found[part] = answer(A[part])
    return measure.function(labels, found)


@pytest.mark.parametrize("name", ["average_precision", "micro_f1"])
def test_the_estimate_is_that_of_an_outer_cross_validation(name):
    """Learners by which weights were selected had seen the fold that these are measured on."""
    A, labels = X[:80], Y[:80]
    splits = list(GroupKFold(4).split(A, groups=np.arange(80) // 2))
    model = AutoClassifier(name, portfolio=MEMBERS, cv=splits, random_state=0).fit(A, labels)
    assert_allclose(model.estimate_, outer(model, A, labels, splits))
    model.set_params(portfolio=[NEIGHBOURS]).fit(A, KNOWN[:80], groups=np.arange(80) // 2)
    assert model.report_["estimate_nested"]


def test_where_the_estimate_is_nested(tmp_path, monkeypatch):
    def nests(model, A=X, labels=Y):
        return model.fit(A, labels).report_["estimate_nested"]

    model = AutoClassifier(portfolio=[NEIGHBOURS], cv=4, memory=tmp_path, random_state=0)
    assert nests(model)
    assert len(list(tmp_path.glob("*-nested.npz"))) == 1
    again = clone(model).set_params(measure="average_precision")
    with monkeypatch.context() as patch:
        patch.setattr("plurilabel.wrappers.automatic._pool._of_fold", None)
        assert nests(again)  # from what is kept
    again.set_params(memory=None).fit(X, Y)
    kept = clone(again).set_params(memory=tmp_path).fit(X, Y)
    assert kept.estimate_ == again.estimate_
    assert not nests(clone(model).set_params(cv=3))
    assert not nests(clone(model).set_params(cv=RepeatedKFold(n_splits=2, n_repeats=2)))
    assert not nests(clone(model).set_params(portfolio=[MLkNN(70)]))  # 60 rows are too few
    assert not nests(model, np.vstack([X, X + 0.5]), np.vstack([Y, Y]))
    costly = Candidate("costly", NEIGHBOURS[1], 2.0)
    monkeypatch.setattr(_auto, "given", lambda *_: [costly])
    assert not nests(clone(model).set_params(memory=None))


def subjects(rng, people, copies, noise=0.05):
    """Rows of some people, each nearly the same, whose labels nobody can tell."""
    A = np.repeat(rng.normal(size=(people, 5)), copies, axis=0)
    labels = np.repeat(rng.integers(0, 2, (people, 4)), copies, axis=0)
    return A + noise * rng.normal(size=A.shape), labels, np.repeat(np.arange(people), copies)


def test_rows_of_a_group_stay_together():
    rng = np.random.default_rng(0)
    A, labels, who = subjects(rng, 50, 6)
    model = AutoClassifier("hamming_loss", portfolio=[NEIGHBOURS], random_state=0)
    with pytest.warns(UserWarning, match=r"9\d% of the rows are equal to others.* groups="):
        model.fit(A, labels)
    assert model.estimate_ < 0.1
    model.fit(A, labels, groups=[f"person {i}" for i in who])
    A_new, labels_new, _ = subjects(rng, 200, 6)
    fresh = metrics.hamming_loss(labels_new, model.predict(A_new))
    assert abs(model.estimate_ - fresh) < 0.05 and fresh > 0.4
    with pytest.raises(ValueError, match="cv must be at most the number of groups, 4, got 5"):
        model.fit(A, labels, groups=who % 4)
    with pytest.raises(ValueError, match="inconsistent"):
        model.fit(A, labels, groups=who[1:])
    with pytest.raises(ValueError, match="keep the rows of a group together"):
        clone(model).set_params(cv=[(np.arange(99), np.arange(99, 300))]).fit(
            A, labels, groups=who
        )


@pytest.mark.parametrize(
    "cv",
    [
        TimeSeriesSplit(3),
        RepeatedKFold(n_splits=2, n_repeats=2, random_state=0),
        ShuffleSplit(1, random_state=0),
        [(np.arange(60), np.arange(60, 120)), (np.arange(30, 120), np.arange(30))],
        [(np.arange(120) < 90, np.arange(120) >= 90)],
    ],
    ids=["time", "repeated", "one split", "pairs", "masks"],
)
def test_any_splitter(cv):
    model = AutoClassifier("f1", portfolio=MEMBERS, cv=cv, random_state=0).fit(X, Y)
    assert model.report_["folds"] == (len(cv) if isinstance(cv, list) else cv.get_n_splits())
    assert 0.5 < model.estimate_ < 1  # by as few as 12 rows
    # rows without a known label are not used, whatever the splits call them
    more = np.vstack([np.full((5, 4), np.nan), Y]), np.vstack([9 * X[:5], X])
    if isinstance(cv, list):
        cv = [tuple(np.flatnonzero(p) + 5 if p.dtype == bool else p + 5 for p in s) for s in cv]
        again = clone(model).set_params(cv=cv).fit(*more[::-1])
        assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_the_last_rows_alone_are_held_out_by_time():
    """Labels that change with time: what was learned early says nothing about the end."""
    when = np.linspace(-1, 1, 200)
    A = np.random.default_rng(0).normal(size=(200, 3))
    labels = ((A * when[:, None] ** 3) > 0).astype(int)
    model = AutoClassifier("hamming_loss", portfolio=[LINEAR], random_state=0)
    # the second half is the opposite of the first
    by_time = [(np.arange(100), np.arange(100, 200))]
    assert (
        clone(model).set_params(cv=by_time).fit(A, labels).estimate_
        > model.fit(A, labels).estimate_
    )


def test_learners_inside_get_the_groups():
    groups = np.arange(120) // 4
    seen = []

    class Noting(MLkNN):
        def fit(self, X, y, *, groups=None):
            seen.append(groups)
            return super().fit(X, y)

    with_step = make_pipeline(StandardScaler(), Noting(5))
    model = AutoClassifier(portfolio=[("a", with_step), ("b", Noting(7))], cv=2, random_state=0)
    model.fit(X, Y, groups=groups).refit(X, Y, groups=groups)
    assert len(seen) == 4 + 2 * len(model.names_)
    assert all(len(np.intersect1d(a, b)) == 0 for a, b in (seen[0:2], seen[2:4]))
    assert sum(len(part) for part in seen[:2]) == 120 and len(seen[-1]) == 120


def test_ordinary_rows_are_no_copies():
    rng = np.random.default_rng(0)
    counts = rng.integers(0, 3, (300, 4)).astype(float)
    words = sparse.csr_array((rng.random((300, 40)) < 0.05).astype(float))
    line = np.cumsum(rng.random(300))[:, None] * [1.0, 2.0]
    mixed = np.column_stack([rng.normal(size=60), 5 * rng.integers(0, 2, (60, 4))])
    blobs = 9.0 * np.repeat(rng.normal(size=(5, 3)), 20, axis=0) + rng.normal(size=(100, 3)) / 9
    ordinary = [
        counts,
        words,
        line,
        mixed,
        blobs,
        rng.normal(size=(300, 2)),
        rng.normal(size=(40, 9)),
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for rows in ordinary:
            warn_of_copies(rows, 0)
    long_texts = sparse.csr_array((rng.random((150, 100)) < 0.4).astype(float))
    copied = [
        np.repeat(rng.normal(size=(100, 3)), 3, axis=0),
        sparse.vstack([long_texts, long_texts], format="csr"),
        subjects(rng, 50, 2)[0],
        subjects(rng, 50, 40)[0],
    ]
    for rows in copied:
        with pytest.warns(UserWarning, match="equal to others, or nearly"):
            warn_of_copies(rows, 0)


@pytest.mark.parametrize("name", ["emotions", "flags", "genbase", "wq", "medical", "reuters-k500"])
def test_standard_datasets_have_no_warning(name, data_folder):
    warn_of_copies(datasets.load(name).X, 0)
