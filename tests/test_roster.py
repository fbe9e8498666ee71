"""Every learner of the roster: scikit-learn's checks, ours, and what the roster says of it."""

import importlib
import inspect
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.utils.estimator_checks import parametrize_with_checks

import plurilabel
from plurilabel import MultiLabelClassifier, ThresholdClassifier
from plurilabel._core.roster import FAMILIES, estimators, learners
from plurilabel.evaluation import MULTILABEL_CHECKS
from plurilabel.evaluation._checks import _data
from plurilabel.learners import make_learner
from plurilabel.thresholds import strategy_names

PACKAGES = sorted(
    path.parent.name for path in Path(plurilabel.__file__).parent.glob("[a-z]*/__init__.py")
)
OURS = {check.__name__ for check in MULTILABEL_CHECKS}
FORMS = {
    text: reasons
    for entry in learners().values()
    if not entry.needs or importlib.util.find_spec(entry.needs)
    for text, reasons in entry.checked.items()
}
ESTIMATORS = {text: make_learner(text) for text in FORMS}
TEXT_OF = {id(estimator): text for text, estimator in ESTIMATORS.items()}


def theirs(estimator):
    """The checks of scikit-learn's that an estimator must fail, and why."""
    reasons = FORMS[TEXT_OF[id(estimator)]]
    return {name: why for name, why in reasons.items() if name not in OURS}


@parametrize_with_checks(list(ESTIMATORS.values()), expected_failed_checks=theirs)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


# scikit-learn 1.8 deprecates n_jobs of LogisticRegression, which check_n_jobs sets
@pytest.mark.filterwarnings("ignore:.*n_jobs.*:FutureWarning")
@pytest.mark.parametrize("check", MULTILABEL_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("text", FORMS)
def test_multilabel_checks(text, check):
    if check.__name__ in FORMS[text]:
        with pytest.raises(AssertionError):
            check(ESTIMATORS[text])
    else:
        check(ESTIMATORS[text])


@pytest.mark.parametrize("text", FORMS)
def test_every_strategy_can_cut_every_learner(text):
    X, Y = _data(ESTIMATORS[text])
    fitted = clone(ESTIMATORS[text]).fit(X, Y)
    for strategy in strategy_names():
        wrapped = ThresholdClassifier(fitted, strategy, cv="prefit")
        if strategy == "expected_f" and not hasattr(fitted, "predict_proba"):
            with pytest.raises(ValueError, match="scores must be probabilities"):
                wrapped.fit(X, Y).predict(X)
        else:
            predicted = wrapped.fit(X, Y).predict(X)
            assert predicted.shape == Y.shape and np.isin(predicted, (0, 1)).all()


def test_every_public_learner_is_on_the_roster():
    found = {
        name
        for package in FAMILIES
        for name, value in vars(importlib.import_module(f"plurilabel.{package}")).items()
        if isinstance(value, type)
        and issubclass(value, MultiLabelClassifier)
        and not inspect.isabstract(value)
    }
    # wrapped around every learner above, and around those that know a hierarchy
    found -= {"ThresholdClassifier", "HierarchicalClassifier"}
    assert found == learners().keys()


@pytest.mark.parametrize("name", learners())
def test_a_learner_is_found_where_it_is_said_to_be(name):
    entry = learners()[name]
    found = getattr(plurilabel, name)
    assert found is entry.find()
    assert found.__module__ == "plurilabel"
    assert all(text.startswith(f"{name}(") for text in entry.checked)


@pytest.mark.parametrize("name", learners())
def test_a_learner_has_a_page_and_a_test(name):
    root = Path(__file__).parents[1]
    assert (root / "docs" / "learners" / f"{name}.md").is_file()


def test_packages_are_found_without_being_imported_first():
    for name in PACKAGES:
        assert getattr(plurilabel, name).__name__ == f"plurilabel.{name}"
    assert {"MLkNN", "learners", "ThresholdClassifier"} <= set(dir(plurilabel))
    with pytest.raises(AttributeError, match="no attribute 'MLkNNN'"):
        _ = plurilabel.MLkNNN


@pytest.mark.parametrize("name", estimators())
def test_every_estimator_is_at_the_top(name):
    found = getattr(plurilabel, name)
    assert issubclass(found, BaseEstimator)
    assert (found.__module__, found.__qualname__) == ("plurilabel", name)


def test_public_names_are_addresses():
    """What a package offers says that it is from there, not from a private file."""
    for package in PACKAGES:
        module = importlib.import_module(f"plurilabel.{package}")
        for name in module.__all__:
            if name not in vars(module) and find_spec("torch") is None:
                continue  # loaded on demand, and needs torch
            value = getattr(module, name)
            if name in estimators():
                assert value.__module__ == "plurilabel", name
            elif inspect.isclass(value) or inspect.isfunction(value):
                assert value.__module__ == f"plurilabel.{package}", name
            if inspect.isclass(value) and issubclass(value, BaseEstimator):
                assert name in estimators()
