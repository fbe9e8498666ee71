"""CalibratedClassifier: what is beside the roster's checks."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import cross_val_predict
from sklearn.multiclass import OneVsRestClassifier
from sklearn.neighbors import KNeighborsClassifier

from plurilabel import (
    BinaryRelevance,
    CalibratedClassifier,
    MLkNN,
    RiskControl,
    ScoreCalibrator,
    ThresholdClassifier,
    datasets,
)
from plurilabel.metrics import average_precision, expected_calibration_error, label_scores
from plurilabel.model_selection import IterativeStratifiedKFold
from plurilabel.models import Model, load_model, save_model

DATA = datasets.make_multilabel(300, 6, 4, noise=0.1, random_state=0)
X, Y = DATA.X, DATA.Y


@pytest.mark.parametrize("method", ["sigmoid", "beta", "temperature", "isotonic"])
def test_by_its_parts(method):
    model = CalibratedClassifier(MLkNN(5), method, cv=3).fit(X, Y)
    folds = IterativeStratifiedKFold(3)
    held_out = cross_val_predict(MLkNN(5), X, Y, cv=folds, method="predict_proba")
    raw = MLkNN(5).fit(X, Y).predict_proba(X)
    wanted = ScoreCalibrator(method).fit(held_out, Y).transform(raw)
    assert_allclose(model.predict_proba(X), wanted, rtol=1e-6)
    assert_array_equal(model.predict(X), wanted > 0.5)


def test_prefit():
    fitted = KNeighborsClassifier(3).fit(X[:100], Y[:100])
    model = CalibratedClassifier(fitted, cv="prefit").fit(X[100:200], Y[100:200])
    assert model.estimator_ is fitted
    before, after = label_scores(fitted, X[200:]), model.predict_proba(X[200:])
    errors = [expected_calibration_error(Y[200:], p) for p in (before, after)]
    assert errors[1] < errors[0]
    assert average_precision(Y[200:], after) > average_precision(Y[200:], before) - 0.01


def test_scores_that_are_not_probabilities():
    model = CalibratedClassifier(OneVsRestClassifier(RidgeClassifier()), cv=3).fit(X, Y)
    P = model.predict_proba(X)
    assert P.min() >= 0 and P.max() <= 1 and not model.calibrator_.probabilities_
    assert not hasattr(model, "decision_function")


def test_classes_of_a_1d_y():
    y = np.array(["a", "b", "c"])[np.arange(300) % 3]
    model = CalibratedClassifier(LogisticRegression(), cv=3).fit(X, y)
    assert_allclose(model.predict_proba(X).sum(axis=1), 1)
    assert set(model.predict(X)) <= set(y)


def test_model_file(tmp_path):
    pytest.importorskip("skops")
    for method in ("sigmoid", "isotonic"):
        model = CalibratedClassifier(MLkNN(3), method, cv=2).fit(X, Y)
        names = [f"l{j}" for j in range(4)], [f"x{j}" for j in range(6)]
        save_model(Model(model, *names), tmp_path / "m.skops")
        loaded = load_model(tmp_path / "m.skops").estimator
        assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))


def test_bad_parameters():
    with pytest.raises(ValueError, match="'method'"):
        CalibratedClassifier(MLkNN(), "platt").fit(X, Y)
    with pytest.raises(ValueError, match="'min_count'"):
        CalibratedClassifier(MLkNN(), min_count=-1).fit(X, Y)
    with pytest.raises(ValueError, match="at most n_samples=3"):
        CalibratedClassifier(MLkNN(1)).fit(X[:3], Y[:3])


@pytest.mark.parametrize(
    "wrapper",
    [
        lambda model: CalibratedClassifier(model, cv="prefit"),
        lambda model: ThresholdClassifier(model, RiskControl(0.3), cv="prefit"),
    ],
)
def test_labels_of_a_fitted_classifier_keep_their_order(wrapper):
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    Y = pd.DataFrame((X + rng.normal(size=X.shape) > 0).astype(int), columns=list("abc"))
    model = BinaryRelevance(LogisticRegression()).fit(X, Y)
    with pytest.raises(ValueError, match="in the same order, a, b, c; got c, b, a"):
        wrapper(model).fit(X, Y[list("cba")])
    with pytest.raises(ValueError, match="in the same order, a, b, c; got c, b, a"):
        model.score(X, Y[list("cba")])
    tags = [[name for name in "ab" if row[name]] for _, row in Y.iterrows()]  # none has c
    wrapped = wrapper(model).fit(X, tags)
    assert wrapped.label_names_.tolist() == ["a", "b", "c"]
    with pytest.raises(ValueError, match="'zzz' in row 0"):
        wrapper(model).fit(X, [["zzz"], *tags[1:]])
