"""Names of labels as a prior that fades."""

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline

from plurilabel import (
    FunctionEncoder,
    LabelDescriptions,
    MLkNN,
    OneVsAllLinear,
    load,
    save,
)
from plurilabel.io import word_features
from plurilabel.model_selection import IterativeStratifiedKFold
from plurilabel.models import Model

WORDS = ("cat", "bank", "rain", "goal")
NAMES = ["pets", "money", "weather", "sports"]
DESCRIBED = dict(zip(NAMES, WORDS))


def counts(texts):
    """How often each word occurs: a text about cats is close to the description "cat"."""
    return [[text.split().count(word) + 0.01 for word in WORDS] for text in texts]


def make_texts(n, seed):
    rng = np.random.default_rng(seed)
    Y = rng.random((n, 4)) < 0.3
    noise = [f"w{i}" for i in range(50)]
    texts = [
        " ".join([word for word, on in zip(WORDS, row) if on] + list(rng.choice(noise, 6)))
        for row in Y
    ]
    return texts, pd.DataFrame(Y.astype(int), columns=NAMES)


TEXTS, Y = make_texts(24, 0)
NEW, Y_NEW = make_texts(100, 1)
ENCODER = FunctionEncoder(counts)
PLAIN = make_pipeline(word_features(), OneVsAllLinear(loss="logistic"))


def slow_similarities(texts, train):
    """Cosines with the descriptions, standardised over the training texts."""

    def cosines(some):
        A, B = np.array(counts(some)), np.array(counts(WORDS))
        return np.array([[a @ b / np.sqrt(a @ a * (b @ b)) for b in B] for a in A])

    return (cosines(texts) - cosines(train).mean(axis=0)) / cosines(train).std(axis=0)


def test_log_odds_from_the_definition():
    model = LabelDescriptions(clone(PLAIN), DESCRIBED, encoder=ENCODER, cv=3).fit(TEXTS, Y)
    P = np.zeros(Y.shape)
    for train, test in IterativeStratifiedKFold(3).split(np.zeros(24), Y.to_numpy()):
        fold = clone(PLAIN).fit([TEXTS[i] for i in train], Y.iloc[train])
        P[test] = fold.predict_proba([TEXTS[i] for i in test])
    positives, truth = Y.to_numpy().sum(axis=0), Y.to_numpy()
    # the line that makes the labels most likely
    t, signs = slow_log_odds(P), np.where(truth == 1, 1, -1)
    slope, intercept = minimize(
        lambda line: np.log1p(np.exp(-signs * (line[0] * t + line[1]))).sum(), [1.0, 0.0]
    ).x
    np.testing.assert_allclose([model.slope_, model.intercept_], [slope, intercept], rtol=1e-3)
    total, weights = 0.0, np.zeros(4)
    for w in (0, 0.25, 0.5, 1, 1.5, 2):
        for k in (1, 3, 10, 30, 100, 300):
            fading = w * k / (positives + k)
            p = expit(slope * t + intercept + fading * slow_similarities(TEXTS, TEXTS))
            likelihood = np.prod(np.where(truth == 1, p, 1 - p))
            total, weights = total + likelihood, weights + likelihood * fading
    weights /= total
    np.testing.assert_allclose(model.weights_, weights, rtol=1e-3)
    assert model.weights_.min() > 0
    odds = slope * slow_log_odds(clone(PLAIN).fit(TEXTS, Y).predict_proba(NEW)) + intercept
    expected = expit(odds + weights * slow_similarities(NEW, TEXTS))
    np.testing.assert_allclose(model.predict_proba(NEW), expected, rtol=1e-2)


def slow_log_odds(P):
    """Of probabilities that 24 texts justify."""
    P = (24 * P + 0.5) / 25
    return np.log(P / (1 - P))


@pytest.mark.parametrize("texts", [TEXTS[:1], TEXTS[:1] * 5])
def test_equal_texts_tell_nothing_about_similarities(texts):
    model = LabelDescriptions(descriptions=DESCRIBED, encoder=ENCODER)
    with pytest.raises(ValueError, match="X must hold texts that differ"):
        model.fit(texts, None)


