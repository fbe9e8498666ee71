"""Learners that learn from known labels, against what they do by definition."""

from importlib.util import find_spec

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone as sklearn_clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold, cross_val_score
from sklearn.preprocessing import StandardScaler

import plurilabel
from plurilabel import (
    BPMLL,
    IBLRML,
    AdaBoostMH,
    AdaBoostMR,
    ADTBoostMH,
    BinaryRelevance,
    BRkNN,
    CalibratedClassifier,
    ClassifierChain,
    DMLkNN,
    DWMLkNN,
    EnsembleOfChains,
    ImputedLabels,
    LabelPowerset,
    MLDecisionTree,
    MLGradientBoosting,
    MLkNN,
    MLkNNCV,
    MLRandomForest,
    MLWkNN,
    MrkNN,
    RankSVM,
    ThresholdClassifier,
)
from plurilabel._core.roster import learners
from plurilabel.datasets import UnknownLabels
from plurilabel.metrics import average_precision, get_scorer, macro_auc
from plurilabel.models import Model, load_model, save_model

LOGISTIC = LogisticRegression()
CHOOSING = MLkNNCV([2, 3, 4], smoothing=(0.5, 1.0))
COUNTING = [MLkNN(3), MLWkNN(3), DMLkNN(3), BRkNN(3), IBLRML(3), DWMLkNN(3), MrkNN(3), CHOOSING]
BOOSTED = [
    AdaBoostMH(5),
    AdaBoostMH(5, validation_fraction=0.3, random_state=0),
    ADTBoostMH(5, calibration_folds=2, random_state=0),
    MLGradientBoosting(5, random_state=0),
    MLGradientBoosting(5, loss="joint", validation_fraction=0.3, random_state=0),
]
SCORED = [  # without probabilities, or with a cut that is fitted
    AdaBoostMR(5),
    RankSVM(),
    BPMLL((5,), max_iter=3, random_state=0),
    BPMLL((5,), max_iter=3, loss="cross-entropy", early_stopping=True, random_state=0),
]
PARTIAL = [
    *COUNTING,
    *BOOSTED,
    BRkNN(3, variant="a"),
    ThresholdClassifier(MLkNN(3), "scut", cv=2),
    CalibratedClassifier(MLkNN(3), cv=2),
    BinaryRelevance(LOGISTIC),
    ClassifierChain(LOGISTIC),
    ClassifierChain(LOGISTIC, cv=2, chain_method="predict_proba"),
    EnsembleOfChains(LOGISTIC, n_estimators=2, random_state=0),
    MLDecisionTree(random_state=0),
    MLRandomForest(5, oob_score=False, random_state=0),
    ImputedLabels(LabelPowerset(LOGISTIC)),
]


@pytest.fixture
def data():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 4))
    Y = (X[:, :3] + 0.3 * rng.normal(size=(60, 3)) > 0).astype(float)
    hidden = rng.random(Y.shape) < 0.4
    return X, Y, np.where(hidden, np.nan, Y)


@pytest.mark.parametrize("learner", PARTIAL, ids=repr)
def test_all_forms_of_unknown_are_the_same(learner, data):
    pd = pytest.importorskip("pandas")
    X, _, Y = data
    assert learner.accepts_unknown_labels
    expected = learner.fit(X, Y).predict_proba(X)
    assert np.isfinite(expected).all()
    assert expected.min() >= 0 and expected.max() <= 1
    with_none = np.where(np.isnan(Y), None, np.nan_to_num(Y).astype(int).astype(object))
    frame = pd.DataFrame(with_none, columns=list("abc")).astype("Int8")
    partial = UnknownLabels(np.nan_to_num(Y).astype(int), np.isnan(Y))
    for form in (with_none, with_none.tolist(), frame, partial):
        np.testing.assert_array_equal(learner.fit(X, form).predict_proba(X), expected)
        assert learner.predict(X).shape == Y.shape
    assert learner.fit(X, frame).label_names_.tolist() == ["a", "b", "c"]


