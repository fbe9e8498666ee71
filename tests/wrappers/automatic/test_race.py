"""The race of the first folds, and a choice that is never behind the best learner."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.stats import ttest_1samp

from plurilabel import (
    BPMLL,
    AutoClassifier,
    GlobalThreshold,
    OneVsAllLinear,
    ScoreCalibrator,
    datasets,
)
from plurilabel.metrics import average_precision, get_measure, macro_f1, micro_f1
from plurilabel.wrappers.automatic import _pool
from plurilabel.wrappers.automatic._ensemble import HeldOut, choose, cuts_for, greedy
from plurilabel.wrappers.automatic._portfolio import Candidate, candidates
from plurilabel.wrappers.automatic._race import dropped, folds_of_race
from plurilabel.wrappers.automatic._trials import Tried

TEXTS = datasets.make_sparse_multilabel(240, 60, 5, nnz_per_row=8, random_state=0)
X, Y = TEXTS.X, TEXTS.Y.toarray()


def held_out(noise, n=200, q=4, seed=0):
    """Scores of learners that see the truth through noise; with None, noise alone."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=(n, q))
    scores = [rng.normal(size=(n, q)) + (0 if s is None else truth / s) for s in noise]
    return [HeldOut(one, False) for one in scores], (truth > 0.5).astype(np.int8)


def cut_inside(scores, Y):
    return GlobalThreshold("micro_f1").fit(scores, Y).predict(scores)


def cut_by_folds(scores, Y, strategy):
    """Micro F1 with a cut that is learned without each of four folds."""
    sets, folds = np.zeros_like(Y), np.arange(len(Y)) % 4
    for k in range(4):
        inside = folds == k
        sets[inside] = strategy.fit(scores[~inside], Y[~inside]).predict(scores[inside])
    return micro_f1(Y, sets)


def test_variants_and_the_hopeless_are_dropped():
    members, Y = held_out((0.3, 0.31, 0.35, 3.0))
    measure = get_measure("average_precision")
    cut = cuts_for(measure, labelled=False)[0]
    why, values = dropped(members, ["a", "a", "b", "c"], Y, measure, cut)
    forms = [ScoreCalibrator().fit(m.scores, Y).transform(m.scores) for m in members]
    assert_allclose(values, [average_precision(Y, form) for form in forms])
    best = int(np.argmax(values[:2]))
    assert why[best] == ""
    assert why[1 - best] == "a variant with other parameters scored higher"
    blocks = [np.arange(i, 200, 10) for i in range(10)]
    ahead = [
        average_precision(Y[rows], forms[best][rows]) - average_precision(Y[rows], forms[3][rows])
        for rows in blocks
    ]
    assert ttest_1samp(ahead, 0, alternative="greater").pvalue < 0.05
    assert why[2] == ""
    assert why[3] == "worse than the best learner and of no use in the ensemble"


def test_a_learner_that_helps_goes_on_though_it_is_behind():
    members, Y = held_out((0.2, 0.2, 0.45), seed=1)
    measure = get_measure("average_precision")
    cut = cuts_for(measure, labelled=False)[0]
    why, values = dropped(members[::2], ["a", "b"], Y, measure, cut)
    first, last = (ScoreCalibrator().fit(m.scores, Y).transform(m.scores) for m in members[::2])
    mixed = average_precision(Y, 0.8 * first + 0.2 * last)
    assert values[0] > values[1]
    assert (why[1] == "") == (mixed > values[0])


def test_the_race_takes_folds_with_enough_rows():
    assert folds_of_race([100, 100, 100]) == 1
    assert folds_of_race([26] * 5) == 2
    assert folds_of_race([20, 20]) == 0  # all of them: there is nothing to save


@pytest.mark.parametrize("noise", [(None,) * 6, (0.4, 2.0, 2.5, 3.0), (0.5, 0.5, 0.6, None)])
@pytest.mark.parametrize("name", ["micro_f1", "average_precision"])
def test_never_behind_the_best_learner_that_was_tried(noise, name):
    folds = np.arange(200) % 4
    measure = get_measure(name)
    for seed in range(3):
        members, Y = held_out(noise, seed=seed)
        chosen = choose(members, Y, measure, folds)
        forms = [ScoreCalibrator().fit(m.scores, Y).transform(m.scores) for m in members]
        mean = chosen.scores(members)
        if name == "average_precision":
            found, alone = measure.function(Y, mean), [average_precision(Y, f) for f in forms]
        else:  # with the cut of the same kind, learned without each fold
            found = max(
                cut_by_folds(mean, Y, cut.strategy) for cut in cuts_for(measure, labelled=False)
            )
            alone = [cut_by_folds(form, Y, GlobalThreshold("micro_f1")) for form in forms]
        values = [
            measure.function(Y, f if name == "average_precision" else cut_inside(f, Y))
            for f in forms
        ]
        best = int(np.argmax(values))
        assert found >= alone[best] - 1e-12


