"""Every learner of the roster explains its scores; where parts are exact, they add up."""

from importlib.util import find_spec

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.special import expit
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags

from plurilabel import BinaryRelevance, ThresholdClassifier
from plurilabel._core.roster import learners
from plurilabel.evaluation._checks import _data
from plurilabel.inspection import Contributions, Explained, explain
from plurilabel.learners import make_learner
from plurilabel.metrics import label_scores

FORMS = [
    *(
        text
        for entry in learners().values()
        if not entry.needs or find_spec(entry.needs)
        for text in entry.checked
    ),
    "ClassifierChain(LogisticRegression(), inference='exact')",
    "ClassifierChain(LogisticRegression(), inference='beam', beam_width=3, decision='marginal')",
    "StackedRelevance(LogisticRegression(), cv=3, passthrough=False)",
    "LabelPowerset(LogisticRegression())",
    "LabelPowerset(DecisionTreeClassifier(max_depth=3))",
    "LabelPowerset(SVC())",
    "RAkEL(RidgeClassifier(), labelset_size=2)",
    "RAkEL(RandomForestClassifier(n_estimators=3), labelset_size=2, voting='soft')",
    "EnsembleOfChains(DecisionTreeClassifier(max_depth=3), n_estimators=2)",
    "CalibratedLabelRanking(LogisticRegression(), voting='soft')",
    "CalibratedLabelRanking(DecisionTreeClassifier(max_depth=3), voting='soft')",
    "HOMER(RandomForestClassifier(n_estimators=3), branching_factor=2)",
    "OutputCodes(LogisticRegression())",
    "OutputCodes(LogisticRegression(), code='repetition', label_sets='all')",
    "RankSVM(kernel='rbf', tol=1e-4)",
    "RankSVM(kernel='poly', threshold=None, tol=1e-4)",
    "AdaBoostMR(n_estimators=5, weak='tree')",
]

# what must be exact for the labels of these forms: the rest says in words what it adds up to
EXACT = {
    *(text for entry in learners().values() if entry.exact for text in entry.checked),
    "EnsembleOfChains(DecisionTreeClassifier(max_depth=3), n_estimators=2)",
    "LabelPowerset(DecisionTreeClassifier(max_depth=3))",
    "RAkEL(RandomForestClassifier(n_estimators=3), labelset_size=2, voting='soft')",
    "CalibratedLabelRanking(DecisionTreeClassifier(max_depth=3), voting='soft')",
    "StackedRelevance(LogisticRegression(), cv=3, passthrough=False)",
    "HOMER(RandomForestClassifier(n_estimators=3), branching_factor=2)",
    "RankSVM(kernel='rbf', tol=1e-4)",
    "RankSVM(kernel='poly', threshold=None, tol=1e-4)",
    "AdaBoostMR(n_estimators=5, weak='tree')",
}


def fitted(text, X, Y):
    learner = make_learner(text)
    seeds = [key for key in learner.get_params() if key.endswith("random_state")]
    return learner.set_params(**dict.fromkeys(seeds, 0)).fit(X, Y)


def explained(learner, X):
    """The scores that are explained: decision values where a learner has probabilities, too."""
    if hasattr(learner, "decision_function") and not learner.single_output_:
        return learner.decision_function(X)
    return label_scores(learner, X)


