"""The measures by name: what they need, which way is better, and as scikit-learn scorers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal

import numpy as np

from plurilabel.metrics import _at_k, _auc, _example_based, _label_based, _ranking
from plurilabel.metrics._scores import label_scores


@dataclass(frozen=True)
class Measure:
    """What is known about a measure.

    Attributes
    ----------
    name : str
    kind : "labels" or "scores"
        What the function takes beside the true labels.
    greater_is_better : bool
    function : callable
        ``function(Y_true, labels or scores)``.
    title : str
        The name as text has it.

    Examples
    --------
    >>> from plurilabel.metrics import get_measure
    >>> [get_measure(name).title for name in ("hamming_loss", "macro_auc", "ndcg@3")]
    ['Hamming loss', 'macro AUC', 'nDCG@3']
    """

    name: str
    kind: Literal["labels", "scores"]
    greater_is_better: bool
    function: Callable[..., float]

    @property
    def title(self) -> str:
        if self.name in ("one_error", "is_error"):
            return self.name.replace("_", "-")
        name = self.name.replace("f_beta", "F-beta")
        name = name.replace("coverage_normalized", "normalized coverage")
        base, at, k = name.partition("@")
        return " ".join(_SPELLED.get(word, word) for word in base.split("_")) + at + k


_SPELLED = {"hamming": "Hamming", "auc": "AUC", "f1": "F1", "ndcg": "nDCG", "psp": "PSP"}


def _measures() -> dict[str, Measure]:
    lower_is_better = {
        "hamming_loss",
        "one_error",
        "coverage",
        "coverage_normalized",
        "ranking_loss",
        "is_error",
    }
    modules: dict[Any, tuple[Literal["labels", "scores"], tuple[str, ...]]] = {
        _example_based: (
            "labels",
            ("hamming_loss", "subset_accuracy", "accuracy", "precision", "recall", "f_beta", "f1"),
        ),
        _label_based: (
            "labels",
            tuple(
                f"{mean}_{name}"
                for mean in ("macro", "micro")
                for name in ("accuracy", "precision", "recall", "f_beta", "f1")
            ),
        ),
        _ranking: (
            "scores",
            (
                "one_error",
                "coverage",
                "coverage_normalized",
                "ranking_loss",
                "is_error",
                "average_precision",
            ),
        ),
        _auc: ("scores", ("macro_auc", "micro_auc")),
        _at_k: (
            "scores",
            ("precision_at_k", "recall_at_k", "ndcg_at_k", "psp_at_k", "ps_ndcg_at_k"),
        ),
    }
    table = {}
    for module, (kind, functions) in modules.items():
        for function in functions:
            name = function.replace("_at_k", "@k")
            better = name not in lower_is_better
            table[name] = Measure(name, kind, better, getattr(module, function))
    return table


MEASURES = MappingProxyType(_measures())
"""All measures by name; those at k under ``"precision@k"`` and so on."""


def measure_names(kind: Literal["labels", "scores"] | None = None) -> list[str]:
    """Names of the measures, of one kind or of both.

    Examples
    --------
    >>> from plurilabel.metrics import measure_names
    >>> measure_names("scores")[:4]
    ['one_error', 'coverage', 'coverage_normalized', 'ranking_loss']
    """
    return [m.name for m in MEASURES.values() if kind in (None, m.kind)]


def get_measure(name: str) -> Measure:
    """Look a measure up by name; ``"precision@3"`` gives the function with k=3.

    Examples
    --------
    >>> from plurilabel.metrics import get_measure
    >>> get_measure("ranking_loss").greater_is_better
    False
    >>> get_measure("precision@1").function([[1, 0]], [[0.2, 0.1]])
    1.0
    """
    if name in MEASURES:
        return MEASURES[name]
    base, at, k = name.partition("@")
    known = MEASURES.get(f"{base}@k")
    if not at or known is None or not k.isdecimal() or int(k) < 1:
        raise ValueError(
            f"name must be one of {', '.join(MEASURES)} (with a number for k), got {name!r}"
        )
    return Measure(name, known.kind, known.greater_is_better, _AtK(known.function, int(k)))


@dataclass(frozen=True)
class _AtK:
    """A measure at k with k fixed; unlike a closure, it can be pickled."""

    function: Callable[..., float]
    k: int

    def __call__(self, Y_true: Any, scores: Any, **params: Any) -> float:
        return self.function(Y_true, scores, k=self.k, **params)


class _Scorer:
    """``scorer(estimator, X, Y)``; higher is better."""

    def __init__(self, name: str, params: dict[str, Any]) -> None:
        self.name = name
        self.params = params

    def __call__(self, estimator: Any, X: Any, y_true: Any) -> float:
        measure = get_measure(self.name)
        if measure.kind == "labels":
            prediction = estimator.predict(X)
        else:
            prediction = label_scores(estimator, X, n_labels=_width(y_true))
        value = measure.function(y_true, prediction, **self.params)
        return value if measure.greater_is_better else -value

    def __repr__(self) -> str:
        params = "".join(f", {name}={value!r}" for name, value in self.params.items())
        return f"get_scorer({self.name!r}{params})"


def _width(Y: Any) -> int | None:
    shape = np.shape(Y) if not hasattr(Y, "shape") else Y.shape
    return int(shape[1]) if len(shape) == 2 else None


def get_scorer(name: str, **params: Any) -> Callable[[Any, Any, Any], float]:
    """A measure as a scikit-learn scorer: ``scorer(estimator, X, Y)``, higher is better.

    For ``GridSearchCV(scoring=...)``, ``cross_val_score`` and the like. Of a loss the negative is
    returned. Scores are taken from ``predict_proba``, else from ``decision_function``, in any
    shape that scikit-learn's classifiers have; see :func:`label_scores`.

    Parameters
    ----------
    name : str
        One of :func:`measure_names`; for the measures at k with the number: ``"precision@3"``.
    **params
        Passed to the measure: ``beta=2``, ``propensities=p``.

    Returns
    -------
    callable

    Examples
    --------
    >>> from plurilabel.metrics import get_scorer
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from sklearn.model_selection import GridSearchCV
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> X, Y = make_multilabel_classification(random_state=0)
    >>> search = GridSearchCV(
    ...     KNeighborsClassifier(), {"n_neighbors": [1, 15]}, scoring=get_scorer("ranking_loss")
    ... )
    >>> search.fit(X, Y).best_params_
    {'n_neighbors': 15}
    """
    measure = get_measure(name)
    if measure.name.endswith("@k") and "k" not in params:
        raise ValueError(f"name must have a number for k, such as {name[:-1]}5, got {name!r}")
    if name.startswith(("psp@", "ps_ndcg@")) and "propensities" not in params:
        raise ValueError(f"{name} needs propensities=propensities(Y_train), got none")
    return _Scorer(name, params)
