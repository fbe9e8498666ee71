"""Every learner that AutoClassifier tries by default can be exported, and answers the same."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

pytest.importorskip("onnx", reason="graphs are written with onnx")
pytest.importorskip("onnxruntime", reason="graphs are run by onnxruntime")

from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from plurilabel import (
    AutoClassifier,
    BinaryRelevance,
    CalibratedClassifier,
    ExpectedF,
    ImputedLabels,
    KernelRegressions,
    LabelPowerset,
    MLkNN,
    MLRandomForest,
    OneVsAllLinear,
    RankSVM,
    SeenSets,
    TableEncoder,
    ThresholdClassifier,
)
from plurilabel.io import word_features
from plurilabel.models import load_model, not_exportable, save_model, to_onnx, train
from plurilabel.wrappers.automatic._pool import fit_one
from plurilabel.wrappers.automatic._portfolio import candidates, simplest
from tests.models.onnx.asked import check

N, NEW = 120, 400


def numbers(seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N + NEW, 6))
    Y = (X @ rng.normal(size=(6, 3)) + rng.normal(size=(N + NEW, 3)) > 0.5).astype(int)
    constant = np.tile([0, 1], (N + NEW, 1))  # a label in no row, and one in all
    return X, np.hstack([Y, constant])


def words(seed=0):
    rng = np.random.default_rng(seed)
    # dense enough for neighbours with words in common: the others are at one distance but for the
    # last bit, which the graph does not follow beyond its candidates
    X = sparse.csr_array(rng.random((N + NEW, 40)) * (rng.random((N + NEW, 40)) < 0.3))
    return X, (X @ rng.normal(size=(40, 4)) > 0.3).astype(int)


def small(learner):
    """The learner with few trees, which are as good for a comparison."""
    sizes = [name for name in learner.get_params() if name.endswith("n_estimators")]
    epochs = [name for name in learner.get_params() if name.endswith("max_iter")]
    return learner.set_params(**dict.fromkeys(sizes, 7), **dict.fromkeys(epochs, 20))


def portfolio():
    for kind, (X, Y) in {"dense": numbers(), "sparse": words()}.items():
        tried = [*candidates(X[:N], Y[:N], "full", 0), *simplest(X, 0)]
        for one in tried:
            yield pytest.param(kind, one.estimator, id=f"{kind}: {one.name}")
        for loss in ("squared_hinge", "logistic"):
            yield pytest.param(kind, OneVsAllLinear(loss=loss), id=f"{kind}: one vs all, {loss}")
        yield pytest.param(kind, KernelRegressions(), id=f"{kind}: kernel regressions")


@pytest.mark.parametrize(("kind", "learner"), list(portfolio()))
def test_every_member(kind, learner):
    X, Y = numbers() if kind == "dense" else words()
    assert not_exportable(learner) == ""
    fitted = fit_one(small(learner), X[:N], Y[:N])
    check(fitted, X[N:], label_names=[f"l{j}" for j in range(Y.shape[1])])


@pytest.mark.parametrize(
    "learner",
    [
        BinaryRelevance(make_pipeline(StandardScaler(), LogisticRegression())),
        *(BinaryRelevance(SVC(kernel=kernel)) for kernel in ("linear", "poly", "sigmoid")),
        LabelPowerset(LinearSVC()),
        LabelPowerset(OneVsAllLinear()),
        LabelPowerset(OneVsAllLinear(loss="logistic")),
        LabelPowerset(SVC(), decision="marginal"),
        LabelPowerset(LogisticRegression(), decision="marginal"),
        RankSVM(kernel="linear"),
        RankSVM(kernel="poly", degree=2, threshold=None),
        *(CalibratedClassifier(MLkNN(5), way, cv=2) for way in ("sigmoid", "temperature")),
        CalibratedClassifier(BinaryRelevance(LinearSVC()), min_count=200, cv=2),
        ThresholdClassifier(MLkNN(5), ExpectedF(), cv=2),
        ThresholdClassifier(MLkNN(5), ExpectedF(empty=1.0), cv=2),
        ThresholdClassifier(MLkNN(5), SeenSets(lift=0.5), cv=2),
        ThresholdClassifier(BinaryRelevance(LinearSVC()), SeenSets("hamming", cut=0.0), cv=2),
    ],
    ids=repr,
)
def test_other_learners(learner):
    X, Y = numbers()
    check(learner.fit(X[:N], Y[:N]), X[N:])
    check(learner.fit(X[:N], Y[:N, :1]), X[N:])  # one label


def test_one_label_set_and_two():
    X, _ = numbers()
    two = np.tile([[1, 0], [0, 1]], (N // 2, 1))
    for Y in (np.ones((N, 2), int), np.zeros((N, 2), int), two):
        for estimator in (SVC(), LogisticRegression(), OneVsAllLinear()):
            check(LabelPowerset(estimator).fit(X[:N], Y), X[N:])


def test_unknown_labels():
    X, Y = numbers()
    Y = Y[:N].astype(float)
    Y[::7, 1] = np.nan
    check(ImputedLabels(MLRandomForest(5, random_state=0)).fit(X[:N], Y), X[N:])
    check(BinaryRelevance(LogisticRegression()).fit(X[:N], Y), X[N:])


# whole models -------------------------------------------------------------------------------

WORDS = [
    "red", "blue", "Green", "sun", "sea", "MOON", "house", "tree", "river", "song", "café",
    "naïve", "Über", "data", "Straße",
]  # fmt: skip
LEARNERS = [
    MLkNN(5, metric="cosine"),
    OneVsAllLinear(loss="logistic"),
    LabelPowerset(LinearSVC()),
    MLRandomForest(10, random_state=0),
]


def table(n, seed=0):
    """Text, numbers with gaps, categories, dates and vectors; a column is called as an output."""
    rng = np.random.default_rng(seed)
    topic, gaps = rng.integers(0, 3, n), rng.random((4, n)) < 0.1
    days = pd.to_datetime("2015-01-01") + pd.to_timedelta(rng.integers(0, 10**8, n), unit="s")
    text = [" ".join(rng.choice(WORDS[5 * t :], size=rng.integers(5, 12))) + "." for t in topic]
    frame = pd.DataFrame(
        {
            "text": pd.Series(text).mask(gaps[0]),
            "price": np.where(gaps[1], np.nan, rng.normal(topic)),
            "country": pd.Series(rng.choice(["fr", " us", "de ", "it"], n)).mask(gaps[2]),
            "labels": pd.Series(days).mask(gaps[3]),
            "vector": list(rng.normal(size=(n, 3))),
        }
    )
    tags = {"a": topic == 0, "b": topic < 2, "c": frame["price"] > 1, "d": days.month > 6}
    return frame, pd.DataFrame(tags).astype(int)


@pytest.fixture(scope="module")
def new():
    return table(NEW, seed=1)[0]


@pytest.mark.parametrize("measure", ["micro_f1", "f1", "subset_accuracy", "macro_f1"])
def test_automatic_choice_for_a_table(measure, new):
    frame, Y = table(150)
    model = AutoClassifier(measure, portfolio=LEARNERS, cv=2, random_state=0).fit(frame, Y)
    check(model, new)
    check(model, new[:1])


def test_portfolio_for_a_table(new):
    frame, Y = table(120)
    check(AutoClassifier(portfolio="quick", cv=2, random_state=0).fit(frame, Y), new)
    texts = AutoClassifier(portfolio="quick", cv=2, random_state=3)  # which takes parts of words
    check(texts.fit(frame["text"].fillna(""), Y), new["text"])
    check(AutoClassifier().fit(frame[:20], Y[:20]), new)  # too few to compare anything


def test_words_and_parts_of_words(new):
    frame, Y = table(120)
    encoder = TableEncoder(words=word_features(ngrams=2, stop_words=["sea"], subwords=True))
    check(make_pipeline(encoder, MLRandomForest(10, random_state=0)).fit(frame, Y), new)


def test_train_and_files(new, tmp_path):
    pytest.importorskip("skops", reason="model files need skops")
    frame, Y = table(150)
    model = train(frame, Y, quick=True, exportable=True)
    save_model(model, tmp_path / "m.skops")
    check(load_model(tmp_path / "m.skops").estimator, new)


def test_the_member_that_cannot_be_exported_is_named():
    X, Y = numbers()
    other = ("five neighbours", KNeighborsClassifier(5))
    model = AutoClassifier(portfolio=[other], cv=2).fit(X[:N], Y[:N])
    with pytest.raises(
        ValueError, match="'five neighbours' cannot be exported: KNeigh.*--exportable.*leave_out="
    ):
        to_onnx(model)
    options = {"cv": 2, "leave_out": not_exportable, "random_state": 0}
    chosen = AutoClassifier(portfolio=[other, MLkNN(5)], **options).fit(X[:N], Y[:N])
    assert chosen.names_ == ["MLkNN(n_neighbors=5)"]
    to_onnx(chosen)
    with pytest.raises(ValueError, match="leave_out must leave a learner to try, got none of 1"):
        AutoClassifier(portfolio=[other], **options).fit(X[:N], Y[:N])


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"learner": BinaryRelevance(GaussianNB())}, "GaussianNB cannot be exported"),
        ({"learner": "BinaryRelevance(GaussianNB)"}, "GaussianNB cannot be exported"),
        ({"learner": "MLkNN", "threshold": "pcut"}, "PCut cannot be exported"),
    ],
)
def test_exportable_is_checked_before_any_work(options, what):
    X, Y = numbers()
    steps = []
    with pytest.raises(ValueError, match=what):
        train(X, Y, exportable=True, progress=steps.append, **options)
    assert steps == []
