"""The measures by name: what they need, which way is better, and as scikit-learn scorers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

import numpy as np

from plurilabel.metrics import _at_k as at_k
from plurilabel.metrics import _auc as auc
from plurilabel.metrics import _example_based as by_instance
from plurilabel.metrics import _label_based as by_label
from plurilabel.metrics import _ranking as ranking
from plurilabel.metrics._scores import label_scores

Family: TypeAlias = Literal["label sets, by instance", "label sets, by label", "rankings"]


@dataclass(frozen=True)
class Measure:
    """What is known about a measure.

    Attributes
    ----------
    name : str
    family : {"label sets, by instance", "label sets, by label", "rankings"}
        What the measure looks at: predicted label sets, averaged over instances or over labels, or
        the ranking of the labels by their scores.
    kind : {"labels", "scores"}
        What the function takes besides the true labels: label sets or, for rankings, scores.
    greater_is_better : bool
    function : callable
        ``function(Y_true, labels or scores)``.
    title : str
        The name as it appears in text.

    Examples
    --------
    >>> from plurilabel.metrics import get_measure
    >>> [get_measure(name).title for name in ("hamming_loss", "macro_auc", "ndcg@3")]
    ['Hamming loss', 'macro AUC', 'nDCG@3']
    >>> get_measure("macro_f1").family
    'label sets, by label'
    """

    name: str
    family: Family
    greater_is_better: bool
    function: Callable[..., float]

    @property
    def kind(self) -> Literal["labels", "scores"]:
        return "scores" if self.family == "rankings" else "labels"

    @property
    def title(self) -> str:
        if self.name in ("one_error", "is_error"):
            return self.name.replace("_", "-")
        name = self.name.replace("f_beta", "F-beta")
        name = name.replace("coverage_normalized", "normalized coverage")
        base, at, k = name.partition("@")
        return " ".join(_SPELLED.get(word, word) for word in base.split("_")) + at + k


_SPELLED = {"hamming": "Hamming", "auc": "AUC", "f1": "F1", "ndcg": "nDCG", "psp": "PSP"}

_FUNCTIONS: dict[Family, tuple[Callable[..., float], ...]] = {
    "label sets, by instance": (
        by_instance.hamming_loss, by_instance.subset_accuracy, by_instance.accuracy,
        by_instance.precision, by_instance.recall, by_instance.f_beta, by_instance.f1,
    ),
    "label sets, by label": (
        by_label.macro_accuracy, by_label.macro_precision, by_label.macro_recall,
        by_label.macro_f_beta, by_label.macro_f1, by_label.micro_accuracy,
        by_label.micro_precision, by_label.micro_recall, by_label.micro_f_beta, by_label.micro_f1,
    ),
    "rankings": (
        ranking.one_error, ranking.coverage, ranking.coverage_normalized, ranking.ranking_loss,
        ranking.is_error, ranking.average_precision, auc.macro_auc, auc.micro_auc,
        at_k.precision_at_k, at_k.recall_at_k, at_k.ndcg_at_k, at_k.psp_at_k, at_k.ps_ndcg_at_k,
    ),
}  # fmt: skip

_LOSSES = {
    "hamming_loss", "one_error", "coverage", "coverage_normalized", "ranking_loss", "is_error",
}  # fmt: skip


def _measures() -> dict[str, Measure]:
    table = {}
    for family, functions in _FUNCTIONS.items():
        for function in functions:
            name = function.__name__.replace("_at_k", "@k")
            table[name] = Measure(name, family, name not in _LOSSES, function)
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
    return replace(known, name=name, function=partial(known.function, k=int(k)))


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
