"""Streams: rows that come one by one and drift, learners that keep up, and their evaluation.

Each learner has two doors: river's protocol for one row at a time (``learn_one``, ``predict_one``,
``predict_proba_one``), and scikit-learn's for arrays (``fit``, ``partial_fit``, ``predict``). What
needs river says so when it is used; :class:`WindowMLkNN` and :class:`MLSAMPkNN` do without it.
"""

from plurilabel._public import publish
from plurilabel._roster import Learner
from plurilabel.streams._arrays import ArrayLearner
from plurilabel.streams._base import StreamClassifier
from plurilabel.streams._baselines import LabelShares, NoChange
from plurilabel.streams._chain import StreamClassifierChain
from plurilabel.streams._generators import (
    GeneratedStream,
    LabelDependenceStream,
    MovingCentreStream,
    RandomTreeStream,
)
from plurilabel.streams._ml_hoeffding_tree import MLHoeffdingTree
from plurilabel.streams._mlsampknn import MLSAMPkNN
from plurilabel.streams._prequential import prequential
from plurilabel.streams._pruned_sets import StreamPrunedSets
from plurilabel.streams._regressors import RegressorLearner
from plurilabel.streams._relevance import StreamBinaryRelevance
from plurilabel.streams._results import LivePlot, StreamResults
from plurilabel.streams._river import HAS_RIVER
from plurilabel.streams._self_adjusting import SelfAdjusting
from plurilabel.streams._sources import DatasetStream, Drift, Stream
from plurilabel.streams._spec import make_stream_learners
from plurilabel.streams._subspaces import NeighborSubspaceEnsemble
from plurilabel.streams._table import TableStream
from plurilabel.streams._window_mlknn import CountingWindow, WindowMLkNN

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

_RIVER = "it holds objects of river, which model files do not trust"
_STREAM: dict[str, str] = {}
if HAS_RIVER:
    _STREAM["check_estimator_tags_renamed"] = "river's base class has a `_more_tags` of its own"
_ORDERED = {**_STREAM, "check_row_order": "rows are learned in their order, and may drift"}
_SURE = {
    "check_classifiers_multilabel_output_format_predict_proba": "the check wants probabilities "
    "strictly between 0 and 1; where all neighbours agree, they are not",
}

ROSTER = {
    "WindowMLkNN": Learner(
        {
            "WindowMLkNN(n_neighbors=5)": _STREAM,
            "WindowMLkNN(n_neighbors=3, window_size=40, metric='cosine')": _STREAM,
        }
    ),
    "MLSAMPkNN": Learner({"MLSAMPkNN()": _ORDERED | _SURE}),
    "NeighborSubspaceEnsemble": Learner(
        {"NeighborSubspaceEnsemble(5)": _STREAM | _SURE}, needs="river", unsaved=_RIVER
    ),
    "StreamBinaryRelevance": Learner(
        {"StreamBinaryRelevance()": _ORDERED}, needs="river", unsaved=_RIVER
    ),
    "StreamClassifierChain": Learner(
        {"StreamClassifierChain()": _ORDERED}, needs="river", unsaved=_RIVER
    ),
    "StreamPrunedSets": Learner({"StreamPrunedSets()": _ORDERED}, needs="river", unsaved=_RIVER),
    "MLHoeffdingTree": Learner(
        {
            "MLHoeffdingTree()": _ORDERED,
            "MLHoeffdingTree('mlknn', n_neighbors=3, leaf_size=40)": _ORDERED,
        },
        needs="river",
        unsaved=_RIVER,
    ),
}

publish(globals())
