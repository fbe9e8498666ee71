"""Weights of instances: as good as repeating them, and 0 as good as leaving them out.

Scikit-learn's two checks of that are run for every learner that takes ``sample_weight``, and one
of ours with a label matrix. The roster says which learners do not take it, and why.
"""

import inspect
from importlib.util import find_spec

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import (
    check_sample_weight_equivalence_on_dense_data,
    check_sample_weight_equivalence_on_sparse_data,
)

from plurilabel import BinaryRelevance, LinearThreshold, MLkNN, SCut, TransformationClassifier
from plurilabel._core.roster import learners
from plurilabel.evaluation._checks import _data
from plurilabel.learners import make_learner, partition_labels
from plurilabel.metrics import label_scores

LR = "LogisticRegression(tol=1e-12, max_iter=20000)"
TREE = "DecisionTreeClassifier(random_state=0)"

TAKES = [
    f"BinaryRelevance({LR})",
    "BinaryRelevance(RidgeClassifier())",
    f"BinaryRelevance({TREE})",
    f"ClassifierChain({LR})",
    f"ClassifierChain({LR}, order='random')",
    f"LabelPowerset({LR})",
    "LabelPowerset(RidgeClassifier())",
    f"PrunedSets({LR})",
    f"RAkEL({LR}, labelset_size=2)",
    f"RAkEL({LR}, labelset_size=2, overlapping=False, label_sets='co-occurrence')",
    f"CalibratedLabelRanking({LR})",
    f"CalibratedLabelRanking({TREE}, voting='soft')",
    f"StackedRelevance({LR})",
    f"HOMER({LR}, branching_factor=2)",
    f"OutputCodes({LR}, n_bits=3, code='repetition')",
    "MLDecisionTree(random_state=0)",
    "MLRandomForest(n_estimators=5, bootstrap=False, random_state=0)",
    "CML(tol=1e-9)",
    "AdaBoostMH(n_estimators=5)",
    "AdaBoostMH(n_estimators=5, weak='tree')",
    "AdaBoostMH(n_estimators=5, algorithm='discrete')",
    "AdaBoostMH(n_estimators=5, algorithm='abstain')",
    "AdaBoostMR(n_estimators=5)",
    "ADTBoostMH(n_estimators=4)",
    "MLGradientBoosting(n_estimators=5)",
    "LabelSetMixture()",
    "PMM1(set_prior='sets')",
    "PMM2()",
    "LabelTree(normalize=False, leaf_size=2, tol=1e-10, max_iter=100, random_state=0)",
    "OneVsAllLinear(normalize=False, tol=1e-10, max_iter=100)",
]

SOLVED = {"RankSVM": "its solver ends at a duality gap of tol, which is wider than the checks"}

NOT_EQUIVALENT = {
    "EnsembleOfChains": "samples are drawn by row number",
    "EnsembleOfPrunedSets": "samples are drawn by row number",
    "MLFastText": "a repeated instance is in several batches",
}

NAMED = {text.partition("(")[0] for text in TAKES} | SOLVED.keys() | NOT_EQUIVALENT.keys()
TAKES += [  # the first form of those that are not named above
    next(iter(entry.checked))
    for name, entry in learners().items()
    if not entry.unweighted and name not in NAMED and (not entry.needs or find_spec(entry.needs))
]


@pytest.mark.parametrize("text", TAKES)
def test_scikit_learns_checks(text):
    learner = make_learner(text)
    check_sample_weight_equivalence_on_dense_data(type(learner).__name__, learner)
    if get_tags(learner).input_tags.sparse:
        check_sample_weight_equivalence_on_sparse_data(type(learner).__name__, learner)


@pytest.mark.parametrize("text", [*TAKES, "RankSVM(tol=1e-9)", "RankSVM(kernel='rbf', tol=1e-9)"])
def test_label_matrices(text):
    """Also with a label that only instances without weight have, or lack."""
    learner, again = make_learner(text), make_learner(text)
    for one in (learner, again):
        seeds = [key for key in one.get_params() if key.endswith("random_state")]
        one.set_params(**dict.fromkeys(seeds, 0))
    X, Y = _data(learner)
    X, Y = X[:40], Y[:40]
    if "code=" in text:
        learner.set_params(n_bits=4), again.set_params(n_bits=4)
    weights = np.random.default_rng(0).integers(0, 4, size=40)
    Y[weights > 0, 0], Y[weights > 0, 2] = 0, 1
    if hasattr(learner, "cv") and "Stacked" in text:
        # the same folds by rows and by their repetitions
        fold = np.arange(40) % 3
        learner.set_params(cv=splits(fold))
        again.set_params(cv=splits(fold.repeat(weights)))
    learner.fit(X, Y, sample_weight=weights)
    again.fit(X.repeat(weights, axis=0), Y.repeat(weights, axis=0))
    near = 1e-3 if "RankSVM" in text else 1e-5
    assert_allclose(label_scores(learner, X), label_scores(again, X), rtol=near, atol=near)
    assert not learner.predict(X)[:, 0].any() and learner.predict(X)[:, 2].all()


def splits(fold):
    return [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(3)]


def test_what_is_named_takes_weights():
    assert not [name for name in NAMED if learners()[name].unweighted]


@pytest.mark.parametrize("name", [n for n, entry in learners().items() if entry.unweighted])
def test_others_refuse_weights(name):
    entry = learners()[name]
    if entry.needs and find_spec(entry.needs) is None:
        pytest.skip(f"needs {entry.needs}")
    assert "sample_weight" not in inspect.signature(entry.find().fit).parameters
    assert not issubclass(entry.find(), TransformationClassifier)


def test_weights_that_cannot_be():
    X, Y = _data(MLkNN())
    for text in ("AdaBoostMH(3)", "RankSVM()", f"BinaryRelevance({LR})"):
        with pytest.raises(ValueError, match="at least one non-zero"):
            make_learner(text).fit(X, Y, sample_weight=np.zeros(60))
        with pytest.raises(ValueError, match="NaN"):
            make_learner(text).fit(X, Y, sample_weight=np.full(60, np.nan))
        with pytest.raises(ValueError, match="inconsistent|shape"):
            make_learner(text).fit(X, Y, sample_weight=np.ones(3))
        with pytest.raises(ValueError, match="[Nn]egative"):
            make_learner(text).fit(X, Y, sample_weight=-np.ones(60))
    with pytest.raises(ValueError, match="fit of MLkNN does not accept it"):
        BinaryRelevance(MLkNN(3)).fit(X, Y, sample_weight=np.ones(60))


def test_a_cut_with_weights():
    rng = np.random.default_rng(0)
    scores, Y = rng.random((30, 4)), (rng.random((30, 4)) < 0.4).astype(int)
    weights = rng.integers(0, 4, 30)
    cut = LinearThreshold().fit(scores, Y, sample_weight=weights)
    again = LinearThreshold().fit(scores.repeat(weights, axis=0), Y.repeat(weights, axis=0))
    assert_allclose(cut.coef_, again.coef_)
    assert_allclose(cut.intercept_, again.intercept_)
    with pytest.raises(ValueError, match="SCut does not take sample_weight"):
        SCut().fit(scores, Y, sample_weight=weights)


def test_partitions_with_weights():
    rng = np.random.default_rng(1)
    Y, weights = (rng.random((30, 6)) < 0.4).astype(int), rng.integers(0, 4, 30)
    found = partition_labels(Y, 2, random_state=0, sample_weight=weights)
    again = partition_labels(Y.repeat(weights, axis=0), 2, random_state=0)
    assert [part.tolist() for part in found] == [part.tolist() for part in again]
