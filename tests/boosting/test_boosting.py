"""What the boosted learners promise beside their rounds; the published figures."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.special import expit

from plurilabel import datasets, metrics, model_selection, papers
from plurilabel.boosting import AdaBoostMH, AdaBoostMR, ADTBoostMH
from plurilabel.boosting._bins import between, distinct_values, find_cuts
from plurilabel.boosting._calibration import fit_slope
from plurilabel.compare import compare
from plurilabel.metrics import get_measure

EACH = [AdaBoostMH(6), AdaBoostMH(4, weak="tree"), AdaBoostMR(6), ADTBoostMH(6)]


def data(n=120, d=5, q=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    Y = (X[:, :q] + 0.7 * rng.normal(size=(n, q)) > 0.3).astype(int)
    return X, Y


# published figures ---------------------------------------------------------------------------


def figures(learner, dataset):
    (cell,) = compare(dataset, learner, n_jobs=None).cells
    return cell["scores"]


def worse_by(found, row):
    """How much worse than published, by measure."""
    sign = {name: 1 if get_measure(name).greater_is_better else -1 for name in row.published}
    return {name: sign[name] * (value - found[name]) for name, value in row.published.items()}


def test_yeast_adtboost_reaches_the_published_figures(data_folder):
    found = figures(ADTBoostMH(30), "yeast")
    row = papers.load_paper("ml-knn").table("table II").row("ADTBoost.MH")
    for name, worse in worse_by(found, row).items():
        assert worse <= (0.15 if name == "coverage" else 0.01), name
    # and what was measured, so that a change is noticed
    assert_allclose(found["average_precision"], 0.7465, atol=0.0002)


def test_yeast_adaboost_mh_beats_both_rows_of_boostexter(data_folder):
    found = figures(AdaBoostMH(50), "yeast")
    for paper, table in (("ml-knn", "table II"), ("ml-wknn", "table 3")):
        worse = worse_by(found, papers.load_paper(paper).table(table).row("BoosTexter"))
        worse.pop("coverage", None)  # not of the second row
        assert len(worse) == 4 and max(worse.values()) <= 0, worse
    assert_allclose(found["average_precision"], 0.7485, atol=0.0002)


@pytest.mark.parametrize(
    ("learner", "precision"),
    [
        (AdaBoostMH(200), 0.8483),
        (AdaBoostMH(200, variant="abstain"), 0.8490),
        (AdaBoostMR(200), 0.8704),
        (ADTBoostMH(30), 0.8258),
    ],
    ids=repr,
)
def test_medical_as_words(data_folder, learner, precision):
    assert sparse.issparse(datasets.load("medical").X)
    assert_allclose(figures(learner, "medical")["average_precision"], precision, atol=0.0005)


# features ------------------------------------------------------------------------------------


def test_sparse_features_are_never_made_dense(monkeypatch):
    rng = np.random.default_rng(0)
    X = sparse.csr_array(np.where(rng.random((60, 800)) < 0.01, rng.random((60, 800)), 0))
    Y = rng.random((60, 3)) < 0.3
    want = AdaBoostMH(5).fit(X, Y).decision_function(X)
    learner = AdaBoostMH(5, rules="presence").fit(X.toarray(), Y)
    assert_allclose(learner.decision_function(X.toarray()), want)

    def refuse(*args, **kwargs):
        raise AssertionError("X was made dense")

    for kind in (sparse.csr_array, sparse.csc_array):
        monkeypatch.setattr(kind, "toarray", refuse)
        monkeypatch.setattr(kind, "todense", refuse)
    for each in (AdaBoostMH(5), AdaBoostMH(5, rules="threshold"), AdaBoostMR(5), ADTBoostMH(3)):
        each.fit(X, Y).decision_function(X)


def test_explicit_zeros_and_duplicates_are_what_they_stand_for():
    dense = np.array([[0, 2.0], [1.0, 0], [0, 1.0], [3.0, 0]])
    Y = [[0, 1], [1, 0], [0, 1], [1, 1]]
    odd = sparse.csr_array(  # 1.0 stored as two halves, and a zero
        ([2.0, 0.5, 0.5, 1.0, 3.0, 0.0], [1, 0, 0, 1, 0, 1], [0, 1, 3, 4, 6]), shape=(4, 2)
    )
    for rules in ("presence", "threshold"):
        learner = AdaBoostMH(3, rules=rules)
        want = learner.fit(dense, Y).decision_function(dense)
        assert_array_equal(learner.fit(odd, Y).decision_function(odd), want)


def test_a_missing_value_abstains():
    X = np.array([[0.0], [0.0], [1.0], [1.0], [np.nan]])
    Y = np.array([[0], [0], [1], [1], [1]])
    learner = AdaBoostMH(1).fit(X, Y)
    scores = learner.decision_function([[0.0], [1.0], [np.nan]])
    assert scores[0, 0] < 0 < scores[1, 0]
    assert scores[2, 0] == 0
    c = 0.5 * np.log((2 / 5 + 1 / 5) / (1 / 5))  # W+ = 2/5, W- = 0, eps = 1/5
    assert_allclose(scores[1, 0], c)


@pytest.mark.parametrize("learner", EACH, ids=repr)
def test_features_without_a_cut(learner):
    X, Y = np.ones((6, 2)), np.array([[1, 0], [1, 0], [1, 0], [1, 0], [1, 1], [0, 0]])
    learner.fit(X, Y)
    assert_array_equal(learner.predict(X), np.tile([1, 0], (6, 1)))
    assert_array_equal(learner.feature_importances_, [0, 0])


@pytest.mark.parametrize("learner", EACH, ids=repr)
def test_the_order_of_the_rows_does_not_matter(learner):
    X, Y = data()
    X = np.round(X, 1)  # ties in the values, and rules that tie
    order = np.random.default_rng(5).permutation(len(X))
    want = learner.fit(X, Y).decision_function(X)
    assert_allclose(learner.fit(X[order], Y[order]).decision_function(X), want, atol=1e-7)


def test_cuts_lie_between_neighbours():
    low = np.array([1.0, np.nextafter(1.0, 2.0)])
    assert between(low)[0] == 1.0  # no float between them: x > 1 parts them
    huge = np.array([-1.7e308, 1.7e308])
    assert np.isfinite(between(huge)).all()
    distinct, counts = distinct_values(np.array([3.0, 1.0, 1.0, -2.0]), zeros=5)
    assert distinct.tolist() == [-2, 0, 1, 3]
    assert counts.tolist() == [1, 0, 2, 1]
    assert find_cuts(distinct, counts, 10).tolist() == [-1, 0.5, 2]


def test_few_bins_hold_equally_many_values_and_leave_zero_alone():
    rng = np.random.default_rng(0)
    values = np.concatenate([rng.normal(size=900), np.zeros(100)])
    cuts = find_cuts(*np.unique(values, return_counts=True), 12)
    assert len(cuts) <= 11
    sizes = np.bincount(np.searchsorted(cuts, values))
    assert 100 in sizes  # the zeros
    assert sizes.max() <= 120
    inside = cuts[np.searchsorted(cuts, 0.0) - 1], cuts[np.searchsorted(cuts, 0.0)]
    assert np.unique(values[(values > inside[0]) & (values <= inside[1])]).tolist() == [0.0]


# stages, stopping, probabilities -------------------------------------------------------------


@pytest.mark.parametrize("learner", EACH, ids=repr)
def test_stages_are_shorter_fits(learner):
    X, Y = data()
    stages = list(learner.fit(X, Y).staged_scores(X))
    assert len(stages) == len(learner.bound_)
    f = learner.ranking_function(X) if isinstance(learner, AdaBoostMR) else None
    assert_array_equal(stages[-1], learner.decision_function(X) if f is None else f)
    extra = isinstance(learner, ADTBoostMH)
    short = type(learner)(**{**learner.get_params(), "n_estimators": 2}).fit(X, Y)
    f = short.ranking_function(X) if isinstance(short, AdaBoostMR) else short.decision_function(X)
    assert_array_equal(stages[1 + extra], f)


def test_early_stopping_keeps_the_best_rounds():
    X, Y = data(n=200)
    Y[np.random.default_rng(3).random(Y.shape) < 0.2] ^= 1  # something to overfit
    learner = AdaBoostMH(150, validation_fraction=0.3, n_iter_no_change=12, random_state=0)
    learner.fit(X, Y)
    seen = learner.validation_scores_
    assert learner.n_estimators_ == 1 + seen.argmin() < 150
    assert len(seen) == learner.n_estimators_ + 12
    assert len(learner.rules_) == len(learner.bound_) == learner.n_estimators_
    n_held = int(np.ceil(0.3 * len(X)))
    X_train, X_held, Y_train, Y_held = model_selection.stratified_split(
        X, Y, sizes=(len(X) - n_held, n_held), random_state=0
    )
    plain = AdaBoostMH(learner.n_estimators_).fit(X_train, Y_train)
    assert_array_equal(learner.decision_function(X), plain.decision_function(X))
    assert_allclose(seen.min(), metrics.hamming_loss(Y_held, plain.predict(X_held)))


def test_early_stopping_by_a_measure_that_should_grow():
    X, Y = data(n=200)
    learner = AdaBoostMR(
        60, validation_fraction=0.3, scoring="average_precision", random_state=0
    ).fit(X, Y)
    assert learner.n_estimators_ == 1 + learner.validation_scores_.argmax()


@pytest.mark.parametrize("learner", EACH, ids=repr)
def test_probabilities_are_the_link_of_the_scores(learner):
    X, Y = data()
    learner.fit(X, Y)
    assert learner.slope_ == (1.0 if isinstance(learner, AdaBoostMR) else 2.0)
    f = learner.decision_function(X)
    assert_allclose(learner.predict_proba(X), expit(learner.slope_ * f))
    assert_array_equal(learner.predict(X), f > 0)


def test_the_fitted_slope_is_calmer_and_better_on_new_data():
    X, Y = data(n=400)
    Y[np.random.default_rng(3).random(Y.shape) < 0.2] ^= 1
    plain = AdaBoostMH(60).fit(X[:200], Y[:200])
    fitted = AdaBoostMH(60, calibration_folds=3, random_state=0).fit(X[:200], Y[:200])
    assert_array_equal(plain.decision_function(X), fitted.decision_function(X))
    assert fitted.slope_ < plain.slope_

    def log_loss(learner):
        p = learner.predict_proba(X[200:])
        return -np.where(Y[200:] == 1, np.log(p), np.log1p(-p)).mean()

    assert log_loss(fitted) < log_loss(plain)


def test_the_slope_is_the_most_likely_one():
    rng = np.random.default_rng(0)
    f = rng.normal(size=(4000, 3))
    Y = (rng.random(f.shape) < expit(0.7 * f)).astype(np.int8)
    assert_allclose(fit_slope(f, Y, 2.0), 0.7, atol=0.06)
    assert fit_slope(f, (f > 0).astype(np.int8), 2.0) == 2.0  # nothing wrong: no maximum
    assert fit_slope(np.zeros((3, 1)), np.ones((3, 1), dtype=np.int8), 2.0) == 2.0


def test_mr_cut_shifts_rows_only():
    X, Y = data()
    learner = AdaBoostMR(10).fit(X, Y)
    shift = learner.ranking_function(X) - learner.decision_function(X)
    assert_allclose(shift, np.repeat(shift[:, :1], 4, axis=1), atol=1e-12)
    assert metrics.hamming_loss(Y, learner.predict(X)) < 0.2


# importances and words -----------------------------------------------------------------------


@pytest.mark.parametrize("learner", EACH, ids=repr)
def test_importances_find_the_features_that_matter(learner):
    X, Y = data(d=8)  # four of eight
    importances = learner.fit(X, Y).feature_importances_
    assert_allclose(importances.sum(), 1.0)
    assert importances[:4].min() > importances[4:].max()


def test_importance_of_a_stump_is_its_share_of_the_bound():
    X, Y = data()
    learner = AdaBoostMH(5).fit(X, Y)
    want = np.zeros(5)
    before = 1.0
    for rule, bound in zip(learner.rules_, learner.bound_):
        want[rule.splits[0].condition.feature] += np.log(before / bound)
        before = bound
    assert_allclose(learner.feature_importances_, want / want.sum())


def test_rules_in_words():
    pd = pytest.importorskip("pandas")
    X = pd.DataFrame({"goal": [1, 1, 0, 0, 1, 0], "vote": [0, 1, 1, 1, 0, 0]}, dtype=float)
    Y = pd.DataFrame({"sport": [1, 1, 0, 0, 1, 0], "politics": [0, 1, 1, 1, 0, 0]})
    text = AdaBoostMH(2, rules="presence").fit(X, Y).to_text()
    assert text.splitlines()[0] == "1. word 'goal' present: sport +0.69, politics -0.2"
    assert "   word 'vote' absent: politics -" in text
    silent = AdaBoostMH(2, rules="presence", variant="abstain").fit(X, Y).to_text(max_labels=1)
    assert silent.splitlines()[0] == "1. always: no opinion"  # every label on half of the rows
    assert silent.splitlines()[1].endswith(", 1 more")
    assert "absent" not in silent
    tree = AdaBoostMH(1, weak="tree", max_depth=2).fit(X, Y).to_text()
    assert tree.startswith("1. goal > 0.5 and vote > 0.5: ")
    named = AdaBoostMH(1).fit(sparse.csr_array(X.to_numpy()), Y)
    assert "word 'x0' present" in named.to_text()
    assert "word 'Tor' present" in named.to_text(feature_names=["Tor", "Wahl"])
    with pytest.raises(ValueError, match="feature_names must have 2 entries, one per.*got 1"):
        named.to_text(feature_names=["Tor"])


def test_the_tree_as_text_and_as_a_graph():
    X, Y = data()
    learner = ADTBoostMH(6).fit(X, Y)
    text, dot = learner.to_text(), learner.to_dot(feature_names=['a"b', "c", "d", "e", "f"])
    assert text.startswith("always: ")
    assert text.count("\n") == 2 * 6
    assert all(f"({t}) " in text for t in range(1, 7))
    assert dot.startswith("digraph ADTree {") and dot.endswith("}")
    assert dot.count("shape=ellipse") == 1 + 2 * 6 and dot.count("shape=box") == 6
    assert dot.count("style=dashed") == 6 and dot.count('[label="yes"]') == 6
    assert dot.count('"') % 2 == 0 and (r"a\"b" in dot) == ("x0" in text)
    for t, rule in enumerate(learner.rules_[1:], start=1):
        assert f"p{rule.precondition} -> s{t} " in dot


# errors --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("learner", "message"),
    [
        (AdaBoostMH(variant="abstain", weak="tree"), "weak must be 'stump' where variant is"),
        (AdaBoostMH(scoring="niceness"), "niceness"),
        (
            AdaBoostMR(scoring="hamming_loss", validation_fraction=0.2),
            "scoring must be a measure of rankings for AdaBoostMR.*got 'hamming_loss'",
        ),
        (AdaBoostMH(calibration_folds=200), "at most the 120 training instances, got 200"),
        (AdaBoostMH(validation_fraction=0.999), "leaves no instance to learn from"),
        (AdaBoostMH(max_bins=3), "max_bins"),
        (AdaBoostMH(smoothing=0.0), "smoothing"),
    ],
    ids=repr,
)
def test_errors(learner, message):
    with pytest.raises(ValueError, match=message):
        learner.fit(*data())


def test_infinity_is_refused():
    X, Y = data()
    X[3, 1] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        AdaBoostMH().fit(X, Y)
