"""Neural networks: BP-MLL, its loss for your own networks, word vectors, hierarchies.

The package imports without torch and without Keras; what needs one of them says so when it is
used.
"""

from typing import TYPE_CHECKING, Any

from plurilabel._core.roster import EQUIVALENCE, Learner, publish
from plurilabel.learners.neural._bpmll import BPMLL
from plurilabel.learners.neural._fasttext import MLFastText
from plurilabel.learners.neural._hierarchical_network import HierarchicalNetwork
from plurilabel.learners.neural._keras import bp_mll_loss

if TYPE_CHECKING:
    from plurilabel.learners.neural._losses import (
        BPMLLLoss,
        asymmetric_loss,
        pairwise_exponential_loss,
    )

__all__ = [
    "BPMLL",
    "BPMLLLoss",
    "HierarchicalNetwork",
    "MLFastText",
    "asymmetric_loss",
    "bp_mll_loss",
    "pairwise_exponential_loss",
]


ROSTER = {
    "BPMLL": Learner(
        {
            "BPMLL((8,), max_iter=12, learning_rate_init=0.05)": {},
            "BPMLL((8,), max_iter=12, learning_rate_init=0.05, loss='squared')": {},
            "BPMLL((8,), max_iter=12, learning_rate_init=0.05, loss='cross-entropy', "
            "threshold=None)": {},
            "BPMLL((8,), max_iter=12, learning_rate_init=0.05, loss='asymmetric', "
            "activation='relu')": {},
        },
        needs="torch",
        unweighted="batches are drawn from the rows",
    ),
    "HierarchicalNetwork": Learner(
        {
            "HierarchicalNetwork(hidden_layer_sizes=(8,), dropout=0, max_iter=12, "
            "learning_rate_init=0.02)": {},
        },
        needs="torch",
        unweighted="batches are drawn from the rows",
    ),
    "MLFastText": Learner(
        {
            "MLFastText(10, random_state=0)": dict.fromkeys(
                EQUIVALENCE, "a repeated instance is in several batches"
            )
        }
    ),
}

publish(globals())


def __getattr__(name: str) -> Any:
    if name in ("BPMLLLoss", "asymmetric_loss", "pairwise_exponential_loss"):
        from plurilabel.learners.neural._training import import_torch

        import_torch(f"plurilabel.learners.neural.{name}")
        from plurilabel.learners.neural import _losses

        return getattr(_losses, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
