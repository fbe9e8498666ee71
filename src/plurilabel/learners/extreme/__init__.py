"""Learners for very many labels: scores that stay sparse."""

from plurilabel._core.roster import EQUIVALENCE, PROBABILITIES, Learner, publish
from plurilabel.learners.extreme._label_embedding import LabelEmbedding
from plurilabel.learners.extreme._label_forest import LabelForest
from plurilabel.learners.extreme._label_tree import LabelTree
from plurilabel.learners.extreme._one_vs_all import OneVsAllLinear

__all__ = ["LabelEmbedding", "LabelForest", "LabelTree", "OneVsAllLinear"]

_SURE = {
    PROBABILITIES: "the check wants probabilities "
    "strictly between 0 and 1; where all neighbours agree, they are not"
}
_SINGLE = dict.fromkeys(EQUIVALENCE, "rows of length 1 are in single precision")

ROSTER = {
    "LabelEmbedding": Learner(
        {"LabelEmbedding(n_neighbors=5, random_state=0)": _SURE},
        unweighted="a repeated instance would take the places of k neighbours",
    ),
    "LabelForest": Learner(
        {"LabelForest(10, max_features=0.5, random_state=0)": {}},
        unweighted="the labels in a leaf are counted",
    ),
    "LabelTree": Learner(
        {
            "LabelTree(normalize=False, tol=1e-9, max_iter=100, random_state=0)": {},
            "LabelTree(2, loss='squared_hinge', leaf_size=2, random_state=0)": _SINGLE,
        }
    ),
    "OneVsAllLinear": Learner(
        {
            "OneVsAllLinear(normalize=False, tol=1e-9, max_iter=100)": {},
            "OneVsAllLinear(loss='logistic', tol=1e-4)": _SINGLE,
        }
    ),
}

publish(globals())
