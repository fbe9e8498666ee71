"""One instance of every learner, with the library call that it cannot do without."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import plurilabel


@dataclass
class Entry:
    """A learner and what it stands on.

    Parameters
    ----------
    family : str
    build : callable
        With ``k`` for those that have neighbours.
    engine : str
        The call it cannot do without, in words.
    calls : tuple of str
        "module:Class.method" or "module:function" of that call.
    """

    family: str
    build: Callable[..., Any]
    engine: str
    calls: tuple[str, ...]


SEARCH = (
    "plurilabel.neighbors._exact:ExactIndex.fit",
    "plurilabel.neighbors._exact:ExactIndex.kneighbors",
)
REGRESSION = ("sklearn.linear_model._logistic:LogisticRegression.fit",)
TREE = tuple(
    f"sklearn.tree._classes:DecisionTreeClassifier.{method}"
    for method in ("fit", "predict", "predict_proba", "apply")
)
FOREST = tuple(
    f"sklearn.ensemble._forest:RandomForestClassifier.{method}" for method in ("fit", "apply")
)


def tree() -> Any:
    from sklearn.tree import DecisionTreeClassifier

    return DecisionTreeClassifier(max_depth=4, random_state=0)


def lazy(name: str, *, and_regression: bool = False) -> Entry:
    kind = getattr(plurilabel, name)
    if and_regression:
        return Entry("lazy", kind, "search, regressions", SEARCH + REGRESSION)
    return Entry("lazy", kind, "neighbour search", SEARCH)


def transformation(name: str, **parameters: Any) -> Entry:
    kind = getattr(plurilabel, name)
    return Entry("transformation", lambda: kind(tree(), **parameters), "base estimator", TREE)


def learners() -> dict[str, Entry]:
    """Every learner; those of optional packages only where these are installed."""
    pl = plurilabel
    found = {
        "MLkNN": lazy("MLkNN"),
        "DMLkNN": lazy("DMLkNN"),
        "DWMLkNN": lazy("DWMLkNN"),
        "MLWkNN": lazy("MLWkNN"),
        "BRkNN": lazy("BRkNN"),
        "IBLRML": lazy("IBLRML", and_regression=True),
        "MLkNNCV": Entry("lazy", lambda: pl.MLkNNCV(range(1, 31)), "neighbour search", SEARCH),
        "BinaryRelevance": transformation("BinaryRelevance"),
        "ClassifierChain": transformation("ClassifierChain"),
        "EnsembleOfChains": transformation("EnsembleOfChains", n_chains=3, random_state=0),
        "LabelPowerset": transformation("LabelPowerset"),
        "PrunedSets": transformation("PrunedSets"),
        "EnsembleOfPrunedSets": transformation("EnsembleOfPrunedSets", n_models=3, random_state=0),
        "RAkEL": transformation("RAkEL", n_models=10, random_state=0),
        "StackedRelevance": transformation("StackedRelevance", cv=3),
        "CalibratedLabelRanking": transformation("CalibratedLabelRanking", quick=False),
        "HOMER": transformation("HOMER", random_state=0),
        "OutputCodes": transformation("OutputCodes", random_state=0),
        "MLDecisionTree": Entry(
            "adaptation",
            lambda: pl.MLDecisionTree(random_state=0),
            "scikit-learn's tree",
            TREE,
        ),
        "MLRandomForest": Entry(
            "adaptation",
            lambda: pl.MLRandomForest(5, random_state=0),
            "scikit-learn's forest",
            FOREST,
        ),
        "CML": Entry(
            "adaptation",
            lambda: pl.CML(label_sets="seen"),
            "sums over label sets",
            ("plurilabel.adaptation._cml._sets:LabelSets.expectations",),
        ),
        "RankSVM": Entry(
            "adaptation",
            lambda: pl.RankSVM(tol=1e-3),
            "projection on the pairs' dual set, products",
            (
                "plurilabel.adaptation._ranksvm._solver:project",
                "plurilabel.adaptation._ranksvm._kernel:safe_sparse_dot",
            ),
        ),
        **{
            name: Entry(
                "boosting",
                lambda kind=kind: kind(10),
                "search of the best rule",
                (
                    "plurilabel.boosting._adaboost:best_condition",
                    "plurilabel.boosting._adtboost_mh:best_condition",
                ),
            )
            for name, kind in (
                ("AdaBoostMH", pl.AdaBoostMH),
                ("AdaBoostMR", pl.AdaBoostMR),
                ("ADTBoostMH", pl.ADTBoostMH),
            )
        },
    }
    return found | networks()


def networks() -> dict[str, Entry]:
    try:
        importlib.import_module("torch")
        neural = importlib.import_module("plurilabel.neural")
    except ImportError:
        return {}
    call = ("torch:Tensor.backward",)
    return {
        "BPMLL": Entry(
            "neural", lambda: neural.BPMLL(max_iter=5, random_state=0), "gradients", call
        )
    }
