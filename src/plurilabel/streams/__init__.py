"""Streams: rows that arrive one by one and may drift, learners for them, and their evaluation.

Each learner has two interfaces: river's for single rows (``learn_one``, ``predict_one``,
``predict_proba_one``) and scikit-learn's for arrays (``fit``, ``partial_fit``, ``predict``).
Those around river's classifiers need river, and raise an error that names the extra to install.
:func:`prequential` evaluates learners on a stream and returns :class:`StreamResults`;
:func:`plurilabel.evaluation.write_stream_report` makes a page of them.
"""

from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from plurilabel._core.roster import PROBABILITIES, Learner, publish
from plurilabel.streams._adapters import ArrayLearner, LabelShares, NoChange, RegressorLearner
from plurilabel.streams._adwin import ADWIN
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
    from plurilabel.streams._learners._chain import StreamClassifierChain
    from plurilabel.streams._learners._ml_hoeffding_tree import MLHoeffdingTree
    from plurilabel.streams._learners._mlsampknn import MLSAMPkNN, SelfAdjusting
    from plurilabel.streams._learners._pruned_sets import StreamPrunedSets
    from plurilabel.streams._learners._relevance import StreamBinaryRelevance
    from plurilabel.streams._learners._subspaces import NeighborSubspaceEnsemble, Watched
    from plurilabel.streams._learners._window_mlknn import CountingWindow, WindowMLkNN
    from plurilabel.streams._stream_classifier import StreamClassifier

__all__ = [
    "ADWIN", "ArrayLearner", "CountingWindow", "DatasetStream", "Drift", "GeneratedStream",
    "LabelDependenceStream", "LabelShares", "LivePlot", "MLHoeffdingTree", "MLSAMPkNN",
    "MovingCentreStream", "NeighborSubspaceEnsemble", "NoChange", "RandomTreeStream",
    "RegressorLearner", "SelfAdjusting", "Stream", "StreamBinaryRelevance", "StreamClassifier",
    "StreamClassifierChain", "StreamPrunedSets", "StreamResults", "TableStream", "Watched",
    "WindowMLkNN", "make_stream_learners", "prequential",
]  # fmt: skip

_TAGS = {"check_estimator_tags_renamed": "river's base class has a `_more_tags` of its own"}
_STREAM = _TAGS if find_spec("river") else {}
_ORDERED = {**_STREAM, "check_row_order": "rows are learned in their order, and may drift"}
_SURE = {PROBABILITIES: "where all neighbours agree, probabilities are 0 or 1"}
_window = partial(Learner, unweighted="a window counts rows, and so do the neighbours in it")
_INSTEAD = "pickle it for your own use, or take NeighborSubspaceEnsemble, which can be saved"
_around_river = partial(
    Learner,
    needs="river",
    unsaved=f"it holds objects of river, which model files do not trust; {_INSTEAD}",
    unweighted="river's multi-label protocol has no weights",
)

ROSTER = {
    "WindowMLkNN": _window(
        {
            "WindowMLkNN(n_neighbors=5)": _STREAM,
            "WindowMLkNN(n_neighbors=3, window_size=40, metric='cosine')": _STREAM,
        }
    ),
    "MLSAMPkNN": _window({"MLSAMPkNN()": _ORDERED | _SURE}),
    "NeighborSubspaceEnsemble": _window({"NeighborSubspaceEnsemble(5)": _STREAM | _SURE}),
    "StreamBinaryRelevance": _around_river({"StreamBinaryRelevance()": _ORDERED}),
    "StreamClassifierChain": _around_river({"StreamClassifierChain()": _ORDERED}),
    "StreamPrunedSets": _around_river({"StreamPrunedSets()": _ORDERED}),
    "MLHoeffdingTree": Learner(
        {
            "MLHoeffdingTree()": _ORDERED,
            "MLHoeffdingTree('mlknn', n_neighbors=3, leaf_size=40)": _ORDERED,
        },
        unsaved=f"its leaves hold functions and rows, which model files do not; {_INSTEAD}",
        unweighted="river's multi-label protocol has no weights",
    ),
}

_LAZY = "_chain _ml_hoeffding_tree _mlsampknn _pruned_sets _relevance _subspaces _window_mlknn"

publish(globals())


def __getattr__(name: str) -> Any:
    """Load the learners when one is first used: their base class is river's, if installed."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    for home in _LAZY.split():
        found = vars(import_module(f"{__name__}._learners.{home}"))
        globals().update({each: found[each] for each in __all__ if each in found})
    publish(globals())
    return globals()[name]
