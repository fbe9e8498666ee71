"""The measures by name: what they look at, what they need, and which way is better."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import Literal, TypeAlias

from plurilabel._core.words import similar
from plurilabel.metrics import _at_k as at_k
from plurilabel.metrics import _auc as auc
from plurilabel.metrics import _by_instance as by_instance
from plurilabel.metrics import _by_label as by_label
from plurilabel.metrics import _ranking as ranking

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


_ALL = [
    Measure(f.__name__.replace("_at_k", "@k"), family, f.__name__ not in _LOSSES, f)
    for family, functions in _FUNCTIONS.items()
    for f in functions
]
MEASURES = MappingProxyType({measure.name: measure for measure in _ALL})
"""All measures by name; those at k as ``"precision@k"`` and so on."""


def measure_names(kind: Literal["labels", "scores"] | None = None) -> list[str]:
    """Names of the measures.

    Parameters
    ----------
    kind : {"labels", "scores"}, optional
        Only those that take predicted label sets, or scores.

    Returns
    -------
    list of str

    Examples
    --------
    >>> from plurilabel.metrics import measure_names
    >>> measure_names("scores")[:4]
    ['one_error', 'coverage', 'coverage_normalized', 'ranking_loss']
    """
    return [m.name for m in MEASURES.values() if kind in (None, m.kind)]


def get_measure(name: str) -> Measure:
    """Look up a measure by name.

    Parameters
    ----------
    name : str
        One of :func:`measure_names`. For the measures at k, a number may take the place of k:
        ``"precision@3"`` has the function with ``k=3``.

    Returns
    -------
    Measure

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
        close = similar(name, list(MEASURES))
        hint = "" if close is None else f"; did you mean {close}?"
        there = f"{', '.join(MEASURES)} (a number in place of k)"
        raise ValueError(f"name must be one of {there}, got {name!r}{hint}")
    return replace(known, name=name, function=partial(known.function, k=int(k)))


def check_measures(measures: Sequence[str] | str | None) -> list[str]:
    """Check names of measures; by default, name all that need no further setting.

    Parameters
    ----------
    measures : sequence of str, str or None

    Returns
    -------
    list of str
        Each name once. Unknown ones are a ValueError, and so is ``"precision@k"`` without a
        number for k.

    Examples
    --------
    >>> from plurilabel.metrics import check_measures
    >>> check_measures(["f1", "precision@3"])
    ['f1', 'precision@3']
    >>> len(check_measures(None))
    31
    """
    if measures is None:
        usual = [name for name in measure_names() if "@" not in name and "f_beta" not in name]
        at_k = ("precision", "recall", "ndcg")
        return usual + [f"{name}@{k}" for name in at_k for k in (1, 3, 5)]
    names = [measures] if isinstance(measures, str) else list(measures)
    if not names:
        raise ValueError("measures must name at least one measure, got none")
    for name in names:
        if get_measure(name).name.endswith("@k"):
            raise ValueError(f"measures must have a number for k, such as precision@3, got {name}")
    return list(dict.fromkeys(names))
