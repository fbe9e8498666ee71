"""Learners by family, and the functions and results that belong to them."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from plurilabel.learners._spec import (
        learner_names,
        learner_text,
        make_learner,
        make_learners,
        set_seeds,
    )
    from plurilabel.learners.boosting import Condition, DecisionNode, WeakRule
    from plurilabel.learners.lazy import Explanation, Vote
    from plurilabel.learners.mixtures import WordShares
    from plurilabel.learners.neural import (
        BPMLLLoss,
        asymmetric_loss,
        bp_mll_loss,
        pairwise_exponential_loss,
    )
    from plurilabel.learners.rules import LabelRule, any_label, label_weight, top_label
    from plurilabel.learners.transformation import partition_labels

__all__ = [
    "BPMLLLoss", "Condition", "DecisionNode", "Explanation", "LabelRule", "Vote", "WeakRule",
    "WordShares", "any_label", "asymmetric_loss", "bp_mll_loss", "label_weight", "learner_names",
    "learner_text", "make_learner", "make_learners", "pairwise_exponential_loss",
    "partition_labels", "set_seeds", "top_label",
]  # fmt: skip

_HOMES = {
    "_spec": "learner_names learner_text make_learner make_learners set_seeds",
    "boosting": "Condition DecisionNode WeakRule",
    "lazy": "Explanation Vote",
    "mixtures": "WordShares",
    "neural": "BPMLLLoss asymmetric_loss bp_mll_loss pairwise_exponential_loss",
    "rules": "LabelRule any_label label_weight top_label",
    "transformation": "partition_labels",
}
_HOME = {name: home for home, names in _HOMES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    """Import a family on first use of one of its names."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    found.__module__ = __name__
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
