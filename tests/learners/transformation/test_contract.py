"""Forms of the transformations beside those of the roster, whose checks all of them pass."""

import pytest

from plurilabel import (
    HOMER,
    CalibratedLabelRanking,
    ClassifierChain,
    EnsembleOfChains,
    LabelPowerset,
    OutputCodes,
    PrunedSets,
    RAkEL,
    StackedRelevance,
)
from plurilabel.evaluation import MULTILABEL_CHECKS
from tests.learners.transformation.bases import Line, SureLine

SURE = SureLine()  # gives probabilities
MARGIN = Line()  # gives decision values

# forms beside those of the roster, whose scikit-learn checks would only repeat those
MORE = [
    ClassifierChain(SURE, inference="beam", beam_width=3, decision="marginal"),
    ClassifierChain(SURE, inference="monte-carlo", n_samples=20, decision="marginal"),
    EnsembleOfChains(SURE, n_estimators=3, bootstrap=True, voting="hard"),
    LabelPowerset(SURE, decision="marginal"),
    PrunedSets(MARGIN),
    RAkEL(MARGIN, labelset_size=2),
    RAkEL(SURE, labelset_size=2, overlapping=False, label_sets="co-occurrence"),
    CalibratedLabelRanking(SURE, voting="soft"),
    StackedRelevance(SURE, passthrough=False, stack_method="predict", cv=None),
    OutputCodes(SURE, code="repetition", label_sets="all"),
    HOMER(SURE, branching_factor=2),
]


# scikit-learn 1.8 deprecates n_jobs of LogisticRegression, which check_n_jobs sets
@pytest.mark.filterwarnings("ignore:.*n_jobs.*:FutureWarning")
@pytest.mark.parametrize("check", MULTILABEL_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("learner", MORE, ids=repr)
def test_multilabel_checks(learner, check):
    check(learner)
