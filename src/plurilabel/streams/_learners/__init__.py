"""Learners of streams: one learner a file, each with river's protocol and scikit-learn's."""

from plurilabel.streams._learners._chain import StreamClassifierChain
from plurilabel.streams._learners._ml_hoeffding_tree import MLHoeffdingTree
from plurilabel.streams._learners._mlsampknn import MLSAMPkNN, SelfAdjusting
from plurilabel.streams._learners._pruned_sets import StreamPrunedSets
from plurilabel.streams._learners._relevance import StreamBinaryRelevance
from plurilabel.streams._learners._subspaces import NeighborSubspaceEnsemble
from plurilabel.streams._learners._window_mlknn import CountingWindow, WindowMLkNN
from plurilabel.streams._stream_classifier import StreamClassifier

__all__ = [
    "CountingWindow",
    "MLHoeffdingTree",
    "MLSAMPkNN",
    "NeighborSubspaceEnsemble",
    "SelfAdjusting",
    "StreamBinaryRelevance",
    "StreamClassifier",
    "StreamClassifierChain",
    "StreamPrunedSets",
    "WindowMLkNN",
]