@pytest.mark.parametrize("learner", PARTIAL, ids=repr)
def test_extremes(learner, data):
    if isinstance(learner, ThresholdClassifier):
        pytest.skip("its cut is not 0.5")
    X, _, Y = data
    Y = Y.copy()
    Y[:, 0] = np.nan  # never known
    Y[:, 1] = np.where(np.isnan(Y[:, 1]), np.nan, 1)  # always present where known
    Y[0] = np.nan
    scores = learner.fit(X, Y).predict_proba(X)
    assert (scores[:, 0] <= 0.5).all() and (scores[:, 1] > 0.5).all()
    everything = learner.fit(X, np.full(Y.shape, np.nan)).predict(X)
    assert everything.any() == (getattr(learner, "variant", None) == "a")
    one = learner.fit(X, np.where(np.arange(60)[:, None] == 5, np.nan, X[:, :1] > 0))
    assert one.predict(X).shape == (60, 1)


@pytest.mark.parametrize("name", [n for n, e in learners().items() if e.package != "bags"])
def test_others_refuse_and_name_the_wrapper(name, data):
    X, _, Y = data
    entry = learners()[name]
    if entry.needs and find_spec(entry.needs) is None:
        pytest.skip(f"needs {entry.needs}")
    for form in entry.checked:
        learner = plurilabel.learners.make_learner(form)
        if learner.accepts_unknown_labels:
            if entry.family != "neural":  # which takes long, and is tested above
                learner.fit(X, Y)
            continue
        with pytest.raises(ValueError, match=rf"got NaN in row .*ImputedLabels\({name}"):
            learner.fit(np.abs(X), Y)


def test_binary_relevance_is_each_label_on_its_own_rows(data):
    X, _, Y = data
    weight = np.linspace(1, 2, len(X))
    found = BinaryRelevance(LOGISTIC).fit(X, Y, sample_weight=weight).predict_proba(X)
    for j in range(3):
        rows = ~np.isnan(Y[:, j])
        alone = LogisticRegression().fit(X[rows], Y[rows, j], sample_weight=weight[rows])
        np.testing.assert_allclose(found[:, j], alone.predict_proba(X)[:, 1])


def test_binary_relevance_with_a_sparse_mask(data):
    X, _, Y = data
    present = sparse.csr_array(np.nan_to_num(Y).astype(int))
    mask = sparse.csr_array(np.isnan(Y))
    learner = BinaryRelevance(LOGISTIC)
    expected = learner.fit(X, Y).predict_proba(X)
    found = learner.fit(X, UnknownLabels(present, mask))
    np.testing.assert_array_equal(found.predict_proba(X), expected)
    assert sparse.issparse(found.predict(X))


def test_mlknn_counts_the_nearest_neighbours_that_know(data):
    """Written from the definition, by loops."""
    X, _, Y = data
    k, s = 3, 1.0
    learner = MLkNN(k).fit(X, Y)
    n, reach = len(X), learner.n_searched_

    def event(x, label, leave_out=None):
        order = np.argsort(((X - x) ** 2).sum(axis=1), kind="stable")
        near = [i for i in order if i != leave_out][:reach]
        known = [Y[i, label] for i in near if not np.isnan(Y[i, label])][:k]
        return round(k * sum(known) / len(known))

    x = np.array([0.2, -0.1, 0.4, 0.0])
    for label in range(3):
        c = np.zeros((2, k + 1))
        for i in range(n):
            if not np.isnan(Y[i, label]):
                c[int(Y[i, label]), event(X[i], label, leave_out=i)] += 1
        prior = (s + c[1].sum()) / (2 * s + c.sum())
        j = event(x, label)
        no, yes = ((s + c[b, j]) / (s * (k + 1) + c[b].sum()) for b in (0, 1))
        expected = prior * yes / (prior * yes + (1 - prior) * no)
        np.testing.assert_allclose(learner.predict_proba([x])[0, label], expected)


