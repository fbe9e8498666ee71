"""Lazy learners: the labels of the nearest neighbours decide."""

from plurilabel._core.roster import publish
from plurilabel.learners.lazy._brknn import BRkNN
from plurilabel.learners.lazy._dmlknn import DMLkNN
from plurilabel.learners.lazy._dwmlknn import DWMLkNN
from plurilabel.learners.lazy._explanation import Explanation, Vote
from plurilabel.learners.lazy._iblr import IBLRML
from plurilabel.learners.lazy._lazy_classifier import LazyClassifier
from plurilabel.learners.lazy._mlknn import MLkNN
from plurilabel.learners.lazy._mlknn_cv import MLkNNCV
from plurilabel.learners.lazy._mlwknn import MLWkNN
from plurilabel.learners.lazy._mrknn import MrkNN

__all__ = [
    "IBLRML",
    "BRkNN",
    "DMLkNN",
    "DWMLkNN",
    "Explanation",
    "LazyClassifier",
    "MLWkNN",
    "MLkNN",
    "MLkNNCV",
    "MrkNN",
    "Vote",
]


publish(globals())
