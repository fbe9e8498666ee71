"""The names that learners written as text may use, and what they stand for."""

from __future__ import annotations

import difflib
import importlib
import inspect
from contextlib import suppress
from functools import cache
from typing import Any

from sklearn.base import BaseEstimator, ClassifierMixin

from plurilabel import adaptation, boosting, lazy, neighbors, thresholds, transformation

SKLEARN = {
    "decomposition": ("PCA", "TruncatedSVD"),
    "dummy": ("DummyClassifier",),
    "ensemble": (
        "ExtraTreesClassifier",
        "GradientBoostingClassifier",
        "HistGradientBoostingClassifier",
        "RandomForestClassifier",
    ),
    "feature_extraction.text": ("TfidfTransformer",),
    "feature_selection": ("SelectKBest", "SelectPercentile", "VarianceThreshold"),
    "impute": ("KNNImputer", "SimpleImputer"),
    "linear_model": (
        "LogisticRegression",
        "Perceptron",
        "RidgeClassifier",
        "SGDClassifier",
    ),
    "multiclass": ("OneVsRestClassifier",),
    "multioutput": ("MultiOutputClassifier",),
    "naive_bayes": ("BernoulliNB", "ComplementNB", "GaussianNB", "MultinomialNB"),
    "neighbors": ("KNeighborsClassifier",),
    "neural_network": ("MLPClassifier",),
    "preprocessing": (
        "Binarizer",
        "KBinsDiscretizer",
        "MaxAbsScaler",
        "MinMaxScaler",
        "Normalizer",
        "PolynomialFeatures",
        "PowerTransformer",
        "QuantileTransformer",
        "RobustScaler",
        "StandardScaler",
    ),
    "svm": ("SVC", "LinearSVC"),
    "tree": ("DecisionTreeClassifier", "ExtraTreeClassifier"),
}
"""What may be named of scikit-learn; its own name comes after plurilabel's of the same name."""


def learner_names() -> list[str]:
    """Names of plurilabel's learners, as :func:`make_learner` takes them.

    Examples
    --------
    >>> from plurilabel.compare import learner_names
    >>> "MLkNN" in learner_names() and "RAkEL" in learner_names()
    True
    """
    return sorted(
        (name for name in _ours() if issubclass(find_class(name), ClassifierMixin)),
        key=str.lower,
    )


def find_class(name: str) -> type:
    """The class that a name stands for, or an error that names those like it."""
    ours = _ours()
    if name in ours:
        return getattr(importlib.import_module(f"plurilabel.{ours[name]}"), name)
    theirs = _theirs()
    if name in theirs:
        return getattr(importlib.import_module(f"sklearn.{theirs[name]}"), name)
    folded = {known.lower(): known for known in (*theirs, *ours)}
    near = difflib.get_close_matches(name.lower(), folded, n=1)
    if near:
        hint = f"did you mean {folded[near[0]]}?"
    else:
        hint = f"there are {', '.join(learner_names())}, and scikit-learn's usual ones"
    raise ValueError(f"unknown learner {name!r}; {hint}")


@cache
def _ours() -> dict[str, str]:
    """Classes of plurilabel by name, and the package of each."""
    packages: list[Any] = [neighbors, thresholds, transformation, adaptation, boosting, lazy]
    with suppress(ImportError):  # a library that it needs may be missing
        packages.append(importlib.import_module("plurilabel.neural"))
    table = {}
    for package in packages:
        for name in package.__all__:
            found = vars(package).get(name)  # what is imported when asked for is none
            usable = isinstance(found, type) and issubclass(found, BaseEstimator)
            if usable and not inspect.isabstract(found):
                table[name] = package.__name__.rpartition(".")[2]
    return table


@cache
def _theirs() -> dict[str, str]:
    return {name: module for module, names in SKLEARN.items() for name in names}
