"""Labels that are not known: their form, wrappers for learners, and tables put together."""

from plurilabel._partial import PartialLabels
from plurilabel._public import publish
from plurilabel._roster import Learner
from plurilabel.missing._imputed import ImputedLabels
from plurilabel.missing._positive_unlabeled import PositiveUnlabeled
from plurilabel.missing._stack import stack_tables

__all__ = ["ImputedLabels", "PartialLabels", "PositiveUnlabeled", "stack_tables"]

ROSTER = {
    "ImputedLabels": Learner(
        {
            "ImputedLabels(BinaryRelevance(LogisticRegression()))": {},
            "ImputedLabels(BinaryRelevance(LinearSVC()))": {},
        }
    ),
    "PositiveUnlabeled": Learner(
        {
            "PositiveUnlabeled(BinaryRelevance(LogisticRegression()), cv=3)": {
                "check_classifiers_multilabel_output_format_predict_proba": (
                    "the check wants probabilities strictly between 0 and 1; the quotient of two "
                    "estimates is cut at 1"
                ),
            },
        }
    ),
}

publish(globals())