def test_learners_that_change_nothing_get_no_weight():
    members, Y = held_out((0.5, 0.5))
    members.append(HeldOut(np.zeros(Y.shape), False))  # the same for all: only the scale changes
    weights = choose(members, Y, get_measure("average_precision"), np.arange(200) % 4).weights
    assert weights[2].sum() == 0


def test_means_without_a_learner_are_still_probabilities():
    rng, seen = np.random.default_rng(0), []
    forms = [(j, 0, rng.random((50, 4)) * 10.0 ** -(j * 8)) for j in range(4)]

    def value(scores):
        seen.append(scores.min())
        return 1.0

    greedy(forms, value)
    assert min(seen) >= 0  # a difference of sums was not: cuts refused it


def test_of_cuts_that_are_nearly_as_good_the_best_for_rare_labels():
    rng = np.random.default_rng(0)
    truth = rng.normal(size=(600, 3)) - np.array([0, 1, 2.0])
    Y = (truth > 0).astype(np.int8)
    member = HeldOut(truth + 0.7 * rng.normal(size=truth.shape), False)
    folds = np.arange(600) % 3
    sets = []
    for cut in (None, cuts_for(get_measure("micro_f1"), labelled=False)[0]):
        chosen = choose([member], Y, get_measure("micro_f1"), folds, cut=cut)
        sets.append(chosen.cut.sets(chosen.scores([member])))
    assert macro_f1(Y, sets[0]) >= macro_f1(Y, sets[1])
    assert micro_f1(Y, sets[0]) >= micro_f1(Y, sets[1]) - 0.01


def test_forests_are_compared_with_half_of_their_trees():
    data = datasets.make_multilabel(60, 4, 3, random_state=0)
    X, Y = data.X, np.asarray(data.Y)
    found = {one.name: one for one in candidates(X, Y, "full", 0)}
    for name in ("extra trees", "extra trees for label sets"):
        params = [found[name].estimator.get_params(), found[name].in_folds.get_params()]
        key = next(key for key in params[0] if key.endswith("n_estimators"))
        assert [one[key] for one in params] == [200, 100]
        others = [{k: v for k, v in one.items() if isinstance(v, str)} for one in params]
        assert others[0] == others[1]
    assert found["gradient boosting"].in_folds is found["gradient boosting"].estimator
    assert Tried(found["extra trees"], seconds=3.0).last == 6.0
    rows = np.arange(60)
    pool = _pool.Pool(X, Y, [(rows[:40], rows[40:])], None, None)
    assert len(pool.fit(found["extra trees"]).estimator_.estimators_) == 200


def test_a_path_along_C_gives_what_each_would_alone():
    unit = [
        Candidate(str(C), OneVsAllLinear(C=C, tol=1e-6, max_iter=100), path=True)
        for C in (0.1, 1.0)
    ]
    fold = X[:160], X[160:], Y[:160], None
    for one, ((held, _),) in zip(unit, _pool._of_first_folds(unit, [fold])):
        alone = one.estimator.fit(X[:160], Y[:160]).decision_function(X[160:])
        assert_allclose(held.scores, alone, atol=0.02)  # weights below the limit are dropped


def test_the_result_depends_neither_on_jobs_nor_on_what_is_kept(tmp_path):
    model = AutoClassifier(portfolio="quick", cv=3, random_state=0).fit(X, Y)
    assert model.report_["dropped"] and not model.report_["left_out"]
    assert len(model.report_["dropped"]) + len(model.report_["tried"]) == len(
        candidates(sparse.csr_array(X), Y, "quick", 0)
    )
    assert "Dropped after the first fold (" in model.summary()
    wanted = model.predict_proba(X)
    for options in ({"n_jobs": 2}, {"memory": tmp_path}, {"memory": tmp_path}):
        again = AutoClassifier(portfolio="quick", cv=3, random_state=0, **options).fit(X, Y)
        assert_array_equal(again.predict_proba(X), wanted)


def test_a_failure_in_the_race_is_told(monkeypatch):
    class Bad(OneVsAllLinear):
        def fit(self, *_args, **_options):
            raise RuntimeError("no luck")

    good = [one for one in candidates(X, Y, "quick", 0) if one.path]
    bad = Candidate("bad", Bad(), family="bad")
    monkeypatch.setattr("plurilabel.wrappers.automatic._auto.candidates", lambda *_: [bad, *good])
    model = AutoClassifier(cv=3, random_state=0).fit(X, Y)
    assert model.report_["left_out"] == {"bad": "it failed: RuntimeError: no luck"}


def test_networks_are_trained_on_one_thread():
    torch = pytest.importorskip("torch")
    seen, usual = [], torch.get_num_threads()
    learner = BPMLL((3,), max_iter=2, callback=lambda _: seen.append(torch.get_num_threads()))
    rows = np.random.default_rng(0).normal(size=(30, 3))
    _pool.fit_one(learner, rows, (rows > 0).astype(int))
    assert seen == [1, 1] and torch.get_num_threads() == usual
