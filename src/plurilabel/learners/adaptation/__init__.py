"""Adapted learners: algorithms that take several labels as they are."""

from plurilabel._core.roster import publish
from plurilabel.learners.adaptation._cml import CML
from plurilabel.learners.adaptation._decision_tree import MLDecisionTree
from plurilabel.learners.adaptation._insdif import INSDIF
from plurilabel.learners.adaptation._random_forest import MLRandomForest
from plurilabel.learners.adaptation._ranksvm import RankSVM

__all__ = ["CML", "INSDIF", "MLDecisionTree", "MLRandomForest", "RankSVM"]


publish(globals())
