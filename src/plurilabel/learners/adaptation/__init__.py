"""Adapted learners: algorithms that take several labels as they are."""

from plurilabel._core.roster import publish
from plurilabel.learners.adaptation._cml._cml import CML
from plurilabel.learners.adaptation._insdif import INSDIF
from plurilabel.learners.adaptation._ranksvm._ranksvm import RankSVM
from plurilabel.learners.adaptation._trees._decision_tree import MLDecisionTree
from plurilabel.learners.adaptation._trees._random_forest import MLRandomForest

__all__ = ["CML", "INSDIF", "MLDecisionTree", "MLRandomForest", "RankSVM"]


publish(globals())
