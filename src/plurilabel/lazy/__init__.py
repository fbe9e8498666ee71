"""Lazy learners: the labels of the nearest neighbours decide."""

from plurilabel.lazy._brknn import BRkNN
from plurilabel.lazy._dmlknn import DMLkNN
from plurilabel.lazy._dwmlknn import DWMLkNN
from plurilabel.lazy._explain import Explanation, Vote
from plurilabel.lazy._iblr import IBLRML
from plurilabel.lazy._mlknn import MLkNN
from plurilabel.lazy._mlknn_cv import MLkNNCV
from plurilabel.lazy._mlwknn import MLWkNN

__all__ = [
    "IBLRML",
    "BRkNN",
    "DMLkNN",
    "DWMLkNN",
    "Explanation",
    "MLWkNN",
    "MLkNN",
    "MLkNNCV",
    "Vote",
]
