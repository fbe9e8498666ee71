"""Streams: rows that arrive one by one and may drift, learners for them, and their evaluation.

Each learner has two interfaces: river's for single rows (``learn_one``, ``predict_one``,
``predict_proba_one``) and scikit-learn's for arrays (``fit``, ``partial_fit``, ``predict``).
:class:`WindowMLkNN` and :class:`MLSAMPkNN` work without river; the others raise an error that
names the extra to install. :func:`prequential` evaluates learners on a stream and returns
:class:`StreamResults`; :func:`plurilabel.evaluation.write_stream_report` makes a page of them.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from plurilabel._core.roster import publish
from plurilabel.streams._adapters import ArrayLearner, LabelShares, NoChange, RegressorLearner
from plurilabel.streams._generators import (
    GeneratedStream,
    LabelDependenceStream,
    MovingCentreStream,
    RandomTreeStream,
)
from plurilabel.streams._prequential import prequential
from plurilabel.streams._spec import make_stream_learners
from plurilabel.streams._stream import DatasetStream, Drift, Stream
from plurilabel.streams._stream_results import LivePlot, StreamResults
from plurilabel.streams._table import TableStream

if TYPE_CHECKING:
    from plurilabel.streams._learners import (
        CountingWindow,
        MLHoeffdingTree,
        MLSAMPkNN,
        NeighborSubspaceEnsemble,
        SelfAdjusting,
        StreamBinaryRelevance,
        StreamClassifier,
        StreamClassifierChain,
        StreamPrunedSets,
        WindowMLkNN,
    )

__all__ = [
    "ArrayLearner",
    "CountingWindow",
    "DatasetStream",
    "Drift",
    "GeneratedStream",
    "LabelDependenceStream",
    "LabelShares",
    "LivePlot",
    "MLHoeffdingTree",
    "MLSAMPkNN",
    "MovingCentreStream",
    "NeighborSubspaceEnsemble",
    "NoChange",
    "RandomTreeStream",
    "RegressorLearner",
    "SelfAdjusting",
    "Stream",
    "StreamBinaryRelevance",
    "StreamClassifier",
    "StreamClassifierChain",
    "StreamPrunedSets",
    "StreamResults",
    "TableStream",
    "WindowMLkNN",
    "make_stream_learners",
    "prequential",
]

publish(globals())


def __getattr__(name: str) -> Any:
    """Load the learners, which have a base class of river, when one is first used."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}._learners"), name)
