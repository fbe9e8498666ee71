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
                "check_row_order": "folds are filled in the order of the rows",
            },
        }
    ),
}

publish(globals())
