"""Problem transformations: learners made of a base estimator that knows one label at a time."""

from plurilabel.transformation._chain import ClassifierChain
from plurilabel.transformation._ensemble_of_chains import EnsembleOfChains
from plurilabel.transformation._ensemble_of_pruned_sets import EnsembleOfPrunedSets
from plurilabel.transformation._homer import HOMER
from plurilabel.transformation._label_ranking import CalibratedLabelRanking
from plurilabel.transformation._output_codes import OutputCodes
from plurilabel.transformation._partition import partition_labels
from plurilabel.transformation._powerset import LabelPowerset
from plurilabel.transformation._pruned_sets import PrunedSets
from plurilabel.transformation._rakel import RAkEL
from plurilabel.transformation._relevance import BinaryRelevance
from plurilabel.transformation._stacking import StackedRelevance

__all__ = [
    "HOMER",
    "BinaryRelevance",
    "CalibratedLabelRanking",
    "ClassifierChain",
    "EnsembleOfChains",
    "EnsembleOfPrunedSets",
    "LabelPowerset",
    "OutputCodes",
    "PrunedSets",
    "RAkEL",
    "StackedRelevance",
    "partition_labels",
]
