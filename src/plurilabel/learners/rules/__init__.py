"""Rules by association: conditions, and the labels that follow from them."""

from plurilabel._core.roster import Learner, publish
from plurilabel.learners.rules._mmac import MMAC, LabelRule, any_label, label_weight, top_label

__all__ = ["MMAC", "LabelRule", "any_label", "label_weight", "top_label"]

ROSTER = {
    "MMAC": Learner(
        {"MMAC()": {}, "MMAC(max_bins=12, min_support=2, max_length=1, voting='all')": {}},
        unweighted="supports are counts of instances",
        exact=True,
    )
}

publish(globals())
