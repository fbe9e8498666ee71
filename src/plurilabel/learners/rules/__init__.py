"""Rules by association: conditions, and the labels that follow from them."""

from plurilabel._core.roster import publish
from plurilabel.learners.rules._measures import any_label, label_weight, top_label
from plurilabel.learners.rules._mmac import MMAC, LabelRule

__all__ = ["MMAC", "LabelRule", "any_label", "label_weight", "top_label"]


publish(globals())