@pytest.mark.parametrize("share", [0.4, 0.9])
def test_leave_one_out_is_as_many_fits_of_known_labels(share, data):
    """ML-kNN without each instance, by loops; some labels are known to no neighbour."""
    X, truth, _ = data
    X, truth = X[:30], truth[:30]
    Y = np.where(np.random.default_rng(1).random(truth.shape) < share, np.nan, truth)
    learner = MLkNNCV([1, 3], smoothing=(1.0,), scoring="macro_auc").fit(X, Y)
    n, s = len(X), 1.0
    for k, value in zip((1, 3), learner.cv_values_[:, 0]):
        reach = MLkNN(k).fit(X, Y).n_searched_
        scores = np.empty(Y.shape)
        for i in range(n):
            rest = [j for j in range(n) if j != i]
            for label in range(3):
                y = Y[:, label]
                usual = [y[j] for j in rest if not np.isnan(y[j])]

                def known(at, rest=rest, y=y, k=k, reach=reach):
                    away = ((X - X[at]) ** 2).sum(axis=1)
                    near = sorted((j for j in rest if j != at), key=lambda j: (away[j], j))
                    return [y[j] for j in near[:reach] if not np.isnan(y[j])][:k]

                c = np.zeros((2, k + 1))
                for j in rest:
                    if not np.isnan(y[j]) and known(j):
                        c[int(y[j]), round(k * np.mean(known(j)))] += 1
                own = known(i) or usual or [0]
                j = round(round(k * np.mean(own), 9))
                prior = (s + c[1].sum()) / (2 * s + c.sum())
                no, yes = ((s + c[b, j]) / (s * (k + 1) + c[b].sum()) for b in (0, 1))
                scores[i, label] = prior * yes / (prior * yes + (1 - prior) * no)
        np.testing.assert_allclose(value, macro_auc(Y, scores))
    alone = MLkNN(learner.n_neighbors_).fit(X, Y)
    np.testing.assert_array_equal(learner.predict_proba(X), alone.predict_proba(X))


def test_leaves_count_known_labels(data):
    X, _, Y = data
    tree = MLDecisionTree(max_depth=2, random_state=0).fit(X, Y)
    leaf = tree.estimator_.apply(X.astype(np.float32))
    found = tree.predict_proba(X)
    for i in range(len(X)):
        known = Y[leaf == leaf[i]]
        np.testing.assert_allclose(found[i], np.nanmean(known, axis=0))


def test_a_leaf_that_knows_nothing_has_the_frequency_of_its_parent():
    X = np.array([[0.0], [1.0], [2.0], [3.0]])
    Y = np.array([[0, np.nan], [0, np.nan], [1, 1], [1, 0]])
    scores = MLDecisionTree(max_depth=1, random_state=0).fit(X, Y).predict_proba(X)
    np.testing.assert_array_equal(scores, [[0, 0.5], [0, 0.5], [1, 0.5], [1, 0.5]])


def test_chain_sees_its_own_predictions(data):
    X, _, Y = data
    chain = ClassifierChain(LOGISTIC).fit(X, Y[:, :2])
    rows = ~np.isnan(Y[:, 0])
    first = LogisticRegression().fit(X[rows], Y[rows, 0])
    told = np.where(rows, np.nan_to_num(Y[:, 0]), first.predict(X))
    rows = ~np.isnan(Y[:, 1])
    second = LogisticRegression().fit(np.column_stack([X, told])[rows], Y[rows, 1])
    np.testing.assert_allclose(chain.estimators_[1].coef_, second.coef_)


def test_imputed_labels(data):
    X, truth, Y = data
    learner = ImputedLabels(LabelPowerset(LOGISTIC), imputer=BinaryRelevance(LOGISTIC))
    learner.fit(X, Y)
    guess = BinaryRelevance(LOGISTIC).fit(X, Y).predict(X)
    full = np.where(np.isnan(Y), guess, Y).astype(int)
    expected = LabelPowerset(LOGISTIC).fit(X, full)
    np.testing.assert_array_equal(learner.predict(X), expected.predict(X))
    assert learner.n_imputed_ == np.isnan(Y).sum()
    complete = learner.fit(X, truth)
    assert complete.imputer_ is None and complete.n_imputed_ == 0
    with pytest.raises(ValueError, match="imputer must accept unknown"):
        ImputedLabels(LabelPowerset(LOGISTIC), imputer=LabelPowerset(LOGISTIC)).fit(X, Y)


