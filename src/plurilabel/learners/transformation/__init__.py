"""Problem transformations: learners around a base estimator that knows one label at a time."""

from functools import partial

from plurilabel._core.roster import Learner, publish
from plurilabel.learners.transformation._binary_relevance import BinaryRelevance
from plurilabel.learners.transformation._chain import ClassifierChain
from plurilabel.learners.transformation._ensemble_of_chains import EnsembleOfChains
from plurilabel.learners.transformation._ensemble_of_pruned_sets import EnsembleOfPrunedSets
from plurilabel.learners.transformation._homer import HOMER
from plurilabel.learners.transformation._label_powerset import LabelPowerset
from plurilabel.learners.transformation._label_ranking import CalibratedLabelRanking
from plurilabel.learners.transformation._output_codes import OutputCodes
from plurilabel.learners.transformation._partition import partition_labels
from plurilabel.learners.transformation._pruned_sets import PrunedSets
from plurilabel.learners.transformation._rakel import RAkEL
from plurilabel.learners.transformation._stacked_relevance import StackedRelevance
from plurilabel.learners.transformation._transformation_classifier import TransformationClassifier

__all__ = [
    "HOMER", "BinaryRelevance", "CalibratedLabelRanking", "ClassifierChain", "EnsembleOfChains",
    "EnsembleOfPrunedSets", "LabelPowerset", "OutputCodes", "PrunedSets", "RAkEL",
    "StackedRelevance", "TransformationClassifier", "partition_labels",
]  # fmt: skip

_exact = partial(Learner, exact=True)

ROSTER = {
    "BinaryRelevance": _exact(
        {"BinaryRelevance(LogisticRegression(C=10))": {}, "BinaryRelevance(RidgeClassifier())": {}}
    ),
    "ClassifierChain": _exact(
        {
            "ClassifierChain(LogisticRegression())": {},
            "ClassifierChain(RidgeClassifier(), order='random', cv=3)": {},
        }
    ),
    "EnsembleOfChains": _exact({"EnsembleOfChains(RidgeClassifier(), n_estimators=2)": {}}),
    "LabelPowerset": _exact({"LabelPowerset(RidgeClassifier())": {}}),
    "PrunedSets": _exact({"PrunedSets(RidgeClassifier())": {}}),
    "EnsembleOfPrunedSets": _exact(
        {"EnsembleOfPrunedSets(RidgeClassifier(), n_estimators=2, voting='soft')": {}}
    ),
    "RAkEL": _exact({"RAkEL(RidgeClassifier(), labelset_size=2, voting='soft')": {}}),
    "CalibratedLabelRanking": Learner({"CalibratedLabelRanking(RidgeClassifier())": {}}),
    "StackedRelevance": _exact(
        {
            "StackedRelevance(RidgeClassifier(), cv=3)": {},
            "StackedRelevance(LogisticRegression(), cv=3, drop_negatives='band')": {},
        }
    ),
    "OutputCodes": _exact({"OutputCodes(RidgeClassifier())": {}}),
    "HOMER": _exact({"HOMER(LabelPowerset(RidgeClassifier()), branching_factor=2)": {}}),
}

publish(globals())
