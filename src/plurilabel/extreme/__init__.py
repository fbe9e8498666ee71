"""Learners for very many labels: linear models, sparse throughout."""

from plurilabel._public import publish
from plurilabel._roster import Learner
from plurilabel.extreme._label_embedding import LabelEmbedding
from plurilabel.extreme._label_tree import LabelTree
from plurilabel.extreme._one_vs_all import OneVsAllLinear

__all__ = ["LabelEmbedding", "LabelTree", "OneVsAllLinear"]

_SINGLE = dict.fromkeys(
    (
        "check_sample_weight_equivalence_on_dense_data",
        "check_sample_weight_equivalence_on_sparse_data",
    ),
    "rows of length 1 are in single precision",
)

ROSTER = {
    "LabelEmbedding": Learner(
        {
            "LabelEmbedding(n_neighbors=5, random_state=0)": {
                "check_classifiers_multilabel_output_format_predict_proba": "the check wants "
                "probabilities strictly between 0 and 1; where all neighbours agree, they are not"
            }
        }
    ),
    "LabelTree": Learner(
        {
            "LabelTree(normalize=False, tol=1e-9, max_iter=100, random_state=0)": {},
            "LabelTree(2, loss='squared_hinge', max_leaf=2, random_state=0)": _SINGLE,
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