@pytest.mark.parametrize("learner", [*COUNTING, *SCORED[:3], BOOSTED[0], BOOSTED[3]], ids=repr)
def test_a_sparse_mask_is_the_same(learner, data):
    if isinstance(learner, BPMLL):
        pytest.importorskip("torch")
    X, _, Y = data
    partial = UnknownLabels(np.nan_to_num(Y).astype(int), np.isnan(Y))
    thin = UnknownLabels(sparse.csr_array(partial.Y), sparse.csr_array(partial.unknown))
    method = "decision_function" if hasattr(learner, "decision_function") else "predict_proba"
    expected = learner.fit(X, partial)
    scores, labels = getattr(expected, method)(X), expected.predict(X)
    found = learner.fit(X, thin)
    np.testing.assert_allclose(getattr(found, method)(X), scores, rtol=1e-9)
    assert sparse.issparse(found.predict(X))
    np.testing.assert_array_equal(found.predict(X).toarray(), labels)
    if hasattr(learner, "predict_top"):
        top = found.predict_top(X, 2).toarray()
        np.testing.assert_allclose(top[top > 0], scores[top > 0])


@pytest.mark.parametrize("learner", COUNTING, ids=repr)
def test_growing_and_forgetting_is_a_fit(learner, data):
    X, truth, Y = data
    expected = learner.fit(X, Y).predict_proba(X)
    for first, then in ((Y[:40], Y[40:]), (truth[:40], truth[40:])):
        both = np.vstack([first, Y[40:]])
        grown = learner.fit(X[:40], first).partial_fit(X[40:], Y[40:]).predict_proba(X)
        again = learner.fit(X, both).predict_proba(X)
        np.testing.assert_array_equal(grown, again)
        del then
    shrunk = learner.fit(np.vstack([X, X[:3]]), np.vstack([Y, Y[:3] * np.nan]))
    shrunk.forget([60, 61, 62])
    np.testing.assert_array_equal(shrunk.predict_proba(X), expected)
    all_known = learner.fit(np.vstack([X, X[:3]]), np.vstack([truth, Y[:3] * np.nan]))
    all_known.forget([60, 61, 62])
    assert all_known.unknown_ is None
    np.testing.assert_array_equal(
        all_known.predict_proba(X), learner.fit(X, truth).predict_proba(X)
    )


def test_votes_are_of_neighbours_that_know(data):
    X, _, Y = data
    learner = BRkNN(3).fit(X, Y)
    (said,) = learner.explain(X[:1])
    for j in range(3):
        order = np.argsort(((X - X[0]) ** 2).sum(axis=1), kind="stable")[: learner.n_searched_]
        asked = [i for i in order if not np.isnan(Y[i, j])][:3]
        assert said[j].neighbors_for.tolist() == [i for i in asked if Y[i, j] == 1]
        assert said[j].neighbors_against.tolist() == [i for i in asked if Y[i, j] == 0]
    np.testing.assert_allclose(
        said.parts.sum(axis=0),
        (2 * np.array([len(said[j].neighbors_for) for j in range(3)]) - 3) / 3,
    )


def test_mlwknn_weighs_the_nearest_neighbours_that_know(data):
    """Written from the definition, by loops; with two instances at the same place."""
    X, _, Y = data
    X = X.copy()
    X[1] = X[0]
    learner = MLWkNN(3).fit(X, Y)
    distances, neighbors = learner.graph_
    events, silent = learner._labels.events(distances, neighbors)
    assert not silent.any()
    for i in range(len(X)):
        for label in range(3):
            known = [
                (d, Y[j, label])
                for d, j in zip(distances[i], neighbors[i])
                if not np.isnan(Y[j, label])
            ][:3]
            if any(d == 0 for d, _ in known):
                known = [(1.0, y) for d, y in known if d == 0]
            total = sum(1 / d**2 for d, _ in known)
            share = sum(y / d**2 for d, y in known) / total
            assert events[i, label] == round(round(3 * share, 9))


