"""Learners for very many labels: linear models, sparse throughout."""

from plurilabel._core.roster import publish
from plurilabel.learners.extreme._label_embedding import LabelEmbedding
from plurilabel.learners.extreme._label_tree import LabelTree
from plurilabel.learners.extreme._one_vs_all import OneVsAllLinear

__all__ = ["LabelEmbedding", "LabelTree", "OneVsAllLinear"]


publish(globals())
