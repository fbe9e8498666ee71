"""Problem transformations: learners around a base estimator that knows one label at a time."""

from plurilabel._public import publish
from plurilabel._roster import Learner
from plurilabel.transformation._base import TransformationClassifier
from plurilabel.transformation._binary_relevance import BinaryRelevance
from plurilabel.transformation._chain import ClassifierChain
from plurilabel.transformation._ensemble_of_chains import EnsembleOfChains
from plurilabel.transformation._ensemble_of_pruned_sets import EnsembleOfPrunedSets
from plurilabel.transformation._homer import HOMER
from plurilabel.transformation._label_powerset import LabelPowerset
from plurilabel.transformation._label_ranking import CalibratedLabelRanking
from plurilabel.transformation._output_codes import OutputCodes
from plurilabel.transformation._partition import partition_labels
from plurilabel.transformation._pruned_sets import PrunedSets
from plurilabel.transformation._rakel import RAkEL
from plurilabel.transformation._stacked_relevance import StackedRelevance

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
    "TransformationClassifier",
    "partition_labels",
]

ROSTER = {
    "BinaryRelevance": Learner(
        {
            "BinaryRelevance(LogisticRegression(C=10))": {},
            "BinaryRelevance(RidgeClassifier(), n_jobs=2)": {},
        }
    ),
    "ClassifierChain": Learner(
        {
            "ClassifierChain(LogisticRegression())": {},
            "ClassifierChain(RidgeClassifier(), order='random', cv=3)": {},
        }
    ),
    "EnsembleOfChains": Learner(
        {"EnsembleOfChains(RidgeClassifier(), n_estimators=3, n_jobs=2)": {}}
    ),
    "LabelPowerset": Learner({"LabelPowerset(RidgeClassifier())": {}}),
    "PrunedSets": Learner({"PrunedSets(RidgeClassifier())": {}}),
    "EnsembleOfPrunedSets": Learner(
        {"EnsembleOfPrunedSets(RidgeClassifier(), n_estimators=3, voting='soft')": {}}
    ),
    "RAkEL": Learner({"RAkEL(RidgeClassifier(), k=2, voting='soft')": {}}),
    "CalibratedLabelRanking": Learner({"CalibratedLabelRanking(RidgeClassifier())": {}}),
    "StackedRelevance": Learner(
        {
            "StackedRelevance(RidgeClassifier(), cv=3)": {},
            "StackedRelevance(LogisticRegression(), cv=3, drop_negatives='band')": {},
        }
    ),
    "OutputCodes": Learner({"OutputCodes(RidgeClassifier())": {}}),
    "HOMER": Learner({"HOMER(LabelPowerset(RidgeClassifier()), n_children=2)": {}}),
}

publish(globals())
