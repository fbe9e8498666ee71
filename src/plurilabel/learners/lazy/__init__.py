"""Lazy learners: the labels of the nearest neighbours decide."""

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

_SURE = {
    PROBABILITIES: "the check wants probabilities "
    "strictly between 0 and 1; where all neighbours agree, they are not"
}

_NEIGHBORS = "a repeated instance would take the places of k neighbours: no weight can do that"

ROSTER = {
    "MLkNN": Learner({"MLkNN(n_neighbors=5)": {}}, unweighted=_NEIGHBORS),
    "MLkNNCV": Learner(
        {"MLkNNCV(n_neighbors=range(1, 6), smoothing=(0.5, 1.0))": {}}, unweighted=_NEIGHBORS
    ),
    "DWMLkNN": Learner(
        {"DWMLkNN(n_neighbors=5)": {}, "DWMLkNN(n_neighbors=4, reading='figure', blend=0.3)": {}},
        unweighted=_NEIGHBORS,
    ),
    "MLWkNN": Learner({"MLWkNN(n_neighbors=5)": {}}, unweighted=_NEIGHBORS),
    "BRkNN": Learner({"BRkNN(n_neighbors=5)": {}}, unweighted=_NEIGHBORS),
    "MrkNN": Learner({"MrkNN(n_neighbors=5)": _SURE}, unweighted=_NEIGHBORS),
    "DMLkNN": Learner({"DMLkNN(n_neighbors=5)": {}}, unweighted=_NEIGHBORS),
    "IBLRML": Learner(
        {"IBLRML(n_neighbors=5)": {}, "IBLRML(n_neighbors=5, own_features=True)": {}},
        unweighted=_NEIGHBORS,
    ),
}

publish(globals())
