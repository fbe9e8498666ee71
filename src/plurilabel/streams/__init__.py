"""Streams: rows that come one by one and drift, learners that keep up, and their evaluation.

Each learner has two doors: river's protocol for one row at a time (``learn_one``, ``predict_one``,
``predict_proba_one``), and scikit-learn's for arrays (``fit``, ``partial_fit``, ``predict``). What
needs river says so when it is used; :class:`WindowMLkNN` and :class:`MLSAMPkNN` do without it.
"""

from importlib.util import find_spec

from plurilabel._core.roster import PROBABILITIES, Learner, publish
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

_STREAM = (
    {"check_estimator_tags_renamed": "river's base class has a `_more_tags` of its own"}
    if find_spec("river")
    else {}
)
_RIVER = "it holds objects of river, which model files do not trust"
_ORDERED = {**_STREAM, "check_row_order": "rows are learned in their order, and may drift"}
_SURE = {
    PROBABILITIES: "the check wants probabilities "
    "strictly between 0 and 1; where all neighbours agree, they are not",
}

_WINDOW = "a window counts rows, and so do the neighbours in it"
_RIVER_WEIGHTS = "river's multi-label protocol has no weights"

ROSTER = {
    "WindowMLkNN": Learner(
        {
            "WindowMLkNN(n_neighbors=5)": _STREAM,
            "WindowMLkNN(n_neighbors=3, window_size=40, metric='cosine')": _STREAM,
        },
        unweighted=_WINDOW,
    ),
    "MLSAMPkNN": Learner({"MLSAMPkNN()": _ORDERED | _SURE}, unweighted=_WINDOW),
    "NeighborSubspaceEnsemble": Learner(
        {"NeighborSubspaceEnsemble(5)": _STREAM | _SURE},
        needs="river",
        unsaved=_RIVER,
        unweighted=_WINDOW,
    ),
    "StreamBinaryRelevance": Learner(
        {"StreamBinaryRelevance()": _ORDERED},
        needs="river",
        unsaved=_RIVER,
        unweighted=_RIVER_WEIGHTS,
    ),
    "StreamClassifierChain": Learner(
        {"StreamClassifierChain()": _ORDERED},
        needs="river",
        unsaved=_RIVER,
        unweighted=_RIVER_WEIGHTS,
    ),
    "StreamPrunedSets": Learner(
        {"StreamPrunedSets()": _ORDERED}, needs="river", unsaved=_RIVER, unweighted=_RIVER_WEIGHTS
    ),
    "MLHoeffdingTree": Learner(
        {
            "MLHoeffdingTree()": _ORDERED,
            "MLHoeffdingTree('mlknn', n_neighbors=3, leaf_size=40)": _ORDERED,
        },
        needs="river",
        unsaved=_RIVER,
        unweighted=_RIVER_WEIGHTS,
    ),
}

publish(globals())
