"""Classifier chains: the learner, and the search through a chain."""

from plurilabel.learners.transformation._chain._chain import CHAIN, ClassifierChain

__all__ = ["CHAIN", "ClassifierChain"]