@pytest.mark.parametrize("reading", ["table", "figure"])
def test_dwmlknn_weighs_the_nearest_neighbours_that_know(reading, data):
    """Equations 4 to 8 by loops; the neighbours of a label are those that know it."""
    X, _, Y = data
    K, s = 3, 1.0
    learner = DWMLkNN(K, reading=reading).fit(X, Y)
    distances, neighbors = learner.graph_
    for label in range(3):
        c, c_without, n_known = np.zeros((2, K + 1)), np.zeros((2, K + 1)), np.zeros(2)
        for i in np.flatnonzero(~np.isnan(Y[:, label])):
            said = [(d, Y[j, label]) for d, j in zip(distances[i], neighbors[i])]
            d, y = np.array([pair for pair in said if not np.isnan(pair[1])][:K]).T
            p = np.exp(-(((d - d.min()) / (d.max() - d.min() + 1e-12)) ** 2) / 2)
            w = sum(p * y) / sum(p)
            j, b = round(K * y.mean()), int(Y[i, label])
            c[b, j] += w if b == 1 or reading == "figure" else 1 - w
            c_without[b, K - j] += 1 - w
            n_known[b] += 1
        prior = (s + n_known[1]) / (2 * s + n_known.sum())
        no, yes = (
            [
                (s + c[b, j]) / (s * (K + 1) + c[b].sum()) / 2
                + (s + c_without[b, K - j]) / (s * (K + 1) + c_without[b].sum()) / 2
                for j in range(K + 1)
            ]
            for b in (0, 1)
        )
        expected = [prior * y / (prior * y + (1 - prior) * n) for y, n in zip(yes, no)]
        np.testing.assert_allclose(learner.table_[label], expected)


@pytest.mark.parametrize("power", [0.0, 2.0])
def test_mrknn_asks_the_nearest_neighbours_that_know(power, data):
    X, _, Y = data
    X, Y = X.copy(), Y.copy()
    X[1] = X[0]
    Y[:, 2] = np.where(np.isnan(Y[:, 2]), np.nan, 1)  # all that know it have it
    learner = MrkNN(3, power=power).fit(X, Y)
    # relevances are of the labels that an instance is known to have
    whole = MrkNN(3).fit(X, np.nan_to_num(Y))
    np.testing.assert_allclose(learner.relevance_[:, 2], np.nan_to_num(Y[:, 2]))
    two = MrkNN(3).fit(X, np.nan_to_num(Y[:, :2]))
    np.testing.assert_allclose(learner.relevance_[:, :2], two.relevance_)
    assert (whole.relevance_[:, :2] != two.relevance_).any()  # there label 2 is one of several
    x = X[0]
    distances = np.sqrt(((X - x) ** 2).sum(axis=1))
    near = np.argsort(distances, kind="stable")[: learner.n_searched_]
    for label in range(3):
        asked = [j for j in near if not np.isnan(Y[j, label])][:3]
        if power and (distances[asked] == 0).any():
            weights = (distances[asked] == 0).astype(float)
        else:
            weights = distances[asked] ** -power if power else np.ones(len(asked))
        expected = np.average(learner.relevance_[asked, label], weights=weights)
        np.testing.assert_allclose(learner.predict_proba([x])[0, label], expected)


def test_dmlknn_with_a_large_width_is_mlknn(data):
    X, _, Y = data
    expected = MLkNN(3).fit(X, Y).predict_proba(X)
    np.testing.assert_allclose(DMLkNN(3, width=3).fit(X, Y).predict_proba(X), expected)


