"""AdaBoost.MH: every round against the paper's loop, the bound, rules in words, real data."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from benchmarks.papers import load_paper
from plurilabel import AdaBoostMH, ADTBoostMH, datasets
from plurilabel.metrics import hamming_loss
from tests.learners.boosting import twins
from tests.learners.boosting.problems import assert_rounds, data, figures, problems, worse_by


@settings(max_examples=60, deadline=None)
@given(problems(), st.sampled_from(["real", "discrete", "abstain"]), st.booleans())
def test_rounds_of_the_paper(problem, algorithm, presence):
    X, Y, queries = problem
    kind = "presence" if presence else "threshold"
    history = twins.adaboost_mh(
        X.tolist(), Y.tolist(), queries.tolist(), 5, algorithm=algorithm, presence=presence
    )
    learner = AdaBoostMH(5, algorithm=algorithm, rules=kind)
    assert_rounds(learner, X, Y, queries, history)
    assert_rounds(learner, sparse.csr_array(X), sparse.csr_array(Y), queries, history)


@settings(max_examples=30, deadline=None)
@given(problems(), st.sampled_from(["real", "discrete"]), st.integers(2, 3))
def test_rounds_with_trees(problem, algorithm, depth):
    X, Y, queries = problem
    history = twins.adaboost_mh(
        X.tolist(), Y.tolist(), queries.tolist(), 3, algorithm=algorithm, depth=depth
    )
    learner = AdaBoostMH(3, weak="tree", max_depth=depth, algorithm=algorithm)
    assert_rounds(learner, X, Y, queries, history)


@settings(max_examples=40, deadline=None)
@given(
    problems(),
    st.sampled_from(
        [
            AdaBoostMH(8),
            AdaBoostMH(8, algorithm="discrete"),
            AdaBoostMH(8, algorithm="abstain"),
            AdaBoostMH(4, weak="tree"),
            AdaBoostMH(8, smoothing=0.01),
            ADTBoostMH(8),
        ]
    ),
)
def test_the_bound_dominates_the_training_hamming_loss(problem, learner):
    X, Y, _ = problem
    learner.fit(X, Y)
    assert learner.bound_[-1] >= hamming_loss(Y, learner.predict(X))
    for f, bound in zip(learner.staged_scores(X), learner.bound_):
        assert bound >= hamming_loss(Y, (f > 0).astype(int))
    assert (np.diff(learner.bound_) <= 0).all()


def test_a_missing_value_abstains():
    X = np.array([[0.0], [0.0], [1.0], [1.0], [np.nan]])
    Y = np.array([[0], [0], [1], [1], [1]])
    learner = AdaBoostMH(1).fit(X, Y)
    scores = learner.decision_function([[0.0], [1.0], [np.nan]])
    assert scores[0, 0] < 0 < scores[1, 0]
    assert scores[2, 0] == 0
    c = 0.5 * np.log((2 / 5 + 1 / 5) / (1 / 5))  # W+ = 2/5, W- = 0, eps = 1/5
    assert_allclose(scores[1, 0], c)


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


def test_importance_of_a_stump_is_its_share_of_the_bound():
    X, Y = data()
    learner = AdaBoostMH(5).fit(X, Y)
    want = np.zeros(5)
    before = 1.0
    for rule, bound in zip(learner.rules_, learner.bound_):
        want[rule.conditions[0].feature] += np.log(before / bound)
        before = bound
    assert_allclose(learner.feature_importances_, want / want.sum())


def test_rules_in_words():
    pd = pytest.importorskip("pandas")
    X = pd.DataFrame({"goal": [1, 1, 0, 0, 1, 0], "vote": [0, 1, 1, 1, 0, 0]}, dtype=float)
    Y = pd.DataFrame({"sport": [1, 1, 0, 0, 1, 0], "politics": [0, 1, 1, 1, 0, 0]})
    text = AdaBoostMH(2, rules="presence").fit(X, Y).to_text()
    assert text.splitlines()[0] == "1. word 'goal' present: sport +0.69, politics -0.2"
    assert "   word 'vote' absent: politics -" in text
    silent = AdaBoostMH(2, rules="presence", algorithm="abstain").fit(X, Y).to_text(max_labels=1)
    assert silent.splitlines()[0] == "1. always: no opinion"  # every label on half of the rows
    assert silent.splitlines()[1].endswith(", 1 more")
    assert "absent" not in silent
    tree = AdaBoostMH(1, weak="tree", max_depth=2).fit(X, Y).to_text()
    assert tree.startswith("1. goal > 0.5 and vote > 0.5: ")
    named = AdaBoostMH(1, rules="presence").fit(sparse.csr_array(X.to_numpy()), Y)
    assert "word 'x0' present" in named.to_text()
    assert "word 'Tor' present" in named.to_text(feature_names=["Tor", "Wahl"])
    with pytest.raises(ValueError, match="feature_names must have 2 entries, one per.*got 1"):
        named.to_text(feature_names=["Tor"])


@pytest.mark.parametrize(
    ("learner", "message"),
    [
        (AdaBoostMH(algorithm="abstain", weak="tree"), "weak must be 'stump' where algorithm is"),
        (AdaBoostMH(scoring="niceness"), "niceness"),
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


# real data -----------------------------------------------------------------------------------


def test_yeast_is_better_than_both_rows_of_boostexter(data_folder):
    found = figures(AdaBoostMH(50), "yeast")
    for paper, table in (("ml-knn", "table II"), ("ml-wknn", "table 3")):
        worse = worse_by(found, load_paper(paper).table(table).row("BoosTexter"))
        worse.pop("coverage", None)  # slightly worse than the second row in this one
        assert len(worse) == 4 and max(worse.values()) <= 0, worse
    assert_allclose(found["average_precision"], 0.7485, atol=0.0002)


@pytest.mark.parametrize(
    ("learner", "precision"),
    [(AdaBoostMH(200), 0.8483), (AdaBoostMH(200, algorithm="abstain"), 0.8490)],
    ids=repr,
)
def test_medical_as_words(data_folder, learner, precision):
    assert sparse.issparse(datasets.load("medical").X)
    assert_allclose(figures(learner, "medical")["average_precision"], precision, atol=0.0005)
