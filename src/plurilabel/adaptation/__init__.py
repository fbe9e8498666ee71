"""Adapted learners: algorithms that take several labels as they are."""

from plurilabel.adaptation._cml import CML
from plurilabel.adaptation._ranksvm import RankSVM
from plurilabel.adaptation._trees_decision import MLDecisionTree
from plurilabel.adaptation._trees_forest import MLRandomForest

__all__ = ["CML", "MLDecisionTree", "MLRandomForest", "RankSVM"]
