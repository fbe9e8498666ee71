"""Neural networks for several labels: BP-MLL, and its loss for networks of your own.

The package imports without torch and without Keras; what needs one of them says so when it is
asked for.
"""

from typing import TYPE_CHECKING, Any

from plurilabel._public import publish
from plurilabel._roster import Learner
from plurilabel.neural._bpmll import BPMLL
from plurilabel.neural._keras import bp_mll_loss
from plurilabel.neural._losses import asymmetric_loss, pairwise_exponential_loss

if TYPE_CHECKING:
    from plurilabel.neural._loss_module import BPMLLLoss

__all__ = [
    "BPMLL",
    "BPMLLLoss",
    "asymmetric_loss",
    "bp_mll_loss",
    "pairwise_exponential_loss",
]

ROSTER = {
    "BPMLL": Learner(
        {
            "BPMLL((8,), max_epochs=12, learning_rate=0.05)": {},
            "BPMLL((8,), max_epochs=12, learning_rate=0.05, loss='squared')": {},
            "BPMLL((8,), max_epochs=12, learning_rate=0.05, loss='cross-entropy', "
            "threshold=None)": {},
            "BPMLL((8,), max_epochs=12, learning_rate=0.05, loss='asymmetric', "
            "activation='relu')": {},
        },
        needs="torch",
    ),
}

publish(globals())


def __getattr__(name: str) -> Any:
    if name == "BPMLLLoss":  # derives from torch.nn.Module
        from plurilabel.neural._torch import import_torch

        import_torch("plurilabel.neural.BPMLLLoss")
        from plurilabel.neural._loss_module import BPMLLLoss

        return BPMLLLoss
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
