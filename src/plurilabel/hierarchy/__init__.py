"""Hierarchies of labels: answers in which a label never comes without those above it."""

from plurilabel._hierarchy import Hierarchy
from plurilabel._public import publish
from plurilabel.hierarchy._classifier import HierarchicalClassifier

__all__ = ["HierarchicalClassifier", "Hierarchy"]

publish(globals())