@pytest.mark.parametrize(
    "learner",
    [AdaBoostMH(4), ADTBoostMH(4), MLGradientBoosting(4, random_state=0)],
    ids=repr,
)
def test_boosting_one_label_is_boosting_its_rows(learner, data):
    X, _, Y = data
    rows = ~np.isnan(Y[:, 0])
    found = learner.fit(X, Y[:, :1]).predict_proba(X)
    np.testing.assert_allclose(learner.fit(X[rows], Y[rows, :1]).predict_proba(X), found)


def test_bounds_of_boosting_are_of_known_labels(data):
    X, _, Y = data
    sign = 2 * Y - 1
    learner = AdaBoostMH(5).fit(X, Y)
    losses = np.exp(-sign * learner.decision_function(X))
    np.testing.assert_allclose(learner.bound_[-1], np.nanmean(losses))
    ranker = AdaBoostMR(5).fit(X, Y)
    f, values = ranker.ranking_function(X), []
    for i in range(len(X)):
        has, lacks = f[i, Y[i] == 1], f[i, Y[i] == 0]
        if len(has) and len(lacks):
            values.append(np.exp((lacks[:, None] - has) / 2).mean())
    np.testing.assert_allclose(ranker.bound_[-1], np.mean(values))


@pytest.mark.parametrize("learner", SCORED, ids=repr)
def test_learners_of_rankings(learner, data):
    if isinstance(learner, BPMLL):
        pytest.importorskip("torch")
    X, truth, Y = data
    learner = sklearn_clone(learner)
    expected = learner.fit(X, Y).decision_function(X)
    assert np.isfinite(expected).all()
    for y in (truth, UnknownLabels(truth, np.zeros(truth.shape))):  # nothing changes
        np.testing.assert_array_equal(
            learner.fit(X, y).decision_function(X),
            sklearn_clone(learner).fit(X, truth.astype(int)).decision_function(X),
        )
    Y = Y.copy()
    Y[:, 0], Y[0] = np.nan, np.nan
    Y[:, 1] = np.where(np.isnan(Y[:, 1]), np.nan, 1)
    labels = learner.fit(X, Y).predict(X)
    if isinstance(learner, BPMLL):
        assert not labels[:, 0].any() and labels[:, 1].all()
        first = sklearn_clone(learner).partial_fit(X[:30], Y[:30]).partial_fit(X[30:], Y[30:])
        assert first.n_unknown_.tolist() == np.isnan(Y).sum(axis=0).tolist()
    assert np.isfinite(learner.fit(X, np.full(Y.shape, np.nan)).decision_function(X)).all()


def test_bpmll_forms_pairs_of_known_labels(data):
    """One step of gradient descent from the error by loops over known pairs.

    Known labels of one kind form no pair; they are compared with 0.
    """
    torch = pytest.importorskip("torch")
    X, _, Y = data
    params = {"solver": "sgd", "batch_size": 60, "alpha": 0.0, "max_iter": 1, "threshold": None}
    learner = BPMLL((), learning_rate_init=0.1, random_state=0, **params)
    before = BPMLL((), learning_rate_init=1e-30, random_state=0, **params).fit(X, Y)
    after = learner.fit(X, Y)
    W = torch.tensor(before.coefs_[0], dtype=torch.float64, requires_grad=True)
    b = torch.tensor(before.intercepts_[0], dtype=torch.float64)
    c = torch.tanh(torch.tensor(before.scaler_.transform(X - before.scaler_.mean_)) @ W + b)
    error = 0.0
    for i in range(len(X)):
        has, lacks = np.flatnonzero(Y[i] == 1), np.flatnonzero(Y[i] == 0)
        pairs = [torch.exp(c[i, l] - c[i, k]) for k in has for l in lacks]
        if pairs:
            error = error + sum(pairs) / len(pairs) / len(X)
        elif 0 < len(has) + len(lacks) < 3:  # against a score of 0
            alone = [torch.exp(-c[i, k]) for k in has] + [torch.exp(c[i, l]) for l in lacks]
            error = error + sum(alone) / len(alone) / len(X)
    error.backward()
    moved = (before.coefs_[0] - after.coefs_[0]) / 0.1
    np.testing.assert_allclose(moved, W.grad.numpy(), atol=1e-5)