def agrees(why):
    """Where parts are exact they add up to the score, or to its log-odds."""
    for l, scale in enumerate(why.scales):
        if scale == "score":
            assert_allclose(why.total[l], why.scores[l], rtol=1e-6, atol=1e-8)
        elif scale == "log-odds":
            assert_allclose(expit(why.total[l]), why.scores[l], rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("text", FORMS)
def test_every_learner_explains(text):
    X, Y = _data(make_learner(text))
    names = ["length", "width", "height", "weight"]
    X, Y = pd.DataFrame(X, columns=names), pd.DataFrame(Y, columns=list("abcd"))
    learner = fitted(text, X, Y)
    rows = X.iloc[[0, 5, 17]]
    found = learner.explain(rows)
    scores = explained(learner, rows)
    assert len(found) == 3
    for why, score in zip(found, scores):
        assert isinstance(why, Explained)
        assert list(why.label_names) == list("abcd")
        assert_allclose(why.scores, score, rtol=1e-9)
        assert why.parts.shape == (len(why.part_names), 4) and why.base.shape == (4,)
        assert np.isfinite(why.parts).all() and np.isfinite(why.base).all()
        assert len(why.scales) == 4 and why.exact.shape == (4,)
        agrees(why)
        if text in EXACT:
            assert why.exact.all()
        assert why.to_frame().shape == why.parts.shape
        assert str(why) and why.top("b") == why.top(1)
        if isinstance(why, Contributions):
            known = ("label: ", "first layer: ", "like ", "distance ", "training ")
            for name in why.part_names:
                assert any(n in name for n in names) or name.startswith(known), name


@pytest.mark.parametrize("text", [text for text in FORMS if "MIML" not in text])
def test_sparse_rows_and_constant_labels(text):
    X, Y = _data(make_learner(text))
    Y[:, 0], Y[:, 2] = 0, 1
    S = sparse.csr_array(np.where(X > 0.3, X, 0))
    if not get_tags(make_learner(text)).input_tags.sparse:
        pytest.skip("it does not take sparse X")
    learner = fitted(text, S, Y)
    before = S.copy()
    for why, score in zip(learner.explain(S[:2]), explained(learner, S[:2])):
        assert_allclose(why.scores, score, rtol=1e-9)
        agrees(why)
    assert (before != S).nnz == 0


@pytest.mark.parametrize("text", ["MLRandomForest(5)", "BinaryRelevance(LogisticRegression())"])
def test_one_class_each(text):
    X, Y = _data(make_learner(text))
    learner = fitted(text, X, np.array(["low", "mid", "high"])[Y[:, 0] + Y[:, 1]])
    (why,) = learner.explain(X[:1])
    assert list(why.label_names) == ["high", "low", "mid"]
    agrees(why)


def test_wrappers_and_pipelines_keep_names():
    X, Y = _data(make_learner("MLkNN()"))
    X = pd.DataFrame(X, columns=["length", "width", "height", "weight"])
    Y = pd.DataFrame(Y, columns=list("abcd"))
    plain = make_pipeline(StandardScaler(), BinaryRelevance(LogisticRegression())).fit(X, Y)
    cut = clone(plain).set_params(
        binaryrelevance=ThresholdClassifier(BinaryRelevance(LogisticRegression()), "scut", cv=2)
    )
    inside = BinaryRelevance(make_pipeline(StandardScaler(), LogisticRegression()))
    for model in (plain, cut.fit(X, Y), inside.fit(X, Y), ThresholdClassifier(plain).fit(X, Y)):
        why = explain(model, X[:1])[0]
        assert {name for name, _ in why.top("a")} == set(X.columns)
        assert why.exact.all() and list(why.label_names) == list("abcd")
        agrees(why)
        assert_allclose(why.scores, label_scores(model, X[:1])[0])


def test_bad_requests():
    X, Y = _data(make_learner("MLkNN()"))
    learner = BinaryRelevance(LogisticRegression()).fit(X, Y)
    with pytest.raises(ValueError, match="feature_names must have 4 entries"):
        learner.explain(X[:1], feature_names=["a"])
    with pytest.raises(ValueError, match=r"reference must have shape \(4,\)"):
        learner.explain(X[:1], reference=[0.0])
    with pytest.raises(ValueError, match="reference must be finite"):
        learner.explain(X[:1], reference=[0.0, np.nan, 0.0, 0.0])
    with pytest.raises(KeyError, match="no label 'z'"):
        learner.explain(X[:1])[0]["z"]
