"""The roster: every learner, and what the rest of the library needs to know about it.

Each package of learners has a part, ``ROSTER``, in its ``__init__.py``. Estimator checks, command
line, model files, documentation and benchmarks read it; there is no other list of learners. The
``__module__`` of every estimator is ``plurilabel``, also in saved models, so that files can move.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import import_module
from pathlib import Path
from types import FunctionType
from typing import Any

FAMILIES = (
    "learners.lazy", "learners.transformation", "learners.adaptation", "learners.boosting",
    "learners.neural", "learners.mixtures", "learners.rules", "learners.extreme", "bags",
    "streams", "wrappers",
)  # fmt: skip
"""The packages of learners."""

PACKAGES = (
    *FAMILIES, "thresholds", "neighbors", "graded", "distributed", "io", "text", "_core.base"
)  # fmt: skip
"""The packages of all estimators: learners, thresholds, indices, other targets, base classes."""

EQUIVALENCE = (
    "check_sample_weight_equivalence_on_dense_data",
    "check_sample_weight_equivalence_on_sparse_data",
)
"""Scikit-learn's checks that a weight is as good as repeating an instance."""

PROBABILITIES = "check_classifiers_multilabel_output_format_predict_proba"
"""Scikit-learn's check that probabilities are strictly between 0 and 1."""


@dataclass(frozen=True)
class Learner:
    """One entry of the roster; :func:`learners` fills in its name and package.

    ``checked`` holds the forms that the estimator checks are run on, as
    :func:`plurilabel.learners.make_learner` takes them, each with the checks that it must fail and
    the reason.
    """

    checked: Mapping[str, Mapping[str, str]]
    needs: str = ""  # the library that fitting needs beside the core ones
    unsaved: str = ""  # why a model file cannot hold it
    unweighted: str = ""  # why ``fit`` takes no ``sample_weight``
    exact: bool = False  # whether the parts of explanations add up to the score, in all forms
    name: str = field(default="", kw_only=True)
    package: str = field(default="", kw_only=True)

    @property
    def family(self) -> str:
        """The folder: ``"lazy"``, ``"boosting"``, ``"bags"`` and so on."""
        return self.package.rpartition(".")[2]

    def find(self) -> Any:
        return find_estimator(self.name)


@cache
def learners() -> dict[str, Learner]:
    """All learners by the name of their class, family by family."""
    return {
        name: replace(entry, name=name, package=family)
        for family in FAMILIES
        for name, entry in import_module(f"plurilabel.{family}").ROSTER.items()
    }


@cache
def estimators() -> dict[str, str]:
    """The package of every public estimator, by the name of its class."""
    from sklearn.base import BaseEstimator

    for entry in learners().values():
        entry.find()  # some packages load their learners when one is first used
    return {
        name: package
        for package in PACKAGES
        for name, value in vars(import_module(f"plurilabel.{package}")).items()
        if isinstance(value, type) and issubclass(value, BaseEstimator)
        if value.__module__ == "plurilabel" and not name.startswith("_")
    }


@cache
def find_estimator(name: str) -> Any:
    """The class of a public estimator, or None; packages that do not name it are not imported."""
    root = Path(__file__).parents[1]
    for package in PACKAGES:
        place = root.joinpath(*package.split("."))
        source = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
        if not source.is_file() or name in source.read_text("utf-8"):
            found = getattr(import_module(f"plurilabel.{package}"), name, None)
            if getattr(found, "__module__", None) == "plurilabel":
                return found
    return None


def publish(package: dict[str, Any]) -> None:
    """Set ``__module__`` of all that a package exports, given the ``globals()`` of the package."""
    # Estimators become ``plurilabel.Name``, all else ``plurilabel.package.name``.
    name = package["__name__"]
    home = name if "._" in name else ".".join(name.split(".")[:2])
    for name in package["__all__"]:
        value = package.get(name)  # None: loaded when it is used
        if isinstance(value, type | FunctionType) and value.__module__.startswith("plurilabel."):
            value.__module__ = "plurilabel" if hasattr(value, "get_params") else home