def test_cross_validation_and_model_files(data, tmp_path):
    pytest.importorskip("skops")
    X, _, Y = data
    scorer = get_scorer("hamming_loss")
    partial = UnknownLabels(np.nan_to_num(Y).astype(int), np.isnan(Y))
    folds = KFold(3)
    a, b = (cross_val_score(MLkNN(3), X, y, cv=folds, scoring=scorer) for y in (Y, partial))
    np.testing.assert_array_equal(a, b)
    for learner in (*PARTIAL, SCORED[0]):
        path = tmp_path / "model.skops"
        save_model(Model(learner.fit(X, Y), tuple("abc"), tuple("stuv")), path)
        again = load_model(path).estimator
        np.testing.assert_array_equal(again.predict_proba(X), learner.predict_proba(X))
    thin = UnknownLabels(sparse.csr_array(partial.Y), sparse.csr_array(partial.unknown))
    save_model(Model(MLkNN(3).fit(X, thin), tuple("abc"), tuple("stuv")), path)
    assert sparse.issparse(load_model(path).estimator.unknown_)


def test_score_is_of_known_labels(data):
    X, _, Y = data
    learner, weights = BinaryRelevance(LOGISTIC).fit(X, Y), np.linspace(1, 2, len(X))
    labels = learner.predict(X)
    known = ~np.isnan(Y)
    some = known.any(axis=1)
    right = ((labels == Y) | ~known).all(axis=1)[some]
    assert not some.all()
    assert learner.score(X, Y) == pytest.approx(right.mean())
    weighted = np.average(right, weights=weights[some])
    assert learner.score(X, Y, sample_weight=weights) == pytest.approx(weighted)
    partial = UnknownLabels(sparse.csr_array(np.nan_to_num(Y)), sparse.csr_array(~known))
    assert learner.score(X, partial) == pytest.approx(right.mean())
    assert np.isnan(learner.score(X, np.full(Y.shape, np.nan)))


def test_forest_out_of_bag(data):
    X, truth, Y = data
    forest = MLRandomForest(60, oob_score=True, random_state=0).fit(X, Y)
    assert ((forest.oob_decision_ > 0.5) == truth).mean() > 0.8
    assert 0 <= forest.oob_score_ <= 1


@pytest.mark.parametrize("learner", PARTIAL, ids=repr)
def test_nothing_changes_if_all_labels_are_known(learner, data):
    X, Y, _ = data
    expected = learner.fit(X, Y.astype(int)).predict_proba(X)
    for form in (Y, Y.astype(object), UnknownLabels(Y, np.zeros(Y.shape))):
        np.testing.assert_array_equal(learner.fit(X, form).predict_proba(X), expected)


@pytest.mark.usefixtures("data_folder")
def test_yeast_with_hidden_labels():
    """Half of what python -m benchmarks unknown_labels measures, and what it found."""
    data = plurilabel.datasets.load("yeast")
    X, X_test, Y, Y_test = data.holdout()
    scaler = StandardScaler().fit(X)
    X, X_test = scaler.transform(X), scaler.transform(X_test)
    for learner in (MLkNN(10), BinaryRelevance(LogisticRegression(C=0.1, max_iter=200))):

        def ap(y):
            return average_precision(Y_test, learner.fit(X, y).predict_proba(X_test))  # noqa: B023

        for share, loss, gain in ((0.3, 0.01, 0.003), (0.7, 0.03, 0.008)):
            hidden = [np.random.default_rng(seed).random(Y.shape) < share for seed in range(3)]
            known = np.mean([ap(np.where(some, np.nan, Y)) for some in hidden])
            as_zero = np.mean([ap(np.where(some, 0, Y)) for some in hidden])
            assert known > ap(Y) - loss
            assert known > as_zero + gain
