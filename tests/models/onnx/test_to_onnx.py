"""Exported graphs answer as the models do: run by onnxruntime, on generated and real data."""

import json
import sys
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.compose import make_column_transformer
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.feature_selection import SelectKBest, VarianceThreshold
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Perceptron, RidgeClassifier, SGDClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    PolynomialFeatures,
    RobustScaler,
    StandardScaler,
)
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

pytest.importorskip("onnx", reason="graphs are written with onnx")
pytest.importorskip("onnxruntime", reason="graphs are run by onnxruntime")

import onnxruntime

from plurilabel import (
    HOMER,
    BinaryRelevance,
    BRkNN,
    CalibratedClassifier,
    CardinalityThreshold,
    ClassifierChain,
    DWMLkNN,
    EnsembleOfChains,
    ExactIndex,
    MLDecisionTree,
    MLkNN,
    MLkNNCV,
    MLRandomForest,
    ThresholdClassifier,
    datasets,
)
from plurilabel.models import to_onnx
from plurilabel.models.onnx import _to_onnx
from tests.models.onnx.asked import check

LOGISTIC = LogisticRegression()
N, D = 150, 6


@pytest.fixture(scope="module")
def data():
    """Training rows, their labels (one in no row, one in all), and rows to ask about."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2 * N, D))
    X[:, 3] = rng.integers(0, 3, 2 * N)
    Y = (X @ rng.normal(size=(D, 4)) + rng.normal(size=(2 * N, 4)) > 0.7).astype(int)
    Y = np.hstack([Y, np.zeros((2 * N, 1), int), np.ones((2 * N, 1), int)])
    return X[:N], Y[:N], X[N:]


@pytest.mark.parametrize("transformation", [BinaryRelevance, ClassifierChain])
@pytest.mark.parametrize(
    "estimator",
    [
        LOGISTIC,
        LinearSVC(),
        RidgeClassifier(),
        RidgeClassifier(fit_intercept=False),
        SGDClassifier(random_state=0),
        SGDClassifier(loss="log_loss", random_state=0),
        Perceptron(random_state=0),
        DecisionTreeClassifier(random_state=0),
        RandomForestClassifier(5, random_state=0),
        ExtraTreesClassifier(5, random_state=0),
    ],
    ids=repr,
)
def test_transformations(transformation, estimator, data):
    X, Y, new = data
    check(transformation(estimator).fit(X, Y), new, atol=1e-11)


@pytest.mark.parametrize(
    "learner",
    [
        BinaryRelevance(LOGISTIC, nonempty=True),
        ClassifierChain(LOGISTIC, order="random", cv=2, random_state=1),
        ClassifierChain(LOGISTIC, chain_method="predict_proba"),
        ClassifierChain(LOGISTIC, chain_method="predict_log_proba"),
        ClassifierChain(LOGISTIC, chain_method="decision_function"),
        EnsembleOfChains(LOGISTIC, n_estimators=3, random_state=0),
        EnsembleOfChains(LinearSVC(), n_estimators=3, random_state=0, voting="hard"),
    ],
    ids=repr,
)
def test_variants_of_transformations(learner, data):
    X, Y, new = data
    check(learner.fit(X, Y), new, atol=1e-8)


@pytest.mark.parametrize(
    "learner",
    [
        MLDecisionTree(random_state=0),
        MLDecisionTree(criterion="gini", max_depth=3, random_state=0),
        MLRandomForest(7, random_state=0),
        MLRandomForest(7, criterion="gini", extra_trees=True, random_state=0),
    ],
    ids=repr,
)
def test_trees_are_the_same_bit_by_bit(learner, data):
    X, Y, new = data
    check(learner.fit(X, Y), new, atol=0)
    gaps = np.random.default_rng(1).random(X.shape) < 0.1
    check(learner.fit(np.where(gaps, np.nan, X), Y), np.where(gaps, np.nan, new), atol=0)


def test_a_threshold_between_single_precision_numbers():
    """Rounded to the nearest float32, the threshold would be that of the row above it."""
    low = np.float32(1.0)
    high = np.nextafter(low, np.float32(2))
    X = np.array([[low], [high], [low], [high]], dtype=np.float64)
    tree = MLDecisionTree().fit(X, [[0], [1], [0], [1]])
    check(tree, X, atol=0)
    check(MLDecisionTree().fit(X, [[0], [0], [0], [0]]), X, atol=0)  # nothing but a root


@pytest.mark.parametrize(
    "learner",
    [
        MLkNN(),
        MLkNN(3, metric="minkowski"),
        MLkNNCV(range(1, 6)),
        DWMLkNN(4),
        BRkNN(5),
        MLkNN(index=ExactIndex("l2")),
    ],
    ids=repr,
)
def test_neighbors_are_the_same_bit_by_bit(learner, data):
    X, Y, new = data
    check(learner.fit(X, Y), new, atol=0)
    check(learner.fit(sparse.csr_array(X), sparse.csr_array(Y)), new[:3], atol=0)


def test_ties_go_to_the_lower_row(data):
    X, Y, new = data
    check(MLkNN(5).fit(np.round(X), Y), np.round(new), atol=0)  # many equal distances
    check(MLkNN(7).fit(np.repeat(X[:30], 5, axis=0), Y), np.vstack([X, new]), atol=0)
    tenths = MLkNN(5).fit(np.round(X, 1) + 1e6, Y)  # far from 0, where products lose digits
    check(tenths, np.round(new, 1) + 1e6, atol=0)
    check(MLkNN(5).fit(X.astype(np.float32), Y), new, atol=0)
    few = MLkNN(2).fit(X[:3], Y[:3])  # fewer rows than candidates
    check(few, new, atol=0)


@pytest.mark.parametrize("activation", ["tanh", "relu", "logistic", "identity"])
@pytest.mark.parametrize("loss", ["bpmll", "cross-entropy"])
@pytest.mark.parametrize("threshold", ["linear", None])
def test_network(activation, loss, threshold, data):
    pytest.importorskip("torch", reason="BPMLL needs torch")
    from plurilabel import BPMLL

    X, Y, new = data
    learner = BPMLL(
        (5, 4), activation=activation, loss=loss, threshold=threshold, max_iter=2, random_state=0
    )
    check(learner.fit(X, Y), new, atol=1e-11)


@pytest.mark.parametrize(
    "strategy", ["constant", "cardinality", "global", "linear", "mcut", "rcut", "scut"]
)
@pytest.mark.parametrize("nonempty", [False, True])
def test_cuts(strategy, nonempty, data):
    X, Y, new = data
    for learner in (MLkNN(5), BinaryRelevance(LinearSVC())):
        check(ThresholdClassifier(learner, strategy, cv=2, nonempty=nonempty).fit(X, Y), new)


@pytest.mark.parametrize(
    "step",
    [
        StandardScaler(),
        StandardScaler(with_mean=False),
        MinMaxScaler(clip=True),
        MaxAbsScaler(),
        RobustScaler(),
        Normalizer(),
        Normalizer("l1"),
        Normalizer("max"),
        VarianceThreshold(),
        SelectKBest(lambda X, _: X.var(axis=0), k=3),
        make_pipeline(StandardScaler(), "passthrough", MinMaxScaler()),
        make_column_transformer((StandardScaler(), [0, 2]), ("passthrough", slice(3, 5))),
        make_column_transformer((MinMaxScaler(), [-1]), ("passthrough", [True, False] * 3)),
    ],
    ids=lambda step: type(step).__name__,
)
def test_steps(step, data):
    X, Y, new = data
    check(make_pipeline(step, MLkNN(5)).fit(X, Y), new)


@pytest.mark.parametrize(
    "imputer",
    [
        SimpleImputer(),
        SimpleImputer(strategy="median", add_indicator=True),
        SimpleImputer(strategy="constant", fill_value=-1.0),
        SimpleImputer(missing_values=0.0, strategy="most_frequent"),
        SimpleImputer(keep_empty_features=True),
    ],
    ids=repr,
)
def test_missing_values(imputer, data):
    X, Y, new = data
    lost = imputer.missing_values
    gaps = np.random.default_rng(1).random(X.shape) < 0.1
    X, new = np.where(gaps, lost, X), np.where(gaps, lost, new)
    X[:, 2] = X[:, 2] if lost == 0 else lost
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a column without a value
        check(make_pipeline(imputer, StandardScaler(), MLkNN(5)).fit(X, Y), new)


def test_frames_searches_and_names(data):
    pd = pytest.importorskip("pandas")
    X, Y, new = data
    frame = pd.DataFrame(X, columns=list("abcdef"))
    labels = pd.DataFrame(Y, columns=["sea", "sun", "ö", "x y", "never", "always"])
    columns = make_column_transformer(
        (StandardScaler(), ["c", "a"]), ("passthrough", slice("d", "f")), ("drop", ["b"])
    )
    search = GridSearchCV(
        make_pipeline(columns, MLkNN()), {"mlknn__n_neighbors": [3, 5]}, cv=2
    ).fit(frame, labels)
    graph = to_onnx(search)
    session = onnxruntime.InferenceSession(graph.SerializeToString())
    told = session.get_modelmeta().custom_metadata_map
    assert json.loads(told["label_names"]) == list(labels.columns)
    assert json.loads(told["feature_names"]) == list("abcdef")
    assert (told["score_method"], told["cut"]) == ("predict_proba", "0.5")
    scores, found, names = session.run(None, {"X": new})
    assert names.tolist() == list(labels.columns)
    asked_about = pd.DataFrame(new, columns=list("abcdef"))
    np.testing.assert_array_equal(found, search.predict(asked_about))
    np.testing.assert_allclose(scores, search.predict_proba(asked_about), atol=1e-12)


def test_a_single_label_and_labels_that_never_vary(data):
    X, Y, new = data
    for some in (Y[:, :1], Y[:, -2:]):
        check(ClassifierChain(LOGISTIC).fit(X, some), new)
        check(BinaryRelevance(LinearSVC()).fit(X, some), new)
        check(MLRandomForest(3).fit(X, some), new)


@pytest.mark.parametrize("scale", [1e-200, 1e-140, 1e140])
def test_huge_and_tiny_values(scale, data):
    X, Y, new = data
    check(MLkNN(3).fit(X * scale, Y), new * scale, atol=0)
    check(MLkNN(3, metric="cosine").fit(X * scale, Y), new * scale, atol=0)


def test_any_number_of_rows(data):
    X, Y, new = data
    for learner in (MLkNN(), MLRandomForest(3), BinaryRelevance(LOGISTIC)):
        learner.fit(X, Y[:, :1])
        graph = to_onnx(learner).SerializeToString()
        session = onnxruntime.InferenceSession(graph)
        whole = session.run(["scores"], {"X": new})[0]
        assert whole.shape == (len(new), 1)
        for i in (0, 7):
            one = session.run(["scores"], {"X": new[i : i + 1]})[0]
            np.testing.assert_allclose(one, whole[i : i + 1], atol=1e-12)


def test_file(data, tmp_path):
    X, Y, new = data
    learner = MLkNN().fit(X, Y)
    to_onnx(learner, tmp_path / "m.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "m.onnx")
    np.testing.assert_array_equal(session.run(["labels"], {"X": new})[0], learner.predict(new))
    assert [path.name for path in tmp_path.iterdir()] == ["m.onnx"]


@pytest.mark.parametrize("name", ["emotions", "yeast"])
def test_real_data(name, data_folder):
    data = datasets.load(name)
    X, Y, new = data.X[data.train], data.Y[data.train], data.X[data.test]
    for learner in (
        MLkNN(),
        MLRandomForest(20, criterion="gini", random_state=0),
        make_pipeline(StandardScaler(), BinaryRelevance(LogisticRegression(max_iter=300))),
        make_pipeline(MinMaxScaler(), ClassifierChain(RidgeClassifier())),
        ThresholdClassifier(MLkNN(), "scut", cv=2),
    ):
        check(learner.fit(X, Y), new)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (HOMER(LOGISTIC), "HOMER cannot be exported.* BPMLL, .*MLkNN"),
        (BinaryRelevance(GaussianNB()), "GaussianNB cannot .* DecisionTree.*LinearSVC"),
        (BinaryRelevance(SGDClassifier(loss="modified_huber")), "loss='log_loss' only"),
        (ClassifierChain(LOGISTIC, inference="beam"), "inference='greedy' for ONNX, got 'beam'"),
        (MLkNN(metric="manhattan"), "cosine metric for ONNX, got 'manhattan'"),
        (BRkNN(variant="a"), "variant=None"),
        (CalibratedClassifier(MLkNN(), "beta", cv=2), "cannot be exported with method='beta'"),
        (ThresholdClassifier(MLkNN(), "pcut"), "PCut cannot be exported.* MCut, RCut, SCut"),
        (
            ThresholdClassifier(MLkNN(), CardinalityThreshold(batch=True)),
            "depends on other rows",
        ),
        (make_pipeline(PolynomialFeatures(), MLkNN()), "PolynomialFeatures .* StandardScaler"),
    ],
    ids=lambda given: given if isinstance(given, str) else "",
)
def test_what_cannot_be_exported(model, message, data):
    X, Y, _ = data
    with pytest.raises(ValueError, match=message):
        to_onnx(model.fit(X, Y))


def test_other_inputs_that_cannot_be_exported(data, monkeypatch):
    X, Y, _ = data
    with pytest.raises(ValueError, match="single-label model"):
        to_onnx(MLkNN().fit(X, Y[:, 0]))
    with pytest.raises(ValueError, match="unknown labels"):
        to_onnx(MLkNN().fit(X, np.where(np.arange(N)[:, None] % 9 == 0, np.nan, Y)))
    monkeypatch.setattr(_to_onnx, "LARGEST", 1000)
    with pytest.raises(ValueError, match="exceeds 1"):
        to_onnx(MLkNN().fit(X, Y))


def test_columns_of_a_pipeline(data):
    pd = pytest.importorskip("pandas")
    _, Y, _ = data
    frame = pd.DataFrame(
        {"note": ["a sea", "b sun", "red sea", ""], "size": [1.0, 2, 3, 2], "Add_9": list("xyxz")}
    )
    columns = make_column_transformer(
        (TfidfVectorizer(), "note"), (StandardScaler(), ["size"]),
        (OneHotEncoder(handle_unknown="ignore"), ["Add_9"]),
    )  # fmt: skip
    check(make_pipeline(columns, MLkNN(1)).fit(frame[:3], Y[:3]), frame)
    texts = make_pipeline(TfidfVectorizer(), MLkNN(1)).fit(frame["note"], Y[:4])
    check(texts, frame["note"].tolist())
    dropped = make_column_transformer((OneHotEncoder(drop="first"), ["Add_9"]))
    with pytest.raises(ValueError, match="column 'Add_9' cannot be exported: .* drop"):
        to_onnx(make_pipeline(dropped, MLkNN(1)).fit(frame, Y[:4]))


def test_onnx_is_missing(data, monkeypatch):
    X, Y, _ = data
    learner = MLkNN().fit(X, Y)

    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match=r"pip install 'plurilabel\[onnx\]'"):
        to_onnx(learner)
