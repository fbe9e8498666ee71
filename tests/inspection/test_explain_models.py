"""Base estimators taken apart: by loops for trees, by the definition for the others."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.special import expit, logit
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import (
    LogisticRegression,
    Perceptron,
    RidgeClassifier,
    SGDClassifier,
)
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import MultiOutputClassifier
from sklearn.naive_bayes import BernoulliNB, ComplementNB, GaussianNB, MultinomialNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

from plurilabel import BinaryRelevance, LabelPowerset, MLDecisionTree, MLRandomForest
from plurilabel._core.explanation.contributions import OCCLUSION_LOG_ODDS
from plurilabel.inspection import explain
from plurilabel.metrics import label_scores

rng = np.random.default_rng(0)
X = np.abs(rng.normal(size=(80, 4)))
Y = (X[:, :3] + 0.2 * rng.normal(size=(80, 3)) > 0.7).astype(int)

EXACT = [
    LogisticRegression(), LinearSVC(), Perceptron(), RidgeClassifier(), SGDClassifier(),
    DecisionTreeClassifier(max_depth=4, random_state=0),
    RandomForestClassifier(5, random_state=0), ExtraTreesClassifier(5, random_state=0),
    GradientBoostingClassifier(n_estimators=5, random_state=0),
    MultinomialNB(), ComplementNB(), BernoulliNB(binarize=0.7), GaussianNB(),
    KNeighborsClassifier(5), KNeighborsClassifier(5, weights="distance"),
    SVC(kernel="rbf"), SVC(kernel="linear"), SVC(kernel="poly"),
]  # fmt: skip


@pytest.mark.parametrize("base", EXACT, ids=str)
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_parts_of_a_base_estimator_add_up(base, form):
    if isinstance(base, GaussianNB) and form is not np.asarray:
        pytest.skip("it does not take sparse X")
    learner = BinaryRelevance(base).fit(form(X), Y)
    for why, score in zip(learner.explain(form(X)[:3]), label_scores(learner, form(X)[:3])):
        assert why.exact.all(), why.scales
        for l, scale in enumerate(why.scales):
            total = why.total[l] if scale == "score" else expit(why.total[l])
            assert_allclose(total, score[l], rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize(
    "base",
    [
        HistGradientBoostingClassifier(max_iter=3),
        MLPClassifier((3,), tol=0.01, random_state=0, solver="lbfgs"),
    ],
)
def test_other_models_are_explained_by_occlusion(base):
    learner = BinaryRelevance(base).fit(X, Y)
    mean = X.mean(axis=0)
    (why,) = learner.explain(X[:1], reference=mean)
    assert set(why.scales) == {OCCLUSION_LOG_ODDS} and not why.exact.any()
    for j in range(4):
        other = X[:1].copy()
        other[0, j] = mean[j]
        change = logit(label_scores(learner, X[:1])[0]) - logit(label_scores(learner, other)[0])
        at = why.part_names.index(f"x{j}") if f"x{j}" in why.part_names else None
        assert_allclose(0 if at is None else why.parts[at], change, atol=1e-8)
    assert "replaced by its reference" in str(why)


def by_loops(tree, x, table):
    """Root value, and for each feature the changes of value at its nodes on the path of x."""
    node, parts = 0, np.zeros((len(x), table.shape[1]))
    while tree.children_left[node] >= 0:
        j = tree.feature[node]
        left = np.float32(x[j]) <= tree.threshold[node]
        child = (tree.children_left if left else tree.children_right)[node]
        parts[j] += table[child] - table[node]
        node = child
    return table[0], parts


@pytest.mark.parametrize("kind", ["entropy", "gini"])
def test_paths_by_loops(kind):
    forest = MLRandomForest(4, criterion=kind, random_state=0).fit(X, Y)
    for x, why in zip(X[:5], forest.explain(X[:5])):
        found = [by_loops(t.tree_, x, t.tree_.value[:, :, -1]) for t in forest._trees()]
        assert_allclose(why.base, np.mean([base for base, _ in found], axis=0))
        parts = np.mean([parts for _, parts in found], axis=0)
        used = [int(name[1:]) for name in why.part_names]
        assert_allclose(why.parts, parts[used])
        assert not parts[[j for j in range(4) if j not in used]].any()


def test_missing_values_follow_the_tree():
    holes = np.where(X > 1.5, np.nan, X)
    tree = MLDecisionTree(max_depth=3, random_state=0).fit(holes, Y)
    for why, score in zip(tree.explain(holes[:10]), tree.predict_proba(holes[:10])):
        assert_allclose(why.total, score, atol=1e-12)


def test_linear_parts_are_coefficient_times_feature():
    learner = BinaryRelevance(LogisticRegression()).fit(X, Y)
    (why,) = learner.explain(X[:1], feature_names=list("abcd"))
    for l, model in enumerate(learner.estimators_):
        assert_allclose(why.to_frame()[f"label{l}"].loc[list("abcd")], model.coef_[0] * X[0])
        assert_allclose(why.base[l], model.intercept_[0])


def test_words_have_their_names():
    texts = ["sun and sand", "sand castle", "snow and ice", "ice castle", "sun", "snow"]
    tags = np.array([[1, 0], [1, 0], [0, 1], [0, 1], [1, 0], [0, 1]])
    for words in (CountVectorizer(), TfidfVectorizer(ngram_range=(1, 2))):
        model = make_pipeline(words, BinaryRelevance(LogisticRegression())).fit(texts, tags)
        (why,) = explain(model, ["sand and ice"])
        assert {"sand", "ice"} <= set(why.part_names)
        assert why["label0"]["sand"] > 0 > why["label0"]["ice"]
        (nothing,) = explain(model, ["unknown words"])
        assert nothing.part_names == () and "-" in str(nothing)
    inside = BinaryRelevance(make_pipeline(SelectKBest(k=2), LogisticRegression())).fit(X, Y)
    (why,) = inside.explain(X[:1], feature_names=["a", "b", "c", "d"])
    assert set(why.part_names) <= set("abcd") and why.exact.all()


def test_scikit_learns_own_multilabel_classifiers():
    for model in (
        OneVsRestClassifier(LogisticRegression()),
        MultiOutputClassifier(LogisticRegression()),
        RandomForestClassifier(5, random_state=0),
        KNeighborsClassifier(3),
        RidgeClassifier(),
    ):
        model.fit(X, Y)
        (why,) = explain(model, X[:1])
        assert why.exact.all(), type(model)
        expected = label_scores(model, X[:1])[0]
        total = np.where([s == "log-odds" for s in why.scales], expit(why.total), why.total)
        assert_allclose(total, expected, atol=1e-12)


def test_a_set_against_another():
    """With softmax, the parts compare the best set with a label to the best without it."""
    learner = LabelPowerset(LogisticRegression()).fit(X, Y)
    (why,) = learner.explain(X[:1])
    z = learner.estimator_.decision_function(X[:1])[0]
    has = learner.sets_.toarray() == 1
    for l in range(3):
        assert_allclose(why.total[l], z[has[:, l]].max() - z[~has[:, l]].max())
    assert not why.exact.any() and "best label set" in str(why)


def test_a_reference_goes_through_columns_by_name():
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"size": rng.normal(size=30), "kind": ["u", "v"] * 15})
    Y = np.column_stack([X["size"] > 0, X["kind"] == "u"]).astype(int)
    parts = [("n", StandardScaler(), ["size"]), ("k", OneHotEncoder(), ["kind"])]
    encoder = ColumnTransformer(parts)
    model = make_pipeline(encoder, MLDecisionTree()).fit(X, Y)
    (why,) = explain(model, X[:1], reference=[0.0, "u"])
    assert len(why.scores) == 2
