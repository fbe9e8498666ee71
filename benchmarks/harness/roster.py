"""The learners of plurilabel's roster, each with the call that it cannot do without."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import get_tags

from plurilabel._core.roster import learners as roster
from plurilabel.learners import make_learner

SEARCH = (
    "plurilabel.neighbors:ExactIndex.fit",
    "plurilabel.neighbors:ExactIndex.kneighbors",
)
REGRESSION = ("sklearn.linear_model:LogisticRegression.fit",)
TREE = tuple(
    f"sklearn.tree:DecisionTreeClassifier.{method}"
    for method in ("fit", "predict", "predict_proba", "apply")
)
FOREST = tuple(f"sklearn.ensemble:RandomForestRegressor.{method}" for method in ("fit", "apply"))
BASE = "DecisionTreeClassifier(max_depth=4)"
"""The base estimator of the transformations: cheap, and the same for all."""

FAMILY = {
    "lazy": ("neighbour search", SEARCH),
    "transformation": ("base estimator", TREE),
}
"""What the learners of a family stand on, in words, and "module:Class.method" of these calls."""

ENGINE = {
    "IBLRML": ("search, regressions", SEARCH + REGRESSION),
    "MLDecisionTree": ("scikit-learn's tree", TREE),
    "MLRandomForest": ("scikit-learn's forest", FOREST),
    "BPMLL": ("gradients", ("torch:Tensor.backward",)),
}
"""The same for single learners; one that is named nowhere is left out of the profiles."""

FEWER = {
    "AutoClassifier": "portfolio='quick', cv=2",
    "EnsembleOfChains": "n_estimators=3",
    "EnsembleOfPrunedSets": "n_estimators=3",
    "RAkEL": "n_estimators=10",
    "StackedRelevance": "cv=3",
    "CalibratedLabelRanking": "quick=False",
    "MLRandomForest": "n_estimators=5",
    "CML": "label_sets='seen'",
    "RankSVM": "tol=1e-3",
    "ResampledClassifier": "MLROS(random_state=0)",
    "AdaBoostMH": "n_estimators=10",
    "AdaBoostMR": "n_estimators=10",
    "ADTBoostMH": "n_estimators=10",
    "BPMLL": "max_iter=5",
    "LabelSetMixture": "tol=1e-3",
    "PMM2": "tol=1e-3",
}
"""Parameters with which a learner takes seconds; the others have their defaults."""


@dataclass(frozen=True)
class Entry:
    """A learner as the benchmarks run it."""

    family: str
    text: str
    engine: str
    calls: tuple[str, ...]

    def build(self) -> Any:
        """A fresh one, seeded."""
        learner = make_learner(self.text)
        if "random_state" in learner.get_params():
            learner.set_params(random_state=0)
        return learner

    def suited(self, X: Any) -> Any:
        """X, positive for learners of counts."""
        return np.exp(X) if get_tags(self.build()).input_tags.positive_only else X


def learners() -> dict[str, Entry]:
    """Every learner whose libraries are installed."""
    found = {}
    for name, entry in roster().items():
        if entry.needs and importlib.util.find_spec(entry.needs) is None:
            continue
        around = entry.family in ("transformation", "wrappers") and name != "AutoClassifier"
        base = [BASE] if around else []
        text = f"{name}({', '.join([*base, *filter(None, [FEWER.get(name)])])})"
        engine, calls = ENGINE.get(name) or FAMILY.get(entry.family) or ("", ())
        found[name] = Entry(entry.family, text, engine, calls)
    return found
