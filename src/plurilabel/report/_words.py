"""Names and sentences of the report."""

from __future__ import annotations

from collections.abc import Sequence

RANKINGS = "Rankings of the labels"
FAMILIES = {
    "Label sets, by instance": (
        "hamming_loss", "subset_accuracy", "accuracy", "precision", "recall", "f_beta", "f1",
    ),
    "Label sets, by label": tuple(
        f"{mean}_{name}"
        for mean in ("macro", "micro")
        for name in ("accuracy", "precision", "recall", "f_beta", "f1")
    ),
    RANKINGS: (
        "one_error", "coverage", "coverage_normalized", "ranking_loss", "is_error",
        "average_precision", "macro_auc", "micro_auc",
    ),
}  # fmt: skip
"""Measures by what they look at; those at k belong to the rankings."""

HEADLINES = (
    "hamming_loss", "subset_accuracy", "f1", "macro_f1", "one_error", "ranking_loss",
    "average_precision", "macro_auc",
)  # fmt: skip
"""The measures of the overview, the plots and the tests."""

_SPELLED = {"hamming": "Hamming", "auc": "AUC", "f1": "F1", "ndcg": "nDCG", "psp": "PSP"}


def measure_title(name: str) -> str:
    """A measure as text calls it.

    Examples
    --------
    >>> measure_title("hamming_loss"), measure_title("macro_auc"), measure_title("ndcg@3")
    ('Hamming loss', 'macro AUC', 'nDCG@3')
    """
    if name in ("one_error", "is_error"):
        return name.replace("_", "-")
    name = name.replace("f_beta", "F-beta").replace("coverage_normalized", "normalized coverage")
    base, at, k = name.partition("@")
    return " ".join(_SPELLED.get(word, word) for word in base.split("_")) + at + k


def listed(items: Sequence[str], most: int | None = None) -> str:
    """Items as a sentence has them.

    Examples
    --------
    >>> listed(["a", "b", "c"]), listed(["a", "b", "c", "d"], most=2)
    ('a, b and c', 'a, b and 2 more')
    """
    items = list(items)
    if most is not None and len(items) > most + 1:
        items = [*items[:most], f"{len(items) - most} more"]
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}"


def counted(number: int, word: str) -> str:
    """A number with its noun.

    Examples
    --------
    >>> counted(1, "dataset"), counted(12, "fold")
    ('1 dataset', '12 folds')
    """
    return f"{number:,} {word}" if number == 1 else f"{number:,} {word}s"


def capital(text: str) -> str:
    """Text with a capital at its start, unless it is spelled with one inside.

    Examples
    --------
    >>> capital("macro AUC"), capital("nDCG@3")
    ('Macro AUC', 'nDCG@3')
    """
    return text if text[1:2].isupper() else text[:1].upper() + text[1:]