def test_descriptions_help_with_few_rows():
    plain = clone(PLAIN).fit(TEXTS, Y)
    described = LabelDescriptions(clone(PLAIN), DESCRIBED, encoder=ENCODER).fit(TEXTS, Y)
    wrong = [(m.predict(NEW) != Y_NEW.to_numpy()).mean() for m in (plain, described)]
    assert wrong[1] < 0.6 * wrong[0]


def test_without_labels():
    model = LabelDescriptions(descriptions=DESCRIBED, encoder=ENCODER).fit(TEXTS, None)
    expected = expit(np.log(1 / 4) + 2 * slow_similarities(NEW, TEXTS))
    np.testing.assert_allclose(model.predict_proba(NEW), expected, rtol=1e-4)
    assert model.label_names_.tolist() == NAMES and model.predict(NEW).shape == (100, 4)


def test_useless_descriptions_weigh_nothing_and_change_nothing():
    texts, labels = make_texts(300, 2)
    shuffled = dict(zip(NAMES, ("w1", "w2", "w3", "w4")))
    model = LabelDescriptions(clone(PLAIN), shuffled, encoder=ENCODER, cv=3).fit(texts, labels)
    plain = clone(PLAIN).fit(texts, labels)
    if not model.weights_.any():
        np.testing.assert_allclose(model.predict_proba(NEW), plain.predict_proba(NEW), atol=1e-4)
    assert (model.predict(NEW) == plain.predict(NEW)).mean() > 0.98


@pytest.mark.parametrize("inner", [OneVsAllLinear(), MLkNN(3)])
def test_decision_values_and_neighbours(inner):
    learner = make_pipeline(word_features(), inner)
    model = LabelDescriptions(learner, DESCRIBED, encoder=ENCODER, cv=3).fit(TEXTS, Y)
    assert model.slope_ > 0
    assert (model.predict(NEW) == Y_NEW.to_numpy()).mean() > 0.8


def test_the_column_of_text_of_a_table():
    frame = pd.DataFrame({"text": TEXTS, "n": range(24), "more": TEXTS})
    words = make_column_transformer((word_features(), "text"))
    inner = make_pipeline(words, OneVsAllLinear())
    model = LabelDescriptions(inner, DESCRIBED, encoder=ENCODER, text="text", cv=3).fit(frame, Y)
    assert model.label_vectors_.shape == (4, 4)
    with pytest.raises(ValueError, match="text must name one of the columns of text"):
        LabelDescriptions(inner, DESCRIBED, cv=3).fit(frame, Y)


@pytest.mark.parametrize(
    ("descriptions", "problem"),
    [
        (["a", "b"], "one for each of 4 labels, got 2"),
        ({"pets": "cat"}, "must name every label, got none for 'money'"),
    ],
)
def test_wrong_descriptions(descriptions, problem):
    with pytest.raises(ValueError, match=problem):
        LabelDescriptions(clone(PLAIN), descriptions, encoder=ENCODER).fit(TEXTS, Y)


def test_labels_without_names_and_rows_without_labels():
    with pytest.raises(ValueError, match="the labels of y have no names"):
        LabelDescriptions(clone(PLAIN)).fit(TEXTS, Y.to_numpy())
    with pytest.raises(ValueError, match="only texts with descriptions of the labels do without"):
        LabelDescriptions(clone(PLAIN)).fit(TEXTS, None)
    with pytest.raises(ValueError, match="estimator must be a classifier to learn from y"):
        LabelDescriptions(descriptions=DESCRIBED).fit(TEXTS, Y)


def test_a_model_file(tmp_path):
    pytest.importorskip("skops", reason="model files need skops")
    pytest.importorskip("wordllama", reason="wordllama is not installed")
    for model in (
        LabelDescriptions(clone(PLAIN), cv=3).fit(TEXTS, Y),
        LabelDescriptions(descriptions=DESCRIBED).fit(TEXTS, None),
    ):
        save(Model(model, tuple(NAMES), ("text",)), tmp_path / "m.skops")
        loaded = load(tmp_path / "m.skops").estimator
        np.testing.assert_array_equal(loaded.predict_proba(NEW), model.predict_proba(NEW))
