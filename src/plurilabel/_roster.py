"""The roster: every learner, and what the rest of the library has to know of it.

Each package of learners has its part of the roster, ``ROSTER``, beside the imports in its
``__init__.py``. Estimator checks, command line, model files, documentation, benchmarks and papers
read it from here; nobody else keeps a list of learners.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from typing import Any

PACKAGES = (
    "lazy", "transformation", "adaptation", "boosting", "neural", "mixtures", "rules", "bags",
    "streams", "extreme", "uncertainty", "missing", "resampling", "automatic",
)  # fmt: skip

OTHER_TARGETS = ("graded",)
"""Packages of learners whose targets are not 0/1 matrices: not on the roster, but models of them
are saved like others."""


@dataclass(frozen=True)
class Learner:
    """One entry of the roster.

    Attributes
    ----------
    checked : mapping of str to mapping of str to str
        The forms that the estimator checks are run on, as :func:`plurilabel.compare.make_learner`
        takes them, each with the checks that it must fail and the reason.
    needs : str, default=""
        The library that fitting needs beside the core ones.
    unsaved : str, default=""
        Why a model file cannot hold it.
    name, package : str
        Filled in by :func:`learners`.
    """

    checked: Mapping[str, Mapping[str, str]]
    needs: str = ""
    unsaved: str = ""
    name: str = field(default="", kw_only=True)
    package: str = field(default="", kw_only=True)

    def find(self) -> Any:
        """The class."""
        return getattr(import_module(f"plurilabel.{self.package}"), self.name)


@cache
def learners() -> dict[str, Learner]:
    """All learners by the name of their class, package by package."""
    return {
        name: Learner(entry.checked, entry.needs, entry.unsaved, name=name, package=package)
        for package in PACKAGES
        for name, entry in import_module(f"plurilabel.{package}").ROSTER.items()
    }
