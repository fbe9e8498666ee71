"""Lazy learners: the labels of the nearest neighbours decide."""

from functools import partial

from plurilabel._core.roster import PROBABILITIES, Learner, publish
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
    "IBLRML", "BRkNN", "DMLkNN", "DWMLkNN", "Explanation", "LazyClassifier", "MLWkNN", "MLkNN",
    "MLkNNCV", "MrkNN", "Vote",
]  # fmt: skip

_SURE = {PROBABILITIES: "where all neighbours agree, probabilities are 0 or 1"}
_NEIGHBORS = "a repeated instance would take the places of k neighbours: no weight can do that"
_lazy = partial(Learner, unweighted=_NEIGHBORS)

ROSTER = {
    "MLkNN": _lazy({"MLkNN(n_neighbors=5)": {}}),
    "MLkNNCV": _lazy({"MLkNNCV(n_neighbors=range(1, 6), smoothing=(0.5, 1.0))": {}}),
    "DWMLkNN": _lazy(
        {"DWMLkNN(n_neighbors=5)": {}, "DWMLkNN(n_neighbors=4, reading='figure', blend=0.3)": {}}
    ),
    "MLWkNN": _lazy({"MLWkNN(n_neighbors=5)": {}}),
    "BRkNN": _lazy({"BRkNN(n_neighbors=5)": {}}),
    "MrkNN": _lazy({"MrkNN(n_neighbors=5)": _SURE}),
    "DMLkNN": _lazy({"DMLkNN(n_neighbors=5)": {}}),
    "IBLRML": _lazy({"IBLRML(n_neighbors=5)": {}, "IBLRML(n_neighbors=5, own_features=True)": {}}),
}

publish(globals())
