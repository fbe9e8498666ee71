"""Lazy learners: the labels of the nearest neighbours decide."""

from plurilabel._public import publish
from plurilabel._roster import Learner
from plurilabel.lazy._base import LazyClassifier
from plurilabel.lazy._brknn import BRkNN
from plurilabel.lazy._counts import posterior, ratio
from plurilabel.lazy._dmlknn import DMLkNN
from plurilabel.lazy._dwmlknn import DWMLkNN
from plurilabel.lazy._explain import Explanation, Vote
from plurilabel.lazy._iblr import IBLRML
from plurilabel.lazy._mlknn import MLkNN
from plurilabel.lazy._mlknn_cv._mlknn_cv import MLkNNCV
from plurilabel.lazy._mlwknn import MLWkNN
from plurilabel.lazy._mrknn import MrkNN

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
    "posterior",
    "ratio",
]

ROSTER = {
    "MLkNN": Learner({"MLkNN(n_neighbors=5)": {}}),
    "MLkNNCV": Learner({"MLkNNCV(n_neighbors=range(1, 6), smoothing=(0.5, 1.0))": {}}),
    "DWMLkNN": Learner(
        {
            "DWMLkNN(n_neighbors=5)": {},
            "DWMLkNN(n_neighbors=4, reading='figure', blend=0.3)": {},
        }
    ),
    "MLWkNN": Learner({"MLWkNN(n_neighbors=5)": {}}),
    "BRkNN": Learner({"BRkNN(n_neighbors=5)": {}}),
    "MrkNN": Learner(
        {
            "MrkNN(n_neighbors=5)": {
                "check_classifiers_multilabel_output_format_predict_proba": "the check wants "
                "probabilities strictly between 0 and 1; where all neighbours agree, they are not"
            }
        }
    ),
    "DMLkNN": Learner({"DMLkNN(n_neighbors=5)": {}}),
    "IBLRML": Learner(
        {"IBLRML(n_neighbors=5)": {}, "IBLRML(n_neighbors=5, own_features=True)": {}}
    ),
}

publish(globals())
