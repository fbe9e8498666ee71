"""Learners of grades and of label distributions, cross-validated: tables of guides/grades.md.

Prints the tables. Needs the datasets (PLURILABEL_DATA):

    python -m benchmarks grades              # both, some minutes
    python -m benchmarks grades sjaffe       # only one
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold, RepeatedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from plurilabel import (
    AAkNN,
    CombinedReduction,
    DistributionLearner,
    DistributionNetwork,
    GradedClassifier,
    GradedMLkNN,
    HorizontalReduction,
    MLRandomForest,
    VerticalReduction,
    datasets,
)
from plurilabel.graded import evaluate_distributions, evaluate_grades


class MedianGrade(GradedClassifier):
    """The training frequencies of the grades of each label; their median is predicted."""

    def __init__(self, *, grades: Any = None, decision: str = "median"):
        self.grades = grades
        self.decision = decision

    def _fit(self, X: Any, cuts: Any) -> None:  # noqa: ARG002
        self.shares_ = cuts.mean(axis=0)

    def _cumulative(self, X: Any) -> Any:
        return np.broadcast_to(self.shares_, (X.shape[0], *self.shares_.shape))


class MeanDistribution(DistributionLearner):
    """The mean of the training distributions."""

    def _fit(self, X: Any, D: Any) -> None:  # noqa: ARG002
        self.mean_ = D.mean(axis=0)

    def _distributions(self, X: Any) -> Any:
        return np.tile(self.mean_, (X.shape[0], 1))


def wq() -> None:
    """Four losses, ten folds, standardised features, the mean over folds."""
    data = datasets.load("wq")
    grades = [0, 1, 3, 5]
    logistic = LogisticRegression(max_iter=1000)
    forest = MLRandomForest(n_estimators=100, min_samples_leaf=3, random_state=0)
    reductions: dict[str, Callable[..., Any]] = {
        "vertical": VerticalReduction,
        "horizontal": HorizontalReduction,
        "combined": CombinedReduction,
    }
    learners = {"the median grade": MedianGrade(grades=grades)}
    for base_name, base in (
        ("logistic regression", logistic),
        (
            "a tree of depth 4",
            DecisionTreeClassifier(max_depth=4, min_samples_leaf=10, random_state=0),
        ),
        ("20 neighbours", KNeighborsClassifier(20)),
        ("`MLRandomForest`", forest),
    ):
        for name, reduction in reductions.items():
            learners[f"{name}, {base_name}"] = reduction(base, grades=grades)
    learners["`GradedMLkNN()`"] = GradedMLkNN(grades=grades)
    for name, learner in learners.items():
        found = []
        for train, test in KFold(10, shuffle=True, random_state=0).split(data.X):
            model = make_pipeline(StandardScaler(), learner).fit(data.X[train], data.Y[train])
            scores = model[-1].expected_rank(model[:-1].transform(data.X[test]))
            predicted = model.predict(data.X[test])
            found.append(evaluate_grades(data.Y[test], predicted, scores, grades=grades))
        show(name, found, 3)


def sjaffe() -> None:
    """Six measures, ten folds ten times, features scaled to [0, 1], mean over all folds."""
    data = datasets.load("sjaffe")
    learners = {
        "the mean distribution": MeanDistribution(),
        "`AAkNN()`": AAkNN(),
        '`AAkNN(weights="distance")`': AAkNN(weights="distance"),
        "`DistributionNetwork()`": DistributionNetwork(),
        "`DistributionNetwork((20,), alpha=0.003)`": DistributionNetwork(
            (20,), alpha=0.003, random_state=0
        ),
    }
    for name, learner in learners.items():
        found = []
        folds = RepeatedKFold(n_splits=10, n_repeats=10, random_state=0)
        for train, test in folds.split(data.X):
            model = make_pipeline(MinMaxScaler(), learner).fit(data.X[train], data.Y[train])
            found.append(evaluate_distributions(data.Y[test], model.predict(data.X[test])))
        show(name, found, 3)


def show(name: str, found: list[dict[str, float]], digits: int) -> None:
    """A row of a table: means over folds."""
    means = [np.mean([fold[key] for fold in found]) for key in found[0]]
    print(f"| {name} | " + " | ".join(f"{m:.{digits}f}" for m in means) + " |", flush=True)


if __name__ == "__main__":
    for task in sys.argv[1:] or ["wq", "sjaffe"]:
        {"wq": wq, "sjaffe": sjaffe}[task]()
