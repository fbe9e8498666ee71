"""Every learner of the roster: scikit-learn's checks, ours, and what the roster says about it."""

import importlib
import inspect
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.utils.estimator_checks import estimator_checks_generator

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
ENTRIES = [e for e in learners().values() if not e.needs or find_spec(e.needs)]
FORMS = {text: reasons for entry in ENTRIES for text, reasons in entry.checked.items()}
FIRST_FORMS = [next(iter(entry.checked)) for entry in ENTRIES]
ESTIMATORS = {text: make_learner(text) for text in FORMS}
# What depends on the algorithm. All other checks are about the class and its door, which further
# forms share; test_metamorphic.py passes float32, read-only and sparse input to every form.
OF_EVERY_FORM = (
    "check_all_zero_sample_weights_error",
    "check_classifiers_classes",
    "check_classifiers_multilabel_output_format",
    "check_classifiers_one_label",
    "check_classifiers_train",
    "check_decision_proba_consistency",
    "check_dict_unchanged",
    "check_estimators_pickle",
    "check_fit2d_1",
    "check_fit_idempotent",
    "check_methods_sample_order_invariance",
    "check_methods_subset_invariance",
    "check_non_transformer_estimators_n_iter",
    "check_sample_weight",
)
REPEATED = (  # the same again in other containers, which the door converts
    ("check_classifiers_train", {"readonly_memmap": True}),
    ("check_classifiers_train", {}),  # harder: both, in float32
    ("check_estimator_sparse_matrix", {}),
)
OF_THE_DOOR = ("check_label_names", "check_label_types", "check_clone_and_pickle")


def scikit_learn_checks():
    for text, estimator in ESTIMATORS.items():
        for _, check in estimator_checks_generator(estimator):
            name, options = check.func.__name__, check.keywords
            if text in FIRST_FORMS:
                needed = (name, options) not in REPEATED
            else:
                needed = name.startswith(OF_EVERY_FORM) and not options
            why = FORMS[text].get(name)
            if needed or why:
                marks = () if why is None else pytest.mark.xfail(reason=why)
                yield pytest.param(text, check, marks=marks, id=f"{text}-{name}{options or ''}")


@pytest.mark.parametrize(("text", "check"), [*scikit_learn_checks()])
def test_scikit_learn_checks(text, check):
    check(ESTIMATORS[text])


# scikit-learn 1.8 deprecates n_jobs of LogisticRegression, which check_n_jobs sets
@pytest.mark.filterwarnings("ignore:.*n_jobs.*:FutureWarning")
@pytest.mark.parametrize(
    ("text", "check"),
    [
        pytest.param(text, check, id=f"{text}-{check.__name__}")
        for text in FORMS
        for check in MULTILABEL_CHECKS
        if text in FIRST_FORMS or check.__name__ not in OF_THE_DOOR
    ],
)
def test_multilabel_checks(text, check):
    if check.__name__ in FORMS[text]:
        with pytest.raises(AssertionError):
            check(ESTIMATORS[text])
    else:
        check(ESTIMATORS[text])


@pytest.mark.parametrize("text", FIRST_FORMS)
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
    for package in set(PACKAGES) - {"cli"}:  # which has commands, and no names
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
